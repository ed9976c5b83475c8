//! Products and the kernels' Jacobian, which go other ways than the host's Jacobian, compared with it.

use manyworlds::{Batch, BatchOptions, Inputs, Jacobian, JacobiansMut, Model, Outputs, Product, State, random};

use super::{Audit, Place};
use crate::batches::{batch, largest, largest_difference, run};

/// What is below this, in SI units, is as good as zero.
const LEAST: f64 = 1e-5;
/// Largest difference of two ways to the same derivative, of the largest entry or what there would be without constraints.
const APART: f64 = 1e-7;

impl Audit {
    /// Compares products along random directions, and the Jacobian by kernels, with the host's Jacobian.
    pub(super) fn products(&mut self, place: &Place) {
        let Place { model, options, from, name } = *place;
        let mut base = kept(model, options, from);
        let jacobian = base.jacobian(0).expect("a Jacobian");
        if !jacobian.certificate.valid() {
            return;
        }
        let [by_force, by_control] = jacobian.free;
        let draw =
            |which: u64, n: usize| (0..n).map(|i| random::symmetric(3, which, 0, i as u64)).collect::<Vec<f64>>();
        let (n_v, n_u, n_act) = (model.n_v, model.actuators.len(), model.n_act());
        let [q, v, tau, ctrl] = [(0, n_v), (1, n_v), (2, n_v), (3, n_u)].map(|(which, n)| draw(which, n));
        let inputs = Inputs { q, v, tau, ctrl, act: draw(6, n_act) };
        let (along, certificate) = base.along(0, &inputs).expect("a product");
        if certificate.valid() {
            let expected = jacobian.along(&inputs);
            self.agree(name, "along, q", &along.q, &expected.q, 1.0);
            self.agree(name, "along, v", &along.v, &expected.v, 1.0);
            self.agree(name, "along, act", &along.act, &expected.act, 1.0);
        }
        let outputs = Outputs { q: draw(4, n_v), v: draw(5, n_v), act: draw(7, n_act) };
        let (back, certificate) = base.back(0, &outputs).expect("a product");
        if certificate.valid() {
            let expected = jacobian.back(&outputs);
            self.agree(name, "back, q", &back.q, &expected.q, 1.0);
            self.agree(name, "back, v", &back.v, &expected.v, 1.0);
            self.agree(name, "back, tau", &back.tau, &expected.tau, by_force);
            self.agree(name, "back, ctrl", &back.ctrl, &expected.ctrl, by_control);
            self.agree(name, "back, act", &back.act, &expected.act, by_control);
        }
        let kernels = by_kernels(&mut base, &jacobian);
        if kernels.certificate.valid() {
            self.agree(name, "dv_dq by kernels", &kernels.dv_dq, &jacobian.dv_dq, 1.0);
            self.agree(name, "dv_dv by kernels", &kernels.dv_dv, &jacobian.dv_dv, 1.0);
            self.agree(name, "dv_dtau by kernels", &kernels.dv_dtau, &jacobian.dv_dtau, by_force);
            self.agree(name, "dv_dctrl by kernels", &kernels.dv_dctrl, &jacobian.dv_dctrl, by_control);
            self.agree(name, "dv_dact by kernels", &kernels.dv_dact, &jacobian.dv_dact, by_control);
            self.agree(name, "dact_dctrl by kernels", &kernels.dact_dctrl, &jacobian.dact_dctrl, 1.0);
            self.agree(name, "dact_dact by kernels", &kernels.dact_dact, &jacobian.dact_dact, 1.0);
        }
    }

    /// Notes where two ways to the same numbers differ; `free`: how large they were without constraints.
    fn agree(&mut self, name: &str, what: &str, found: &[f64], expected: &[f64], free: f64) {
        self.products += 1;
        let (off, size) = (largest_difference(found, expected), largest(expected).max(free).max(LEAST));
        if off.is_nan() || off > APART * size {
            self.wrong.push(format!("{name}: {what}: differs by {off:e} of {size:e}"));
        }
    }
}

/// A world that has stepped from a state, with that step kept.
pub(super) fn kept(model: &Model, options: &BatchOptions, from: &State) -> Batch {
    let mut out = batch(model, 1, options);
    out.keep_steps(true).expect("kept");
    out.reset(&[(0, from.clone())]).expect("a state");
    run(&mut out, 1);
    out
}

/// The Jacobian of the world of such a batch by kernels, where they do not leave it to the host, which gave another.
pub(super) fn by_kernels(batch: &mut Batch, host: &Jacobian) -> Jacobian {
    let mut out = host.clone();
    let to = JacobiansMut::from(&mut out);
    out.certificate = batch.differentiate(&[0], Product::Jacobian(to)).expect("Jacobians").swap_remove(0);
    out
}
