//! Differences of fourth order.

/// Where a function is taken, in steps, and what of its value there makes its slope, over the step.
pub(crate) const DIFFERENCES: [(f64, f64); 4] =
    [(1.0, 8.0 / 12.0), (-1.0, -8.0 / 12.0), (2.0, -1.0 / 12.0), (-2.0, 1.0 / 12.0)];
