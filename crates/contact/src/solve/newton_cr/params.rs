//! Settings of Newton with conjugate residuals.

use manyworlds_shaders::Scalar;

use super::{NewtonCr, iterate};
use crate::problem::ContactProblem;
use crate::solve::{Outcome, SolveError, SolveSettings, Solver, SolverParams};

/// Which function's zeros are complementary pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NcpFunction {
    /// `min(a, b)`
    MinimumMap,
    /// `a + b - sqrt(a^2 + b^2)` (Fischer and Burmeister)
    FischerBurmeister,
}

/// The scaling `r` of impulses beside velocities in an NCP function.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scaling {
    /// One number for all rows, 1/kg.
    Uniform(f64),
    /// The diagonal of the Delassus operator, contact by contact (Macklin 2019, section 7).
    EffectiveMass,
}

/// How the iteration goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NewtonCrParams {
    /// NCP function of normal impulses and of friction.
    pub function: NcpFunction,
    /// Its scaling.
    pub scaling: Scaling,
    /// Share of each Newton step that is taken, in (0, 1].
    pub damping: f64,
    /// Iterations of the linear solver in each Newton step at most.
    pub linear: u32,
    /// The linear solver stops at this share of its first residual, in (0, 1).
    pub linear_share: f64,
    /// Newton steps after which an island that is still unsolved is given to Newton steps on the strict map: friction as a
    /// fixed point cycles where contacts slide. None: never.
    pub finish_after: Option<u32>,
}

impl Default for NewtonCrParams {
    fn default() -> Self {
        Self {
            function: NcpFunction::FischerBurmeister,
            scaling: Scaling::EffectiveMass,
            damping: 0.75,
            linear: 300,
            linear_share: 1e-6,
            finish_after: Some(20),
        }
    }
}

impl NewtonCrParams {
    /// As printed: 10 to 80 iterations of the linear solver, no finishing stage.
    #[must_use]
    pub fn printed() -> Self {
        Self { linear: 50, finish_after: None, ..Self::default() }
    }

    /// For batches: linear systems are solved to a hundredth, which on recorded problems takes as many Newton steps, or
    /// fewer, with a half to a fifth of the linear iterations.
    #[must_use]
    pub fn batches() -> Self {
        Self { linear_share: 1e-2, linear: 150, ..Self::default() }
    }
}

impl SolverParams for NewtonCrParams {
    fn solver(&self) -> &'static str {
        NewtonCr.name()
    }

    fn validate(&self) -> Result<(), SolveError> {
        let wrong = |setting, what: String| Err(SolveError::Setting { setting, what });
        if !(self.damping > 0.0 && self.damping <= 1.0) {
            return wrong("damping", format!("{} is not above 0 and at most 1", self.damping));
        }
        if !(self.linear_share > 0.0 && self.linear_share < 1.0) {
            return wrong("linear_share", format!("{} is not between 0 and 1", self.linear_share));
        }
        if let Scaling::Uniform(r) = self.scaling
            && !(r > 0.0 && r.is_finite())
        {
            return wrong("scaling", format!("{r} is not positive and finite"));
        }
        if self.linear == 0 {
            return wrong("linear", "expected at least 1 iteration, found 0".into());
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
