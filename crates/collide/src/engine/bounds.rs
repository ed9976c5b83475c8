//! Boxes around cores: the cheapest proof that two are apart.

use wide::f64x4;

use super::Vector;
use super::core_shape::Core;
use super::placed::{Placed, Places};
use super::vectors::Vectors;

/// Whether a face of one of the boxes that hold two cores parts the cores by more than a distance.
pub(super) fn are_apart(core_a: &Core<'_>, a: &Placed, core_b: &Core<'_>, b: &Placed, within: f64) -> bool {
    let between = b.centre - a.centre;
    let (half_a, half_b) = (core_a.bounds(), core_b.bounds());
    let sizes = [b.axes.x_axis, b.axes.y_axis, b.axes.z_axis].map(|axis| a.local(axis).abs());
    let spread = sizes[0] * half_b.x + sizes[1] * half_b.y + sizes[2] * half_b.z;
    let shadow = Vector::new(sizes[0].dot(half_a), sizes[1].dot(half_a), sizes[2].dot(half_a));
    let apart_a = a.local(between).abs() - half_a - spread;
    let apart_b = b.local(between).abs() - half_b - shadow;
    apart_a.max_element().max(apart_b.max_element()) > within
}

/// In which worlds a face of one of the boxes that hold two cores parts the cores by more than a distance, a bit each.
#[inline(always)]
pub(super) fn are_apart_in(a: &Places, b: &Places, within: f64x4) -> u32 {
    let between = b.centre - a.centre;
    let (half_a, half_b) = (a.bounds, b.bounds);
    let sizes = b.axes.map(|axis| a.local(axis).abs());
    let spread = sizes[0] * half_b.x + sizes[1] * half_b.y + sizes[2] * half_b.z;
    let shadow = Vectors::new(sizes[0].dot(half_a), sizes[1].dot(half_a), sizes[2].dot(half_a));
    let apart_a = a.local(between).abs() - half_a - spread;
    let apart_b = b.local(between).abs() - half_b - shadow;
    within.simd_lt(apart_a.max_element().fast_max(apart_b.max_element())).to_bitmask()
}
