//! Newton steps on islands whose matrix fits workgroup memory.

use super::iterate::iterate;
use super::layout::{ConvexDims, form};
use crate::Scalar;
use crate::args::Args;

/// Uniform block.
pub type Dims = ConvexDims;

/// Buffers: island_index, convex_index, island_jac, island_con -> impulse, velocity, convex, island_info.
pub fn mirror<T: Scalar>(args: &mut Args<T>) {
    let dims: Dims = args.dims();
    let [index, convex_index, jac, cons, impulse, velocity, convex, infos] = args.split();
    let (index, convex_index, jac, cons) = (index.index(), convex_index.index(), jac.real(), cons.real());
    let (impulse, velocity) = (impulse.real_mut(), velocity.real_mut());
    let (convex, infos) = (convex.real_mut(), infos.real_mut());
    iterate(form::GROUP, &dims, index, convex_index, jac, cons, impulse, velocity, convex, infos);
}
