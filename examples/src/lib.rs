//! What examples share: least squares by Gauss-Newton steps, charts.

pub mod chart;

use nalgebra::{DMatrix, DVector};

/// The step x of a Gauss-Newton iteration: least `|J x + r|^2 + damping |x|^2` for `J` row-major `[r.len()][n]`, by
/// Cholesky's method on the normal equations; none where these are singular.
#[must_use]
pub fn gauss_newton_step(jacobian: &[f64], residual: &[f64], n: usize, damping: f64) -> Option<Vec<f64>> {
    let jacobian = DMatrix::from_row_slice(residual.len(), n, jacobian);
    let residual = DVector::from_column_slice(residual);
    let normal = jacobian.tr_mul(&jacobian) + DMatrix::identity(n, n) * damping;
    Some(normal.cholesky()?.solve(&-jacobian.tr_mul(&residual)).as_slice().to_vec())
}

/// Euclidean length.
#[must_use]
pub fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::gauss_newton_step;

    #[test]
    fn least_squares() {
        // A line through (0, 1), (1, 3), (2, 5): 1 + 2 t.
        let jacobian = [1.0, 0.0, 1.0, 1.0, 1.0, 2.0];
        let x = gauss_newton_step(&jacobian, &[-1.0, -3.0, -5.0], 2, 0.0).expect("a solution");
        assert!((x[0] - 1.0).abs() < 1e-12 && (x[1] - 2.0).abs() < 1e-12, "{x:?}");
        assert!(gauss_newton_step(&[1.0, 1.0], &[0.0], 2, 0.0).is_none());
    }
}
