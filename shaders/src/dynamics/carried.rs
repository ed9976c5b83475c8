//! Places of points on bodies, and whether a dof moves them: what the kernels of paths and applied forces share.

use crate::dynamics::tree::{DofRecord, NONE, POSE};
use crate::math::{Quat, Vec3, add, load3, quat_rotate, sub};
use crate::real::Real;

/// A point of a body from c.
#[inline(always)]
pub(crate) fn place<R: Real>(pose: &[R], body: u32, local: Vec3<R>) -> Vec3<R> {
    let c = load3(pose, 0);
    if body == NONE {
        return sub(local, c);
    }
    let p = body as usize * POSE;
    add(sub(load3(pose, p), c), quat_rotate(orientation(pose, body), local))
}

/// Orientation of a body.
#[inline(always)]
pub(crate) fn orientation<R: Real>(pose: &[R], body: u32) -> Quat<R> {
    if body == NONE {
        return [R::lit(1.0), R::lit(0.0), R::lit(0.0), R::lit(0.0)];
    }
    let p = body as usize * POSE;
    [pose[p + 3], pose[p + 4], pose[p + 5], pose[p + 6]]
}

/// 1 where a dof moves a body, else 0.
#[inline(always)]
pub(crate) fn carries<R: Real>(dof: &DofRecord, body: u32) -> R {
    R::lit(if moves_body(dof, body) { 1.0 } else { 0.0 })
}

/// Whether a dof moves a body.
#[inline(always)]
pub(crate) fn moves_body(dof: &DofRecord, body: u32) -> bool {
    dof.body <= body && body < dof.subtree_end
}
