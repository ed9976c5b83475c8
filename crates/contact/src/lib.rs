//! Contact problems: what they are, how good a solution is, and the solvers.
//!
//! A [`ContactProblem`] knows no bodies and no joints; it comes from a file ([`problem::read`]), from hand
//! ([`ContactProblem::new`]), or is laid out by the builder on the device, where the same kernels solve it.

// By this name the samples of tests know it.
#[cfg(test)]
extern crate self as manyworlds_contact;

mod dense;
pub mod island;
pub mod problem;
pub mod residual;
#[cfg(test)]
#[path = "../tests/suite/samples.rs"]
#[expect(dead_code, reason = "some are for tests from outside")]
mod samples;
pub mod solve;
pub mod tree;

pub use problem::{Condensed, ContactProblem, Law, ProblemError};
pub use residual::{Quality, quality};
pub use solve::{
    CanalParams, ContactModel, NcpFunction, NewtonCrParams, Penalty, Precision, Relaxation, SOLVERS, SapParams,
    Scaling, Solution, SolveError, SolveSettings, SolveStatus, SolverParams, Stage, SubAdmmParams, solve, solve_with,
    solver,
};
