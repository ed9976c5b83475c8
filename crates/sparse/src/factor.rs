//! Factors `U^T U` of sparse symmetric positive definite matrices, front after front.

use std::sync::Arc;

use crate::dense::{eliminate, positive, room, stride};
use crate::matrix::SparseMatrix;
use crate::product::mul_add;
use crate::symbolic::{Front, Ordering, Run, Symbolic};

/// Pivots below this share of the largest entry of the diagonal are mended.
const MENDED: f64 = 1e-8;

/// A matrix that is not positive definite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not positive definite: pivot of row {row} is zero, negative or out of range")]
pub struct NotPositive {
    /// The first row at fault in the order of elimination.
    pub row: usize,
}

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    symbolic: Arc<Symbolic>,
    /// Rows of U by front, `[columns, columns + rows]`; below the diagonal nothing counts.
    values: Vec<f64>,
    /// `[last, last]`
    reduced: Vec<f64>,
}

/// Memory for factoring.
#[derive(Debug, Clone, Default)]
pub struct FactorWork {
    /// Triangles that fronts leave to those that they add to, row by row, and where each begins.
    left: Vec<f64>,
    begins: Vec<usize>,
    /// A front.
    a: Vec<f64>,
}

impl Factor {
    /// Of a symmetric matrix; `last` are eliminated behind all others, distinct and below its size.
    ///
    /// # Errors
    /// A matrix that is not positive definite.
    pub fn new(matrix: &SparseMatrix, ordering: &Ordering, last: &[u32]) -> Result<Self, NotPositive> {
        let mut factor =
            Self { symbolic: Arc::new(Symbolic::new(matrix, ordering, last)), values: Vec::new(), reduced: Vec::new() };
        factor.eliminate(matrix, &mut FactorWork::default(), true, |_, at, row| positive(at, row))?;
        Ok(factor)
    }

    /// The same of a symmetric matrix that need not be positive definite: of one that has more on the diagonal where a pivot would
    /// not be positive, or too small beside its row (P. Gill and W. Murray 1974). Gives what it has more, by row.
    ///
    /// # Errors
    /// A matrix whose numbers are not finite.
    pub fn mended(
        matrix: &SparseMatrix,
        ordering: &Ordering,
        last: &[u32],
    ) -> Result<(Self, Vec<(u32, f64)>), NotPositive> {
        let symbolic = Arc::new(Symbolic::new(matrix, ordering, last));
        let mut factor = Self { symbolic: Arc::clone(&symbolic), values: Vec::new(), reduced: Vec::new() };
        let mut added = Vec::new();
        let size = (0..matrix.n()).filter_map(|i| matrix.get(i, i)).fold(0.0, |most: f64, x| most.max(x.abs()));
        factor.eliminate(matrix, &mut FactorWork::default(), false, |front, at, row| {
            // In a positive definite matrix no entry is larger than the root of the product of its two on the diagonal.
            let (pivot, largest) = (row[0], row[1..].iter().fold(0.0, |most: f64, x| most.max(x.abs())));
            let least = largest * (largest / size);
            if pivot >= (1.0 - MENDED) * least && pivot > MENDED * size {
                return positive(at, row);
            }
            let mended = least.max(size);
            added.push((symbolic.order[front.columns.start + at], mended - pivot));
            positive(at, &[mended]).filter(|_| pivot.is_finite())
        })?;
        Ok((factor, added))
    }

    /// Nothing yet of matrices of one pattern.
    #[must_use]
    pub fn empty(symbolic: Arc<Symbolic>) -> Self {
        Self { symbolic, values: Vec::new(), reduced: Vec::new() }
    }

    /// The same in the memory of a factor of whatever pattern.
    #[must_use]
    pub fn reused(self, symbolic: Arc<Symbolic>) -> Self {
        Self { symbolic, ..self }
    }

    /// Becomes the factor of another matrix of the pattern; [`Self::reduced`] is empty then.
    ///
    /// # Errors
    /// A matrix that is not positive definite.
    pub fn refactor(&mut self, matrix: &SparseMatrix, work: &mut FactorWork) -> Result<(), NotPositive> {
        self.eliminate(matrix, work, false, |_, at, row| positive(at, row))
    }

    /// `pivot_of`: as in [`eliminate`], within a front.
    fn eliminate(
        &mut self,
        matrix: &SparseMatrix,
        work: &mut FactorWork,
        reduce: bool,
        mut pivot_of: impl FnMut(&Front, usize, &[f64]) -> Option<f64>,
    ) -> Result<(), NotPositive> {
        let Self { symbolic, values, reduced } = self;
        let FactorWork { left, begins, a } = work;
        values.resize(symbolic.size, 0.0);
        reduced.clear();
        left.clear();
        begins.clear();
        for (f, front) in symbolic.fronts.iter().enumerate() {
            let w = front.columns.len();
            let m = w + front.rows.len();
            let stride = stride(m);
            a.clear();
            a.resize(room(m), 0.0);
            for &[from, to] in &symbolic.entries[front.entries.clone()] {
                a[to as usize] = matrix.values()[from as usize];
            }
            // What the fronts that add to this one have left stands last, one after the other.
            let first = begins.len() - front.children.len();
            for (&child, &begin) in front.children.iter().zip(&begins[first..]) {
                let child = &symbolic.fronts[child];
                add(&left[begin..], child.rows.len(), &symbolic.runs[child.runs.clone()], a, stride);
            }
            if let Some(&begin) = begins.get(first) {
                left.truncate(begin);
                begins.truncate(first);
            }
            if reduce && f + 1 == symbolic.fronts.len() {
                *reduced = mirrored(a, m);
            }
            if let Err(at) = eliminate(a, m, w, |at, row| pivot_of(front, at, row)) {
                return Err(NotPositive { row: symbolic.order[front.columns.start + at] as usize });
            }
            let own = &mut values[front.begin..front.begin + w * m];
            for (to, from) in own.chunks_exact_mut(m.max(1)).zip(a.chunks_exact(stride.max(1))) {
                to.copy_from_slice(&from[..m]);
            }
            if w < m {
                begins.push(left.len());
                (w..m).for_each(|i| left.extend_from_slice(&a[i * stride + i..i * stride + m]));
            }
        }
        Ok(())
    }

    /// Rows of the matrix.
    #[must_use]
    pub fn n(&self) -> usize {
        self.symbolic.order.len()
    }

    /// What is left of the matrix where all but the last are eliminated, `A_tt - A_te A_ee^-1 A_et`: `[last, last]`,
    /// row-major, as dense as it is.
    #[must_use]
    pub fn reduced(&self) -> &[f64] {
        &self.reduced
    }

    /// U of what is eliminated last: `reduced = U^T U`, `[last, last]`, row-major; below the diagonal nothing counts.
    #[must_use]
    pub fn last(&self) -> &[f64] {
        self.symbolic.fronts.last().map_or(&[], |front| self.front(front).0)
    }

    /// `U^T x = x` with [`Self::last`]; constraints touch little, so most of what comes before their own is zero.
    pub fn half_solve_reduced(&self, x: &mut [f64]) {
        let (u, m) = (self.last(), x.len().max(1));
        for (i, row) in u.chunks_exact(m).enumerate().skip(x.iter().take_while(|x| **x == 0.0).count()) {
            x[i] /= row[i];
            let own = -x[i];
            x[i + 1..].iter_mut().zip(&row[i + 1..]).for_each(|(x, u)| *x = mul_add(own, *u, *x));
        }
    }

    /// `reduced x = x`.
    pub fn solve_reduced(&self, x: &mut [f64]) {
        let (u, m) = (self.last(), x.len().max(1));
        self.half_solve_reduced(x);
        for (i, row) in u.chunks_exact(m).enumerate().rev() {
            x[i] = (x[i] - dot(&row[i + 1..], &x[i + 1..])) / row[i];
        }
    }

    /// Entries that are stored.
    #[must_use]
    pub fn size(&self) -> usize {
        self.symbolic.size
    }

    /// Memory of its numbers, B.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&self.values[..]) + size_of_val(&self.reduced[..])
    }

    /// `A x = x`.
    pub fn solve(&self, x: &mut [f64]) {
        self.solve_columns(&mut [x]);
    }

    /// The same of several right-hand sides: U is gone through once for all of them. Each has the bits that it has alone.
    pub fn solve_columns(&self, columns: &mut [&mut [f64]]) {
        let order = &self.symbolic.order;
        let ordered = |x: &&mut [f64]| order.iter().map(|&dof| x[dof as usize]).collect();
        let mut all: Vec<Vec<f64>> = columns.iter().map(ordered).collect();
        let mut own = Vec::new();
        for front in &self.symbolic.fronts {
            let (u, rows) = self.front(front);
            let w = front.columns.len();
            for y in &mut all {
                own.clear();
                own.extend_from_slice(&y[front.columns.clone()]);
                own.resize(w + rows.len(), 0.0);
                forward(u, w, &mut own);
                y[front.columns.clone()].copy_from_slice(&own[..w]);
                rows.iter().zip(&own[w..]).for_each(|(&at, x)| y[at as usize] += x);
            }
        }
        for front in self.symbolic.fronts.iter().rev() {
            let (u, rows) = self.front(front);
            let w = front.columns.len();
            for y in &mut all {
                own.clear();
                own.extend_from_slice(&y[front.columns.clone()]);
                own.extend(rows.iter().map(|&at| y[at as usize]));
                backward(u, w, &mut own);
                y[front.columns.clone()].copy_from_slice(&own[..w]);
            }
        }
        for (x, y) in columns.iter_mut().zip(&all) {
            order.iter().zip(y).for_each(|(&dof, y)| x[dof as usize] = *y);
        }
    }

    /// Rows of U of a front, and the positions of what stands below its columns.
    fn front(&self, front: &Front) -> (&[f64], &[u32]) {
        let rows = self.symbolic.rows_of(front);
        let w = front.columns.len();
        (&self.values[front.begin..front.begin + w * (w + rows.len())], rows)
    }
}

/// Adds a triangle of `n` rows to a front, where `runs` says.
fn add(triangle: &[f64], n: usize, runs: &[Run], a: &mut [f64], stride: usize) {
    let mut rest = triangle;
    for (r, run) in runs.iter().enumerate() {
        let [from, to, count] = [run.from, run.to, run.count].map(|x| x as usize);
        for k in 0..count {
            let (row, after) = rest.split_at(n - from - k);
            rest = after;
            let a = &mut a[(to + k) * stride..][..stride];
            let (own, mut row) = row.split_at(count - k);
            a[to + k..].iter_mut().zip(own).for_each(|(a, x)| *a += x);
            for other in &runs[r + 1..] {
                let (own, after) = row.split_at(other.count as usize);
                a[other.to as usize..].iter_mut().zip(own).for_each(|(a, x)| *a += x);
                row = after;
            }
        }
    }
}

/// Rows of a front that are taken at once.
const ABREAST: usize = 4;

/// `U^T y = y` for the `w` rows of a front, `[w, m]`; what stands behind these becomes less by what they do to it.
fn forward(u: &[f64], w: usize, y: &mut [f64]) {
    let m = y.len();
    let mut first = 0;
    while first < w {
        let count = ABREAST.min(w - first);
        let end = first + count;
        let rows: [&[f64]; ABREAST] = std::array::from_fn(|k| &u[(first + k.min(count - 1)) * m..][..m]);
        let (head, tail) = y.split_at_mut(end);
        for (i, row) in (first..end).zip(rows) {
            head[i] /= row[i];
            let x = -head[i];
            head[i + 1..].iter_mut().zip(&row[i + 1..end]).for_each(|(y, u)| *y = mul_add(x, *u, *y));
        }
        if count == ABREAST {
            let [a, b, c, d] = rows.map(|row| &row[end..]);
            let x: [f64; ABREAST] = std::array::from_fn(|k| -head[first + k]);
            for ((((y, a), b), c), d) in tail.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *y = mul_add(x[3], *d, mul_add(x[2], *c, mul_add(x[1], *b, mul_add(x[0], *a, *y))));
            }
        } else {
            for (i, row) in (first..end).zip(rows) {
                let x = -head[i];
                tail.iter_mut().zip(&row[end..]).for_each(|(y, u)| *y = mul_add(x, *u, *y));
            }
        }
        first = end;
    }
}

/// `U y = y` for the `w` rows of a front, `[w, m]`; what stands behind these is known.
fn backward(u: &[f64], w: usize, y: &mut [f64]) {
    let m = y.len();
    let mut end = w;
    while end > 0 {
        // As `forward` takes them.
        let first = (end - 1) / ABREAST * ABREAST;
        let (head, tail) = y.split_at_mut(end);
        let row = |i: usize| &u[i * m..(i + 1) * m];
        if end - first == ABREAST {
            let sums = dots(std::array::from_fn(|k| &row(first + k)[end..]), tail);
            head[first..].iter_mut().zip(sums).for_each(|(y, sum)| *y -= sum);
        } else {
            (first..end).for_each(|i| head[i] -= dot(&row(i)[end..], tail));
        }
        for i in (first..end).rev() {
            let known: f64 = (i + 1..end).map(|j| row(i)[j] * head[j]).sum();
            head[i] = (head[i] - known) / row(i)[i];
        }
        end = first;
    }
}

/// The matrix of an upper triangle.
fn mirrored(a: &[f64], m: usize) -> Vec<f64> {
    let (at, stride) = (|k: usize| (k / m.max(1), k % m.max(1)), stride(m));
    (0..m * m).map(at).map(|(i, j)| a[i.min(j) * stride + i.max(j)]).collect()
}

/// Sum of products: four sums, since one alone would wait for each of its terms.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let ((x, x_end), (y, y_end)) = (x.as_chunks::<4>(), y.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (x, y) in x.iter().zip(y) {
        (0..4).for_each(|k| sums[k] = mul_add(x[k], y[k], sums[k]));
    }
    sums.iter().sum::<f64>() + x_end.iter().zip(y_end).map(|(x, y)| x * y).sum::<f64>()
}

/// The same of several with one.
fn dots(rows: [&[f64]; ABREAST], y: &[f64]) -> [f64; ABREAST] {
    let (y, y_end) = y.as_chunks::<4>();
    let mut sums = [[0.0; 4]; ABREAST];
    let chunks = rows.map(|row| row.as_chunks::<4>());
    for (at, y) in y.iter().enumerate() {
        for (sums, (row, _)) in sums.iter_mut().zip(&chunks) {
            (0..4).for_each(|k| sums[k] = mul_add(row[at][k], y[k], sums[k]));
        }
    }
    std::array::from_fn(|r| {
        sums[r].iter().sum::<f64>() + chunks[r].1.iter().zip(y_end).map(|(x, y)| x * y).sum::<f64>()
    })
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::{Factor, NotPositive};
    use crate::{Ordering, SparseMatrix};

    /// A grid of particles, each with three degrees of freedom, held to its neighbours by springs of random strength.
    fn grid(edge: usize, seed: u64) -> SparseMatrix {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let at = |p: [usize; 3]| 3 * (p[0] + edge * (p[1] + edge * p[2]));
        let mut triplets = Vec::new();
        for k in 0..edge.pow(3) {
            let p = [k % edge, k / edge % edge, k / edge / edge];
            (0..3).for_each(|c| triplets.push((at(p) + c, at(p) + c, 0.1)));
            for step in [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]] {
                let q: [usize; 3] = std::array::from_fn(|c| p[c] + step[c]);
                if q.contains(&edge) {
                    continue;
                }
                let stiff = rng.random_range(0.1..10.0);
                for (a, b) in (0..9).map(|e| (e / 3, e % 3)) {
                    let x = stiff * (step[a] * step[b]) as f64;
                    let (i, j) = (at(p), at(q));
                    triplets.extend([(i + a, i + b, x), (j + a, j + b, x), (i + a, j + b, -x), (j + a, i + b, -x)]);
                }
            }
        }
        SparseMatrix::from_triplets(3 * edge.pow(3), &triplets).unwrap()
    }

    fn dense(m: &SparseMatrix) -> DMatrix<f64> {
        let mut out = DMatrix::zeros(m.n(), m.n());
        m.entries().for_each(|(i, j, x)| out[(i, j)] = x);
        out
    }

    #[test]
    fn solves_what_a_dense_factor_solves_whatever_comes_last() {
        for (edge, seed) in [(1, 0), (2, 1), (3, 2), (5, 3)] {
            let m = grid(edge, seed);
            let (n, exact) = (m.n(), dense(&m));
            let cholesky = exact.clone().cholesky().unwrap();
            for last in
                [vec![], vec![n as u32 - 1, 0], (0..n as u32).rev().step_by(2).collect(), (0..n as u32).collect()]
            {
                let factor = Factor::new(&m, &Ordering::of(&m), &last).unwrap();
                let b = DVector::from_fn(n, |i, _| (i as f64 * 1.7).sin());
                let mut x = b.as_slice().to_vec();
                factor.solve(&mut x);
                let alone = x.clone();
                let worst = (DVector::from_vec(x) - cholesky.solve(&b)).amax();
                assert!(worst < 1e-11, "{edge} {}: {worst}", last.len());
                // Others beside it change nothing.
                let (mut first, mut second) = (vec![1.0; n], b.as_slice().to_vec());
                factor.solve_columns(&mut [&mut first, &mut second]);
                let mut ones = vec![1.0; n];
                factor.solve(&mut ones);
                assert!(first == ones && second == alone, "{edge} {}", last.len());
                // The inverse's block is the inverse of what is left.
                let k = last.len();
                let left = DMatrix::from_row_slice(k, k, factor.reduced());
                let inverse = cholesky.inverse();
                let block = DMatrix::from_fn(k, k, |i, j| inverse[(last[i] as usize, last[j] as usize)]);
                let mut row = vec![1.0; k];
                factor.solve_reduced(&mut row);
                let sums = (&block * DVector::from_element(k, 1.0) - DVector::from_vec(row)).amax();
                assert!(sums < 1e-11, "{edge} {k}: {sums}");
                let worst = (left * block - DMatrix::identity(k, k)).iter().fold(0.0, |l: f64, x| l.max(x.abs()));
                assert!(worst < 1e-10, "{edge} {k}: {worst}");
            }
        }
    }

    #[test]
    fn what_is_mended_is_the_matrix_and_what_it_has_more() {
        for (edge, seed, shift) in [(3, 2, 0.0), (3, 2, 3.0), (4, 5, 8.0)] {
            let mut m = grid(edge, seed);
            (0..m.n()).for_each(|i| m.add_diagonal(i, -shift));
            let last: Vec<u32> = (0..m.n() as u32).step_by(4).collect();
            let (factor, added) = Factor::mended(&m, &Ordering::of(&m), &last).unwrap();
            let mut exact = dense(&m);
            let negative = exact.clone().symmetric_eigen().eigenvalues.iter().filter(|x| **x < 0.0).count();
            assert!(added.len() >= negative && (negative > 0) == (shift > 0.0), "{} {negative}", added.len());
            added.iter().for_each(|&(dof, x)| exact[(dof as usize, dof as usize)] += x);
            let b = DVector::from_fn(m.n(), |i, _| (i as f64 * 1.7).sin());
            let mut x = b.as_slice().to_vec();
            factor.solve(&mut x);
            let worst = (exact * DVector::from_vec(x) - &b).amax();
            assert!(worst < 1e-9, "{edge} {shift}: {worst}");
        }
    }

    #[test]
    fn a_grid_fills_much_less_than_a_dense_matrix() {
        let m = grid(8, 1);
        let n = m.n();
        let size = Factor::new(&m, &Ordering::of(&m), &[]).unwrap().size();
        assert!(size < n * n / 5, "{size} of {}", n * n);
    }

    #[test]
    fn what_is_not_positive_says_where() {
        let m = SparseMatrix::from_triplets(2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 4.0)]).unwrap();
        let row = Factor::new(&m, &Ordering::of(&m), &[1]).unwrap_err();
        assert_eq!(row, NotPositive { row: 1 });
        let m = SparseMatrix::from_triplets(1, &[(0, 0, f64::NAN)]).unwrap();
        assert!(Factor::new(&m, &Ordering::of(&m), &[]).is_err());
        let none = SparseMatrix::from_triplets(0, &[]).unwrap();
        assert_eq!(Factor::new(&none, &Ordering::of(&none), &[]).unwrap().n(), 0);
    }
}
