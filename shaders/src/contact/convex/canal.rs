//! CANAL's outer iterations on one island.

use super::evaluate::{Island, Step};
use super::layout::{state, term};
use super::newton::Newton;
use super::terms::setting;
use crate::Scalar;
use crate::contact::island;

impl<T: Scalar> Island<'_, T> {
    /// CANAL: multipliers, slacks, shift and penalty for the next outer iteration: `u = -lambda`,
    /// `beta z = beta J v + u + lambda`.
    pub(super) fn update(&mut self) {
        let mut gap = T::lit(0.0);
        for i in self.range() {
            let at = self.term_at(i);
            let t = &mut self.convex[at..][..term::SIZE];
            for r in 0..3 {
                let d = (t[term::LAMBDA + r] - t[term::BEFORE + r]) / t[term::BETA_N];
                gap = gap.max(d.abs());
                t[term::ALONG + r] = t[term::SIGMA + r] + d;
                t[term::BEFORE + r] = t[term::LAMBDA + r];
            }
        }
        // No penalty helps against a gap that the last change of the shift made.
        if setting::<T>(self.dims.decrease) * self.load(state::GAP) < gap && self.load(state::MOVED) < gap {
            let before = self.load(state::PENALTY);
            let next = (before * setting(self.dims.growth)).min(setting(self.dims.penalty_most));
            self.store(state::PENALTY, next);
            self.store(state::STIFFEST, next.max(T::lit(1.0)));
            self.weigh(next / before);
        }
        self.store(state::GAP, gap);
        let moved = self.mix();
        self.store(state::MOVED, moved);
    }

    /// All weights times a factor.
    pub(super) fn weigh(&mut self, factor: T) {
        for i in self.range() {
            let (block, at) = (self.is_block(i), self.term_at(i));
            let t = &mut self.convex[at..][..term::SIZE];
            t[term::BETA_N] = t[term::BETA_N] * factor;
            if block {
                t[term::BETA_T] = t[term::BETA_N];
            }
        }
    }

    /// CANAL: whether the impulses solve the island.
    pub(super) fn certified(&mut self) -> bool {
        island::recompute(self.all, self.record, self.jac, self.impulse, self.free, self.solution);
        let (residual, scaled) =
            island::measure(self.all, self.record, self.jac, self.cons, self.impulse, self.solution);
        island::solved(self.plain, residual, scaled)
    }

    /// CANAL: what a Newton step comes to, and the multipliers' update if the inner problem wants no other.
    pub(super) fn exact(&mut self, step: &Newton<T>) -> Step {
        let (sums, decrement) = match *step {
            Newton::Singular => return Step::Broken,
            Newton::Unfinished => return Step::Running,
            Newton::Done(sums, decrement) => (sums, decrement),
        };
        if !sums.error.is_finite() {
            return Step::Broken;
        }
        let inner = self.load(state::INNER) + T::lit(1.0);
        self.store(state::INNER, inner);
        let error = sums.error.min(decrement);
        let share = setting::<T>(self.dims.inner_share);
        let solved = error <= share * share * sums.outer || error <= self.roundoff(&sums);
        if inner < T::lit(f64::from(self.dims.inner)) && !solved {
            return Step::Running;
        }
        self.store(state::INNER, T::lit(0.0));
        let outer = self.load(state::OUTER) + T::lit(1.0);
        self.store(state::OUTER, outer);
        self.publish();
        if self.certified() {
            return Step::Solved;
        }
        if T::lit(f64::from(self.dims.outer)) <= outer {
            return Step::Broken;
        }
        self.update();
        self.evaluate();
        Step::Running
    }
}
