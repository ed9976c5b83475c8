//! The dense Jacobian of a step, and its products with vectors.

use crate::activation::ActivationSlopes;
use crate::certificate::Certificate;
use crate::mode::Mode;
use crate::product::{Inputs, Outputs};

/// Derivatives of the state after a step by the state before it and by what acts, dense, row-major. Rows and columns of q
/// are those of the tangent space: `n_v`, orientations by rotation vectors in body axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Jacobian {
    /// Degrees of freedom.
    pub n_v: usize,
    /// Controls.
    pub n_u: usize,
    /// Activations.
    pub n_act: usize,
    /// `[n_v, n_v]`
    pub dq_dq: Vec<f64>,
    /// `[n_v, n_v]`, s.
    pub dq_dv: Vec<f64>,
    /// `[n_v, n_v]`
    pub dq_dtau: Vec<f64>,
    /// `[n_v, n_u]`
    pub dq_dctrl: Vec<f64>,
    /// `[n_v, n_v]`, 1/s.
    pub dv_dq: Vec<f64>,
    /// `[n_v, n_v]`
    pub dv_dv: Vec<f64>,
    /// `[n_v, n_v]`
    pub dv_dtau: Vec<f64>,
    /// `[n_v, n_u]`
    pub dv_dctrl: Vec<f64>,
    /// `[n_v, n_act]`
    pub dq_dact: Vec<f64>,
    /// `[n_v, n_act]`
    pub dv_dact: Vec<f64>,
    /// `[n_act, n_u]`
    pub dact_dctrl: Vec<f64>,
    /// `[n_act, n_act]`
    pub dact_dact: Vec<f64>,
    /// Most that a unit of force, and of control, would change a velocity without constraints: the scale of blocks that
    /// constraints hold at zero.
    pub free: [f64; 2],
    /// Mode of each contact.
    pub modes: Vec<Mode>,
    /// How far to trust it.
    pub certificate: Certificate,
}

/// `y += M x`, M row-major.
fn times(m: &[f64], x: &[f64], y: &mut [f64]) {
    if x.is_empty() {
        return;
    }
    for (y, row) in y.iter_mut().zip(m.chunks_exact(x.len())) {
        *y += row.iter().zip(x).map(|(m, x)| m * x).sum::<f64>();
    }
}

/// `y += M^T x`, M row-major.
fn transposed_times(m: &[f64], x: &[f64], y: &mut [f64]) {
    if y.is_empty() {
        return;
    }
    for (x, row) in x.iter().zip(m.chunks_exact(y.len())) {
        y.iter_mut().zip(row).for_each(|(y, m)| *y += m * x);
    }
}

impl Jacobian {
    /// Makes zeros of the entries by q, v, tau and ctrl that are wanted.
    pub(crate) fn fill_with_zeros(&mut self, wanted: [bool; 4]) {
        let Self { dq_dq, dq_dv, dq_dtau, dq_dctrl, dv_dq, dv_dv, dv_dtau, dv_dctrl, .. } = self;
        let blocks = [[dq_dq, dv_dq], [dq_dv, dv_dv], [dq_dtau, dv_dtau], [dq_dctrl, dv_dctrl]];
        for (which, blocks) in blocks.into_iter().enumerate().filter(|&(which, _)| wanted[which]) {
            let width = if which == 3 { self.n_u } else { self.n_v };
            blocks.into_iter().for_each(|block| *block = vec![0.0; self.n_v * width]);
        }
    }

    /// Its blocks are to be put in their place as a whole.
    pub(crate) fn empty(n_v: usize, n_u: usize) -> Self {
        Self {
            n_v,
            n_u,
            n_act: 0,
            dq_dq: Vec::new(),
            dq_dv: Vec::new(),
            dq_dtau: Vec::new(),
            dq_dctrl: Vec::new(),
            dv_dq: Vec::new(),
            dv_dv: Vec::new(),
            dv_dtau: Vec::new(),
            dv_dctrl: Vec::new(),
            dq_dact: Vec::new(),
            dv_dact: Vec::new(),
            dact_dctrl: Vec::new(),
            dact_dact: Vec::new(),
            free: [0.0; 2],
            modes: Vec::new(),
            certificate: Certificate::default(),
        }
    }

    /// Tells activations from the controls behind which they stand, and adds how they change themselves.
    pub(crate) fn split_activations(&mut self, n_act: usize, slopes: &[ActivationSlopes]) {
        self.n_act = n_act;
        if n_act == 0 {
            return;
        }
        let width = self.n_u;
        self.n_u -= n_act;
        let pairs = [(&mut self.dq_dctrl, &mut self.dq_dact), (&mut self.dv_dctrl, &mut self.dv_dact)];
        for (by_control, by_activation) in pairs {
            let both = std::mem::take(by_control);
            for row in both.chunks_exact(width) {
                let (controls, activations) = row.split_at(self.n_u);
                by_control.extend(controls);
                by_activation.extend(activations);
            }
        }
        self.dact_dctrl = vec![0.0; n_act * self.n_u];
        self.dact_dact = vec![0.0; n_act * n_act];
        for own in slopes {
            own.write([self.n_u, n_act], [&mut self.dact_dctrl, &mut self.dact_dact]);
        }
    }

    /// Makes zeros of entries that are not finite, and says so.
    pub(crate) fn make_finite(&mut self) {
        let Self { dq_dq, dq_dv, dq_dtau, dq_dctrl, dv_dq, dv_dv, dv_dtau, dv_dctrl, .. } = self;
        let Self { dq_dact, dv_dact, dact_dctrl, dact_dact, certificate, .. } = self;
        let by_state = [dq_dq, dq_dv, dq_dtau, dq_dctrl, dv_dq, dv_dv, dv_dtau, dv_dctrl];
        certificate.make_finite(by_state.into_iter().chain([dq_dact, dv_dact, dact_dctrl, dact_dact]));
    }

    /// Change of the state after the step along a change of what goes in (JVP). An empty part stands for zeros.
    ///
    /// # Panics
    /// When a part has neither the length that [`Inputs`] says nor none.
    #[must_use]
    pub fn along(&self, inputs: &Inputs) -> Outputs {
        let zeros = |n| vec![0.0; n];
        let mut out = Outputs { q: zeros(self.n_v), v: zeros(self.n_v), act: zeros(self.n_act) };
        let parts = [
            (&inputs.q, self.n_v, &self.dq_dq, &self.dv_dq),
            (&inputs.v, self.n_v, &self.dq_dv, &self.dv_dv),
            (&inputs.tau, self.n_v, &self.dq_dtau, &self.dv_dtau),
            (&inputs.ctrl, self.n_u, &self.dq_dctrl, &self.dv_dctrl),
            (&inputs.act, self.n_act, &self.dq_dact, &self.dv_dact),
        ];
        for (x, n, by_q, by_v) in parts {
            assert!(x.is_empty() || x.len() == n, "expected {n} numbers, found {}", x.len());
            times(by_q, x, &mut out.q);
            times(by_v, x, &mut out.v);
        }
        times(&self.dact_dctrl, &inputs.ctrl, &mut out.act);
        times(&self.dact_dact, &inputs.act, &mut out.act);
        out
    }

    /// Gradient of a loss by what goes into the step, from that by what comes out (VJP). An empty part stands for zeros.
    ///
    /// # Panics
    /// When a part has neither the length that [`Outputs`] says nor none.
    #[must_use]
    pub fn back(&self, outputs: &Outputs) -> Inputs {
        let zeros = |n| vec![0.0; n];
        let [q, v, tau] = [(); 3].map(|()| zeros(self.n_v));
        let mut out = Inputs { q, v, tau, ctrl: zeros(self.n_u), act: zeros(self.n_act) };
        let parts = [
            (&mut out.q, &self.dq_dq, &self.dv_dq),
            (&mut out.v, &self.dq_dv, &self.dv_dv),
            (&mut out.tau, &self.dq_dtau, &self.dv_dtau),
            (&mut out.ctrl, &self.dq_dctrl, &self.dv_dctrl),
            (&mut out.act, &self.dq_dact, &self.dv_dact),
        ];
        for (x, n) in [(&outputs.q, self.n_v), (&outputs.v, self.n_v), (&outputs.act, self.n_act)] {
            assert!(x.is_empty() || x.len() == n, "expected {n} numbers, found {}", x.len());
        }
        for (y, by_q, by_v) in parts {
            transposed_times(by_q, &outputs.q, y);
            transposed_times(by_v, &outputs.v, y);
        }
        transposed_times(&self.dact_dctrl, &outputs.act, &mut out.ctrl);
        transposed_times(&self.dact_dact, &outputs.act, &mut out.act);
        out
    }
}
