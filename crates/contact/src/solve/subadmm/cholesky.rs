//! Dense Cholesky factorization of one subsystem's matrix, row-major, in place.

use manyworlds_shaders::Scalar;

/// Replaces the lower triangle of `a`, `[n, n]`, by `L` of `a = L L^T`. False when a pivot is not positive: `a` is not
/// SPD in this arithmetic.
#[must_use]
pub(super) fn factor<T: Scalar>(n: usize, a: &mut [T]) -> bool {
    for i in 0..n {
        for j in 0..=i {
            let mut x = a[i * n + j];
            for k in 0..j {
                x -= a[i * n + k] * a[j * n + k];
            }
            if i == j {
                if !(T::lit(0.0) < x && x.is_finite()) {
                    return false;
                }
                a[i * n + i] = x.sqrt();
            } else {
                a[i * n + j] = x / a[j * n + j];
            }
        }
    }
    true
}

/// Solves `L L^T x = b` in place.
pub(super) fn solve<T: Scalar>(n: usize, l: &[T], x: &mut [T]) {
    for i in 0..n {
        for k in 0..i {
            x[i] -= l[i * n + k] * x[k];
        }
        x[i] = x[i] / l[i * n + i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            x[i] -= l[k * n + i] * x[k];
        }
        x[i] = x[i] / l[i * n + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_by_hand() {
        let mut a = [4.0f64, 2.0, 2.0, 5.0];
        assert!(factor(2, &mut a));
        assert_eq!((a[0], a[2], a[3]), (2.0, 1.0, 2.0));
        let mut x = [8.0, 12.0];
        solve(2, &a, &mut x);
        assert_eq!(x, [1.0, 2.0]);
        assert!(!factor(1, &mut [-1.0f64]));
        assert!(!factor(1, &mut [f64::NAN]));
    }
}
