//! Where an island's numbers lie, and its impulses and gradient at a velocity.

use super::law;
use super::layout::{ConvexDims, DofRecord, PlaceRecord, state, term};
use super::terms::setting;
use crate::Scalar;
use crate::contact::island::{self, IslandDims, IslandRecord, Islands, SideRecord, con, kind};

/// What an outer iteration may have come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Running,
    Solved,
    Broken,
}

/// Sums over an island at the present velocity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sums<T> {
    /// `|lambda - before|^2 / beta`, J.
    pub(super) outer: T,
    /// Squares in the norm of `diag(A)^-1`, J: of the gradient, of `A v`, of `J^T lambda`.
    pub(super) error: T,
    pub(super) momentum: T,
    pub(super) pushed: T,
}

/// A solve of one island: what it reads, and its parts of what it writes.
pub(super) struct Island<'a, T> {
    pub(super) dims: &'a ConvexDims,
    /// As the functions for islands want them.
    pub(super) plain: &'a IslandDims,
    pub(super) all: &'a Islands<'a>,
    pub(super) record: &'a IslandRecord,
    pub(super) place: PlaceRecord,
    pub(super) dofs: &'a [DofRecord],
    pub(super) jac: &'a [T],
    pub(super) cons: &'a [T],
    pub(super) impulse: &'a mut [T],
    /// Regions of `velocity`.
    pub(super) free: &'a [T],
    pub(super) solution: &'a mut [T],
    pub(super) v: &'a mut [T],
    pub(super) convex: &'a mut [T],
    /// Outcome, in `island_info`.
    pub(super) info: &'a mut [T],
}

impl<T: Scalar> Island<'_, T> {
    /// Numbers of the constraints.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.record.constraint_begin as usize..self.record.constraint_end as usize
    }

    pub(super) fn is_block(&self, i: usize) -> bool {
        self.all.constraints[i].kind == kind::BLOCK
    }

    pub(super) fn con(&self, i: usize) -> &[T] {
        &self.cons[con::SIZE * i..][..con::SIZE]
    }

    /// First real of a constraint in `convex`.
    pub(super) fn term_at(&self, i: usize) -> usize {
        self.dims.constraint_real as usize + term::SIZE * i
    }

    /// First real of the gradient.
    pub(super) fn gradient_at(&self) -> usize {
        self.place.real as usize + state::SIZE
    }

    pub(super) fn sides(&self, i: usize) -> &[SideRecord] {
        let c = &self.all.constraints[i];
        &self.all.sides[c.side_begin as usize..c.side_end as usize]
    }

    pub(super) fn load(&self, at: usize) -> T {
        self.convex[self.place.real as usize + at]
    }

    pub(super) fn store(&mut self, at: usize, x: T) {
        self.convex[self.place.real as usize + at] = x;
    }

    /// `J x` of every constraint to `field` of its term, x the velocity (region SCRATCH) or the direction (SOLUTION).
    pub(super) fn relative(&mut self, direction: bool, field: usize) {
        let zero = T::lit(0.0);
        for i in self.range() {
            let x: &[T] = if direction { self.solution } else { self.v };
            let sigma = if self.is_block(i) {
                island::block_sigma(self.sides(i), self.jac, [zero; 3], x)
            } else {
                [island::row_sigma(self.con(i), self.sides(i), self.jac, x), zero, zero]
            };
            let at = self.term_at(i) + field;
            self.convex[at..at + 3].copy_from_slice(&sigma);
        }
    }

    /// Impulses, slopes and gradient at the velocity.
    pub(super) fn evaluate(&mut self) -> Sums<T> {
        let zero = T::lit(0.0);
        let mut sums = Sums { outer: zero, error: zero, momentum: zero, pushed: zero };
        let n = self.dofs.len();
        let gradient = self.gradient_at();
        self.convex[gradient..gradient + n].fill(zero);
        let first = self.record.velocity_begin as usize;
        for i in self.range() {
            let at = self.term_at(i);
            let t = &self.convex[at..][..term::SIZE];
            let sigma = [t[term::SIGMA], t[term::SIGMA + 1], t[term::SIGMA + 2]];
            let (lambda, slope) = law::impulse(self.is_block(i), self.con(i), t, sigma);
            let square = (0..3).fold(zero, |sum, r| {
                let d = lambda[r] - t[term::BEFORE + r];
                d.mul_add(d, sum)
            });
            sums.outer += square / t[term::BETA_N];
            let t = &mut self.convex[at..][..term::SIZE];
            t[term::LAMBDA..term::LAMBDA + 3].copy_from_slice(&lambda);
            t[term::SLOPE..term::SLOPE + 6].copy_from_slice(&slope);
            // J^T lambda, for now in the gradient's place.
            let rows = if self.is_block(i) { 3 } else { 1 };
            let c = &self.all.constraints[i];
            for side in &self.all.sides[c.side_begin as usize..c.side_end as usize] {
                let count = side.count as usize;
                let to = &mut self.convex[gradient + side.velocity as usize - first..][..count];
                for (&x, j) in lambda.iter().take(rows).zip(self.jac[side.jac as usize..].chunks_exact(count)) {
                    to.iter_mut().zip(j).for_each(|(to, &j)| *to = j.mul_add(x, *to));
                }
            }
        }
        let (v, free) = (&self.v[first..][..n], &self.free[first..][..n]);
        for k in 0..n {
            let dof = &self.dofs[k];
            let (tree, count) = (dof.tree as usize, dof.count as usize);
            let a = &self.convex[dof.row as usize..][..count];
            let (mut missed, mut momentum) = (zero, zero);
            for ((&a, &v), &free) in a.iter().zip(&v[tree..]).zip(&free[tree..]) {
                missed = a.mul_add(v - free, missed);
                momentum = a.mul_add(v, momentum);
            }
            let weight = T::lit(1.0) / a[k - tree];
            let pushed = self.convex[gradient + k];
            let g = missed - pushed;
            self.convex[gradient + k] = g;
            sums.error += g * g * weight;
            sums.momentum += momentum * momentum * weight;
            sums.pushed += pushed * pushed * weight;
        }
        sums
    }

    /// What round-off leaves of the error, J: of an impulse, round-off in `J v` leaves its weight times as much.
    pub(super) fn roundoff(&self, sums: &Sums<T>) -> T {
        setting::<T>(self.dims.floor) * self.load(state::STIFFEST) * sums.momentum.max(sums.pushed)
    }

    /// The impulses to where all the world reads them.
    pub(super) fn publish(&mut self) {
        for i in self.range() {
            let at = self.term_at(i) + term::LAMBDA;
            self.impulse[3 * i..3 * i + 3].copy_from_slice(&self.convex[at..at + 3]);
        }
    }
}
