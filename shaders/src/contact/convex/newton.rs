//! A Newton step on one island.

use super::evaluate::{Island, Sums};
use super::layout::{form, term};
use super::{TRIALS, law};
use crate::Scalar;
use crate::contact::local::symmetric_times;

/// Share of the first slope that a line search leaves at most.
const SEARCH_EXACT: f64 = 1e-6;

/// What a turn of looking for a direction comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// The matrix is not positive in this arithmetic.
    None,
    /// The next turn goes on.
    Unfinished,
    /// It is in region SOLUTION.
    Found,
}

/// What a Newton step comes to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Newton<T> {
    /// The matrix is not positive in this arithmetic.
    Singular,
    /// The next turn goes on.
    Unfinished,
    /// The sums where it leads, and about twice what the objective was above its least, J.
    Done(Sums<T>, T),
}

impl<T: Scalar> Island<'_, T> {
    /// Derivative of the objective along the direction, a share `t` of it on, and its slope.
    pub(super) fn along(&self, start: T, curvature: T, t: T) -> (T, T) {
        let (mut value, mut slope) = (t.mul_add(curvature, start), curvature);
        for i in self.range() {
            let own = &self.convex[self.term_at(i)..][..term::SIZE];
            let a = [own[term::ALONG], own[term::ALONG + 1], own[term::ALONG + 2]];
            let sigma = std::array::from_fn(|r| t.mul_add(a[r], own[term::SIGMA + r]));
            let (lambda, w) = law::impulse(self.is_block(i), self.con(i), own, sigma);
            let wa = symmetric_times(&w, &a);
            for r in 0..3 {
                value -= (lambda[r] - own[term::LAMBDA + r]) * a[r];
                slope = wa[r].mul_add(a[r], slope);
            }
        }
        (value, slope)
    }

    /// Root of the derivative, by Newton within a bracket that is doubled until it is one, else by bisection (`rtsafe` of
    /// Press et al., Numerical Recipes). The first trial is 1.
    pub(super) fn search(&self, start: T, curvature: T) -> T {
        let (zero, two, enough) = (T::lit(0.0), T::lit(2.0), T::lit(SEARCH_EXACT) * start.abs());
        let (mut low, mut high, mut bracketed) = (zero, zero, false);
        let mut t = T::lit(1.0);
        for _ in 0..TRIALS {
            let (value, slope) = self.along(start, curvature, t);
            if value.abs() <= enough {
                return t;
            }
            if value < zero {
                low = t;
            } else {
                // What is not finite is too far.
                (high, bracketed) = (t, true);
            }
            let newton = t - value / slope;
            let next = if bracketed {
                if low < newton && newton < high { newton } else { (low + high) / two }
            } else if t < newton && newton.is_finite() {
                newton
            } else {
                two * t
            };
            if next == t {
                return t;
            }
            t = next;
        }
        // The bracket's lower end: never past the root.
        if zero < low { low } else { t }
    }

    /// One Newton step, with the matrix in `m` where it is written out.
    pub(super) fn newton(&mut self, m: &mut [T]) -> Newton<T> {
        let zero = T::lit(0.0);
        let (n, first) = (self.dofs.len(), self.record.velocity_begin as usize);
        let direction = if self.place.form == form::ITERATIVE {
            self.conjugate()
        } else if self.direct(m) {
            Direction::Found
        } else {
            Direction::None
        };
        match direction {
            Direction::None => return Newton::Singular,
            Direction::Unfinished => return Newton::Unfinished,
            Direction::Found => {}
        }
        self.relative(true, term::ALONG);
        let (mut start, mut curvature) = (zero, zero);
        let d = &self.solution[first..][..n];
        for k in 0..n {
            let dof = &self.dofs[k];
            let (tree, count) = (dof.tree as usize, dof.count as usize);
            let a = &self.convex[dof.row as usize..][..count];
            let momentum = a.iter().zip(&d[tree..]).fold(zero, |sum, (&a, &d)| a.mul_add(d, sum));
            start = self.convex[self.gradient_at() + k].mul_add(d[k], start);
            curvature = momentum.mul_add(d[k], curvature);
        }
        // At the floor of round-off the direction need not descend.
        let descends = start < zero && start.is_finite();
        if descends {
            let t = self.search(start, curvature);
            let d = &self.solution[first..][..n];
            self.v[first..][..n].iter_mut().zip(d).for_each(|(v, &d)| *v = t.mul_add(d, *v));
            self.relative(false, term::SIGMA);
        }
        Newton::Done(self.evaluate(), if descends { -start } else { zero })
    }
}
