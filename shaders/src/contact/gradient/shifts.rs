//! ds of the contacts by q.
//!
//! Buffers: topology, params (unused), places, motion, act, side, shift.

use super::layout::{place, shift_reals, side, slot_shift, tile_place};
use super::sided::{dot, spatial};
use super::sides::acts;
use crate::args::Args;
use crate::dynamics::derivatives::layout::Act;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{SPATIAL, Tree, moves, nth};
use crate::real::{Mask, Real};

/// One tile: `sides` are its own slots, `shift` its own.
pub fn shifts<R: Real>(tree: &Tree, motion: &[R], psi: &[R], sides: &[R], shift: &mut [R]) {
    let (n, zero) = (tree.dofs.len(), R::lit(0.0));
    for (record, out) in sides.chunks_exact(side::SIZE).zip(shift.chunks_exact_mut(slot_shift(n))) {
        let bodies = [record[side::BODIES], record[side::BODIES + 1]];
        if !acts(bodies).any() {
            continue;
        }
        let moving = bodies.map(|body| zero.le(body));
        out[3 * n..].copy_from_slice(&record[side::KINK..side::SIZE]);
        for i in 0..n {
            let weights = bodies.map(|body| moves(&tree.dofs[i], body));
            let apart = weights[1] - weights[0];
            if !(zero.lt(weights[0]) | zero.lt(weights[1])).any() {
                (0..3).for_each(|k| out[k * n + i] = zero);
                continue;
            }
            let (s, psi) = (spatial(motion, i), spatial(psi, i));
            for k in 0..3 {
                let mut sum = apart * dot(&record[side::SPEED + k * SPATIAL..], &psi, zero);
                for own in (0..2).filter(|&own| moving[own].any()) {
                    let row = &record[side::TURNED + 18 * own + k * SPATIAL..];
                    sum = weights[own].mul_add(dot(row, &s, zero), sum);
                }
                out[k * n + i] = sum;
            }
        }
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, _params, places, motion, act, sides, shift] = args.split();
    let part = Act::new(dims);
    let tree = Tree::new(dims, topology.index());
    for t in 0..tiles {
        let at = tile_place(places.index(), t);
        let (begin, count) = (at[place::BEGIN], at[place::COUNT]);
        shifts(
            &tree,
            nth(motion.tile(), t, dims.n_v * SPATIAL as u32),
            &nth(act.tile(), t, part.reals as u32)[part.psi..part.sums],
            &sides.tile()[begin * side::SIZE..(begin + count) * side::SIZE],
            &mut shift.tile_mut()[at[place::SHIFT]..][..shift_reals(dims, count)],
        );
    }
}
