//! What every constraint says about derivatives, whatever it is: rows of J, how its biased velocity changes while v+ is
//! held, and the law its impulse obeys.

use manyworlds_shaders::contact::gradient::kink;

use crate::contact::Member;
use crate::form::Form;
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

/// An entry of a matrix: row, column, value.
pub(crate) type Entry = (usize, usize, f64);

/// The rows of an island, `sigma^ = J v+ + e`, and what moves them while v+ is held.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) constraints: Vec<Constraint>,
    /// Of constraints between bodies: first row, and what they are made of.
    pub(crate) forms: Vec<(usize, Form)>,
    /// Of rows of trees: entries of J, `[rows, n_v]`.
    pub(crate) j: Vec<Entry>,
    /// Of rows of trees, and what compliance adds: change of `sigma^` by q, `[rows, n_v]`.
    pub(crate) by_q: Vec<Entry>,
    /// Of rows of trees that are drives: the same by the controls, `[rows, n_u]`.
    pub(crate) by_ctrl: Vec<Entry>,
    /// Of rows of trees: what the motion of `J^T lambda` adds to dF by q, `[n_v, n_v]`.
    pub(crate) push: Vec<Entry>,
}

impl Rows {
    /// How many.
    pub(crate) fn height(&self) -> usize {
        self.constraints.last().map_or(0, |last| last.first + last.law.rows())
    }

    /// J, `[rows, n_v]`.
    pub(crate) fn jacobian(&self, members: &[Member], n_v: usize) -> Grid {
        let mut j = Grid::zeros(self.height(), n_v);
        self.forms.iter().for_each(|(first, form)| form.add_rows(members, |dof| dof, *first, &mut j));
        self.j.iter().for_each(|&(row, dof, x)| j[(row, dof)] += x);
        j
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
        let first = self.height();
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

    /// Adds one between bodies.
    pub(crate) fn push_form(&mut self, law: Law, impulse: [f64; 3], bias: [f64; 3], kink: Kink, form: Form) {
        let first = self.push(law, impulse, bias, kink);
        self.forms.push((first, form));
    }
}

/// Change of the biased velocities of an island while v+ is held; that by the controls is in [`Rows::by_ctrl`].
pub(crate) struct Slopes {
    /// By q, `[rows, n_v]`.
    pub(crate) by_q: Grid,
    /// By the velocity before (restitution), `[rows, n_v]`; none if nothing bounces.
    pub(crate) by_v: Option<Grid>,
}

impl Slopes {
    pub(crate) fn new(rows: &Rows, members: &[Member], n_v: usize) -> Self {
        let height = rows.height();
        let bounces = rows.forms.iter().any(|(_, form)| form.bounces);
        let (mut by_q, mut by_v) = (Grid::zeros(height, n_v), Grid::zeros(if bounces { height } else { 0 }, n_v));
        for (first, form) in &rows.forms {
            form.add_slopes(members, |dof| dof, *first, &mut by_q, &mut by_v);
        }
        rows.by_q.iter().for_each(|&(row, dof, x)| by_q[(row, dof)] += x);
        Self { by_q, by_v: bounces.then_some(by_v) }
    }
}

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
