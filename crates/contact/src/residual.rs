//! How good a solution is, by the formulas and in plain f64: the truth that every solver is measured against.
//!
//! Nothing here shares code with the kernels.

use manyworlds_collide::organise::Island;

use crate::problem::{Constraint, ContactProblem, Law, Steps};

/// The measures of section 3 of the mathematics, for one problem.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Quality {
    /// `|lambda - T(lambda - J v - e)| / max(n_contacts, 1)` with `v = A^-1 (b + J^T lambda)`, N s: zero exactly at a
    /// solution.
    pub residual: f64,
    /// `max_i |lambda_i - T(lambda_i - rho_i sigma^_i)| / rho_i`, `rho_i = 3 / trace(G_ii)`, m/s.
    pub residual_scaled: f64,
    /// `|D (A v - b - J^T lambda)| / max(|D A v|, |D J^T lambda|)`, `D = diag(A)^-1/2` (Castro 2022, eq. 32), of the
    /// solver's own `v`.
    pub momentum_error: f64,
    /// Mean of `|lambda . (sigma^ + [0, 0, mu |sigma^_t|])|` over contacts, relative to `1/2 |v - v_free|_A^2`
    /// (Castro 2022, eq. 33, with the De Saxce shift).
    pub complementarity_error: f64,
}

/// The closed form `T` of a law: the impulse for `beta = step`, `u = -lambda` (Lee 2024, eqs. 14-18).
#[must_use]
pub fn closed_form(law: Law, step: f64, lambda: [f64; 3], sigma: [f64; 3], e: [f64; 3]) -> [f64; 3] {
    capped_form(law, f64::INFINITY, step, lambda, sigma, e)
}

/// The same where the bias may give way: see [`Steps`].
#[inline(always)]
fn capped_form(law: Law, cap: f64, step: f64, lambda: [f64; 3], sigma: [f64; 3], e: [f64; 3]) -> [f64; 3] {
    let mut star: [f64; 3] = std::array::from_fn(|r| lambda[r] - step * (sigma[r] + e[r]));
    match law {
        // A contact asks for one direction alone: below the cap, at it, beyond.
        Law::Contact { .. } => star[2] = star[2].min(cap.max(star[2] - step * law.request(e[2]))),
        _ if cap.is_finite() => {
            law.requests().for_each(|r| star[r] = Steps { cap, request: law.request(e[r]) }.map(step, star[r]).0);
        }
        _ => {}
    }
    match law {
        Law::Contact { mu } => {
            let n = star[2].max(0.0);
            // Not `hypot`: its care for numbers whose squares overflow takes an eighth of a hard step. Nor a root where it sticks.
            let (square, radius) = (star[0] * star[0] + star[1] * star[1], mu * n);
            let shrink = if square > radius * radius { radius / square.sqrt() } else { 1.0 };
            [star[0] * shrink, star[1] * shrink, n]
        }
        Law::Block => star,
        Law::Bilateral => [star[0], 0.0, 0.0],
        Law::Unilateral => [star[0].max(0.0), 0.0, 0.0],
        Law::Soft { k, b, lo, hi } => {
            let free = (b * (lambda[0] - step * sigma[0]) - step * k * e[0]) / (b + step);
            [free.clamp(lo, hi), 0.0, 0.0]
        }
        Law::Box { lo, hi } => [star[0].clamp(lo, hi), 0.0, 0.0],
    }
}

/// `|lambda - T(..)|` of a law whose bias never gives way.
pub(crate) fn defect_of(law: Law, step: f64, lambda: [f64; 3], sigma: [f64; 3], e: [f64; 3]) -> f64 {
    let t = closed_form(law, step, lambda, sigma, e);
    lambda.iter().zip(t).map(|(l, t)| (l - t).powi(2)).sum::<f64>().sqrt()
}

/// `|lambda_i - T(..)|^2` of one constraint.
#[inline(always)]
fn squared_defect(c: &Constraint, step: f64, lambda: &[f64], sigma: [f64; 3]) -> f64 {
    let own = match lambda[c.row..c.row + c.law.rows()] {
        [a, b, c] => [a, b, c],
        ref row => [row[0], 0.0, 0.0],
    };
    let t = capped_form(c.law, c.cap, step, own, sigma, c.e);
    own.iter().zip(t).map(|(l, t)| (l - t).powi(2)).sum()
}

/// Its root.
fn defect(c: &Constraint, step: f64, lambda: &[f64], sigma: [f64; 3]) -> f64 {
    squared_defect(c, step, lambda, sigma).sqrt()
}

/// `|lambda_i - T(..)| / rho_i`, m/s; zero where the constraint moves nothing.
fn scaled_defect(c: &Constraint, lambda: &[f64], sigma: [f64; 3]) -> f64 {
    let rho = c.mass();
    if rho == 0.0 { 0.0 } else { defect(c, rho, lambda, sigma) / rho }
}

/// Residual (number 1) of one island at impulses `[n_rows]`, N s; writes the velocity that they give to `v`, `[n_v]`.
pub(crate) fn island_residual(problem: &ContactProblem, island: &Island, lambda: &[f64], v: &mut [f64]) -> f64 {
    problem.island_velocity(island, lambda, v);
    let (mut square, mut contacts) = (0.0, 0);
    for c in problem.plan.constraints_of(island).iter().map(|&i| &problem.constraints[i as usize]) {
        square += squared_defect(c, 1.0, lambda, problem.sigma(c, v));
        contacts += usize::from(matches!(c.law, Law::Contact { .. }));
    }
    square.sqrt() / contacts.max(1) as f64
}

/// Scaled residual of one island at impulses `[n_rows]` and the velocity that they give, m/s.
pub(crate) fn island_scaled_residual(problem: &ContactProblem, island: &Island, lambda: &[f64], v: &[f64]) -> f64 {
    let of = |&i: &u32| {
        let c = &problem.constraints[i as usize];
        scaled_defect(c, lambda, problem.sigma(c, v))
    };
    problem.plan.constraints_of(island).iter().map(of).fold(0.0, f64::max)
}

/// What impulses and a velocity leave of the laws of an island.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IslandResidual {
    /// As in [`Quality`], with the island's contacts, N s.
    pub residual: f64,
    /// As in [`Quality`], m/s.
    pub residual_scaled: f64,
    /// Its contacts.
    pub contacts: usize,
}

/// By island, the laws at impulses `[n_rows]` and a velocity `[n_v]` that need not be just what they give: one that was
/// rounded.
pub fn by_island<'a>(
    problem: &'a ContactProblem,
    lambda: &'a [f64],
    v: &'a [f64],
) -> impl Iterator<Item = IslandResidual> + 'a {
    problem.plan.islands.iter().map(|island| laws(problem, island, lambda, v))
}

fn laws(problem: &ContactProblem, island: &Island, lambda: &[f64], v: &[f64]) -> IslandResidual {
    let (mut square, mut scaled, mut contacts) = (0.0, 0.0f64, 0);
    for &i in problem.plan.constraints_of(island) {
        let c = &problem.constraints[i as usize];
        let sigma = problem.sigma(c, v);
        square += squared_defect(c, 1.0, lambda, sigma);
        scaled = scaled.max(scaled_defect(c, lambda, sigma));
        contacts += usize::from(matches!(c.law, Law::Contact { .. }));
    }
    IslandResidual { residual: f64::sqrt(square) / contacts.max(1) as f64, residual_scaled: scaled, contacts }
}

/// By constraint, `|lambda_i - T(..)|`, N s, whose squares [`Quality::residual`] sums up; `v` as in [`by_island`].
pub fn by_constraint<'a>(
    problem: &'a ContactProblem,
    lambda: &'a [f64],
    v: &'a [f64],
) -> impl Iterator<Item = f64> + 'a {
    problem.constraints.iter().map(|c| defect(c, 1.0, lambda, problem.sigma(c, v)))
}

/// Measures impulses, and the velocity that a solver gave with them.
///
/// `lambda` is `[n_rows]`, `v` is `[n_v]`; only `momentum_error` looks at `v`.
#[must_use]
pub fn quality(problem: &ContactProblem, lambda: &[f64], v: &[f64]) -> Quality {
    let exact = problem.velocity(lambda);
    let (mut square, mut scaled, mut slack) = (0.0, 0.0f64, 0.0);
    for c in &problem.constraints {
        let sigma = problem.sigma(c, &exact);
        square += squared_defect(c, 1.0, lambda, sigma);
        scaled = scaled.max(scaled_defect(c, lambda, sigma));
        if let Law::Contact { mu } = c.law {
            let hat: [f64; 3] = std::array::from_fn(|r| sigma[r] + c.e[r]);
            let shifted = [hat[0], hat[1], hat[2] + mu * hat[0].hypot(hat[1])];
            slack += (0..3).map(|r| lambda[c.row + r] * shifted[r]).sum::<f64>().abs();
        }
    }
    let contacts = problem.n_contacts.max(1) as f64;
    let change: Vec<f64> = exact.iter().zip(&problem.v_free).map(|(v, f)| v - f).collect();
    let energy = 0.5 * problem.momentum(&change).iter().zip(&change).map(|(p, d)| p * d).sum::<f64>();
    Quality {
        residual: square.sqrt() / contacts,
        residual_scaled: scaled,
        momentum_error: momentum_error(problem, lambda, v),
        complementarity_error: ratio(slack / contacts, energy),
    }
}

/// Zero by zero is zero: nothing happened.
fn ratio(x: f64, y: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x / y }
}

fn momentum_error(problem: &ContactProblem, lambda: &[f64], v: &[f64]) -> f64 {
    let p = problem.momentum(v);
    let j = problem.generalized_impulse(lambda);
    let (mut gradient, mut momentum, mut impulse) = (0.0, 0.0, 0.0);
    for s in &problem.subsystems {
        for i in 0..s.count {
            let (dof, weight) = (s.begin + i, 1.0 / problem.diagonal(s, i));
            gradient += weight * (p[dof] - problem.b[dof] - j[dof]).powi(2);
            momentum += weight * p[dof].powi(2);
            impulse += weight * j[dof].powi(2);
        }
    }
    ratio(gradient.sqrt(), f64::max(momentum, impulse).sqrt())
}
