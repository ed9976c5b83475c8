//! A Newton step on one island.

use super::evaluate::{Island, Sums};
use super::layout::term;
use super::{TRIALS, law, matrix};
use crate::Scalar;
use crate::contact::island;
use crate::contact::local::symmetric_times;

/// Share of the first slope that a line search leaves at most.
const EXACT: f64 = 1e-6;

impl<T: Scalar> Island<'_, T> {
    /// `A + J^T W J` and the right-hand side.
    pub(super) fn assemble(&self, m: &mut [T]) {
        let zero = T::lit(0.0);
        let n = self.dofs.len();
        for (i, dof) in self.dofs.iter().enumerate() {
            let own = &mut m[matrix::row_at(i)..][..=i];
            own[dof.first as usize..].fill(zero);
            let tree = dof.tree as usize;
            own[tree..].copy_from_slice(&self.convex[dof.row as usize..][..=i - tree]);
        }
        let gradient = &self.convex[self.gradient_at()..][..n];
        m[matrix::row_at(n)..].iter_mut().zip(gradient).for_each(|(to, &g)| *to = -g);
        let first = self.record.velocity_begin;
        for i in self.range() {
            let at = self.term_at(i) + term::SLOPE;
            let w = island::load6(self.convex, at);
            if w.iter().all(|&x| x == zero) {
                continue;
            }
            let (block, sides) = (self.is_block(i), self.sides(i));
            for a in sides {
                let na = a.count as usize;
                let ja = &self.jac[a.jac as usize..];
                for k in 0..na {
                    let u = if block {
                        symmetric_times(&w, &[ja[k], ja[na + k], ja[2 * na + k]])
                    } else {
                        [w[0] * ja[k], zero, zero]
                    };
                    // Most degrees of freedom of a tree do not move a contact.
                    if u[0] == zero && u[1] == zero && u[2] == zero {
                        continue;
                    }
                    let row = (a.velocity - first) as usize + k;
                    let own = &mut m[matrix::row_at(row)..][..=row];
                    for b in sides.iter().filter(|b| b.velocity <= a.velocity) {
                        let nb = b.count as usize;
                        let jb = &self.jac[b.jac as usize..];
                        let to = own[(b.velocity - first) as usize..].iter_mut().take(nb);
                        if block {
                            let (j0, j1, j2) = (&jb[..nb], &jb[nb..2 * nb], &jb[2 * nb..3 * nb]);
                            for (((to, &x), &y), &z) in to.zip(j0).zip(j1).zip(j2) {
                                *to = u[0].mul_add(x, u[1].mul_add(y, u[2].mul_add(z, *to)));
                            }
                        } else {
                            to.zip(&jb[..nb]).for_each(|(to, &x)| *to = u[0].mul_add(x, *to));
                        }
                    }
                }
            }
        }
    }

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
        let (zero, two, enough) = (T::lit(0.0), T::lit(2.0), T::lit(EXACT) * start.abs());
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

    /// One Newton step: the sums where it leads, and about twice what the objective was above its least, J. None where the
    /// matrix is singular in this arithmetic.
    pub(super) fn newton(&mut self, m: &mut [T]) -> Option<(Sums<T>, T)> {
        let zero = T::lit(0.0);
        let (n, first) = (self.dofs.len(), self.record.velocity_begin as usize);
        self.assemble(m);
        if !matrix::factor(self.dofs, m) {
            return None;
        }
        matrix::back(self.dofs, m, &mut self.solution[first..][..n]);
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
        Some((self.evaluate(), if descends { -start } else { zero }))
    }
}
