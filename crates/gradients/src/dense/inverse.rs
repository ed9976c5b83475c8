//! What solves the linear system of an island's unknown impulses.

use manyworlds_sparse::pseudo_inverse;
use nalgebra::DMatrix;

use super::lu::Lu;
use crate::grid::{Grid, dot};
use crate::pool::Pooled;

/// `B^-1`, or what stands for it where constraints are redundant.
#[derive(Debug)]
pub(super) enum Inverse {
    /// Exact, or a solution of many that do the same.
    Factored(Lu),
    /// Of minimum norm, where nothing solves the system: row-major.
    Pseudo(Grid),
}

impl Inverse {
    /// The pseudo-inverse of `b`, `[m][m]`; zeros where that is not finite.
    pub(super) fn pseudo(b: &[f64], m: usize, smallest: f64) -> Self {
        let inverse = pseudo_inverse(&DMatrix::from_row_slice(m, m, b), smallest);
        let inverse = inverse.map_or_else(|| vec![0.0; m * m], |x| x.transpose().as_slice().to_vec());
        Self::Pseudo(Grid::from_rows(m, &inverse))
    }

    /// `B x = x` for all columns of `x`.
    pub(super) fn solve_all(&self, x: &mut Grid) {
        match self {
            Self::Factored(lu) => lu.solve_all(x),
            Self::Pseudo(inverse) => {
                let mut out = Grid::zeros(inverse.height(), x.width());
                out.add_product(1.0, inverse, x);
                *x = out;
            }
        }
    }

    /// `B x = x`.
    pub(super) fn solve(&self, x: &mut [f64]) {
        match self {
            Self::Factored(lu) => lu.solve(x),
            Self::Pseudo(inverse) => {
                let found: Vec<f64> = (0..inverse.height()).map(|i| dot(inverse.row(i), x)).collect();
                x.copy_from_slice(&found);
            }
        }
    }

    /// `B^T z = z`.
    pub(super) fn solve_transposed(&self, z: &mut [f64]) {
        match self {
            Self::Factored(lu) => lu.solve_transposed(z),
            Self::Pseudo(inverse) => {
                let mut out = vec![0.0; z.len()];
                inverse.add_transposed_times(1.0, z, &mut out);
                z.copy_from_slice(&out);
            }
        }
    }
}

/// Largest entry of `B x - ones` for the solution x.
pub(super) fn left_over(b: &[f64], lu: &Lu, m: usize) -> f64 {
    let mut x = Pooled::zeros(m);
    x.fill(1.0);
    lu.solve(&mut x);
    b.chunks_exact(m.max(1)).fold(0.0, |worst: f64, row| worst.max((dot(row, &x) - 1.0).abs()))
}
