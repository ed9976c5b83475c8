//! Size of a dense problem.

use crate::LANES;

/// Size of a problem, in groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Groups of slots.
    pub slots: usize,
    /// Groups of single rows.
    pub rows: usize,
}

impl Shape {
    /// Groups for that many slots and rows.
    #[must_use]
    pub fn new(slots: usize, rows: usize) -> Self {
        Self { slots: slots.div_ceil(LANES), rows: rows.div_ceil(LANES) }
    }

    /// Groups of rows in all.
    #[must_use]
    pub fn groups(self) -> usize {
        3 * self.slots + self.rows
    }

    /// Number of a slot's row (0, 1: tangents; 2: normal).
    #[inline(always)]
    #[must_use]
    pub fn of_slot(self, slot: usize, r: usize) -> usize {
        r * self.slots * LANES + slot
    }

    /// Number of a single row.
    #[inline(always)]
    #[must_use]
    pub fn of_row(self, row: usize) -> usize {
        3 * self.slots * LANES + row
    }

    /// Reals of a problem's memory with G written out.
    #[must_use]
    pub fn reals(self) -> usize {
        let n = self.groups() * LANES;
        2 * n * n + self.vectors()
    }

    /// Reals that are no matrix.
    pub(super) fn vectors(self) -> usize {
        8 * self.groups() * LANES + 14 * self.slots * LANES + 4 * self.rows * LANES
    }
}
