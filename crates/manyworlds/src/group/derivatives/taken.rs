//! The last steps of the worlds of a group, kept to be differentiated later, whatever happens to the worlds: the chunks of
//! a group are copied, and loaded into chunks that are there for this alone.

use std::sync::Arc;

use manyworlds_gradients::{Certificate, GradientRules};
use manyworlds_shaders::Scalar;
use rayon::prelude::*;

use super::Certificates;
use super::copy::{StepCopy, WorldCopy};
use super::geometry::Geometry;
use super::kernels::{ChunkRequests, through};
use super::request::Request;
use super::step::WorldStep;
use crate::Error;
use crate::group::maker::Maker;
use crate::group::sharing::{DERIVATIVES, Work};
use crate::group::state::State;

/// Chunks that a device works on at once: on one while the host has its part in the other.
const UNDER_WAY: usize = 2;

/// One step of every world of a group, whatever its precision and executor.
pub(crate) trait TakenSteps: Send + Sync {
    /// Worlds.
    fn len(&self) -> usize;
    /// Controls of a world.
    fn n_controls(&self) -> usize;
    /// State of a world after it, without controls and forces.
    fn after(&self, world: usize) -> &State;
    /// Products with the Jacobians of some worlds.
    fn differentiate(&self, rules: GradientRules, requests: Vec<Request>) -> Result<Certificates, Error>;
    /// Memory it takes, B.
    fn bytes(&self) -> usize;
}

/// One step of every world of a group.
pub(in crate::group) struct Taken<T: Scalar> {
    maker: Arc<Maker<T>>,
    geometry: Arc<Geometry>,
    chunks: Vec<StepCopy<T>>,
    /// Worlds of all chunks but the last.
    chunk_worlds: usize,
    /// That of the step.
    work: Work,
}

impl<T: Scalar> Taken<T> {
    pub(in crate::group) fn new(
        maker: &Arc<Maker<T>>,
        geometry: &Arc<Geometry>,
        chunks: Vec<StepCopy<T>>,
        chunk_worlds: usize,
        work: Work,
    ) -> Self {
        Self { maker: Arc::clone(maker), geometry: Arc::clone(geometry), chunks, chunk_worlds, work }
    }

    fn find(&self, world: usize) -> (usize, usize) {
        (world / self.chunk_worlds, world % self.chunk_worlds)
    }

    /// What kernels make of what is asked of the worlds of some chunks, by their numbers; the host has the rest.
    fn by_kernels(&self, rules: GradientRules, parts: Vec<(usize, Vec<Request>)>) -> Result<Certificates, Error> {
        let mut copies = Vec::with_capacity(parts.len());
        // A part is loaded when the device is at those before it.
        let loaded = parts.into_iter().filter_map(|(number, asked)| {
            let StepCopy { worlds, numbers } = &self.chunks[number];
            let numbers = numbers.as_ref()?;
            copies.push(numbers);
            let load = || {
                let mut chunk = self.maker.lend(worlds.len())?;
                chunk.load_step(numbers)?;
                let summaries = Some(&numbers.summaries[..]);
                Ok(ChunkRequests { chunk, first: number * self.chunk_worlds, asked, summaries })
            };
            Some(load())
        });
        let ended = through(loaded, rules, &self.geometry)?;
        let mut out = Vec::new();
        for ((mut chunk, found, left), numbers) in ended.into_iter().zip(copies) {
            out.extend(found);
            if !left.is_empty() {
                let seen = chunk.loaded_numbers(numbers)?;
                let one = |request: Request| -> Result<_, Error> {
                    let (_, world) = self.find(request.world);
                    let step = seen.step(&self.maker.shared, &self.geometry, world, true)?;
                    Ok(self.on_host(rules, request, &step))
                };
                out.extend(left.into_par_iter().map(one).collect::<Result<Vec<_>, Error>>()?);
            }
            self.maker.give_back(chunk);
        }
        Ok(out)
    }

    fn on_host(&self, rules: GradientRules, request: Request, step: &WorldStep) -> (usize, Certificate) {
        (request.order, request.product.on_host(&*self.maker.shared, step, rules))
    }
}

impl<T: Scalar> TakenSteps for Taken<T> {
    fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.worlds.len()).sum()
    }

    fn n_controls(&self) -> usize {
        self.maker.shared.model.actuators.len()
    }

    fn after(&self, world: usize) -> &State {
        let (chunk, world) = self.find(world);
        self.chunks[chunk].after(world)
    }

    fn differentiate(&self, rules: GradientRules, requests: Vec<Request>) -> Result<Certificates, Error> {
        let mut parts: Vec<(usize, Vec<Request>)> = (0..self.chunks.len()).map(|c| (c, Vec::new())).collect();
        let mut of_host = Vec::new();
        for request in requests {
            let (chunk, world) = self.find(request.world);
            match &self.chunks[chunk].worlds[world] {
                WorldCopy::Kernels(_) => parts[chunk].1.push(request),
                WorldCopy::Host(step) => of_host.push((request, &**step)),
            }
        }
        parts.retain(|(_, asked)| !asked.is_empty());
        let mut out = Vec::new();
        if self.work.side_by_side {
            let found = self.work.map(DERIVATIVES, parts, |part| self.by_kernels(rules, vec![part]))?;
            out.extend(found.into_iter().flatten());
        } else {
            while !parts.is_empty() {
                let now = parts.drain(..UNDER_WAY.min(parts.len())).collect();
                out.extend(self.by_kernels(rules, now)?);
            }
        }
        out.par_extend(of_host.into_par_iter().map(|(request, step)| self.on_host(rules, request, step)));
        Ok(out)
    }

    fn bytes(&self) -> usize {
        self.chunks.iter().map(StepCopy::bytes).sum()
    }
}
