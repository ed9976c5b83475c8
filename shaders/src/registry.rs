//! The kernels: WGSL with imports expanded, what naga reflects of it, and the mirror of the same stem.
//!
//! The build script writes the list from the WGSL files, so a kernel needs two things: `stage/name.wgsl`, and
//! `stage/name.rs` (a `pub mod` of its stage) with `Dims` and `mirror`; without either the crate does not compile.

use crate::Scalar;
use crate::args::Args;
pub use crate::prelude::{GROUPS_X, Precision, TILES, prelude};

/// A kernel and its mirror.
#[derive(Debug)]
pub struct Kernel {
    /// Stage and stem: `dynamics/kinematics`.
    pub name: &'static str,
    /// WGSL with imports expanded, without [`prelude`].
    pub wgsl: &'static str,
    /// How items map to invocations.
    pub width: Width,
    /// Storage buffers, bound at 1, 2, ... (0 is the uniform `dims`).
    pub bindings: &'static [Binding],
    /// Leaves of the WGSL dims struct and their byte offsets.
    pub wgsl_dims: &'static [(&'static str, u32)],
    /// Words of dims that a pipeline is compiled for, the WGSL's overridable constants: name, byte offset.
    pub constants: &'static [(&'static str, u32)],
    /// Size of the WGSL dims struct `[B]`.
    pub wgsl_dims_bytes: u32,
    /// Workgroup memory, the larger of the two precisions `[B]`.
    pub workgroup_bytes: u32,
    /// Leaves of the Rust dims struct and their byte offsets.
    pub rust_dims: fn() -> Vec<(String, usize)>,
    /// Size of the Rust dims struct `[B]`.
    pub rust_dims_bytes: usize,
    /// The mirror in f32.
    pub mirror_f32: fn(&mut Args<f32>),
    /// The mirror in f64.
    pub mirror_f64: fn(&mut Args<f64>),
}

impl Kernel {
    /// Values of [`Kernel::constants`] in a dims struct.
    pub fn constants_in<'a>(&self, dims: &'a [u32]) -> impl Iterator<Item = u32> + use<'a> {
        self.constants.iter().map(|(_, at)| dims.get(*at as usize / 4).copied().unwrap_or_default())
    }

    /// The mirror in the precision of `T`, with which [`Scalar`] types are paired one to one.
    #[must_use]
    pub fn mirror<T: Scalar>(&self) -> fn(&mut Args<T>) {
        T::mirror_of(self)
    }
}

/// What one item of a dispatch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// The workgroup is TILE wide: an item is a lane, run by one invocation.
    Tile,
    /// The workgroup has this many invocations whatever the tile: an item is a workgroup.
    Fixed(u32),
}

/// A storage buffer of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// Its name in WGSL.
    pub name: &'static str,
    /// `array<real>`; otherwise `array<u32>`.
    pub real: bool,
    /// Bound read_write.
    pub write: bool,
}

/// The uniform block of a kernel: u32 words only, laid out alike in Rust and in WGSL. Made by [`dims!`](crate::dims).
pub trait Dims: bytemuck::Pod {
    /// Appends its leaves, `tree.n_v`, with byte offsets.
    fn fields(prefix: &str, base: usize, out: &mut Vec<(String, usize)>);
}

impl Dims for u32 {
    fn fields(prefix: &str, base: usize, out: &mut Vec<(String, usize)>) {
        out.push((prefix.to_string(), base));
    }
}

/// Leaves of a dims struct.
#[must_use]
pub fn fields<D: Dims>() -> Vec<(String, usize)> {
    let mut out = Vec::new();
    D::fields("", 0, &mut out);
    out
}

/// Says what the fields of an existing `#[repr(C)]` dims struct are, for the test that compares it with its WGSL twin:
/// `dims!(TreeDims { lanes, n_v })`.
#[macro_export]
macro_rules! dims {
    ($name:ident { $($field:ident),* $(,)? }) => {
        impl $crate::registry::Dims for $name {
            fn fields(prefix: &str, base: usize, out: &mut Vec<(String, usize)>) {
                fn leaf<D: $crate::registry::Dims, S>(
                    _: fn(&S) -> &D, name: &str, at: usize, out: &mut Vec<(String, usize)>,
                ) {
                    D::fields(name, at, out);
                }
                $(
                    let name = if prefix.is_empty() {
                        stringify!($field).to_string()
                    } else {
                        format!("{prefix}.{}", stringify!($field))
                    };
                    leaf(|s: &$name| &s.$field, &name, base + std::mem::offset_of!($name, $field), out);
                )*
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/registry.rs"));
