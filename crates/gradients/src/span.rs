//! What the rows of a matrix span (Gram and Schmidt, the largest of what is left first).

use crate::grid::{Grid, axpy, dot};

/// An orthonormal basis, by row, of what the rows of a matrix span. A row of which less than a part `dependent` of the largest row is
/// left beside those before it is a combination of them.
pub(crate) fn span(mut rows: Grid, dependent: f64) -> Grid {
    let mut basis: Vec<f64> = Vec::new();
    let width = rows.width();
    let mut squares: Vec<f64> = (0..rows.height()).map(|i| dot(rows.row(i), rows.row(i))).collect();
    let largest = |squares: &[f64]| (0..squares.len()).max_by(|&a, &b| squares[a].total_cmp(&squares[b]));
    let enough = largest(&squares).map_or(0.0, |at| dependent * dependent * squares[at]);
    while let Some(at) = largest(&squares).filter(|&at| squares[at] > enough) {
        let mut next = rows.row(at).to_vec();
        // What rounding left of the others.
        for other in basis.chunks_exact(width) {
            axpy(-dot(other, &next), other, &mut next);
        }
        let size = dot(&next, &next).sqrt();
        next.iter_mut().for_each(|x| *x /= size);
        for (i, square) in squares.iter_mut().enumerate().filter(|(_, square)| **square > enough) {
            let row = rows.row_mut(i);
            axpy(-dot(&next, row), &next, row);
            *square = if i == at { 0.0 } else { dot(row, row) };
        }
        basis.extend(next);
    }
    Grid::from_rows(width, &basis)
}

#[cfg(test)]
mod tests {
    use super::span;
    use crate::grid::{Grid, axpy, dot};

    #[test]
    fn a_basis_is_orthonormal_and_has_every_row() {
        // Five rows, of which two are combinations of others, of very different sizes.
        let mut rows = Grid::zeros(5, 7);
        for (i, size) in [(0, 1.0), (2, 1e-4), (3, 1e4)] {
            rows.row_mut(i)
                .iter_mut()
                .enumerate()
                .for_each(|(j, x)| *x = size * (((7 * i + j) as f64).powi(2) * 0.7).sin());
        }
        for (to, parts) in [(1, [2.0, -3e4]), (4, [-1.0, 1e4])] {
            let sum: Vec<f64> = (0..7).map(|j| parts[0] * rows[(0, j)] + parts[1] * rows[(2, j)]).collect();
            rows.row_mut(to).copy_from_slice(&sum);
        }
        let basis = span(rows.clone(), 1e-10);
        assert_eq!((basis.height(), basis.width()), (3, 7));
        for i in 0..3 {
            (0..3).for_each(|j| {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(basis.row(i), basis.row(j)) - expected).abs() < 1e-14);
            });
        }
        for i in 0..5 {
            let mut left = rows.row(i).to_vec();
            (0..3).for_each(|k| axpy(-dot(basis.row(k), rows.row(i)), basis.row(k), &mut left));
            assert!(dot(&left, &left) <= 1e-26 * dot(rows.row(i), rows.row(i)), "{i}");
        }
        // What is small beside the largest counts as nothing where that is asked for.
        assert_eq!(span(rows, 1e-3).height(), 1);
        assert_eq!(span(Grid::zeros(3, 2), 1e-6).height(), 0);
    }
}
