//! `K = A^-1 - P B^-1 L J A^-1`, P the push: what impulses on the dofs add to v+. Column by column: on devices an item is one
//! column of one lane, tile by tile ([`items`]).
//!
//! Buffers: topology, params (unused), factor, places, system, mobility.

use std::ops::Range;

use super::layout::{System, mobility_reals, place, sizes, tile_place, verdict};
use super::substitute::substitute;
use crate::args::Args;
use crate::dynamics::effort::dof_count;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{ActuatorRecord, Tree, TreeDims, drive, nth, nth_mut, row};
use crate::prelude::TILES;
use crate::real::{Real, Scalar};

/// Items of a dispatch: every column of lanes in whole tiles, of whatever width.
#[must_use]
pub fn items(dims: &TreeDims) -> u32 {
    columns(dims, dims.n_v)
}

/// Items of so many columns.
pub(super) fn columns(dims: &TreeDims, count: u32) -> u32 {
    let widest = TILES.iter().fold(1, |widest, &tile| tile.max(widest));
    dims.lanes.next_multiple_of(widest) * count
}

/// The dofs that a control or, behind these, an activation moves: a control those of one joint alone, but for that of an applied force.
/// That of a row is in ds.
#[inline(always)]
pub(super) fn moved(tree: &Tree, input: usize) -> Range<usize> {
    match tree.actuators.get(input) {
        None | Some(ActuatorRecord { mode: drive::APPLIED, .. }) => 0..tree.dofs.len(),
        Some(ActuatorRecord { mode: drive::ROW, .. }) => 0..0,
        Some(actuator) => {
            let joint = &tree.joints[actuator.joint as usize];
            let first = joint.dof_begin as usize;
            first..first + dof_count(joint.kind)
        }
    }
}

/// Unknowns of the fullest lane of a tile.
#[inline(always)]
pub(super) fn most_unknowns<R: Real>(system: &[R]) -> usize {
    (0..R::N).fold(0, |most, lane| most.max(system[verdict::SIZE_OF].lane(lane).to_f64() as usize))
}

/// `A^-1`, `[n_v][n_v]`.
#[inline(always)]
fn inverse<R: Real>(tree: &Tree, factor: &[R], out: &mut [R]) {
    let (dofs, n) = (tree.dofs, tree.dofs.len());
    out[..n * n].fill(R::lit(0.0));
    for i in 0..n {
        out[i * n + i] = R::lit(1.0);
    }
    for i in (0..n).rev() {
        // Rows of L^-T: of a dof only its own column and those of dofs behind it are not zero, and they follow each other.
        let end = end_of(tree, i);
        let mut j = dofs[i].parent as usize;
        for &l in &row(factor, &dofs[i])[1..] {
            let (above, own) = out.split_at_mut(i * n);
            let above = &mut above[j * n + i..j * n + end];
            above.iter_mut().zip(&own[i..end]).for_each(|(to, x)| *to = (-l).mul_add(*x, *to));
            j = dofs[j].parent as usize;
        }
    }
    for i in 0..n {
        let row = row(factor, &dofs[i]);
        let (above, own) = out.split_at_mut(i * n);
        let own = &mut own[..n];
        own.iter_mut().for_each(|x| *x = *x * row[0]);
        let mut j = dofs[i].parent as usize;
        for &l in &row[1..] {
            own.iter_mut().zip(&above[j * n..]).for_each(|(x, y)| *x = (-l).mul_add(*y, *x));
            j = dofs[j].parent as usize;
        }
    }
}

/// One past the last dof behind a dof.
#[inline(always)]
fn end_of(tree: &Tree, dof: usize) -> usize {
    let own = &tree.dofs[dof];
    let mut end = dof + 1;
    while end < tree.dofs.len() && tree.dofs[end].body < own.subtree_end {
        end += 1;
    }
    end
}

/// One tile: `system` is its own.
pub fn mobility<R: Real>(tree: &Tree, factor: &[R], at: &System, system: &mut [R], out: &mut [R]) {
    let n = tree.dofs.len();
    inverse(tree, factor, out);
    let (out, says) = out.split_at_mut(n * n);
    says.copy_from_slice(&system[..verdict::SIZE]);
    let m = most_unknowns(system);
    let (head, rest) = system.split_at_mut(at.response);
    let solved = &mut rest[..m * n];
    substitute(m, at.most, &head[at.factor..], solved, n);
    for (i, out) in out.chunks_exact_mut(n).enumerate() {
        for (k, solved) in solved.chunks_exact(n).enumerate() {
            let push = -head[at.push + k * n + i];
            out.iter_mut().zip(solved).for_each(|(to, x)| *to = push.mul_add(*x, *to));
        }
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let [topology, _params, factor, places, system, out] = args.split();
    let tree = Tree::new(dims, topology.index());
    for t in 0..(dims.lanes as usize).div_ceil(R::N) {
        let own = tile_place(places.index(), t);
        let at = System::new(sizes(dims), own[place::COUNT]);
        mobility(
            &tree,
            nth(factor.tile(), t, dims.n_m),
            &at,
            &mut system.tile_mut()[own[place::SYSTEM]..][..at.reals],
            nth_mut(out.tile_mut(), t, mobility_reals(dims) as u32),
        );
    }
}
