//! The sides of a dense problem by degrees of freedom, and what Newton steps and sweeps by them need (`thin_step.rs`): mirrors
//! in double precision.
//!
//! The Delassus operator of a lane is `G = J Y^T + C` with C the compliances: where there are more rows than degrees of freedom
//! it says little for its size. So it is not written out. The matrix of a step (see [`super::dense`]) is `D + S J Y^T` with
//! `D = 1 - P (1 - rho C) + eps` and `S = P rho`, both by blocks of a slot or row; by Woodbury's identity
//!
//! ```text
//! (1 + Y^T D^-1 S J) w = Y^T D^-1 r,    d = D^-1 (r - S J w)
//! ```
//!
//! is a system of as many equations as degrees of freedom. A sweep carries `u = Y^T dlambda` along. With eps at its least six
//! digits cancel where contacts stick, which single precision does not have, and a device keeps problems of 64 rows at most:
//! there G is written out.

use super::packs::{real, real_mut, take, total};
use crate::{LANES, Real, Scalar};

/// A problem has more rows than so many a degree of freedom, or G is written out: of a step by G only the rows count that act, on a
/// lying humanoid a third (with 1 the humanoid takes twice the time, with 3 as long as without this form).
const ROWS_PER_DOF: usize = 3;

/// The sides of a problem and what a step by them needs; slices are of packs of [`LANES`] degrees of freedom.
#[derive(Debug)]
pub struct Thin<'a, T: Scalar> {
    /// Degrees of freedom.
    pub(super) n_v: usize,
    /// Packs of a row of J.
    pub(super) width: usize,
    /// J, `[n][width]`.
    pub(super) jacobian: &'a mut [T::Pack],
    /// `Y = J A^-1`, `[n][width]`.
    pub(super) response: &'a mut [T::Pack],
    /// The matrix, `[n_v][width]`.
    pub(super) matrix: &'a mut [T::Pack],
    /// Its right-hand side, then its solution, `[width]`.
    pub(super) solution: &'a mut [T::Pack],
    /// `Y^T` times impulses, `[width]`.
    pub(super) moved: &'a mut [T::Pack],
    /// Three rows of J, joined, `[3][width]`.
    across: &'a mut [T::Pack],
}

/// Whether problems of so many rows are solved this way.
#[must_use]
pub fn is_thin<T: Scalar>(n_v: usize, rows: usize) -> bool {
    T::NAME == f64::NAME && ROWS_PER_DOF * n_v < rows
}

/// Reals of the memory of [`Thin`] for so many rows, those that pad groups among them.
#[must_use]
pub fn reals(n_v: usize, rows: usize) -> usize {
    n_v.next_multiple_of(LANES) * (2 * rows + n_v + 5)
}

impl<'a, T: Scalar> Thin<'a, T> {
    /// Zero sides of so many rows in some memory of at least [`reals`].
    pub fn new(n_v: usize, rows: usize, memory: &'a mut [T::Pack]) -> Self {
        let width = n_v.div_ceil(LANES);
        let mut rest = &mut memory[..reals(n_v, rows) / LANES];
        rest.fill(T::Pack::lit(0.0));
        let mut take = |count: usize| take(&mut rest, count);
        Self {
            n_v,
            width,
            jacobian: take(rows * width),
            response: take(rows * width),
            matrix: take(n_v * width),
            solution: take(width),
            moved: take(width),
            across: take(3 * width),
        }
    }

    /// J of a row, by degree of freedom.
    pub fn jacobian_of(&mut self, row: usize) -> &mut [T] {
        &mut real_mut(&mut self.jacobian[row * self.width..(row + 1) * self.width])[..self.n_v]
    }

    /// Y of a row, by degree of freedom.
    pub fn response_of(&mut self, row: usize) -> &mut [T] {
        &mut real_mut(&mut self.response[row * self.width..(row + 1) * self.width])[..self.n_v]
    }

    /// `Y^T x`, by degree of freedom.
    pub fn respond(&mut self, x: &[T::Pack]) -> &mut [T] {
        self.moved.fill(T::Pack::lit(0.0));
        for (row, &x) in real(x).iter().enumerate() {
            self.push(row, x);
        }
        &mut real_mut(self.moved)[..self.n_v]
    }

    /// `moved += Y^T x` for one row.
    #[inline(always)]
    pub(super) fn push(&mut self, row: usize, x: T) {
        if x != T::lit(0.0) {
            let x = T::Pack::splat(x);
            let y = &self.response[row * self.width..(row + 1) * self.width];
            self.moved.iter_mut().zip(y).for_each(|(to, &y)| *to = y.mul_add(x, *to));
        }
    }

    /// `J x` of one row.
    #[inline(always)]
    pub(super) fn along(&self, row: usize, x: &[T::Pack]) -> T {
        let j = &self.jacobian[row * self.width..(row + 1) * self.width];
        total(j.iter().zip(x).fold(T::Pack::lit(0.0), |sum, (&j, &x)| j.mul_add(x, sum)))
    }

    /// Adds `Y_r^T k J_c` for some rows, `k` the block that joins them, and `Y_r^T q` to the right-hand side.
    #[inline(always)]
    pub(super) fn add<const N: usize>(&mut self, rows: [usize; N], k: [[T; N]; N], q: [T; N]) {
        let width = self.width;
        let Self { jacobian, response, matrix, solution, across, .. } = self;
        let j: [&[T::Pack]; N] = rows.map(|row| &jacobian[row * width..(row + 1) * width]);
        let y: [&[T::Pack]; N] = rows.map(|row| &response[row * width..(row + 1) * width]);
        let across = &mut across[..N * width];
        for (r, across) in across.chunks_exact_mut(width).enumerate() {
            for (i, to) in across.iter_mut().enumerate() {
                *to = (0..N).fold(T::Pack::lit(0.0), |sum, c| j[c][i].mul_add(T::Pack::splat(k[r][c]), sum));
            }
        }
        let of: [&[T]; N] = y.map(real);
        for (a, to) in matrix.chunks_exact_mut(width).enumerate() {
            for r in 0..N {
                let y = T::Pack::splat(of[r][a]);
                for (to, &x) in to.iter_mut().zip(&across[r * width..(r + 1) * width]) {
                    *to = x.mul_add(y, *to);
                }
            }
        }
        for r in 0..N {
            let q = T::Pack::splat(q[r]);
            solution.iter_mut().zip(y[r]).for_each(|(to, &y)| *to = y.mul_add(q, *to));
        }
    }

    /// Solves for `solution`, by elimination with the largest pivots of columns.
    pub(super) fn solve(&mut self) {
        let (n, width) = (self.n_v, self.width);
        for k in 0..n {
            let entry = |row: usize| real(&self.matrix[row * width..(row + 1) * width])[k];
            let pivot = (k + 1..n).fold(k, |best, row| if entry(best).abs() < entry(row).abs() { row } else { best });
            if pivot != k {
                let (head, tail) = self.matrix.split_at_mut(pivot * width);
                head[k * width..(k + 1) * width].swap_with_slice(&mut tail[..width]);
                real_mut(self.solution).swap(k, pivot);
            }
            let inverse = T::lit(1.0) / real(&self.matrix[k * width..(k + 1) * width])[k];
            let (head, tail) = self.matrix.split_at_mut((k + 1) * width);
            let top = &head[k * width..];
            let solution = real_mut(self.solution);
            for (at, row) in tail.chunks_exact_mut(width).enumerate() {
                let factor = -(real(row)[k] * inverse);
                if factor != T::lit(0.0) {
                    let pack = T::Pack::splat(factor);
                    // Columns before the pivot's are not read again.
                    for i in k / LANES..width {
                        row[i] = top[i].mul_add(pack, row[i]);
                    }
                    solution[k + 1 + at] = factor.mul_add(solution[k], solution[k + 1 + at]);
                }
            }
        }
        for k in (0..n).rev() {
            let row = real(&self.matrix[k * width..(k + 1) * width]);
            let solution = real_mut(self.solution);
            let known = (k + 1..n).fold(T::lit(0.0), |sum, c| row[c].mul_add(solution[c], sum));
            solution[k] = (solution[k] - known) / row[k];
        }
    }
}
