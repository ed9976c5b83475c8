//! Where the numbers of these kernels lie in a lane.
//!
//! * `act`: v+ `[n_v]`, then the impulse on each body, fixed in the world, (moment, force) at c, `[n_body, 6]`.
//! * `slope` [n_v, width]: a row a dof, and by columns what it is the derivative with respect to: q, v, tau (`n_v` each, q in
//!   the tangent space), then the controls (`n_u`). [`super::effort`] and [`super::force`] make it that of the momentum
//!   balance `b - A v+ + J^T lambda` with v+ and the impulses held; [`super::respond`] turns it into `A^-1` times that.

use crate::dynamics::tree::{SPATIAL, TreeDims};

/// Reals of a body in the scratch.
pub(crate) const BODY: usize = 46;
/// Reals of a dof in the scratch.
pub(crate) const DOF: usize = 18;

/// Columns of `slope`.
#[inline(always)]
#[must_use]
pub fn width(dims: &TreeDims) -> usize {
    (3 * dims.n_v + dims.n_u) as usize
}

/// Reals of a lane of `slope`.
#[inline(always)]
#[must_use]
pub fn slope_reals(dims: &TreeDims) -> usize {
    dims.n_v as usize * width(dims)
}

/// Reals of a lane of `act`.
#[inline(always)]
#[must_use]
pub fn act_reals(dims: &TreeDims) -> usize {
    dims.n_v as usize + SPATIAL * dims.n_body as usize
}

/// Reals of a lane of the scratch: accelerations `[n_v]`, bodies, dofs.
#[inline(always)]
#[must_use]
pub fn work_reals(dims: &TreeDims) -> usize {
    (1 + DOF) * dims.n_v as usize + BODY * dims.n_body as usize
}
