//! Where the numbers of these kernels lie in a lane.
//!
//! * `act`: the parts of [`Act`].
//! * `slope` [n_v, width]: a row a dof, and by columns what it is the derivative with respect to: q and v (`n_v` each, q in
//!   the tangent space), then the controls and the activations (`n_input`). [`super::effort`] and [`super::force`] make it that of the momentum
//!   balance `b - A v+ + J^T lambda` with v+ and the impulses held. By tau it is h. Of trees with applied forces what these are by
//!   stands there before.

use crate::dynamics::tree::{SPATIAL, TreeDims};

/// Reals of a body in the scratch.
pub(crate) const DERIVATIVE_BODY: usize = 46;
/// Reals of a dof in the scratch.
pub(crate) const DERIVATIVE_DOF: usize = 18;
/// The same in that of [`super::product`]: sums of three vectors over dofs behind it, and one over those before it.
pub(crate) const SUMS: usize = 4 * SPATIAL;

/// Columns of `slope`.
#[inline(always)]
#[must_use]
pub fn width(dims: &TreeDims) -> usize {
    (2 * dims.n_v + dims.n_input()) as usize
}

/// Reals of a lane of `slope`.
#[inline(always)]
#[must_use]
pub fn slope_reals(dims: &TreeDims) -> usize {
    dims.n_v as usize * width(dims)
}

/// Parts of a lane of `act`. The derivatives of the dynamics read the first two, those of contacts the others.
#[derive(Debug, Clone, Copy)]
pub struct Act {
    /// The impulse on each body, fixed in the world, (moment, force) at c, `[n_body][6]`; before it v+, `[n_v]`.
    pub fixed: usize,
    /// Twists of the bodies with v+, `[n_body][6]`.
    pub twist: usize,
    /// psi of the dofs with v+, `[n_v][6]`, as in [`super::transport`].
    pub psi: usize,
    /// Scratch: how the wrench on each body follows a motion, `[n_body][6][6]`.
    pub sums: usize,
    /// Reals of a lane.
    pub reals: usize,
}

impl Act {
    /// That of a tree.
    #[inline(always)]
    #[must_use]
    pub fn new(dims: &TreeDims) -> Self {
        let (n_body, fixed) = (dims.n_body as usize, dims.n_v as usize);
        let twist = fixed + SPATIAL * n_body;
        let psi = twist + SPATIAL * n_body;
        let sums = psi + SPATIAL * fixed;
        Self { fixed, twist, psi, sums, reals: sums + SPATIAL * SPATIAL * n_body }
    }
}

/// Reals of a lane of the scratch: accelerations `[n_v]`, bodies, dofs; behind them sums of a product, 24 a dof.
#[inline(always)]
#[must_use]
pub fn work_reals(dims: &TreeDims) -> usize {
    (1 + DERIVATIVE_DOF + SUMS) * dims.n_v as usize + DERIVATIVE_BODY * dims.n_body as usize
}
