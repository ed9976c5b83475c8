//! What solvers share that iterate all islands of a problem side by side, each until it is solved.

use manyworlds_gpu::Instant;

use manyworlds_collide::organise::Island;

use super::{Outcome, Precision, SolveSettings, SolveStatus};
use crate::problem::ContactProblem;
use crate::residual::island_residual;

/// Whether an island is solved at these impulses, and its residual, N s; `scratch` is `[n_v]`.
pub(super) fn measure(
    problem: &ContactProblem,
    island: &Island,
    settings: &SolveSettings,
    lambda: &[f64],
    scratch: &mut [f64],
) -> (bool, f64) {
    let (residual, scaled) = island_residual(problem, island, lambda, scratch);
    let single = settings.precision == Precision::F32;
    (residual <= settings.tolerance || (single && scaled <= settings.tolerance), residual)
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
