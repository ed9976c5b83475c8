//! Steps that ask for the impossible: fingers that overlap at their limits, a cart inside its rail, a loop too long to close.
//!
//! A bias asks for a separating speed; where no motion gives it the exact problem has no solution, and impulses grow without
//! bound. Such an island gets the nearest step that has one:
//!
//! 1. Constraints that no degree of freedom moves, or moves along but hardly apart, are left out before all else
//!    ([`left_out`]); kernels do the same with contacts.
//! 2. What remains is solved as it is.
//! 3. Where that has no solution, each request is pursued up to an impulse K and gives way beyond ([`crate::problem::Steps`]):
//!    `K = m (2 a + approach)`, twice what the row alone would need to stop and to separate, m its effective mass. It is
//!    solved from zero by the same Newton steps and CANAL, whose laws have one branch more.
//!
//! By how much each bias gave way is part of the answer: the solution solves the exact problem with those biases, and is
//! certified as such. An island that has a solution keeps it, unless that flings its bodies about ([`FLINGS`]): this is asked only
//! where requests were pursued beyond reason, or where a solver that tries everything gave up before its iterations were
//! spent. That impulses of another solver run away says little: the exact problem is tried once more.

mod follow;
mod refute;

use manyworlds_collide::organise::Island;
use manyworlds_gpu::Instant;
use manyworlds_shaders::contact::dense::RUNAWAY;
use manyworlds_shaders::contact::local::{self, FLINGS, HOPELESS};

pub(super) use follow::again;

use super::auto::{Auto, Search, Watch};
use super::iterate::{copy, measure};
use super::{Outcome, SolveSettings, SolveStatus, Solver};
use crate::problem::{Constraint, ContactProblem, Law, Place, Side, Steps};

/// A bias that gave way by less did not, m/s.
const LEAST: f64 = 1e-12;
/// The same of impulses where a solver calls itself converged, as one does whose sums lost all digits: N s, and J/kg.
const ABSURD: [f64; 2] = [local::ABSURD, 1e9];
/// Sweeps of it at first: Newton steps alone would push things against each other harder than need be.
const SWEEPS: u32 = 20;
/// Iterations of the relaxed problem at most.
const MOST: u32 = 1000;

/// A constraint whose bias gave way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relaxation {
    /// Which.
    pub constraint: usize,
    /// What is added to its bias, m/s, by row.
    pub by: [f64; 3],
    /// Whether it is left out altogether: nothing that moves moves it.
    pub left_out: bool,
}

impl ContactProblem {
    /// The problem whose biases gave way so: the one that the impulses found solve.
    pub fn relax(&mut self, relaxed: &[Relaxation]) {
        for r in relaxed {
            let c = &mut self.constraints[r.constraint];
            (0..3).for_each(|k| c.e[k] += r.by[k]);
        }
    }

    /// Whether the impulses of an island make no sense, be they a solution or not.
    fn is_beyond_reason(&self, island: &Island, lambda: &[f64], solved: bool) -> bool {
        let work = self.work_of_requests(island, lambda);
        let costs_too_much = if solved { FLINGS < work && self.flings(island, lambda) } else { HOPELESS < work };
        costs_too_much || self.is_absurd(island, lambda, work)
    }

    /// Whether the impulses of an island, which do so much work on a request, are absurd: see [`ABSURD`]. Where some work is done, so
    /// are those beyond [`RUNAWAY`]: contacts against each other push as hard as that for the sake of any depth, and what bodies gain is
    /// the impulse times the speed that is asked for.
    fn is_absurd(&self, island: &Island, lambda: &[f64], work: f64) -> bool {
        let [most_impulse, most_work] = ABSURD;
        let is_beyond = |&i: &u32| {
            let c = &self.constraints[i as usize];
            let largest = lambda[c.row..c.row + c.law.rows()].iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            let mass = c.mass();
            largest > most_impulse || work > 0.0 && mass > 0.0 && largest > RUNAWAY * mass
        };
        work > most_work || self.plan.constraints_of(island).iter().any(is_beyond)
    }

    /// Whether a solution flings apart what hardly parts: a contact for the sake of whose request its bodies slide along each other,
    /// see [`FLINGS`]. What heavy things do to light ones costs as much, but nothing slides.
    fn flings(&self, island: &Island, lambda: &[f64]) -> bool {
        let mut v = vec![0.0; self.n_v];
        self.island_velocity(island, lambda, &mut v);
        self.plan.constraints_of(island).iter().any(|&i| {
            let c = &self.constraints[i as usize];
            let slides = || {
                let (before, after) = (self.sigma(c, &self.v_free), self.sigma(c, &v));
                (0..2).map(|t| (after[t] - before[t]).powi(2)).sum::<f64>()
            };
            matches!(c.law, Law::Contact { .. }) && FLINGS < self.work_of_request(c, lambda) && FLINGS < slides()
        })
    }

    /// Largest work of a request of an island by the mass that it moves, J/kg: what heavy things that press on light ones
    /// undo slowly costs little.
    pub(super) fn work_of_requests(&self, island: &Island, lambda: &[f64]) -> f64 {
        let of = |&i: &u32| self.work_of_request(&self.constraints[i as usize], lambda);
        self.plan.constraints_of(island).iter().map(of).fold(0.0, f64::max)
    }

    /// The same of one constraint.
    fn work_of_request(&self, c: &Constraint, lambda: &[f64]) -> f64 {
        let work = |r: usize| (lambda[c.row + r] * c.law.request(c.e[r])).max(0.0);
        let work = c.law.requests().map(work).fold(0.0, f64::max);
        // Most have no request, or carry nothing.
        if work == 0.0 { 0.0 } else { work / c.mass() }
    }

    /// The impulse K up to which the requests of a constraint are pursued, N s.
    fn cap(&self, c: &Constraint) -> f64 {
        let free = self.sigma(c, &self.v_free);
        let rows = c.law.requests();
        let speed = |r: usize| {
            let request = c.law.request(c.e[r]);
            2.0 * request.abs() + (-free[r] * request.signum()).max(0.0)
        };
        rows.map(speed).fold(0.0, f64::max) * c.mass()
    }

    /// Largest entry of a row's Jacobian.
    fn reach(&self, c: &Constraint, row: usize) -> f64 {
        let of = |side: &Side| {
            let n = self.subsystems[side.subsystem].count;
            self.jacobian[side.offset + row * n..][..n].iter().fold(0.0, |most: f64, j| most.max(j.abs()))
        };
        self.sides[c.sides.clone()].iter().map(of).fold(0.0, f64::max)
    }
}

/// Constraints that ask for what nothing moves, or contacts for what hardly moves: they take no part.
pub(super) fn left_out(problem: &ContactProblem) -> Vec<Relaxation> {
    let of = |(constraint, c): (usize, &Constraint)| {
        let mut by = [0.0; 3];
        if let Law::Contact { mu } = c.law {
            by[2] = local::parted(mu, &c.delassus, problem.reach(c, 2), c.e[2]) - c.e[2];
        } else if c.law.requests().any(|r| c.law.request(c.e[r]) != 0.0)
            && c.law.requests().all(|r| problem.reach(c, r) <= local::STILL)
        {
            c.law.requests().for_each(|r| by[r] = -c.e[r]);
        }
        by.iter().any(|&by| by != 0.0).then_some(Relaxation { constraint, by, left_out: true })
    };
    problem.constraints.iter().enumerate().filter_map(of).collect()
}

/// Goes on where a solver of exact contact found no solution that makes sense: the outcome with what was found, and which
/// biases gave way. None: it stands. `gave_up`: the solver tries everything, and what it leaves unsolved with iterations to
/// spare may have no solution.
pub(super) fn relax(
    problem: &mut ContactProblem,
    settings: &SolveSettings,
    outcome: &Outcome,
    gave_up: bool,
) -> Option<(Outcome, Vec<Relaxation>)> {
    let mut scratch = problem.v_free.clone();
    let all = settings.iterations.min(MOST);
    let left = settings.iterations.saturating_sub(outcome.iterations).min(MOST);
    let lambda = &outcome.lambda;
    // With the iterations to look for an answer.
    let mut doubt = |island: &Island| {
        let solved = measure(problem, island, settings, lambda, &mut scratch).0;
        if problem.is_beyond_reason(island, lambda, solved) {
            return Some(Doubt { most: all, certain: true });
        }
        (!solved && gave_up && 0 < left).then_some(Doubt { most: left, certain: false })
    };
    let doubtful: Vec<(Island, Doubt)> =
        problem.plan.islands.iter().filter_map(|island| Some((island.clone(), doubt(island)?))).collect();
    if doubtful.is_empty() {
        return None;
    }
    let start = Instant::now();
    let mut attempt = Attempt::new(problem, settings);
    let mut outcome = outcome.clone();
    let (mut all_solved, mut iterations) = (true, 0);
    for (island, doubt) in &doubtful {
        let before = attempt.list.len();
        let Some(found) = attempt.island(island, doubt.most, gave_up) else {
            all_solved = false;
            continue;
        };
        // What is no solution is at least bounded.
        if found.solved || doubt.certain {
            copy(attempt.problem, island, &found.lambda, &mut outcome.lambda);
        } else {
            attempt.list.truncate(before);
        }
        all_solved &= found.solved;
        iterations = iterations.max(found.iterations);
    }
    if all_solved {
        outcome.status = SolveStatus::Converged;
    }
    outcome.iterations += iterations;
    outcome.v = attempt.problem.velocity(&outcome.lambda);
    outcome.elapsed += start.elapsed();
    Some((outcome, std::mem::take(&mut attempt.list)))
}

/// What a solver of friction pyramids makes of a problem. What it leaves unsolved is asked of exact contact: where that has no
/// answer either, the relaxed one with friction cones is taken, since pivots break down on most such problems.
pub(super) fn of_pyramids(
    problem: &mut ContactProblem,
    settings: &SolveSettings,
    solve: impl FnOnce(&ContactProblem) -> Outcome,
) -> (Outcome, Vec<Relaxation>) {
    let outcome = solve(problem);
    if outcome.status == SolveStatus::Converged {
        return (outcome, Vec::new());
    }
    let exact = Auto.solve(problem, settings);
    match relax(problem, settings, &exact, true) {
        Some((exact, gave_way)) if !gave_way.is_empty() => {
            let iterations = outcome.iterations + exact.iterations;
            (Outcome { iterations, elapsed: outcome.elapsed + exact.elapsed, ..exact }, gave_way)
        }
        _ => (outcome, Vec::new()),
    }
}

/// Why an island is looked at again.
#[derive(Clone, Copy)]
struct Doubt {
    /// Iterations at most.
    most: u32,
    /// Whether what there is makes no sense.
    certain: bool,
}

/// What was found for an island.
struct Found {
    solved: bool,
    lambda: Vec<f64>,
    iterations: u32,
}

/// The islands of a problem, one after the other; those that were looked at have caps while it lasts.
struct Attempt<'a> {
    problem: &'a mut ContactProblem,
    settings: &'a SolveSettings,
    list: Vec<Relaxation>,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        self.problem.constraints.iter_mut().for_each(|c| c.cap = f64::INFINITY);
    }
}

impl<'a> Attempt<'a> {
    fn new(problem: &'a mut ContactProblem, settings: &'a SolveSettings) -> Self {
        Self { problem, settings, list: Vec::new() }
    }

    /// Lets the requests of an island give way at so many times K.
    fn cap(&mut self, island: &Island, share: f64) {
        for at in island.constraints.clone() {
            let i = self.problem.plan.constraints[at as usize] as usize;
            self.problem.constraints[i].cap = share * self.problem.cap(&self.problem.constraints[i]);
        }
    }

    /// What there is instead of a solution; None where there is one that the solver did not find. `tried`: there is none.
    fn island(&mut self, island: &Island, most: u32, tried: bool) -> Option<Found> {
        let mut iterations = 0;
        if !tried {
            let found = self.search(island, most);
            iterations += found.iterations;
            if found.solved && !self.problem.is_beyond_reason(island, &found.lambda, true) {
                return None;
            }
        }
        self.cap(island, 1.0);
        let found = self.search(island, most);
        self.note(island, &found.lambda);
        Some(Found { iterations: iterations + found.iterations, ..found })
    }

    /// Looks for a solution of an island of the relaxed problem, from zero.
    fn search(&self, island: &Island, most: u32) -> Found {
        let zero = vec![0.0; self.problem.n_rows];
        let mut search = Search::new(self.problem, island, self.settings, &zero, most, Watch::Nothing);
        let solved = search.solves() || search.sweep(SWEEPS) || search.run::<f64>().is_some();
        Found { solved, lambda: search.best, iterations: search.iterations }
    }

    /// By how much the biases of an island give way at these impulses.
    fn note(&mut self, island: &Island, lambda: &[f64]) {
        let mut v = vec![0.0; self.problem.n_v];
        self.problem.island_velocity(island, lambda, &mut v);
        for &i in self.problem.plan.constraints_of(island) {
            let c = &self.problem.constraints[i as usize];
            let sigma = self.problem.sigma(c, &v);
            let mut by = [0.0; 3];
            for r in c.law.requests() {
                let request = c.law.request(c.e[r]);
                let (steps, off) = (Steps { cap: c.cap, request }, sigma[r] + c.e[r]);
                // By impulse and speed together: an impulse may miss the cap by the tolerance. The residual weighs speeds as
                // they are, so that a request of something light that it counts as given up may look pursued by its mass.
                let gives_way = |rho: f64| steps.map(rho, lambda[c.row + r] - rho * off).1 != Place::Pursued;
                let is_missed = off.abs() > self.settings.tolerance;
                if request != 0.0 && (gives_way(c.mass()) || is_missed && gives_way(1.0)) {
                    by[r] = (request - sigma[r]) * request.signum();
                    by[r] = by[r].clamp(0.0, request.abs()) * request.signum();
                }
            }
            if by.iter().any(|by| by.abs() > LEAST) {
                self.list.push(Relaxation { constraint: i as usize, by, left_out: false });
            }
        }
    }
}
