//! The impulse of a contact in the world: the twin of force.wgsl.

use crate::contact::frame::tangents;
use crate::math::{Vec3, scale, scale_add};
use crate::real::Real;

/// The impulse of a slot along the world's axes.
#[inline(always)]
pub(super) fn along_axes<R: Real>(axes: &[Vec3<R>; 3], impulse: &[R]) -> Vec3<R> {
    scale_add(axes[2], impulse[2], scale_add(axes[1], impulse[1], scale(axes[0], impulse[0])))
}

/// Axes of a slot: t1, t2, n.
#[inline(always)]
pub(super) fn axes<R: Real>(normal: Vec3<R>) -> [Vec3<R>; 3] {
    let [t1, t2] = tangents(normal);
    [t1, t2, normal]
}
