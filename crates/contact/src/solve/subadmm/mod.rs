//! SubADMM (Lee 2024, section VI, algorithm 2): the alternating direction method of multipliers split at subsystems.
//!
//! Problem: `A v = b + J^T lambda` with the law of every constraint on `sigma^ = J v + e`. Constraint i has a slack
//! `z_ij = J_ij v_j` for every subsystem j that it touches (eq. 30), or for every body where the problem's `parts` say
//! so (eq. 31); each subsystem solves its own linear system, each constraint its closed form (eqs. 40, 41) with
//! `u_ij = -lambda_i`. Fixed point, and so optimality: `J_ij v_j = z_ij` and `A_j v_j = b_j + sum_i J_ij^T lambda_i`.
//!
//! Departures from the paper, both parameters: a penalty of its own for each constraint, and over-relaxation. A penalty
//! starts from the constraint's effective mass and is adapted by the constraint's own residuals. Where contacts are
//! redundant, the impulses of a few drift along what moves nothing, by `beta (J v - z)` an iteration, until one of them
//! opens or slides: their primal residual stays and their dual one vanishes. One penalty for all hardly answers to so
//! few; their own grow until the drift is short.
//!
//! A subsystem's matrix is dense here. The certificate (residual number 1), not the splitting's own residuals, decides
//! when an island is solved; it is computed in f64.

mod batch;
mod island;
mod pack;
mod params;
mod single;

use std::time::Duration;

use manyworlds_shaders::Scalar;

use super::iterate::{Phase, copy, measure, verdict};
use super::{BatchForm, Outcome, SolveSettings, SolveStatus, Solver, SolverParams};
use crate::problem::ContactProblem;
use island::IslandState;
pub use pack::SplitPack;
pub use params::{Penalty, SubAdmmParams};
pub use single::{SingleProblem, Splitting};

/// See the module.
#[derive(Debug)]
pub(super) struct SubAdmm;

impl Solver for SubAdmm {
    fn name(&self) -> &'static str {
        "subadmm"
    }

    fn batch(&self, _: u32) -> Option<BatchForm> {
        Some(batch::FORM)
    }

    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        SubAdmmParams::default().run(problem, settings)
    }
}

/// All islands side by side, each until it is solved. An island that breaks down keeps the impulses it began with.
fn iterate<T: Scalar>(
    problem: &ContactProblem,
    settings: &SolveSettings,
    params: &SubAdmmParams,
    mut trace: Option<&mut Vec<Vec<f64>>>,
) -> Outcome {
    let islands = &problem.plan.islands;
    let mut lambda = problem.warm_start.clone();
    let mut v = problem.velocity(&lambda);
    let mut scratch = v.clone();
    let mut solved = |island, lambda: &[f64]| measure(problem, island, settings, lambda, &mut scratch).0;
    let mut phases: Vec<Phase<IslandState<T>>> = islands
        .iter()
        .map(|island| {
            if solved(island, &lambda) {
                return Phase::Done(SolveStatus::Converged);
            }
            IslandState::new(problem, island, params).map_or(Phase::Done(SolveStatus::NonFinite), Phase::Running)
        })
        .collect();
    let mut iterations = 0;
    trace.iter_mut().for_each(|t| t.push(lambda.clone()));
    while iterations < settings.iterations && phases.iter().any(|p| matches!(p, Phase::Running(_))) {
        iterations += 1;
        let last = iterations == settings.iterations;
        for (island, phase) in islands.iter().zip(&mut phases) {
            let Phase::Running(state) = phase else { continue };
            if !state.step() {
                restore(problem, island, &mut lambda, &mut v);
                *phase = Phase::Done(SolveStatus::NonFinite);
                continue;
            }
            let check = last || iterations.is_multiple_of(params.check_every);
            if check || trace.is_some() {
                state.impulses(&mut lambda);
            }
            if check && solved(island, &lambda) {
                state.velocity(&mut v);
                *phase = Phase::Done(SolveStatus::Converged);
            } else if last {
                state.velocity(&mut v);
            }
        }
        trace.iter_mut().for_each(|t| t.push(lambda.clone()));
    }
    let status = verdict(&phases);
    Outcome { status, iterations, outer: 0, stage: None, v, lambda, elapsed: Duration::ZERO, trace: Vec::new() }
}

/// The impulses an island began with, and the velocities they give.
fn restore(problem: &ContactProblem, island: &manyworlds_collide::organise::Island, lambda: &mut [f64], v: &mut [f64]) {
    let plan = &problem.plan;
    copy(problem, island, &problem.warm_start, lambda);
    let start = problem.velocity(&problem.warm_start);
    for &s in plan.members_of(island) {
        let s = &problem.subsystems[s as usize];
        let own = s.begin..s.begin + s.count;
        v[own.clone()].copy_from_slice(&start[own]);
    }
}
