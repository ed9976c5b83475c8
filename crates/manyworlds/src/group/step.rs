//! A step of a chunk: collision and packing on the host, kernels, what the host finishes, motion.

use manyworlds_collide::{Overrides, Precision as CollidePrecision};
use manyworlds_contact::solve::Kernels;
use manyworlds_gpu::Recording;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island;
use manyworlds_shaders::contact::tree_layout::{contact, map, slot_reals};
use manyworlds_shaders::dynamics::tree::status;

use super::chunk::Chunk;
use crate::Error;
use crate::host::{Beside, Moving};

impl<T: Scalar + CollidePrecision> Chunk<T> {
    /// Waits for what was started last.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if let Some(ticket) = self.ticket.take() {
            self.store.wait(ticket)?;
            self.fetch()?;
        }
        Ok(())
    }

    pub(super) fn fetch(&mut self) -> Result<(), Error> {
        for set in &mut self.sets {
            self.store.read(set.step.buffers.pose, &mut set.poses)?;
            self.store.read(set.step.buffers.speed, &mut set.speeds)?;
            self.store.read_index(set.step.buffers.status, &mut set.status)?;
        }
        Ok(())
    }

    /// Brings poses up to the state, if they are not.
    pub(super) fn refresh(&mut self) -> Result<(), Error> {
        self.finish()?;
        if !self.stale {
            return Ok(());
        }
        self.recording.clear();
        for set in &self.sets {
            set.step.kinematics(&mut self.recording);
        }
        self.store.run(&self.recording)?;
        self.fetch()?;
        self.stale = false;
        Ok(())
    }

    /// Begins a step: host stage on the poses at hand, then a submission: where the host has a part in solving, up to
    /// what the kernels make of the contacts, else up to the poses of the next step.
    pub(crate) fn begin(&mut self) -> Result<(), Error> {
        self.prepare()?;
        self.keep()?;
        self.recording.clear();
        self.record_controls();
        let kernels = self.shared.kernels();
        let (pack, islands, tile) = (&self.host.islands, &self.islands, self.store.tile() as u32);
        for ((set, part), slots) in self.sets.iter().zip(&pack.sets).zip(&self.host.packs) {
            set.step.dynamics(&mut self.recording);
            let back = |recording: &mut Recording| islands.to_trees(&set.step, part, tile, recording);
            set.step.contact(kernels, slots.most(), &mut self.recording, back);
        }
        if !pack.is_empty() {
            islands.record(kernels, &self.sets, pack, &self.host.beside, tile, &mut self.recording);
        }
        if self.shared.solver.finishes() {
            for set in &self.sets {
                self.recording.read(set.step.buffers.status);
            }
        } else {
            self.record_motion();
        }
        self.ticket = Some(self.store.submit(&self.recording)?);
        Ok(())
    }

    /// The rest of a step that was begun.
    pub(crate) fn complete(&mut self) -> Result<(), Error> {
        if self.shared.solver.finishes() {
            if let Some(ticket) = self.ticket.take() {
                self.store.wait(ticket)?;
            }
            let changed = self.finish_solve()?;
            self.recording.clear();
            if changed {
                for set in &self.sets {
                    set.step.certify(&mut self.recording);
                }
                self.islands.certify(&self.host.islands, &mut self.recording);
            }
            self.record_motion();
            self.ticket = Some(self.store.submit(&self.recording)?);
        }
        self.host.remember();
        self.islands.odd = !self.islands.odd;
        for set in &mut self.sets {
            set.step.odd = !set.step.odd;
        }
        Ok(())
    }

    /// Velocities into states, and the poses that collision looks at next.
    fn record_motion(&mut self) {
        for set in &self.sets {
            set.step.integrate(&mut self.recording);
        }
        for set in &self.sets {
            set.step.kinematics(&mut self.recording);
            let b = set.step.buffers;
            self.recording.read(b.pose).read(b.speed).read(b.status);
        }
    }

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

    /// Tells the trees' own solver which trees it is to leave alone: those in islands with others.
    fn mark_shared(&mut self) -> Result<(), Error> {
        for (set, trees) in self.sets.iter_mut().zip(&self.shared.sets) {
            let mut changed = false;
            for (lane, word) in set.status[..set.step.dims.lanes as usize].iter_mut().enumerate() {
                let shared = self.host.is_shared(lane / set.k, trees.trees[lane % set.k]);
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
    fn prepare(&mut self) -> Result<(), Error> {
        self.refresh()?;
        self.freeze()?;
        let sets = &self.sets;
        let stopped = |world: usize| sets.iter().any(|set| set.has_stopped(world));
        let geoms = &self.geoms;
        let overrides = |world: usize| geoms.as_ref().map_or_else(Overrides::default, |geoms| geoms.of(world));
        let moving = Moving { poses: |set: usize| &sets[set].poses[..], speeds: |set: usize| &sets[set].speeds[..] };
        self.host.run(&moving, overrides, stopped);
        let width = self.store.tile();
        for (set, pack) in self.sets.iter().zip(&self.host.packs) {
            let b = set.step.buffers;
            let n_v = set.step.dims.n_v as usize;
            // At least one slot: a device binds no empty buffer.
            let slots = pack.n_slot.max(1) * width;
            let [before, impulse] = b.impulses(set.step.odd);
            for (buffer, n) in
                [(b.contact, contact::SIZE), (b.contact_map, map::SIZE), (b.constraint, slot_reals(n_v)), (impulse, 3)]
            {
                self.store.resize(buffer, slots * n)?;
            }
            if self.store.is_empty(before) {
                // The first step: blocks start from zeros.
                self.store.resize(before, 3 * slots)?;
            }
            self.store.write(b.contact, 0, &pack.contact)?;
            self.store.write_index(b.contact_map, 0, &pack.map)?;
            self.store.write_index(b.slots, 0, &pack.slots)?;
        }
        if self.shared.host.lanes.trees.len() > 1 || self.shared.host.chains.is_some() {
            self.mark_shared()?;
        }
        self.prepare_islands()
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
        let [before, impulse] = b.impulses(self.islands.odd);
        let [n_constraints, n_islands] = [pack.dims.n_constraints, pack.dims.n_islands].map(|n| n as usize);
        let work = match self.shared.kernels() {
            Kernels::Substeps => 3 * n_constraints,
            _ if self.islands.spread => pack.workspaces.reals.max(1),
            _ => 0,
        };
        for (buffer, n) in [
            (b.index, pack.index.len()),
            (b.contact, pack.contact.len()),
            (b.jac, pack.n_jac),
            (b.con, island::con::SIZE * n_constraints),
            (impulse, 3 * n_constraints),
            (b.velocity, island::region::COUNT * pack.dims.n_velocity as usize),
            (b.info, island::info::SIZE * n_islands),
            (b.status, n_islands),
            // Mirrors have a workspace a thread.
            (b.work, work),
        ] {
            self.store.resize(buffer, n)?;
        }
        if self.store.is_empty(before) {
            // A device binds no empty buffer.
            self.store.resize(before, 3)?;
        }
        self.store.write_index(b.index, 0, &pack.index)?;
        self.store.write(b.contact, 0, &pack.contact)?;
        let (index, n_real, to) = match &self.host.beside {
            Beside::Nothing => return Ok(()),
            Beside::Split(split) => (&split.index, split.n_real, [b.split_index, b.split]),
            Beside::Convex(convex) => (&convex.index, convex.n_real, [b.convex_index, b.convex]),
            Beside::Residual(cr) => (&cr.index, cr.n_real, [b.cr_index, b.cr]),
        };
        self.store.resize(to[0], index.len())?;
        self.store.resize(to[1], n_real)?;
        self.store.write_index(to[0], 0, index)?;
        Ok(())
    }
}
