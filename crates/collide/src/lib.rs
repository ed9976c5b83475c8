//! Host collision: body poses in, contact records out, as a pure function of the poses.
//!
//! A [`CollisionModel`] is built once for a model: it places the static geoms, filters the pairs that may touch, mixes
//! their contact parameters and refuses pairs of shapes that cannot be collided. [`CollisionModel::collide`] then
//! finds the contacts of one world; it takes no lock and, once its [`Scratch`] has grown, allocates nothing, so that
//! worlds go side by side through rayon.
//!
//! # Conventions
//! * `geoms[0] < geoms[1]`; the unit normal points from the first geom into the second.
//! * The distance is signed, negative when the shapes overlap; where they are apart it is the Euclidean distance, where
//!   they overlap the length of the shortest translation that parts them (per point of a manifold: along its normal).
//! * The point lies midway between the two surfaces on the line along the normal.
//! * A contact is reported when its distance is less than the pair's margin plus
//!   [`CollisionSettings::speculative_distance`], or what more a [`Travel`] asks for.
//! * A pair of shapes touching along a line or a face gives two to four points, the deepest among them.
//! * Everything is recomputed from the poses every time; nothing of an earlier call enters the result. Contacts come in
//!   the order of their pairs, then of their `feature`, which is unique in a world and names the same corner, edge or
//!   face from step to step, so that a solver can start from the impulses of the step before.
//!
//! # Precision
//! Everything is computed in f64, for batches in f32 as well: that costs no more time, and which features touch does not
//! hang on rounding.

mod contact;
pub mod derivatives;
mod engine;
mod error;
mod hull;
pub mod organise;
mod pairs;
mod rays;
mod settings;
mod soft;
mod zone;

pub use contact::Contact;
pub use error::{CollideError, NonFinite};
pub use rays::{Met, Rays};
pub use settings::{ABREAST, CollisionSettings, Overrides, Travel, Travels, World};
pub use soft::{Side, SoftContact};
pub use zone::ray_meets;

pub use engine::{Hints, SoftPlace};

use engine::{Engine, Memory};
use manyworlds_model::Model;

/// What collision knows of a model, shared by all its worlds.
#[derive(Debug)]
pub struct CollisionModel {
    engine: Engine,
}

/// Memory that one thread lends to one world after another; it grows to the largest and stays.
#[derive(Default)]
pub struct Scratch {
    memory: Memory,
}

impl CollisionModel {
    /// Prepares a model with the default settings.
    ///
    /// # Errors
    /// As [`CollisionModel::with_settings`].
    pub fn new(model: &Model) -> Result<Self, CollideError> {
        Self::with_settings(model, &CollisionSettings::default())
    }

    /// Prepares a model.
    ///
    /// # Errors
    /// A setting that is no distance, a pair of shapes that may touch by the model's filters and cannot be collided
    /// (two of plane and heightfield), or a mesh without volume.
    pub fn with_settings(model: &Model, settings: &CollisionSettings) -> Result<Self, CollideError> {
        settings.validate()?;
        Ok(Self { engine: Engine::new(model, settings)? })
    }

    /// Finds the contacts of one world into `out`, replacing what it held.
    ///
    /// `poses` gives the world frame of every model body: position xyz `[m]`, unit quaternion wxyz. It is asked only for
    /// bodies that move and have geoms.
    ///
    /// # Errors
    /// [`NonFinite`] when a pose is not finite; `out` is then empty.
    #[inline]
    pub fn collide(
        &self,
        poses: impl Fn(usize) -> [f64; 7],
        scratch: &mut Scratch,
        out: &mut Vec<Contact>,
    ) -> Result<(), NonFinite> {
        self.collide_with(poses, &[], &Overrides::default(), &mut Hints::default(), scratch, out)
    }

    /// As [`CollisionModel::collide`], with geometry, contact parameters and motions of this world's own, and hints that save
    /// work where the same world was collided with them a step ago. `travel`: by body of the model, how it may move before contacts
    /// are looked for again; none where nothing does. Pairs whose motions may bring them nearer by more than the speculative
    /// distance are reported so much earlier.
    ///
    /// # Errors
    /// As [`CollisionModel::collide`].
    #[inline]
    pub fn collide_with(
        &self,
        poses: impl Fn(usize) -> [f64; 7],
        travel: &[Travel],
        overrides: &Overrides<'_>,
        hints: &mut Hints,
        scratch: &mut Scratch,
        out: &mut Vec<Contact>,
    ) -> Result<(), NonFinite> {
        self.engine.collide_alone(poses, travel, World { overrides, hints, out }, &mut scratch.memory)
    }

    /// As [`CollisionModel::collide_with`], of worlds side by side, in little more time than of one. `poses` and `travel` have each
    /// number of all lanes; of those without a world any.
    ///
    /// # Errors
    /// Of each lane with a world, as [`CollisionModel::collide`].
    #[inline]
    pub fn collide_abreast(
        &self,
        poses: impl Fn(usize) -> [[f64; ABREAST]; 7],
        travel: &[Travels],
        worlds: [Option<World<'_>>; ABREAST],
        scratch: &mut Scratch,
    ) -> [Result<(), NonFinite>; ABREAST] {
        self.engine.collide(poses, travel, worlds, &mut scratch.memory)
    }

    /// Finds the contacts of the pair that a contact is of, at other poses than it was found at, into `out`: as near as any are
    /// looked for at rest, or as that contact and `slack` more, m. `sizes`: as of [`Overrides`]. In the order of their features, by
    /// which the contact is found again among them.
    ///
    /// # Errors
    /// As [`CollisionModel::collide`].
    pub fn collide_again(
        &self,
        of: &Contact,
        slack: f64,
        poses: impl Fn(usize) -> [f64; 7],
        sizes: &[[f64; 3]],
        scratch: &mut Scratch,
        out: &mut Vec<Contact>,
    ) -> Result<(), NonFinite> {
        self.engine.collide_again(of, slack, poses, sizes, &mut scratch.memory, out)
    }

    /// Finds the contacts of the soft bodies of a world that was collided last with this scratch, into `out`, with the
    /// same overrides. `places` says of each soft body where it is; `lane`: which of the worlds side by side it was.
    pub fn collide_soft<'n>(
        &self,
        places: impl Fn(usize) -> SoftPlace<'n>,
        overrides: &Overrides<'_>,
        lane: usize,
        scratch: &mut Scratch,
        out: &mut Vec<SoftContact>,
    ) {
        self.engine.collide_soft(&places, overrides, lane, &mut scratch.memory, out);
    }
}
