//! What the motion of the contacts' impulses adds to dF.
//!
//! A wrench on one body that follows the motion of the same body is summed by bodies, then over subtrees, as inertias are; one
//! that follows the motion of the other body of the tree goes to pairs of dofs.
//!
//! Buffers: topology, params (unused), places, motion, side, act, slope.

use super::layout::{place, side, tile_place};
use super::sided::{SUM, dot, spatial, times, times_transposed};
use super::sides::acts;
use crate::args::Args;
use crate::dynamics::derivatives::layout::{Act, slope_reals, width};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{NONE, SPATIAL, Tree, moves, nth, nth_mut};
use crate::real::{Mask, Real, Scalar};

/// One tile: `sides` are its own slots. Adds to the columns of q of `slope`.
pub fn wrenches<R: Real>(tree: &Tree, motion: &[R], sides: &[R], sums: &mut [R], slope: &mut [R]) {
    let zero = R::lit(0.0);
    if sides.is_empty() {
        return;
    }
    let width = width(tree.dims);
    sums.fill(zero);
    for record in sides.chunks_exact(side::SIZE) {
        let bodies = [record[side::BODIES], record[side::BODIES + 1]];
        if !acts(bodies).any() {
            continue;
        }
        for lane in 0..R::N {
            for own in 0..2 {
                let body = bodies[own].lane(lane).to_f64();
                if body < 0.0 {
                    continue;
                }
                let from = &record[side::WRENCH + SUM * own..][..SUM];
                for (to, x) in sums[body as usize * SUM..][..SUM].iter_mut().zip(from) {
                    let x = x.lane(lane);
                    to.set_lane(lane, if own == 1 { to.lane(lane) + x } else { to.lane(lane) - x });
                }
            }
        }
        if (zero.le(bodies[0]) & zero.le(bodies[1])).any() {
            add_pairs(tree, motion, record, bodies, width, slope);
        }
    }
    for b in (1..tree.bodies.len()).rev() {
        let parent = tree.bodies[b].parent as usize * SUM;
        for k in 0..SUM {
            let own = sums[b * SUM + k];
            sums[parent + k] += own;
        }
    }
    for i in 0..tree.dofs.len() {
        let s = spatial(motion, i);
        let own = &sums[tree.dofs[i].body as usize * SUM..][..SUM];
        let (there, back) = (times(own, &s), times_transposed(own, &s));
        slope[i * width + i] = dot(&s, &there, slope[i * width + i]);
        let mut above = tree.dofs[i].parent;
        while above != NONE {
            let j = above as usize;
            let s = spatial(motion, j);
            slope[j * width + i] = dot(&s, &there, slope[j * width + i]);
            slope[i * width + j] = dot(&s, &back, slope[i * width + j]);
            above = tree.dofs[j].parent;
        }
    }
}

/// What each of two bodies of the tree does to the impulse on the other.
#[inline(always)]
fn add_pairs<R: Real>(tree: &Tree, motion: &[R], record: &[R], bodies: [R; 2], width: usize, slope: &mut [R]) {
    let n = tree.dofs.len();
    // Where both are of the tree.
    let zero = R::lit(0.0);
    let both = R::select(zero.le(bodies[0]) & zero.le(bodies[1]), R::lit(1.0), zero);
    for (own, other, sign) in [(0, 1, 1.0), (1, 0, -1.0)] {
        for i in 0..n {
            let moved = both * moves(&tree.dofs[i], bodies[own]);
            if !zero.lt(moved).any() {
                continue;
            }
            let wrench = times(&record[side::WRENCH + SUM * own..][..SUM], &spatial(motion, i));
            for k in 0..n {
                let moves = zero.lt(moved * moves(&tree.dofs[k], bodies[other]));
                if moves.any() {
                    let there = dot(&spatial(motion, k), &wrench, zero);
                    let to = &mut slope[k * width + i];
                    // What stands there for a lane that it does not move may be anything.
                    *to = R::select(moves, R::lit(sign).mul_add(there, *to), *to);
                }
            }
        }
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, _params, places, motion, sides, act, slope] = args.split();
    let part = Act::new(dims);
    let tree = Tree::new(dims, topology.index());
    for t in 0..tiles {
        let at = tile_place(places.index(), t);
        let (begin, count) = (at[place::BEGIN], at[place::COUNT]);
        wrenches(
            &tree,
            nth(motion.tile(), t, dims.n_v * SPATIAL as u32),
            &sides.tile()[begin * side::SIZE..(begin + count) * side::SIZE],
            &mut nth_mut(act.tile_mut(), t, part.reals as u32)[part.sums..],
            nth_mut(slope.tile_mut(), t, slope_reals(dims) as u32),
        );
    }
}
