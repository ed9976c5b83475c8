//! Products with the Jacobian of a step, and with its transpose.

use crate::Jacobian;

/// A change of what goes into a step, or the gradient of a loss by it. Tangent space: `n_v` numbers for q.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    /// `[n_v]`
    pub q: Vec<f64>,
    /// `[n_v]`
    pub v: Vec<f64>,
    /// `[n_v]`
    pub tau: Vec<f64>,
    /// `[n_u]`
    pub ctrl: Vec<f64>,
}

/// A change of what comes out of a step, or the gradient of a loss by it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outputs {
    /// `[n_v]`, in the tangent space at q+.
    pub q: Vec<f64>,
    /// `[n_v]`
    pub v: Vec<f64>,
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
    /// Change of the state after the step along a change of what goes in (JVP). An empty part stands for zeros.
    ///
    /// # Panics
    /// When a part has neither the length that [`Inputs`] says nor none.
    #[must_use]
    pub fn along(&self, inputs: &Inputs) -> Outputs {
        let mut out = Outputs { q: vec![0.0; self.n_v], v: vec![0.0; self.n_v] };
        let parts = [
            (&inputs.q, self.n_v, &self.dq_dq, &self.dv_dq),
            (&inputs.v, self.n_v, &self.dq_dv, &self.dv_dv),
            (&inputs.tau, self.n_v, &self.dq_dtau, &self.dv_dtau),
            (&inputs.ctrl, self.n_u, &self.dq_dctrl, &self.dv_dctrl),
        ];
        for (x, n, by_q, by_v) in parts {
            assert!(x.is_empty() || x.len() == n, "expected {n} numbers, found {}", x.len());
            times(by_q, x, &mut out.q);
            times(by_v, x, &mut out.v);
        }
        out
    }

    /// Gradient of a loss by what goes into the step, from that by what comes out (VJP). An empty part stands for zeros.
    ///
    /// # Panics
    /// When a part has neither the length that [`Outputs`] says nor none.
    #[must_use]
    pub fn back(&self, outputs: &Outputs) -> Inputs {
        let zeros = |n| vec![0.0; n];
        let mut out = Inputs { q: zeros(self.n_v), v: zeros(self.n_v), tau: zeros(self.n_v), ctrl: zeros(self.n_u) };
        let parts = [
            (&mut out.q, &self.dq_dq, &self.dv_dq),
            (&mut out.v, &self.dq_dv, &self.dv_dv),
            (&mut out.tau, &self.dq_dtau, &self.dv_dtau),
            (&mut out.ctrl, &self.dq_dctrl, &self.dv_dctrl),
        ];
        for x in [&outputs.q, &outputs.v] {
            assert!(x.is_empty() || x.len() == self.n_v, "expected {} numbers, found {}", self.n_v, x.len());
        }
        for (y, by_q, by_v) in parts {
            transposed_times(by_q, &outputs.q, y);
            transposed_times(by_v, &outputs.v, y);
        }
        out
    }
}
