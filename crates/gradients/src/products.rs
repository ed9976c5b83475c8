//! Products of a linearised step's Jacobian with vectors, without the Jacobian.

use crate::island::LARGEST_RESIDUAL;
use crate::krylov::Left;
use crate::product::{Inputs, Outputs};
use crate::step::{Certificate, Jacobian, LargePart, Linearised, NOT_FINITE, unsolved};

/// Entries of a vector at some places; of an empty one zeros.
fn take(from: &[f64], at: &[usize]) -> Vec<f64> {
    at.iter().map(|&at| from.get(at).copied().unwrap_or(0.0)).collect()
}

fn put(from: &[f64], at: &[usize], to: &mut [f64]) {
    at.iter().zip(from).for_each(|(&at, &x)| to[at] = x);
}

/// What is not finite becomes zero, and speaks against the derivative.
fn made_finite(parts: &mut [&mut Vec<f64>], certificate: &mut Certificate) {
    let mut finite = true;
    for x in parts.iter_mut().flat_map(|part| part.iter_mut()).filter(|x| !x.is_finite()) {
        (*x, finite) = (0.0, false);
    }
    if !finite {
        certificate.problems.push(NOT_FINITE.into());
    }
}

impl Certificate {
    /// Takes note of what iterations left.
    fn add_left(&mut self, left: Left) {
        let said = self.residual > LARGEST_RESIDUAL;
        if !said {
            self.problems.extend(unsolved(left.residual));
        }
        self.residual = self.residual.max(left.residual);
        self.iterations += left.iterations;
    }
}

impl Linearised<'_> {
    /// Change of the state after the step along a change of what goes in (JVP), by one solve an island, and how far to trust
    /// it. An empty part stands for zeros.
    ///
    /// # Panics
    /// When a part has neither the length that [`Inputs`] says nor none.
    #[must_use]
    pub fn along(&self, inputs: &Inputs) -> (Outputs, Certificate) {
        let parts = [&inputs.q, &inputs.v, &inputs.tau, &inputs.ctrl];
        for (x, n) in parts.into_iter().zip([self.n_v, self.n_v, self.n_v, self.n_u]) {
            assert!(x.is_empty() || x.len() == n, "expected {n} numbers, found {}", x.len());
        }
        let mut out = Outputs { q: vec![0.0; self.n_v], v: vec![0.0; self.n_v] };
        let mut certificate = self.certificate.clone();
        if inputs.q.is_empty() {
            certificate.problems_by_q.clear();
        }
        let own = |dofs: &[usize], controls: &[usize]| {
            [0, 1, 2, 3].map(|k| take(parts[k], if k == 3 { controls } else { dofs }))
        };
        for part in &self.islands {
            let inputs = own(&part.dofs, &part.controls);
            let [q, v] = part.island.ahead(inputs.each_ref().map(|x| &x[..]), part.impact.as_ref());
            put(&q, &part.dofs, &mut out.q);
            put(&v, &part.dofs, &mut out.v);
        }
        for part in &self.large {
            let inputs = own(&part.dofs, &part.controls);
            let ([q, v], left) = part.island.ahead(inputs.each_ref().map(|x| &x[..]));
            certificate.add_left(left);
            put(&q, &part.dofs, &mut out.q);
            put(&v, &part.dofs, &mut out.v);
        }
        made_finite(&mut [&mut out.q, &mut out.v], &mut certificate);
        (out, certificate)
    }

    /// Gradient of a loss by what goes into the step, from that by what comes out (VJP), by one transposed solve an island,
    /// and how far to trust it; with [`crate::GradientRules::escape`] perhaps another direction.
    /// An empty part stands for zeros.
    ///
    /// Of an island too large for elimination a second solve tells whether its constraints contradict each other.
    ///
    /// # Panics
    /// When a part has neither the length that [`Outputs`] says nor none.
    #[must_use]
    pub fn back(&self, outputs: &Outputs) -> (Inputs, Certificate) {
        let zeros = |n| vec![0.0; n];
        let mut out = Inputs { q: zeros(self.n_v), v: zeros(self.n_v), tau: zeros(self.n_v), ctrl: zeros(self.n_u) };
        for x in [&outputs.q, &outputs.v] {
            assert!(x.is_empty() || x.len() == self.n_v, "expected {} numbers, found {}", self.n_v, x.len());
        }
        let mut certificate = self.certificate.clone();
        let mut note = |[q, v, tau, ctrl]: [Vec<f64>; 4], dofs: &[usize], controls: &[usize]| {
            put(&q, dofs, &mut out.q);
            put(&v, dofs, &mut out.v);
            put(&tau, dofs, &mut out.tau);
            put(&ctrl, controls, &mut out.ctrl);
        };
        for part in &self.islands {
            let [q, v] = [&outputs.q, &outputs.v].map(|x| take(x, &part.dofs));
            let found = part.island.back(&q, &v, part.impact.as_ref(), self.escape);
            note(found, &part.dofs, &part.controls);
        }
        for part in &self.large {
            let [q, v] = [&outputs.q, &outputs.v].map(|x| take(x, &part.dofs));
            let (found, left) = part.island.back(&q, &v, self.escape);
            certificate.add_left(left);
            certificate.add_left(part.island.contradiction());
            note(found, &part.dofs, &part.controls);
        }
        let Inputs { q, v, tau, ctrl } = &mut out;
        made_finite(&mut [q, v, tau, ctrl], &mut certificate);
        (out, certificate)
    }
}

impl LargePart<'_> {
    /// Puts the island's Jacobian into that of the world: a solve a column.
    pub(crate) fn add_to(&self, out: &mut Jacobian) {
        let (n, n_u) = (self.dofs.len(), self.controls.len());
        out.free.iter_mut().zip(self.island.free()).for_each(|(most, own)| *most = most.max(own));
        for (which, count) in [n, n, n, n_u].into_iter().enumerate() {
            for k in 0..count {
                let mut inputs = [vec![0.0; n], vec![0.0; n], vec![0.0; n], vec![0.0; n_u]];
                inputs[which][k] = 1.0;
                let ([q, v], left) = self.island.ahead(inputs.each_ref().map(|x| &x[..]));
                out.certificate.add_left(left);
                let (by_q, by_v, width, column) = match which {
                    0 => (&mut out.dq_dq, &mut out.dv_dq, out.n_v, self.dofs[k]),
                    1 => (&mut out.dq_dv, &mut out.dv_dv, out.n_v, self.dofs[k]),
                    2 => (&mut out.dq_dtau, &mut out.dv_dtau, out.n_v, self.dofs[k]),
                    _ => (&mut out.dq_dctrl, &mut out.dv_dctrl, out.n_u, self.controls[k]),
                };
                for ((&row, q), v) in self.dofs.iter().zip(q).zip(v) {
                    (by_q[row * width + column], by_v[row * width + column]) = (q, v);
                }
            }
        }
    }
}
