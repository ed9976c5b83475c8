//! Rounds of a world's step, and how they end.

use manyworlds_contact::ContactProblem;
use manyworlds_contact::solve::{Outcome, Relaxation};

use super::super::problem::WorldProblem;
use super::answer::Solved;

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

/// How it ended.
pub(super) enum Ended {
    Round(Box<Round>),
    /// By Newton's method on everything, with the memory of its problem.
    AtOnce(Box<(Solved, ContactProblem)>),
}

impl Round {
    /// Where Newton's method on everything may go on.
    pub(super) fn start(&self) -> Start {
        let impulse = self.outcome.lambda.clone();
        let velocity = self.on_the_way.clone().unwrap_or_else(|| self.problem.problem.velocity(&impulse));
        Start { velocity, impulse, relaxed: self.relaxed.clone() }
    }
}

/// Where Newton's method on all of a step begins.
pub(super) struct Start {
    pub(super) velocity: Vec<f64>,
    /// `[n_rows]`
    pub(super) impulse: Vec<f64>,
    /// Biases that gave way.
    pub(super) relaxed: Vec<Relaxation>,
}
