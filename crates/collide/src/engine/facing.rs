//! The features of two shapes that face each other along a normal.

use super::Vector;
use super::clip::Points;
use super::core_shape::Core;
use super::feature::Feature;
use super::placed::Placed;

/// The nearest points of two cores, or those deepest in each other.
#[derive(Clone, Copy)]
pub(super) struct Nearest {
    /// Unit, from the first to the second.
    pub(super) normal: Vector,
    /// Signed, of the cores, m.
    pub(super) distance: f64,
    /// Midway between the two, about the first shape's centre, m.
    pub(super) middle: Vector,
}

/// The features of two cores that face each other along a normal, about the first one's centre.
pub(super) fn facing(
    core_a: &Core<'_>,
    a: &Placed,
    core_b: &Core<'_>,
    b: &Placed,
    normal: Vector,
) -> (Feature, Feature) {
    let mut on_a = core_a.feature(a.local(normal));
    let mut on_b = core_b.feature(b.local(-normal));
    for point in &mut on_a.points[..on_a.len] {
        *point = a.axes * *point;
    }
    let offset = b.centre - a.centre;
    for point in &mut on_b.points[..on_b.len] {
        *point = offset + b.axes * *point;
    }
    (on_a, on_b)
}

/// Gathers where the features that face each other along a normal overlap; whether that is as deep as the normal says.
pub(super) fn facing_points(
    core_a: &Core<'_>,
    a: &Placed,
    core_b: &Core<'_>,
    b: &Placed,
    rounding: [f64; 2],
    nearest: &Nearest,
    reach: f64,
    points: &mut Points,
) -> bool {
    points.clear();
    let (on_a, on_b) = facing(core_a, a, core_b, b, nearest.normal);
    points.overlap(&on_a, &on_b, nearest.normal, rounding, reach);
    points.closest() <= nearest.distance - rounding[0] - rounding[1] + 1e-5 * a.radius.min(b.radius)
}
