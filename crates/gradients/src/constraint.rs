//! What every constraint says about derivatives, whatever it is: rows of J, how its biased velocity changes while v+ is
//! held, and the law its impulse obeys.

use crate::correction::Kink;
use crate::grid::Grid;

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
    /// How far e is from a kink of its own (where a gap closes, where a correction begins or is capped).
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

    /// Says which row of which tree the last constraint is.
    pub(crate) fn is_row(&mut self, tree: usize, index: usize) {
        if let Some(last) = self.constraints.last_mut() {
            last.row = Some((tree, index));
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
        self.constraints.push(Constraint { first, law, impulse, bias, kink, row: None, approach: 0.0 });
        first
    }
}
