//! Impulse of a constraint and how it changes with the velocity.

use super::layout::term;
use crate::Scalar;
use crate::contact::island::con;

/// `lambda`, N s, and `W = -d lambda / d(J v)`, kg (00 01 02 11 12 22), at `sigma = J v`: `c` are the constraint's numbers in
/// `island_con`, `t` its term (Lee 2024, eqs. 14-18, 23; Castro 2022, appendix C, for unlike weights).
#[inline(always)]
pub(super) fn impulse<T: Scalar>(block: bool, c: &[T], t: &[T], sigma: [T; 3]) -> ([T; 3], [T; 6]) {
    if block { contact(c[con::FRICTION], t, sigma) } else { row(c, t, sigma[0]) }
}

/// A row between bounds, its weight in series with its compliance.
#[inline(always)]
fn row<T: Scalar>(c: &[T], t: &[T], sigma: T) -> ([T; 3], [T; 6]) {
    let zero = T::lit(0.0);
    let beta = t[term::BETA_N];
    let whole = beta.mul_add(t[term::ROW_COMPLIANCE], T::lit(1.0));
    let x = (t[term::BEFORE] - beta * (sigma + t[term::BIAS])) / whole;
    let (lower, upper) = (c[con::ROW_LOWER], c[con::ROW_UPPER]);
    let slope = if lower < x && x < upper { beta / whole } else { zero };
    ([x.max(lower).min(upper), zero, zero], [slope, zero, zero, zero, zero, zero])
}

/// The projection on the cone in the metric `diag(1 / beta)`: with tangential parts times `s = sqrt(beta_n / beta_t)` it is
/// the Euclidean one on the cone of friction `mu s`. A bilateral block (`mu < 0`) is projected on nothing.
#[inline(always)]
fn contact<T: Scalar>(mu: T, t: &[T], sigma: [T; 3]) -> ([T; 3], [T; 6]) {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    let (beta_t, beta_n) = (t[term::BETA_T], t[term::BETA_N]);
    let star = |r: usize, beta: T| t[term::BEFORE + r] - beta * (sigma[r] + t[term::BIAS + r]);
    let x = [star(0, beta_t), star(1, beta_t), star(2, beta_n)];
    let s = (beta_n / beta_t).sqrt();
    let (m, y) = (mu * s, [s * x[0], s * x[1], x[2]]);
    let length = y[0].mul_add(y[0], y[1] * y[1]).sqrt();
    if mu < zero || (zero <= y[2] && length <= m * y[2]) {
        return (x, [beta_t, zero, zero, beta_t, zero, beta_n]);
    }
    if m * length <= -y[2] {
        return ([zero; 3], [zero; 6]);
    }
    // Slips; without friction, and above the cone, the direction does not matter.
    let (d, ratio) = if zero < length { ([y[0] / length, y[1] / length], y[2] / length) } else { ([zero; 2], zero) };
    let scale = one / m.mul_add(m, one);
    let n = scale * m.mul_add(length, y[2]);
    let across = m * ratio;
    let w = scale * beta_t;
    let turn = across * w;
    let same = (m * m) * w;
    let mixed = scale * m * beta_n / s;
    let slope = [
        turn.mul_add(one - d[0] * d[0], same),
        -(turn * (d[0] * d[1])),
        mixed * d[0],
        turn.mul_add(one - d[1] * d[1], same),
        mixed * d[1],
        scale * beta_n,
    ];
    let radius = mu * n;
    ([radius * d[0], radius * d[1], n], slope)
}
