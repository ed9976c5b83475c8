//! Some worlds of one model and the buffers they live in.

use std::sync::Arc;

use manyworlds_collide::{Overrides, Precision as CollidePrecision};
use manyworlds_contact::pgs::{self, PgsParams, work_reals};
use manyworlds_contact::solve::{ContactModel, Kernels};
use manyworlds_gpu::{Recording, Store, Ticket};
use manyworlds_shaders::contact::island;
use manyworlds_shaders::contact::tree_layout::{SLOTS, contact, info, map, row_stride, slot_reals};
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL, SPEED, TreeDims, status};
use manyworlds_shaders::index::{gather, tile_at, tile_len};
use manyworlds_shaders::{Scalar, kernel};

use super::buffers::{IslandBuffers, SetBuffers};
use super::finish::Answer;
use super::record::{IslandStep, SetStep};
use super::shared::Shared;
use crate::geoms::GeomOverrides;
use crate::host::{Beside, HostStage, Moving};
use crate::{Error, GeomParameter};

/// Some worlds of one model, stepped by one recording.
pub(crate) struct Chunk<T: Scalar + CollidePrecision, S: Store<T>> {
    pub(super) shared: Arc<Shared<T>>,
    pub(crate) store: S,
    pub(crate) sets: Vec<ChunkSet<T>>,
    pub(crate) islands: IslandStep,
    pub(crate) host: HostStage<T>,
    pub(crate) n_world: usize,
    /// Geoms by world, where they are not all the model's.
    pub(super) geoms: Option<GeomOverrides<T>>,
    /// What derivatives need of the step before, where it is kept.
    pub(super) before: Option<Kept<T>>,
    /// How the host's part of the last solve ended, by world, where it had one.
    pub(super) answers: Vec<Option<Answer>>,
    /// How the kernels left each island of several trees.
    pub(super) island_status: Vec<u32>,
    recording: Recording,
    /// Poses in the store are not those of the state.
    stale: bool,
    ticket: Option<Ticket>,
}

/// The states before a step.
#[derive(Debug, Default)]
pub(crate) struct Kept<T> {
    /// By set; empty before the first step.
    pub(super) states: Vec<Vec<T>>,
    /// By world: nothing of it was changed since.
    pub(super) whole: Vec<bool>,
}

impl<T> Kept<T> {
    /// A world is no longer what the step made of it.
    fn touch(&mut self, world: usize) {
        if let Some(whole) = self.whole.get_mut(world) {
            *whole = false;
        }
    }
}

/// One tree set of a chunk.
pub(crate) struct ChunkSet<T> {
    pub(crate) step: SetStep,
    /// Trees of one world in this set.
    pub(crate) k: usize,
    poses: Vec<T>,
    speeds: Vec<T>,
    pub(crate) status: Vec<u32>,
    /// Buffer for uploads.
    staging: Vec<T>,
}

impl<T: Scalar> ChunkSet<T> {
    pub(crate) fn dims(&self) -> &TreeDims {
        &self.step.dims
    }

    /// Reals of a lane's rows.
    pub(crate) fn n_row_real(&self) -> usize {
        self.step.dims.n_row as usize * row_stride(self.step.dims.n_v as usize)
    }

    /// Whether a tree of a world does not move any more.
    fn has_stopped(&self, world: usize) -> bool {
        self.status[world * self.k..(world + 1) * self.k].iter().any(|word| word & status::STOPPED != 0)
    }

    /// Lane of the `index`-th tree of a world.
    pub(crate) fn lane(&self, world: usize, index: usize) -> usize {
        world * self.k + index
    }
}

impl<T: Scalar + CollidePrecision, S: Store<T>> Chunk<T, S> {
    /// Makes the buffers of `n_world` worlds; their state is to be written before the first step.
    pub(crate) fn new(
        shared: Arc<Shared<T>>,
        buffers: &[SetBuffers],
        islands: IslandBuffers,
        store: S,
        n_world: usize,
        share: Option<u32>,
    ) -> Result<Self, Error> {
        let width = store.tile();
        let lane_workspace = share.is_some();
        let kernels = shared.kernels();
        let mut sets = Vec::with_capacity(buffers.len());
        for (set, &buffers) in shared.sets.iter().zip(buffers) {
            let k = set.trees.len();
            let mut dims = set.layout.dims;
            dims.lanes = (k * n_world) as u32;
            dims.param_lanes = u32::from(!set.uniform());
            let pgs = PgsParams {
                tolerance: shared.tolerance,
                sweeps: shared.iterations,
                rows: if lane_workspace { pgs::DEVICE_ROWS } else { pgs::CPU_ROWS },
                newton: kernels == Kernels::Newton,
                share,
            };
            let step = SetStep { buffers, dims, pgs, odd: false };
            sets.push(ChunkSet {
                step,
                k,
                poses: Vec::new(),
                speeds: Vec::new(),
                status: Vec::new(),
                staging: Vec::new(),
            });
        }
        let host = HostStage::new(Arc::clone(&shared.host), n_world, width, kernels, lane_workspace);
        let islands = IslandStep {
            buffers: islands,
            iterations: shared.iterations,
            substeps: shared.substeps,
            spread: lane_workspace,
            tolerance: shared.tolerance as f32,
            by_solver: kernels.by_islands() && shared.solver.model() != ContactModel::Exact,
            odd: false,
        };
        let recording = Recording::new();
        let mut chunk = Self {
            shared,
            store,
            sets,
            islands,
            host,
            n_world,
            geoms: None,
            before: None,
            answers: Vec::new(),
            island_status: Vec::new(),
            recording,
            stale: true,
            ticket: None,
        };
        chunk.allocate(lane_workspace)?;
        Ok(chunk)
    }

    /// Fixed buffers; those of contacts grow with them.
    fn allocate(&mut self, lane_workspace: bool) -> Result<(), Error> {
        let width = self.store.tile();
        for (index, set) in self.sets.iter_mut().enumerate() {
            let (d, b) = (set.step.dims, set.step.buffers);
            let lanes = d.lanes as usize;
            let [n_body, n_v, n_m] = [d.n_body, d.n_v, d.n_m].map(|n| n as usize);
            for (buffer, n) in [
                (b.state, d.n_state()),
                (b.pose, POSE * n_body),
                (b.motion, SPATIAL * n_v),
                (b.speed, SPEED * n_body),
                (b.twist, SPATIAL * n_body),
                (b.bias, n_v),
                (b.mass, n_m),
                (b.momentum, n_m.max(d.n_work())),
                (b.factor, n_m),
                (b.b, n_v),
                (b.v_free, n_v),
                (b.velocity, n_v),
                (b.row, set.n_row_real()),
                (b.info, info::reals(n_v)),
                (b.solver_work, if lane_workspace { work_reals(&set.step.pgs) } else { 0 }),
            ] {
                // A device binds no empty buffer.
                self.store.resize(buffer, tile_len(width, lanes, n.max(1)))?;
            }
            if set.step.has_stage() {
                for (buffer, n) in [
                    (b.stage, d.n_state()),
                    (b.stage_pose, POSE * n_body),
                    (b.stage_motion, SPATIAL * n_v),
                    (b.stage_twist, SPATIAL * n_body),
                ] {
                    self.store.resize(buffer, tile_len(width, lanes, n))?;
                }
            }
            let padded = tile_len(width, lanes, 1);
            self.store.resize(b.status, padded)?;
            self.store.resize(b.slots, SLOTS * padded / width)?;
            set.status = vec![0; padded];
            set.status[lanes..].fill(status::FROZEN);
            self.store.write_index(b.status, 0, &set.status)?;
            set.poses = vec![T::default(); tile_len(width, lanes, POSE * n_body)];
            set.speeds = vec![T::default(); tile_len(width, lanes, SPEED * n_body)];
            let tree_set = &self.shared.sets[index];
            self.store.resize(b.topology, tree_set.layout.topology.len().max(1))?;
            self.store.write_index(b.topology, 0, &tree_set.layout.topology)?;
        }
        (0..self.sets.len()).try_for_each(|set| self.write_params(set))
    }

    /// Uploads parameters: once where all trees share them, else a copy a lane.
    fn write_params(&mut self, index: usize) -> Result<(), Error> {
        let set = &self.sets[index];
        let all = &self.shared.sets[index].params;
        let lanes = if set.step.dims.param_lanes == 0 { 1 } else { set.step.dims.lanes as usize };
        self.host.params[index].fill(lanes, |lane, at| T::from_f64(all[lane % set.k][at]));
        let (set, b) = (&self.sets[index], self.sets[index].step.buffers);
        let params = &self.shared.sets[index].params;
        if set.step.dims.param_lanes == 0 {
            let values: Vec<T> = params[0].iter().map(|&x| T::from_f64(x)).collect();
            self.store.resize(b.params, values.len())?;
            self.store.write(b.params, 0, &values)?;
            return Ok(());
        }
        let n = set.step.dims.n_param as usize;
        let lanes = set.step.dims.lanes as usize;
        let width = self.store.tile();
        let mut values = vec![T::default(); tile_len(width, lanes, n)];
        // Lanes of padding repeat the last tree's parameters, so that they compute nothing extraordinary.
        for lane in 0..lanes.next_multiple_of(width) {
            let tree = &params[lane.min(lanes - 1) % set.k];
            for (e, &x) in tree.iter().enumerate() {
                values[tile_at(width, lane, n, e)] = T::from_f64(x);
            }
        }
        self.store.resize(b.lane_params, values.len())?;
        self.store.write(b.lane_params, 0, &values)?;
        Ok(())
    }

    /// Changes one parameter of one lane; the set goes over to parameters by lane with the first.
    pub(crate) fn set_param(&mut self, set: usize, lane: usize, at: usize, value: f64) -> Result<(), Error> {
        self.finish()?;
        self.touch(lane / self.sets[set].k);
        self.use_lane_params(set)?;
        let step = &self.sets[set].step;
        let index = tile_at(self.store.tile(), lane, step.dims.n_param as usize, at);
        self.store.write(step.buffers.lane_params, index, &[T::from_f64(value)])?;
        self.host.params[set].set(lane, at, T::from_f64(value));
        self.stale = true;
        Ok(())
    }

    /// Changes one parameter of one geom of one world; every world has geoms of its own from then on.
    pub(crate) fn set_geom(
        &mut self,
        world: usize,
        geom: usize,
        parameter: GeomParameter,
        values: &[f64],
    ) -> Result<(), Error> {
        self.finish()?;
        self.touch(world);
        self.own_geoms().set(world, geom, parameter, values);
        Ok(())
    }

    /// The geoms of every world, as the model's if they were shared so far.
    pub(super) fn own_geoms(&mut self) -> &mut GeomOverrides<T> {
        self.geoms.get_or_insert_with(|| GeomOverrides::new(&self.shared.model, self.n_world))
    }

    /// Gives every lane of a set parameters of its own.
    pub(crate) fn use_lane_params(&mut self, set: usize) -> Result<(), Error> {
        let step = &mut self.sets[set].step;
        if step.dims.param_lanes == 1 {
            return Ok(());
        }
        step.dims.param_lanes = 1;
        self.write_params(set)
    }

    /// Lets every lane of a set have the model's parameters again.
    pub(super) fn share_params(&mut self, index: usize) -> Result<(), Error> {
        if !self.shared.sets[index].uniform() {
            return Err(Error::Checkpoint("it lacks the parameters of single trees".into()));
        }
        let step = &mut self.sets[index].step;
        if step.dims.param_lanes == 0 {
            return Ok(());
        }
        step.dims.param_lanes = 0;
        self.write_params(index)
    }

    /// Poses in the store are no longer those of the state.
    pub(crate) fn mark_stale(&mut self) {
        self.stale = true;
    }

    /// The state of all lanes of a set as it lies in the store.
    pub(crate) fn read_state(&mut self, set: usize) -> Result<&mut Vec<T>, Error> {
        self.finish()?;
        let b = self.sets[set].step.buffers.state;
        let len = self.store.len(b);
        let staging = &mut self.sets[set].staging;
        staging.resize(len, T::default());
        self.store.read(b, staging)?;
        Ok(staging)
    }

    /// Overwrites the state of all lanes of a set from what [`Self::read_state`] returned.
    pub(crate) fn write_state(&mut self, set: usize) -> Result<(), Error> {
        let set = &self.sets[set];
        self.store.write(set.step.buffers.state, 0, &set.staging)?;
        self.stale = true;
        Ok(())
    }

    /// Writes `n` numbers from entry `at` on of every lane of a set: `values(lane, i)`.
    pub(crate) fn write_columns(
        &mut self,
        set: usize,
        at: usize,
        n: usize,
        values: impl Fn(usize, usize) -> T,
    ) -> Result<(), Error> {
        if n == 0 {
            return Ok(());
        }
        let width = self.store.tile();
        let set = &mut self.sets[set];
        let (n_state, lanes) = (set.step.dims.n_state(), set.step.dims.lanes as usize);
        set.staging.resize(n * width, T::default());
        for tile in 0..lanes.div_ceil(width) {
            for lane in tile * width..((tile + 1) * width).min(lanes) {
                for i in 0..n {
                    set.staging[i * width + lane % width] = values(lane, i);
                }
            }
            let first = tile_at(width, tile * width, n_state, at);
            self.store.write(set.step.buffers.state, first, &set.staging[..n * width])?;
        }
        Ok(())
    }

    /// Forgets impulses and status of the worlds that `marked` names: they start afresh from the state they now have.
    pub(crate) fn forget(&mut self, marked: impl Fn(usize) -> bool) -> Result<(), Error> {
        self.finish()?;
        for world in (0..self.n_world).filter(|&w| marked(w)) {
            self.host.forget(world);
            self.touch(world);
        }
        for set in &mut self.sets {
            let b = set.step.buffers;
            let lanes = set.step.dims.lanes as usize;
            let n_row = set.n_row_real() as u32;
            let marks: Vec<u32> = (0..lanes).map(|lane| u32::from(marked(lane / set.k))).collect();
            for (status, mark) in set.status.iter_mut().zip(&marks) {
                *status *= 1 - mark;
            }
            self.store.write_index(b.status, 0, &set.status)?;
            if n_row == 0 {
                continue;
            }
            self.store.resize(b.marked, set.status.len())?;
            self.store.write_index(b.marked, 0, &marks)?;
            // Never written: zeros.
            self.store.resize(b.source, self.store.len(b.row))?;
            self.recording.clear();
            let dims = manyworlds_shaders::batch::overwrite::Dims { lanes: lanes as u32, n: n_row };
            self.recording.dispatch(&kernel::batch::OVERWRITE, &dims, lanes as u32, &[b.marked, b.source, b.row]);
            self.store.run(&self.recording)?;
        }
        self.stale = true;
        Ok(())
    }

    /// Waits for what was started last.
    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        if let Some(ticket) = self.ticket.take() {
            self.store.wait(ticket)?;
            self.fetch()?;
        }
        Ok(())
    }

    fn fetch(&mut self) -> Result<(), Error> {
        for set in &mut self.sets {
            self.store.read(set.step.buffers.pose, &mut set.poses)?;
            self.store.read(set.step.buffers.speed, &mut set.speeds)?;
            self.store.read_index(set.step.buffers.status, &mut set.status)?;
        }
        Ok(())
    }

    /// Brings poses up to the state, if they are not.
    fn refresh(&mut self) -> Result<(), Error> {
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

    /// The step of a world is no longer one that could be differentiated.
    fn touch(&mut self, world: usize) {
        if let Some(before) = &mut self.before {
            before.touch(world);
        }
    }

    /// No step that is kept is the one that led here.
    pub(super) fn forget_kept(&mut self) {
        if let Some(before) = &mut self.before {
            before.whole.clear();
        }
    }

    /// Keeps the states before a step, if they are to be kept.
    fn keep(&mut self) -> Result<(), Error> {
        let Some(before) = &mut self.before else { return Ok(()) };
        before.whole.clear();
        before.whole.resize(self.n_world, true);
        before.states.resize(self.sets.len(), Vec::new());
        for (set, state) in self.sets.iter().zip(&mut before.states) {
            let buffer = set.step.buffers.state;
            state.resize(self.store.len(buffer), T::default());
            self.store.read(buffer, state)?;
        }
        Ok(())
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

    /// Numbers of one lane of a buffer with `n` a lane.
    pub(crate) fn read_lane(
        &mut self,
        buffer: manyworlds_gpu::BufferId,
        lane: usize,
        n: usize,
    ) -> Result<Vec<f64>, Error> {
        self.finish()?;
        let mut all = vec![T::default(); self.store.len(buffer)];
        self.store.read(buffer, &mut all)?;
        let mut values = vec![T::default(); n];
        gather(self.store.tile(), lane, &all, &mut values);
        Ok(values.into_iter().map(Scalar::to_f64).collect())
    }
}
