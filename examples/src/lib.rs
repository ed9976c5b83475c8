//! What the examples of inverse problems share: least squares by Gauss-Newton steps.

/// The step x of a Gauss-Newton iteration: least `|J x + r|^2 + damping |x|^2` for `J` row-major `[r.len()][n]`, by
/// Cholesky's method on the normal equations; none where these are singular.
#[must_use]
pub fn gauss_newton_step(jacobian: &[f64], residual: &[f64], n: usize, damping: f64) -> Option<Vec<f64>> {
    let mut a = vec![0.0; n * n];
    let mut x = vec![0.0; n];
    for (row, r) in jacobian.chunks_exact(n).zip(residual) {
        for i in 0..n {
            x[i] -= row[i] * r;
            for j in 0..n {
                a[i * n + j] += row[i] * row[j];
            }
        }
    }
    for i in 0..n {
        a[i * n + i] += damping;
    }
    for j in 0..n {
        for i in j..n {
            let known: f64 = (0..j).map(|k| a[i * n + k] * a[j * n + k]).sum();
            let left = a[i * n + j] - known;
            if i > j {
                a[i * n + j] = left / a[j * n + j];
            } else if left > 0.0 {
                a[j * n + j] = left.sqrt();
            } else {
                return None;
            }
        }
    }
    for i in 0..n {
        let known: f64 = (0..i).map(|k| a[i * n + k] * x[k]).sum();
        x[i] = (x[i] - known) / a[i * n + i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| a[k * n + i] * x[k]).sum();
        x[i] = (x[i] - known) / a[i * n + i];
    }
    Some(x)
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
