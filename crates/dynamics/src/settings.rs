//! How contacts and other constraints are stabilised.

use manyworlds_shaders::dynamics::tree::integrator;

/// How contacts and other constraints are stabilised: the part of the params' header that no model gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Fraction of a penetration that one step removes, 0 to 1.
    pub correction_fraction: f64,
    /// Largest speed of that correction, m/s.
    pub correction_max: f64,
    /// Approaching faster than this bounces, m/s.
    pub restitution_threshold: f64,
    /// Depth up to which a penetration is left as it is, m.
    pub correction_slop: f64,
    /// How velocities and positions go through a step: one of [`integrator`].
    pub integrator: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            correction_fraction: 0.2,
            correction_max: 0.2,
            restitution_threshold: 0.01,
            correction_slop: 0.0,
            integrator: integrator::LINEARLY_IMPLICIT,
        }
    }
}
