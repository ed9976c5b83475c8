//! Settings of SAP.

use manyworlds_shaders::Scalar;

use super::{Sap, Work, iterate};
use crate::problem::ContactProblem;
use crate::solve::{Outcome, SolveError, SolveSettings, Solver, SolverParams};

/// How contact is regularised, and when its convex problem is solved.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SapParams {
    /// `beta` of Castro 2022, eq. 29: contacts stiffer than this allows are held as stiff as the time step resolves, with
    /// a period of `beta` steps. At rest they are `beta^2 g h^2 / 4 pi^2` deep.
    pub near_rigid: f64,
    /// `sigma` of Castro 2022, eq. 30: tangential compliance as a share of the Delassus block. What sticks creeps at
    /// `mu sigma g h`.
    pub slip: f64,
    /// Relative tolerance on the gradient, in sqrt(J).
    pub relative: f64,
    /// Absolute tolerance on the gradient, sqrt(J).
    pub absolute: f64,
}

impl Default for SapParams {
    fn default() -> Self {
        Self { near_rigid: 1.0, slip: 1e-3, relative: 1e-6, absolute: 1e-16 }
    }
}

impl SapParams {
    /// The usual ones, with a tighter relative tolerance where less than that is asked for: differences and derivatives of
    /// steps want more than the usual.
    #[must_use]
    pub fn within(tolerance: f64) -> Self {
        let usual = Self::default();
        Self { relative: usual.relative.min(tolerance), ..usual }
    }
}

impl SolverParams for SapParams {
    fn solver(&self) -> &'static str {
        Sap.name()
    }

    fn validate(&self) -> Result<(), SolveError> {
        for (setting, x) in [("near_rigid", self.near_rigid), ("slip", self.slip)] {
            if !(x > 0.0 && x.is_finite()) {
                return Err(SolveError::Setting { setting, what: format!("{x} is not positive and finite") });
            }
        }
        for (setting, x) in [("relative", self.relative), ("absolute", self.absolute)] {
            if !(x >= 0.0 && x.is_finite()) {
                return Err(SolveError::Setting { setting, what: format!("{x} is negative or not finite") });
            }
        }
        Ok(())
    }

    fn iterate<T: Scalar>(
        &self,
        problem: &ContactProblem,
        settings: &SolveSettings,
        trace: Option<&mut Vec<Vec<f64>>>,
    ) -> Outcome {
        iterate(problem, settings, self, &mut Work::<T>::default(), trace)
    }

    fn run(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        crate::solve::run(self, problem, settings)
    }
}
