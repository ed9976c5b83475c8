//! Contacts of a model as their derivatives need them: by the features that touch, in double precision.

use std::cell::RefCell;

use manyworlds_collide::derivatives::ContactGeometry;
use manyworlds_collide::{CollisionModel, Contact, Scratch};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::POSE;

use crate::Error;
use crate::group::shared::Shared;

/// How much farther than in single precision a contact may be in double, m.
const SLACK: f64 = 1e-5;

thread_local! {
    /// Memory of collision, kept from one world to the next: laying out a model's geoms in it costs more than colliding a world.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Contacts of a model, as their derivatives need them.
pub(in crate::group) struct Geometry {
    pub(super) features: ContactGeometry,
    /// Collision at poses in double precision, of batches in single precision: which features touch cannot be told at
    /// rounded poses.
    exact: Option<CollisionModel>,
}

impl Geometry {
    pub(in crate::group) fn new<T: Scalar>(shared: &Shared<T>) -> Result<Self, Error> {
        let features = ContactGeometry::new(&shared.model)?;
        let exact = if T::NAME == f64::NAME { None } else { Some(CollisionModel::new(&shared.model)?) };
        Ok(Self { features, exact })
    }

    /// The contacts of a world, found again at poses in double precision where the batch's are in single.
    pub(in crate::group) fn exact<'a, P>(&'a self, pose: P, sizes: &'a [[f64; 3]]) -> ExactContacts<'a, P> {
        ExactContacts { exact: self.exact.as_ref(), pose, sizes, pair: Vec::new(), farthest: 0.0 }
    }
}

/// Contacts of a world at poses in double precision.
pub(in crate::group) struct ExactContacts<'a, P> {
    /// None where the step's own are.
    exact: Option<&'a CollisionModel>,
    pose: P,
    sizes: &'a [[f64; 3]],
    /// Those of the pair that was asked for last, and how far that contact was, m.
    pair: Vec<Contact>,
    farthest: f64,
}

impl<P: Fn(usize) -> [f64; POSE]> ExactContacts<'_, P> {
    /// That of a contact; why there is none.
    pub(in crate::group) fn get(&mut self, from: &Contact) -> Result<Contact, String> {
        let Some(exact) = self.exact else { return Ok(*from) };
        let is_of_pair = self.pair.first().is_some_and(|first| first.geoms == from.geoms);
        if !is_of_pair || from.distance > self.farthest {
            self.farthest = from.distance;
            SCRATCH.with_borrow_mut(|scratch| {
                // Poses that are not finite have no contacts.
                let _ = exact.collide_again(from, SLACK, &self.pose, self.sizes, scratch, &mut self.pair);
            });
        }
        let found = self.pair.iter().find(|found| found.feature == from.feature);
        // Friction and restitution may be the world's own.
        found
            .map(|found| Contact { friction: from.friction, restitution: from.restitution, ..*found })
            .ok_or_else(|| "a contact that is found at poses in single precision alone".into())
    }
}
