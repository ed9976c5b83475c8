//! ds of the contacts by q, and what the motion of their impulses adds to dF.
//!
//! A wrench on one body that follows the motion of the same body is summed by bodies, then over subtrees, as inertias are; one
//! that follows the motion of the other body of the tree goes to pairs of dofs.
//!
//! Buffers: topology, params (unused), places, motion, act, side, shift, slope.

use super::layout::{place, shift_reals, side, slot_shift, tile_place};
use super::sides::acts;
use crate::args::Args;
use crate::dynamics::derivatives::layout::{Act, slope_reals, width};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{NONE, SPATIAL, Tree, moves, nth, nth_mut};
use crate::real::{Mask, Real, Scalar};

/// Reals of a body in the sums of [`Act`].
const SUM: usize = SPATIAL * SPATIAL;

#[inline(always)]
fn spatial<R: Real>(from: &[R], at: usize) -> [R; SPATIAL] {
    std::array::from_fn(|k| from[at * SPATIAL + k])
}

#[inline(always)]
fn dot<R: Real>(row: &[R], s: &[R; SPATIAL], start: R) -> R {
    (0..SPATIAL).fold(start, |sum, k| row[k].mul_add(s[k], sum))
}

/// `W s`.
#[inline(always)]
fn times<R: Real>(w: &[R], s: &[R; SPATIAL]) -> [R; SPATIAL] {
    std::array::from_fn(|k| dot(&w[k * SPATIAL..(k + 1) * SPATIAL], s, R::lit(0.0)))
}

/// `W^T s`.
#[inline(always)]
fn times_transposed<R: Real>(w: &[R], s: &[R; SPATIAL]) -> [R; SPATIAL] {
    std::array::from_fn(|k| (0..SPATIAL).fold(R::lit(0.0), |sum, r| w[r * SPATIAL + k].mul_add(s[r], sum)))
}

/// One tile: `sides` are its own slots, `shift` its own. Adds to the columns of q of `slope`.
pub fn shifts<R: Real>(
    tree: &Tree,
    motion: &[R],
    psi: &[R],
    sides: &[R],
    sums: &mut [R],
    shift: &mut [R],
    slope: &mut [R],
) {
    let (n, zero) = (tree.dofs.len(), R::lit(0.0));
    if sides.is_empty() {
        return;
    }
    let width = width(tree.dims);
    sums.fill(zero);
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
        if (moving[0] & moving[1]).any() {
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
    for i in 0..n {
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
    let [topology, _params, places, motion, act, sides, shift, slope] = args.split();
    let part = Act::new(dims);
    let tree = Tree::new(dims, topology.index());
    for t in 0..tiles {
        let at = tile_place(places.index(), t);
        let (begin, count) = (at[place::BEGIN], at[place::COUNT]);
        let (head, sums) = nth_mut(act.tile_mut(), t, part.reals as u32).split_at_mut(part.sums);
        shifts(
            &tree,
            nth(motion.tile(), t, dims.n_v * SPATIAL as u32),
            &head[part.psi..],
            &sides.tile()[begin * side::SIZE..(begin + count) * side::SIZE],
            sums,
            &mut shift.tile_mut()[at[place::SHIFT]..][..shift_reals(dims, count)],
            nth_mut(slope.tile_mut(), t, slope_reals(dims) as u32),
        );
    }
}
