//! One world's step on the host, from what its kernels left.

use std::cell::Cell;
use std::time::Duration;

use manyworlds_contact::ContactProblem;
use manyworlds_contact::solve::whole::{Effort, WholeWork, newton};
use manyworlds_contact::solve::{
    Before, ContactModel, Outcome, Precision, Relaxation, SolveSettings, SolveStatus, Stage, Workspace, finish, leave,
};
use manyworlds_shaders::Scalar;

use super::super::problem::{Responses, Worlds};
use super::super::shared::Shared;
use super::answer::{Left, Relaxed, Solved};
use super::order::WholeOrder;
use super::round::{Ended, Round, Start};
use super::whole::{WholeMemory, WholeStep};
use crate::host::Packed;

thread_local! {
    /// What a thread solves one world after the other in. Given back in between, the memory of a large island would be
    /// taken from the system and cleared anew each time, which costs as much as a Newton step.
    static DESK: Cell<Desk> = Cell::default();
}

/// Memory for a problem and for what solves it.
#[derive(Default)]
struct Desk {
    problem: ContactProblem,
    work: Workspace,
    whole: WholeDesk,
}

/// Memory for a step that is solved at once.
#[derive(Default)]
pub(super) struct WholeDesk {
    work: WholeWork,
    step: WholeMemory,
}

/// A world that is to be solved.
pub(super) struct World<'a, T: Scalar> {
    pub(super) shared: &'a Shared<T>,
    pub(super) host: &'a Packed<'a, T>,
    pub(super) worlds: &'a Worlds<'a, T>,
    pub(super) index: usize,
    /// Its derivative will be asked for.
    pub(super) keeps_factor: bool,
}

impl<T: Scalar> World<'_, T> {
    /// None: its numbers are not finite, or those of the answer are not.
    pub(super) fn solve(&self) -> Option<Solved> {
        // Numbers that are not finite have no problem; the kernels flag the world.
        let Desk { problem: mut memory, mut work, mut whole } = DESK.take();
        let shared = self.shared;
        if let Some(order) = &shared.whole {
            let solved = self.at_once(order, None, (&mut memory, &mut whole));
            if solved.is_some() {
                DESK.set(Desk { problem: memory, work, whole });
                return solved;
            }
        }
        let settings = SolveSettings {
            // Of numbers in single precision too: it is what makes up for those.
            precision: Precision::F64,
            tolerance: shared.tolerance,
            iterations: shared.iterations,
            history: false,
            patient: shared.soft.is_empty(),
            again: T::NAME != f64::NAME && shared.soft.is_empty() && self.host.is_apart(self.index),
        };
        let round = if shared.soft.is_empty() {
            self.linear(memory, &settings, &mut work)?
        } else {
            match self.nonlinear(memory, &settings, (&mut work, &mut whole))? {
                Ended::Round(round) => *round,
                Ended::AtOnce(found) => {
                    let (solved, problem) = *found;
                    DESK.set(Desk { problem, work, whole });
                    return Some(solved);
                }
            }
        };
        let (solved, memory) = self.answer(round);
        DESK.set(Desk { problem: memory, work, whole });
        solved
    }

    /// A world without soft bodies.
    fn linear(&self, memory: ContactProblem, settings: &SolveSettings, work: &mut Workspace) -> Option<Round> {
        let &Self { shared, host, worlds, index, .. } = self;
        let last = host.worlds[index].before;
        let responses = match (Responses::of(shared.solver), last) {
            (Responses::Found, Before::Relaxed { .. }) => Responses::Taken,
            (asked, _) => asked,
        };
        let mut problem = worlds.world(shared, host, index, memory, responses, (&[], Vec::new())).ok()?;
        if problem.impulse.iter().all(|x| x.is_finite()) {
            problem.problem.warm_start.copy_from_slice(&problem.impulse);
        }
        let before = worlds.before(shared, index);
        if before.iter().all(|x| x.is_finite()) {
            problem.problem.v_start = before;
        }
        let (outcome, relaxed) = if shared.form.is_some() && !shared.solver.finishes() {
            leave(shared.solver, &mut problem.problem, settings, last)
        } else {
            finish(shared.solver, &mut problem.problem, settings, last, work)
        };
        Some(Round { problem, outcome, relaxed, momentum: 0.0, on_the_way: None })
    }

    /// What a round found, and the memory of its problem.
    fn answer(&self, round: Round) -> (Option<Solved>, ContactProblem) {
        let Round { mut problem, mut outcome, relaxed, momentum, on_the_way } = round;
        problem.problem.relax(&relaxed);
        // What the certificate is about: a solver's own velocity may lag behind its impulses.
        outcome.v = on_the_way.unwrap_or_else(|| problem.problem.velocity(&outcome.lambda));
        let gave_way = self.trees_of(&problem.problem, &relaxed);
        let sound = outcome.lambda.iter().chain(&outcome.v).all(|x| x.is_finite());
        let relaxed: Vec<_> =
            relaxed.into_iter().map(|how| Relaxed { home: problem.homes[how.constraint], how }).collect();
        // What is relaxed is exact contact, whoever asked.
        let is_exact = self.shared.solver.model() == ContactModel::Exact || !relaxed.is_empty();
        let left = is_exact.then(|| Left::new::<T>(&problem.problem, &outcome, momentum, self.shared.tolerance));
        let homes = problem.homes_of_rows();
        let solved = Solved { world: self.index, homes, outcome, relaxed, gave_way, left, factor: None };
        (sound.then_some(solved), problem.problem)
    }

    /// The trees of the islands of a problem in which biases gave way.
    fn trees_of(&self, problem: &ContactProblem, relaxed: &[Relaxation]) -> Vec<usize> {
        let mut islands: Vec<u32> = relaxed
            .iter()
            .filter_map(|of| problem.sides[problem.constraints[of.constraint].sides.clone()].first())
            .map(|side| problem.plan.island_of[side.subsystem])
            .collect();
        islands.sort_unstable();
        islands.dedup();
        let islands = islands.into_iter().filter_map(|island| problem.plan.islands.get(island as usize));
        let members = islands.flat_map(|island| problem.plan.members_of(island));
        members.filter_map(|&subsystem| self.shared.subsystems.all[subsystem as usize].tree()).collect()
    }

    /// A world with soft bodies by Newton's method on all of its step, from where it is told to begin or, quickly, from what the last step
    /// left; in the memory of a problem. `None`: it wants more care.
    pub(super) fn at_once(
        &self,
        order: &WholeOrder,
        start: Option<Start>,
        (memory, desk): (&mut ContactProblem, &mut WholeDesk),
    ) -> Option<Solved> {
        let &Self { shared, host, worlds, index, .. } = self;
        let mut problem = worlds.constraints(shared, host, index, std::mem::take(memory)).ok()?;
        let effort = if start.is_some() { Effort::Thorough } else { Effort::Quick };
        let start = start.unwrap_or_else(|| Start {
            velocity: worlds.before(shared, index),
            impulse: std::mem::take(&mut problem.impulse),
            relaxed: Vec::new(),
        });
        problem.problem.relax(&start.relaxed);
        let gave_way = if start.relaxed.is_empty() { Vec::new() } else { (0..shared.model.trees.len()).collect() };
        let relaxed = start.relaxed.iter().map(|&how| Relaxed { home: problem.homes[how.constraint], how }).collect();
        let homes = problem.homes_of_rows();
        *memory = problem.problem;
        let problem = &*memory;
        if !start.velocity.iter().chain(&start.impulse).all(|x| x.is_finite()) {
            return None;
        }
        let steps = worlds.soft(shared, host, index);
        let inertia = worlds.inertia(shared, index);
        let own = (&shared.soft[..], &steps[..]);
        let memory = std::mem::take(&mut desk.step);
        let motion = WholeStep::new(order, &shared.model, &shared.subsystems, own, inertia, memory);
        let stored = |v: f64| T::from_f64(v).to_f64();
        let from = (order.ordered(&start.velocity), start.impulse);
        let found = newton(problem, &motion, from, (shared.tolerance, effort), stored, &mut desk.work);
        desk.step = motion.into_memory();
        let mut found = found?;
        if !self.keeps_factor
            && let Some(factor) = found.factor.take()
        {
            desk.work.give_back(factor);
        }
        let left = Left {
            square: found.laws.powi(2) + found.momentum.powi(2),
            scaled: found.scaled,
            momentum: found.momentum,
            solved: found.laws / problem.n_contacts.max(1) as f64 <= shared.tolerance
                || (T::NAME != f64::NAME && found.scaled <= shared.tolerance),
        };
        let outcome = Outcome {
            status: SolveStatus::Converged,
            iterations: found.iterations,
            outer: 0,
            stage: Some(Stage::Newton),
            v: order.given_back(&found.v),
            lambda: found.lambda,
            elapsed: Duration::ZERO,
            trace: Vec::new(),
        };
        Some(Solved { world: index, homes, outcome, relaxed, gave_way, left: Some(left), factor: found.factor })
    }
}
