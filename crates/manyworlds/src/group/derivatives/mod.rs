//! Derivatives of the last steps of worlds: one way in, [`Differentiable::differentiate`].
//!
//! 1. `Group::kernels_differentiate` decides who is asked first, the kernels or the host.
//! 2. `kernels` takes what it can of the requests of each chunk: it gathers what is known of contacts (`geometry`), runs the
//!    kernels over all lanes, and writes what they found where it is wanted. A world about which they are in doubt is left. A device
//!    works on one chunk while the host has its part in another.
//! 3. Of the worlds that are left `numbers` gathers what their steps were (`step`), and `host` linearises and differentiates these.
//!
//! A step that is to be differentiated later is copied (`copy`), and loaded into a chunk of its own for the same way (`taken`).

mod by_parameter;
mod copy;
mod geometry;
mod host;
mod keep;
mod kernels;
mod numbers;
mod request;
mod soft;
mod step;
mod taken;

use std::sync::Arc;

use manyworlds_gradients::{BodyChange, Certificate, GradientRules};

use crate::{DerivativesBy, Error};
pub(crate) use by_parameter::ContactChanges;
pub(super) use geometry::Geometry;
pub(crate) use host::Lineariser;
pub(super) use kernels::{ChunkRequests, passing, through};
pub(crate) use request::{Request, WorldProduct};
pub(crate) use step::WorldStep;
pub(super) use taken::Taken;
pub(crate) use taken::TakenSteps;

/// Certificates of worlds, each with its number in the order that was asked for.
pub(crate) type Certificates = Vec<(usize, Certificate)>;

/// What a batch asks of a group about derivatives, whatever its precision and executor.
pub(crate) trait Differentiable {
    fn keep_steps(&mut self, on: bool) -> Result<(), Error>;
    /// Products with the Jacobians of the last steps of some worlds: kernels write what they can and give the certificates.
    /// What they leave comes back with its step, to be computed by [`WorldProduct::on_host`].
    fn differentiate<'a>(
        &mut self,
        by: DerivativesBy,
        rules: GradientRules,
        requests: Vec<Request<'a>>,
    ) -> Result<(Certificates, Vec<(Request<'a>, WorldStep)>), Error>;
    /// The last step of every world, to be differentiated later by who is asked for and these rules.
    fn take(&mut self, by: DerivativesBy, rules: GradientRules) -> Result<Box<dyn TakenSteps>, Error>;
    /// Memory that it would take, B.
    fn taken_bytes(&self, by: DerivativesBy, rules: GradientRules) -> usize;
    /// The last step of one world, to be differentiated at once.
    fn last_step(&mut self, world: usize) -> Result<WorldStep, Error>;
    /// What linearises such steps.
    fn lineariser(&self) -> Arc<dyn Lineariser>;
    /// How contacts of the last step of a world move with each size of a geom, by size.
    fn by_size(&mut self, world: usize, geom: usize, step: &WorldStep) -> Result<Vec<ContactChanges>, Error>;
    /// How the balances of momentum of a soft body of the last step of a world, and of the tree that carries it, change with one of
    /// its parameters, an entry among those of its tree, at the velocity after the step.
    fn by_soft_parameter(&mut self, world: usize, soft: usize, entry: usize) -> Result<BodyChange, Error>;
    /// The same of the soft bodies that a tree carries with an entry of its parameters, of some scale.
    fn by_carrier(&mut self, world: usize, tree: usize, entry: (usize, f64)) -> Result<Vec<BodyChange>, Error>;
    /// The same of all soft bodies with the time step.
    fn by_timestep(&mut self, world: usize) -> Result<Vec<BodyChange>, Error>;
}
