//! Gaussian elimination with complete pivoting: `P B Q = L U`, the rank, and solutions of the system and of its transpose.

use crate::grid::axpy;

/// A pivot below this part of the largest counts as none: the equations are redundant.
pub(crate) const SMALLEST_PIVOT: f64 = 1e-10;

/// A factored square matrix.
#[derive(Debug, Clone)]
pub(crate) struct Lu {
    n: usize,
    /// L below the diagonal (ones on it), U on and above it, row-major.
    factors: Vec<f64>,
    /// Row of B that stands in each row.
    rows: Vec<usize>,
    /// Column of B that stands in each column.
    columns: Vec<usize>,
    rank: usize,
}

impl Lu {
    /// Factors `b`, row-major, `[n][n]`.
    pub(crate) fn new(mut b: Vec<f64>, n: usize) -> Self {
        let (mut rows, mut columns): (Vec<_>, Vec<_>) = ((0..n).collect(), (0..n).collect());
        let (mut rank, mut largest) = (n, 0.0);
        for k in 0..n {
            let (mut pivot, mut at) = (0.0, [k, k]);
            for i in k..n {
                for (j, x) in b[i * n + k..(i + 1) * n].iter().enumerate() {
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
                rank = k;
                break;
            }
            let [i, j] = at;
            if i != k {
                (0..n).for_each(|c| b.swap(k * n + c, i * n + c));
                rows.swap(k, i);
            }
            if j != k {
                (0..n).for_each(|r| b.swap(r * n + k, r * n + j));
                columns.swap(k, j);
            }
            let (top, rest) = b.split_at_mut((k + 1) * n);
            let top = &top[k * n..];
            let per = 1.0 / top[k];
            for row in rest.chunks_exact_mut(n) {
                let factor = row[k] * per;
                row[k] = factor;
                if factor != 0.0 {
                    row[k + 1..].iter_mut().zip(&top[k + 1..]).for_each(|(x, t)| *x -= factor * t);
                }
            }
        }
        Self { n, factors: b, rows, columns, rank }
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// `B x = x` for `width` right-hand sides, row-major, `[n][width]`; of a redundant system the solution with zeros
    /// where there was no pivot, if it has one.
    pub(crate) fn solve(&self, x: &mut [f64], width: usize) {
        let (n, rank) = (self.n, self.rank);
        let mut y = vec![0.0; n * width];
        for (i, &from) in self.rows[..rank].iter().enumerate() {
            let (above, own) = y.split_at_mut(i * width);
            let own = &mut own[..width];
            own.copy_from_slice(&x[from * width..(from + 1) * width]);
            for k in 0..i {
                axpy(-self.factors[i * n + k], &above[k * width..(k + 1) * width], own);
            }
        }
        for i in (0..rank).rev() {
            let (own, below) = y[i * width..].split_at_mut(width);
            for k in i + 1..rank {
                axpy(-self.factors[i * n + k], &below[(k - i - 1) * width..(k - i) * width], own);
            }
            let per = 1.0 / self.factors[i * n + i];
            own.iter_mut().for_each(|x| *x *= per);
        }
        for (i, &to) in self.columns.iter().enumerate() {
            x[to * width..(to + 1) * width].copy_from_slice(&y[i * width..(i + 1) * width]);
        }
    }

    /// `B^T x = x`, likewise.
    pub(crate) fn solve_transposed(&self, x: &mut [f64]) {
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
    pub(crate) fn left_null(&self) -> Vec<Vec<f64>> {
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
    pub(crate) fn null(&self) -> Vec<Vec<f64>> {
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
        let (lu, rhs) = (Lu::new(b.clone(), n), noise(7));
        assert_eq!(lu.rank(), n);
        let (mut x, mut z) = (rhs.clone(), rhs.clone());
        lu.solve(&mut x, 1);
        lu.solve_transposed(&mut z);
        close(&times(&b, &x, false), &rhs);
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
        let lu = Lu::new(b.clone(), n);
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
        lu.solve(&mut x, 1);
        lu.solve_transposed(&mut z);
        close(&times(&b, &x, false), &there);
        close(&times(&b, &z, true), &back);
    }

    #[test]
    fn zeros_have_no_rank() {
        let lu = Lu::new(vec![0.0; 4], 2);
        let mut x = vec![1.0, 2.0];
        lu.solve(&mut x, 1);
        assert_eq!((lu.rank(), x), (0, vec![0.0, 0.0]));
    }
}
