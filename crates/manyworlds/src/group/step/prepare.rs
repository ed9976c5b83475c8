//! The host's stages of a step: what collides, islands, packing, uploads.

use std::sync::Arc;

use manyworlds_collide::Overrides;
use manyworlds_contact::solve::Before;
use manyworlds_model::Pose;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island;
use manyworlds_shaders::contact::tree_layout::{contact, map, slot_reals};
use manyworlds_shaders::dynamics::tree::status;
use manyworlds_shaders::index::{tile_at, tile_len};

use super::super::buffers::Turns;
use super::super::chunk::{Chunk, ChunkSet};
use super::super::{State, read_state};
use super::unsolved::before;
use crate::Error;
use crate::host::{Moving, Sight, World};

impl<T: Scalar> Chunk<T> {
    /// Freezes all trees of a world that has one which stopped.
    fn freeze(&mut self) -> Result<(), Error> {
        if self.sets.len() == 1 && self.sets[0].k == 1 {
            return Ok(());
        }
        for world in 0..self.n_world {
            if !self.sets.iter().any(|set| set.has_stopped(world)) {
                continue;
            }
            for set in &mut self.sets {
                let lanes = world * set.k..(world + 1) * set.k;
                if set.status[lanes.clone()].iter().any(|word| word & status::STOPPED == 0) {
                    set.status[lanes].iter_mut().for_each(|word| *word |= status::FROZEN);
                    self.store.write_index(set.step.buffers.status, 0, &set.status)?;
                }
            }
        }
        Ok(())
    }

    /// Tells kernels which trees they are to leave alone: those in islands with others, and those of worlds in which something touches
    /// a soft body that its kernels do not know.
    fn mark_shared(&mut self) -> Result<(), Error> {
        for (set, trees) in self.sets.iter_mut().zip(&self.shared.sets) {
            let mut changed = false;
            for (lane, word) in set.status[..set.step.dims.lanes as usize].iter_mut().enumerate() {
                let world = lane / set.k;
                let shared =
                    self.host.worlds[world].soft_is_hosts || self.host.is_shared(world, trees.trees[lane % set.k]);
                let marked = *word & !status::SHARED | if shared { status::SHARED } else { 0 };
                changed |= marked != *word;
                *word = marked;
            }
            if changed {
                self.store.write_index(set.step.buffers.status, 0, &set.status)?;
            }
        }
        Ok(())
    }

    /// Collision and packing for the state at hand, uploaded.
    pub(super) fn prepare(&mut self) -> Result<(), Error> {
        self.freeze()?;
        let sets = &self.sets;
        let shared = &self.shared;
        let look_back = |index: usize, world: &mut World| {
            world.before = Before::Solved;
            world.gave_way.clear();
            for (set, trees) in sets.iter().zip(&shared.sets) {
                for (word, &tree) in set.status[index * set.k..(index + 1) * set.k].iter().zip(&trees.trees) {
                    if *word & status::GAVE_WAY != 0 {
                        world.before = world.before.max(before(*word));
                        world.gave_way.push(tree as u32);
                    }
                }
            }
        };
        let stopped = |world: usize| sets.iter().any(|set| set.has_stopped(world));
        let geoms = &self.geoms;
        let overrides = |world: usize| geoms.as_ref().map_or_else(Overrides::default, |geoms| geoms.of(world));
        let (poses, speeds) = (|set: usize| &sets[set].poses[..], |set: usize| &sets[set].speeds[..]);
        let acting = |set: usize| &sets[set].acting[..];
        let moving = Moving { poses, speeds, acting, mocaps: &self.mocaps };
        self.host.run(&moving, look_back, overrides, stopped);
        let width = self.store.tile();
        for (index, (set, pack)) in self.sets.iter().zip(&self.host.packs).enumerate() {
            let b = set.step.buffers;
            let n_v = set.step.dims.n_v as usize;
            // At least one slot: a device binds no empty buffer.
            let slots = pack.n_slot.max(1) * width;
            let Turns { before, now: impulse } = set.step.impulses;
            for (buffer, n) in
                [(b.contact, contact::SIZE), (b.contact_map, map::SIZE), (b.constraint, slot_reals(n_v)), (impulse, 3)]
            {
                self.store.resize(buffer, slots * n)?;
            }
            if self.store.is_empty(before) {
                // The first step: blocks start from zeros.
                self.store.resize(before, 3 * slots)?;
            }
            let tiles = || self.host.tiles(index);
            self.store.write_parts(b.contact, &mut tiles().map(|tile| &tile.contact[..]))?;
            self.store.write_index_parts(b.contact_map, &mut tiles().map(|tile| &tile.map[..]))?;
            self.store.write_index(b.slots, 0, &pack.slots)?;
        }
        let soft_by_kernels = self.shared.form.is_some() && !self.shared.soft.is_empty();
        if soft_by_kernels {
            self.prepare_touches()?;
        }
        let shared = &self.shared;
        if shared.host.has_islands() || soft_by_kernels {
            self.mark_shared()?;
        }
        self.write_soft_params()?;
        self.prepare_loads()?;
        self.prepare_adhesion()?;
        self.prepare_sensors()?;
        self.prepare_islands()
    }

    /// Uploads which contacts the sensors of a set feel.
    fn prepare_loads(&mut self) -> Result<(), Error> {
        for (set, loads) in self.sets.iter().zip(&self.host.loads) {
            let Some(loads) = loads else { continue };
            let b = set.step.buffers;
            self.store.resize(b.load_items, loads.lists.items.len())?;
            self.store.resize(b.load_places, loads.lists.places.len())?;
            self.store.write_index(b.load_items, 0, &loads.lists.items)?;
            self.store.write(b.load_places, 0, &loads.lists.places)?;
            if self.store.is_empty(self.islands.impulses.now) {
                // A device binds no empty buffer.
                self.store.resize(self.islands.impulses.now, 3)?;
            }
        }
        Ok(())
    }

    /// Computes and uploads what sensors show that no tree's kernel knows.
    fn prepare_sensors(&mut self) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let Some(outside) = &shared.host.outside else { return Ok(()) };
        if self.controls_wait {
            // They are rows on the device as yet.
            self.recording.clear();
            self.record_controls();
            self.store.run(&self.recording)?;
        }
        let states = self.seen_states()?;
        let states: Vec<&[T]> = states.iter().map(|seen| seen.of(&*self.store)).collect();
        let width = self.store.tile();
        let n_given = |set: &ChunkSet<T>| set.step.sensing.map_or(0, |sensing| sensing.n_given);
        let zeros = |set: &ChunkSet<T>| vec![T::default(); tile_len(width, set.step.dims.lanes as usize, n_given(set))];
        let mut given: Vec<Vec<T>> = self.sets.iter().map(zeros).collect();
        let (mut sight, mut state) = (Sight::default(), State::default());
        for world in 0..self.n_world {
            read_state(&shared, &states, width, world, &mut state);
            let mocap: Vec<Pose> = self.mocaps.of_world(&shared.host.mocaps, world).collect();
            let at = (&state, &mocap[..], self.clock[world]);
            let contacts = &self.host.worlds[world].contacts;
            outside.show((&shared.model, &shared.sets), at, contacts, &mut sight, |item, shown| {
                let (set, n) = (&self.sets[item.set], n_given(&self.sets[item.set]));
                let lane = set.lane(world, item.index);
                for (k, &x) in shown.iter().enumerate() {
                    given[item.set][tile_at(width, lane, n, item.at + k)] = T::from_f64(x);
                }
            });
            if !self.sets.iter().any(|set| set.has_stopped(world)) {
                let set = self.sets.iter().position(|set| !set.step.dims.is_soft()).unwrap_or(0);
                self.clock[world] += self.host.params[set].timestep(self.sets[set].lane(world, 0)).to_f64();
            }
        }
        for (set, given) in self.sets.iter().zip(given).filter(|(_, given)| !given.is_empty()) {
            self.store.write(set.step.buffers.given, 0, &given)?;
        }
        Ok(())
    }

    /// Uploads which contacts adhere, where any can.
    fn prepare_adhesion(&mut self) -> Result<(), Error> {
        for (set, pack) in self.sets.iter().zip(&self.host.adhering) {
            let b = set.step.buffers;
            self.store.resize(b.adhere_items, pack.lists.items.len())?;
            self.store.resize(b.adhere_places, pack.lists.places.len())?;
            self.store.write_index(b.adhere_items, 0, &pack.lists.items)?;
            self.store.write(b.adhere_places, 0, &pack.lists.places)?;
        }
        Ok(())
    }

    /// Uploads the islands of several trees, if there are any.
    fn prepare_islands(&mut self) -> Result<(), Error> {
        let (pack, b) = (&self.host.islands, self.islands.buffers);
        if !pack.moves.is_empty() {
            self.store.resize(b.moves, pack.moves.len())?;
            self.store.write_index(b.moves, 0, &pack.moves)?;
        }
        if pack.is_empty() {
            return Ok(());
        }
        let Turns { before, now: impulse } = self.islands.impulses;
        let [n_constraints, n_islands] = [pack.dims.n_constraints, pack.dims.n_islands].map(|n| n as usize);
        let demand = self.host.solver.as_ref().map(|s| s.demand(&pack.dims, &pack.workspaces)).unwrap_or_default();
        for (buffer, n) in [
            (b.index, pack.index.len()),
            (b.contact, pack.contact.len()),
            (b.jac, pack.n_jac),
            (b.con, island::con::SIZE * n_constraints),
            (impulse, 3 * n_constraints),
            (b.velocity, island::region::COUNT * pack.dims.n_velocity as usize),
            (b.info, island::info::SIZE * n_islands),
            (b.status, n_islands),
            (b.solver_words, demand.words.len()),
            (b.solver_reals, demand.reals),
            (b.work, demand.work),
        ] {
            self.store.resize(buffer, n)?;
        }
        if self.store.is_empty(before) {
            // A device binds no empty buffer.
            self.store.resize(before, 3)?;
        }
        self.store.write_index(b.index, 0, &pack.index)?;
        self.store.write(b.contact, 0, &pack.contact)?;
        self.store.write_index(b.solver_words, 0, demand.words)?;
        Ok(())
    }
}
