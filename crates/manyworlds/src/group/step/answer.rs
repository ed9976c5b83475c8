//! How the host's solve of a world ended.

use std::ops::Range;

use manyworlds_contact::ContactProblem;
use manyworlds_contact::residual::by_island;
use manyworlds_contact::solve::whole::StepFactor;
use manyworlds_contact::solve::{Outcome, Relaxation, SolveStatus, Stage};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::status;

use super::super::home::Home;
use crate::Summary;

/// A world that the host solved. Its problem is gone: one after the other takes the same memory.
pub(super) struct Solved {
    pub(super) world: usize,
    /// Where each constraint's impulses stand, and which they are.
    pub(super) homes: Vec<(Home, Range<usize>)>,
    pub(super) outcome: Outcome,
    pub(super) relaxed: Vec<Relaxed>,
    /// Trees of the islands in which they did.
    pub(super) gave_way: Vec<usize>,
    /// None of another contact than the certificate's.
    pub(super) left: Option<Left>,
    /// Of a world with soft bodies that was solved at once.
    pub(super) factor: Option<StepFactor>,
}

/// What the host's answer leaves of a world's laws, in double precision.
///
/// Kernels can only certify the impulses that are stored, and by their own arithmetic. In single precision neither says
/// much where large impulses cancel: the velocity that the state gets is not a sum of rounded impulses, but the sum of
/// the unrounded ones, rounded once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    /// Sum of squares over all rows of residual number 1, (N s)^2.
    pub(super) square: f64,
    /// m/s
    pub(super) scaled: f64,
    /// What is left of the balance of soft bodies, N s; in `square`, too.
    pub(super) momentum: f64,
    /// Whether every island meets what a batch of this precision promises.
    pub(super) solved: bool,
}

impl Left {
    /// At the velocity that the impulses give and at the one that the state gets, whichever leaves more. `momentum`: what is
    /// left of the balance of soft bodies, N s.
    pub(super) fn new<T: Scalar>(problem: &ContactProblem, outcome: &Outcome, momentum: f64, tolerance: f64) -> Self {
        let mut found: Vec<_> = by_island(problem, &outcome.lambda, &outcome.v).collect();
        let single = T::NAME != f64::NAME;
        if single {
            let stored: Vec<f64> = outcome.v.iter().map(|&v| T::from_f64(v).to_f64()).collect();
            for (found, stored) in found.iter_mut().zip(by_island(problem, &outcome.lambda, &stored)) {
                found.residual = found.residual.max(stored.residual);
                found.residual_scaled = found.residual_scaled.max(stored.residual_scaled);
            }
        }
        let mut sum = Self { square: momentum.powi(2), scaled: 0.0, momentum, solved: momentum <= tolerance };
        for island in found {
            sum.square += (island.residual * island.contacts.max(1) as f64).powi(2);
            sum.scaled = sum.scaled.max(island.residual_scaled);
            sum.solved &= island.residual <= tolerance || (single && island.residual_scaled <= tolerance);
        }
        sum
    }
}

/// What is kept of it.
#[derive(Debug, Clone)]
pub(in crate::group) struct Answer {
    pub(super) status: SolveStatus,
    pub(super) stage: Option<Stage>,
    pub(super) left: Option<Left>,
    /// As the state's velocity was made of them, not rounded, `[n_rows]` of the world's problem.
    pub(in crate::group) impulse: Vec<f64>,
    /// Biases that gave way.
    pub(in crate::group) relaxed: Vec<Relaxed>,
}

/// A bias that gave way.
#[derive(Debug, Clone, Copy)]
pub(in crate::group) struct Relaxed {
    /// Where its constraint's impulses stand.
    pub(in crate::group) home: Home,
    /// By how much; the constraint is that of the world's problem.
    pub(in crate::group) how: Relaxation,
}

impl Answer {
    /// Puts it where a world is summed up. A solver of another contact than the certificate's is judged by its own
    /// tolerance, which only it knows.
    pub(in crate::group) fn note(&self, summary: &mut Summary) {
        summary.stage = self.stage;
        if let Some(left) = &self.left {
            summary.replace(left.square, left.scaled);
            summary.balance = left.momentum;
        }
        let converged = self.left.as_ref().map_or(self.status == SolveStatus::Converged, |left| left.solved);
        let word = if converged { status::CONVERGED } else { status::ITERATION_LIMIT };
        summary.status = summary.status & !(status::CONVERGED | status::ITERATION_LIMIT) | word;
    }
}
