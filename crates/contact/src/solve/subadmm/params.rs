//! Settings of SubADMM.

use manyworlds_shaders::Scalar;

use super::{SubAdmm, iterate};
use crate::problem::ContactProblem;
use crate::solve::{Outcome, SolveError, SolveSettings, Solver, SolverParams};

/// How the penalty is spread over constraints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Penalty {
    /// One for the island, as Lee 2024 has it: from the geometric mean of the constraints' effective masses, by the
    /// residuals of all.
    Uniform,
    /// Each constraint's own: from its effective mass, by its residuals.
    PerConstraint,
}

/// How the splitting iterates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SubAdmmParams {
    /// Penalties of the constraints.
    pub penalty: Penalty,
    /// Over-relaxation of the subsystems' velocities, in (0, 2); 1: none.
    pub relaxation: f64,
    /// A penalty is adapted when primal and dual residual, both in sqrt(J), differ by more than this factor.
    pub imbalance: f64,
    /// The certificate is computed every so many iterations: it costs about as much as one.
    pub check_every: u32,
    /// Iterations before the penalties are first adapted; each wait is longer by a quarter than the one before.
    pub adapt_after: u32,
}

impl Default for SubAdmmParams {
    fn default() -> Self {
        Self { penalty: Penalty::PerConstraint, relaxation: 1.6, imbalance: 1.0, check_every: 4, adapt_after: 10 }
    }
}

impl SolverParams for SubAdmmParams {
    fn solver(&self) -> &'static str {
        SubAdmm.name()
    }

    fn validate(&self) -> Result<(), SolveError> {
        let wrong = |setting, what: String| Err(SolveError::Setting { setting, what });
        if !(self.relaxation > 0.0 && self.relaxation < 2.0) {
            return wrong("relaxation", format!("{} is not between 0 and 2", self.relaxation));
        }
        if !(self.imbalance >= 1.0 && self.imbalance.is_finite()) {
            return wrong("imbalance", format!("{} is not a factor of at least 1", self.imbalance));
        }
        if self.check_every == 0 || self.adapt_after == 0 {
            return wrong("check_every, adapt_after", "expected at least 1 iteration, found 0".into());
        }
        Ok(())
    }

    fn iterate<T: Scalar>(
        &self,
        problem: &ContactProblem,
        settings: &SolveSettings,
        trace: Option<&mut Vec<Vec<f64>>>,
    ) -> Outcome {
        iterate::<T>(problem, settings, self, trace)
    }

    fn run(&self, problem: &ContactProblem, settings: &SolveSettings) -> Outcome {
        crate::solve::run(self, problem, settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused() {
        let good = SubAdmmParams::default();
        assert_eq!(good.validate(), Ok(()));
        for bad in [
            SubAdmmParams { relaxation: 2.0, ..good },
            SubAdmmParams { relaxation: f64::NAN, ..good },
            SubAdmmParams { imbalance: 0.5, ..good },
            SubAdmmParams { check_every: 0, ..good },
            SubAdmmParams { adapt_after: 0, ..good },
        ] {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
    }
}
