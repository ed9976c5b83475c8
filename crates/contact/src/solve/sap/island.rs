//! SAP's state of one island.

use manyworlds_collide::organise::Island;
use manyworlds_shaders::Scalar;

use super::super::convex::{Convex, Term};
use super::super::law::Cap;
use super::super::rows::cast;
use super::super::system::Constraint;
use super::params::SapParams;
use crate::problem::{ContactProblem, Law};

/// One island.
pub(super) struct IslandState<T> {
    pub(super) convex: Convex<T>,
    params: SapParams,
}

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The gradient is not small enough yet.
    Running,
    /// It is, or as small as this arithmetic can have it.
    Solved,
    /// A number is not finite, or the matrix singular in this arithmetic.
    Broken,
}

/// `|W_ii|_F / 3` of a block, `G_ii` of a row, 1/kg.
fn rms<T: Scalar>(c: &Constraint<T>) -> T {
    let w = &c.delassus;
    if c.law.rows() == 1 {
        return w[0];
    }
    let (square, twice) = (w[0] * w[0] + w[3] * w[3] + w[5] * w[5], w[1] * w[1] + w[2] * w[2] + w[4] * w[4]);
    (square + twice + twice).sqrt() / T::lit(3.0)
}

/// The compliant form of a constraint.
fn term<T: Scalar>(c: &Constraint<T>, params: &SapParams) -> Term<T> {
    let zero = T::lit(0.0);
    let w = rms(c);
    // What moves nothing may have any weight.
    let w = if T::lit(0.0) < w { w } else { T::lit(1.0) };
    let near = w * cast::<T>((params.near_rigid / std::f64::consts::TAU).powi(2));
    let weight = |r: T| T::lit(1.0) / r;
    let slip = weight(w * cast::<T>(params.slip));
    let plain = |beta| Term { law: c.law, cap: Cap::Never, beta, before: [zero; 3], bias: c.e };
    match (c.law, c.compliance) {
        (Law::Contact { .. }, Some(soft)) => {
            let normal = weight(near.max(cast(soft.r_n)));
            Term { bias: [c.e[0], c.e[1], -cast::<T>(soft.v_hat)], ..plain([slip, slip, normal]) }
        }
        (Law::Contact { .. }, None) => plain([slip, slip, weight(near)]),
        (Law::Soft { k, b, lo, hi }, _) => {
            let before = [-cast::<T>(k) * c.e[0], zero, zero];
            Term { law: Law::Box { lo, hi }, cap: Cap::Never, beta: [cast(b); 3], before, bias: [zero; 3] }
        }
        (Law::Box { .. }, _) => plain([slip; 3]),
        (Law::Block | Law::Bilateral | Law::Unilateral, _) => plain([weight(near); 3]),
    }
}

impl<T: Scalar> IslandState<T> {
    /// Of no island yet.
    pub(super) fn new(params: &SapParams) -> Self {
        Self { convex: Convex::default(), params: *params }
    }

    /// Starts from the velocity that the problem's impulses give, `v`, or from the one it knows: impulses are stiff
    /// functions of velocities, so that where contacts come and go the old velocity is nearer (a heap at rest then takes
    /// one Newton step instead of three), and where kernels have solved an island it is not.
    pub(super) fn start(&mut self, problem: &ContactProblem, island: &Island, v: &[f64], params: &SapParams) {
        self.params = *params;
        let convex = &mut self.convex;
        convex.system.refill(problem, island);
        convex.terms.clear();
        convex.terms.extend(convex.system.constraints.iter().map(|c| term(c, params)));
        convex.restart();
        convex.start_from(v);
        if !problem.v_start.is_empty() && self.judge() == Step::Running {
            let error = self.convex.error();
            self.convex.start_from(&problem.v_start);
            let nearer = self.convex.error() < error;
            if !nearer {
                self.convex.start_from(v);
            }
        }
    }

    /// Whether the gradient is small enough: `|D grad| < eps_a + eps_r max(|D p|, |D j_c|)`, `D = diag(A)^-1/2`
    /// (Castro 2022, eqs. 25, 26).
    pub(super) fn judge(&self) -> Step {
        let (error, scale) = (self.convex.error(), self.convex.scale());
        if !error.is_finite() || !scale.is_finite() {
            return Step::Broken;
        }
        let bar = cast::<T>(self.params.absolute) + cast::<T>(self.params.relative) * scale.sqrt();
        if error <= bar * bar || error <= self.convex.roundoff(scale) { Step::Solved } else { Step::Running }
    }

    /// One Newton step.
    pub(super) fn step(&mut self) -> Step {
        let Some(decrement) = self.convex.step() else { return Step::Broken };
        match self.judge() {
            // No descent is left where round-off is all there is.
            Step::Running if decrement <= T::lit(0.0) => Step::Solved,
            judged => judged,
        }
    }
}
