//! A constraint of an island: its law, its impulse in the step and its bias.

use crate::bias::Kink;
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
