//! Laws whose requests give way: what contacts, limits and blocks obey in a step that asks for the impossible.
//!
//! A bias e asks a row for the speed `a = -e`. Its impulse lambda is spent on that up to a cap K:
//!
//! ```text
//! lambda < K         the law as it is, with its bias
//! lambda = K         0 <= sigma <= a: the request gives way, by w = a - sigma
//! lambda > K         sigma = 0: nothing gets worse, whatever that takes
//! ```
//!
//! `sigma` below is `J v + e`, as everywhere. The map of a row, `y = lambda - rho sigma` to lambda, has a slope of one but for the
//! second step, where it is K. Friction goes by the normal's impulse at hand. Without a cap the laws are those of
//! [`super::local`].

use super::local::{TINY, inside, project, solve};
use crate::Real;

/// A speed by which a request that gave way did not, m/s.
const LEAST_RELAXED: f64 = 1e-12;

/// The cap of a constraint, N s, and the speeds that its rows ask for, m/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steps<R> {
    /// K.
    pub cap: R,
    /// `-e` by row where that is a request, else zero; negative where a bilateral row asks for the other direction.
    pub request: [R; 3],
}

/// The speeds that a contact or block asks for by its bias: a contact for nothing but to separate.
#[inline(always)]
pub fn requests<R: Real>(mu: R, bias: &[R; 3]) -> [R; 3] {
    let (zero, held) = (R::lit(0.0), mu.lt(R::lit(0.0)));
    let tangent = |r: usize| R::select(held, -bias[r], zero);
    [tangent(0), tangent(1), R::select(held, -bias[2], (-bias[2]).max(zero))]
}

/// The same of a row between bounds: of what is soft or bounded above there is none.
#[inline(always)]
pub fn row_request<R: Real>(bias: R, compliance: R, lower: R, upper: R) -> R {
    let (zero, unbounded) = (R::lit(0.0), R::lit(crate::dynamics::names::UNBOUNDED));
    let asks = compliance.le(zero) & unbounded.le(upper);
    let both = lower.le(-unbounded);
    let one_way = (-bias).max(zero);
    R::select(asks & both, -bias, R::select(asks & zero.le(lower) & lower.le(zero), one_way, zero))
}

/// What a request costs by the mass that it moves: twice what it would need alone to stop what comes with the free speed `free`
/// and to separate, m/s.
#[inline(always)]
pub fn speed_of_cap<R: Real>(request: R, free: R) -> R {
    let zero = R::lit(0.0);
    let against = R::select(request.lt(zero), free, -free);
    R::select(zero.lt(request.abs()), R::lit(2.0) * request.abs() + against.max(zero), zero)
}

/// A row's impulse at `y`, before its bounds.
#[inline(always)]
pub fn climb<R: Real>(cap: R, request: R, rho: R, y: R) -> R {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let sign = R::select(request.lt(zero), -one, one);
    let forward = sign * y;
    sign * (forward.min(cap) + (forward - cap - rho * request.abs()).max(zero))
}

/// Whether a row's impulse is its cap.
#[inline(always)]
pub fn holds<R: Real>(cap: R, request: R, rho: R, y: R) -> R::Mask {
    let forward = R::select(request.lt(R::lit(0.0)), -y, y);
    cap.lt(forward) & forward.le(cap + rho * request.abs())
}

/// Whether `y` is beyond the cap, seen along the request.
#[inline(always)]
fn beyond<R: Real>(cap: R, request: R, y: R) -> R::Mask {
    cap.lt(R::select(request.lt(R::lit(0.0)), -y, y))
}

/// By how much a request gives way, as what is added to its bias: zero where it is pursued. `mass`: by which impulses are told
/// apart; what misses more than the tolerance is judged by speeds as they are, too.
#[inline(always)]
pub fn gives_way<R: Real>(cap: R, request: R, mass: R, tolerance: R, lambda: R, sigma: R) -> R {
    let zero = R::lit(0.0);
    let backward = request.lt(zero);
    let misses = tolerance.lt(sigma.abs()) & beyond(cap, request, lambda - sigma);
    let by = R::select(backward, sigma, -sigma).max(zero).min(request.abs());
    let some = (beyond(cap, request, lambda - mass * sigma) | misses) & R::lit(LEAST_RELAXED).lt(by);
    R::select(some, R::select(backward, -by, by), zero)
}

impl<R: Real> Steps<R> {
    /// The strict map, see [`project`], of `y = lambda - rho sigma`.
    #[inline(always)]
    pub fn project(&self, mu: R, rho: R, y: &[R; 3]) -> [R; 3] {
        let to = |r: usize| climb(self.cap, self.request[r], rho, y[r]);
        let (zero, held) = (R::lit(0.0), mu.lt(R::lit(0.0)));
        let n = to(2).max(zero);
        let radius = mu * n;
        let length = y[0].mul_add(y[0], y[1] * y[1]).sqrt();
        let shrink = R::select(radius.lt(length), radius / length.max(R::lit(TINY)), R::lit(1.0));
        [R::select(held, to(0), y[0] * shrink), R::select(held, to(1), y[1] * shrink), R::select(held, to(2), n)]
    }

    /// Natural residual, see [`super::local::residual`].
    #[inline(always)]
    pub fn residual(&self, mu: R, step: R, lambda: &[R; 3], sigma: &[R; 3]) -> [R; 3] {
        let y: [R; 3] = std::array::from_fn(|r| lambda[r] - step * sigma[r]);
        let t = self.project(mu, step, &y);
        // Where T changes nothing the residual is free of the rounding of the impulse.
        std::array::from_fn(|r| R::select(t[r].le(y[r]) & y[r].le(t[r]), step * sigma[r], lambda[r] - t[r]))
    }

    /// Scaled residual, see [`super::local::scaled_residual`], m/s.
    #[inline(always)]
    pub fn scaled_residual(&self, mu: R, trace: R, lambda: &[R; 3], sigma: &[R; 3]) -> R {
        let solid = R::lit(TINY).lt(trace);
        let rho = R::lit(3.0) / R::select(solid, trace, R::lit(3.0));
        let r = self.residual(mu, rho, lambda, sigma);
        r[0].mul_add(r[0], r[1].mul_add(r[1], r[2] * r[2])).sqrt() / rho
    }

    /// Impulse that solves this constraint, the others held, see [`super::local::solve`]: of a contact at its cap and of a
    /// block, a step towards it.
    #[inline(always)]
    pub fn solve(&self, mu: R, g: &[R; 6], inverse: &[R; 6], lambda: &[R; 3], sigma: &[R; 3]) -> [R; 3] {
        let (zero, one, tiny) = (R::lit(0.0), R::lit(1.0), R::lit(TINY));
        let held = mu.lt(zero);
        let row = |r: usize, entry: R, sigma: R| {
            let rho = one / entry.max(tiny);
            climb(self.cap, self.request[r], rho, lambda[r] - rho * sigma)
        };
        let b0 = row(0, g[0], sigma[0]);
        let d0 = b0 - lambda[0];
        let b1 = row(1, g[3], g[1].mul_add(d0, sigma[1]));
        let d1 = b1 - lambda[1];
        let b2 = row(2, g[5], g[2].mul_add(d0, g[4].mul_add(d1, sigma[2])));
        let pursued = solve(mu, g, inverse, lambda, sigma);
        let floor = solve(mu, g, inverse, lambda, &[sigma[0], sigma[1], sigma[2] + self.request[2]]);
        let change = self.cap - lambda[2];
        let rho = one / (g[0] + g[3]).max(tiny);
        let at_cap = project(
            mu,
            &[
                lambda[0] - rho * g[2].mul_add(change, sigma[0]),
                lambda[1] - rho * g[4].mul_add(change, sigma[1]),
                self.cap,
            ],
        );
        let block = [b0, b1, b2];
        std::array::from_fn(|r| {
            let beyond = R::select(self.cap.le(floor[2]), floor[r], at_cap[r]);
            R::select(held, block[r], R::select(pursued[2].le(self.cap), pursued[r], beyond))
        })
    }

    /// Derivative of the strict map: 00 01 02 11 12 22.
    #[inline(always)]
    pub fn derivative(&self, mu: R, rho: R, y: &[R; 3]) -> [R; 6] {
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let slope = |r: usize| R::select(holds(self.cap, self.request[r], rho, y[r]), zero, one);
        let (held, n) = (mu.lt(zero), climb(self.cap, self.request[2], rho, y[2]));
        let stick = inside(mu, &[y[0], y[1], n]);
        let pressed = R::select(stick | zero.lt(n), one, zero);
        let length = y[0].mul_add(y[0], y[1] * y[1]).sqrt().max(R::lit(TINY));
        let (d0, d1) = (y[0] / length, y[1] / length);
        let slips = R::select(stick, zero, pressed);
        let across = slips * mu * n / length;
        let normal = pressed * slope(2);
        [
            R::select(held, slope(0), R::select(stick, one, across * (one - d0 * d0))),
            R::select(stick, zero, -(across * d0 * d1)),
            slips * mu * d0 * normal,
            R::select(held, slope(1), R::select(stick, one, across * (one - d1 * d1))),
            slips * mu * d1 * normal,
            normal,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::local::invert;
    use super::*;

    /// Numbers in [-1, 1].
    fn noise(i: usize) -> [f64; 3] {
        std::array::from_fn(|r| ((3 * i + r) as f64 * 12.9898).sin())
    }

    fn cases() -> impl Iterator<Item = (f64, Steps<f64>)> {
        let steps = |[x, y, z]: [f64; 3]| Steps { cap: 0.3, request: [x, y, z] };
        [(0.7, steps([0.0, 0.0, 0.4])), (0.0, steps([0.0, 0.0, 0.4])), (-1.0, steps([0.2, -0.3, 0.4]))].into_iter()
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let (rho, h) = (1.7, 1e-6);
        for (mu, steps) in cases() {
            for i in 0..300 {
                let y = noise(i);
                let p = steps.derivative(mu, rho, &y);
                let rows = [[p[0], p[1], p[2]], [p[1], p[3], p[4]], [0.0, 0.0, p[5]]];
                for c in 0..3 {
                    let at =
                        |d: f64| steps.project(mu, rho, &std::array::from_fn(|r| y[r] + if r == c { d } else { 0.0 }));
                    let (up, down) = (at(h), at(-h));
                    for r in 0..3 {
                        let slope = (up[r] - down[r]) / (2.0 * h);
                        assert!((slope - rows[r][c]).abs() < 1e-5, "{mu} {y:?} {r} {c}: {slope} {}", rows[r][c]);
                    }
                }
            }
        }
    }

    /// What a sweep goes on to is where nothing is left of the law.
    #[test]
    fn one_constraint_alone_is_solved() {
        let g = [1.0, 0.1, -0.2, 0.8, 0.15, 1.2];
        for (mu, steps) in cases() {
            for i in 0..100 {
                let free = noise(i).map(|x| 2.0 * x);
                let sigma = |l: &[f64; 3]| {
                    let own = super::super::local::symmetric_times(&g, l);
                    std::array::from_fn(|r| free[r] - steps.request[r] + own[r])
                };
                let mut lambda = [0.0; 3];
                (0..400).for_each(|_| lambda = steps.solve(mu, &g, &invert(&g), &lambda, &sigma(&lambda)));
                let left = steps.residual(mu, 1.0, &lambda, &sigma(&lambda));
                assert!(left.iter().all(|x| x.abs() < 1e-9), "{mu} {i}: {lambda:?} {left:?}");
            }
        }
    }

    /// As much is given way by as the speed falls short of the request, where the impulse is the cap or beyond.
    #[test]
    fn what_gives_way_is_known_by_impulse_and_speed() {
        let by = |request: f64, lambda, sigma| gives_way(0.5, request, 2.0, 1e-6, lambda, sigma);
        assert_eq!(by(0.4, 0.2, 0.0), 0.0);
        assert!((by(0.4, 0.5, -0.1) - 0.1).abs() < 1e-15);
        assert!((by(0.4, 0.9, -0.4) - 0.4).abs() < 1e-15);
        assert!((by(-0.4, -0.5, 0.1) + 0.1).abs() < 1e-15);
        // Beyond the request nothing is.
        assert_eq!(by(0.4, 0.5, 0.1), 0.0);
    }
}
