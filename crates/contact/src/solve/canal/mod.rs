//! CANAL (Lee 2024, section V, algorithm 1): cascaded Newton steps on the augmented Lagrangian.
//!
//! Problem: `A v = b + J^T lambda` with the law of every constraint on `sigma^ = J v + e`. With slacks `z = J v`,
//! multipliers `u = -lambda` and the De Saxce shift `e~ = e + [0, 0, mu |z_t + e_t|]` frozen, an outer iteration minimizes
//! the strongly convex `1/2 v^T A v - b^T v + sum |lambda_i(v)|^2 / (2 beta_i)`, `lambda_i(v)` the closed form of the law
//! for `lambda* = -beta_i J_i v - u_i - beta_i e~_i`, a contact's the Euclidean projection on its cone. Newton:
//! `(A + beta J^T P J) d = -(A v - b - J^T lambda)`, P the closed form's derivative (eq. 23), by a block-sparse
//! factorization over subsystems; then the exact zero of the derivative along d. Fixed point, and so optimality: the NCP.
//!
//! Where everything sticks it converges superlinearly whatever the masses; where contacts slide, the frozen shift is a
//! fixed-point iteration, linear at best by itself, and with much friction may not converge.
//!
//! Departures from the paper, all parameters or measured to be no worse: after the first outer iteration the inner problem
//! is first tried with the shift of its own slack (`strict.rs`), which takes its error out of the outer iterations, and
//! frozen where that finds no way down, the shift then mixed by Anderson's method (`shift.rs`); a penalty in effective
//! masses, less where a body has more rows than it needs; one that does not grow where the shift's own motion explains the
//! gap `|J v - z|`; inner problems solved only as well as the outer iteration can use.
//! The certificate (residual number 1), not `|J v - z|`, decides when an island is solved; it is computed in f64.

mod batch;
mod island;
mod params;
mod shift;
mod strict;

use std::time::Duration;

use manyworlds_shaders::Scalar;

use super::iterate::{Phase, measure, verdict};
use super::{BatchForm, Outcome, SolveSettings, SolveStatus, Solver, SolverParams, Stage, Workspace};
use crate::problem::ContactProblem;
pub use batch::settings;
pub(super) use island::{IslandState, Step};
pub use params::CanalParams;

/// See the module.
#[derive(Debug)]
pub(super) struct Canal;

impl Solver for Canal {
    fn name(&self) -> &'static str {
        "canal"
    }

    fn batch(&self, _: u32) -> Option<BatchForm> {
        Some(batch::FORM)
    }

    fn finishes(&self) -> bool {
        true
    }

    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        CanalParams::default().run(problem, settings)
    }

    fn finish(&self, problem: &ContactProblem, settings: &SolveSettings, _: &mut Workspace) -> Outcome {
        Outcome { stage: Some(Stage::Canal), ..self.solve(problem, settings) }
    }
}

/// All islands side by side, each until it is solved; an iteration is a Newton step.
/// An island that breaks down keeps its last outer iteration.
fn iterate<T: Scalar>(
    problem: &ContactProblem,
    settings: &SolveSettings,
    params: &CanalParams,
    mut trace: Option<&mut Vec<Vec<f64>>>,
) -> Outcome {
    let islands = &problem.plan.islands;
    let mut lambda = problem.warm_start.clone();
    let mut v = problem.velocity(&lambda);
    let mut scratch = v.clone();
    let mut solved = |island, lambda: &[f64]| measure(problem, island, settings, lambda, &mut scratch).0;
    let mut phases: Vec<Phase<Box<IslandState<T>>>> = islands
        .iter()
        .map(|island| match solved(island, &lambda) {
            true => Phase::Done(SolveStatus::Converged),
            false => Phase::Running(Box::new(IslandState::new(problem, island, &lambda, params))),
        })
        .collect();
    let (mut iterations, mut outer) = (0, 0);
    trace.iter_mut().for_each(|t| t.push(lambda.clone()));
    while iterations < settings.iterations && phases.iter().any(|p| matches!(p, Phase::Running(_))) {
        iterations += 1;
        let last = iterations == settings.iterations;
        for (island, phase) in islands.iter().zip(&mut phases) {
            let Phase::Running(state) = phase else { continue };
            let step = state.step();
            if step == Step::Broken {
                *phase = Phase::Done(SolveStatus::NonFinite);
                continue;
            }
            if step == Step::Outer || last || trace.is_some() {
                state.impulses(&mut lambda);
                state.velocity(&mut v);
            }
            if step == Step::Inner {
                continue;
            }
            outer = outer.max(state.outer);
            if solved(island, &lambda) {
                *phase = Phase::Done(SolveStatus::Converged);
            } else if state.outer == params.outer {
                *phase = Phase::Done(SolveStatus::IterationLimit);
            } else {
                state.update();
            }
        }
        trace.iter_mut().for_each(|t| t.push(lambda.clone()));
    }
    let status = verdict(&phases);
    Outcome { status, iterations, outer, stage: None, v, lambda, elapsed: Duration::ZERO, trace: Vec::new() }
}
