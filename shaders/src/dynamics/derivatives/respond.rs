//! What the momentum balance's derivative does to the free velocity: `A^-1` times `slope`, in place, by the step's own
//! factor. Column by column; of column j of q, v or tau only the rows of dofs above or below dof j are not zero, and so
//! remain while the solve runs towards the root.
//!
//! On devices an item is one column of one lane, tile by tile: [`items`].

use super::layout::{slope_reals, width};
use crate::args::Args;
use crate::dynamics::effort::dof_count;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{DofRecord, Tree, TreeDims, nth, nth_mut, row};
use crate::prelude::TILES;
use crate::real::{LANES, Real, Scalar};

/// Items of a dispatch: every column of lanes in whole tiles, of whatever width.
#[must_use]
pub fn items(dims: &TreeDims) -> u32 {
    let widest = TILES.iter().fold(1, |widest, &tile| tile.max(widest));
    dims.lanes.next_multiple_of(widest) * width(dims) as u32
}

/// `factor` `[n_m]` and `slope` of one tile of lanes; `column`: `[n_v]` of scratch.
pub fn respond<R: Real>(tree: &Tree, factor: &[R], column: &mut [R], slope: &mut [R]) {
    let (n, width) = (tree.dofs.len(), width(tree.dims));
    for c in 0..width {
        let of = seed(tree, c);
        for i in 0..n {
            column[i] = slope[i * width + c];
        }
        solve_column(tree, factor, of, column);
        for i in 0..n {
            slope[i * width + c] = column[i];
        }
    }
}

/// A dof that all entries of a column that are not zero are above or below: the last of its joint.
#[inline(always)]
fn seed<'a>(tree: &Tree<'a>, column: usize) -> &'a DofRecord {
    let n = tree.dofs.len();
    if column < 3 * n {
        return &tree.dofs[column % n];
    }
    let joint = &tree.joints[tree.actuators[column - 3 * n].joint as usize];
    &tree.dofs[joint.dof_begin as usize + dof_count(joint.kind) - 1]
}

/// Whether one of two dofs moves the other.
#[inline(always)]
fn related(a: &DofRecord, b: &DofRecord) -> bool {
    (a.body <= b.body && b.body < a.subtree_end) || (b.body <= a.body && a.body < b.subtree_end)
}

/// As [`solve`](crate::dynamics::tree::solve), of a column that begins at a dof.
#[inline(always)]
fn solve_column<R: Real>(tree: &Tree, factor: &[R], of: &DofRecord, x: &mut [R]) {
    let n = tree.dofs.len();
    for i in (0..n).rev() {
        let dof = &tree.dofs[i];
        if !related(dof, of) {
            continue;
        }
        let xi = x[i];
        let mut j = dof.parent as usize;
        for &l in &row(factor, dof)[1..] {
            x[j] = (-l).mul_add(xi, x[j]);
            j = tree.dofs[j].parent as usize;
        }
    }
    for i in 0..n {
        let dof = &tree.dofs[i];
        let row = row(factor, dof);
        let mut sum = x[i] * row[0];
        let mut j = dof.parent as usize;
        for &l in &row[1..] {
            sum = (-l).mul_add(x[j], sum);
            j = tree.dofs[j].parent as usize;
        }
        x[i] = sum;
    }
}

/// Buffers: topology, params (unused), factor, slope.
pub fn mirror<T: Scalar>(args: &mut Args<T>) {
    let dims = &args.dims::<Dims>().tree;
    let [topology, _params, factor, slope] = args.split();
    let tree = Tree::new(dims, topology.index());
    let (factor, slope) = (factor.tile(), slope.tile_mut());
    let mut column = vec![T::Pack::lit(0.0); dims.n_v as usize];
    for t in 0..(dims.lanes as usize).div_ceil(LANES) {
        let slope = nth_mut(slope, t, slope_reals(dims) as u32);
        respond(&tree, nth(factor, t, dims.n_m), &mut column, slope);
    }
}
