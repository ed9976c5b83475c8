//! Numbers with their slopes along a few directions (dual numbers): what a kernel's mirror computes with them comes with its exact
//! derivatives, on the branches that it takes.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use bytemuck::{Pod, Zeroable};
use manyworlds_shaders::Real;

/// Directions side by side.
pub(crate) const DIRECTIONS: usize = 8;

/// A number and how it changes along each direction.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Dual {
    pub(crate) value: f64,
    pub(crate) slopes: [f64; DIRECTIONS],
}

impl Dual {
    pub(crate) const ZERO: Self = Self::constant(0.0);

    pub(crate) const fn constant(value: f64) -> Self {
        Self { value, slopes: [0.0; DIRECTIONS] }
    }

    /// What changes as one of the directions.
    pub(crate) fn variable(value: f64, direction: usize) -> Self {
        let mut out = Self::constant(value);
        out.slopes[direction] = 1.0;
        out
    }

    /// With slopes `a` times its own.
    #[inline(always)]
    fn chain(self, value: f64, a: f64) -> Self {
        Self { value, slopes: self.slopes.map(|x| a * x) }
    }

    /// With slopes `a` times its own and `b` times another's.
    #[inline(always)]
    fn chain_both(self, a: f64, other: Self, b: f64, value: f64) -> Self {
        Self { value, slopes: std::array::from_fn(|k| a * self.slopes[k] + b * other.slopes[k]) }
    }
}

impl Add for Dual {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.chain_both(1.0, other, 1.0, self.value + other.value)
    }
}

impl Sub for Dual {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.chain_both(1.0, other, -1.0, self.value - other.value)
    }
}

impl Mul for Dual {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.chain_both(other.value, other, self.value, self.value * other.value)
    }
}

impl Div for Dual {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let (value, inverse) = (self.value / other.value, 1.0 / other.value);
        self.chain_both(inverse, other, -value * inverse, value)
    }
}

impl Neg for Dual {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.chain(-self.value, -1.0)
    }
}

impl AddAssign for Dual {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Dual {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Real for Dual {
    type Scalar = f64;
    type Mask = bool;
    const N: usize = 1;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self::constant(x)
    }
    #[inline(always)]
    fn lane(&self, _: usize) -> f64 {
        self.value
    }
    #[inline(always)]
    fn set_lane(&mut self, _: usize, x: f64) {
        *self = Self::constant(x);
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        // Rounded as the step's own numbers are, so that it is on the same branches.
        let value = Real::mul_add(self.value, factor.value, term.value);
        let slopes = |k: usize| self.slopes[k] * factor.value + (self.value * factor.slopes[k] + term.slopes[k]);
        Self { value, slopes: std::array::from_fn(slopes) }
    }
    /// At zero, where the root has no slope, it counts as constant: kernels take roots of lengths, and look at those of none no
    /// further.
    #[inline(always)]
    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        self.chain(value, if value > 0.0 { 0.5 / value } else { 0.0 })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        if self.value < 0.0 { -self } else { self }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self.value < other.value { self } else { other }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self.value > other.value { self } else { other }
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Self::constant(self.value.floor())
    }
    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self.value < other.value
    }
    #[inline(always)]
    fn le(self, other: Self) -> bool {
        self.value <= other.value
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manyworlds_shaders::math::{atan2, quat_exp, quat_log, quat_mul, sin_cos};

    /// Slopes of what kernels are made of, against closed forms.
    #[test]
    fn slopes_are_those_of_closed_forms() {
        let x = Dual::variable(0.7, 0);
        let y = Dual::variable(-1.3, 1);
        let (sin, cos) = sin_cos(x);
        assert!((sin.slopes[0] - 0.7_f64.cos()).abs() < 1e-15 && (cos.slopes[0] + 0.7_f64.sin()).abs() < 1e-15);
        let angle = atan2(y, x);
        let square = 0.7 * 0.7 + 1.3 * 1.3;
        assert!((angle.slopes[0] - 1.3 / square).abs() < 1e-14 && (angle.slopes[1] - 0.7 / square).abs() < 1e-14);
        let mixed = (x / y + x.mul_add(y, x) - y).sqrt();
        let value = mixed.value;
        assert!(value.is_finite());
        let by_x = (1.0 / -1.3 - 1.3 + 1.0) / (2.0 * value);
        let by_y = (-0.7 / (1.3 * 1.3) + 0.7 - 1.0) / (2.0 * value);
        assert!((mixed.slopes[0] - by_x).abs() < 1e-14 && (mixed.slopes[1] - by_y).abs() < 1e-14);
    }

    /// The logarithm undoes the exponential: its slopes are those of the vector.
    #[test]
    fn slopes_of_rotations_undo_each_other() {
        for length in [1e-4, 0.5, 2.5] {
            let r: [Dual; 3] = std::array::from_fn(|k| Dual::variable(length * [0.6, 0.0, -0.8][k], k));
            let back = quat_log(quat_mul(quat_exp(r), [1.0, 0.0, 0.0, 0.0].map(Dual::constant)));
            for (k, x) in back.iter().enumerate() {
                for (l, slope) in x.slopes.iter().enumerate() {
                    let expected = f64::from(u8::from(k == l));
                    assert!((slope - expected).abs() < 1e-11, "{length} {k} {l}: {slope}");
                }
            }
        }
    }
}
