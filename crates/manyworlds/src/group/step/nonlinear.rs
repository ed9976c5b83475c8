//! The step of a world with soft bodies: Newton's method about the velocity, with exact contact in each round.
//!
//! A round linearises the soft bodies' forces about a velocity and solves the contact problem of that. The next one does so
//! about the answer, until the answer meets the nonlinear balance of momentum: what is left of that, on all degrees of
//! freedom of soft bodies, is at most the solver's tolerance.
//!
//! Rounds come closer slowly where the soft bodies' matrix is positive definite only with what touches them, and linearised contacts
//! may be harder than those of the whole step. Newton's method on everything at once ([`World::at_once`]) knows neither trouble near an
//! answer: it is tried from where some such rounds led, and where they end.

use manyworlds_contact::ContactProblem;
use manyworlds_contact::solve::{Before, SolveSettings, SolveStatus, Workspace, finish_condensed};
use manyworlds_shaders::Scalar;

use super::super::problem::Responses;
use super::super::soft::step::{Linearised, SoftStep};
use super::round::{Ended, Round};
use super::way::{LONGEST, closer, down, norm};
use super::world::{WholeDesk, World};

/// Rounds at most.
const ROUNDS: usize = 40;

/// Where a stretched or buckled body has no positive definite matrix, its elements are made so, by the least of these shares that does:
/// that only slows the rounds down.
const POSITIVE: [f64; 4] = [0.0, 0.1, 0.3, 1.0];

/// After so many rounds that come closer slowly, and each time twice as many, everything is tried at once.
const SLOW: u32 = 4;

/// Once rounds have taken so many iterations together, each has this part of those that it may take: where the contacts of each are hard,
/// forty times as many would be taken.
const HARD: u32 = 2000;
const PART: u32 = 16;

/// Ways shorter than this share make the next round one of positive definite elements.
const SHORT: f64 = 0.25;

impl<T: Scalar> World<'_, T> {
    /// A world with soft bodies. None: its numbers are not finite, or no round has a problem.
    pub(super) fn nonlinear(
        &self,
        memory: ContactProblem,
        settings: &SolveSettings,
        (work, desk): (&mut Workspace, &mut WholeDesk),
    ) -> Option<Ended> {
        let &Self { shared, host, worlds, index: world, .. } = self;
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
        let (mut careful, mut slow, mut spent) = (false, 0, 0);
        // What gives way in one round does so in the next, or they would contradict each other for ever.
        let mut relaxes = host.worlds[world].before;
        for round in 0..ROUNDS {
            let about = |share: f64| -> Vec<Linearised> {
                let each = steps.iter().zip(&shared.soft).enumerate().map(|(i, (step, soft))| {
                    let about = |projected| step.about(&soft.system, &v[span(i)], projected);
                    if share == 0.0 || share == 1.0 {
                        about(share == 1.0)
                    } else {
                        about(false).mixed(&about(true), share)
                    }
                });
                each.collect()
            };
            let mut problem_of = |share: f64| {
                let memory = memory.take().unwrap_or_default();
                worlds.world(shared, host, world, memory, Responses::of(shared.solver), (&steps, about(share))).ok()
            };
            let shares = if careful { &POSITIVE[POSITIVE.len() - 1..] } else { &POSITIVE[..] };
            let (mut problem, projected) =
                shares.iter().find_map(|&share| problem_of(share).map(|problem| (problem, share > 0.0)))?;
            let start = impulse.take().unwrap_or_else(|| problem.impulse.clone());
            if start.iter().all(|x: &f64| x.is_finite()) {
                problem.problem.warm_start.copy_from_slice(&start);
            }
            problem.problem.v_start.clone_from(&v);
            let part = if spent < HARD { 1 } else { PART };
            let own = SolveSettings { iterations: settings.iterations.div_ceil(part), ..*settings };
            let (mut outcome, relaxed) = finish_condensed(shared.solver, &mut problem.problem, &own, relaxes, work);
            spent += outcome.iterations;
            if !relaxed.is_empty() {
                relaxes = Before::Relaxed { ask: false };
            }
            let found = std::mem::take(&mut outcome.v);
            if !found.iter().all(|x| x.is_finite()) {
                return None;
            }
            let push = problem.problem.generalized_impulse(&outcome.lambda);
            let balance = |v: &[f64]| -> Vec<f64> {
                let each = |(i, step): (usize, &SoftStep)| -> Vec<f64> {
                    let given = step.momentum(&shared.soft[i].system, &v[span(i)], &v[tree(i)]);
                    given.iter().zip(&push[span(i)]).map(|(p, j)| p - j).collect()
                };
                steps.iter().enumerate().flat_map(each).collect()
            };
            let (next, share, residual) = if projected {
                let way: Vec<f64> = (0..steps.len()).flat_map(|i| span(i).map(|k| found[k] - v[k])).collect();
                // Impulses that are held say nothing of a longer way where the last round's did for this one.
                let longest = if outcome.iterations == 0 { 1.0 } else { LONGEST };
                down(&v, &found, &way, balance, (settings.tolerance, longest))
            } else {
                let last = (round > 0).then_some(last);
                closer(&v, found, |v| norm(&balance(v)), last, settings.tolerance)
            };
            last = residual;
            v = next;
            let whole = share == 1.0;
            careful = share < SHORT && !projected;
            let done = whole && residual <= settings.tolerance;
            impulse = Some(outcome.lambda.clone());
            let on_the_way = (!whole).then(|| v.clone());
            let is_last = round + 1 == ROUNDS || done;
            let solved = done && outcome.status == SolveStatus::Converged;
            slow += u32::from(projected || outcome.status != SolveStatus::Converged);
            let mut round = Round { problem, outcome, relaxed, momentum: residual, on_the_way };
            let is_due = slow >= SLOW && slow.is_power_of_two() || is_last;
            if let (Some(order), true, false) = (&shared.whole, is_due, solved) {
                let mut again = ContactProblem::default();
                if let Some(solved) = self.at_once(order, Some(round.start()), (&mut again, desk)) {
                    return Some(Ended::AtOnce(Box::new((solved, again))));
                }
            }
            if is_last {
                return Some(Ended::Round(Box::new(round)));
            }
            memory = Some(std::mem::take(&mut round.problem.problem));
        }
        None
    }
}
