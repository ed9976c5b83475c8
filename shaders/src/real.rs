//! The number a mirror computes with: one world's scalar, or a pack of worlds side by side.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, Mul, Neg, Not, Sub, SubAssign};

use bytemuck::Pod;

use crate::registry::{Kernel, Mirror};

/// Worlds that a packed mirror steps together; also the tile width of the CPU executor.
pub const LANES: usize = 8;

/// A machine float: what buffers hold.
pub trait Scalar: Real<Scalar = Self, Mask = bool> + PartialOrd + Default {
    /// From a literal.
    fn from_f64(x: f64) -> Self;
    /// To a literal.
    fn to_f64(self) -> f64;
    /// Neither infinite nor a NaN, by its bits.
    fn is_finite(self) -> bool;
    /// `f32` or `f64`.
    const NAME: &'static str;
    /// [`LANES`] of them side by side.
    type Pack: Real<Scalar = Self>;
    /// The mirror of a kernel in this precision, for [`LANES`] worlds at a time.
    fn mirror_of(kernel: &Kernel) -> Mirror<Self::Pack>;
    /// The same for one at a time, where there are such.
    const LONE_MIRROR_OF: Option<fn(&Kernel) -> Mirror<Self>>;
}

/// What arithmetic a kernel may use: what WGSL computes alike on every adapter (no built-in transcendental functions).
pub trait Real:
    Copy
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + Pod
    + Debug
{
    /// What one lane holds.
    type Scalar: Scalar;
    /// What a comparison gives, a truth value a lane.
    type Mask: Mask;
    /// Number of lanes.
    const N: usize;

    /// The same number in every lane.
    fn splat(x: Self::Scalar) -> Self;
    /// A literal in every lane.
    #[inline(always)]
    fn lit(x: f64) -> Self {
        Self::splat(Self::Scalar::from_f64(x))
    }
    /// What a function gives of each lane.
    fn by_lane(f: impl FnMut(usize) -> Self::Scalar) -> Self;
    /// One lane's number; by reference, so that of what lies in memory no more is read.
    fn lane(&self, lane: usize) -> Self::Scalar;
    /// Replaces one lane's number.
    fn set_lane(&mut self, lane: usize, x: Self::Scalar);
    /// `self * factor + term`, rounded once where the target has fused multiply-add.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// The smaller of two numbers.
    fn min(self, other: Self) -> Self;
    /// The larger of two numbers.
    fn max(self, other: Self) -> Self;
    /// The largest whole number not above.
    fn floor(self) -> Self;
    /// `self < other`, lane by lane.
    fn lt(self, other: Self) -> Self::Mask;
    /// `self <= other`, lane by lane.
    fn le(self, other: Self) -> Self::Mask;
    /// `yes` where the mask is set, else `no`. The order of arguments is that of `if`, not of WGSL's `select`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
}

/// Truth values, one a lane.
pub trait Mask: Copy + Not<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> {
    /// Whether any lane is set.
    fn any(self) -> bool;
    /// One lane's value.
    fn lane(self, lane: usize) -> bool;
}

impl Mask for bool {
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
    #[inline(always)]
    fn lane(self, _: usize) -> bool {
        self
    }
}

macro_rules! scalar {
    ($t:ident, $pack:ident, $mirror:ident, $lone:expr) => {
        impl Scalar for $t {
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $t::is_finite(self)
            }
            const NAME: &'static str = stringify!($t);
            type Pack = $pack;
            #[inline]
            fn mirror_of(kernel: &Kernel) -> Mirror<$pack> {
                kernel.$mirror
            }
            const LONE_MIRROR_OF: Option<fn(&Kernel) -> Mirror<Self>> = $lone;
        }

        impl Real for $t {
            type Scalar = $t;
            type Mask = bool;
            const N: usize = 1;

            #[inline(always)]
            fn splat(x: $t) -> Self {
                x
            }
            #[inline(always)]
            fn by_lane(mut f: impl FnMut(usize) -> $t) -> Self {
                f(0)
            }
            #[inline(always)]
            fn lane(&self, _: usize) -> $t {
                *self
            }
            #[inline(always)]
            fn set_lane(&mut self, _: usize, x: $t) {
                *self = x;
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                // Without the target feature this would be a library call.
                if cfg!(target_feature = "fma") { $t::mul_add(self, factor, term) } else { self * factor + term }
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self < other { self } else { other }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            #[inline(always)]
            fn floor(self) -> Self {
                $t::floor(self)
            }
            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn le(self, other: Self) -> bool {
                self <= other
            }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
        }
    };
}

scalar!(f32, F32x8, mirror_f32, None);
scalar!(f64, F64x8, mirror_f64, Some(|kernel| kernel.lone_mirror_f64));

/// [`LANES`] scalars computed side by side in vector registers.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(transparent)]
pub struct Pack<V>(V);

/// [`LANES`] truth values, as the all-ones or all-zeros words that vector comparisons give.
#[derive(Debug, Clone, Copy)]
pub struct PackMask<V>(V);

/// Eight worlds in f32.
pub type F32x8 = Pack<wide::f32x8>;
/// Eight worlds in f64.
pub type F64x8 = Pack<wide::f64x8>;

// SAFETY: transparent over a vector type that bytemuck knows to be plain data.
unsafe impl<V: bytemuck::Zeroable> bytemuck::Zeroable for Pack<V> {}
// SAFETY: as above.
unsafe impl<V: Pod> Pod for Pack<V> {}

macro_rules! operator {
    ($v:ty, $trait:ident, $method:ident) => {
        impl $trait for Pack<$v> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self($trait::$method(self.0, other.0))
            }
        }
    };
}

macro_rules! pack {
    ($v:ty, $t:ident) => {
        operator!($v, Add, add);
        operator!($v, Sub, sub);
        operator!($v, Mul, mul);
        operator!($v, Div, div);

        impl Neg for Pack<$v> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(-self.0)
            }
        }

        impl AddAssign for Pack<$v> {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }

        impl SubAssign for Pack<$v> {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }

        impl Pack<$v> {
            /// A number for every lane.
            #[inline(always)]
            #[must_use]
            pub fn from_lanes(x: [$t; LANES]) -> Self {
                Self(<$v>::new(x))
            }

            /// The number of every lane.
            #[inline(always)]
            #[must_use]
            pub fn to_lanes(self) -> [$t; LANES] {
                self.0.to_array()
            }
        }

        impl Mask for PackMask<$v> {
            #[inline(always)]
            fn any(self) -> bool {
                self.0.any()
            }
            #[inline(always)]
            fn lane(self, lane: usize) -> bool {
                self.0.to_array()[lane].to_bits() != 0
            }
        }

        impl Not for PackMask<$v> {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                Self(!self.0)
            }
        }

        impl BitAnd for PackMask<$v> {
            type Output = Self;
            #[inline(always)]
            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }

        impl BitOr for PackMask<$v> {
            type Output = Self;
            #[inline(always)]
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl Real for Pack<$v> {
            type Scalar = $t;
            type Mask = PackMask<$v>;
            const N: usize = LANES;

            #[inline(always)]
            fn splat(x: $t) -> Self {
                Self(<$v>::splat(x))
            }
            #[inline(always)]
            fn by_lane(f: impl FnMut(usize) -> $t) -> Self {
                Self(<$v>::new(std::array::from_fn(f)))
            }
            #[inline(always)]
            fn lane(&self, lane: usize) -> $t {
                self.0.as_array()[lane]
            }
            #[inline(always)]
            fn set_lane(&mut self, lane: usize, x: $t) {
                self.0.as_mut_array()[lane] = x;
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                Self(self.0.mul_add(factor.0, term.0))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(self.0.sqrt())
            }
            #[inline(always)]
            fn abs(self) -> Self {
                Self(self.0.abs())
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                Self(self.0.fast_min(other.0))
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Self(self.0.fast_max(other.0))
            }
            #[inline(always)]
            fn floor(self) -> Self {
                Self(self.0.floor())
            }
            #[inline(always)]
            fn lt(self, other: Self) -> PackMask<$v> {
                PackMask(self.0.simd_lt(other.0))
            }
            #[inline(always)]
            fn le(self, other: Self) -> PackMask<$v> {
                PackMask(self.0.simd_le(other.0))
            }
            #[inline(always)]
            fn select(mask: PackMask<$v>, yes: Self, no: Self) -> Self {
                Self(mask.0.select(yes.0, no.0))
            }
        }
    };
}

pack!(wide::f32x8, f32);
pack!(wide::f64x8, f64);
