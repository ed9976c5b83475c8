//! From the gradient of a loss by impulses on the dofs, and the adjoint of the equations, to those by q, v and ctrl:
//! `dF^T w - (L^-1 ds)^T y`. Column by column: on devices an item is one column of one lane, tile by tile ([`items`]).
//!
//! Buffers: topology, params (unused), slope, places, system, adjoint.

use super::layout::{Adjoint, System, answer_width, place, sizes, tile_place};
use super::mobility::{columns, most_unknowns, moved};
use super::substitute::descend;
use crate::args::Args;
use crate::dynamics::derivatives::layout::{slope_reals, width};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Tree, TreeDims, nth, nth_mut};
use crate::real::{Mask, Real};

/// Items of a dispatch.
#[must_use]
pub fn items(dims: &TreeDims) -> u32 {
    columns(dims, answer_width(dims) as u32)
}

/// One tile: `system` is its own. `impulse` `[n_v]`; `out` and `left` `[2 n_v + n_input]`.
pub fn back<R: Real>(
    tree: &Tree,
    slope: &[R],
    at: &System,
    system: &mut [R],
    impulse: &[R],
    out: &mut [R],
    left: &mut [R],
) {
    let (n, n_input, zero) = (tree.dofs.len(), tree.dims.n_input() as usize, R::lit(0.0));
    let stride = width(tree.dims);
    out.fill(zero);
    left.fill(zero);
    for (row, w) in slope.chunks_exact(stride).zip(impulse) {
        out[..2 * n].iter_mut().zip(row).for_each(|(to, x)| *to = x.mul_add(*w, *to));
    }
    for a in 0..n_input {
        for j in moved(tree, a) {
            out[2 * n + a] = slope[j * stride + 2 * n + a].mul_add(impulse[j], out[2 * n + a]);
        }
    }
    let m = most_unknowns(system);
    let (head, rest) = system.split_at_mut(at.shift);
    let (shift, y) = rest.split_at_mut(at.adjoint - at.shift);
    let across = n + n_input;
    descend(m, at.most, &head[at.factor..], &mut shift[..m * across], across);
    for (k, row) in shift.chunks_exact(across).take(m).enumerate() {
        let per = head[at.factor + k * at.most + k];
        // No pivot: nothing may be left of the equation.
        let none = per.le(zero) & zero.le(per);
        let (by_q, by_input) = row.split_at(n);
        for (first, part) in [(0, by_q), (2 * n, by_input)] {
            for (c, x) in part.iter().enumerate() {
                out[first + c] = (-y[k]).mul_add(*x, out[first + c]);
                if none.any() {
                    left[first + c] = R::select(none, left[first + c].max(x.abs()), left[first + c]);
                }
            }
        }
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let [topology, _params, slope, places, system, out] = args.split();
    let tree = Tree::new(dims, topology.index());
    let part = Adjoint::new(dims);
    for t in 0..(dims.lanes as usize).div_ceil(R::N) {
        let own = tile_place(places.index(), t);
        let at = System::new(sizes(dims), own[place::COUNT]);
        let (head, rest) = nth_mut(out.tile_mut(), t, part.reals as u32).split_at_mut(part.inputs);
        let (out, left) = rest.split_at_mut(part.left - part.inputs);
        back(
            &tree,
            nth(slope.tile(), t, slope_reals(dims) as u32),
            &at,
            &mut system.tile_mut()[own[place::SYSTEM]..][..at.reals],
            &head[part.impulse..],
            out,
            left,
        );
    }
}
