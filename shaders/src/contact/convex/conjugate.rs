//! The direction of a Newton step on an island whose matrix is never written out: `H d = -gradient` by the preconditioned
//! method of conjugate residuals (Saad, "Iterative methods for sparse linear systems", algorithm 6.20), with
//! `H x = A x + J^T W J x` by trees and constraints, and the inverses of the trees' own blocks of H as preconditioner.
//!
//! A turn is so many rounds of it: what is not found then goes on in the next turn, which may be in another dispatch. The
//! residual falls in the preconditioner's norm from round to round; a direction is found when, in the norm of
//! `diag(A)^-1`, it is [`CONJUGATE_SHARE`] of the gradient, or as good as it gets.

use super::evaluate::Island;
use super::layout::{conjugate, state, term};
use super::newton::Direction;
use crate::Scalar;
use crate::contact::island;
use crate::contact::local::symmetric_times;

/// Share of the gradient that a direction leaves, both in the norm of `diag(A)^-1`.
const CONJUGATE_SHARE: f64 = 1e-3;
/// Rounds for a direction at most, in degrees of freedom: in exact arithmetic one each would do.
const CONJUGATE_MOST: usize = 3;

impl<T: Scalar> Island<'_, T> {
    /// First real of a vector.
    fn vector(&self, vector: usize) -> usize {
        self.gradient_at() + vector * self.dofs.len()
    }

    /// First real of a dof's row of its tree's block of the preconditioner: they lie as those of A do.
    fn inverse_row(&self, k: usize) -> usize {
        self.vector(conjugate::SIZE) + (self.dofs[k].row - self.dofs[0].row) as usize
    }

    /// The trees' own blocks of `A + J^T W J`.
    fn blocks(&mut self) {
        let zero = T::lit(0.0);
        for k in 0..self.dofs.len() {
            let (from, to, count) = (self.dofs[k].row as usize, self.inverse_row(k), self.dofs[k].count as usize);
            self.convex.copy_within(from..from + count, to);
        }
        let first = self.record.velocity_begin as usize;
        for i in self.range() {
            let w = island::load6(self.convex, self.term_at(i) + term::SLOPE);
            if w.iter().all(|&x| x == zero) {
                continue;
            }
            let (block, record) = (self.is_block(i), &self.all.constraints[i]);
            for side in &self.all.sides[record.side_begin as usize..record.side_end as usize] {
                let n = side.count as usize;
                let j = &self.jac[side.jac as usize..];
                for k in 0..n {
                    let u = if block {
                        symmetric_times(&w, &[j[k], j[n + k], j[2 * n + k]])
                    } else {
                        [w[0] * j[k], zero, zero]
                    };
                    let to = self.inverse_row(side.velocity as usize - first + k);
                    for l in 0..n {
                        let mut x = u[0].mul_add(j[l], self.convex[to + l]);
                        if block {
                            x = u[1].mul_add(j[n + l], x);
                            x = u[2].mul_add(j[2 * n + l], x);
                        }
                        self.convex[to + l] = x;
                    }
                }
            }
        }
    }

    /// Inverts the blocks by sweeps on their diagonals, all trees abreast. Whether every pivot is positive.
    fn invert(&mut self) -> bool {
        let n = self.dofs.len();
        let (one, mut positive) = (T::lit(1.0), true);
        let widest = self.dofs.iter().map(|dof| dof.count as usize).max().unwrap_or(0);
        for j in 0..widest {
            for k in 0..n {
                let (tree, count) = (self.dofs[k].tree as usize, self.dofs[k].count as usize);
                if count <= j || k - tree == j {
                    continue;
                }
                let (own, other) = (self.inverse_row(k), self.inverse_row(tree + j));
                let share = self.convex[own + j] / self.convex[other + j];
                for l in 0..count {
                    if l != j {
                        self.convex[own + l] = (-share).mul_add(self.convex[other + l], self.convex[own + l]);
                    }
                }
                self.convex[own + j] = -share;
            }
            for k in 0..n {
                let (tree, count) = (self.dofs[k].tree as usize, self.dofs[k].count as usize);
                if count <= j || k - tree != j {
                    continue;
                }
                let own = self.inverse_row(k);
                let pivot = self.convex[own + j];
                positive = positive && T::lit(0.0) < pivot && pivot.is_finite();
                for l in 0..count {
                    self.convex[own + l] = if l == j { one } else { self.convex[own + l] } / pivot;
                }
            }
        }
        positive
    }

    /// The preconditioner times vector `from`, to vector `to`.
    fn precondition(&mut self, from: usize, to: usize) {
        let (from, to) = (self.vector(from), self.vector(to));
        for k in 0..self.dofs.len() {
            let (tree, count) = (self.dofs[k].tree as usize, self.dofs[k].count as usize);
            let row = &self.convex[self.inverse_row(k)..][..count];
            let x = &self.convex[from + tree..][..count];
            self.convex[to + k] = row.iter().zip(x).fold(T::lit(0.0), |sum, (&m, &x)| m.mul_add(x, sum));
        }
    }

    /// `H z` to its vector. Returns `z^T H z`, and the square of the residual in the norm of `diag(A)^-1`.
    fn hessian(&mut self) -> [T; 2] {
        let zero = T::lit(0.0);
        let (n, first) = (self.dofs.len(), self.record.velocity_begin as usize);
        let (z, to) = (self.vector(conjugate::Z), self.vector(conjugate::HZ));
        let residual = self.vector(conjugate::RESIDUAL);
        self.convex[to..to + n].fill(zero);
        for i in self.range() {
            let (block, record, at) = (self.is_block(i), &self.all.constraints[i], self.term_at(i));
            let rows = if block { 3 } else { 1 };
            let mut sigma = [zero; 3];
            for side in &self.all.sides[record.side_begin as usize..record.side_end as usize] {
                let count = side.count as usize;
                let x = &self.convex[z + side.velocity as usize - first..][..count];
                for (sigma, j) in sigma.iter_mut().zip(self.jac[side.jac as usize..].chunks_exact(count)).take(rows) {
                    *sigma = j.iter().zip(x).fold(*sigma, |sum, (&j, &x)| j.mul_add(x, sum));
                }
            }
            let w = island::load6(self.convex, at + term::SLOPE);
            let force = if block { symmetric_times(&w, &sigma) } else { [w[0] * sigma[0], zero, zero] };
            for side in &self.all.sides[record.side_begin as usize..record.side_end as usize] {
                let count = side.count as usize;
                let own = &mut self.convex[to + side.velocity as usize - first..][..count];
                for (&f, j) in force.iter().zip(self.jac[side.jac as usize..].chunks_exact(count)).take(rows) {
                    own.iter_mut().zip(j).for_each(|(y, &j)| *y = j.mul_add(f, *y));
                }
            }
        }
        let mut sums = [zero; 2];
        for k in 0..n {
            let dof = &self.dofs[k];
            let (tree, count) = (dof.tree as usize, dof.count as usize);
            let a = &self.convex[dof.row as usize..][..count];
            let x = &self.convex[z + tree..][..count];
            let y = a.iter().zip(x).fold(self.convex[to + k], |sum, (&a, &x)| a.mul_add(x, sum));
            let r = self.convex[residual + k];
            sums[0] = self.convex[z + k].mul_add(y, sums[0]);
            sums[1] += r * r / a[k - tree];
            self.convex[to + k] = y;
        }
        sums
    }

    /// Begins a direction. Whether there is a preconditioner in this arithmetic.
    fn begin_direction(&mut self) -> bool {
        self.blocks();
        if !self.invert() {
            return false;
        }
        let (n, direction) = (self.dofs.len(), self.vector(conjugate::DIRECTION));
        let [gradient, residual, z] =
            [conjugate::GRADIENT, conjugate::RESIDUAL, conjugate::Z].map(|of| self.vector(of));
        self.convex[direction..direction + n].fill(T::lit(0.0));
        for k in 0..n {
            self.convex[residual + k] = -self.convex[gradient + k];
        }
        self.precondition(conjugate::RESIDUAL, conjugate::Z);
        let [energy, square] = self.hessian();
        let [p, hz, hp] = [conjugate::P, conjugate::HZ, conjugate::HP].map(|of| self.vector(of));
        self.convex.copy_within(z..z + n, p);
        self.convex.copy_within(hz..hz + n, hp);
        self.store(state::ENERGY, energy);
        self.store(state::ENOUGH, T::lit(CONJUGATE_SHARE * CONJUGATE_SHARE) * square);
        true
    }

    /// One round. Whether there may be more to gain.
    fn round(&mut self) -> bool {
        let (zero, n) = (T::lit(0.0), self.dofs.len());
        self.precondition(conjugate::HP, conjugate::MHP);
        let [residual, z, p] = [conjugate::RESIDUAL, conjugate::Z, conjugate::P].map(|of| self.vector(of));
        let [hz, hp, mhp] = [conjugate::HZ, conjugate::HP, conjugate::MHP].map(|of| self.vector(of));
        let direction = self.vector(conjugate::DIRECTION);
        let square = (0..n).fold(zero, |sum, k| self.convex[hp + k].mul_add(self.convex[mhp + k], sum));
        let energy = self.load(state::ENERGY);
        let alpha = energy / square;
        if !(zero < energy && zero < square && alpha.is_finite()) {
            return false;
        }
        for k in 0..n {
            self.convex[direction + k] = alpha.mul_add(self.convex[p + k], self.convex[direction + k]);
            self.convex[residual + k] = (-alpha).mul_add(self.convex[hp + k], self.convex[residual + k]);
            self.convex[z + k] = (-alpha).mul_add(self.convex[mhp + k], self.convex[z + k]);
        }
        let [next, left] = self.hessian();
        let beta = next / energy;
        for k in 0..n {
            self.convex[p + k] = beta.mul_add(self.convex[p + k], self.convex[z + k]);
            self.convex[hp + k] = beta.mul_add(self.convex[hp + k], self.convex[hz + k]);
        }
        self.store(state::ENERGY, next);
        self.load(state::ENOUGH) < left
    }

    /// A turn.
    pub(super) fn conjugate(&mut self) -> Direction {
        let before = self.load(state::ROUNDS).to_f64() as u32;
        if before == 0 && !self.begin_direction() {
            return Direction::None;
        }
        let most = (CONJUGATE_MOST * self.dofs.len()) as u32;
        let mut rounds = before;
        let mut going = true;
        while going && rounds < before + self.dims.rounds && rounds < most {
            going = self.round();
            rounds += 1;
        }
        let found = !going || rounds >= most;
        self.store(state::ROUNDS, T::lit(if found { 0.0 } else { f64::from(rounds) }));
        if !found {
            return Direction::Unfinished;
        }
        let (n, first) = (self.dofs.len(), self.record.velocity_begin as usize);
        let direction = self.vector(conjugate::DIRECTION);
        self.solution[first..first + n].copy_from_slice(&self.convex[direction..direction + n]);
        Direction::Found
    }
}
