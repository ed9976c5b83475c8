//! What every constraint says about derivatives, whatever it is: rows of J, how its biased velocity changes while v+ is
//! held, and the law its impulse obeys.

use nalgebra::DMatrix;

/// The law of a constraint of the step, with its impulse in the solution.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Law {
    /// Signorini-Coulomb, three rows (t1, t2, n).
    Contact {
        /// Friction coefficient.
        mu: f64,
    },
    /// Held at zero, three rows.
    Bilateral,
    /// `sigma + e + c lambda = 0` between bounds, one row.
    Row {
        /// c, 1/kg.
        compliance: f64,
        /// Smallest impulse.
        lower: f64,
        /// Largest impulse.
        upper: f64,
    },
}

impl Law {
    /// How many rows.
    pub(crate) fn rows(self) -> usize {
        match self {
            Self::Contact { .. } | Self::Bilateral => 3,
            Self::Row { .. } => 1,
        }
    }
}

/// One constraint of an island.
pub(crate) struct Constraint {
    /// First of its rows among the island's.
    pub(crate) first: usize,
    pub(crate) law: Law,
    /// In the step; zeros behind the first for a row.
    pub(crate) impulse: [f64; 3],
    /// e
    pub(crate) bias: [f64; 3],
    /// How far e is from a kink of its own (where a gap closes, where a correction is capped), m/s.
    pub(crate) smooth: f64,
}

/// The rows of an island: `sigma^ = J v+ + e`.
pub(crate) struct Rows {
    /// `[rows, n_v]`
    pub(crate) j: DMatrix<f64>,
    /// Change of `sigma^` by q while v+ is held, `[rows, n_v]`.
    pub(crate) by_q: DMatrix<f64>,
    /// The same by the velocity before the step (restitution).
    pub(crate) by_v: DMatrix<f64>,
    /// The same by the controls (drives that are rows), `[rows, n_u]`.
    pub(crate) by_ctrl: DMatrix<f64>,
    pub(crate) constraints: Vec<Constraint>,
}

impl Rows {
    pub(crate) fn new(rows: usize, n_v: usize, n_u: usize) -> Self {
        Self {
            j: DMatrix::zeros(rows, n_v),
            by_q: DMatrix::zeros(rows, n_v),
            by_v: DMatrix::zeros(rows, n_v),
            by_ctrl: DMatrix::zeros(rows, n_u),
            constraints: Vec::new(),
        }
    }

    /// Says how far the bias of the last constraint is from a kink.
    pub(crate) fn smooth(&mut self, margin: f64) {
        if let Some(last) = self.constraints.last_mut() {
            last.smooth = margin;
        }
    }

    /// Adds a constraint behind the last; gives its first row.
    pub(crate) fn push(&mut self, law: Law, impulse: [f64; 3], bias: [f64; 3], smooth: f64) -> usize {
        let first = self.constraints.last().map_or(0, |last| last.first + last.law.rows());
        self.constraints.push(Constraint { first, law, impulse, bias, smooth });
        first
    }
}

/// Slope of [`manyworlds_shaders::contact::tree_layout::bias`] by the error.
pub(crate) fn bias_slope(error: f64, per_step: f64, fraction: f64, largest: f64) -> f64 {
    if error >= 0.0 {
        per_step
    } else if fraction * error * per_step > -largest {
        fraction * per_step
    } else {
        0.0
    }
}

/// How far [`manyworlds_shaders::contact::tree_layout::bias`] is from its kinks: at zero, and where the correction is
/// capped.
pub(crate) fn bias_margin(error: f64, per_step: f64, fraction: f64, largest: f64) -> f64 {
    let speed = error * per_step;
    speed.abs().min((fraction * speed + largest).abs())
}

/// How far [`manyworlds_shaders::contact::tree_layout::bilateral_bias`] is from its kinks.
pub(crate) fn bilateral_margin(error: f64, per_step: f64, fraction: f64, largest: f64) -> f64 {
    ((fraction * error * per_step).abs() - largest).abs()
}

/// Slope of [`manyworlds_shaders::contact::tree_layout::bilateral_bias`] by the error.
pub(crate) fn bilateral_slope(error: f64, per_step: f64, fraction: f64, largest: f64) -> f64 {
    let speed = fraction * error * per_step;
    if speed.abs() < largest { fraction * per_step } else { 0.0 }
}
