//! Dense matrices by rows.

use std::ops::{Index, IndexMut};

/// A matrix, row-major.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    width: usize,
    entries: Vec<f64>,
}

impl Grid {
    pub(crate) fn zeros(height: usize, width: usize) -> Self {
        Self { width, entries: vec![0.0; height * width] }
    }

    pub(crate) fn from_rows(width: usize, entries: Vec<f64>) -> Self {
        Self { width, entries }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn height(&self) -> usize {
        self.entries.len().checked_div(self.width).unwrap_or(0)
    }

    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.width..(i + 1) * self.width]
    }

    pub(crate) fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.entries[i * self.width..(i + 1) * self.width]
    }

    /// Some rows as one slice.
    pub(crate) fn rows_mut(&mut self, first: usize, count: usize) -> &mut [f64] {
        &mut self.entries[first * self.width..(first + count) * self.width]
    }

    pub(crate) fn entries_mut(&mut self) -> &mut Vec<f64> {
        &mut self.entries
    }

    /// Largest size of an entry.
    pub(crate) fn largest(&self) -> f64 {
        self.entries.iter().fold(0.0, |l: f64, x| l.max(x.abs()))
    }

    /// `y += a (x^T M)`.
    pub(crate) fn add_transposed_times(&self, a: f64, x: &[f64], y: &mut [f64]) {
        for (i, &x) in x.iter().enumerate() {
            axpy(a * x, self.row(i), y);
        }
    }
}

impl Index<(usize, usize)> for Grid {
    type Output = f64;

    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.entries[i * self.width + j]
    }
}

impl IndexMut<(usize, usize)> for Grid {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.entries[i * self.width + j]
    }
}

/// `y += a x`.
#[inline(always)]
pub(crate) fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    if a != 0.0 {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += a * x);
    }
}

/// `x . y`.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}
