//! Some worlds of one model and the buffers they live in.

use std::sync::Arc;

use manyworlds_contact::solve::{ContactModel, LoneTrees};
use manyworlds_contact::tree::{self, PgsParams, work_reals};
use manyworlds_gpu::{Recording, Store, Ticket, Traffic};
use manyworlds_shaders::contact::island_newton::Room;
use manyworlds_shaders::contact::tree_acting;
use manyworlds_shaders::contact::tree_layout::{SLOTS, info, row_stride};
use manyworlds_shaders::dynamics::tree::{POSE, SPATIAL, SPEED, TreeDims, status};
use manyworlds_shaders::index::{gather, tile_len};
use manyworlds_shaders::{Scalar, kernel};

use super::backend::Backend;
use super::buffers::{IslandBuffers, LeftBuffers, RowBuffers, SetBuffers};
use super::columns::Columns;
use super::kept::Kept;
use super::record::{IslandStep, Sensing, SetStep};
use super::shared::Shared;
use super::soft::{Run, SoftKernels};
use super::step::answer::Answer;
use crate::Error;
use crate::geoms::GeomOverrides;
use crate::host::HostStage;
use crate::mocap::Mocaps;

/// Some worlds of one model, stepped by one recording.
pub(crate) struct Chunk<T: Scalar> {
    pub(super) shared: Arc<Shared<T>>,
    pub(crate) store: Box<dyn Store<T>>,
    pub(crate) sets: Vec<ChunkSet<T>>,
    pub(crate) islands: IslandStep,
    pub(crate) host: HostStage<T>,
    pub(crate) n_world: usize,
    /// Geoms by world, where they are not all the model's.
    pub(super) geoms: Option<GeomOverrides>,
    /// What derivatives need of the step before, where it is kept.
    pub(super) before: Option<Kept>,
    /// How the host's part of the last solve ended, by world, where it had one.
    pub(super) answers: Vec<Option<Answer>>,
    pub(super) recording: Recording,
    /// Poses in the store are not those of the state.
    pub(super) stale: bool,
    /// Where the mocap bodies are.
    pub(super) mocaps: Mocaps<T>,
    /// Time of each world since its last reset, s; kept where the host computes sensors.
    pub(super) clock: Vec<f64>,
    pub(super) in_flight: Option<InFlight>,
    /// Which number of a world's row stands where in its lanes.
    pub(super) columns: Arc<Columns>,
    pub(super) rows: RowBuffers,
    pub(super) left: LeftBuffers,
    /// Worlds that `left` has room for, and how many the last step left.
    pub(super) left_room: usize,
    pub(super) left_count: usize,
    /// Controls are on the device, but not yet where the step looks for them.
    pub(super) controls_wait: bool,
    /// What the host copied into the lanes and out of them without the store.
    pub(super) copied: Traffic,
    /// Buffer for uploads.
    pub(super) staging: Vec<T>,
    /// Contacts of soft bodies as their kernels read them.
    pub(super) touch_runs: Vec<Run<T>>,
}

/// What a chunk waits for.
pub(super) enum InFlight {
    /// The kernels of a step, which may leave worlds unsolved.
    Step(Ticket),
    /// The motion of those worlds.
    Motion(Ticket),
}

/// One tree set of a chunk.
pub(crate) struct ChunkSet<T> {
    pub(crate) step: SetStep,
    /// Trees of one world in this set.
    pub(crate) k: usize,
    /// Poses of bodies; of a soft body its state.
    pub(super) poses: Vec<T>,
    pub(super) speeds: Vec<T>,
    /// Which static rows can act in the next step, as `contact/tree_acting` says it; empty: any of them.
    pub(super) acting: Vec<u32>,
    pub(crate) status: Vec<u32>,
    /// Buffer for uploads of what the Jacobian knows of contacts.
    pub(super) touch: Vec<T>,
}

impl<T> AsRef<SetStep> for ChunkSet<T> {
    fn as_ref(&self) -> &SetStep {
        &self.step
    }
}

impl<T: Scalar> ChunkSet<T> {
    pub(crate) fn dims(&self) -> &TreeDims {
        &self.step.dims
    }

    /// Reals of a lane's rows.
    pub(crate) fn n_row_real(&self) -> usize {
        self.step.dims.n_row as usize * row_stride(self.step.dims.n_v as usize, self.step.dims.row_width)
    }

    /// Whether a tree of a world does not move any more.
    pub(super) fn has_stopped(&self, world: usize) -> bool {
        self.status[world * self.k..(world + 1) * self.k].iter().any(|word| word & status::STOPPED != 0)
    }

    /// Lane of the `index`-th tree of a world.
    pub(crate) fn lane(&self, world: usize, index: usize) -> usize {
        world * self.k + index
    }
}

impl<T: Scalar> Chunk<T> {
    /// Makes the buffers of `n_world` worlds; their state is to be written before the first step.
    pub(crate) fn new(
        shared: Arc<Shared<T>>,
        buffers: &[SetBuffers],
        islands: IslandBuffers,
        (columns, rows, left): (&Arc<Columns>, RowBuffers, LeftBuffers),
        store: Box<dyn Store<T>>,
        n_world: usize,
        backend: &Backend,
    ) -> Result<Self, Error> {
        let width = store.tile();
        let lane_workspace = !backend.side_by_side();
        let mut sets = Vec::with_capacity(buffers.len());
        for (set, &buffers) in shared.sets.iter().zip(buffers) {
            let k = set.trees.len();
            let mut dims = set.layout.dims;
            dims.lanes = (k * n_world) as u32;
            dims.param_lanes = u32::from(!set.uniform());
            let pgs = PgsParams {
                tolerance: shared.lane_tolerance(set),
                sweeps: shared.kernel_iterations(),
                rows: if lane_workspace { tree::device_rows(set.layout.steady_rows()) } else { tree::CPU_ROWS },
                newton: shared.form.is_some_and(|form| form.lone_trees == LoneTrees::ByLane { newton: true }),
                spread: backend.spread(),
            };
            let sensing = Sensing::new(&set.layout);
            let soft = SoftKernels::new(&shared, set.trees[0], dims.lanes);
            let asked = shared.host.has_islands() || !shared.soft.is_empty();
            let acting = asked && (set.layout.steady_rows() as u32) < dims.n_row;
            let step = SetStep { buffers, dims, pgs, acting, sensing, soft, impulses: buffers.impulses() };
            sets.push(ChunkSet {
                step,
                k,
                poses: Vec::new(),
                speeds: Vec::new(),
                acting: Vec::new(),
                status: Vec::new(),
                touch: Vec::new(),
            });
        }
        let room = match shared.form {
            Some(form) if form.dense && lane_workspace => Room::Device,
            Some(form) if form.dense => Room::of_mirrors::<T>(),
            _ => Room::None,
        };
        let host = HostStage::new(Arc::clone(&shared.host), n_world, width, shared.batch_solver(lane_workspace), room);
        let islands = IslandStep {
            buffers: islands,
            iterations: shared.kernel_iterations(),
            tolerance: shared.tolerance as f32,
            by_solver: shared.host.all_in_islands && shared.solver.model() != ContactModel::Exact,
            impulses: islands.impulses(),
        };
        let recording = Recording::new();
        // What acted on soft bodies is found again from the state that a step began with.
        let before = (!shared.soft.is_empty()).then(Kept::default);
        let mut chunk = Self {
            mocaps: Mocaps::new(&shared.host.mocaps, n_world),
            shared,
            store,
            sets,
            islands,
            host,
            n_world,
            geoms: None,
            before,
            answers: Vec::new(),
            recording,
            stale: true,
            clock: vec![0.0; n_world],
            in_flight: None,
            columns: Arc::clone(columns),
            rows,
            left,
            left_room: 0,
            left_count: 0,
            controls_wait: false,
            copied: Traffic::default(),
            staging: Vec::new(),
            touch_runs: Vec::new(),
        };
        chunk.allocate(lane_workspace)?;
        chunk.upload_columns()?;
        chunk.warm_up()?;
        Ok(chunk)
    }

    /// Fixed buffers; those of contacts grow with them.
    fn allocate(&mut self, lane_workspace: bool) -> Result<(), Error> {
        let width = self.store.tile();
        self.store.resize(self.islands.buffers.unsolved, self.n_world)?;
        if lane_workspace {
            self.store.resize(self.left.worlds, 1 + self.n_world)?;
        }
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
                (b.pull, d.n_pull as usize),
                (b.v_free, n_v),
                (b.velocity, n_v),
                (b.row, set.n_row_real()),
                (b.info, info::reals(n_v)),
                (b.solver_work, if lane_workspace { work_reals(&set.step.pgs) } else { 0 }),
            ] {
                // A device binds no empty buffer.
                self.store.resize(buffer, tile_len(width, lanes, n.max(1)))?;
            }
            if let Some(sensing) = set.step.sensing {
                for (buffer, n) in [
                    (b.reading, sensing.n_reading),
                    (b.given, sensing.n_given),
                    (b.acceleration, if sensing.late { SPATIAL * n_body } else { 0 }),
                    (b.load, sensing.n_load),
                ] {
                    self.store.resize(buffer, tile_len(width, lanes, n.max(1)))?;
                }
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
            if let Some(adhesion) = &self.shared.host.adhesion {
                let items = adhesion.grip_items(index, self.n_world);
                self.store.resize(b.grip_items, items.len().max(1))?;
                self.store.write_index(b.grip_items, 0, &items)?;
                self.store.resize(b.adhesion, tile_len(width, lanes, n_v.max(1)))?;
                self.store.resize(self.islands.buffers.grip, self.n_world * adhesion.len())?;
            }
            if set.step.acting {
                set.acting = vec![0; tile_len(width, lanes, tree_acting::words(d.n_row as usize))];
                self.store.resize(b.acting, set.acting.len())?;
            }
            let padded = tile_len(width, lanes, 1);
            self.store.resize(b.status, padded)?;
            self.store.resize(b.slots, SLOTS * padded / width)?;
            set.status = vec![0; padded];
            set.status[lanes..].fill(status::FROZEN);
            self.store.write_index(b.status, 0, &set.status)?;
            let looked_at = if d.is_soft() { d.n_state() } else { POSE * n_body };
            set.poses = vec![T::default(); tile_len(width, lanes, looked_at)];
            set.speeds = vec![T::default(); tile_len(width, lanes, SPEED * n_body)];
            let tree_set = &self.shared.sets[index];
            self.store.resize(b.topology, tree_set.layout.topology.len().max(1))?;
            self.store.write_index(b.topology, 0, &tree_set.layout.topology)?;
        }
        (0..self.sets.len()).try_for_each(|set| self.write_params(set))?;
        self.allocate_soft()
    }

    /// Poses in the store are no longer those of the state.
    pub(crate) fn mark_stale(&mut self) {
        self.stale = true;
    }

    /// Forgets impulses and status of worlds and appends to the recording what of that kernels do.
    pub(super) fn forget(&mut self, marked: &[bool]) -> Result<(), Error> {
        for world in (0..self.n_world).filter(|&w| marked[w]) {
            self.host.forget(world);
            self.forget_step(world);
            if let Some(Some(answer)) = self.answers.get_mut(world) {
                answer.impulse.clear();
                answer.relaxed.clear();
            }
        }
        for set in &mut self.sets {
            let b = set.step.buffers;
            let lanes = set.step.dims.lanes as usize;
            let n_row = set.n_row_real() as u32;
            let marks: Vec<u32> = (0..lanes).map(|lane| u32::from(marked[lane / set.k])).collect();
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
            let dims = manyworlds_shaders::batch::overwrite::Dims { lanes: lanes as u32, n: n_row };
            self.recording.dispatch(&kernel::batch::OVERWRITE, &dims, lanes as u32, &[b.marked, b.source, b.row]);
        }
        Ok(())
    }

    /// Sizes of every geom of a world, where the worlds have their own; else none.
    pub(super) fn sizes(&self, world: usize) -> Vec<[f64; 3]> {
        self.geoms.as_ref().map_or_else(Vec::new, |geoms| geoms.of(world).sizes.to_vec())
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
