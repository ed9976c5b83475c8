//! Numbers with their slopes along a few directions (dual numbers): what a kernel's mirror computes with them comes with its exact
//! derivatives, on the branches that it takes.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use bytemuck::{Pod, Zeroable};
use manyworlds_shaders::Real;

/// A number, and behind it how it changes along `N - 1` directions.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Dual<const N: usize>([f64; N]);

impl<const N: usize> Dual<N> {
    pub(crate) const ZERO: Self = Self([0.0; N]);

    pub(crate) fn constant(value: f64) -> Self {
        let mut out = Self::ZERO;
        out.0[0] = value;
        out
    }

    /// What changes as one of the directions.
    pub(crate) fn variable(value: f64, direction: usize) -> Self {
        let mut out = Self::constant(value);
        out.set_slope(direction, 1.0);
        out
    }

    /// Constants.
    pub(crate) fn constants(values: &[f64]) -> Vec<Self> {
        values.iter().copied().map(Self::constant).collect()
    }

    pub(crate) fn value(&self) -> f64 {
        self.0[0]
    }

    pub(crate) fn slope(&self, direction: usize) -> f64 {
        self.0[1 + direction]
    }

    pub(crate) fn set_slope(&mut self, direction: usize, slope: f64) {
        self.0[1 + direction] = slope;
    }

    /// With slopes `a` times its own.
    #[inline(always)]
    fn chain(self, value: f64, a: f64) -> Self {
        let mut out = self.0.map(|x| a * x);
        out[0] = value;
        Self(out)
    }

    /// With slopes `a` times its own and `b` times another's.
    #[inline(always)]
    fn chain_both(self, a: f64, other: Self, b: f64, value: f64) -> Self {
        let mut out: [f64; N] = std::array::from_fn(|k| a * self.0[k] + b * other.0[k]);
        out[0] = value;
        Self(out)
    }
}

impl<const N: usize> Add for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.chain_both(1.0, other, 1.0, self.0[0] + other.0[0])
    }
}

impl<const N: usize> Sub for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.chain_both(1.0, other, -1.0, self.0[0] - other.0[0])
    }
}

impl<const N: usize> Mul for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.chain_both(other.0[0], other, self.0[0], self.0[0] * other.0[0])
    }
}

impl<const N: usize> Div for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let (value, inverse) = (self.0[0] / other.0[0], 1.0 / other.0[0]);
        self.chain_both(inverse, other, -value * inverse, value)
    }
}

impl<const N: usize> Neg for Dual<N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.chain(-self.0[0], -1.0)
    }
}

impl<const N: usize> AddAssign for Dual<N> {
    #[inline(always)]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl<const N: usize> SubAssign for Dual<N> {
    #[inline(always)]
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl<const N: usize> Real for Dual<N> {
    type Scalar = f64;
    type Mask = bool;
    const N: usize = 1;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self::constant(x)
    }
    #[inline(always)]
    fn by_lane(mut f: impl FnMut(usize) -> f64) -> Self {
        Self::constant(f(0))
    }
    #[inline(always)]
    fn lane(&self, _: usize) -> f64 {
        self.0[0]
    }
    #[inline(always)]
    fn set_lane(&mut self, _: usize, x: f64) {
        *self = Self::constant(x);
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        // Rounded as the step's own numbers are, so that it is on the same branches.
        let value = Real::mul_add(self.0[0], factor.0[0], term.0[0]);
        let mut out: [f64; N] =
            std::array::from_fn(|k| self.0[k] * factor.0[0] + (self.0[0] * factor.0[k] + term.0[k]));
        out[0] = value;
        Self(out)
    }
    /// At zero, where the root has no slope, it counts as constant: kernels take roots of lengths, and look at those of none no
    /// further.
    #[inline(always)]
    fn sqrt(self) -> Self {
        let value = self.0[0].sqrt();
        self.chain(value, if value > 0.0 { 0.5 / value } else { 0.0 })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        if self.0[0] < 0.0 { -self } else { self }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self.0[0] < other.0[0] { self } else { other }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self.0[0] > other.0[0] { self } else { other }
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Self::constant(self.0[0].floor())
    }
    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self.0[0] < other.0[0]
    }
    #[inline(always)]
    fn le(self, other: Self) -> bool {
        self.0[0] <= other.0[0]
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
        let x = Dual::<3>::variable(0.7, 0);
        let y = Dual::variable(-1.3, 1);
        let (sin, cos) = sin_cos(x);
        assert!((sin.slope(0) - 0.7_f64.cos()).abs() < 1e-15 && (cos.slope(0) + 0.7_f64.sin()).abs() < 1e-15);
        let angle = atan2(y, x);
        let square = 0.7 * 0.7 + 1.3 * 1.3;
        assert!((angle.slope(0) - 1.3 / square).abs() < 1e-14 && (angle.slope(1) - 0.7 / square).abs() < 1e-14);
        let mixed = (x / y + x.mul_add(y, x) - y).sqrt();
        let value = mixed.value();
        assert!(value.is_finite());
        let by_x = (1.0 / -1.3 - 1.3 + 1.0) / (2.0 * value);
        let by_y = (-0.7 / (1.3 * 1.3) + 0.7 - 1.0) / (2.0 * value);
        assert!((mixed.slope(0) - by_x).abs() < 1e-14 && (mixed.slope(1) - by_y).abs() < 1e-14);
    }

    /// The logarithm undoes the exponential: its slopes are those of the vector.
    #[test]
    fn slopes_of_rotations_undo_each_other() {
        for length in [1e-4, 0.5, 2.5] {
            let r: [Dual<4>; 3] = std::array::from_fn(|k| Dual::variable(length * [0.6, 0.0, -0.8][k], k));
            let back = quat_log(quat_mul(quat_exp(r), [1.0, 0.0, 0.0, 0.0].map(Dual::constant)));
            for (k, x) in back.iter().enumerate() {
                for l in 0..3 {
                    let slope = x.slope(l);
                    let expected = f64::from(u8::from(k == l));
                    assert!((slope - expected).abs() < 1e-11, "{length} {k} {l}: {slope}");
                }
            }
        }
    }
}
