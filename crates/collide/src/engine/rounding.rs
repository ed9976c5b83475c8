//! How well poses are known, and so which points are the same.

/// How well poses are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounding {
    /// Relative.
    pub(super) relative: f64,
    /// Largest coordinate of the origins of the two frames at hand, m.
    pub(super) origin: f64,
}

impl Rounding {
    /// How far apart points are taken to be the same, m; they are within `size` of the origin of their frame.
    pub(super) fn blur(self, size: f64) -> f64 {
        64.0 * self.relative * size.max(self.origin)
    }
}
