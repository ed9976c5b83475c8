//! Contacts of a model as their derivatives need them: by the features that touch, in double precision.

use manyworlds_collide::derivatives::ContactGeometry;
use manyworlds_collide::{CollisionModel, Contact, Hints, Overrides, Scratch};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::tree::POSE;

use crate::Error;
use crate::group::shared::Shared;

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
    pub(in crate::group) fn exact(&self, pose: impl Fn(usize) -> [f64; POSE], sizes: &[[f64; 3]]) -> ExactContacts {
        let Some(exact) = &self.exact else { return ExactContacts(None) };
        let mut found = Vec::new();
        let overrides = Overrides { sizes, ..Overrides::default() };
        // Poses that are not finite have no contacts.
        let _ = exact.collide_with(pose, &overrides, &mut Hints::default(), &mut Scratch::default(), &mut found);
        found.sort_by_key(|contact| (contact.geoms, contact.feature));
        ExactContacts(Some(found))
    }
}

/// Contacts of a world found again at poses in double precision, sorted; none where the step's own are.
pub(in crate::group) struct ExactContacts(Option<Vec<Contact>>);

impl ExactContacts {
    /// That of a contact; why there is none.
    pub(in crate::group) fn get(&self, from: &Contact) -> Result<Contact, String> {
        let Some(all) = &self.0 else { return Ok(*from) };
        let key = (from.geoms, from.feature);
        let found = all.binary_search_by_key(&key, |contact| (contact.geoms, contact.feature));
        // Friction and restitution may be the world's own.
        found
            .map(|at| Contact { friction: from.friction, restitution: from.restitution, ..all[at] })
            .map_err(|_| "a contact that is found at poses in single precision alone".into())
    }
}
