//! Newton's step and sweeps of a [`Dense`] problem by degrees of freedom, see [`super::thin`].

use super::dense::Dense;
use super::eliminate::Live;
use super::packs::{real, real_mut};
use super::thin::Thin;
use crate::{LANES, Real, Scalar};

/// A slot of the matrix of a step: `D^-1`, and P in rows.
#[derive(Clone, Copy)]
struct SlotBlock<T> {
    inverse: [[T; 3]; 3],
    p: [[T; 3]; 3],
}

impl<T: Scalar> SlotBlock<T> {
    #[inline(always)]
    fn new(p: [T; 6], proximal: T) -> Self {
        let (zero, one) = (T::lit(0.0), T::lit(1.0));
        let (a, b, c) = (one - p[0] + proximal, -p[1], one - p[3] + proximal);
        let scale = one / (a * c - b * b);
        let [e00, e01, e11] = [c * scale, -(b * scale), a * scale];
        let normal = one / (one - p[5] + proximal);
        let to = [(e00 * p[2] + e01 * p[4]) * normal, (e01 * p[2] + e11 * p[4]) * normal];
        Self { inverse: [[e00, e01, to[0]], [e01, e11, to[1]], [zero, zero, normal]], p: Self::rows(p) }
    }

    /// That of a centred step: D is 1.
    #[inline(always)]
    fn centred(p: [T; 6]) -> Self {
        let (zero, one) = (T::lit(0.0), T::lit(1.0));
        Self { inverse: [[one, zero, zero], [zero, one, zero], [zero, zero, one]], p: Self::rows(p) }
    }

    #[inline(always)]
    fn rows(p: [T; 6]) -> [[T; 3]; 3] {
        [[p[0], p[1], p[2]], [p[1], p[3], p[4]], [T::lit(0.0), T::lit(0.0), p[5]]]
    }

    /// `D^-1 P`.
    #[inline(always)]
    fn across(&self) -> [[T; 3]; 3] {
        std::array::from_fn(|r| {
            std::array::from_fn(|c| (0..3).fold(T::lit(0.0), |sum, k| self.inverse[r][k].mul_add(self.p[k][c], sum)))
        })
    }
}

#[inline(always)]
fn times<T: Scalar>(m: &[[T; 3]; 3], x: [T; 3]) -> [T; 3] {
    std::array::from_fn(|r| m[r][0] * x[0] + m[r][1] * x[1] + m[r][2] * x[2])
}

impl<T: Scalar> Dense<'_, T> {
    /// As the step by G: into `step`, its response into `slope`.
    pub(super) fn thin_step(&mut self, thin: &mut Thin<'_, T>, proximal: T) {
        let shape = self.shape;
        let mut live = Live::default();
        self.linearise_slots(&mut live);
        let n_slot = live.rows().len();
        self.linearise_rows(&mut live);
        thin.begin();
        let block = |this: &Self, slot: usize| {
            let p = std::array::from_fn(|e| real(this.derivative)[e * shape.slots * LANES + slot]);
            if this.stretch.is_some() { SlotBlock::centred(p) } else { SlotBlock::new(p, proximal) }
        };
        let rows_of = |slot: usize| -> [usize; 3] { std::array::from_fn(|r| shape.of_slot(slot, r)) };
        for &slot in &live.rows()[..n_slot] {
            let rows = rows_of(slot.into());
            let own = block(self, slot.into());
            let rho = self.rho_at(rows[0]);
            let k = own.across().map(|row| row.map(|x| rho * x));
            thin.add(rows, k, times(&own.inverse, rows.map(|i| real(self.rhs)[i])));
        }
        for &i in &live.rows()[n_slot..] {
            let i = usize::from(i);
            let (kept, own) = self.thin_row(i, proximal);
            thin.add([i], [[kept / own]], [real(self.rhs)[i] / own]);
        }
        thin.solve();
        self.step.fill(T::Pack::lit(0.0));
        thin.moved.fill(T::Pack::lit(0.0));
        for &slot in &live.rows()[..n_slot] {
            let rows = rows_of(slot.into());
            let own = block(self, slot.into());
            let rho = self.rho_at(rows[0]);
            let there = times(&own.p, rows.map(|i| rho * thin.along(i, thin.solution)));
            let d = times(&own.inverse, std::array::from_fn(|r| real(self.rhs)[rows[r]] - there[r]));
            for r in 0..3 {
                real_mut(self.step)[rows[r]] = d[r];
                thin.push(rows[r], d[r]);
            }
        }
        for &i in &live.rows()[n_slot..] {
            let i = usize::from(i);
            let (kept, own) = self.thin_row(i, proximal);
            let d = (real(self.rhs)[i] - kept * thin.along(i, thin.solution)) / own;
            real_mut(self.step)[i] = d;
            thin.push(i, d);
        }
        for i in 0..shape.groups() * LANES {
            real_mut(self.slope)[i] = thin.along(i, thin.moved);
        }
        for k in 0..shape.rows {
            let i = 3 * shape.slots + k;
            self.slope[i] = self.compliance[k].mul_add(self.step[i], self.slope[i]);
        }
    }

    /// S and D of a single row.
    #[inline(always)]
    fn thin_row(&self, i: usize, proximal: T) -> (T, T) {
        let k = i - 3 * self.shape.slots * LANES;
        if self.is_free(i, k) {
            let rho = self.rho_at(i);
            let own = if self.stretch.is_some() { T::lit(1.0) } else { proximal };
            return (rho, rho.mul_add(real(self.compliance)[k], own));
        }
        (T::lit(0.0), T::lit(1.0) + proximal)
    }

    /// As the sweep by G.
    pub(super) fn thin_sweep(&mut self, thin: &mut Thin<'_, T>) {
        let (n_slot, zero) = (self.shape.slots * LANES, T::lit(0.0));
        thin.moved.fill(T::Pack::lit(0.0));
        // The impulses before, by which sigma follows at the end.
        self.step.copy_from_slice(self.lambda);
        for k in 0..self.shape.rows * LANES {
            let i = self.shape.of_row(k);
            let rho = real(self.rho)[i];
            if rho <= zero {
                continue;
            }
            let lambda = real(self.lambda)[i];
            let sigma = real(self.sigma)[i] + thin.along(i, thin.moved);
            let next = self.row_next(i, k, lambda - rho * sigma);
            real_mut(self.lambda)[i] = next;
            thin.push(i, next - lambda);
        }
        for slot in 0..n_slot {
            if real(self.rho)[slot] <= zero {
                continue;
            }
            let at: [usize; 3] = std::array::from_fn(|r| self.shape.of_slot(slot, r));
            let lambda = at.map(|i| real(self.lambda)[i]);
            let sigma = at.map(|i| real(self.sigma)[i] + thin.along(i, thin.moved));
            let entry = |r: usize, c: usize| thin.along(at[r], thin.response_of(at[c]));
            let block = [entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)];
            let next = self.slot_next(slot, &block, &lambda, &sigma);
            for r in 0..3 {
                real_mut(self.lambda)[at[r]] = next[r];
                thin.push(at[r], next[r] - lambda[r]);
            }
        }
        for i in 0..self.shape.groups() * LANES {
            real_mut(self.sigma)[i] += thin.along(i, thin.moved);
        }
        for k in 0..self.shape.rows {
            let i = 3 * self.shape.slots + k;
            self.sigma[i] = self.compliance[k].mul_add(self.lambda[i] - self.step[i], self.sigma[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dense::{Progress, SLOT_STEP, Shape};
    use super::super::local::invert;
    use super::*;
    use crate::F64x8;

    const N_V: usize = 43;
    const SLOTS: usize = 6;
    const ROWS: usize = 4;

    fn noise(seed: usize) -> f64 {
        // Digits that no sum of two waves has.
        ((seed as f64 * 12.9898).sin() * 43_758.545_3).fract()
    }

    /// The same contacts, limits and drives in both forms: `A = 1`, so that `Y = J`.
    fn set<T: Scalar>(dense: &mut Dense<'_, T>) {
        let shape = dense.shape;
        let number = |row: usize, d: usize| T::lit(noise(7 * row + d + 1));
        let mut j = vec![vec![T::lit(0.0); N_V]; shape.groups() * LANES];
        for s in 0..SLOTS {
            (0..3).for_each(|r| (0..N_V).for_each(|d| j[shape.of_slot(s, r)][d] = number(3 * s + r, d)));
        }
        (0..ROWS).for_each(|k| j[shape.of_row(k)][k] = T::lit(1.0));
        // Nothing is asked for, so that there is a solution: to stop.
        let free: Vec<T> = (0..N_V).map(|d| T::lit(noise(100 + d))).collect();
        let dot = |a: &[T], b: &[T]| a.iter().zip(b).fold(T::lit(0.0), |sum, (a, b)| a.mul_add(*b, sum));
        for s in 0..SLOTS {
            let at: [usize; 3] = std::array::from_fn(|r| shape.of_slot(s, r));
            let entry = |r: usize, c: usize| dot(&j[at[r]], &j[at[c]]);
            let g = [entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)];
            let inverse = invert(&g);
            for r in 0..3 {
                real_mut(dense.sigma)[at[r]] = dot(&j[at[r]], &free);
                real_mut(dense.rho)[at[r]] = T::lit(SLOT_STEP) / (g[0] + g[3] + g[5]);
            }
            real_mut(dense.friction)[s] = T::lit(if s == 0 { -1.0 } else { 0.6 });
            (0..6).for_each(|e| real_mut(dense.inverse)[e * shape.slots * LANES + s] = inverse[e]);
        }
        for k in 0..ROWS {
            let (i, compliance) = (shape.of_row(k), T::lit(if k == 0 { 0.5 } else { 0.0 }));
            real_mut(dense.sigma)[i] = free[k];
            real_mut(dense.rho)[i] = T::lit(1.0) / (T::lit(1.0) + compliance);
            real_mut(dense.lower)[k] = T::lit(if k < 2 { -0.3 } else { 0.0 });
            real_mut(dense.upper)[k] = T::lit(if k < 2 { 0.3 } else { 1e30 });
            real_mut(dense.compliance)[k] = compliance;
        }
        let n = j.len();
        if let Some(thin) = &mut dense.thin {
            for (row, j) in j.iter().enumerate() {
                thin.add_jacobian(row, 0, j.iter().copied());
                thin.set_response(row, j.iter().copied());
            }
            return;
        }
        for a in 0..n {
            (0..n).for_each(|b| real_mut(dense.delassus)[a * n + b] = dot(&j[a], &j[b]));
        }
        for k in 0..ROWS {
            let i = shape.of_row(k);
            let compliance = real(dense.compliance)[k];
            real_mut(dense.delassus)[i * n + i] += compliance;
        }
    }

    /// Round after round both forms are where the other is.
    #[test]
    fn both_forms_take_the_same_steps() {
        let shape = Shape::new(SLOTS, ROWS);
        let zeros = |reals: usize| vec![F64x8::lit(0.0); reals / LANES];
        let (mut a, mut b) = (zeros(shape.reals()), zeros(shape.thin_reals(N_V)));
        let mut whole = Dense::<f64>::new(shape, &mut a);
        let mut thin = Dense::<f64>::thin(shape, N_V, &mut b);
        set(&mut whole);
        set(&mut thin);
        let (mut p, mut q) = (Progress::default(), Progress::default());
        let mut moved = 0.0_f64;
        for round in 0..8 {
            whole.round(round != 1, &mut p);
            thin.round(round != 1, &mut q);
            // Then it stands nearly, and whether a contact is open hangs on the last bit; impulses are not unique.
            let all = [(&*whole.lambda, &*thin.lambda), (&*whole.sigma, &*thin.sigma)];
            for (a, b) in all.into_iter().take(if round < 2 { 2 } else { 0 }) {
                for (a, b) in real(a).iter().zip(real(b)) {
                    assert!((a - b).abs() < 1e-8 * (1.0 + a.abs()), "{round}: {a} {b}");
                    moved = moved.max(a.abs());
                }
            }
        }
        let most =
            real(whole.sigma).iter().zip(real(thin.sigma)).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        assert!(whole.natural() < 1e-16 && thin.natural() < 1e-16 && most < 1e-6, "{most}");
        assert!(moved > 0.1, "{moved}");
    }
}
