//! What a subsystem's block of `A` is.

use manyworlds_sparse::SparseMatrix;

use super::ProblemError;
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
    // Row by row, the mirror images in another row come in its order.
    let mut next = vec![0; n];
    for (i, j, x) in matrix.entries() {
        // An entry without a mirror image is none of a symmetric pattern, however small it is.
        let (columns, values) = matrix.row(j);
        let other = (columns.get(next[j]) == Some(&(i as u32))).then(|| values[next[j]]);
        next[j] += 1;
        if other.is_none_or(|other| (x - other).abs() > ASYMMETRY * largest) {
            let other = other.map_or_else(|| "none".to_owned(), |x| x.to_string());
            return Err(ProblemError::new(at(), format!("not symmetric: [{i}][{j}] is {x}, [{j}][{i}] is {other}")));
        }
    }
    Ok(())
}
