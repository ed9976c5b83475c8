//! Preconditioned conjugate residuals without a matrix (Saad, Iterative Methods for Sparse Linear Systems, 6.8, with the
//! preconditioner's inner product), arranged for one sum over the island an iteration.

use super::layout::term;
use super::rows::setting;
use super::solve::Island;
use crate::Scalar;
use crate::contact::island;

/// Sums over an island after a product.
#[derive(Debug, Clone, Copy)]
struct Sums<T> {
    /// `z . (G + C) z`
    along: T,
    /// `|(G + C) z|^2` in the preconditioner's norm, m^2 kg / s^2 like the next two.
    square: T,
    /// `(G + C) z` times `(G + C) d` in it, d of before.
    cross: T,
    /// `|r|^2` in it.
    norm: T,
}

impl<T: Scalar> Island<'_, T> {
    /// `Y x` of a field of the terms into region SCRATCH.
    fn push(&mut self, field: usize) {
        let span = self.record.velocity_begin as usize..self.record.velocity_end as usize;
        self.scratch[span].fill(T::lit(0.0));
        for i in self.range() {
            let x = self.vector(i, field);
            if self.is_block(i) {
                island::block_apply(self.sides(i), self.jac, x, self.scratch);
            } else {
                island::row_apply(self.sides(i), self.jac, x[0], self.scratch);
            }
        }
    }

    /// `J` of region SCRATCH, of one constraint.
    fn relative(&self, i: usize) -> [T; 3] {
        let zero = T::lit(0.0);
        if self.is_block(i) {
            island::block_sigma(self.sides(i), self.jac, [zero; 3], self.scratch)
        } else {
            [island::row_sigma(self.con(i), self.sides(i), self.jac, self.scratch), zero, zero]
        }
    }

    /// Takes what the fixed rows move from the right-hand side.
    fn reduce(&mut self) {
        self.push(term::X);
        for i in self.range() {
            let moved = self.relative(i);
            let t = self.term_mut(i);
            for r in 0..3 {
                let p = t[term::PRECONDITIONER + r];
                if T::lit(0.0) < p {
                    t[term::R + r] -= moved[r];
                }
                t[term::Z + r] = p * t[term::R + r];
            }
        }
    }

    /// `(G + C) z`.
    fn product(&mut self) -> Sums<T> {
        let zero = T::lit(0.0);
        let mut sums = Sums { along: zero, square: zero, cross: zero, norm: zero };
        self.push(term::Z);
        for i in self.range() {
            let moved = self.relative(i);
            let t = self.term_mut(i);
            for r in 0..3 {
                let (z, p) = (t[term::Z + r], t[term::PRECONDITIONER + r]);
                let mz = if zero < p { t[term::COMPLIANCE + r].mul_add(z, moved[r]) } else { zero };
                t[term::MZ + r] = mz;
                sums.along = z.mul_add(mz, sums.along);
                sums.square = (p * mz).mul_add(mz, sums.square);
                sums.cross = (p * mz).mul_add(t[term::MD + r], sums.cross);
                sums.norm = z.mul_add(t[term::R + r], sums.norm);
            }
        }
        sums
    }

    /// Directions conjugate to those before, and the step along them.
    fn advance(&mut self, along: T, step: T) {
        for i in self.range() {
            let t = self.term_mut(i);
            for r in 0..3 {
                let d = along.mul_add(t[term::D + r], t[term::Z + r]);
                let md = along.mul_add(t[term::MD + r], t[term::MZ + r]);
                t[term::D + r] = d;
                t[term::MD + r] = md;
                t[term::X + r] = step.mul_add(d, t[term::X + r]);
                let left = (-step).mul_add(md, t[term::R + r]);
                t[term::R + r] = left;
                t[term::Z + r] = t[term::PRECONDITIONER + r] * left;
            }
        }
    }

    /// Solves `(G + C) x = r` on the rows that are not fixed, until `|r|` in the preconditioner's norm has fallen to its
    /// share or, by rounding, falls no more. `note` is told its squares.
    pub(super) fn residual(&mut self, mut note: impl FnMut(T)) {
        let (zero, two) = (T::lit(0.0), T::lit(2.0));
        self.reduce();
        let sums = self.product();
        note(sums.norm);
        let share = setting::<T>(self.dims.share);
        let enough = share * share * sums.norm;
        let (mut norm, mut zmz, mut curvature, mut along) = (sums.norm, sums.along, sums.square, zero);
        let mut running = zero < zmz && zero < curvature && enough < norm;
        for _ in 0..self.linear {
            if !running {
                break;
            }
            self.advance(along, zmz / curvature);
            let sums = self.product();
            note(sums.norm);
            along = sums.along / zmz;
            curvature = (along * along).mul_add(curvature, (two * along).mul_add(sums.cross, sums.square));
            zmz = sums.along;
            running = zero < zmz && zero < curvature && enough < sums.norm && sums.norm < norm;
            norm = sums.norm;
        }
    }
}
