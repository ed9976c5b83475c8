//! What a caller chooses: once for a model, or for one world.

use crate::{CollideError, Contact, Hints};

/// Settings of a [`crate::CollisionModel`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CollisionSettings {
    /// Contacts still open by less than this (beyond the pair's margin) are reported, m.
    ///
    /// The solver bounds the approach of an open contact by `distance / h`, so that a body that would pass the surface
    /// within the step stops on it instead of sinking in and being pushed out. Of what comes nearer by more than this in a
    /// step, a [`Travel`] tells; this is for what changes its velocity within the step. It is small because every open
    /// contact is a row in the solver that does nothing, and parts of robots skim each other all the time.
    pub speculative_distance: f64,
    /// Relative rounding of the poses that will be given: the machine epsilon of the numbers they are kept in.
    ///
    /// Where two faces lie flat on each other, poses in f32 tilt them by that much, another way in each step. Depths
    /// and edges that differ by no more count as equal, so that the same features touch from step to step. Their rotations
    /// are scaled to unit length first.
    pub pose_rounding: f64,
    /// Of the contacts of a pair whose normals are alike, within 15 degrees, keep the four that span their patch: the deepest,
    /// the one farthest from it and those that make the area largest. What holds a pair is the same; redundant contacts, which
    /// cost the solver, are fewer.
    pub reduce: bool,
}

impl Default for CollisionSettings {
    fn default() -> Self {
        Self { speculative_distance: 0.0005, pose_rounding: f64::EPSILON, reduce: false }
    }
}

impl CollisionSettings {
    /// Whether every setting is in its range.
    ///
    /// # Errors
    /// [`CollideError::Setting`] names the first that is not.
    pub fn validate(&self) -> Result<(), CollideError> {
        let settings = [
            ("speculative_distance", self.speculative_distance, f64::INFINITY),
            // With more, nothing of a shape would be told from anything else.
            ("pose_rounding", self.pose_rounding, 1e-4),
        ];
        for (name, found, below) in settings {
            if !(found >= 0.0 && found < below) {
                return Err(CollideError::Setting { name, found });
            }
        }
        Ok(())
    }
}

/// Parameters of one world that differ from its model's; an empty slice leaves the model's.
#[derive(Debug, Clone, Copy, Default)]
pub struct Overrides<'a> {
    /// Sizes by geom, m: radius (sphere), radius and half length (capsule, cylinder), half edges (box), semi-axes
    /// (ellipsoid); not looked at for planes, meshes, heightfields and distance functions.
    pub sizes: &'a [[f64; 3]],
    /// Friction coefficient by geom, before mixing; explicit pairs and frictionless ones keep theirs.
    pub friction: &'a [f64],
    /// Restitution coefficient by geom, before mixing; explicit pairs keep theirs.
    pub restitution: &'a [f64],
}

/// A motion of a body, short enough to be taken as a straight one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Travel {
    /// Of its origin, m.
    pub moved: [f64; 3],
    /// As a rotation vector, rad.
    pub turned: [f64; 3],
}

/// How many worlds are collided side by side, a lane of a vector each.
pub const ABREAST: usize = 4;

/// The motions of a body in worlds side by side, as of [`Travel`]: each number of all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Travels {
    /// m
    pub moved: [[f64; ABREAST]; 3],
    /// rad
    pub turned: [[f64; ABREAST]; 3],
}

impl From<[Travel; ABREAST]> for Travels {
    fn from(worlds: [Travel; ABREAST]) -> Self {
        Self {
            moved: std::array::from_fn(|e| worlds.map(|own| own.moved[e])),
            turned: std::array::from_fn(|e| worlds.map(|own| own.turned[e])),
        }
    }
}

/// One of the worlds that are collided side by side.
pub struct World<'a> {
    /// What it has of its own.
    pub overrides: &'a Overrides<'a>,
    /// What the step before found.
    pub hints: &'a mut Hints,
    /// Its contacts.
    pub out: &'a mut Vec<Contact>,
}
