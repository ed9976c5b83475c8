//! Preconditioned conjugate residuals, without a matrix (Saad, Iterative Methods for Sparse Linear Systems, 6.8, with the
//! preconditioner's inner product).

use manyworlds_shaders::Scalar;

/// Sum of products in the order of the kernel: on stacks of very unlike masses the number of steps is a matter of rounding.
fn dot<T: Scalar>(a: &[T], b: &[T]) -> T {
    a.iter().zip(b).fold(T::lit(0.0), |sum, (&a, &b)| a.mul_add(b, sum))
}

/// Solves `M x = b` for a symmetric, positive semidefinite M from zero, with the diagonal preconditioner `p` of `M^-1`,
/// until `|r|_P` has fallen to `share` of what it was. `note` is told `|r|_P^2` of each iterate; it never rises.
pub(super) fn solve<T: Scalar>(
    apply: impl Fn(&[T]) -> Vec<T>,
    (b, p): (&[T], &[T]),
    most: u32,
    share: T,
    mut note: impl FnMut(T),
) -> Vec<T> {
    let zero = T::lit(0.0);
    let scaled = |r: &[T]| r.iter().zip(p).map(|(&r, &p)| p * r).collect::<Vec<T>>();
    let mut x = vec![zero; b.len()];
    let mut r = b.to_vec();
    let mut z = scaled(&r);
    let mut norm = dot(&r, &z);
    let enough = share * share * norm;
    note(norm);
    let mut mz = apply(&z);
    let (mut d, mut md) = (z.clone(), mz.clone());
    let mut zmz = dot(&z, &mz);
    for _ in 0..most {
        let pmd = scaled(&md);
        let curvature = dot(&md, &pmd);
        if !(zmz > zero && curvature > zero && norm > enough) {
            break;
        }
        let t = zmz / curvature;
        for i in 0..x.len() {
            x[i] = t.mul_add(d[i], x[i]);
            r[i] = (-t).mul_add(md[i], r[i]);
            z[i] = (-t).mul_add(pmd[i], z[i]);
        }
        norm = dot(&r, &z);
        note(norm);
        mz = apply(&z);
        let next = dot(&z, &mz);
        let along = next / zmz;
        zmz = next;
        for i in 0..x.len() {
            d[i] = along.mul_add(d[i], z[i]);
            md[i] = along.mul_add(md[i], mz[i]);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::*;

    fn pseudo(k: usize) -> f64 {
        (k as f64 * 12.9898).sin()
    }

    /// In the preconditioner's norm the residual never rises, though its 2-norm may; and the solution is the direct one.
    #[test]
    fn the_residual_falls_in_its_norm() {
        let n = 30;
        for seed in 0..10 {
            let half = DMatrix::from_fn(n, n, |i, j| pseudo(seed * 7919 + i * n + j));
            let spread = DMatrix::from_diagonal(&DVector::from_fn(n, |i, _| 10f64.powi(i as i32 % 5)));
            let m = &spread * (&half * half.transpose() + DMatrix::identity(n, n)) * &spread;
            let b: Vec<f64> = (0..n).map(|i| pseudo(seed + i) * 10f64.powi(i as i32 % 5)).collect();
            let p: Vec<f64> = (0..n).map(|i| 1.0 / m[(i, i)]).collect();
            let apply = |x: &[f64]| (&m * DVector::from_column_slice(x)).as_slice().to_vec();
            let mut norms = Vec::new();
            let x = solve(apply, (&b, &p), 400, 1e-13, |norm| norms.push(norm));
            assert!(norms.len() > 10);
            for pair in norms.windows(2) {
                assert!(pair[1] <= pair[0] * (1.0 + 1e-9) + 1e-24 * norms[0], "{seed}: {pair:?}");
            }
            let direct = m.lu().solve(&DVector::from_vec(b)).unwrap();
            let scale = direct.amax();
            let worst = x.iter().zip(direct.iter()).fold(0.0f64, |w, (x, d)| w.max((x - d).abs()));
            assert!(worst < 1e-6 * scale, "{seed}: {worst:e} of {scale:e}");
        }
    }
}
