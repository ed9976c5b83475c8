//! Gaussian elimination: `P B Q = L U`, the rank, and solutions of the system and of its transpose. Rows alone are exchanged
//! first; where pivots vanish that way, complete pivoting tells the rank.

use crate::grid::Grid;
use crate::pool::Pooled;

/// A pivot below this part of the largest counts as none: the equations are redundant.
pub const SMALLEST_PIVOT: f64 = 1e-10;
/// With rows alone exchanged, pivots that vary by more than this are not taken for a rank.
const CLEAR_PIVOT: f64 = 1e-7;

/// A factored square matrix.
#[derive(Debug, Clone)]
pub(super) struct Lu {
    n: usize,
    /// L below the diagonal (ones on it), U on and above it, row-major.
    factors: Pooled,
    /// Row of B that stands in each row.
    rows: Vec<usize>,
    /// Column of B that stands in each column.
    columns: Vec<usize>,
    rank: usize,
}

impl Lu {
    /// Factors `b`, row-major, `[n][n]`.
    pub(super) fn new(b: &[f64], n: usize) -> Self {
        Self::by_rows(b, n).unwrap_or_else(|| Self::complete(b, n))
    }

    fn unfactored(b: &[f64], n: usize) -> Self {
        Self { n, factors: Pooled::copy(b), rows: (0..n).collect(), columns: (0..n).collect(), rank: n }
    }

    /// Subtracts the pivot's row from those below.
    fn eliminate(&mut self, k: usize) {
        let n = self.n;
        let (top, rest) = self.factors.split_at_mut((k + 1) * n);
        let top = &top[k * n..];
        let per = 1.0 / top[k];
        for row in rest.chunks_exact_mut(n) {
            let factor = row[k] * per;
            row[k] = factor;
            if factor != 0.0 {
                row[k + 1..].iter_mut().zip(&top[k + 1..]).for_each(|(x, t)| *x = (-factor).mul_add(*t, *x));
            }
        }
    }

    /// With rows exchanged; `None` where that leaves the rank in doubt.
    fn by_rows(b: &[f64], n: usize) -> Option<Self> {
        let mut out = Self::unfactored(b, n);
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for k in 0..n {
            let (mut pivot, mut at) = (0.0, k);
            for i in k..n {
                let x = out.factors[i * n + k].abs();
                if x > pivot {
                    (pivot, at) = (x, i);
                }
            }
            (least, most) = (least.min(pivot), most.max(pivot));
            // Also what is not a number ends it: none is above zero.
            if pivot == 0.0 || least <= CLEAR_PIVOT * most {
                return None;
            }
            if at != k {
                let (head, tail) = out.factors.split_at_mut(at * n);
                head[k * n..(k + 1) * n].swap_with_slice(&mut tail[..n]);
                out.rows.swap(k, at);
            }
            out.eliminate(k);
        }
        Some(out)
    }

    /// With rows and columns exchanged.
    fn complete(b: &[f64], n: usize) -> Self {
        let mut out = Self::unfactored(b, n);
        let mut largest = 0.0;
        for k in 0..n {
            let (mut pivot, mut at) = (0.0, [k, k]);
            for i in k..n {
                for (j, x) in out.factors[i * n + k..(i + 1) * n].iter().enumerate() {
                    if x.abs() > pivot {
                        (pivot, at) = (x.abs(), [i, k + j]);
                    }
                }
            }
            if k == 0 {
                largest = pivot;
            }
            // Also what is not a number ends it: none is above zero.
            if pivot <= SMALLEST_PIVOT * largest {
                out.rank = k;
                break;
            }
            let [i, j] = at;
            if i != k {
                (0..n).for_each(|c| out.factors.swap(k * n + c, i * n + c));
                out.rows.swap(k, i);
            }
            if j != k {
                (0..n).for_each(|r| out.factors.swap(r * n + k, r * n + j));
                out.columns.swap(k, j);
            }
            out.eliminate(k);
        }
        out
    }

    pub(super) fn n(&self) -> usize {
        self.n
    }

    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    /// Vectors that span the columns of B, and such that span its rows, each with a largest entry of one where pivots are complete:
    /// `[rank, n]` each.
    pub(super) fn spanning(&self) -> [Grid; 2] {
        let (n, rank) = (self.n, self.rank);
        let [mut columns, mut rows] = [(); 2].map(|()| Grid::zeros(rank, n));
        for k in 0..rank {
            let per = 1.0 / self.factors[k * n + k];
            columns[(k, self.rows[k])] = 1.0;
            (k + 1..n).for_each(|i| columns[(k, self.rows[i])] = self.factors[i * n + k]);
            (k..n).for_each(|j| rows[(k, self.columns[j])] = per * self.factors[k * n + j]);
        }
        [columns, rows]
    }

    /// `B x = x` for all columns; of a redundant system the solution with zeros where there was no pivot, if it has one.
    pub(super) fn solve_all(&self, x: &mut Grid) {
        let (n, rank) = (self.n, self.rank);
        let mut y = Grid::zeros(n, x.width());
        for i in 0..rank {
            y.row_mut(i).copy_from_slice(x.row(self.rows[i]));
            y.subtract_rows(i, &self.factors[i * n..i * n + i], 0);
        }
        for i in (0..rank).rev() {
            y.subtract_rows(i, &self.factors[i * n + i + 1..i * n + rank], i + 1);
            let per = 1.0 / self.factors[i * n + i];
            y.row_mut(i).iter_mut().for_each(|x| *x *= per);
        }
        for (i, &to) in self.columns.iter().enumerate() {
            x.row_mut(to).copy_from_slice(y.row(i));
        }
    }

    /// `B x = x` for one vector, likewise.
    pub(super) fn solve(&self, x: &mut [f64]) {
        let (n, rank) = (self.n, self.rank);
        let mut y = Pooled::zeros(n);
        for i in 0..rank {
            let known: f64 = (0..i).map(|k| self.factors[i * n + k] * y[k]).sum();
            y[i] = x[self.rows[i]] - known;
        }
        for i in (0..rank).rev() {
            let known: f64 = (i + 1..rank).map(|k| self.factors[i * n + k] * y[k]).sum();
            y[i] = (y[i] - known) / self.factors[i * n + i];
        }
        self.columns.iter().zip(y.iter()).for_each(|(&to, y)| x[to] = *y);
    }

    /// `B^T x = x`, likewise.
    pub(super) fn solve_transposed(&self, x: &mut [f64]) {
        let (n, rank) = (self.n, self.rank);
        let mut y: Vec<f64> = self.columns.iter().map(|&from| x[from]).collect();
        for i in 0..rank {
            y[i] /= self.factors[i * n + i];
            for k in i + 1..rank {
                y[k] -= self.factors[i * n + k] * y[i];
            }
        }
        for i in (0..rank).rev() {
            for k in 0..i {
                y[k] -= self.factors[i * n + k] * y[i];
            }
        }
        y[rank..].fill(0.0);
        self.rows.iter().zip(y).for_each(|(&to, y)| x[to] = y);
    }

    /// A basis of `B^T z = 0`, each with largest entry one or above.
    pub(super) fn left_null(&self) -> Vec<Vec<f64>> {
        let (n, rank) = (self.n, self.rank);
        // Rows without pivot are combinations of the others: what L says of them.
        let mut basis = Vec::with_capacity(n - rank);
        for free in rank..n {
            let mut y: Vec<f64> = (0..n).map(|k| if k < rank { -self.factors[free * n + k] } else { 0.0 }).collect();
            for i in (0..rank).rev() {
                for k in 0..i {
                    y[k] -= self.factors[i * n + k] * y[i];
                }
            }
            y[free] = 1.0;
            let mut z = vec![0.0; n];
            self.rows.iter().zip(y).for_each(|(&to, y)| z[to] = y);
            basis.push(z);
        }
        basis
    }

    /// A basis of `B x = 0`, likewise.
    pub(super) fn null(&self) -> Vec<Vec<f64>> {
        let (n, rank) = (self.n, self.rank);
        let mut basis = Vec::with_capacity(n - rank);
        for free in rank..n {
            let mut y: Vec<f64> = (0..n).map(|i| if i < rank { -self.factors[i * n + free] } else { 0.0 }).collect();
            for i in (0..rank).rev() {
                let known: f64 = (i + 1..rank).map(|k| self.factors[i * n + k] * y[k]).sum();
                y[i] = (y[i] - known) / self.factors[i * n + i];
            }
            y[free] = 1.0;
            let mut x = vec![0.0; n];
            self.columns.iter().zip(y).for_each(|(&to, y)| x[to] = y);
            basis.push(x);
        }
        basis
    }
}

#[cfg(test)]
mod tests {
    use super::Lu;
    use crate::grid::Grid;

    /// Numbers without pattern, the same in every run.
    fn noise(n: usize) -> Vec<f64> {
        let mut x = 12345_u64;
        let mut next = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    fn times(b: &[f64], x: &[f64], transposed: bool) -> Vec<f64> {
        let n = x.len();
        let at = |i: usize, j: usize| if transposed { b[j * n + i] } else { b[i * n + j] };
        (0..n).map(|i| (0..n).map(|j| at(i, j) * x[j]).sum()).collect()
    }

    fn close(a: &[f64], b: &[f64]) {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10), "{a:?} {b:?}");
    }

    #[test]
    fn solves_the_system_and_its_transpose() {
        let (n, b) = (7, noise(49));
        let (lu, rhs) = (Lu::new(&b, n), noise(7));
        assert_eq!(lu.rank(), n);
        let (mut x, mut z) = (rhs.clone(), rhs.clone());
        lu.solve(&mut x);
        lu.solve_transposed(&mut z);
        close(&times(&b, &x, false), &rhs);
        let mut all = Grid::from_rows(2, &rhs.iter().flat_map(|&x| [x, -2.0 * x]).collect::<Vec<_>>());
        lu.solve_all(&mut all);
        let expected: Vec<f64> = x.iter().flat_map(|&x| [x, -2.0 * x]).collect();
        close(&(0..n).flat_map(|i| all.row(i).to_vec()).collect::<Vec<_>>(), &expected);
        close(&times(&b, &z, true), &rhs);
        assert!(lu.null().is_empty() && lu.left_null().is_empty());
    }

    #[test]
    fn a_redundant_system_has_its_rank_null_spaces_and_solutions() {
        // A product of 5 x 3 and 3 x 5.
        let (n, r) = (5, 3);
        let (left, right) = (noise(15), noise(20));
        let right = &right[5..];
        let mut b = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                b[i * n + j] = (0..r).map(|k| left[i * r + k] * right[k * n + j]).sum();
            }
        }
        let lu = Lu::new(&b, n);
        assert_eq!(lu.rank(), r);
        assert_eq!((lu.null().len(), lu.left_null().len()), (2, 2));
        for x in lu.null() {
            close(&times(&b, &x, false), &[0.0; 5]);
        }
        for z in lu.left_null() {
            close(&times(&b, &z, true), &[0.0; 5]);
        }
        let (there, back) = (times(&b, &noise(5), false), times(&b, &noise(5), true));
        let (mut x, mut z) = (there.clone(), back.clone());
        lu.solve(&mut x);
        lu.solve_transposed(&mut z);
        close(&times(&b, &x, false), &there);
        close(&times(&b, &z, true), &back);
    }

    #[test]
    fn zeros_have_no_rank() {
        let lu = Lu::new(&[0.0; 4], 2);
        let mut x = vec![1.0, 2.0];
        lu.solve(&mut x);
        assert_eq!((lu.rank(), x), (0, vec![0.0, 0.0]));
    }
}
