//! One contact alone: projections, residuals and the exact solve of its 3x3 problem, shared by every path of contact.
//!
//! Impulses, velocities and rows are ordered (t1, t2, n). `sigma` below is always the biased velocity `J v + e`.
//! A symmetric 3x3 block is six numbers: 00 01 02 11 12 22. Friction `mu < 0` marks a bilateral block of three rows.

use crate::dynamics::names::UNBOUNDED;
use crate::{Mask, Real};

/// Share of the trace added to the diagonal of a block before it is inverted: blocks may be rank deficient (one hinge
/// moves a point along a line only). It slows convergence in weak directions by as much and leaves fixed points alone;
/// smaller, and pivots in f32 would be rounding.
const LOCAL_REGULARIZATION: f64 = 1e-6;
/// Newton iterations on the slip multiplier: its equation is so nearly linear that the first gives four digits or more.
/// They start from what the present impulse says, so that further visits add further digits.
const LOCAL_SLIP_ITERATIONS: usize = 3;
/// Largest first guess of the multiplier, in traces of the block: an impulse near zero says nothing.
const LOCAL_START: f64 = 10.0;
/// A larger impulse, N s, is none: a contact that next to nothing moves asked for it, and its residual is lost in rounding.
pub const ABSURD: f64 = 1e12;
/// An unsolved step in which so much work is spent on what a bias asks for, by the mass that it moves, is taken for one that
/// asks for the impossible, J/kg.
pub const HOPELESS: f64 = 1e3;
/// The same of a contact in a step that is solved, if its bodies gain as much speed along it, m^2/s^2: they slide ten metres a second faster
/// for the sake of 0.2 m/s apart, and all that moves with them is flung about.
pub const FLINGS: f64 = 100.0;
/// Bias of a contact that is left out, m/s: beyond any speed.
pub const APART: f64 = 1e6;
/// A contact that is to part is left out where bodies slide a metre for less than a millimetre of separation: smallest share of
/// the block's normal entry in its tangential ones.
pub const HARDLY: f64 = 1e-6;
/// A Jacobian whose entries are not larger, m per unit of a joint, is that of what nothing moves.
pub const STILL: f64 = 1e-9;
/// Keeps quotients of nothing by nothing finite.
pub(super) const TINY: f64 = 1e-30;

/// A symmetric 3x3 matrix times a vector.
#[inline(always)]
pub fn symmetric_times<R: Real>(g: &[R; 6], x: &[R; 3]) -> [R; 3] {
    [
        g[0].mul_add(x[0], g[1].mul_add(x[1], g[2] * x[2])),
        g[1].mul_add(x[0], g[3].mul_add(x[1], g[4] * x[2])),
        g[2].mul_add(x[0], g[4].mul_add(x[1], g[5] * x[2])),
    ]
}

/// Inverse of a positive semidefinite block, regularised; zero for a zero block.
#[inline(always)]
pub fn invert<R: Real>(g: &[R; 6]) -> [R; 6] {
    let one = R::lit(1.0);
    let trace = g[0] + g[3] + g[5];
    let shift = R::lit(LOCAL_REGULARIZATION) * trace + R::lit(TINY);
    // L D L^T with unit lower L: pivots stay positive under rounding, which cofactors would not.
    let d0 = one / (g[0] + shift);
    let l10 = g[1] * d0;
    let l20 = g[2] * d0;
    let d1 = one / (g[3] + shift - l10 * g[1]).max(shift);
    let c21 = g[4] - l10 * g[2];
    let l21 = c21 * d1;
    let d2 = one / (g[5] + shift - l20 * g[2] - l21 * c21).max(shift);
    // Inverse of L: (1; -l10 1; m20 -l21 1).
    let m20 = l10 * l21 - l20;
    let inverse = [
        d0 + l10 * l10 * d1 + m20 * m20 * d2,
        -(l10 * d1) - m20 * l21 * d2,
        m20 * d2,
        d1 + l21 * l21 * d2,
        -(l21 * d2),
        d2,
    ];
    let solid = R::lit(TINY).lt(trace);
    inverse.map(|x| R::select(solid, x, R::lit(0.0)))
}

/// The normal bias of a contact, or [`APART`] where it asks bodies to part which cannot, or hardly: `reach` is the largest
/// entry of its normal's Jacobian.
#[inline(always)]
pub fn parted<R: Real>(mu: R, g: &[R; 6], reach: R, normal: R) -> R {
    let zero = R::lit(0.0);
    let hardly = g[5].le(R::lit(HARDLY) * g[0].max(g[3])) | reach.le(R::lit(STILL));
    R::select(zero.le(mu) & normal.lt(zero) & hardly, R::lit(APART), normal)
}

/// Strict Signorini-Coulomb map T: normal part clamped at zero, then the tangential part projected on the disc of
/// radius `mu` times it (Lee 2024, eqs. 14-18). Identity for a bilateral block.
#[inline(always)]
pub fn project<R: Real>(mu: R, y: &[R; 3]) -> [R; 3] {
    let zero = R::lit(0.0);
    let n = y[2].max(zero);
    let radius = mu * n;
    let length = y[0].mul_add(y[0], y[1] * y[1]).sqrt();
    let shrink = R::select(radius.lt(length), radius / length.max(R::lit(TINY)), R::lit(1.0));
    let held = mu.lt(zero);
    [R::select(held, y[0], y[0] * shrink), R::select(held, y[1], y[1] * shrink), R::select(held, y[2], n)]
}

/// Whether an impulse is inside its friction cone; always for a bilateral block.
#[inline(always)]
pub fn inside<R: Real>(mu: R, y: &[R; 3]) -> R::Mask {
    let zero = R::lit(0.0);
    let radius = mu * y[2];
    let fits = y[0].mul_add(y[0], y[1] * y[1]).le(radius * radius);
    (zero.le(y[2]) & fits) | mu.lt(zero)
}

/// Natural residual `lambda - T(lambda - step * sigma)`, N s: zero exactly at a solution.
#[inline(always)]
pub fn residual<R: Real>(mu: R, step: R, lambda: &[R; 3], sigma: &[R; 3]) -> [R; 3] {
    let moved = [step * sigma[0], step * sigma[1], step * sigma[2]];
    let y = [lambda[0] - moved[0], lambda[1] - moved[1], lambda[2] - moved[2]];
    let stick = inside(mu, &y);
    // Inside the cone T changes nothing, and the residual is free of the rounding of the impulse.
    if !(!stick).any() {
        return moved;
    }
    let t = project(mu, &y);
    [
        R::select(stick, moved[0], lambda[0] - t[0]),
        R::select(stick, moved[1], lambda[1] - t[1]),
        R::select(stick, moved[2], lambda[2] - t[2]),
    ]
}

/// Scaled residual `|lambda - T(lambda - rho sigma)| / rho` with `rho = 3 / trace(G)`, m/s.
#[inline(always)]
pub fn scaled_residual<R: Real>(mu: R, trace: R, lambda: &[R; 3], sigma: &[R; 3]) -> R {
    let solid = R::lit(TINY).lt(trace);
    let rho = R::lit(3.0) / R::select(solid, trace, R::lit(3.0));
    let r = residual(mu, rho, lambda, sigma);
    r[0].mul_add(r[0], r[1].mul_add(r[1], r[2] * r[2])).sqrt() / rho
}

/// Impulse that solves the strict problem of this contact, the others held: with `sigma(x) = sigma + G (x - lambda)`,
/// `0 <= x_n _|_ sigma_n >= 0`, `|x_t| <= mu x_n`, `x_t` opposing `sigma_t` when slipping.
///
/// Stick is tried first, then separation, then slip.
#[inline(always)]
pub fn solve<R: Real>(mu: R, g: &[R; 6], inverse: &[R; 6], lambda: &[R; 3], sigma: &[R; 3]) -> [R; 3] {
    let zero = R::lit(0.0);
    let back = symmetric_times(inverse, sigma);
    let stuck = [lambda[0] - back[0], lambda[1] - back[1], lambda[2] - back[2]];
    let sticks = inside(mu, &stuck);
    if !(!sticks).any() {
        return stuck;
    }
    let own = symmetric_times(g, lambda);
    let free = [sigma[0] - own[0], sigma[1] - own[1], sigma[2] - own[2]];
    let opens = zero.le(free[2]);
    let rest = (!sticks) & (!opens);
    let slid = if rest.any() { slip(mu, g, &free, lambda, sigma) } else { [zero; 3] };
    let choose = |i: usize| R::select(sticks, stuck[i], R::select(opens, zero, slid[i]));
    [choose(0), choose(1), choose(2)]
}

/// The slipping solution. With the normal eliminated (`sigma_n = 0`), `sigma_t = -kappa x_t` gives
/// `(A + kappa 1) x_t = w`, A the 2x2 Schur complement; `kappa >= 0` is the root of `|x_t| = mu x_n`, found by Newton
/// on `mu x_n / |x_t|`, nearly linear in kappa, inside a bracket. `free` is the velocity without this impulse.
#[inline(always)]
fn slip<R: Real>(mu: R, g: &[R; 6], free: &[R; 3], lambda: &[R; 3], sigma: &[R; 3]) -> [R; 3] {
    let (zero, one, tiny) = (R::lit(0.0), R::lit(1.0), R::lit(TINY));
    let per_normal = one / g[5].max(tiny);
    let k = [g[2] * per_normal, g[4] * per_normal];
    let push = -(free[2] * per_normal);
    let w = [k[0].mul_add(free[2], -free[0]), k[1].mul_add(free[2], -free[1])];
    let size = g[0] + g[3] + g[5];
    let shift = R::lit(LOCAL_REGULARIZATION) * size + tiny;
    let a = g[0] - k[0] * g[2] + shift;
    let b = g[1] - k[0] * g[4];
    let c = g[3] - k[1] * g[4] + shift;
    let (mut low, mut high) = (zero, R::lit(UNBOUNDED));
    let opposing = -(sigma[0].mul_add(lambda[0], sigma[1] * lambda[1]));
    let ratio = opposing.max(zero) / lambda[0].mul_add(lambda[0], lambda[1] * lambda[1]).max(tiny);
    let mut kappa = ratio.min(R::lit(LOCAL_START) * size);
    let mut x = tangential(a, b, c, &w, kappa);
    for _ in 0..LOCAL_SLIP_ITERATIONS {
        let p = tangential(a, b, c, &x, kappa);
        let normal = push - k[0] * x[0] - k[1] * x[1];
        let square = x[0].mul_add(x[0], x[1] * x[1]).max(tiny);
        let excess = square.sqrt() - mu * normal;
        let slope = mu * (k[0].mul_add(p[0], k[1] * p[1]) + normal * x[0].mul_add(p[0], x[1] * p[1]) / square);
        let outside = zero.lt(excess);
        low = R::select(outside, kappa, low);
        high = R::select(outside, high, kappa);
        let newton = kappa + excess / R::select(zero.lt(slope), slope, tiny);
        let middle = R::select(high.lt(R::lit(UNBOUNDED)), R::lit(0.5) * (low + high), R::lit(4.0) * low + size);
        kappa = R::select(low.le(newton) & newton.le(high), newton, middle);
        x = tangential(a, b, c, &w, kappa);
    }
    // What is left of the root's error must not leave the cone, nor a frictionless contact keep any tangential part.
    let first = project(mu, &[x[0], x[1], push - k[0] * x[0] - k[1] * x[1]]);
    project(mu, &[first[0], first[1], push - k[0] * first[0] - k[1] * first[1]])
}

/// `(A + kappa 1)^-1 w` for a 2x2 `A = (a b; b c)`.
#[inline(always)]
fn tangential<R: Real>(a: R, b: R, c: R, w: &[R; 2], kappa: R) -> [R; 2] {
    let (a, c) = (a + kappa, c + kappa);
    let scale = R::lit(1.0) / (a * c - b * b).max(R::lit(TINY));
    [scale * (c * w[0] - b * w[1]), scale * (a * w[1] - b * w[0])]
}

/// Whether the impulses of three rows make sense: an unsolved step with others asks for the impossible, see [`HOPELESS`]. A
/// contact asks for nothing but to separate.
#[inline(always)]
pub fn is_sensible<R: Real>(mu: R, trace: R, lambda: &[R; 3], bias: &[R; 3]) -> R::Mask {
    let inverse_mass = inverse_mass(trace);
    let row = |r: usize| is_sensible_row(inverse_mass, lambda[r], bias[r]);
    row(2) & (R::lit(0.0).le(mu) | row(0) & row(1))
}

/// The same of one row.
#[inline(always)]
pub fn is_sensible_row<R: Real>(inverse_mass: R, lambda: R, bias: R) -> R::Mask {
    work(inverse_mass, lambda, bias).le(R::lit(HOPELESS))
}

/// Whether a contact costs enough to fling its bodies about, see [`FLINGS`].
#[inline(always)]
pub fn is_costly<R: Real>(mu: R, trace: R, lambda: R, bias: R) -> R::Mask {
    R::lit(0.0).le(mu) & R::lit(FLINGS).lt(work(inverse_mass(trace), lambda, bias))
}

/// Work of an impulse on what a bias asks for, by the mass that it moves, J/kg.
#[inline(always)]
fn work<R: Real>(inverse_mass: R, lambda: R, bias: R) -> R {
    -(lambda * bias) * inverse_mass
}

/// The inverse of the mass that a block moves, 1/kg: the mean of its diagonal.
#[inline(always)]
fn inverse_mass<R: Real>(trace: R) -> R {
    trace * R::lit(1.0 / 3.0)
}

#[cfg(test)]
mod tests;
