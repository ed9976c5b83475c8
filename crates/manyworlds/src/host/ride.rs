//! How the mocap body that carries a soft body moves, as the steps of that see it.

use manyworlds_model::{Pose, Vec3};

/// Where a mocap body is in a step, and how fast it goes there and went in the step before: velocity of its origin, m/s, and
/// angular velocity, rad/s, along the world's axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ride {
    pub(crate) pose: Pose,
    pub(crate) before: [Vec3; 2],
    pub(crate) now: [Vec3; 2],
}

impl Default for Ride {
    fn default() -> Self {
        let still = [Vec3::zeros(); 2];
        Self { pose: Pose::identity(), before: still, now: still }
    }
}

impl Ride {
    /// A step of h seconds begins. `way`: how far it came since the last one, m, and turned, rad.
    pub(super) fn advance(&mut self, pose: Pose, way: [Vec3; 2], h: f64) {
        *self = Self { pose, before: self.now, now: way.map(|way| way / h) };
    }

    /// As if it had never moved.
    pub(super) fn forget(&mut self) {
        *self = Self { pose: self.pose, ..Self::default() };
    }
}
