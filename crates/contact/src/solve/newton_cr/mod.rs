//! Non-smooth Newton with conjugate residuals (Macklin 2019), matrix-free and island by island.
//!
//! Problem, on impulses at the velocity level: `A v = b + J^T lambda`; for normal impulses `phi(sigma^_n, r lambda_n) = 0`,
//! phi the minimum map or Fischer-Burmeister; for friction the fixed point `sigma^_t + W lambda_t = 0`, W by slip and cone
//! (eqs. 31-36); bilateral, soft and box rows as they are. Optimality: the NCP.
//!
//! Newton: with derivatives `(phi_a, phi_b)` of an active row, `(G + diag(r phi_b / phi_a)) dlambda = -phi / phi_a`, and
//! `(G + W) dlambda_t = -(sigma^_t + W lambda_t)`, W held: symmetric, solved by conjugate residuals with a diagonal
//! preconditioner; `G x` by responses, never written out. Divided by `phi_a` the rows are those of Newton's method itself,
//! which the printed form, with `phi_a J` on both sides, is only where `phi_a` is 0 or 1.
//!
//! Where everything sticks a handful of steps does; where contacts slide, a W that is held makes the iteration cycle, and
//! Newton steps on the strict map (`polish.rs`), which know how the cone follows the normal impulse, finish it.

mod batch;
mod island;
mod ncp;
mod pack;
mod params;
mod residual;
mod single;

use std::time::Duration;

use manyworlds_collide::organise::Island;
use manyworlds_shaders::Scalar;

use super::auto;
use super::iterate::{Phase, copy, measure, verdict};
use super::polish::{Polish, Trust};
use super::{BatchForm, Outcome, SolveSettings, SolveStatus, Solver, SolverParams, Stage, Workspace};
use crate::problem::ContactProblem;
pub use batch::settings;
use island::IslandState;
pub use pack::ResidualPack;
pub use params::{NcpFunction, NewtonCrParams, Scaling};
pub use single::ResidualProblem;

/// A full step is taken after one that brought the residual to this share.
const FELL: f64 = 0.5;
/// Newton steps before the finishing stage, where kernels have taken some.
const AGAIN: u32 = 6;
/// Finishing steps that trust the map, before those that are more careful.
const QUICK: u32 = 12;
/// The careful ones before the stages of `auto`, which need no good start: on hundreds of contacts at once, as where tables
/// land on tables, more of the same creep.
const CAREFUL: u32 = 30;

/// See the module.
#[derive(Debug)]
pub(super) struct NewtonCr;

impl Solver for NewtonCr {
    fn name(&self) -> &'static str {
        "newton-cr"
    }

    fn batch(&self, _: u32) -> Option<BatchForm> {
        Some(batch::FORM)
    }

    fn finishes(&self) -> bool {
        true
    }

    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        NewtonCrParams::default().run(problem, settings)
    }

    fn finish(&self, problem: &ContactProblem, settings: &SolveSettings, _: &mut Workspace) -> Outcome {
        let iterations = settings.iterations.saturating_mul(auto::PATIENCE);
        // Where the kernels' steps did not converge, many more of the same will not.
        let params = NewtonCrParams { finish_after: Some(AGAIN), ..NewtonCrParams::batches() };
        let first = SolveSettings { iterations: iterations.min(AGAIN + QUICK + CAREFUL), ..*settings };
        let own = Outcome { stage: Some(Stage::NewtonCr), ..params.run(problem, &first) };
        let left = iterations - first.iterations;
        if own.status == SolveStatus::Converged || left == 0 || !own.lambda.iter().all(|x| x.is_finite()) {
            return own;
        }
        let last = auto::finish::<f64>(&ContactProblem { warm_start: own.lambda, ..problem.clone() }, settings, left);
        Outcome {
            stage: last.stage.or(Some(Stage::NewtonCr)),
            iterations: own.iterations + last.iterations,
            elapsed: own.elapsed + last.elapsed,
            ..last
        }
    }
}

/// What takes the steps of an island.
enum Method<T: Scalar> {
    /// Steps on NCP functions.
    Ncp(Box<IslandState<T>>),
    /// Steps on the strict map, so many so far, and whether they are the careful ones.
    Strict(Box<Polish<T>>, u32, bool),
}

/// An island while it is solved.
struct Search<'a, T: Scalar> {
    problem: &'a ContactProblem,
    island: &'a Island,
    params: &'a NewtonCrParams,
    method: Method<T>,
    steps: u32,
    /// Best impulses so far, `[n_rows]` of the problem, and their residual.
    best: Vec<f64>,
    residual: f64,
    /// Of the last step.
    last: f64,
    fell: bool,
}

impl<'a, T: Scalar> Search<'a, T> {
    fn new(
        problem: &'a ContactProblem,
        island: &'a Island,
        params: &'a NewtonCrParams,
        lambda: &[f64],
        residual: f64,
    ) -> Self {
        let method = Method::Ncp(Box::new(IslandState::new(problem, island, lambda, params)));
        let best = lambda.to_vec();
        Self { problem, island, params, method, steps: 0, best, residual, last: residual, fell: false }
    }

    /// One step: false when no method has one any more.
    fn step(&mut self, lambda: &mut [f64]) -> bool {
        self.steps += 1;
        let share = if self.fell { T::lit(1.0) } else { T::from_f64(self.params.damping) };
        let went = match &mut self.method {
            Method::Ncp(state) => {
                let went = state.step(share);
                state.impulses(lambda);
                went
            }
            Method::Strict(polish, rounds, _) => {
                *rounds += 1;
                let went = polish.round();
                polish.impulses(lambda);
                went
            }
        };
        went || self.finish(true)
    }

    /// Takes in what a step came to.
    fn note(&mut self, lambda: &[f64], residual: f64) {
        self.fell = residual < FELL * self.last;
        self.last = residual;
        if residual < self.residual {
            self.residual = residual;
            self.best.copy_from_slice(lambda);
        }
        self.finish(false);
    }

    /// Goes on to the next method, at once or when its time has come: whether there is one.
    fn finish(&mut self, at_once: bool) -> bool {
        let Some(after) = self.params.finish_after else { return false };
        let (next, careful) = match &self.method {
            Method::Ncp(_) => (at_once || after <= self.steps, false),
            Method::Strict(_, rounds, false) => (at_once || QUICK <= *rounds, true),
            Method::Strict(_, _, true) => return false,
        };
        if next {
            let trust = if careful { Trust::PATIENT } else { Trust::QUICK };
            let polish = Polish::new(self.problem, self.island, &self.best, trust);
            self.method = Method::Strict(Box::new(polish), 0, careful);
        }
        true
    }
}

/// All islands side by side, each until it is solved; an iteration is a Newton step.
/// An island that is not keeps its best impulses.
fn iterate<T: Scalar>(
    problem: &ContactProblem,
    settings: &SolveSettings,
    params: &NewtonCrParams,
    mut trace: Option<&mut Vec<Vec<f64>>>,
) -> Outcome {
    let islands = &problem.plan.islands;
    let mut lambda = problem.warm_start.clone();
    let mut scratch = problem.v_free.clone();
    let mut measure = |island, lambda: &[f64]| measure(problem, island, settings, lambda, &mut scratch);
    let mut phases: Vec<Phase<Box<Search<'_, T>>>> = islands
        .iter()
        .map(|island| match measure(island, &lambda) {
            (true, _) => Phase::Done(SolveStatus::Converged),
            (false, residual) => Phase::Running(Box::new(Search::new(problem, island, params, &lambda, residual))),
        })
        .collect();
    let mut iterations = 0;
    trace.iter_mut().for_each(|t| t.push(lambda.clone()));
    while iterations < settings.iterations && phases.iter().any(|p| matches!(p, Phase::Running(_))) {
        iterations += 1;
        for (island, phase) in islands.iter().zip(&mut phases) {
            let Phase::Running(search) = phase else { continue };
            let goes_on = search.step(&mut lambda);
            let (solved, residual) = measure(island, &lambda);
            search.note(&lambda, residual);
            if solved {
                *phase = Phase::Done(SolveStatus::Converged);
            } else if !goes_on {
                copy(problem, island, &search.best, &mut lambda);
                *phase = Phase::Done(SolveStatus::IterationLimit);
            }
        }
        trace.iter_mut().for_each(|t| t.push(lambda.clone()));
    }
    for (island, phase) in islands.iter().zip(&phases) {
        if let Phase::Running(search) = phase {
            copy(problem, island, &search.best, &mut lambda);
        }
    }
    let v = problem.velocity(&lambda);
    let status = verdict(&phases);
    Outcome { status, iterations, outer: 0, stage: None, v, lambda, elapsed: Duration::ZERO, trace: Vec::new() }
}
