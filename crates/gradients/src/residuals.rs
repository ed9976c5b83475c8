//! What is left over of an island's linear system.

/// What is left of the linear system of an island, relative.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Residuals {
    /// For changes of velocities, forces and controls.
    pub(crate) solution: f64,
    /// For those of q.
    pub(crate) by_q: f64,
    /// Of what different solutions do to the motion.
    pub(crate) motion: f64,
}

impl Residuals {
    pub(crate) fn largest(self) -> f64 {
        self.solution.max(self.by_q).max(self.motion)
    }

    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            solution: self.solution.max(other.solution),
            by_q: self.by_q.max(other.by_q),
            motion: self.motion.max(other.motion),
        }
    }
}
