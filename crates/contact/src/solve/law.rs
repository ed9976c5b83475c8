//! Closed forms of the laws and their derivatives.

use manyworlds_shaders::Scalar;

use super::rows::{Block, Rows, cast};
use crate::problem::{Constraint, Law, Place, Steps};

/// How far the bias of a constraint is pursued, in this arithmetic: see [`Steps`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Cap<T> {
    /// Whatever that takes.
    Never,
    /// Up to an impulse; the speeds that its rows ask for.
    At(T, Rows<T>),
}

impl<T: Scalar> Cap<T> {
    pub(super) fn new(c: &Constraint) -> Self {
        if c.cap == f64::INFINITY {
            return Self::Never;
        }
        let mut requests = [T::lit(0.0); 3];
        c.law.requests().for_each(|r| requests[r] = cast(c.law.request(c.e[r])));
        Self::At(cast(c.cap), requests)
    }
}

/// What a contact's impulse is mapped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Map {
    /// Projection on the friction cone in the metric `1 / beta`: a convex problem.
    Proximal,
    /// Normal part first, then the tangential part on the disc that it allows: Signorini-Coulomb itself.
    Strict,
}

/// The strict map (mathematics: `lambda_n = max(y_n, 0)`, then the disc of radius `mu lambda_n`), and its derivative.
fn strict<T: Scalar>(mu: T, y: Rows<T>) -> (Rows<T>, Block<T>) {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    if y[2] <= zero {
        return ([zero; 3], [[zero; 3]; 3]);
    }
    let (length, radius) = ((y[0] * y[0] + y[1] * y[1]).sqrt(), mu * y[2]);
    if length <= radius {
        return (y, diagonal([one; 3]));
    }
    let (d0, d1, across) = (y[0] / length, y[1] / length, radius / length);
    let p = [
        [across * (one - d0 * d0), -(across * d0 * d1), mu * d0],
        [-(across * d0 * d1), across * (one - d1 * d1), mu * d1],
        [zero, zero, one],
    ];
    ([radius * d0, radius * d1, y[2]], p)
}

/// Euclidean projection on the friction cone of a point outside it and its polar, a tangential length from the axis, and its
/// derivative (Lee 2024, eq. 23).
fn slides<T: Scalar>(mu: T, y: Rows<T>, length: T) -> (Rows<T>, Block<T>) {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    // Without friction, and above the cone, the direction does not matter.
    let (d, ratio) = if zero < length { ([y[0] / length, y[1] / length], y[2] / length) } else { ([zero; 2], zero) };
    let scale = one / (one + mu * mu);
    let n = scale * (y[2] + mu * length);
    let across = mu * ratio;
    let tangent = |i: usize, j: usize| {
        let unit = if i == j { one } else { zero };
        scale * (mu * mu * unit + across * (unit - d[i] * d[j]))
    };
    let p = [
        [tangent(0, 0), tangent(0, 1), scale * mu * d[0]],
        [tangent(1, 0), tangent(1, 1), scale * mu * d[1]],
        [scale * mu * d[0], scale * mu * d[1], scale],
    ];
    ([mu * n * d[0], mu * n * d[1], n], p)
}

/// The projection in the metric `diag(1 / beta)`, both tangential weights alike, and its derivative: with tangential
/// parts times `s = sqrt(beta_n / beta_t)` it is the Euclidean one on the cone of friction `mu s` (Castro 2022, appendix C).
fn cone_in_metric<T: Scalar>(mu: T, beta: Rows<T>, y: Rows<T>) -> (Rows<T>, Block<T>) {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    // Most contacts stick or are open, whatever the metric.
    let length = (y[0] * y[0] + y[1] * y[1]).sqrt();
    if zero <= y[2] && length <= mu * y[2] {
        return (y, diagonal([one; 3]));
    }
    let ratio = beta[2] / beta[0];
    if mu * length * ratio <= -y[2] {
        return ([zero; 3], [[zero; 3]; 3]);
    }
    let s = ratio.sqrt();
    let (scale, back) = ([s, s, one], [one / s, one / s, one]);
    let (x, p) = slides(mu * s, std::array::from_fn(|r| scale[r] * y[r]), s * length);
    let entry = |r: usize, c: usize| p[r][c] * scale[c] * back[r];
    (std::array::from_fn(|r| x[r] * back[r]), std::array::from_fn(|r| std::array::from_fn(|c| entry(r, c))))
}

/// A diagonal block.
fn diagonal<T: Scalar>(d: Rows<T>) -> Block<T> {
    let mut p = [[T::lit(0.0); 3]; 3];
    (0..3).for_each(|r| p[r][r] = d[r]);
    p
}

/// A friction cone, its impulses mapped in this metric.
#[derive(Clone, Copy)]
struct Cone<T> {
    map: Map,
    mu: T,
    beta: Rows<T>,
}

impl<T: Scalar> Cone<T> {
    fn at(self, y: Rows<T>) -> (Rows<T>, Block<T>) {
        match self.map {
            Map::Strict => strict(self.mu, y),
            Map::Proximal => cone_in_metric(self.mu, self.beta, y),
        }
    }

    /// The same where the normal row's bias may give way. Where the impulse of the law as it is exceeds the cap, it is that of
    /// the law without the request, or, if this falls short of the cap, the cap with what friction that allows.
    fn capped(self, cap: T, request: T, y: Rows<T>) -> (Rows<T>, Block<T>) {
        let pursued = self.at(y);
        if pursued.0[2] <= cap {
            return pursued;
        }
        let floor = self.at([y[0], y[1], y[2] - self.beta[2] * request]);
        if cap <= floor.0[2] {
            return floor;
        }
        let (zero, one) = (T::lit(0.0), T::lit(1.0));
        let (length, radius) = ((y[0] * y[0] + y[1] * y[1]).sqrt(), self.mu * cap);
        if length <= radius {
            return ([y[0], y[1], cap], diagonal([one, one, zero]));
        }
        let (d0, d1, across) = (y[0] / length, y[1] / length, radius / length);
        let p = [
            [across * (one - d0 * d0), -(across * d0 * d1), zero],
            [-(across * d0 * d1), across * (one - d1 * d1), zero],
            [zero; 3],
        ];
        ([radius * d0, radius * d1, cap], p)
    }
}

/// Impulse of a bilateral or unilateral row whose bias may give way, before its sign, and its slope.
fn capped_row<T: Scalar>(cap: T, request: T, beta: T, y: T) -> (T, T) {
    let (to, place) = Steps { cap, request }.map(beta, y);
    (to, T::lit(if place == Place::Plateau { 0.0 } else { 1.0 }))
}

/// Impulse of a law for the penalties `beta` of its rows and multiplier `u = -before`, and its derivative with respect to
/// `lambda* = before - beta (J v + e)` (Lee 2024, eqs. 14-18). `sigma` is `J v`; `e` holds the De Saxce shift.
pub(super) fn impulse<T: Scalar>(
    map: Map,
    law: Law,
    cap: Cap<T>,
    beta: Rows<T>,
    before: Rows<T>,
    sigma: Rows<T>,
    e: Rows<T>,
) -> (Rows<T>, Block<T>) {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    let star: Rows<T> = std::array::from_fn(|r| before[r] - beta[r] * (sigma[r] + e[r]));
    let row = |x: T, slope: T| ([x, zero, zero], diagonal([slope, zero, zero]));
    let clamped = |x: T, lo: f64, hi: f64, slope: T| {
        let (lo, hi) = (cast::<T>(lo), cast::<T>(hi));
        let free = lo < x && x < hi;
        row(x.max(lo).min(hi), if free { slope } else { zero })
    };
    match (law, cap) {
        (Law::Contact { mu }, Cap::Never) => Cone { map, mu: cast(mu), beta }.at(star),
        (Law::Contact { mu }, Cap::At(cap, [.., a])) => Cone { map, mu: cast(mu), beta }.capped(cap, a, star),
        (Law::Block, Cap::Never) => (star, diagonal([one; 3])),
        (Law::Block, Cap::At(cap, a)) => {
            let rows: [_; 3] = std::array::from_fn(|r| capped_row(cap, a[r], beta[r], star[r]));
            (rows.map(|(x, _)| x), diagonal(rows.map(|(_, slope)| slope)))
        }
        (Law::Bilateral, Cap::Never) => row(star[0], one),
        (Law::Unilateral, Cap::Never) => row(star[0].max(zero), if zero < star[0] { one } else { zero }),
        (Law::Bilateral | Law::Unilateral, Cap::At(cap, [a, ..])) => {
            let (x, slope) = capped_row(cap, a, beta[0], star[0]);
            match law {
                Law::Unilateral if x <= zero => row(zero, zero),
                _ => row(x, slope),
            }
        }
        (Law::Soft { k, b, lo, hi }, _) => {
            let (k, b, beta) = (cast::<T>(k), cast::<T>(b), beta[0]);
            let free = (b * (before[0] - beta * sigma[0]) - beta * k * e[0]) / (b + beta);
            clamped(free, lo, hi, b / (b + beta))
        }
        (Law::Box { lo, hi }, _) => clamped(star[0], lo, hi, one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A point is its own projection's neighbour: nothing in the cone is closer, in the metric.
    #[test]
    fn the_cone_is_projected_on() {
        let betas = [[1.0; 3], [9.0, 9.0, 1.0], [0.2, 0.2, 3.0]];
        for (mu, beta) in [0.0, 0.3, 1.0, 3.0].into_iter().flat_map(|mu| betas.map(|beta| (mu, beta))) {
            let distance =
                |a: Rows<f64>, b: Rows<f64>| (0..3).map(|r| (a[r] - b[r]).powi(2) / beta[r]).sum::<f64>().sqrt();
            for i in 0..200 {
                let y: Rows<f64> = std::array::from_fn(|r| (f64::from(i * 3 + r as i32) * 12.9898).sin());
                let (x, _) = cone_in_metric(mu, beta, y);
                assert!(x[0].hypot(x[1]) <= mu * x[2] + 1e-12);
                for k in 0..50 {
                    let [a, n, s] = [0.1, 0.7, 1.3].map(|q| (f64::from(k) * q + q).sin());
                    let other = [mu * n.abs() * s * a.cos(), mu * n.abs() * s * a.sin(), n.abs()];
                    assert!(distance(x, y) <= distance(other, y) + 1e-12, "{mu} {y:?}: {x:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let laws = [
            Law::Contact { mu: 0.7 },
            Law::Contact { mu: 0.0 },
            Law::Block,
            Law::Bilateral,
            Law::Unilateral,
            Law::Soft { k: 2.0, b: 3.0, lo: -0.4, hi: 0.5 },
            Law::Box { lo: -0.3, hi: 0.6 },
        ];
        let step = 1e-6;
        let (equal, unequal) = ([2.0; 3], [5.0, 5.0, 2.0]);
        let maps = [(Map::Proximal, equal), (Map::Proximal, unequal), (Map::Strict, equal)];
        let caps = [Cap::Never, Cap::At(0.4, [0.2, -0.3, 0.5])];
        let cases = laws.into_iter().flat_map(|law| maps.map(|map| (law, map)));
        for ((law, (map, beta)), cap) in cases.flat_map(|case| caps.map(|cap| (case, cap))) {
            for i in 0..100 {
                let [before, sigma, e] =
                    [0, 1, 2].map(|k| std::array::from_fn(|r| (f64::from(9 * i + 3 * k + r as i32) * 7.77).sin()));
                let at = |sigma| impulse(map, law, cap, beta, before, sigma, e);
                let p = at(sigma).1;
                for c in 0..law.rows() {
                    let moved = |d: f64| std::array::from_fn(|r| sigma[r] + if r == c { d } else { 0.0 });
                    let (up, down) = (at(moved(step)).0, at(moved(-step)).0);
                    for r in 0..law.rows() {
                        let slope: f64 = (up[r] - down[r]) / (2.0 * step);
                        assert!(
                            (slope + beta[c] * p[r][c]).abs() < 1e-5,
                            "{law:?} {map:?} {cap:?} {r} {c}: {slope} {}",
                            p[r][c]
                        );
                    }
                }
            }
        }
    }
}
