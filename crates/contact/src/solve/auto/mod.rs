//! The default, which nobody need think about: a portfolio, island by island, that goes on to the next stage only where
//! the residual misses its tolerance.
//!
//! 1. Sweeps of projected Gauss-Seidel, then, on islands that are small enough, Newton steps on the Delassus operator
//!    written out: what batches do, on both executors.
//! 2. Newton steps on the same map in velocities ([`super::polish`]): for islands of any size, and with a smaller proximal
//!    weight, to which contacts pressed against each other by the same bodies owe their last digits; not where there are many
//!    more rows than degrees of freedom.
//! 3. CANAL, which needs no good start, with a few Newton steps now and then where eight outer iterations were not enough;
//!    of these some weigh velocities a thousand times as much against impulses, which tells apart what rests and what
//!    hardly slides. At last up to two hundred patient ones from where stage 2 began, with a weight that hardly shrinks and
//!    sweeps in between.
//! 4. A few more sweeps.
//!
//! An island keeps the best impulses that any stage found for it.
//!
//! What kernels in single precision leave of trees that are islands by themselves begins with the first stage again, in double
//! precision: of humanoids that solves 19 of 20, and CANAL, which had 14 of these, takes ten times as long. Where islands have several
//! trees it does not pay: an arch's steps took a fifth longer.

mod stages;

use manyworlds_gpu::Instant;

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island_newton::{FIRST, ROUNDS};

use super::iterate::{copy, measure};
use super::{BatchForm, Outcome, Precision, SolveSettings, SolveStatus, Solver, Stage, Workspace, pgs};
use crate::problem::ContactProblem;
pub(super) use stages::{Search, Watch};

/// Sweeps of kernels before the host goes on: with half as many clutter's steps took half as long again, with twice as many
/// those of dishes being piled twice as long.
const SWEEPS: u32 = 100;

/// So many times as many iterations as the kernels had, the host may take for what they left: few worlds are that hard,
/// and each costs only its own time.
pub(super) const PATIENCE: u32 = 10;

/// Sweeps at the end: where Newton steps and CANAL stalled these hardly ever help.
const MORE_SWEEPS: u32 = 200;

/// See the module.
#[derive(Debug)]
pub(super) struct Auto;

impl Solver for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn batch(&self, _: u32) -> Option<BatchForm> {
        Some(BatchForm { most_iterations: SWEEPS, ..pgs::NEWTON })
    }

    fn finishes(&self) -> bool {
        true
    }

    fn gives_up(&self) -> bool {
        true
    }

    fn takes_whole_steps(&self) -> bool {
        true
    }

    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        match settings.precision {
            Precision::F32 => run::<f32>(problem, settings),
            Precision::F64 => run::<f64>(problem, settings),
        }
    }

    fn finish(&self, problem: &ContactProblem, settings: &SolveSettings, _: &mut Workspace) -> Outcome {
        // As many again where patient steps may need them.
        let patience = if settings.patient { 2 * PATIENCE } else { PATIENCE };
        let settings = &SolveSettings { iterations: settings.iterations.saturating_mul(patience), ..*settings };
        if settings.again {
            return self.solve(problem, settings);
        }
        match settings.precision {
            Precision::F32 => finish::<f32>(problem, settings, settings.iterations),
            Precision::F64 => finish::<f64>(problem, settings, settings.iterations),
        }
    }
}

fn run<T: Scalar>(problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
    let first = SolveSettings { iterations: settings.iterations.min(FIRST + ROUNDS), ..*settings };
    let mut outcome = pgs::run::<T>(problem, &first, true);
    outcome.stage = Some(if outcome.iterations <= FIRST { Stage::Sweeps } else { Stage::Newton });
    let left = settings.iterations - first.iterations;
    if outcome.status == SolveStatus::Converged || left == 0 {
        return outcome;
    }
    if !outcome.lambda.iter().all(|x| x.is_finite()) {
        outcome.lambda.clone_from(&problem.warm_start);
    }
    go_on::<T>(problem, settings, left, outcome)
}

/// The stages that batches do not have as kernels, with so many iterations at most.
pub(super) fn finish<T: Scalar>(problem: &ContactProblem, settings: &SolveSettings, most: u32) -> Outcome {
    go_on::<T>(problem, settings, most, Outcome::unsolved(problem))
}

/// Stages 2 to 4, with so many iterations left.
fn go_on<T: Scalar>(problem: &ContactProblem, settings: &SolveSettings, left: u32, mut outcome: Outcome) -> Outcome {
    let start = Instant::now();
    let (searched, hopeless) = search::<T>(problem, settings, left, &mut outcome);
    outcome.elapsed += start.elapsed();
    let most = (left - searched).min(MORE_SWEEPS);
    if outcome.status == SolveStatus::Converged || most == 0 || hopeless {
        return outcome;
    }
    sweep::<T>(problem, settings, most, outcome)
}

/// Stages 2 and 3, into the outcome of the first: the iterations of the island that took most, and whether one asks for the
/// impossible.
fn search<T: Scalar>(
    problem: &ContactProblem,
    settings: &SolveSettings,
    left: u32,
    outcome: &mut Outcome,
) -> (u32, bool) {
    let mut scratch = problem.v_free.clone();
    let mut searched = Vec::new();
    outcome.status = SolveStatus::Converged;
    for island in &problem.plan.islands {
        if measure(problem, island, settings, &outcome.lambda, &mut scratch).0 {
            continue;
        }
        let mut own = Search::new(problem, island, settings, &outcome.lambda, left, Watch::Requests);
        match own.run::<T>() {
            Some(stage) => outcome.stage = outcome.stage.max(Some(stage)),
            None => outcome.status = SolveStatus::IterationLimit,
        }
        outcome.outer = outcome.outer.max(own.outer);
        searched.push((island, own));
    }
    let iterations = searched.iter().map(|(_, own)| own.iterations).max().unwrap_or(0);
    if settings.history {
        for k in 0..iterations as usize {
            let mut lambda = outcome.lambda.clone();
            for (island, own) in &searched {
                copy(problem, island, own.trace.get(k).unwrap_or(&own.best), &mut lambda);
            }
            outcome.trace.push(lambda);
        }
    }
    searched.iter().for_each(|(island, own)| copy(problem, island, &own.best, &mut outcome.lambda));
    outcome.v = problem.velocity(&outcome.lambda);
    outcome.iterations += iterations;
    (iterations, searched.iter().any(|(_, own)| own.is_hopeless()))
}

/// Stage 4: the outcome with further sweeps, each island's only where they made it better.
fn sweep<T: Scalar>(problem: &ContactProblem, settings: &SolveSettings, most: u32, mut outcome: Outcome) -> Outcome {
    let warm = ContactProblem { warm_start: outcome.lambda.clone(), ..problem.clone() };
    let swept = pgs::run::<T>(&warm, &SolveSettings { iterations: most, ..*settings }, false);
    let mut scratch = problem.v_free.clone();
    outcome.status = SolveStatus::Converged;
    for island in &problem.plan.islands {
        let [(solved, before), (also, after)] =
            [&outcome.lambda, &swept.lambda].map(|lambda| measure(problem, island, settings, lambda, &mut scratch));
        if !solved && also {
            outcome.stage = outcome.stage.max(Some(Stage::MoreSweeps));
        }
        if !solved && !also {
            outcome.status = SolveStatus::IterationLimit;
        }
        if !solved && after < before {
            copy(problem, island, &swept.lambda, &mut outcome.lambda);
        }
    }
    outcome.v = problem.velocity(&outcome.lambda);
    outcome.iterations += swept.iterations;
    outcome.elapsed += swept.elapsed;
    outcome.trace.extend(swept.trace.into_iter().skip(1));
    outcome
}
