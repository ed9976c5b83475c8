//! Contacts of a model as their derivatives need them: by the features that touch, in double precision.

use std::cell::{OnceCell, RefCell};

use manyworlds_collide::derivatives::ContactGeometry;
use manyworlds_collide::{CollisionModel, Contact, Hints, Overrides, Scratch, Travel};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::speed::speed;
use manyworlds_shaders::dynamics::tree::{POSE, SPEED, Tree, param};

use crate::Error;
use crate::group::shared::Shared;
use crate::host::{falls, within_step};

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

    /// The contacts of a world, found again at poses in double precision where the batch's are in single. `travel`: how bodies may
    /// move within the step, by their number in the model.
    pub(in crate::group) fn exact(
        &self,
        pose: impl Fn(usize) -> [f64; POSE],
        sizes: &[[f64; 3]],
        travel: impl Fn() -> Vec<Travel>,
    ) -> ExactContacts<impl Fn() -> Vec<Contact>> {
        let look = move |travel: &[Travel]| {
            let mut found = Vec::new();
            if let Some(exact) = &self.exact {
                let overrides = Overrides { sizes, ..Overrides::default() };
                let mut hints = Hints::default();
                SCRATCH.with_borrow_mut(|scratch| {
                    // Poses that are not finite have no contacts.
                    let _ = exact.collide_with(&pose, travel, &overrides, &mut hints, scratch, &mut found);
                });
                found.sort_by_key(key);
            }
            found
        };
        let near = self.exact.as_ref().map(|_| look(&[]));
        ExactContacts { near, far: OnceCell::new(), look_ahead: move || look(&travel()) }
    }
}

/// How the bodies of a tree may move within a step that begins in a state, by their number in the tree.
pub(super) fn travel(tree: &Tree, params: &[f64], state: &[f64], [pose, motion]: [&[f64]; 2]) -> Vec<Travel> {
    let mut speeds = vec![0.0; SPEED * tree.bodies.len()];
    speed(tree, state, pose, motion, &mut speeds);
    let h = params[param::TIMESTEP];
    let falls = falls(h, std::array::from_fn(|k| params[param::GRAVITY + k]));
    speeds.chunks_exact(SPEED).map(|speed| within_step(h, falls, |k| speed[k])).collect()
}

/// What contacts are found by again.
fn key(contact: &Contact) -> ([u32; 2], u64) {
    (contact.geoms, contact.feature)
}

/// Contacts of a world found again at poses in double precision, sorted; none where the step's own are.
pub(in crate::group) struct ExactContacts<F> {
    near: Option<Vec<Contact>>,
    /// As far ahead as bodies come within the step, once one is asked for that is not near.
    far: OnceCell<Vec<Contact>>,
    look_ahead: F,
}

impl<F: Fn() -> Vec<Contact>> ExactContacts<F> {
    /// That of a contact; why there is none. `ahead`: also one that bodies only come to within the step.
    pub(in crate::group) fn get(&self, from: &Contact, ahead: bool) -> Result<Contact, String> {
        let Some(near) = &self.near else { return Ok(*from) };
        let find = |all: &[Contact]| all.binary_search_by_key(&key(from), key).ok().map(|at| all[at]);
        let far = || if ahead { find(self.far.get_or_init(&self.look_ahead)) } else { None };
        // Friction and restitution may be the world's own.
        find(near)
            .or_else(far)
            .map(|found| Contact { friction: from.friction, restitution: from.restitution, ..found })
            .ok_or_else(|| "a contact that is found at poses in single precision alone".into())
    }
}
