//! How numbers lie along a side of a panel: evenly or by their logarithm, of one type, so that charts are compiled once.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::{IntoLogRange, LogCoord};

/// An axis from one number to another.
pub(crate) enum Axis {
    Linear(RangedCoordf64),
    Logarithmic(LogCoord<f64>),
}

impl Axis {
    /// Numbers spaced evenly.
    pub(crate) fn linear(range: Range<f64>) -> Self {
        Self::Linear(range.into())
    }

    /// Positive numbers spaced by their ratios.
    pub(crate) fn logarithmic(range: Range<f64>) -> Self {
        Self::Logarithmic(range.log_scale().into())
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        match self {
            Self::Linear(axis) => axis.map(value, limit),
            Self::Logarithmic(axis) => axis.map(value, limit),
        }
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match self {
            Self::Linear(axis) => axis.key_points(hint),
            Self::Logarithmic(axis) => axis.key_points(hint),
        }
    }

    fn range(&self) -> Range<f64> {
        match self {
            Self::Linear(axis) => axis.range(),
            Self::Logarithmic(axis) => axis.range(),
        }
    }
}

/// Where a panel does not say how: logarithmic axes always do.
impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        RangedCoordf64::format(value)
    }
}
