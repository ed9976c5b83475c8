//! The step of a world with soft bodies: Newton's method about the velocity, with exact contact in each round.
//!
//! A round linearises the soft bodies' forces about a velocity and solves the contact problem of that. The next one does so
//! about the answer, until the answer meets the nonlinear balance of momentum: what is left of that, on all degrees of
//! freedom of soft bodies, is at most the solver's tolerance.

use manyworlds_contact::ContactProblem;
use manyworlds_contact::solve::{Before, Outcome, Relaxation, SolveSettings, Workspace, finish};
use manyworlds_shaders::Scalar;

use super::super::problem::{Responses, WorldProblem, Worlds};
use super::super::shared::Shared;
use super::super::soft::{Linearised, SoftStep};
use crate::host::Packed;

/// Rounds at most.
const ROUNDS: usize = 40;

/// How often a round's way is halved at most.
const HALVINGS: usize = 20;

/// What a whole way must take at least off what there was where it began, for the impulses that it found.
const ENOUGH: f64 = 0.1;

/// Ways shorter than this share make the next round one of positive definite elements.
const SHORT: f64 = 0.25;

/// A problem and its answer.
pub(super) struct Round {
    pub(super) problem: WorldProblem,
    pub(super) outcome: Outcome,
    pub(super) relaxed: Vec<Relaxation>,
    /// What is left of the nonlinear balance of momentum, N s.
    pub(super) momentum: f64,
    /// The velocity where the way to that of the answer was not gone to its end.
    pub(super) on_the_way: Option<Vec<f64>>,
}

/// Solves a world's step. None: its numbers are not finite, or no round has a problem.
pub(super) fn nonlinear<T: Scalar>(
    shared: &Shared<T>,
    host: &Packed<'_, T>,
    worlds: &Worlds<'_, T>,
    world: usize,
    memory: ContactProblem,
    settings: &SolveSettings,
    work: &mut Workspace,
) -> Option<Round> {
    let steps = worlds.soft(shared, host, world);
    let before = worlds.before(shared, world);
    if !before.iter().all(|x| x.is_finite()) {
        return None;
    }
    let span = |soft: usize| shared.model.trees[shared.soft[soft].tree].v.clone();
    let tree = |soft: usize| shared.carrier_dofs(soft);
    let mut v = before.clone();
    let mut memory = Some(memory);
    let (mut impulse, mut last) = (None, f64::INFINITY);
    let (mut best, mut careful) = (None, false);
    for round in 0..ROUNDS {
        let about = |projected: bool| -> Vec<Linearised> {
            let each = steps.iter().zip(&shared.soft).enumerate();
            each.map(|(i, (step, soft))| step.about(&soft.system, &v[span(i)], projected)).collect()
        };
        let problem_of = |projected, memory| {
            worlds.world(shared, host, world, memory, Responses::of(shared.solver), (&steps, about(projected)))
        };
        // Where a stretched or buckled body has no positive definite matrix, its elements are made so: that only slows the
        // rounds down.
        let (mut problem, projected) = match problem_of(careful, memory.take().unwrap_or_default()) {
            Ok(problem) => (problem, careful),
            Err(_) => (problem_of(true, ContactProblem::default()).ok()?, true),
        };
        let start = impulse.take().unwrap_or_else(|| problem.impulse.clone());
        if start.iter().all(|x: &f64| x.is_finite()) {
            problem.problem.warm_start.copy_from_slice(&start);
        }
        problem.problem.v_start.clone_from(&v);
        let (outcome, relaxed) = solve_sparse(shared, &mut problem.problem, settings, work);
        let found = problem.problem.velocity(&outcome.lambda);
        if !found.iter().all(|x| x.is_finite()) {
            return None;
        }
        let push = problem.problem.generalized_impulse(&outcome.lambda);
        let left = |v: &[f64]| -> f64 {
            let square = |(i, step): (usize, &SoftStep)| -> f64 {
                let given = step.momentum(&shared.soft[i].system, &v[span(i)], &v[tree(i)]);
                given.iter().zip(&push[span(i)]).map(|(p, j)| (p - j).powi(2)).sum()
            };
            steps.iter().enumerate().map(square).sum::<f64>().sqrt()
        };
        // A way that leaves more than there was before, and more than there was where it began, is halved: what is inside out, or
        // far from where it ends, is not what a line makes of it.
        let (begun, mut share) = (left(&v), 1.0);
        let mut residual = left(&found);
        let mut next = found;
        let is_less = |residual: f64, share: f64| {
            residual <= settings.tolerance
                || (round > 0 && residual <= last)
                || residual <= (1.0 - ENOUGH * share) * begun
        };
        for _ in 0..HALVINGS {
            if is_less(residual, share) {
                break;
            }
            share *= 0.5;
            next.iter_mut().zip(&v).for_each(|(next, v)| *next = 0.5 * (*next + v));
            residual = left(&next);
        }
        last = residual;
        v = next;
        let whole = share == 1.0;
        careful = share < SHORT && !projected;
        let done = whole && residual <= settings.tolerance;
        impulse = Some(outcome.lambda.clone());
        let on_the_way = (!whole).then(|| v.clone());
        best = Some(Round { problem, outcome, relaxed, momentum: residual, on_the_way });
        if done {
            break;
        }
        if round + 1 < ROUNDS {
            memory = best.as_mut().map(|best: &mut Round| std::mem::take(&mut best.problem.problem));
        }
    }
    best
}

/// Solves a problem in what contacts touch of its soft bodies.
fn solve_sparse<T: Scalar>(
    shared: &Shared<T>,
    problem: &mut ContactProblem,
    settings: &SolveSettings,
    work: &mut Workspace,
) -> (Outcome, Vec<Relaxation>) {
    match problem.condensed(shared.solver.responds()) {
        Some(mut small) => finish(shared.solver, &mut small.problem, settings, Before::Solved, work),
        None => finish(shared.solver, problem, settings, Before::Solved, work),
    }
}
