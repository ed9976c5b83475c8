//! SAP's Newton steps on one island.

use super::evaluate::{Island, Step, Sums};
use super::newton::Newton;
use super::terms::setting;
use crate::Scalar;

impl<T: Scalar> Island<'_, T> {
    /// SAP: whether the gradient is small enough, `|D grad| < eps_a + eps_r max(|D p|, |D j_c|)`, `D = diag(A)^-1/2`
    /// (Castro 2022, eqs. 25, 26).
    pub(super) fn judge(&self, sums: &Sums<T>) -> Step {
        let scale = sums.momentum.max(sums.pushed);
        if !(sums.error.is_finite() && scale.is_finite()) {
            return Step::Broken;
        }
        let bar = setting::<T>(self.dims.relative).mul_add(scale.sqrt(), setting(self.dims.absolute));
        if sums.error <= bar * bar || sums.error <= self.roundoff(sums) { Step::Solved } else { Step::Running }
    }

    /// SAP: what a Newton step comes to.
    pub(super) fn compliant(&mut self, step: &Newton<T>) -> Step {
        let (sums, decrement) = match *step {
            Newton::Singular => return Step::Broken,
            Newton::Unfinished => return Step::Running,
            Newton::Done(sums, decrement) => (sums, decrement),
        };
        let judged = self.judge(&sums);
        if judged == Step::Broken {
            return judged;
        }
        self.publish();
        // No descent is left where round-off is all there is.
        if decrement <= T::lit(0.0) { Step::Solved } else { judged }
    }
}
