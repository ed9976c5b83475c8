//! The last step of the worlds of a chunk, copied, and loaded into another chunk to be differentiated there.
//!
//! Of worlds that kernels take, what these read is copied as it lies in the buffers, on a device without a way through the
//! host. Of the others the steps are gathered at once.

use std::sync::Arc;

use manyworlds_collide::Contact;
use manyworlds_gpu::{BufferId, Copies};
use manyworlds_gradients::GradientRules;
use manyworlds_shaders::Scalar;

use super::geometry::Geometry;
use super::kernels::Kind;
use super::numbers::StepNumbers;
use super::step::{WorldStep, step_bytes};
use crate::geoms::GeomOverrides;
use crate::group::chunk::{Chunk, ChunkSet};
use crate::group::kept::Kept;
use crate::group::sharing::map_worlds;
use crate::group::state::{State, motion_bytes, read_motion};
use crate::host::{LaneParams, Place, SlotPack};
use crate::{Error, Summary};

/// The last step of each world of a chunk.
pub(in crate::group) struct StepCopy<T: Scalar> {
    pub(super) worlds: Vec<WorldCopy>,
    /// What kernels read; none where they take no world.
    pub(super) numbers: Option<NumbersCopy<T>>,
}

/// The step of a world, by who differentiates it.
pub(super) enum WorldCopy {
    /// Kernels, as far as they are not in doubt. With the state after the step.
    Kernels(State),
    Host(Box<WorldStep>),
}

/// What a step left in a chunk, as far as derivatives look at it.
pub(super) struct NumbersCopy<T: Scalar> {
    sets: Vec<SetCopy<T>>,
    pub(super) summaries: Vec<Summary>,
    /// Of all worlds, one behind the other, and where those of each end.
    contacts: Vec<(Contact, Place)>,
    ends: Vec<usize>,
    geoms: Option<GeomOverrides>,
    /// Of the mocap bodies.
    poses: Vec<T>,
}

/// The same of a set of trees.
struct SetCopy<T: Scalar> {
    buffers: Copies<T>,
    /// Where every lane has its own.
    params: Option<LaneParams<T>>,
    /// Where slots lie, and how many there are.
    slots: Vec<u32>,
    n_slot: usize,
}

/// Buffers of a set that are copied. Those of the impulses change places from step to step.
fn copied<T: Scalar>(set: &ChunkSet<T>) -> Vec<BufferId> {
    let b = set.step.buffers;
    let mut all = vec![b.before, b.state, b.velocity, b.mass, b.factor, b.row, b.constraint, set.step.impulses.now];
    if set.step.dims.param_lanes == 1 {
        all.push(b.lane_params);
    }
    all
}

impl<T: Scalar> StepCopy<T> {
    /// State of a world after its step, without controls and forces.
    pub(super) fn after(&self, world: usize) -> &State {
        match &self.worlds[world] {
            WorldCopy::Kernels(after) => after,
            WorldCopy::Host(step) => &step.after,
        }
    }

    /// Memory it takes, B.
    pub(super) fn bytes(&self) -> usize {
        let of_world = |world: &WorldCopy| match world {
            WorldCopy::Kernels(after) => after.bytes(),
            WorldCopy::Host(step) => step.bytes(),
        };
        let worlds = self.worlds.len() * size_of::<WorldCopy>() + self.worlds.iter().map(of_world).sum::<usize>();
        worlds + self.numbers.as_ref().map_or(0, NumbersCopy::bytes)
    }
}

impl<T: Scalar> NumbersCopy<T> {
    fn bytes(&self) -> usize {
        let of_set = |set: &SetCopy<T>| {
            set.buffers.bytes() + 4 * set.slots.len() + set.params.as_ref().map_or(0, LaneParams::bytes)
        };
        self.sets.iter().map(of_set).sum::<usize>()
            + self.geoms.as_ref().map_or(0, GeomOverrides::bytes)
            + size_of_val(&self.poses[..])
            + around(self.summaries.len(), self.contacts.len())
    }
}

/// Memory of what else is copied of so many worlds, B.
fn around(worlds: usize, contacts: usize) -> usize {
    worlds * (size_of::<Summary>() + size_of::<usize>()) + contacts * size_of::<(Contact, Place)>()
}

impl<T: Scalar> Chunk<T> {
    /// Copies the last step. `by_kernels`: the rules by which kernels differentiate it, where they are to.
    pub(in crate::group) fn copy_step(
        &mut self,
        geometry: &Geometry,
        by_kernels: Option<GradientRules>,
    ) -> Result<StepCopy<T>, Error> {
        self.finish()?;
        let taken = self.kernels_take(by_kernels);
        let (kernels, others): (Vec<usize>, Vec<usize>) = (0..self.n_world).partition(|&world| taken[world]);
        let on_device = self.is_on_device();
        if on_device && others.is_empty() {
            // Each that was not asked for would be a submission of its own.
            self.recording.clear();
            self.sets.iter().for_each(|set| _ = self.recording.read(set.step.buffers.state));
            self.record_certificates();
            self.store.run(&self.recording)?;
        } else {
            self.read_ahead()?;
        }
        let summaries = self.stored()?;
        let mut of_host = Vec::new();
        if !others.is_empty() {
            let shared = Arc::clone(&self.shared);
            let numbers = StepNumbers::new(self, (&summaries[..]).into())?;
            let step = |world: usize| numbers.step(&shared, geometry, world, true).map(Box::new);
            of_host = map_worlds(on_device, others, step)?;
        }
        let numbers = if kernels.is_empty() { None } else { Some(self.copy_numbers(summaries)?) };
        let mut after = self.states(kernels, read_motion)?.into_iter();
        let mut of_host = of_host.into_iter();
        let worlds = taken.iter().map(|&taken| {
            if taken { after.next().map(WorldCopy::Kernels) } else { of_host.next().map(WorldCopy::Host) }
        });
        Ok(StepCopy { worlds: worlds.flatten().collect(), numbers })
    }

    /// Which worlds kernels take.
    fn kernels_take(&self, by_kernels: Option<GradientRules>) -> Vec<bool> {
        let takes = by_kernels.is_some_and(|rules| self.takes(Kind::Back, rules));
        (0..self.n_world).map(|world| takes && self.is_alone(world)).collect()
    }

    /// Memory that [`Self::copy_step`] would take of the last step, B.
    pub(in crate::group) fn copy_bytes(&self, by_kernels: Option<GradientRules>) -> usize {
        let (shared, taken) = (&self.shared, self.kernels_take(by_kernels));
        let own = self.sets.iter().any(|set| set.step.dims.param_lanes == 1);
        let contacts = |world: usize| self.host.worlds[world].contacts.len();
        let after = motion_bytes(shared);
        let of_world = |(world, &taken): (usize, &bool)| {
            size_of::<WorldCopy>() + if taken { after } else { step_bytes(shared, contacts(world), own) }
        };
        let worlds: usize = taken.iter().enumerate().map(of_world).sum();
        if !taken.contains(&true) {
            return worlds;
        }
        let of_set = |(set, (pack, params)): (&ChunkSet<T>, (&SlotPack, &LaneParams<T>))| {
            let reals: usize = copied(set).into_iter().map(|buffer| self.store.len(buffer)).sum();
            let params = if set.step.dims.param_lanes == 1 { params.bytes() } else { 0 };
            reals * size_of::<T>() + 4 * pack.slots.len() + params
        };
        let sets = self.sets.iter().zip(self.host.packs.iter().zip(&self.host.params));
        worlds
            + sets.map(of_set).sum::<usize>()
            + self.geoms.as_ref().map_or(0, GeomOverrides::bytes)
            + size_of_val(&self.mocaps.poses[..])
            + around(self.n_world, (0..self.n_world).map(contacts).sum())
    }

    fn copy_numbers(&mut self, summaries: Vec<Summary>) -> Result<NumbersCopy<T>, Error> {
        let mut sets = Vec::with_capacity(self.sets.len());
        for (set, (pack, params)) in self.sets.iter().zip(self.host.packs.iter().zip(&self.host.params)) {
            sets.push(SetCopy {
                buffers: self.store.copy(&copied(set))?,
                params: (set.step.dims.param_lanes == 1).then(|| params.clone()),
                slots: pack.slots.clone(),
                n_slot: pack.n_slot,
            });
        }
        let (mut contacts, mut ends) = (Vec::new(), Vec::with_capacity(self.n_world));
        for world in &self.host.worlds {
            contacts.extend(world.contacts.iter().copied().zip(world.places.iter().copied()));
            ends.push(contacts.len());
        }
        let (geoms, poses) = (self.geoms.clone(), self.mocaps.poses.clone());
        Ok(NumbersCopy { sets, summaries, contacts, ends, geoms, poses })
    }

    /// Makes the chunk one that has just taken a step that was copied from another of as many worlds.
    pub(super) fn load_step(&mut self, from: &NumbersCopy<T>) -> Result<(), Error> {
        for (index, of_set) in from.sets.iter().enumerate() {
            match &of_set.params {
                Some(params) => {
                    self.use_lane_params(index)?;
                    self.host.params[index].clone_from(params);
                }
                None => self.share_params(index)?,
            }
            let buffers = copied(&self.sets[index]);
            self.store.load(&buffers, &of_set.buffers)?;
            let pack = &mut self.host.packs[index];
            pack.slots.clone_from(&of_set.slots);
            pack.n_slot = of_set.n_slot;
        }
        let mut begin = 0;
        for (world, &end) in self.host.worlds.iter_mut().zip(&from.ends) {
            let own = &from.contacts[begin..end];
            world.contacts.clear();
            world.contacts.extend(own.iter().map(|(contact, _)| *contact));
            world.places.clear();
            world.places.extend(own.iter().map(|(_, place)| *place));
            begin = end;
        }
        self.geoms.clone_from(&from.geoms);
        if !from.poses.is_empty() {
            self.mocaps.poses.clone_from(&from.poses);
            self.mocaps.follow(&self.shared.host.mocaps);
        }
        self.before.get_or_insert_with(Kept::default).begin(self.n_world);
        Ok(())
    }

    /// The step that was loaded, as the host differentiates it.
    pub(super) fn loaded_numbers<'a>(&'a mut self, from: &'a NumbersCopy<T>) -> Result<StepNumbers<'a, T>, Error> {
        self.read_ahead()?;
        StepNumbers::new(self, (&from.summaries[..]).into())
    }
}
