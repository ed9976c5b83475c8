//! What solves the linear system of an island's unknown impulses.

use super::lu::Lu;
use crate::grid::{Grid, dot};
use crate::pool::Pooled;
use crate::span::span;

/// `B^-1`, or what stands for it where constraints are redundant.
#[derive(Debug)]
pub(super) enum Inverse {
    /// Exact, or a solution of many that do the same.
    Factored(Lu),
    /// Of minimum norm, where nothing solves the system.
    Pseudo(Pseudo),
}

/// The pseudo-inverse `V C^-1 W` of a matrix B of some rank: V and W^T are orthonormal bases of what its rows and its columns span, C is
/// `W B V`.
#[derive(Debug)]
pub(super) struct Pseudo {
    /// V, `[m, rank]`.
    rows: Grid,
    /// `C^-1 W`, `[rank, m]`.
    columns: Grid,
}

impl Pseudo {
    /// Of `b`, `[m][m]`, which was factored.
    fn new(b: &[f64], lu: &Lu) -> Self {
        let m = lu.n();
        let [mut columns, rows] = lu.spanning().map(|spanning| span(spanning, 0.0));
        let rank = columns.height();
        let rows = rows.transposed();
        let [mut image, mut core] = [Grid::zeros(m, rank), Grid::zeros(rank, rank)];
        image.add_product(1.0, &Grid::from_rows(m, b), &rows);
        core.add_product(1.0, &columns, &image);
        Lu::new(&core.to_vec(), rank).solve_all(&mut columns);
        Self { rows, columns }
    }
}

impl Inverse {
    /// Where it was factored: from that on the pseudo-inverse of `b`.
    pub(super) fn make_pseudo(&mut self, b: &[f64]) {
        if let Self::Factored(lu) = self {
            *self = Self::Pseudo(Pseudo::new(b, lu));
        }
    }

    /// `B x = x` for all columns of `x`.
    pub(super) fn solve_all(&self, x: &mut Grid) {
        match self {
            Self::Factored(lu) => lu.solve_all(x),
            Self::Pseudo(Pseudo { rows, columns }) => {
                let mut along = Grid::zeros(columns.height(), x.width());
                along.add_product(1.0, columns, x);
                *x = Grid::zeros(rows.height(), x.width());
                x.add_product(1.0, rows, &along);
            }
        }
    }

    /// `B x = x`.
    pub(super) fn solve(&self, x: &mut [f64]) {
        match self {
            Self::Factored(lu) => lu.solve(x),
            Self::Pseudo(Pseudo { rows, columns }) => {
                let along: Vec<f64> = (0..columns.height()).map(|i| dot(columns.row(i), x)).collect();
                x.iter_mut().enumerate().for_each(|(i, x)| *x = dot(rows.row(i), &along));
            }
        }
    }

    /// `B^T z = z`.
    pub(super) fn solve_transposed(&self, z: &mut [f64]) {
        match self {
            Self::Factored(lu) => lu.solve_transposed(z),
            Self::Pseudo(Pseudo { rows, columns }) => {
                let mut along = vec![0.0; rows.width()];
                rows.add_transposed_times(1.0, z, &mut along);
                z.fill(0.0);
                columns.add_transposed_times(1.0, &along, z);
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
