//! What solvers share that iterate all islands of a problem side by side, each until it is solved.

use manyworlds_gpu::Instant;

use manyworlds_collide::organise::Island;

use super::{Outcome, Precision, SolveSettings, SolveStatus};
use crate::problem::ContactProblem;
use crate::residual::{island_residual, island_scaled_residual};

/// Whether an island is solved at these impulses, and its residual, N s; `v`, `[n_v]`, gets the velocity that they give.
pub(super) fn measure(
    problem: &ContactProblem,
    island: &Island,
    settings: &SolveSettings,
    lambda: &[f64],
    v: &mut [f64],
) -> (bool, f64) {
    let residual = island_residual(problem, island, lambda, v);
    let by_scale = || residual.is_finite() && island_scaled_residual(problem, island, lambda, v) <= settings.tolerance;
    let solved = residual <= settings.tolerance || settings.precision == Precision::F32 && by_scale();
    (solved, residual)
}

/// Copies the impulses of one island, `[n_rows]` of the problem.
pub(super) fn copy(problem: &ContactProblem, island: &Island, from: &[f64], to: &mut [f64]) {
    for &i in problem.plan.constraints_of(island) {
        let c = &problem.constraints[i as usize];
        let own = c.row..c.row + c.law.rows();
        to[own.clone()].copy_from_slice(&from[own]);
    }
}

/// An island while it is iterated, or how that ended.
pub(super) enum Phase<S> {
    /// It goes on from this state.
    Running(S),
    /// It does not.
    Done(SolveStatus),
}

/// What the islands came to together.
pub(super) fn verdict<S>(phases: &[Phase<S>]) -> SolveStatus {
    let any = |status| phases.iter().any(|p| matches!(p, Phase::Done(s) if *s == status));
    if any(SolveStatus::NonFinite) {
        SolveStatus::NonFinite
    } else if any(SolveStatus::IterationLimit) || phases.iter().any(|p| matches!(p, Phase::Running(_))) {
        SolveStatus::IterationLimit
    } else {
        SolveStatus::Converged
    }
}

/// Times a solve. The impulses after each iteration, where they are wanted, are those of a second one: keeping them
/// takes time.
pub(super) fn timed(settings: &SolveSettings, iterate: impl Fn(Option<&mut Vec<Vec<f64>>>) -> Outcome) -> Outcome {
    let start = Instant::now();
    let mut outcome = iterate(None);
    outcome.elapsed = start.elapsed();
    if settings.history {
        let mut trace = Vec::new();
        iterate(Some(&mut trace));
        outcome.trace = trace;
    }
    outcome
}
