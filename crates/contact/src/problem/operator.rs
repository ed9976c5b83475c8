//! What a subsystem's block of `A` is.

use std::sync::Arc;

use manyworlds_sparse::{Factor, Ordering, SparseMatrix};

use super::ProblemError;
use super::build::ENTRIES;
use super::error::finite;

/// Largest asymmetry of `A` that passes for rounding, relative to its largest entry.
pub(super) const ASYMMETRY: f64 = 1e-9;

/// Where a subsystem's block of `A` stands and how it is solved with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Dense, as of a tree.
    Dense {
        /// Where its row-major block begins in [`ContactProblem::a`](super::ContactProblem::a), and its factor in
        /// [`ContactProblem::factor`](super::ContactProblem::factor).
        block: usize,
    },
    /// Sparse, as of a body that deforms.
    Sparse {
        /// Its place in [`ContactProblem::sparse`](super::ContactProblem::sparse).
        index: usize,
    },
}

/// A sparse block of `A`.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseOperator {
    /// The block.
    pub matrix: SparseMatrix,
    /// Its order of elimination, which all blocks of one pattern share.
    pub ordering: Arc<Ordering>,
    /// Its factor, what constraints touch eliminated last.
    pub factor: Factor,
    /// What constraints touch, ascending.
    pub touched: Vec<u32>,
}

impl SparseOperator {
    /// Rows over some degrees of freedom as rows over all that are touched, `[rows, touched]`.
    pub(super) fn spread(&self, dofs: &[u32], rows: &[f64]) -> Vec<f64> {
        let n = self.touched.len();
        let mut out = vec![0.0; rows.len() / dofs.len().max(1) * n];
        for (out, row) in out.chunks_exact_mut(n.max(1)).zip(rows.chunks_exact(dofs.len().max(1))) {
            for (dof, x) in dofs.iter().zip(row) {
                // What sides touch is what was collected from them.
                out[self.touched.binary_search(dof).unwrap_or_default()] = *x;
            }
        }
        out
    }

    /// Adds `J A^-1 J^T` of a side, its rows over some degrees of freedom.
    pub(super) fn weigh(&self, dofs: &[u32], rows: &[f64], delassus: &mut [f64; 6]) {
        let (j, n) = (self.spread(dofs, rows), self.touched.len().max(1));
        let mut y = j.clone();
        y.chunks_exact_mut(n).for_each(|row| self.factor.solve_reduced(row));
        let count = j.len() / n;
        for (g, (a, b)) in delassus.iter_mut().zip(ENTRIES).filter(|(_, (_, b))| *b < count) {
            *g += j[a * n..][..n].iter().zip(&y[b * n..][..n]).map(|(j, y)| j * y).sum::<f64>();
        }
    }
}

/// Refuses a sparse block that is not `[n, n]`, finite and symmetric.
pub(super) fn checked(at: impl Fn() -> String, matrix: &SparseMatrix, n: usize) -> Result<(), ProblemError> {
    if matrix.n() != n {
        return Err(ProblemError::new(at(), format!("expected {n} rows, found {}", matrix.n())));
    }
    let mut largest = 0.0f64;
    for (i, j, x) in matrix.entries() {
        finite(|| format!("{}[{i}][{j}]", at()), &[x])?;
        largest = largest.max(x.abs());
    }
    for (i, j, x) in matrix.entries() {
        // An entry without a mirror image is none of a symmetric pattern, however small it is.
        let other = matrix.get(j, i);
        if other.is_none_or(|other| (x - other).abs() > ASYMMETRY * largest) {
            let other = other.map_or_else(|| "none".to_owned(), |x| x.to_string());
            return Err(ProblemError::new(at(), format!("not symmetric: [{i}][{j}] is {x}, [{j}][{i}] is {other}")));
        }
    }
    Ok(())
}
