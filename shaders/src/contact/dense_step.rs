//! Newton's step of a [`Dense`] problem by its Delassus operator written out.

use super::dense::Dense;
use super::eliminate::Live;
use super::packs::{real, real_mut};
use crate::{LANES, Mask, Real, Scalar};

impl<T: Scalar> Dense<'_, T> {
    /// The matrix of the step, gathered, and its right-hand side (in `rhs`, not gathered), for the rows that can change.
    #[inline(always)]
    pub(super) fn linearise(&mut self, proximal: T) -> Live {
        let mut live = Live::default();
        self.linearise_slots(&mut live);
        let n_slot = live.rows().len();
        for r in 1..3 {
            for at in 0..n_slot {
                live.push(self.shape.of_slot(live.rows()[at].into(), r));
            }
        }
        self.linearise_rows(&mut live);
        for at in 0..n_slot {
            self.slot_matrix(&live, n_slot, at, proximal);
        }
        for at in 3 * n_slot..live.rows().len() {
            self.row_matrix(&live, at, proximal);
        }
        live
    }

    /// Rows of the slot at some place in the list: `1 - P (1 - rho G) + eps`, of a centred step `1 + P s rho G`; P: the derivative,
    /// 00 01 02 11 12 22.
    #[inline(always)]
    fn slot_matrix(&mut self, live: &Live, n_slot: usize, at: usize, proximal: T) {
        let (n, width, one) = (self.shape.groups(), live.width(), T::lit(1.0));
        let slot = usize::from(live.rows()[at]);
        let to = [at, n_slot + at, 2 * n_slot + at];
        let rho = self.rho_at(slot);
        let [m0, m1, m2] = rows_mut(self.matrix, to, width);
        let g = std::array::from_fn(|r| &self.delassus[self.shape.of_slot(slot, r) * n..][..n]);
        live.gather(g, [m0, m1, m2]);
        let p: [T; 6] = std::array::from_fn(|e| real(self.derivative)[e * self.shape.slots * LANES + slot]);
        let [p00, p01, p02, p11, p12, p22] = p.map(|x| T::Pack::splat(rho * x));
        let p = self.stretch.map_or(p, |_| [T::lit(0.0); 6]);
        for j in 0..width {
            let (g0, g1, g2) = (m0[j], m1[j], m2[j]);
            m0[j] = p00.mul_add(g0, p01.mul_add(g1, p02 * g2));
            m1[j] = p01.mul_add(g0, p11.mul_add(g1, p12 * g2));
            m2[j] = p22 * g2;
        }
        let (m0, m1, m2) = (real_mut(m0), real_mut(m1), real_mut(m2));
        m0[to[0]] += one - p[0] + proximal;
        m0[to[1]] -= p[1];
        m0[to[2]] -= p[2];
        m1[to[0]] -= p[1];
        m1[to[1]] += one - p[3] + proximal;
        m1[to[2]] -= p[4];
        m2[to[2]] += one - p[5] + proximal;
    }

    /// The single row at some place in the list.
    #[inline(always)]
    fn row_matrix(&mut self, live: &Live, at: usize, proximal: T) {
        let (n, width, zero) = (self.shape.groups(), live.width(), T::lit(0.0));
        let i = usize::from(live.rows()[at]);
        let k = i - 3 * self.shape.slots * LANES;
        let (rho, free) = (self.rho_at(i), self.are_free(k / LANES).lane(k % LANES));
        let m = &mut self.matrix[at * width..(at + 1) * width];
        live.gather([&self.delassus[i * n..(i + 1) * n]], [m]);
        let kept = T::Pack::splat(if free { rho } else { zero });
        m.iter_mut().for_each(|m| *m = kept * *m);
        real_mut(m)[at] += if free && self.stretch.is_none() { zero } else { T::lit(1.0) } + proximal;
    }

    /// Solves the live rows for `step`.
    #[inline(always)]
    pub(super) fn eliminate(&mut self, live: &Live) {
        let width = live.width();
        let rhs = real_mut(self.rhs);
        // Ascending, so that no entry is overwritten before it is read.
        for (to, &k) in live.rows().iter().enumerate() {
            rhs[to] = rhs[usize::from(k)];
        }
        live.solve::<T>(self.matrix, &mut self.rhs[..width], &mut self.slope[..width]);
        self.step.fill(T::Pack::lit(0.0));
        for (from, &k) in live.rows().iter().enumerate() {
            real_mut(self.step)[usize::from(k)] = real(self.slope)[from];
        }
    }
}

/// Three rows of a matrix of `n` columns, numbers ascending.
#[inline(always)]
fn rows_mut<P>(m: &mut [P], at: [usize; 3], n: usize) -> [&mut [P]; 3] {
    let (head, last) = m.split_at_mut(at[2] * n);
    let (first, middle) = head.split_at_mut(at[1] * n);
    [&mut first[at[0] * n..(at[0] + 1) * n], &mut middle[..n], &mut last[..n]]
}
