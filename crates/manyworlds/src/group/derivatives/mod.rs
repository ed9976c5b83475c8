//! Derivatives of the last steps of worlds: one way in, [`Differentiable::differentiate`].
//!
//! 1. [`Group::kernels_differentiate`] decides who is asked first, the kernels or the host.
//! 2. `kernels` takes what it can of the requests of each chunk: it gathers what is known of contacts (`geometry`), runs the
//!    kernels over all lanes, and writes what they found where it is wanted. A world about which they are in doubt is left.
//! 3. Of the worlds that are left `step` gathers what their steps were, and `host` linearises and differentiates these.

mod geometry;
mod host;
mod keep;
mod kernels;
mod request;
mod soft;
mod start;
mod step;

use std::sync::Arc;

use manyworlds_gradients::{BodyChange, Certificate, GradientRules};
use manyworlds_shaders::Scalar;
use rayon::prelude::*;

use super::chunk::Chunk;
use super::kept::Kept;
use super::{Backend, Group};
use crate::{DerivativesBy, Error, Integrator};
pub(super) use geometry::Geometry;
pub(crate) use host::Lineariser;
pub(crate) use request::{Request, WorldProduct};
pub(super) use start::ByStart;
pub(crate) use step::{ContactChanges, WorldStep};

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
    /// The last steps of some worlds, in their order; `lean`: to be kept, without what can be computed again.
    fn last_steps(&mut self, worlds: &[usize], lean: bool) -> Result<Vec<WorldStep>, Error>;
    /// That of one world, to be differentiated at once.
    fn last_step(&mut self, world: usize) -> Result<WorldStep, Error>;
    /// What linearises them.
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
    /// Memory that the last steps of all worlds take, B.
    fn tape_bytes(&self) -> usize;
}

impl<T: Scalar> Group<T> {
    /// Whether kernels are asked before the host.
    ///
    /// [`DerivativesBy::Best`] was measured on the CPU executor, 64 worlds on one thread (`cargo bench -p manyworlds-benches
    /// --bench gradients`, docs/gradients.md): kernels take less time than the host, or as long (products of a humanoid). A
    /// software adapter shares its processor with the host and takes fourteen to twenty times as long as the CPU executor.
    /// That hardware adapters are faster than the host is a guess.
    fn kernels_differentiate(&self, by: DerivativesBy) -> bool {
        // They know no soft bodies.
        if !self.shared.soft.is_empty() {
            return false;
        }
        match by {
            DerivativesBy::Best => !matches!(&self.backend, Backend::Device(device) if device.is_software()),
            DerivativesBy::Host => false,
            DerivativesBy::Kernels => true,
        }
    }

    /// What each chunk makes of what is asked of its worlds, `f(chunk, first world, asked)`, in any order; `chunk_of`: the
    /// chunk that something is asked of.
    fn by_chunk<A: Send, R: Send>(
        &mut self,
        asked: Vec<A>,
        chunk_of: impl Fn(&A) -> usize,
        f: impl Fn(&mut Chunk<T>, &Geometry, usize, Vec<A>) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        let Some(geometry) = &self.geometry else { return Err(Error::NoGradient) };
        let mut parts: Vec<Vec<A>> = self.chunks.iter().map(|_| Vec::new()).collect();
        asked.into_iter().for_each(|asked| parts[chunk_of(&asked)].push(asked));
        let size = self.chunk_worlds;
        let chunks = self.chunks.iter_mut().zip(parts).enumerate().filter(|(_, (_, asked))| !asked.is_empty());
        let one = |(c, (chunk, asked))| f(chunk, geometry, c * size, asked);
        if self.backend.side_by_side() {
            chunks.collect::<Vec<_>>().into_par_iter().map(one).collect()
        } else {
            chunks.map(one).collect()
        }
    }
}

impl<T: Scalar> Differentiable for Group<T> {
    fn keep_steps(&mut self, on: bool) -> Result<(), Error> {
        if !on {
            if self.shared.soft.is_empty() {
                self.chunks.iter_mut().for_each(|chunk| chunk.before = None);
            }
            return Ok(());
        }
        if self.shared.slop != 0.0 {
            let found = self.shared.slop.to_string();
            return Err(Error::Option { option: "stabilisation.slop", expected: "0 for derivatives", found });
        }
        if self.shared.integrator != Integrator::LinearlyImplicit {
            let found = self.shared.integrator.name().into();
            return Err(Error::Option { option: "integrator", expected: "linearly-implicit for derivatives", found });
        }
        if self.shared.substeps > 1 {
            let found = self.shared.substeps.to_string();
            return Err(Error::Option { option: "substeps", expected: "1 for derivatives", found });
        }
        if self.geometry.is_none() {
            self.geometry = Some(Geometry::new(&self.shared)?);
        }
        self.chunks.iter_mut().for_each(|chunk| chunk.before = chunk.before.take().or_else(|| Some(Kept::default())));
        Ok(())
    }

    fn differentiate<'a>(
        &mut self,
        by: DerivativesBy,
        rules: GradientRules,
        mut requests: Vec<Request<'a>>,
    ) -> Result<(Certificates, Vec<(Request<'a>, WorldStep)>), Error> {
        let mut certificates = Vec::new();
        if self.kernels_differentiate(by) {
            let size = self.chunk_worlds;
            let found = self.by_chunk(
                std::mem::take(&mut requests),
                |request| request.world / size,
                |chunk, geometry, first, mut requests| {
                    let found = chunk.differentiate(geometry, rules, first, &mut requests)?;
                    Ok((found, requests))
                },
            )?;
            for (found, left) in found {
                certificates.extend(found);
                requests.extend(left);
            }
        }
        let worlds: Vec<usize> = requests.iter().map(|request| request.world).collect();
        let steps = self.last_steps(&worlds, false)?;
        Ok((certificates, requests.into_iter().zip(steps).collect()))
    }

    fn last_steps(&mut self, worlds: &[usize], lean: bool) -> Result<Vec<WorldStep>, Error> {
        let (size, shared) = (self.chunk_worlds, Arc::clone(&self.shared));
        let found = self.by_chunk(
            worlds.iter().copied().enumerate().collect(),
            |&(_, world)| world / size,
            |chunk, geometry, first, asked| {
                let numbers = chunk.step_numbers()?;
                let step = |&(order, world): &(usize, usize)| {
                    Ok((order, numbers.step(&shared, geometry, world - first, lean)?))
                };
                asked.iter().map(step).collect::<Result<Vec<_>, Error>>()
            },
        )?;
        let mut found: Vec<_> = found.into_iter().flatten().collect();
        found.sort_unstable_by_key(|&(order, _)| order);
        Ok(found.into_iter().map(|(_, step)| step).collect())
    }

    fn last_step(&mut self, world: usize) -> Result<WorldStep, Error> {
        let Some(geometry) = &self.geometry else { return Err(Error::NoGradient) };
        let (c, w) = self.place(world);
        self.chunks[c].step_numbers()?.step(&self.shared, geometry, w, false)
    }

    fn lineariser(&self) -> Arc<dyn Lineariser> {
        Arc::clone(&self.shared) as Arc<dyn Lineariser>
    }

    fn by_size(&mut self, world: usize, geom: usize, step: &WorldStep) -> Result<Vec<ContactChanges>, Error> {
        let (c, w) = self.place(world);
        let Some(geometry) = &self.geometry else { return Err(Error::NoGradient) };
        let found = self.chunks[c].step_numbers()?.by_size(&self.shared, geometry, w, geom, step);
        found.map_err(|message| Error::Parameter { parameter: format!("size of geom {geom}"), message })
    }

    fn by_soft_parameter(&mut self, world: usize, soft: usize, entry: usize) -> Result<BodyChange, Error> {
        let (c, w) = self.place(world);
        self.chunks[c].step_numbers()?.by_soft_parameter(&self.shared, w, soft, entry)
    }

    fn by_carrier(&mut self, world: usize, tree: usize, entry: (usize, f64)) -> Result<Vec<BodyChange>, Error> {
        if self.shared.soft.is_empty() {
            return Ok(Vec::new());
        }
        let (c, w) = self.place(world);
        self.chunks[c].step_numbers()?.by_carrier(&self.shared, w, tree, entry)
    }

    fn by_timestep(&mut self, world: usize) -> Result<Vec<BodyChange>, Error> {
        if self.shared.soft.is_empty() {
            return Ok(Vec::new());
        }
        let (c, w) = self.place(world);
        self.chunks[c].step_numbers()?.by_timestep(&self.shared, w)
    }

    fn tape_bytes(&self) -> usize {
        let own = |chunk: &Chunk<T>| chunk.sets.iter().any(|set| set.step.dims.param_lanes == 1);
        let bytes = |chunk: &Chunk<T>| -> usize {
            let worlds = chunk.host.worlds.iter();
            worlds.map(|world| step::step_bytes(&self.shared, world.contacts.len(), own(chunk))).sum()
        };
        self.chunks.iter().map(bytes).sum()
    }
}
