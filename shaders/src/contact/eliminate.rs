//! Elimination for the rows of a dense problem that a step can change, gathered side by side: pivots in order, four rows
//! at a time, so that what lies below is loaded and stored once for four of them.
//!
//! Pivots are not searched for: the proximal weight keeps the diagonal away from zero.

use super::packs::{real, real_mut, total};
use crate::{LANES, Real, Scalar};

/// Most rows of a problem that is written out,
pub const MOST: usize = 256;
/// and of one by degrees of freedom, which grows with the rows themselves.
pub const LONGEST: usize = 768;
/// Rows that are eliminated together.
const PANEL: usize = 4;
/// A pivot is kept this far from zero.
const LEAST_PIVOT: f64 = 1e-12;

/// Rows that a step can change, in ascending order.
#[derive(Debug)]
pub(super) struct Live {
    list: [u16; LONGEST],
    count: usize,
}

impl Default for Live {
    fn default() -> Self {
        Self { list: [0; LONGEST], count: 0 }
    }
}

impl Live {
    #[inline(always)]
    pub(super) fn push(&mut self, row: usize) {
        self.list[self.count] = row as u16;
        self.count += 1;
    }

    #[inline(always)]
    pub(super) fn rows(&self) -> &[u16] {
        &self.list[..self.count]
    }

    /// Packs of a row of the gathered matrix.
    #[inline(always)]
    pub(super) fn width(&self) -> usize {
        self.count.div_ceil(LANES)
    }

    /// The live entries of some rows, zeros behind them.
    #[inline(always)]
    pub(super) fn gather<P: Real + bytemuck::Pod, const ROWS: usize>(&self, from: [&[P]; ROWS], to: [&mut [P]; ROWS]) {
        let to = to.map(|to| {
            if let Some(last) = to.last_mut() {
                *last = P::lit(0.0);
            }
            &mut real_mut(to)[..self.count]
        });
        let from = from.map(real);
        for (at, &k) in self.rows().iter().enumerate() {
            for r in 0..ROWS {
                to[r][at] = from[r][usize::from(k)];
            }
        }
    }

    /// Solves the gathered system: `matrix` `[rows, padded][width]`, `rhs` `[width]`; the solution into `solved`,
    /// `[width]`. Destroys both.
    #[inline(always)]
    pub(super) fn solve<T: Scalar>(&self, matrix: &mut [T::Pack], rhs: &mut [T::Pack], solved: &mut [T::Pack]) {
        let width = self.width();
        let rows = self.count.next_multiple_of(PANEL);
        // What pads the last panel are rows of the unit matrix.
        matrix[self.count * width..rows * width].fill(T::Pack::lit(0.0));
        for k in self.count..rows {
            real_mut(&mut matrix[k * width..(k + 1) * width])[k] = T::lit(1.0);
            real_mut(rhs)[k] = T::lit(0.0);
        }
        for k in (0..rows).step_by(PANEL) {
            let (above, below) = matrix[..rows * width].split_at_mut((k + PANEL) * width);
            let panel = Panel { k, width, first: k / LANES };
            let own = panel.factor::<T>(&mut above[k * width..], real_mut(rhs));
            let top = &above[k * width..];
            panel.clear::<T>(&own, top, below, real_mut(rhs));
        }
        // Rows not solved yet have a zero step.
        solved[..width].fill(T::Pack::lit(0.0));
        for k in (0..rows).step_by(PANEL).rev() {
            let panel = Panel { k, width, first: k / LANES };
            panel.substitute::<T>(&matrix[k * width..], real(rhs), solved);
        }
    }
}

/// Four rows from row k on; what lies before pack `first` is not read again.
struct Panel {
    k: usize,
    width: usize,
    first: usize,
}

/// A panel's block on the diagonal, the inverses of its pivots in their place, and its right-hand sides.
struct Own<T> {
    block: [[T; PANEL]; PANEL],
    rhs: [T; PANEL],
}

impl Panel {
    /// Eliminates within the panel.
    #[inline(always)]
    fn factor<T: Scalar>(&self, panel: &mut [T::Pack], rhs: &mut [T]) -> Own<T> {
        let (k, width) = (self.k, self.width);
        let least = T::lit(LEAST_PIVOT);
        let (r0, rest) = panel.split_at_mut(width);
        let (r1, rest) = rest.split_at_mut(width);
        let (r2, r3) = rest.split_at_mut(width);
        let rows: [&mut [T::Pack]; PANEL] = [r0, r1, r2, &mut r3[..width]];
        for a in 0..PANEL {
            let pivot = real(rows[a])[k + a];
            let inverse = T::lit(1.0) / if pivot.abs() < least { least } else { pivot };
            real_mut(rows[a])[k + a] = inverse;
            for b in a + 1..PANEL {
                let factor = -(real(rows[b])[k + a] * inverse);
                rhs[k + b] = factor.mul_add(rhs[k + a], rhs[k + b]);
                let factor = T::Pack::splat(factor);
                for j in self.first..width {
                    rows[b][j] = factor.mul_add(rows[a][j], rows[b][j]);
                }
            }
        }
        Own {
            block: std::array::from_fn(|a| std::array::from_fn(|b| real(rows[a])[k + b])),
            rhs: std::array::from_fn(|a| rhs[k + a]),
        }
    }

    /// The factors that clear four entries of a row.
    #[inline(always)]
    fn factors<T: Scalar>(&self, own: &Own<T>, row: &[T::Pack]) -> [T; PANEL] {
        let m = &own.block;
        let [e0, e1, e2, e3]: [T; PANEL] = std::array::from_fn(|c| real(row)[self.k % LANES + c]);
        let f0 = -(e0 * m[0][0]);
        let f1 = -(f0.mul_add(m[0][1], e1) * m[1][1]);
        let f2 = -(f1.mul_add(m[1][2], f0.mul_add(m[0][2], e2)) * m[2][2]);
        let f3 = -(f2.mul_add(m[2][3], f1.mul_add(m[1][3], f0.mul_add(m[0][3], e3))) * m[3][3]);
        [f0, f1, f2, f3]
    }

    /// Adds the panel's right-hand sides to that of a row below.
    #[inline(always)]
    fn carry<T: Scalar>(own: &Own<T>, f: &[T; PANEL], rhs: &mut T) {
        for a in 0..PANEL {
            *rhs = f[a].mul_add(own.rhs[a], *rhs);
        }
    }

    /// Clears the panel's columns in the rows below it, two rows at a time: each pack of the panel is loaded once for both.
    #[inline(always)]
    fn clear<T: Scalar>(&self, own: &Own<T>, top: &[T::Pack], below: &mut [T::Pack], rhs: &mut [T]) {
        let (first, width) = (self.first, self.width);
        let count = width - first;
        let [t0, t1, t2, t3]: [&[T::Pack]; PANEL] = std::array::from_fn(|a| &top[a * width + first..][..count]);
        let rhs = &mut rhs[self.k + PANEL..];
        for (two, rhs) in below.chunks_exact_mut(2 * width).zip(rhs.chunks_exact_mut(2)) {
            let (x, y) = two.split_at_mut(width);
            let (x, y) = (&mut x[first..][..count], &mut y[first..][..count]);
            let (f, g) = (self.factors(own, x), self.factors(own, y));
            Self::carry(own, &f, &mut rhs[0]);
            Self::carry(own, &g, &mut rhs[1]);
            let (f, g) = (f.map(T::Pack::splat), g.map(T::Pack::splat));
            for j in 0..count {
                let t = [t0[j], t1[j], t2[j], t3[j]];
                for a in 0..PANEL {
                    x[j] = f[a].mul_add(t[a], x[j]);
                    y[j] = g[a].mul_add(t[a], y[j]);
                }
            }
        }
    }

    /// The panel's part of the solution, what comes after it being solved.
    #[inline(always)]
    fn substitute<T: Scalar>(&self, panel: &[T::Pack], rhs: &[T], solved: &mut [T::Pack]) {
        let (k, width) = (self.k, self.width);
        let mut sums = [T::Pack::lit(0.0); PANEL];
        for j in self.first..width {
            for a in 0..PANEL {
                sums[a] = panel[a * width + j].mul_add(solved[j], sums[a]);
            }
        }
        let m = |a: usize, b: usize| real(panel)[a * width * LANES + k + b];
        let x: [T; PANEL] = std::array::from_fn(|a| rhs[k + a] - total(sums[a]));
        let x3 = x[3] * m(3, 3);
        let x2 = (x[2] - m(2, 3) * x3) * m(2, 2);
        let x1 = (x[1] - m(1, 3).mul_add(x3, m(1, 2) * x2)) * m(1, 1);
        let x0 = (x[0] - m(0, 3).mul_add(x3, m(0, 2).mul_add(x2, m(0, 1) * x1))) * m(0, 0);
        real_mut(solved)[k..k + PANEL].copy_from_slice(&[x0, x1, x2, x3]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Residual of a system whose solution is known, for every number of rows.
    #[test]
    fn solves_systems_of_every_size() {
        for count in 1..100 {
            let n = count * 2;
            let mut live = Live::default();
            (0..count).for_each(|k| live.push(2 * k + 1));
            let width = live.width();
            let entry = |i: usize, j: usize| {
                let wave = ((i * 31 + j * 17 + 5) % 23) as f64 / 23.0 - 0.5;
                if i == j { 20.0 } else { wave }
            };
            let truth = |k: usize| (k as f64 * 0.7).sin();
            let packs = n.div_ceil(LANES);
            let zero = <f64 as Scalar>::Pack::lit(0.0);
            let mut matrix = vec![zero; (count + PANEL) * width];
            let mut rhs = vec![zero; width];
            let mut solved = vec![zero; width];
            for i in 0..count {
                let mut row = vec![zero; packs];
                for j in 0..count {
                    real_mut(&mut row)[2 * j + 1] = entry(i, j);
                }
                live.gather([&row], [&mut matrix[i * width..(i + 1) * width]]);
                real_mut(&mut rhs)[i] = (0..count).map(|j| entry(i, j) * truth(j)).sum();
            }
            live.solve::<f64>(&mut matrix, &mut rhs, &mut solved);
            for k in 0..count {
                let error = (real(&solved)[k] - truth(k)).abs();
                assert!(error < 1e-13, "{count} rows: row {k} is off by {error:e}");
            }
        }
    }
}
