//! How the biases of constraints (what undoes gaps and violations) depend on gaps, and how far they are from a kink.

use manyworlds_shaders::contact::gradient::kink;

/// Gaps and violations that a step would undo at less than this are closed, m/s (rad/s): rounding decides their sign. `single`:
/// of a step in single precision.
#[must_use]
pub fn closed_below(single: bool) -> f64 {
    if single { 1e-4 } else { 1e-9 }
}

/// How far a bias is from where its slope jumps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kink {
    /// m/s (rad/s)
    pub(crate) margin: f64,
    /// The gap is just closed, and counts as open: of the two slopes there that by which it closes in the step, so that
    /// what rests on a surface stays on it whichever way it is moved.
    pub(crate) closed: bool,
}

impl Kink {
    /// A bias without kinks.
    pub(crate) const NONE: Self = Self { margin: f64::INFINITY, closed: false };
}

/// Branches of [`manyworlds_shaders::contact::tree_layout::bias`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Branch {
    /// An open gap, or one just closed.
    Open,
    /// A violation of which a part is undone.
    Undone,
    /// One that is undone as fast as may be.
    Capped,
}

impl Branch {
    /// That of an error; below `closed`, m/s, it counts as none.
    pub(crate) fn of(error: f64, [per_step, fraction, largest]: [f64; 3], closed: f64) -> Self {
        let speed = error * per_step;
        if speed > -closed {
            Self::Open
        } else if fraction * speed > -largest {
            Self::Undone
        } else {
            Self::Capped
        }
    }

    /// The bias of an error on this branch, wherever the error is; settings: 1/h, fraction, largest speed.
    pub(crate) fn bias(self, error: f64, [per_step, fraction, largest]: [f64; 3]) -> f64 {
        match self {
            Self::Open => error * per_step,
            Self::Undone => fraction * error * per_step,
            Self::Capped => -largest,
        }
    }
}

/// The bias of a bilateral error under its own settings (1/h, fraction, largest speed), on the branch that an error `here` is on: undone by
/// a part, or as fast as may be.
pub(crate) fn bilateral_beside(here: f64, settings: [f64; 3], error: f64, own: [f64; 3]) -> f64 {
    let [per_step, fraction, largest] = settings;
    let speed = fraction * here * per_step;
    if speed.abs() < largest { own[1] * error * own[0] } else { own[2].copysign(speed) }
}

/// Slope of [`manyworlds_shaders::contact::tree_layout::bias`] by the error.
pub(crate) fn bias_slope(error: f64, settings: [f64; 3], closed: f64) -> f64 {
    kink::slope(error, settings, closed)
}

/// How far [`manyworlds_shaders::contact::tree_layout::bias`] is from its kinks: at zero, and where the correction is
/// capped.
pub(crate) fn bias_kink(error: f64, settings: [f64; 3], closed: f64) -> Kink {
    let [margin, closed] = kink::kink(error, settings, closed);
    Kink { margin, closed: closed != 0.0 }
}

/// How far [`manyworlds_shaders::contact::tree_layout::bilateral_bias`] is from its kinks.
pub(crate) fn bilateral_kink(error: f64, per_step: f64, fraction: f64, largest: f64) -> Kink {
    let [_, margin] = kink::bilateral(error, [per_step, fraction, largest]);
    Kink { margin, closed: false }
}

/// Slope of [`manyworlds_shaders::contact::tree_layout::bilateral_bias`] by the error.
pub(crate) fn bilateral_slope(error: f64, per_step: f64, fraction: f64, largest: f64) -> f64 {
    let [slope, _] = kink::bilateral(error, [per_step, fraction, largest]);
    slope
}
