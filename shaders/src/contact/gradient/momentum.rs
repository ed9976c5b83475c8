//! What the inverse dynamics add to the gradient by q and v: with w the gradient of a loss by impulses on the dofs, `-h w^T` times the
//! derivatives of [`crate::dynamics::derivatives::force`], without these.
//!
//! Buffers: topology, params, state, pose, motion, act, work, adjoint. The velocity of a lone body is in its drift.

use super::layout::Adjoint;
use crate::args::Args;
use crate::dynamics::derivatives::layout::{Act, work_reals};
use crate::dynamics::derivatives::product::product;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{POSE, SPATIAL, Tree, nth, nth_mut, param, tile_params};
use crate::real::Real;

/// See the module. By q it adds to what stands there.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, pose, motion, act, work, out] = args.split();
    let tree = Tree::new(dims, topology.index());
    let still = [R::lit(0.0); 6];
    let (n, at, part) = (dims.n_v as usize, Act::new(dims), Adjoint::new(dims));
    for t in 0..tiles {
        let params = tile_params(dims, params, t);
        let state = nth(state.tile(), t, dims.n_state() as u32);
        let (head, inputs) = nth_mut(out.tile_mut(), t, part.reals as u32).split_at_mut(part.inputs);
        let (by_q, by_v) = inputs[..2 * n].split_at_mut(n);
        by_v.fill(R::lit(0.0));
        product(
            &tree,
            params,
            nth(pose.tile(), t, POSE as u32 * dims.n_body),
            nth(motion.tile(), t, SPATIAL as u32 * dims.n_v),
            if dims.lone == 1 { &still } else { &state[dims.v_at()..dims.ctrl_at()] },
            &nth(act.tile(), t, at.reals as u32)[at.fixed..at.twist],
            -params.at(param::TIMESTEP),
            nth_mut(work.tile_mut(), t, work_reals(dims) as u32),
            &head[part.impulse..],
            [by_q, by_v],
        );
    }
}
