//! Derivatives of rotations: of the exponential of a rotation vector, and of the logarithm.
//!
//! `exp(r + dr) = exp(r) exp(J dr)` with the right Jacobian
//! `J = 1 - a [r]x + b [r]x^2`, `a = (1 - cos t) / t^2`, `b = (t - sin t) / t^3`, t = |r|; its inverse is
//! `1 + [r]x / 2 + c [r]x^2`, `c = 1 / t^2 - (1 + cos t) / (2 t sin t)` (G. Chirikjian, *Stochastic Models, Information
//! Theory, and Lie Groups*, volume 2, section 10.6).

use crate::math::{Mat3, Vec3, cross, dot, scale, scale_add, sin_cos};
use crate::real::Real;

/// Below this square of the angle the series are taken: their next terms are under 1e-16.
const TURN_SMALL: f64 = 1e-3;

/// The matrix `1 + p [r]x + q [r]x^2`, by columns in rows' order (row-major).
#[inline(always)]
fn matrix<R: Real>(r: Vec3<R>, p: R, q: R) -> Mat3<R> {
    let mut m = [R::lit(0.0); 9];
    for k in 0..3 {
        let mut e = [R::lit(0.0); 3];
        e[k] = R::lit(1.0);
        let once = cross(r, e);
        let column = scale_add(cross(r, once), q, scale_add(once, p, e));
        for row in 0..3 {
            m[3 * row + k] = column[row];
        }
    }
    m
}

/// Coefficients of the Jacobian: `(1 - cos t) / t^2` and `(t - sin t) / t^3`.
#[inline(always)]
fn coefficients<R: Real>(square: R) -> (R, R) {
    let small = square.lt(R::lit(TURN_SMALL));
    let safe = R::select(small, R::lit(1.0), square);
    let t = safe.sqrt();
    let (sin, cos) = sin_cos(t);
    let one = R::lit(1.0);
    let series = |c: [f64; 5]| c.iter().fold(R::lit(0.0), |sum, &c| sum.mul_add(square, R::lit(c)));
    let a = series([1.0 / 3_628_800.0, -1.0 / 40_320.0, 1.0 / 720.0, -1.0 / 24.0, 0.5]);
    let b = series([1.0 / 39_916_800.0, -1.0 / 362_880.0, 1.0 / 5040.0, -1.0 / 120.0, 1.0 / 6.0]);
    (R::select(small, a, (one - cos) / safe), R::select(small, b, (t - sin) / (safe * t)))
}

/// Right Jacobian of the exponential: `exp(r + dr) = exp(r) exp(J dr)`.
#[inline(always)]
#[must_use]
pub fn right<R: Real>(r: Vec3<R>) -> Mat3<R> {
    let (a, b) = coefficients(dot(r, r));
    matrix(r, -a, b)
}

/// Inverse of [`right`]: how the logarithm of a rotation changes with a turn in body axes.
#[inline(always)]
#[must_use]
pub fn right_inverse<R: Real>(r: Vec3<R>) -> Mat3<R> {
    let square = dot(r, r);
    let (a, b) = coefficients(square);
    // c = (1 / t^2) (1 - (t sin t) / (2 (1 - cos t))) with sin t / t = 1 - b t^2 and (1 - cos t) / t^2 = a.
    let small = square.lt(R::lit(TURN_SMALL));
    let one = R::lit(1.0);
    let safe = R::select(small, one, square);
    let series = [1.0 / 1_209_600.0, 1.0 / 30_240.0, 1.0 / 720.0, 1.0 / 12.0];
    let series = series.iter().fold(R::lit(0.0), |sum, &c| sum.mul_add(square, R::lit(c)));
    let c = R::select(small, series, (one - (one - b * square) / (a + a)) / safe);
    matrix(r, R::lit(0.5), c)
}

/// The inverse of the left Jacobian, that of a turn in world axes: the right one's of the opposite vector.
#[inline(always)]
#[must_use]
pub fn left_inverse<R: Real>(r: Vec3<R>) -> Mat3<R> {
    right_inverse(scale(r, R::lit(-1.0)))
}

#[cfg(test)]
mod tests {
    use super::{left_inverse, right, right_inverse};
    use crate::math::{add, mat_vec, quat_conjugate, quat_exp, quat_log, quat_mul, scale, sub};

    #[test]
    fn jacobians_are_the_derivatives_of_exponential_and_logarithm() {
        for size in [1e-6, 1e-3, 0.02, 0.033, 0.5, 2.0, 3.0] {
            let r = [0.6 * size, -0.48 * size, 0.64 * size];
            for k in 0..3 {
                let mut e = [0.0; 3];
                e[k] = 1e-5;
                let along = |sign: f64| quat_exp(add(r, scale(e, sign)));
                let turned = |sign: f64| quat_log(quat_mul(quat_conjugate(quat_exp(r)), along(sign)));
                let slope = scale(sub(turned(1.0), turned(-1.0)), 0.5e5);
                let exact = mat_vec(&right(r), scale(e, 1e5));
                let back = mat_vec(&right_inverse(r), exact);
                let log = |sign: f64| quat_log(quat_mul(quat_exp(scale(e, sign)), quat_exp(r)));
                let left = scale(sub(log(1.0), log(-1.0)), 0.5e5);
                let exact_left = mat_vec(&left_inverse(r), scale(e, 1e5));
                for i in 0..3 {
                    assert!((slope[i] - exact[i]).abs() < 2e-9, "{size}: {slope:?} {exact:?}");
                    assert!((back[i] - e[i] * 1e5).abs() < 1e-12, "{size}: {back:?}");
                    assert!((left[i] - exact_left[i]).abs() < 2e-9, "{size}: {left:?} {exact_left:?}");
                }
            }
        }
    }
}
