//! `A x = x` by the factor of a body's matrix, as its plan says: see [`super::factor`].

use crate::real::{Real, Scalar};
use crate::soft::body::{BLOCK, SoftDims};

/// The plan's parts: see [`super::factor`].
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    pub(super) nodes: &'a [u32],
    pub(super) begins: &'a [u32],
    pub(super) rows: &'a [u32],
    pub(super) products: &'a [u32],
}

impl<'a> Plan<'a> {
    /// From the topology.
    #[must_use]
    pub fn new(dims: &SoftDims, topology: &'a [u32]) -> Self {
        let (nodes, rest) = topology[dims.plan_at as usize..].split_at(dims.n_node as usize);
        let (begins, rest) = rest.split_at(dims.n_node as usize + 1);
        let (rows, products) = rest.split_at(dims.n_fill as usize);
        Self { nodes, begins, rows, products }
    }
}

/// `A x = x`.
#[inline(always)]
pub fn solve<R: Real>(plan: &Plan, factor: &[R], x: &mut [R]) {
    solve_tile_by(plan, factor, x, |l| l);
}

/// The same of one world, for several right-hand sides side by side.
#[inline(always)]
pub(super) fn solve_tile<S: Scalar>(plan: &Plan, factor: &[S], x: &mut [S::Pack]) {
    solve_tile_by(plan, factor, x, S::Pack::splat);
}

/// The same with what makes a factor's entries those of all lanes.
#[inline(always)]
fn solve_tile_by<R: Real, F: Copy>(plan: &Plan, factor: &[F], x: &mut [R], wide: impl Fn(F) -> R) {
    let node = |position: u32| 3 * plan.nodes[position as usize] as usize;
    for (j, column) in plan.begins.windows(2).enumerate() {
        let own = node(j as u32);
        let c = block(factor, column[0]).map(&wide);
        let x0 = x[own] * c[0];
        let x1 = (-c[3]).mul_add(x0, x[own + 1]) * c[4];
        let x2 = (-c[7]).mul_add(x1, (-c[6]).mul_add(x0, x[own + 2])) * c[8];
        x[own..own + 3].copy_from_slice(&[x0, x1, x2]);
        for at in column[0] + 1..column[1] {
            let (l, to) = (block(factor, at).map(&wide), node(plan.rows[at as usize]));
            for row in 0..3 {
                let taken = l[3 * row + 2].mul_add(x2, l[3 * row + 1].mul_add(x1, l[3 * row] * x0));
                x[to + row] -= taken;
            }
        }
    }
    for (j, column) in plan.begins.windows(2).enumerate().rev() {
        let own = node(j as u32);
        let mut sums = [x[own], x[own + 1], x[own + 2]];
        for at in column[0] + 1..column[1] {
            let (l, from) = (block(factor, at).map(&wide), node(plan.rows[at as usize]));
            for row in 0..3 {
                let minus = -x[from + row];
                for k in 0..3 {
                    sums[k] = minus.mul_add(l[3 * row + k], sums[k]);
                }
            }
        }
        let c = block(factor, column[0]).map(&wide);
        let x2 = sums[2] * c[8];
        let x1 = (-c[7]).mul_add(x2, sums[1]) * c[4];
        let x0 = (-c[6]).mul_add(x2, (-c[3]).mul_add(x1, sums[0])) * c[0];
        x[own..own + 3].copy_from_slice(&[x0, x1, x2]);
    }
}

#[inline(always)]
pub(super) fn block<R>(of: &[R], number: u32) -> &[R; BLOCK] {
    let at = number as usize * BLOCK;
    (&of[at..at + BLOCK]).try_into().expect("a block")
}
