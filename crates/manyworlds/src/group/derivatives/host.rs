//! Derivatives on the host, by `manyworlds_gradients`: any step, in double precision.

use manyworlds_gradients::{Certificate, ContactInput, GradientRules, Inputs, Linearised, Outputs, Purpose, StepInput};
use manyworlds_shaders::Scalar;

use super::request::WorldProduct;
use super::step::WorldStep;
use crate::group::shared::Shared;

/// What linearises steps of worlds of a group, apart from the worlds themselves: it outlives what happens to them.
pub(crate) trait Lineariser: Send + Sync {
    /// A step, linearised for its Jacobian.
    fn linearised<'a>(&'a self, step: &'a WorldStep, rules: GradientRules) -> Linearised<'a>;
    /// The same for products with it.
    fn for_products<'a>(&'a self, step: &'a WorldStep, rules: GradientRules) -> Linearised<'a>;
}

impl<T: Scalar> Lineariser for Shared<T> {
    fn linearised<'a>(&'a self, step: &'a WorldStep, rules: GradientRules) -> Linearised<'a> {
        step.linearised(step.input(self), Purpose::Jacobian, rules)
    }

    fn for_products<'a>(&'a self, step: &'a WorldStep, rules: GradientRules) -> Linearised<'a> {
        step.linearised(step.input(self), Purpose::Products, rules)
    }
}

impl WorldStep {
    /// The step linearised, with the impulses that leave least doubt about it.
    fn linearised<'a>(&'a self, input: StepInput<'a>, purpose: Purpose, rules: GradientRules) -> Linearised<'a> {
        let keep = |contacts| -> &'a [ContactInput] { self.shared_out.get_or_init(|| contacts) };
        let mut out = Linearised::shared(input, purpose, rules, keep);
        out.add_problem(self.problem.clone());
        out
    }
}

impl WorldProduct<'_> {
    /// Computes it on the host; how far to trust it.
    pub(crate) fn on_host(self, lineariser: &dyn Lineariser, step: &WorldStep, rules: GradientRules) -> Certificate {
        match self {
            Self::Jacobian(to) => {
                let mut wanted = [0, 1, 2, 3].map(|k| !to[k].is_empty() || !to[4 + k].is_empty());
                // Activations count as controls.
                wanted[3] |= to[8..].iter().any(|to| !to.is_empty());
                let found = lineariser.linearised(step, rules).jacobian_by(wanted);
                let dq = [&found.dq_dq, &found.dq_dv, &found.dq_dtau, &found.dq_dctrl];
                let dv = [&found.dv_dq, &found.dv_dv, &found.dv_dtau, &found.dv_dctrl];
                let act = [&found.dq_dact, &found.dv_dact, &found.dact_dctrl, &found.dact_dact];
                to.into_iter().zip(dq.into_iter().chain(dv).chain(act)).for_each(|(to, block)| fill(to, block));
                found.certificate
            }
            Self::Back { from, to } => {
                let [q, v, act] = from.map(<[f64]>::to_vec);
                let outputs = Outputs { q, v, act };
                let (found, certificate) = lineariser.for_products(step, rules).back(&outputs);
                let parts = [&found.q, &found.v, &found.tau, &found.ctrl, &found.act];
                to.into_iter().zip(parts).for_each(|(to, part)| fill(to, part));
                certificate
            }
            Self::Along { from, to } => {
                let [q, v, tau, ctrl, act] = from.map(<[f64]>::to_vec);
                let inputs = Inputs { q, v, tau, ctrl, act };
                let (found, certificate) = lineariser.for_products(step, rules).along(&inputs);
                to.into_iter().zip([&found.q, &found.v, &found.act]).for_each(|(to, part)| fill(to, part));
                certificate
            }
        }
    }
}

/// Writes what is wanted.
fn fill(to: &mut [f64], from: &[f64]) {
    if !to.is_empty() {
        to.copy_from_slice(from);
    }
}
