//! From the gradient of a loss by impulses on the dofs, and what each row of the lane weighs ([`super::adjoint`]), to those by q, v, ctrl
//! and act: `dF^T w - ds^T (L^T z)`. Column by column: on devices an item is one column of one lane, tile by tile ([`items`]).
//!
//! Buffers: topology, params (unused), slope, places, row, shift, system, adjoint.

use super::layout::{Adjoint, System, answer_width, place, row_shift, shift_reals, sizes, slot_shift, tile_place};
use super::mobility::{columns, moved};
use super::weigh::{add_weighed, weighs};
use crate::args::Args;
use crate::contact::tree_layout::{row as row_part, row_dof, row_stride};
use crate::dynamics::derivatives::layout::{slope_reals, width};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Tree, TreeDims, nth, nth_mut};
use crate::real::{Mask, Real, Scalar};

/// Items of a dispatch.
#[must_use]
pub fn items(dims: &TreeDims) -> u32 {
    columns(dims, answer_width(dims) as u32)
}

/// One tile: `shift` is its own, `reaction` what the rows of the tree weigh, then those of the slots. `impulse` `[n_v]`; `out`
/// `[2 n_v + n_input]`.
pub fn back<R: Real>(tree: &Tree, slope: &[R], rows: &[R], shift: &[R], reaction: &[R], impulse: &[R], out: &mut [R]) {
    let (n, n_input, n_row) = (tree.dofs.len(), tree.dims.n_input() as usize, tree.rows.len());
    let stride = width(tree.dims);
    // By q and v stands what the inverse dynamics and the motion of the contacts' impulses add.
    out[2 * n..].fill(R::lit(0.0));
    for (row, w) in slope.chunks_exact(stride).zip(impulse) {
        out[..2 * n].iter_mut().zip(row).for_each(|(to, x)| *to = x.mul_add(*w, *to));
    }
    for a in 0..n_input {
        for j in moved(tree, a) {
            out[2 * n + a] = slope[j * stride + 2 * n + a].mul_add(impulse[j], out[2 * n + a]);
        }
    }
    let (of_rows, of_slots) = reaction.split_at(n_row);
    let (slots, row_shifts) = shift.split_at(of_slots.len() / 3 * slot_shift(n));
    for (weights, own) in of_slots.chunks_exact(3).zip(slots.chunks_exact(slot_shift(n))) {
        for (&weight, own) in weights.iter().zip(own.chunks_exact(n)) {
            add_weighed(-weight, own, out);
        }
    }
    let numbers = rows.chunks_exact(row_stride(n, row_part::WIDTH));
    for ((&weight, numbers), own) in of_rows.iter().zip(numbers).zip(row_shifts.chunks_exact(row_shift::SIZE)) {
        if !weighs(weight).any() {
            continue;
        }
        for k in 0..3 {
            let to = &mut out[row_dof(numbers, k)];
            *to = (-weight).mul_add(own[row_shift::BY_Q + k], *to);
        }
        if n_input > 0 {
            let to = &mut out[2 * n + own[row_shift::CONTROL].lane(0).to_f64() as usize];
            *to = (-weight).mul_add(own[row_shift::BY_CTRL], *to);
        }
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let [topology, _params, slope, places, rows, shift, system, out] = args.split();
    let tree = Tree::new(dims, topology.index());
    let (part, n) = (Adjoint::new(dims), dims.n_v as usize);
    for t in 0..(dims.lanes as usize).div_ceil(R::N) {
        let own = tile_place(places.index(), t);
        let at = System::new(sizes(dims), own[place::COUNT]);
        let (head, rest) = nth_mut(out.tile_mut(), t, part.reals as u32).split_at_mut(part.inputs);
        back(
            &tree,
            nth(slope.tile(), t, slope_reals(dims) as u32),
            nth(rows.tile(), t, dims.n_row * row_stride(n, row_part::WIDTH) as u32),
            &shift.tile()[own[place::SHIFT]..][..shift_reals(dims, own[place::COUNT])],
            &system.tile()[own[place::SYSTEM]..][at.reaction..at.scratch],
            &head[part.impulse..],
            &mut rest[..part.verdict - part.inputs],
        );
    }
}
