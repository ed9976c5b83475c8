//! A sparse momentum matrix with what it takes to solve with it.

use std::sync::Arc;

use crate::factor::{Factor, NotPositive, dot};
use crate::matrix::SparseMatrix;
use crate::symbolic::Ordering;

/// A sparse symmetric matrix, positive definite but for [`SparseOperator::mended`], factored so that what constraints touch comes last.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseOperator {
    matrix: SparseMatrix,
    ordering: Arc<Ordering>,
    factor: Factor,
    touched: Vec<u32>,
}

impl SparseOperator {
    /// `ordering`: of the matrix' pattern, which many matrices may share. `touched`: degrees of freedom below its size, in
    /// any order.
    ///
    /// # Errors
    /// A matrix that is not positive definite.
    pub fn new(matrix: SparseMatrix, ordering: Arc<Ordering>, mut touched: Vec<u32>) -> Result<Self, NotPositive> {
        touched.sort_unstable();
        touched.dedup();
        let factor = Factor::new(&matrix, &ordering, &touched)?;
        Ok(Self { matrix, ordering, factor, touched })
    }

    /// The same of a matrix that need not be positive definite: its factor is of one that has more on the diagonal. Gives what it has
    /// more, by row; nothing where it need not.
    ///
    /// # Errors
    /// A matrix whose numbers are not finite.
    pub fn mended(
        matrix: SparseMatrix,
        ordering: Arc<Ordering>,
        mut touched: Vec<u32>,
    ) -> Result<(Self, Vec<(u32, f64)>), NotPositive> {
        touched.sort_unstable();
        touched.dedup();
        let (factor, added) = Factor::mended(&matrix, &ordering, &touched)?;
        Ok((Self { matrix, ordering, factor, touched }, added))
    }

    /// The matrix.
    #[must_use]
    pub fn matrix(&self) -> &SparseMatrix {
        &self.matrix
    }

    /// The order of elimination of its pattern.
    #[must_use]
    pub fn ordering(&self) -> &Arc<Ordering> {
        &self.ordering
    }

    /// Its factor.
    #[must_use]
    pub fn factor(&self) -> &Factor {
        &self.factor
    }

    /// What constraints touch, ascending.
    #[must_use]
    pub fn touched(&self) -> &[u32] {
        &self.touched
    }

    /// Rows over some touched degrees of freedom as rows over all of them, `[rows, touched]`.
    ///
    /// # Panics
    /// For a degree of freedom that is not touched.
    #[must_use]
    pub fn spread(&self, dofs: &[u32], rows: &[f64]) -> Vec<f64> {
        let n = self.touched.len();
        let mut out = vec![0.0; rows.len() / dofs.len().max(1) * n];
        for (out, row) in out.chunks_exact_mut(n.max(1)).zip(rows.chunks_exact(dofs.len().max(1))) {
            for (dof, x) in dofs.iter().zip(row) {
                let at = self.touched.binary_search(dof).expect("a degree of freedom that constraints touch");
                out[at] = *x;
            }
        }
        out
    }

    /// `J A^-1 J^T` of rows over some touched degrees of freedom, `[rows, rows]`.
    ///
    /// # Panics
    /// As [`Self::spread`].
    #[must_use]
    pub fn compliance(&self, dofs: &[u32], rows: &[f64]) -> Vec<f64> {
        // X X^T with X^T = U^-T J^T.
        let (mut x, n) = (self.spread(dofs, rows), self.touched.len().max(1));
        x.chunks_exact_mut(n).for_each(|row| self.factor.half_solve_reduced(row));
        x.chunks_exact(n).flat_map(|a| x.chunks_exact(n).map(move |b| dot(a, b))).collect()
    }
}
