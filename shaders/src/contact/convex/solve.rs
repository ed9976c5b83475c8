//! Newton steps on islands whose matrix fits workgroup memory.

use super::iterate;
use super::layout::{ConvexDims, form};
use crate::Real;
use crate::args::Args;

/// Uniform block.
pub type Dims = ConvexDims;

/// Buffers: island_index, convex_index, island_jac, island_con -> impulse, velocity, convex, island_info.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    iterate::mirror(form::GROUP, args);
}
