//! Derivatives of the worlds of a group: by kernels, or world by world on the host.

use std::sync::Arc;

use manyworlds_gradients::{BodyChange, GradientRules};
use manyworlds_shaders::Scalar;

use super::Group;
use super::backend::Backend;
use super::chunk::Chunk;
use super::derivatives::{
    Certificates, ChunkRequests, ContactChanges, Differentiable, Geometry, Lineariser, Request, Taken, TakenSteps,
    WorldStep, through,
};
use super::kept::Kept;
use super::sharing::{COPY, DERIVATIVES, map_worlds};
use crate::{DerivativesBy, Error, Integrator};

/// Fewer worlds on the CPU are gone back through by the host.
const FEW: usize = 4;

/// A chunk, its first world in the group, and what is asked of it.
type Asked<'c, T, A> = (&'c mut Chunk<T>, usize, Vec<A>);

/// The chunks of so many worlds that something is asked of; `world`: the world that something is asked of.
fn by_chunk<T: Scalar, A>(
    chunks: &mut [Chunk<T>],
    size: usize,
    asked: Vec<A>,
    world: impl Fn(&A) -> usize,
) -> Vec<Asked<'_, T, A>> {
    let mut parts: Vec<Vec<A>> = chunks.iter().map(|_| Vec::new()).collect();
    asked.into_iter().for_each(|asked| parts[world(&asked) / size].push(asked));
    let parts = chunks.iter_mut().zip(parts).enumerate().filter(|(_, (_, asked))| !asked.is_empty());
    parts.map(|(c, (chunk, asked))| (chunk, c * size, asked)).collect()
}

impl<T: Scalar> Group<T> {
    /// Whether kernels are asked before the host.
    ///
    /// [`DerivativesBy::Best`] was measured on the CPU executor, 64 worlds on one thread (`cargo bench -p manyworlds-benches
    /// --bench gradients`, docs/gradients.md): kernels take less time than the host. A software
    /// adapter shares its processor with the host and takes fourteen to twenty times as long as the CPU executor. That hardware
    /// adapters are faster than the host is a guess.
    fn kernels_differentiate(&self, by: DerivativesBy) -> bool {
        // They know no soft bodies.
        if !self.shared.soft.is_empty() {
            return false;
        }
        match by {
            DerivativesBy::Best => !matches!(&self.maker.backend, Backend::Device(device) if device.is_software()),
            DerivativesBy::Host => false,
            DerivativesBy::Kernels => true,
        }
    }

    /// Whether they are asked first to go back through steps that are kept. Copies are loaded for it, which on the CPU takes longer than
    /// the host does where there are few worlds: measured with 1 to 16 half-cheetahs, humanoids, quadrupeds, arms and hoppers.
    fn kernels_go_back(&self, by: DerivativesBy) -> bool {
        let few = self.work.side_by_side && self.n_world < FEW;
        self.kernels_differentiate(by) && (by == DerivativesBy::Kernels || !few)
    }

    /// What kernels make of what is asked for: the certificates of what they wrote, and what they leave.
    fn by_kernels<'a>(
        &mut self,
        rules: GradientRules,
        requests: Vec<Request<'a>>,
    ) -> Result<(Certificates, Vec<Request<'a>>), Error> {
        let Some(geometry) = &self.geometry else { return Err(Error::NoGradient) };
        let parts = by_chunk(&mut self.chunks, self.chunk_worlds, requests, |request| request.world);
        let part = |(chunk, first, asked)| ChunkRequests { chunk, first, asked, summaries: None };
        let parts: Vec<_> = parts.into_iter().map(part).collect();
        let found = if self.work.side_by_side {
            let found = self.work.map(DERIVATIVES, parts, |part| through([Ok(part)], rules, geometry))?;
            found.into_iter().flatten().collect()
        } else {
            through(parts.into_iter().map(Ok), rules, geometry)?
        };
        let (mut certificates, mut left) = (Vec::new(), Vec::new());
        for (_, found, others) in found {
            certificates.extend(found);
            left.extend(others);
        }
        Ok((certificates, left))
    }

    /// The last steps of some worlds, in their order.
    fn last_steps(&mut self, worlds: &[usize]) -> Result<Vec<WorldStep>, Error> {
        let Some(geometry) = &self.geometry else { return Err(Error::NoGradient) };
        let (shared, on_device) = (Arc::clone(&self.shared), !self.work.side_by_side);
        let of_part = |(chunk, first, asked): Asked<'_, T, (usize, usize)>| {
            let numbers = chunk.step_numbers()?;
            let step =
                |(order, world): (usize, usize)| Ok((order, numbers.step(&shared, geometry, world - first, false)?));
            map_worlds(on_device, asked, step)
        };
        let asked = worlds.iter().copied().enumerate().collect();
        let parts = by_chunk(&mut self.chunks, self.chunk_worlds, asked, |&(_, world)| world);
        let found = self.work.map(DERIVATIVES, parts, of_part)?;
        let mut found: Vec<_> = found.into_iter().flatten().collect();
        found.sort_unstable_by_key(|&(order, _)| order);
        Ok(found.into_iter().map(|(_, step)| step).collect())
    }
}

impl<T: Scalar> Differentiable for Group<T> {
    fn keep_steps(&mut self, on: bool) -> Result<(), Error> {
        if !on {
            for chunk in &mut self.chunks {
                chunk.before = chunk.before.take().filter(|_| !self.shared.soft.is_empty());
                chunk.before.iter_mut().for_each(|before| before.keep_factors(None));
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
            self.geometry = Some(Arc::new(Geometry::new(&self.shared)?));
        }
        for (number, chunk) in self.chunks.iter_mut().enumerate() {
            let before = chunk.before.get_or_insert_with(Kept::default);
            if !before.keeps_factors() {
                before.keep_factors(Some(number * self.chunk_worlds));
            }
        }
        Ok(())
    }

    fn differentiate<'a>(
        &mut self,
        by: DerivativesBy,
        rules: GradientRules,
        requests: Vec<Request<'a>>,
    ) -> Result<(Certificates, Vec<(Request<'a>, WorldStep)>), Error> {
        let by_kernels = self.kernels_differentiate(by);
        let (certificates, left) = if by_kernels { self.by_kernels(rules, requests)? } else { (Vec::new(), requests) };
        let worlds: Vec<usize> = left.iter().map(|request| request.world).collect();
        let steps = self.last_steps(&worlds)?;
        Ok((certificates, left.into_iter().zip(steps).collect()))
    }

    fn take(&mut self, by: DerivativesBy, rules: GradientRules) -> Result<Box<dyn TakenSteps>, Error> {
        let Some(geometry) = &self.geometry else { return Err(Error::NoGradient) };
        let by_kernels = self.kernels_go_back(by).then_some(rules);
        let copy = |chunk: &mut Chunk<T>| chunk.copy_step(geometry, by_kernels);
        let chunks = self.work.map(COPY, self.chunks.iter_mut().collect(), copy)?;
        Ok(Box::new(Taken::new(&self.maker, geometry, chunks, self.chunk_worlds, self.work)))
    }

    fn taken_bytes(&self, by: DerivativesBy, rules: GradientRules) -> usize {
        let by_kernels = self.kernels_go_back(by).then_some(rules);
        self.chunks.iter().map(|chunk| chunk.copy_bytes(by_kernels)).sum()
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
}
