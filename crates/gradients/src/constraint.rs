//! What every constraint says about derivatives, whatever it is: rows of J, how its biased velocity changes while v+ is
//! held, and the law its impulse obeys.

use crate::grid::Grid;
use crate::model::ContactModel;

/// The law of a constraint of the step, with its impulse in the solution.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Law {
    /// Three rows (t1, t2, n).
    Contact {
        /// Friction coefficient.
        mu: f64,
        /// What kind of contact.
        model: ContactModel,
    },
    /// Held at zero, three rows.
    Bilateral,
    /// `sigma + e + r lambda = 0` between bounds, one row.
    Row {
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
    /// How much each row gives way, 1/kg: its law is about `sigma + e + r lambda`.
    pub(crate) r: [f64; 3],
    /// Slope of `r` by the size of the Delassus block.
    pub(crate) r_slope: [f64; 3],
    /// How far e is from a kink of its own (where a gap closes, where a correction is capped).
    pub(crate) kink: Kink,
    /// Of a row of a tree: first dof of the tree in the island, and number of the row.
    pub(crate) row: Option<(usize, usize)>,
    /// Speed along the normal before the step of a contact that bounces, m/s; else zero.
    pub(crate) approach: f64,
}

/// The rows of an island: `sigma^ = J v+ + e`.
pub(crate) struct Rows {
    /// `[rows, n_v]`
    pub(crate) j: Grid,
    /// Change of `sigma^` by q while v+ is held, `[rows, n_v]`.
    pub(crate) by_q: Grid,
    /// The same by the velocity before the step (restitution).
    pub(crate) by_v: Grid,
    /// The same by the controls (drives that are rows), `[rows, n_u]`.
    pub(crate) by_ctrl: Grid,
    pub(crate) constraints: Vec<Constraint>,
}

impl Rows {
    pub(crate) fn new(rows: usize, n_v: usize, n_u: usize) -> Self {
        Self {
            j: Grid::zeros(rows, n_v),
            by_q: Grid::zeros(rows, n_v),
            by_v: Grid::zeros(rows, n_v),
            by_ctrl: Grid::zeros(rows, n_u),
            constraints: Vec::new(),
        }
    }

    /// Says how far the bias of the last constraint is from a kink.
    pub(crate) fn kink(&mut self, kink: Kink) {
        if let Some(last) = self.constraints.last_mut() {
            last.kink = kink;
        }
    }

    /// Says which row of which tree the last constraint is, and its compliance, 1/kg.
    pub(crate) fn is_row(&mut self, tree: usize, index: usize, compliance: f64) {
        if let Some(last) = self.constraints.last_mut() {
            last.row = Some((tree, index));
            last.r[0] = compliance;
        }
    }

    /// Says with which speed along the normal the last constraint is one that bounces.
    pub(crate) fn bounces(&mut self, approach: f64) {
        if let Some(last) = self.constraints.last_mut() {
            last.approach = approach;
        }
    }

    /// Adds a constraint behind the last; gives its first row.
    pub(crate) fn push(&mut self, law: Law, impulse: [f64; 3], bias: [f64; 3], kink: Kink) -> usize {
        let first = self.constraints.last().map_or(0, |last| last.first + last.law.rows());
        self.constraints.push(Constraint {
            first,
            law,
            impulse,
            bias,
            r: [0.0; 3],
            r_slope: [0.0; 3],
            kink,
            row: None,
            approach: 0.0,
        });
        first
    }
}

/// Gaps and violations that a step would undo at less than this are closed, m/s (rad/s): rounding decides their sign.
pub(crate) const CLOSED: f64 = 1e-9;
/// The same of steps in single precision.
pub(crate) const CLOSED_SINGLE: f64 = 1e-4;

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

/// Slope of [`manyworlds_shaders::contact::tree_layout::bias`] by the error.
pub(crate) fn bias_slope(error: f64, settings: [f64; 3], closed: f64) -> f64 {
    let [per_step, fraction, _] = settings;
    match Branch::of(error, settings, closed) {
        Branch::Open => per_step,
        Branch::Undone => fraction * per_step,
        Branch::Capped => 0.0,
    }
}

/// How far [`manyworlds_shaders::contact::tree_layout::bias`] is from its kinks: at zero, and where the correction is
/// capped.
pub(crate) fn bias_kink(error: f64, [per_step, fraction, largest]: [f64; 3], closed: f64) -> Kink {
    let speed = error * per_step;
    let capped = (fraction * speed + largest).abs();
    // All of a violation undone at once: the slope is the same on either side.
    let (closed, smooth) = (speed.abs() < closed, fraction == 1.0);
    let margin = if closed || smooth { capped } else { speed.abs().min(capped) };
    Kink { margin, closed: closed && !smooth }
}

/// How far [`manyworlds_shaders::contact::tree_layout::bilateral_bias`] is from its kinks.
pub(crate) fn bilateral_kink(error: f64, per_step: f64, fraction: f64, largest: f64) -> Kink {
    Kink { margin: ((fraction * error * per_step).abs() - largest).abs(), closed: false }
}

/// Slope of [`manyworlds_shaders::contact::tree_layout::bilateral_bias`] by the error.
pub(crate) fn bilateral_slope(error: f64, per_step: f64, fraction: f64, largest: f64) -> f64 {
    let speed = fraction * error * per_step;
    if speed.abs() < largest { fraction * per_step } else { 0.0 }
}
