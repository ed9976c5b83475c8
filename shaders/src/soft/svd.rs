//! Singular values of a deformation gradient, with rotations on both sides.

use crate::math::{Mat3, Vec3, cross, dot, scale, sub};
use crate::real::{Mask, Real};

/// Sweeps after which columns are at right angles to rounding, whatever the matrix.
const SWEEPS: usize = 8;
/// Cosine, squared, of the angle between columns that are.
const SQUARE: f64 = 1e-31;
/// A length, squared, below which a column has no direction.
const NO_LENGTH: f64 = 1e-36;

/// `F = U diag(s) V^T`: columns of the rotations U and V, and s with `s_0 >= s_1 >= |s_2|`, the last one negative where F
/// turns inside out. One-sided Jacobi rotations (M. Hestenes 1958).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Svd<R> {
    pub(crate) u: [Vec3<R>; 3],
    pub(crate) v: [Vec3<R>; 3],
    pub(crate) s: Vec3<R>,
}

#[inline(always)]
pub(crate) fn svd<R: Real>(f: &Mat3<R>) -> Svd<R> {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let mut b = [[f[0], f[3], f[6]], [f[1], f[4], f[7]], [f[2], f[5], f[8]]];
    let mut v = [[one, zero, zero], [zero, one, zero], [zero, zero, one]];
    for _ in 0..SWEEPS {
        let first = turn(&mut b, &mut v, 0, 1);
        let second = turn(&mut b, &mut v, 0, 2);
        let third = turn(&mut b, &mut v, 1, 2);
        if !(first | second | third).any() {
            break;
        }
    }
    order(&mut b, &mut v, 0, 1);
    order(&mut b, &mut v, 1, 2);
    order(&mut b, &mut v, 0, 1);
    let u0 = direction(b[0], [one, zero, zero]);
    let across = sub(b[1], scale(u0, dot(u0, b[1])));
    let u1 = direction(across, perpendicular(u0));
    let u = [u0, u1, cross(u0, u1)];
    Svd { u, v, s: [dot(u[0], b[0]), dot(u[1], b[1]), dot(u[2], b[2])] }
}

/// Turns columns i and j to be at right angles; whether they were not.
#[inline(always)]
fn turn<R: Real>(b: &mut [Vec3<R>; 3], v: &mut [Vec3<R>; 3], i: usize, j: usize) -> R::Mask {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let (alpha, beta) = (dot(b[i], b[i]), dot(b[j], b[j]));
    let gamma = dot(b[i], b[j]);
    let skew = (R::lit(SQUARE) * (alpha * beta)).lt(gamma * gamma);
    let (d, g) = (beta - alpha, gamma + gamma);
    let root = (d * d + g * g).sqrt();
    let below = R::select(skew, d.abs() + root, one);
    let t = R::select(skew, R::select(d.lt(zero), -g, g), zero) / below;
    let c = one / (t * t + one).sqrt();
    let s = c * t;
    for m in [b, v] {
        let (x, y) = (m[i], m[j]);
        m[i] = sub(scale(x, c), scale(y, s));
        m[j] = [x[0] * s + y[0] * c, x[1] * s + y[1] * c, x[2] * s + y[2] * c];
    }
    skew
}

/// Puts the longer of two columns first; the other one changes sign, so that V stays a rotation.
#[inline(always)]
fn order<R: Real>(b: &mut [Vec3<R>; 3], v: &mut [Vec3<R>; 3], i: usize, j: usize) {
    let shorter = dot(b[i], b[i]).lt(dot(b[j], b[j]));
    for m in [b, v] {
        for k in 0..3 {
            let (x, y) = (m[i][k], m[j][k]);
            m[i][k] = R::select(shorter, y, x);
            m[j][k] = R::select(shorter, -x, y);
        }
    }
}

/// Unit vector along one; `other` where it has no length.
#[inline(always)]
fn direction<R: Real>(x: Vec3<R>, other: Vec3<R>) -> Vec3<R> {
    let square = dot(x, x);
    let short = square.lt(R::lit(NO_LENGTH));
    let inverse = R::lit(1.0) / R::select(short, R::lit(1.0), square).sqrt();
    std::array::from_fn(|k| R::select(short, other[k], x[k] * inverse))
}

/// A unit vector at right angles to a unit vector: across the axis that it is farthest from, or nearly so.
#[inline(always)]
fn perpendicular<R: Real>(x: Vec3<R>) -> Vec3<R> {
    let (zero, half) = (R::lit(0.0), R::lit(0.5));
    let flat = (x[0] * x[0]).lt(half);
    let (ax, ay) = (R::select(flat, R::lit(1.0), zero), R::select(flat, zero, R::lit(1.0)));
    let across = cross(x, [ax, ay, zero]);
    let inverse = R::lit(1.0) / dot(across, across).sqrt();
    scale(across, inverse)
}
