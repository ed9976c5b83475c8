//! The pseudo-inverse of a small dense matrix of any rank, by its complete orthogonal decomposition (G. Golub and C. Van Loan,
//! Matrix Computations, 5.4.7), which takes no iterations. Singular values do, and one that asks for too little to be left ends with
//! wrong vectors: with `f64::EPSILON` those of `nalgebra` multiplied out to 4 % beside a matrix of 3 rows and rank 2.

use nalgebra::DMatrix;

/// The pseudo-inverse of `b`: with it `b x = y` has its least-squares solution of least norm. `smallest`: what is left of a column
/// counts as none below this part of the largest. None where entries are not finite.
#[must_use]
pub fn pseudo_inverse(b: &DMatrix<f64>, smallest: f64) -> Option<DMatrix<f64>> {
    if !b.iter().all(|x| x.is_finite()) {
        return None;
    }
    // B P = Q R, with R's diagonal falling: below the rank there is nothing.
    let qr = b.clone().col_piv_qr();
    let (q, r) = (qr.q(), qr.r());
    let most = r.nrows().min(r.ncols());
    let rank = (0..most).take_while(|&k| r[(k, k)].abs() > smallest * r[(0, 0)].abs()).count();
    let mut out = DMatrix::zeros(b.ncols(), b.nrows());
    if rank > 0 {
        // R = T^T Z^T, so that the inverse is P Z T^-T Q^T.
        let wide = r.rows(0, rank).transpose().qr();
        let mut x = q.columns(0, rank).transpose();
        wide.r().transpose().solve_lower_triangular_mut(&mut x).then_some(())?;
        out = wide.q() * x;
        qr.p().inv_permute_rows(&mut out);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;

    use super::pseudo_inverse;

    /// Numbers without pattern, the same in every run.
    fn noise(rows: usize, columns: usize, seed: u64) -> DMatrix<f64> {
        let mut x = seed;
        DMatrix::from_fn(rows, columns, |_, _| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
    }

    /// The four equations of R. Penrose (1955), relative to the factors' sizes.
    fn check(b: &DMatrix<f64>) {
        let inverse = pseudo_inverse(b, 1e-10).expect("finite numbers");
        let (left, right) = (b * &inverse, &inverse * b);
        let tiny = 1e-13 * b.amax() * inverse.amax() * b.nrows().max(b.ncols()) as f64;
        assert!((&left * b - b).amax() <= tiny * b.amax(), "{b}");
        assert!((&right * &inverse - &inverse).amax() <= tiny * inverse.amax(), "{b}");
        assert!((&left - left.transpose()).amax() <= tiny && (&right - right.transpose()).amax() <= tiny, "{b}");
    }

    #[test]
    fn matrices_of_every_shape_and_rank() {
        for seed in 1..200 {
            let size = |k: u64| 1 + (seed * k % 9) as usize;
            let (rows, columns, rank) = (size(1), size(4), size(7));
            let scales = DMatrix::from_diagonal(&noise(rank, 1, seed + 3).column(0).map(|x| 10.0_f64.powf(2.0 * x)));
            check(&(noise(rows, rank, seed) * scales * noise(rank, columns, seed + 2)));
        }
        check(&DMatrix::zeros(3, 2));
        check(&DMatrix::identity(4, 4));
    }

    /// Two rows of a joint that say the same, and a third: singular values to `f64::EPSILON` had wrong vectors.
    #[test]
    fn two_rows_that_say_the_same() {
        let (a, c, b) = (38.260_376_710_715_48, 0.186_179_883_821_963_02, 93.320_963_976_203_33);
        check(&DMatrix::from_row_slice(3, 3, &[a, -a, c, -a, a, -c, c, -c, b]));
    }

    #[test]
    fn what_is_not_a_number_has_none() {
        assert!(pseudo_inverse(&DMatrix::from_element(2, 2, f64::NAN), 1e-10).is_none());
    }
}
