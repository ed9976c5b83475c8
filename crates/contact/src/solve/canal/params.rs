//! Settings of CANAL.

use manyworlds_shaders::Scalar;

use super::super::subadmm::Penalty;
use super::{Canal, iterate};
use crate::problem::ContactProblem;
use crate::solve::{Outcome, SolveError, SolveSettings, Solver, SolverParams};

/// How the augmented Lagrangian is driven.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CanalParams {
    /// Whether `penalty` and `penalty_max` are kg for all constraints alike, as Lee 2024 has it, or multiples of each
    /// constraint's effective mass.
    pub weights: Penalty,
    /// Whether inner problems are first tried with the De Saxce shift of their own slack, and frozen where that fails. With
    /// penalties in effective masses the first is then less, by degrees of freedom to rows, where an island has more rows:
    /// all of its contacts together are as stiff.
    pub strict: bool,
    /// Penalty beta to begin with.
    pub penalty: f64,
    /// Largest penalty: beyond it round-off in `J v`, times beta, is all that is left of an impulse. In single precision
    /// no more than [`CanalParams::MOST_SINGLE`] is used.
    pub penalty_max: f64,
    /// Factor `kappa` of the penalty, above 1.
    pub growth: f64,
    /// The penalty grows where `max |J v - z|` did not fall to this share, `zeta`, of the one before; in (0, 1).
    pub decrease: f64,
    /// The inner problem is solved until its error is this share of the outer one, both in sqrt(J); in (0, 1).
    pub inner_share: f64,
    /// Newton steps of an inner problem at most.
    pub inner: u32,
    /// Outer iterations at most.
    pub outer: u32,
}

impl Default for CanalParams {
    fn default() -> Self {
        Self {
            weights: Penalty::PerConstraint,
            strict: true,
            penalty: 300.0,
            penalty_max: 1e8,
            growth: 10.0,
            decrease: 0.05,
            inner_share: 0.003,
            inner: 50,
            outer: 100,
        }
    }
}

impl CanalParams {
    /// Largest penalty in single precision: an impulse keeps four digits or more, and each outer iteration gains about two.
    pub const MOST_SINGLE: f64 = 1e2;

    /// What does best with a shift that stays frozen, as in kernels.
    #[must_use]
    pub fn frozen() -> Self {
        Self { strict: false, penalty: 1e3, decrease: 0.25, inner_share: 0.01, ..Self::default() }
    }

    /// As printed: one penalty of 1e4 kg.
    #[must_use]
    pub fn printed() -> Self {
        Self { weights: Penalty::Uniform, penalty: 1e4, ..Self::frozen() }
    }
}

impl SolverParams for CanalParams {
    fn solver(&self) -> &'static str {
        Canal.name()
    }

    fn validate(&self) -> Result<(), SolveError> {
        let wrong = |setting, what: String| Err(SolveError::Setting { setting, what });
        let positive = |x: f64| x > 0.0 && x.is_finite();
        if !positive(self.penalty) {
            return wrong("penalty", format!("{} is not positive and finite", self.penalty));
        }
        if !(self.penalty_max >= self.penalty && self.penalty_max.is_finite()) {
            let (most, first) = (self.penalty_max, self.penalty);
            return wrong("penalty_max", format!("{most} is not finite, or below the penalty {first} to begin with"));
        }
        if !(self.growth > 1.0 && self.growth.is_finite()) {
            return wrong("growth", format!("{} is not a factor above 1", self.growth));
        }
        for (name, x) in [("decrease", self.decrease), ("inner_share", self.inner_share)] {
            if !(x > 0.0 && x < 1.0) {
                return wrong(name, format!("{x} is not between 0 and 1"));
            }
        }
        if self.inner == 0 || self.outer == 0 {
            return wrong("inner, outer", "expected at least 1 iteration, found 0".into());
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
        let good = CanalParams::default();
        assert_eq!(good.validate(), Ok(()));
        assert_eq!(CanalParams::printed().validate(), Ok(()));
        for bad in [
            CanalParams { penalty: 0.0, ..good },
            CanalParams { penalty: f64::NAN, ..good },
            CanalParams { penalty_max: 0.5 * good.penalty, ..good },
            CanalParams { penalty_max: f64::INFINITY, ..good },
            CanalParams { growth: 1.0, ..good },
            CanalParams { decrease: 1.0, ..good },
            CanalParams { inner_share: 0.0, ..good },
            CanalParams { inner: 0, ..good },
            CanalParams { outer: 0, ..good },
        ] {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
    }
}
