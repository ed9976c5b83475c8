//! What [`super::wrenches`] finds, times a row from the left: with w the gradient of a loss by impulses on the dofs, what the motion of
//! the contacts' impulses adds to that by q, without the matrix. A wrench W m on a body that follows the motion m of a body adds
//! `t^T W s` for each dof s that moves the latter, t the motion that w stands for of the body that the wrench is on.
//!
//! Buffers: topology, params (unused), places, motion, side, act, adjoint.

use super::layout::{Adjoint, place, side, tile_place};
use super::sided::{SUM, dot, spatial, times_transposed};
use super::sides::{acts, body3};
use crate::args::Args;
use crate::dynamics::bias::{load_spatial, store_spatial};
use crate::dynamics::derivatives::layout::Act;
use crate::dynamics::derivatives::transport::{relative, runs};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{SPATIAL, Tree, nth, nth_mut};
use crate::math::{add, sub, zero};
use crate::real::{Mask, Real, Scalar};

/// One tile: `sides` are its own slots, `weight` and `by_q` `[n_v]`; `sums`: scratch.
pub fn follow<R: Real>(tree: &Tree, motion: &[R], sides: &[R], sums: &mut [R], weight: &[R], by_q: &mut [R]) {
    by_q.fill(R::lit(0.0));
    if sides.is_empty() {
        return;
    }
    let (moved, felt) = sums.split_at_mut(SPATIAL * tree.bodies.len());
    let felt = &mut felt[..SPATIAL * tree.bodies.len()];
    felt.fill(R::lit(0.0));
    for (b, body) in tree.bodies.iter().enumerate() {
        let mut own = if b > 0 { load_spatial(moved, body.parent as usize * SPATIAL) } else { [zero(), zero()] };
        let first = body.joint_begin as usize;
        for (first, count) in tree.joints[first..first + body.joint_count as usize].iter().flat_map(runs) {
            let more = relative(motion, weight, first, count);
            own = [add(own[0], more[0]), add(own[1], more[1])];
        }
        store_spatial(moved, b * SPATIAL, own);
    }
    for record in sides.chunks_exact(side::SIZE) {
        let bodies = [record[side::BODIES], record[side::BODIES + 1]];
        if acts(bodies).any() {
            feel(record, bodies, moved, felt);
        }
    }
    for b in (1..tree.bodies.len()).rev() {
        let parent = tree.bodies[b].parent as usize * SPATIAL;
        for k in 0..SPATIAL {
            let own = felt[b * SPATIAL + k];
            felt[parent + k] += own;
        }
    }
    for (i, (by_q, dof)) in by_q.iter_mut().zip(tree.dofs).enumerate() {
        *by_q = dot(&felt[dof.body as usize * SPATIAL..], &spatial(motion, i), *by_q);
    }
}

/// Adds what the wrench of a contact, which is on both of its bodies, says of the motion of each.
#[inline(always)]
fn feel<R: Real>(record: &[R], bodies: [R; 2], moved: &[R], felt: &mut [R]) {
    let apart = |at: usize| sub(body3(moved, bodies[1], at), body3(moved, bodies[0], at));
    let (angular, linear) = (apart(0), apart(3));
    let apart = [angular[0], angular[1], angular[2], linear[0], linear[1], linear[2]];
    for own in 0..2 {
        let own_felt = times_transposed(&record[side::WRENCH + SUM * own..][..SUM], &apart);
        for lane in 0..R::N {
            let body = bodies[own].lane(lane).to_f64();
            if body < 0.0 {
                continue;
            }
            for (to, x) in felt[body as usize * SPATIAL..][..SPATIAL].iter_mut().zip(own_felt) {
                to.set_lane(lane, to.lane(lane) + x.lane(lane));
            }
        }
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, _params, places, motion, sides, act, out] = args.split();
    let (part, adjoint, n) = (Act::new(dims), Adjoint::new(dims), dims.n_v as usize);
    let tree = Tree::new(dims, topology.index());
    for t in 0..tiles {
        let at = tile_place(places.index(), t);
        let (begin, count) = (at[place::BEGIN], at[place::COUNT]);
        let (head, inputs) = nth_mut(out.tile_mut(), t, adjoint.reals as u32).split_at_mut(adjoint.inputs);
        follow(
            &tree,
            nth(motion.tile(), t, dims.n_v * SPATIAL as u32),
            &sides.tile()[begin * side::SIZE..(begin + count) * side::SIZE],
            &mut nth_mut(act.tile_mut(), t, part.reals as u32)[part.sums..],
            &head[adjoint.impulse..],
            &mut inputs[..n],
        );
    }
}
