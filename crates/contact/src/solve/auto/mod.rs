//! The default, which nobody need think about: sweeps of projected Gauss-Seidel, then Newton steps for islands that are
//! small enough and that sweeps have not solved; larger ones are swept on.

use super::{Outcome, Precision, SolveSettings, Solver, pgs};
use crate::problem::ContactProblem;

/// See [`manyworlds_shaders::contact::island_newton`].
#[derive(Debug)]
pub(super) struct Auto;

impl Solver for Auto {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn solve(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        match settings.precision {
            Precision::F32 => pgs::run::<f32>(problem, settings, true),
            Precision::F64 => pgs::run::<f64>(problem, settings, true),
        }
    }
}
