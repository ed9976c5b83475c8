//! How far a derivative is to be trusted, and why not.

use crate::bias::closed_below;
use crate::krylov::Solved;

/// Left-overs of a linear system above this mean that it has no solution.
pub const LARGEST_RESIDUAL: f64 = 1e-6;

/// The same of redundant equations: that they contradict each other. `single`: of a step in single precision, whose rounded places make
/// contacts that are redundant contradict each other by as much as its equations leave over.
#[must_use]
pub fn largest_contradiction(single: bool) -> f64 {
    if single { 2e-5 } else { LARGEST_RESIDUAL }
}

/// What is said where they are.
const NO_SOLUTION: &str = "the linear system has no solution";

/// Margins below this are mode switches: rounding decides which side the step is on.
const SMALLEST_MARGIN: f64 = 1e-12;
/// Margins of steps in single precision below this may be a matter of how redundant constraints share their impulses, m/s.
const TIED_SINGLE: f64 = 1e-6;
/// Margins of redundant constraints below this may be a matter of how they share their impulses, m/s.
const DOUBTFUL_MARGIN: f64 = 1e-5;

/// Whether a margin may be a matter of how redundant contacts share their impulses. A solver that leaves some of them without
/// leaves a margin of rounding; then the equations of the others need not be redundant.
#[must_use]
pub fn is_doubtful(margin: f64, redundant: bool, single: bool) -> bool {
    let tied = if single { TIED_SINGLE } else { closed_below(false) };
    margin < tied || (redundant && margin < DOUBTFUL_MARGIN)
}

/// How far a derivative is to be trusted.
#[derive(Debug, Clone, PartialEq)]
pub struct Certificate {
    /// Distance to the nearest switch of a contact's or row's mode, m/s (rad/s): the derivative is one-sided at zero.
    /// Infinite without constraints.
    pub margin: f64,
    /// Contacts and limits that act at a gap that is just closed, as at rest. There the correction of penetrations has a
    /// kink, and of the two sides the derivative takes that of an open gap: whichever way it is moved, it is closed again
    /// after the step. Other changes (a push, a torque) see no kink.
    pub closed: usize,
    /// Unknown impulses of the linear systems.
    pub size: usize,
    /// How many of them are independent; fewer than `size` where contacts are redundant. Of `iterated` ones that is not known,
    /// and they count as independent.
    pub rank: usize,
    /// How many of them are in islands too large for elimination, whose systems are solved by iterations.
    pub iterated: usize,
    /// Products of those systems with a vector that the iterations took.
    pub iterations: usize,
    /// Largest left-over of the linear systems, relative to their right-hand sides.
    pub residual: f64,
    /// Why the derivative is not that of the step; empty when it is.
    pub problems: Vec<String>,
    /// Why that by q is not, though those by velocities, forces and controls are: contacts whose points and normals move in no
    /// known way.
    pub problems_by_q: Vec<String>,
}

impl Default for Certificate {
    /// Of a derivative that nothing speaks against.
    fn default() -> Self {
        Self {
            margin: f64::INFINITY,
            closed: 0,
            size: 0,
            rank: 0,
            iterated: 0,
            iterations: 0,
            residual: 0.0,
            problems: Vec::new(),
            problems_by_q: Vec::new(),
        }
    }
}

impl Certificate {
    /// Adds what a left-over of the linear systems says against it, if that is above the most there may be.
    pub(crate) fn judge_residual(&mut self, residual: f64, most: f64) {
        let is_known = self.problems.iter().any(|problem| problem.starts_with(NO_SOLUTION));
        if !is_known && (residual > most || residual.is_nan()) {
            self.problems.push(format!("{NO_SOLUTION} (left over: {residual:.1e})"));
        }
    }

    /// Takes note of a solve by iterations.
    pub(crate) fn add_solved(&mut self, solved: Solved) {
        self.judge_residual(solved.residual, LARGEST_RESIDUAL);
        self.residual = self.residual.max(solved.residual);
        self.iterations += solved.iterations;
    }

    /// Makes zeros of numbers that are not finite, which then speak against it.
    pub(crate) fn make_finite<'v>(&mut self, parts: impl IntoIterator<Item = &'v mut Vec<f64>>) {
        let mut finite = true;
        for part in parts {
            // Without a branch an entry; then, rarely, with.
            if !part.iter().fold(true, |finite, x| finite & x.is_finite()) {
                part.iter_mut().filter(|x| !x.is_finite()).for_each(|x| *x = 0.0);
                finite = false;
            }
        }
        if !finite {
            self.problems.push("the derivative is not finite".into());
        }
    }

    /// Adds what the margin says against the derivative. `doubt`: how far off the velocities after the step may be,
    /// m/s, within which it may as well be on the other side.
    pub fn judge_margin(&mut self, doubt: f64) {
        if self.margin < SMALLEST_MARGIN.max(doubt) {
            self.problems.push(format!(
                "a constraint is at a switch of its mode (margin {:.1e} m/s): the derivative is one-sided",
                self.margin
            ));
        }
    }

    /// Adds what speaks against the derivative, once.
    pub fn add_problem(&mut self, problem: &str) {
        add_once(&mut self.problems, problem);
    }

    /// Adds what speaks against derivatives by q alone, once.
    pub fn add_problem_by_q(&mut self, problem: &str) {
        add_once(&mut self.problems_by_q, problem);
    }

    /// Adds what speaks against another derivative of the same step.
    pub fn add_problems_of(&mut self, other: &Self) {
        other.problems.iter().for_each(|problem| self.add_problem(problem));
        other.problems_by_q.iter().for_each(|problem| self.add_problem_by_q(problem));
    }

    /// All that speaks against it.
    pub fn reasons(&self) -> impl Iterator<Item = &String> {
        self.problems.iter().chain(&self.problems_by_q)
    }

    /// Whether the derivative is that of the step.
    #[must_use]
    pub fn valid(&self) -> bool {
        self.problems.is_empty() && self.problems_by_q.is_empty()
    }

    /// Whether it is but for that by q.
    #[must_use]
    pub fn fails_by_q_alone(&self) -> bool {
        self.valid_but_by_q() && !self.valid()
    }

    /// Whether those by velocities, forces and controls are, whatever that by q is.
    #[must_use]
    pub fn valid_but_by_q(&self) -> bool {
        self.problems.is_empty()
    }
}

fn add_once(problems: &mut Vec<String>, problem: &str) {
    if !problems.iter().any(|known| known == problem) {
        problems.push(problem.into());
    }
}
