//! dv+ by q, v, ctrl and act: `K dF - P B^-1 L ds`. Column by column: on devices an item is one column of one lane, tile by tile
//! ([`items`]).
//!
//! Buffers: topology, params (unused), slope, mobility, places, system, answer.

use super::layout::{System, answer_reals, answer_width, mobility_reals, place, sizes, tile_place};
use super::mobility::{columns, most_unknowns, moved};
use super::substitute::substitute;
use crate::args::Args;
use crate::dynamics::derivatives::layout::{slope_reals, width};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Tree, TreeDims, nth, nth_mut};
use crate::real::Real;

/// Items of a dispatch.
#[must_use]
pub fn items(dims: &TreeDims) -> u32 {
    columns(dims, answer_width(dims) as u32)
}

/// Rows of the answer that are made side by side: each number of `slope` is loaded once for all of them.
const ROWS: usize = 4;

/// `K dF` of some rows, by q and by v.
#[inline(always)]
fn respond<R: Real, const N: usize>(n: usize, k: [&[R]; N], slope: &[R], stride: usize, out: [&mut [R]; N]) {
    for c in 0..2 * n {
        let mut sums = [R::lit(0.0); N];
        for j in 0..n {
            let x = slope[j * stride + c];
            for r in 0..N {
                sums[r] = k[r][j].mul_add(x, sums[r]);
            }
        }
        for r in 0..N {
            out[r][c] = sums[r];
        }
    }
}

/// One tile: `system` is its own.
pub fn answer<R: Real>(tree: &Tree, slope: &[R], mobility: &[R], at: &System, system: &mut [R], out: &mut [R]) {
    let (n, n_input) = (tree.dofs.len(), tree.dims.n_input() as usize);
    let (stride, width) = (width(tree.dims), answer_width(tree.dims));
    let rows = |i: usize| &mobility[i * n..(i + 1) * n];
    let mut whole = out.chunks_exact_mut(ROWS * width);
    let mut i = 0;
    for four in &mut whole {
        let (a, rest) = four.split_at_mut(width);
        let (b, rest) = rest.split_at_mut(width);
        let (c, d) = rest.split_at_mut(width);
        respond(n, [rows(i), rows(i + 1), rows(i + 2), rows(i + 3)], slope, stride, [a, b, c, d]);
        i += ROWS;
    }
    for out in whole.into_remainder().chunks_exact_mut(width) {
        respond(n, [rows(i)], slope, stride, [out]);
        i += 1;
    }
    for a in 0..n_input {
        let moved = moved(tree, a);
        for i in 0..n {
            out[i * width + 2 * n + a] =
                moved.clone().fold(R::lit(0.0), |sum, j| rows(i)[j].mul_add(slope[j * stride + 2 * n + a], sum));
        }
    }
    let m = most_unknowns(system);
    let (head, solved) = system.split_at_mut(at.shift);
    let across = n + n_input;
    let solved = &mut solved[..m * across];
    substitute(m, at.most, &head[at.factor..], solved, across);
    for (i, out) in out.chunks_exact_mut(width).enumerate() {
        for (k, solved) in solved.chunks_exact(across).enumerate() {
            let push = -head[at.push + k * n + i];
            let (by_q, by_input) = (&solved[..n], &solved[n..]);
            out[..n].iter_mut().zip(by_q).for_each(|(to, x)| *to = push.mul_add(*x, *to));
            out[2 * n..].iter_mut().zip(by_input).for_each(|(to, x)| *to = push.mul_add(*x, *to));
        }
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let [topology, _params, slope, mobility, places, system, out] = args.split();
    let tree = Tree::new(dims, topology.index());
    for t in 0..(dims.lanes as usize).div_ceil(R::N) {
        let own = tile_place(places.index(), t);
        let at = System::new(sizes(dims), own[place::COUNT]);
        answer(
            &tree,
            nth(slope.tile(), t, slope_reals(dims) as u32),
            nth(mobility.tile(), t, mobility_reals(dims) as u32),
            &at,
            &mut system.tile_mut()[own[place::SYSTEM]..][..at.reals],
            nth_mut(out.tile_mut(), t, answer_reals(dims) as u32),
        );
    }
}
