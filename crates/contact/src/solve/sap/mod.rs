//! SAP (Castro, Permenter & Han 2022, "An unconstrained convex formulation of compliant contact"): one convex problem in velocities, solved
//! to its minimum from anywhere.
//!
//! Problem: `min 1/2 |v - v*|_A^2 + 1/2 |P(y)|_R^2`, `y = -R^-1 (J v - v_hat)`, P the projection on the friction cones in the
//! metric R (eqs. 23, 24), `R = diag(R_t, R_t, R_n)`, `R_n = max(beta^2 |W_ii| / 4 pi^2, 1 / (h k (h + tau_d)))`,
//! `R_t = sigma |W_ii|` (eqs. 29, 30); `v_hat_n = -phi / (h + tau_d)` of contacts that have a stiffness k and a dissipation
//! time tau_d, else `-e_n`. Bilateral and unilateral rows are as stiff as near-rigid contacts, box rows as sticking ones;
//! soft rows are what they are. Optimality: `A v = b + J^T P(y(v))`, judged by its own norm (eq. 26): number 1 of the
//! certificate measures exact contact, from which the compliance, the creep of what sticks and, with friction, the lift of
//! what slides (`mu |sigma_t|` upward: the price of convexity) keep it away however well the problem is solved.
//!
//! Newton with a block-sparse factorization over subsystems and exact line search (section IV): it converges from any start.

mod batch;
mod island;
mod params;

use std::time::Duration;

use manyworlds_gpu::Instant;

use manyworlds_shaders::Scalar;

use super::iterate::{Phase, verdict};
use super::{
    BatchForm, ContactModel, Outcome, Precision, SolveSettings, SolveStatus, Solver, SolverParams, Stage, Workspace,
};
use crate::problem::ContactProblem;
pub use batch::settings;
use island::{IslandState, Step};
pub use params::SapParams;

/// See the module.
#[derive(Debug)]
pub(super) struct Sap;

impl Solver for Sap {
    fn name(&self) -> &'static str {
        "sap"
    }

    fn model(&self) -> ContactModel {
        ContactModel::Convex
    }

    fn batch(&self, _: u32) -> Option<BatchForm> {
        Some(batch::FORM)
    }

    fn finishes(&self) -> bool {
        true
    }

    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        SapParams::within(settings.tolerance).run(problem, settings)
    }

    fn responds(&self) -> bool {
        false
    }

    fn finish(&self, problem: &ContactProblem, settings: &SolveSettings, work: &mut Workspace) -> Outcome {
        let stage = Some(Stage::Sap);
        if settings.precision == Precision::F32 || settings.history {
            return Outcome { stage, ..self.solve(problem, settings) };
        }
        let (start, params) = (Instant::now(), SapParams::within(settings.tolerance));
        let outcome = iterate(problem, settings, &params, &mut work.sap, None);
        Outcome { stage, elapsed: start.elapsed(), ..outcome }
    }
}

/// States of islands, to be filled anew.
pub(super) struct Work<T>(Vec<IslandState<T>>);

impl<T> Default for Work<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// All islands side by side, each until it is solved; an iteration is a Newton step.
/// An island that breaks down keeps its last finite step.
fn iterate<T: Scalar>(
    problem: &ContactProblem,
    settings: &SolveSettings,
    params: &SapParams,
    work: &mut Work<T>,
    mut trace: Option<&mut Vec<Vec<f64>>>,
) -> Outcome {
    let mut lambda = problem.warm_start.clone();
    let start_v = problem.velocity(&lambda);
    let mut v = start_v.clone();
    let islands = &problem.plan.islands;
    if work.0.len() < islands.len() {
        work.0.resize_with(islands.len(), || IslandState::new(params));
    }
    let mut phases = Vec::with_capacity(islands.len());
    for (state, island) in work.0.iter_mut().zip(islands) {
        state.start(problem, island, &start_v, params);
        phases.push(Phase::Running(state));
    }
    for phase in &mut phases {
        let Phase::Running(state) = phase else { continue };
        match state.judge() {
            Step::Running => write(state, &mut lambda, &mut v),
            Step::Solved => {
                write(state, &mut lambda, &mut v);
                *phase = Phase::Done(SolveStatus::Converged);
            }
            Step::Broken => *phase = Phase::Done(SolveStatus::NonFinite),
        }
    }
    trace.iter_mut().for_each(|t| t.push(lambda.clone()));
    let mut iterations = 0;
    while iterations < settings.iterations && phases.iter().any(|p| matches!(p, Phase::Running(_))) {
        iterations += 1;
        for phase in &mut phases {
            let Phase::Running(state) = phase else { continue };
            let step = state.step();
            if step != Step::Broken {
                write(state, &mut lambda, &mut v);
            }
            match step {
                Step::Running => {}
                Step::Solved => *phase = Phase::Done(SolveStatus::Converged),
                Step::Broken => *phase = Phase::Done(SolveStatus::NonFinite),
            }
        }
        trace.iter_mut().for_each(|t| t.push(lambda.clone()));
    }
    let status = verdict(&phases);
    Outcome { status, iterations, outer: 0, stage: None, v, lambda, elapsed: Duration::ZERO, trace: Vec::new() }
}

/// Puts velocity and impulses of an island where the problem has them.
fn write<T: Scalar>(state: &IslandState<T>, lambda: &mut [f64], v: &mut [f64]) {
    state.convex.system.write_impulses(state.convex.lambda.iter().copied(), lambda);
    state.convex.system.write_velocity(&state.convex.v, v);
}
