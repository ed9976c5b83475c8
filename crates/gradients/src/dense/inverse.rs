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
    /// Of `b`, `[m][m]`, which was factored; zeros where that is not finite.
    fn new(b: &[f64], lu: &Lu) -> Self {
        let m = lu.n();
        let [mut columns, rows] = lu.spanning().map(|spanning| span(spanning, 0.0));
        let rank = columns.height();
        if rows.height() != rank || !b.iter().all(|x| x.is_finite()) {
            return Self { rows: Grid::zeros(m, 0), columns: Grid::zeros(0, m) };
        }
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

#[cfg(test)]
mod tests {
    use super::{Inverse, Lu};
    use crate::grid::Grid;

    fn times(a: &Grid, b: &Grid) -> Grid {
        let mut out = Grid::zeros(a.height(), b.width());
        out.add_product(1.0, a, b);
        out
    }

    /// `[m, rank]` times `[rank, m]`, of numbers without pattern and very different sizes.
    fn product(m: usize, rank: usize, seed: f64) -> Grid {
        let some =
            |k: usize| ((seed + k as f64) * 12.9898).sin() * 43758.5453 % 1.0 * 10.0_f64.powi((k % 3) as i32 - 1);
        let [left, right] = [0, 1000].map(|from| (0..m * rank).map(|k| some(from + k)).collect::<Vec<_>>());
        times(&Grid::from_rows(rank, &left), &Grid::from_rows(m, &right))
    }

    /// The four equations of R. Penrose (1955), relative to the factors' sizes.
    #[test]
    fn what_stands_for_the_inverse_of_a_redundant_system_is_its_pseudo_inverse() {
        for (m, rank) in [(2, 1), (3, 2), (5, 4), (9, 3), (24, 6), (40, 17)] {
            for seed in 0..8 {
                let b = product(m, rank, 0.37 * f64::from(seed));
                let lu = Lu::new(&b.to_vec(), m);
                assert_eq!(lu.rank(), rank);
                let mut inverse = Inverse::Factored(lu);
                inverse.make_pseudo(&b.to_vec());
                let mut x = Grid::zeros(m, m);
                (0..m).for_each(|i| x[(i, i)] = 1.0);
                inverse.solve_all(&mut x);
                let (left, right) = (times(&b, &x), times(&x, &b));
                let tiny = 1e-12 * b.largest() * x.largest() * m as f64;
                let apart = |a: &Grid, b: &Grid| {
                    a.to_vec().iter().zip(b.to_vec()).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
                };
                assert!(apart(&times(&left, &b), &b) <= tiny * b.largest(), "{m} {rank}");
                assert!(apart(&times(&right, &x), &x) <= tiny * x.largest(), "{m} {rank}");
                assert!(apart(&left, &left.transposed()).max(apart(&right, &right.transposed())) <= tiny, "{m} {rank}");
                // One vector at a time, and transposed.
                let some: Vec<f64> = (0..m).map(|i| (i as f64).cos()).collect();
                let (mut one, mut back) = (some.clone(), some.clone());
                inverse.solve(&mut one);
                inverse.solve_transposed(&mut back);
                let some = Grid::from_rows(1, &some);
                let close = |a: &[f64], b: &Grid| apart(&Grid::from_rows(1, a), b) <= tiny * x.largest();
                assert!(close(&one, &times(&x, &some)) && close(&back, &times(&x.transposed(), &some)), "{m} {rank}");
            }
        }
    }

    #[test]
    fn what_is_not_finite_is_solved_by_zeros() {
        let b = [1.0, f64::NAN, 2.0, 4.0];
        let mut inverse = Inverse::Factored(Lu::new(&b, 2));
        inverse.make_pseudo(&b);
        let mut x = vec![1.0, 1.0];
        inverse.solve(&mut x);
        assert_eq!(x, [0.0, 0.0]);
        inverse.solve_transposed(&mut x);
        assert_eq!(x, [0.0, 0.0]);
    }
}
