//! Takes off again what a factor has more than its matrix on the diagonal.
//!
//! With `A' = A + E D E^T` the factored matrix, E the few rows that have more and D what they have, `Z = A'^-1 E` gives
//! `A^-1 f = A'^-1 f + Z (D^-1 - E^T Z)^-1 Z^T f` (M. Woodbury 1950).

use manyworlds_sparse::SparseOperator;
use nalgebra::{DMatrix, DVector, Dyn, LU};

use crate::grid::{axpy, dot};

/// See the module.
pub(crate) struct Released {
    rows: Vec<usize>,
    /// Z, `[rows][n]`.
    answers: Vec<Vec<f64>>,
    /// The same at what is touched.
    touched: Vec<Vec<f64>>,
    /// `D^-1 - E^T Z`
    small: LU<f64, Dyn, Dyn>,
}

impl Released {
    /// `added`: E and D.
    pub(crate) fn new(operator: &SparseOperator, added: &[(u32, f64)]) -> Self {
        let rows: Vec<usize> = added.iter().map(|&(row, _)| row as usize).collect();
        let answer = |&row: &usize| {
            let mut x = vec![0.0; operator.matrix().n()];
            x[row] = 1.0;
            operator.factor().solve(&mut x);
            x
        };
        let answers: Vec<Vec<f64>> = rows.iter().map(answer).collect();
        let at_touched = |x: &Vec<f64>| operator.touched().iter().map(|&dof| x[dof as usize]).collect();
        let small = DMatrix::from_fn(rows.len(), rows.len(), |i, k| {
            let given = if i == k { added[i].1.recip() } else { 0.0 };
            given - answers[k][rows[i]]
        });
        Self { touched: answers.iter().map(at_touched).collect(), rows, answers, small: small.lu() }
    }

    /// From what the factor makes of a push to what A^-1 does.
    pub(crate) fn release(&self, x: &mut [f64]) {
        let shares = self.shares(self.rows.iter().map(|&row| x[row]).collect());
        shares.iter().zip(&self.answers).for_each(|(share, answer)| axpy(*share, answer, x));
    }

    /// What that adds at what is touched, where only that is pushed.
    pub(crate) fn of_touched(&self, push: &[f64]) -> Vec<f64> {
        let shares = self.shares(self.touched.iter().map(|answer| dot(answer, push)).collect());
        let mut out = vec![0.0; push.len()];
        shares.iter().zip(&self.touched).for_each(|(share, answer)| axpy(*share, answer, &mut out));
        out
    }

    /// What each of Z has to give, from what there is at the rows.
    fn shares(&self, at_rows: Vec<f64>) -> DVector<f64> {
        let mut out = DVector::from_vec(at_rows);
        // A matrix without inverse gives numbers that are not finite, which whoever asked notices.
        if !self.small.solve_mut(&mut out) {
            out.fill(f64::NAN);
        }
        out
    }
}
