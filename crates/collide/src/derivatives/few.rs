//! A few directions, without memory of their own.

use std::ops::Deref;

use nalgebra::Vector3;

/// Directions of a side at most: two of each of its planes and edges.
const MOST: usize = 4;

/// Up to four vectors; more than that are passed over, as nothing tells more than four apart from four.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Few {
    all: [Vector3<f64>; MOST],
    count: usize,
}

impl Few {
    pub(super) fn push(&mut self, direction: Vector3<f64>) {
        if let Some(slot) = self.all.get_mut(self.count) {
            *slot = direction;
            self.count += 1;
        }
    }

    /// Each of them changed.
    pub(super) fn map(&self, change: impl Fn(&Vector3<f64>) -> Vector3<f64>) -> Self {
        self.iter().map(change).collect()
    }
}

impl Deref for Few {
    type Target = [Vector3<f64>];

    fn deref(&self) -> &[Vector3<f64>] {
        &self.all[..self.count]
    }
}

impl FromIterator<Vector3<f64>> for Few {
    fn from_iter<I: IntoIterator<Item = Vector3<f64>>>(from: I) -> Self {
        let mut out = Self::default();
        from.into_iter().for_each(|direction| out.push(direction));
        out
    }
}

impl<const N: usize> From<[Vector3<f64>; N]> for Few {
    fn from(from: [Vector3<f64>; N]) -> Self {
        from.into_iter().collect()
    }
}
