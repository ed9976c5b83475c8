//! Singular values of a deformation gradient, with rotations on both sides.

use nalgebra::{Matrix3, Vector3};

/// Sweeps after which columns are at right angles whatever the matrix; 6 were the most ever seen.
const SWEEPS: usize = 12;

/// `F = U diag(s) V^T`.
pub(crate) struct Svd {
    /// A rotation.
    pub(crate) u: Matrix3<f64>,
    /// `s_0 >= s_1 >= |s_2|`; the last is negative where F turns inside out.
    pub(crate) s: Vector3<f64>,
    /// A rotation.
    pub(crate) v: Matrix3<f64>,
}

/// One-sided Jacobi rotations (M. Hestenes 1958): columns of F are turned among themselves until they are at right angles,
/// which finds small singular values as exactly as large ones.
pub(crate) fn svd(f: &Matrix3<f64>) -> Svd {
    let (mut b, mut v) = (*f, Matrix3::identity());
    for _ in 0..SWEEPS {
        let turned = [(0, 1), (0, 2), (1, 2)].map(|(i, j)| turn(&mut b, &mut v, i, j));
        if turned == [false; 3] {
            break;
        }
    }
    for (i, j) in [(0, 1), (1, 2), (0, 1)] {
        if b.column(i).norm_squared() < b.column(j).norm_squared() {
            // Two columns change places, one changes sign: V stays a rotation.
            for m in [&mut b, &mut v] {
                m.swap_columns(i, j);
                m.column_mut(j).neg_mut();
            }
        }
    }
    let u0 = unit(b.column(0).into()).unwrap_or_else(Vector3::x);
    let across: Vector3<f64> = b.column(1) - u0 * u0.dot(&b.column(1));
    let u1 = unit(across).unwrap_or_else(|| perpendicular(&u0));
    let u = Matrix3::from_columns(&[u0, u1, u0.cross(&u1)]);
    let s = Vector3::from_fn(|i, _| u.column(i).dot(&b.column(i)));
    Svd { u, s, v }
}

/// Turns columns i and j to be at right angles; `false` where they are.
fn turn(b: &mut Matrix3<f64>, v: &mut Matrix3<f64>, i: usize, j: usize) -> bool {
    let (alpha, beta) = (b.column(i).norm_squared(), b.column(j).norm_squared());
    let gamma = b.column(i).dot(&b.column(j));
    // Written so that what is not finite ends here.
    let is_skew = gamma.abs() > f64::EPSILON * (alpha * beta).sqrt();
    if !is_skew {
        return false;
    }
    let zeta = (beta - alpha) / (2.0 * gamma);
    let t = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let c = 1.0 / t.hypot(1.0);
    let s = c * t;
    for m in [b, v] {
        let (x, y): (Vector3<f64>, Vector3<f64>) = (m.column(i).into(), m.column(j).into());
        m.set_column(i, &(x * c - y * s));
        m.set_column(j, &(x * s + y * c));
    }
    true
}

fn unit(x: Vector3<f64>) -> Option<Vector3<f64>> {
    let length = x.norm();
    (length > f64::MIN_POSITIVE).then(|| x / length)
}

/// A unit vector at right angles to one.
fn perpendicular(x: &Vector3<f64>) -> Vector3<f64> {
    let axis = x.iamin();
    x.cross(&Vector3::from_fn(|i, _| f64::from(u8::from(i == axis)))).normalize()
}

#[cfg(test)]
mod tests {
    use nalgebra::Matrix3;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::svd;

    #[test]
    fn any_matrix_is_two_rotations_and_its_singular_values() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut cases: Vec<Matrix3<f64>> =
            (0..2000).map(|_| Matrix3::from_fn(|_, _| rng.random_range(-1.0..1.0))).collect();
        cases.extend([Matrix3::zeros(), Matrix3::identity(), -Matrix3::identity()]);
        let x = cases[0].column(0) * cases[1].row(0);
        cases.extend([x, x * 1e-30, x + cases[2].column(0) * cases[3].row(0)]);
        cases.push(Matrix3::from_diagonal(&[1.0, 1e-9, -1e-9].into()));
        for f in cases {
            let d = svd(&f);
            let scale = f.norm().max(f64::MIN_POSITIVE);
            assert!((d.u * Matrix3::from_diagonal(&d.s) * d.v.transpose() - f).norm() < 4e-15 * scale, "{f}");
            for rotation in [d.u, d.v] {
                assert!((rotation.transpose() * rotation - Matrix3::identity()).norm() < 4e-15);
                assert!(rotation.determinant() > 0.0);
            }
            assert!(d.s[0] >= d.s[1] * (1.0 - 1e-14) && d.s[1] >= d.s[2].abs() * (1.0 - 1e-14), "{}", d.s);
        }
    }
}
