//! Steps that follow a relaxed one: mostly relaxed as well, and in the same way.
//!
//! Their world starts from the impulses of that step. Newton steps with the requests giving way at K find an answer at once; where
//! some do give way, it is asked whether there is another with caps so high that a request does 1 kJ/kg before it may: mostly
//! the requests by themselves show that there is none ([`is_refuted`]); else Newton steps tell. If there is one, or if Newton
//! steps do not get there, the step is solved like any other. The answer to this question takes more time than the step itself, and
//! is the same for hundreds of steps: batches ask it now and then.

use manyworlds_gpu::Instant;

use manyworlds_collide::organise::Island;
use manyworlds_shaders::contact::local::HOPELESS;

use super::super::auto::{Search, Watch};
use super::super::iterate::copy;
use super::super::polish::Trust;
use super::super::{Outcome, SolveSettings, SolveStatus, Stage};
use super::refute::is_refuted;
use super::{Attempt, Found, MOST, Relaxation, SWEEPS};
use crate::problem::{Constraint, ContactProblem};

/// Newton steps, in the order in which they are tried.
const NEWTON: [Trust; 3] = [Trust::HASTY, Trust::PATIENT.within(12), Trust::QUICK];
/// Share of what a request that gave way misses that counts as a solution.
const SEEN: f64 = 0.1;

/// As [`super::relax`], of a problem that follows one which was relaxed and starts from its impulses, before anything else is tried.
/// `ask`: whether there is another answer. None: it is to be solved like any other.
pub(in crate::solve) fn again(
    problem: &mut ContactProblem,
    settings: &SolveSettings,
    ask: bool,
) -> Option<(Outcome, Vec<Relaxation>)> {
    let start = Instant::now();
    let (mut lambda, islands) = (problem.warm_start.clone(), problem.plan.islands.clone());
    let mut attempt = Attempt::new(problem, settings);
    let mut iterations = 0;
    for island in &islands {
        let found = attempt.follow(island, ask)?;
        copy(attempt.problem, island, &found.lambda, &mut lambda);
        iterations = iterations.max(found.iterations);
    }
    let outcome = Outcome {
        status: SolveStatus::Converged,
        iterations,
        outer: 0,
        stage: Some(Stage::Newton),
        v: attempt.problem.velocity(&lambda),
        lambda,
        elapsed: start.elapsed(),
        trace: Vec::new(),
    };
    Some((outcome, std::mem::take(&mut attempt.list)))
}

impl Attempt<'_> {
    /// The relaxed answer by Newton steps from the warm start, if there is no other or nobody asks; or the exact one, if this
    /// is it.
    fn follow(&mut self, island: &Island, ask: bool) -> Option<Found> {
        self.cap(island, 1.0);
        let warm = &self.problem.warm_start;
        let mut search = Search::new(self.problem, island, self.settings, warm, MOST, Watch::Nothing);
        let solved = search.solves() || search.polish::<f64>(warm, &NEWTON);
        let found = if solved {
            Found { solved, lambda: search.best, iterations: search.iterations }
        } else {
            Some(self.search(island, MOST)).filter(|found| found.solved)?
        };
        let before = self.list.len();
        self.note(island, &found.lambda);
        if before == self.list.len() || !ask {
            return Some(found);
        }
        let gave_way = self.list.split_off(before);
        let is_certain = self.is_only_answer(island, &gave_way, &found.lambda)?;
        self.list.extend(gave_way);
        is_certain.then_some(found)
    }

    /// Whether requests that gave way at K still do where they are pursued beyond reason, or are met by what makes no sense. None:
    /// nobody can tell.
    fn is_only_answer(&mut self, island: &Island, gave_way: &[Relaxation], lambda: &[f64]) -> Option<bool> {
        let of = |r: &Relaxation| &self.problem.constraints[r.constraint];
        let most = |by: &dyn Fn(&Relaxation) -> f64| gave_way.iter().map(by).fold(0.0, f64::max);
        let share = HOPELESS / most(&|r| work_at_cap(of(r)) / of(r).mass());
        if share <= 1.0 {
            return Some(true);
        }
        let ids = self.problem.plan.constraints_of(island);
        let all: f64 = ids.iter().map(|&i| work_at_cap(&self.problem.constraints[i as usize])).sum();
        if is_refuted(self.problem, island, lambda, share * all) {
            return Some(true);
        }
        // An impulse at K is no solution now: what it misses must be seen.
        let missed = most(&|r| of(r).mass() * r.by.iter().fold(0.0, |most: f64, by| most.max(by.abs())));
        let tolerance = self.settings.tolerance.max((share * self.settings.tolerance).min(SEEN * missed));
        let settings = SolveSettings { tolerance, ..*self.settings };
        self.cap(island, share);
        let beyond: Vec<f64> = lambda.iter().map(|x| share * x).collect();
        let mut search = Search::new(self.problem, island, &settings, lambda, MOST, Watch::Nothing);
        let solved = search.solves()
            || search.sweep(1)
            || search.polish::<f64>(&beyond, &NEWTON)
            || search.sweep(SWEEPS)
            || search.run::<f64>().is_some();
        if !solved {
            return None;
        }
        let found = search.best;
        let before = self.list.len();
        self.note(island, &found);
        let still = before < self.list.len() || self.problem.is_beyond_reason(island, &found, true);
        self.list.truncate(before);
        Some(still)
    }
}

/// Work of the requests of a constraint at its cap, J.
fn work_at_cap(c: &Constraint) -> f64 {
    c.law.requests().map(|r| c.law.request(c.e[r]).abs()).filter(|&a| a != 0.0).map(|a| c.cap * a).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{ConstraintInput, Law, ProblemInput, SideInput};

    /// A row presses on 1 kg that drags 100 kg along: it asks for 0.1 m/s and needs more than twice what 1 kg alone would.
    fn dragging() -> ContactProblem {
        let constraint = |law, request: f64, jacobian: [f64; 2]| ConstraintInput {
            law,
            e: [-request, 0.0, 0.0],
            compliance: None,
            sides: vec![SideInput { jacobian: jacobian.to_vec(), ..SideInput::default() }],
        };
        let input = ProblemInput {
            subsystems: vec![[0, 2]],
            a: vec![vec![1.0, 0.0, 0.0, 100.0]],
            b: vec![0.0; 2],
            constraints: vec![
                constraint(Law::Unilateral, 0.1, [1.0, 0.0]),
                constraint(Law::Bilateral, 0.0, [1.0, -1.0]),
            ],
            ..ProblemInput::default()
        };
        ContactProblem::new(input).expect("a valid problem")
    }

    #[test]
    fn a_relaxed_answer_is_taken_if_nobody_asks_for_another() {
        let settings = SolveSettings::default();
        assert!(again(&mut dragging(), &settings, true).is_none());
        let (outcome, gave_way) = again(&mut dragging(), &settings, false).expect("the relaxed answer");
        // K = 0.2 N s moves 101 kg.
        assert!((outcome.v[0] - 0.2 / 101.0).abs() < 1e-8, "{:?}", outcome.v);
        assert!(gave_way.len() == 1 && gave_way[0].constraint == 0, "{gave_way:?}");
    }
}
