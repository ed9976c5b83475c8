//! What the kernels of a step do and no more: a few sweeps of projected Gauss-Seidel, then Newton steps on the Delassus
//! operator of islands that are small enough to have it written out, then further sweeps.

use super::{BatchForm, Outcome, Precision, SolveSettings, Solver, pgs};
use crate::problem::ContactProblem;

/// See the module.
#[derive(Debug)]
pub(super) struct Newton;

impl Solver for Newton {
    fn name(&self) -> &'static str {
        "newton"
    }

    fn batch(&self, _: u32) -> Option<BatchForm> {
        Some(pgs::NEWTON)
    }

    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        match settings.precision {
            Precision::F32 => pgs::run::<f32>(problem, settings, true),
            Precision::F64 => pgs::run::<f64>(problem, settings, true),
        }
    }
}
