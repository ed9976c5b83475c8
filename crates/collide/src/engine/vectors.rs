//! Vectors of worlds side by side: a lane each.

use std::ops::{Add, Mul, Sub};

use parry3d_f64::math::Vector;
use wide::f64x4;

use crate::ABREAST;

/// A vector of each world.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Vectors {
    pub(super) x: f64x4,
    pub(super) y: f64x4,
    pub(super) z: f64x4,
}

impl Vectors {
    pub(super) fn new(x: f64x4, y: f64x4, z: f64x4) -> Self {
        Self { x, y, z }
    }

    /// The same in all worlds.
    #[inline(always)]
    pub(super) fn splat(v: Vector) -> Self {
        Self::new(f64x4::splat(v.x), f64x4::splat(v.y), f64x4::splat(v.z))
    }

    /// From each number of all worlds.
    #[inline(always)]
    pub(super) fn from_numbers([x, y, z]: [[f64; ABREAST]; 3]) -> Self {
        Self::new(x.into(), y.into(), z.into())
    }

    /// Changes the vector of one world.
    pub(super) fn set(&mut self, lane: usize, v: Vector) {
        set(&mut self.x, lane, v.x);
        set(&mut self.y, lane, v.y);
        set(&mut self.z, lane, v.z);
    }

    #[inline(always)]
    pub(super) fn dot(self, other: Self) -> f64x4 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    #[inline(always)]
    pub(super) fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - other.y * self.z,
            self.z * other.x - other.z * self.x,
            self.x * other.y - other.x * self.y,
        )
    }

    #[inline(always)]
    pub(super) fn length_squared(self) -> f64x4 {
        self.dot(self)
    }

    #[inline(always)]
    pub(super) fn length(self) -> f64x4 {
        self.dot(self).sqrt()
    }

    #[inline(always)]
    pub(super) fn abs(self) -> Self {
        Self::new(self.x.abs(), self.y.abs(), self.z.abs())
    }

    /// The smaller of each number.
    #[inline(always)]
    pub(super) fn min(self, other: Self) -> Self {
        Self::new(self.x.fast_min(other.x), self.y.fast_min(other.y), self.z.fast_min(other.z))
    }

    /// The larger of each number.
    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        Self::new(self.x.fast_max(other.x), self.y.fast_max(other.y), self.z.fast_max(other.z))
    }

    #[inline(always)]
    pub(super) fn max_element(self) -> f64x4 {
        self.x.fast_max(self.y).fast_max(self.z)
    }

    /// These where the mask is set, the others elsewhere.
    #[inline(always)]
    pub(super) fn or(self, mask: f64x4, other: Self) -> Self {
        let pick = |own: f64x4, other: f64x4| mask.bitselect(own, other);
        Self::new(pick(self.x, other.x), pick(self.y, other.y), pick(self.z, other.z))
    }
}

impl Add for Vectors {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}

impl Sub for Vectors {
    type Output = Self;

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}

impl Mul<f64x4> for Vectors {
    type Output = Self;

    #[inline(always)]
    fn mul(self, factor: f64x4) -> Self {
        Self::new(self.x * factor, self.y * factor, self.z * factor)
    }
}

/// Changes a number of one world.
pub(super) fn set(numbers: &mut f64x4, lane: usize, value: f64) {
    let mut all = numbers.to_array();
    all[lane] = value;
    *numbers = all.into();
}
