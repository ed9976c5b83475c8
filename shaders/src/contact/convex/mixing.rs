//! CANAL's De Saxce shift from one outer iteration to the next.
//!
//! With the multipliers at their limit, an outer iteration maps the frozen shift to the one at its slacks: a fixed point that
//! plain iteration approaches linearly where contacts slide. Anderson's mixing (Walker and Ni, "Anderson acceleration for
//! fixed-point iterations", 2011) takes the combination of the last iterates whose residual, image less shift, would be
//! least were the map linear. Biases stand for shifts here: they differ by what does not change.

use super::evaluate::Island;
use super::layout::{WINDOW, mixing, state, term};
use super::terms::setting;
use crate::Scalar;
use crate::contact::island::con;

/// Square of the share of the largest difference below which one is what inner problems solved inexactly leave.
const MIXING_INEXACT: f64 = 1e-12;

/// What a lane, and then an island, finds of the newest differences.
struct Products<T> {
    /// Square of the residual.
    square: T,
    /// The newest difference of residuals times each.
    newest: [T; WINDOW],
    /// Each difference of residuals times the residual.
    residual: [T; WINDOW],
}

impl<T: Scalar> Island<'_, T> {
    /// Whether a constraint has a shift.
    fn shifts(&self, i: usize) -> bool {
        self.is_block(i) && T::lit(0.0) <= self.con(i)[con::FRICTION]
    }

    /// Where a slot has a constraint's number.
    fn slot(&self, slot: usize, i: usize) -> usize {
        self.dims.mixing_real as usize + slot * self.dims.n_constraints as usize + i
    }

    /// The bias with the shift at the slacks `z`, which are in the terms' place for `J d`, m/s.
    fn image(&self, i: usize) -> T {
        let (c, t) = (self.con(i), &self.convex[self.term_at(i)..][..term::SIZE]);
        let (x, y) = (t[term::ALONG] + c[con::BIAS], t[term::ALONG + 1] + c[con::BIAS + 1]);
        c[con::FRICTION].mul_add((x * x + y * y).sqrt(), c[con::BIAS + 2])
    }

    /// Freezes a bias. Returns the larger of its change and `moved`.
    fn freeze(&mut self, i: usize, next: T, moved: T) -> T {
        let at = self.term_at(i) + term::BIAS + 2;
        let change = (next - self.convex[at]).abs();
        self.convex[at] = next;
        moved.max(change)
    }

    /// Freezes the shift at the slacks `z` and forgets all that was learnt. Returns its largest change, m/s.
    pub(super) fn shift(&mut self) -> T {
        let mut moved = T::lit(0.0);
        for i in self.range() {
            if self.shifts(i) {
                moved = self.freeze(i, self.image(i), moved);
            }
        }
        self.store(state::NEWEST, T::lit(0.0));
        self.store(state::LEARNT, T::lit(0.0));
        self.store(state::DISTANCE, T::lit(-1.0));
        moved
    }

    /// Writes the differences of image and residual to a slot.
    fn learn(&mut self, newest: usize) -> Products<T> {
        let zero = T::lit(0.0);
        let mut sums = Products { square: zero, newest: [zero; WINDOW], residual: [zero; WINDOW] };
        for i in self.range() {
            if !self.shifts(i) {
                continue;
            }
            let image = self.image(i);
            let residual = image - self.convex[self.term_at(i) + term::BIAS + 2];
            let [at_image, at_residual] = [mixing::IMAGE, mixing::RESIDUAL].map(|slot| self.slot(slot, i));
            let differences = [image - self.convex[at_image], residual - self.convex[at_residual]];
            let [to_image, to_residual] = [mixing::IMAGES, mixing::RESIDUALS].map(|slot| self.slot(slot + newest, i));
            self.convex[to_image] = differences[0];
            self.convex[to_residual] = differences[1];
            self.convex[at_image] = image;
            self.convex[at_residual] = residual;
            sums.square = residual.mul_add(residual, sums.square);
            for k in 0..WINDOW {
                let other = self.convex[self.slot(mixing::RESIDUALS + k, i)];
                sums.newest[k] = other.mul_add(differences[1], sums.newest[k]);
                sums.residual[k] = other.mul_add(residual, sums.residual[k]);
            }
        }
        sums
    }

    /// Shares of the differences that make the residual less them least, by elimination from the newest to the oldest; what
    /// is noise beside the newer ones or the largest has no share.
    fn combine(&mut self, newest: usize, learnt: usize, residual: &[T; WINDOW]) {
        let zero = T::lit(0.0);
        let noise = setting::<T>(self.dims.noise);
        let slot = |k: usize| (newest + WINDOW - k) % WINDOW;
        let square = |k: usize| self.load(state::GRAM + (WINDOW + 1) * slot(k));
        let least = T::lit(MIXING_INEXACT) * (0..learnt).fold(zero, |most, k| most.max(square(k)));
        // The factor times its pivots, their inverses, and the right-hand side.
        let mut c = [[zero; WINDOW]; WINDOW];
        let (mut inverse, mut y) = ([zero; WINDOW], [zero; WINDOW]);
        for k in 0..learnt {
            for j in 0..=k {
                let whole = self.load(state::GRAM + WINDOW * slot(k) + slot(j));
                c[k][j] = (0..j).fold(whole, |x, m| (-(c[k][m] * inverse[m])).mul_add(c[j][m], x));
            }
            let whole = square(k);
            y[k] = (0..k).fold(residual[slot(k)], |x, j| (-(c[k][j] * inverse[j])).mul_add(y[j], x));
            if (noise * whole).max(least) < c[k][k] && c[k][k].is_finite() {
                inverse[k] = T::lit(1.0) / c[k][k];
            }
        }
        let mut gamma = [zero; WINDOW];
        for k in (0..learnt).rev() {
            if zero < inverse[k] {
                let left = (k + 1..learnt).fold(y[k], |x, j| (-c[j][k]).mul_add(gamma[j], x));
                gamma[k] = left * inverse[k];
            }
        }
        for k in 0..WINDOW {
            self.store(state::GAMMA + slot(k), gamma[k]);
        }
    }

    /// Freezes the shift that is to come next, from the present one and that at the slacks `z`. Returns its largest change,
    /// m/s.
    pub(super) fn mix(&mut self) -> T {
        let zero = T::lit(0.0);
        let before = self.load(state::DISTANCE);
        let mut newest = self.load(state::NEWEST).to_f64() as usize;
        let mut learnt = self.load(state::LEARNT).to_f64() as usize;
        let next = (newest + 1) % WINDOW;
        let sums = self.learn(next);
        if before < sums.square {
            // Another set of contacts slides, what was learnt of the old one misleads; or nothing was learnt yet.
            learnt = 0;
        } else {
            (newest, learnt) = (next, (learnt + 1).min(WINDOW));
            for k in 0..WINDOW {
                self.store(state::GRAM + WINDOW * newest + k, sums.newest[k]);
                self.store(state::GRAM + WINDOW * k + newest, sums.newest[k]);
            }
        }
        self.combine(newest, learnt, &sums.residual);
        self.store(state::NEWEST, T::lit(newest as f64));
        self.store(state::LEARNT, T::lit(learnt as f64));
        self.store(state::DISTANCE, sums.square);
        let mut moved = zero;
        for i in self.range() {
            if !self.shifts(i) {
                continue;
            }
            let image = self.convex[self.slot(mixing::IMAGE, i)];
            let mut mixed = image;
            for k in 0..WINDOW {
                let gamma = self.load(state::GAMMA + k);
                if gamma != zero {
                    mixed = (-gamma).mul_add(self.convex[self.slot(mixing::IMAGES + k, i)], mixed);
                }
            }
            let bare = self.con(i)[con::BIAS + 2];
            let next = if mixed.is_finite() { mixed.max(bare) } else { image };
            moved = self.freeze(i, next, moved);
        }
        moved
    }
}
