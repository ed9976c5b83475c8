//! What goes into a step and what comes out of it: changes of these, or gradients of a loss by them.

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
    /// Activations before the step, `[n_act]`.
    pub act: Vec<f64>,
}

/// A change of what comes out of a step, or the gradient of a loss by it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outputs {
    /// `[n_v]`, in the tangent space at q+.
    pub q: Vec<f64>,
    /// `[n_v]`
    pub v: Vec<f64>,
    /// Activations after the step, `[n_act]`.
    pub act: Vec<f64>,
}
