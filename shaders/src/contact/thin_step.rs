//! Newton's step and sweeps of a [`Dense`] problem by degrees of freedom, see [`super::thin`].

use super::dense::Dense;
use super::dense_shape::Shape;
use super::eliminate::Live;
use super::packs::{real, real_mut};
use super::thin::{PER_SLOT, Thin};
use crate::{LANES, Real, Scalar};

/// Of slots side by side: `K = D^-1 S` and `q = D^-1 r`, by which the step is `d = q - K J w`.
struct Blocks<P> {
    /// 00 01 02 10 11 12 22; what is left is zero.
    k: [P; 7],
    q: [P; 3],
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
        self.divide(thin, proximal);
        let rows_of = |slot: usize| -> [usize; 3] { std::array::from_fn(|r| shape.of_slot(slot, r)) };
        let zero = T::lit(0.0);
        for &slot in &live.rows()[..n_slot] {
            let Blocks { k, q } = slot_block(thin, slot.into());
            thin.add(rows_of(slot.into()), [[k[0], k[1], k[2]], [k[3], k[4], k[5]], [zero, zero, k[6]]], q);
        }
        for &i in &live.rows()[n_slot..] {
            let (k, q) = row_block(thin, shape, i.into());
            thin.add([i.into()], [[k]], [q]);
        }
        thin.solve();
        thin.products(thin.solution, self.slope);
        for at in 0..shape.slots {
            let rows = [at, shape.slots + at, 2 * shape.slots + at];
            let w = rows.map(|i| self.slope[i]);
            let (k, q) = thin.blocks[PER_SLOT * at..PER_SLOT * (at + 1)].split_at(7);
            let kept = [
                k[0].mul_add(w[0], k[1].mul_add(w[1], k[2] * w[2])),
                k[3].mul_add(w[0], k[4].mul_add(w[1], k[5] * w[2])),
                k[6] * w[2],
            ];
            (0..3).for_each(|r| self.step[rows[r]] = q[r] - kept[r]);
        }
        for at in 0..shape.rows {
            let (i, own) = (3 * shape.slots + at, &thin.blocks[PER_SLOT * shape.slots + 2 * at..][..2]);
            self.step[i] = own[1] - own[0] * self.slope[i];
        }
        thin.respond(self.step);
        thin.products(thin.moved, self.slope);
        for k in 0..shape.rows {
            let i = 3 * shape.slots + k;
            self.slope[i] = self.compliance[k].mul_add(self.step[i], self.slope[i]);
        }
    }

    /// K and q of all slots and rows, side by side.
    fn divide(&self, thin: &mut Thin<'_, T>, proximal: T) {
        let (zero, one) = (T::Pack::lit(0.0), T::Pack::lit(1.0));
        let (shape, centred) = (self.shape, self.stretch.is_some());
        let proximal = T::Pack::splat(proximal);
        for at in 0..shape.slots {
            let p: [T::Pack; 6] = std::array::from_fn(|e| self.derivative[e * shape.slots + at]);
            let r: [T::Pack; 3] = std::array::from_fn(|r| self.rhs[r * shape.slots + at]);
            let rho = self.rho_of(at);
            let Blocks { k, q } = if centred {
                Blocks { k: [p[0], p[1], p[2], p[1], p[3], p[4], p[5]], q: r }
            } else {
                divided(&p, &r, proximal)
            };
            let out = thin.blocks[PER_SLOT * at..PER_SLOT * (at + 1)].iter_mut();
            out.zip(k.map(|k| rho * k).into_iter().chain(q)).for_each(|(to, x)| *to = x);
        }
        for at in 0..shape.rows {
            let i = 3 * shape.slots + at;
            let rho = self.rho_of(i);
            let free = self.are_free(at);
            let own = rho.mul_add(self.compliance[at], if centred { one } else { proximal });
            let inverse = one / T::Pack::select(free, own, one + proximal);
            let out = &mut thin.blocks[PER_SLOT * shape.slots + 2 * at..][..2];
            out[0] = T::Pack::select(free, rho, zero) * inverse;
            out[1] = self.rhs[i] * inverse;
        }
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
            let block = std::array::from_fn(|e| real(thin.own)[e * n_slot + slot]);
            let next = self.slot_next(slot, &block, &lambda, &sigma);
            for r in 0..3 {
                real_mut(self.lambda)[at[r]] = next[r];
                thin.push(at[r], next[r] - lambda[r]);
            }
        }
        thin.products(thin.moved, self.slope);
        self.sigma.iter_mut().zip(&*self.slope).for_each(|(sigma, &change)| *sigma += change);
        for k in 0..self.shape.rows {
            let i = 3 * self.shape.slots + k;
            self.sigma[i] = self.compliance[k].mul_add(self.lambda[i] - self.step[i], self.sigma[i]);
        }
    }
}

/// K without rho and q of slots side by side: their derivatives P and right-hand sides r; `D = 1 - P + proximal`.
#[inline(always)]
fn divided<P: Real>(p: &[P; 6], r: &[P; 3], proximal: P) -> Blocks<P> {
    let one = P::lit(1.0);
    let (a, b, c) = (one - p[0] + proximal, -p[1], one - p[3] + proximal);
    let scale = one / (a * c - b * b);
    let [e00, e01, e11] = [c * scale, -(b * scale), a * scale];
    let normal = one / (one - p[5] + proximal);
    let to = [e00.mul_add(p[2], e01 * p[4]), e01.mul_add(p[2], e11 * p[4])];
    let by_normal = to.map(|x| x * normal);
    let k = [
        e00.mul_add(p[0], e01 * p[1]),
        e00.mul_add(p[1], e01 * p[3]),
        by_normal[0].mul_add(p[5], to[0]),
        e01.mul_add(p[0], e11 * p[1]),
        e01.mul_add(p[1], e11 * p[3]),
        by_normal[1].mul_add(p[5], to[1]),
        normal * p[5],
    ];
    let q = [
        e00.mul_add(r[0], e01.mul_add(r[1], by_normal[0] * r[2])),
        e01.mul_add(r[0], e11.mul_add(r[1], by_normal[1] * r[2])),
        normal * r[2],
    ];
    Blocks { k, q }
}

/// K and q of one slot.
#[inline(always)]
fn slot_block<T: Scalar>(thin: &Thin<'_, T>, slot: usize) -> Blocks<T> {
    let (at, lane) = (slot / LANES, slot % LANES);
    let own = &thin.blocks[PER_SLOT * at..PER_SLOT * (at + 1)];
    Blocks { k: std::array::from_fn(|e| own[e].lane(lane)), q: std::array::from_fn(|r| own[7 + r].lane(lane)) }
}

/// The same of a single row by its number.
#[inline(always)]
fn row_block<T: Scalar>(thin: &Thin<'_, T>, shape: Shape, i: usize) -> (T, T) {
    let k = i - 3 * shape.slots * LANES;
    let own = &thin.blocks[PER_SLOT * shape.slots + 2 * (k / LANES)..][..2];
    (own[0].lane(k % LANES), own[1].lane(k % LANES))
}

#[cfg(test)]
mod tests {
    use super::super::dense::{Progress, SLOT_STEP};
    use super::super::dense_shape::Shape;
    use super::super::local::invert;
    use super::super::thin::problem_reals;
    use super::*;
    use crate::F64x8;

    const SLOTS: usize = 6;
    const ROWS: usize = 4;

    fn noise(seed: usize) -> f64 {
        // Digits that no sum of two waves has.
        ((seed as f64 * 12.9898).sin() * 43_758.545_3).fract()
    }

    /// The same contacts, limits and drives in both forms: `A = 1`, so that `Y = J`.
    fn set<T: Scalar>(dense: &mut Dense<'_, T>, n_v: usize) {
        let shape = dense.shape;
        let number = |row: usize, d: usize| T::lit(noise(7 * row + d + 1));
        let mut j = vec![vec![T::lit(0.0); n_v]; shape.groups() * LANES];
        for s in 0..SLOTS {
            (0..3).for_each(|r| (0..n_v).for_each(|d| j[shape.of_slot(s, r)][d] = number(3 * s + r, d)));
        }
        (0..ROWS).for_each(|k| j[shape.of_row(k)][k] = T::lit(1.0));
        // Nothing is asked for, so that there is a solution: to stop.
        let free: Vec<T> = (0..n_v).map(|d| T::lit(noise(100 + d))).collect();
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
            if let Some(thin) = &mut dense.thin {
                (0..6).for_each(|e| real_mut(thin.own)[e * shape.slots * LANES + s] = g[e]);
            }
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
        // J in rows alone, and in columns too.
        [43, 22].into_iter().for_each(same_steps);
    }

    fn same_steps(n_v: usize) {
        let shape = Shape::new(SLOTS, ROWS);
        let zeros = |reals: usize| vec![F64x8::lit(0.0); reals / LANES];
        let (mut a, mut b) = (zeros(shape.reals()), zeros(problem_reals(n_v, shape)));
        let mut whole = Dense::<f64>::new(shape, &mut a);
        let mut thin = Dense::<f64>::thin(shape, n_v, &mut b);
        set(&mut whole, n_v);
        set(&mut thin, n_v);
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
