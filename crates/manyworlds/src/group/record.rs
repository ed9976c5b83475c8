//! A step of a chunk as a recording: reads top to bottom as the algorithm.

use manyworlds_contact::solve::{BatchSolver, IslandSolve, SetSolve, SolveBuffers};
use manyworlds_contact::tree::{self, PgsParams, TreeContactBuffers};
use manyworlds_dynamics::TreeLayout;
use manyworlds_gpu::{BufferId, Recording};
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::gradient::{answer, back, mobility, sides, system};
use manyworlds_shaders::contact::island::IslandDims;
use manyworlds_shaders::contact::{island_assemble, warm_move};
use manyworlds_shaders::dynamics::load;
use manyworlds_shaders::dynamics::sensors::{SensorDims, sensor};
use manyworlds_shaders::dynamics::tree::{TreeDims, TreeOnly, integrator};
use manyworlds_shaders::kernel;

use super::buffers::{IslandBuffers, SetBuffers, Turns};
use super::soft::SoftKernels;
use crate::host::{IslandPack, SetPart};

/// Newton steps for the free velocity where forces are those of a later state, from the linearly implicit step. Each gains
/// a factor of about `h omega`, the angle turned in a step: what they leave out are the derivatives of Coriolis forces and of
/// the inertia.
const NEWTON_ROUNDS: usize = 6;

/// What the sensors of a tree set need.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sensing {
    /// Where their records begin in the topology.
    pub(crate) at: u32,
    /// Reals of a lane's readings.
    pub(crate) n_reading: usize,
    /// Reals of a lane that the host knows.
    pub(crate) n_given: usize,
    /// Reals of a lane's loads; 0: contacts do not matter.
    pub(crate) n_load: usize,
    /// Some show what the step does.
    pub(crate) late: bool,
    /// Some show forces of limits.
    pub(crate) bounds: bool,
}

impl Sensing {
    pub(crate) fn new(layout: &TreeLayout) -> Option<Self> {
        let (sensors, at) = (layout.sensors()?, layout.sensor_at?);
        let header = &sensors.header;
        let [n_reading, n_given, n_load] = [header.n_reading, header.n_given, header.n_load].map(|n| n as usize);
        Some(Self {
            at,
            n_reading,
            n_given,
            n_load,
            late: sensors.records.iter().any(|record| record.kind >= sensor::LATE),
            bounds: sensors.records.iter().any(|record| record.kind == sensor::BOUND),
        })
    }
}

/// One tree set of a chunk, as far as the recording needs to know it.
pub(crate) struct SetStep {
    pub(crate) buffers: SetBuffers,
    pub(crate) dims: TreeDims,
    pub(crate) pgs: PgsParams,
    /// Whether the host is told which static rows can act.
    pub(crate) acting: bool,
    /// What its sensors need, where it has any.
    pub(crate) sensing: Option<Sensing>,
    /// A soft body that kernels step.
    pub(super) soft: Option<SoftKernels>,
    /// Impulses.
    pub(crate) impulses: Turns,
}

impl SetStep {
    fn tree(&self) -> TreeOnly {
        TreeOnly { tree: self.dims }
    }

    pub(super) fn params(&self) -> BufferId {
        if self.dims.param_lanes == 1 { self.buffers.lane_params } else { self.buffers.params }
    }

    /// State to what the host looks at: body poses and speeds, which static rows can act; to dof motions and lengths of paths. Of a soft
    /// body that is the state itself.
    pub(crate) fn kinematics(&self, recording: &mut Recording) {
        if self.dims.is_soft() {
            return;
        }
        let (b, dims, lanes, params) = (&self.buffers, &self.tree(), self.dims.lanes, self.params());
        use kernel::contact::TREE_ACTING;
        use kernel::dynamics::{KINEMATICS, PATH, SPEED};
        recording.dispatch(&KINEMATICS, dims, lanes, &[b.topology, params, b.state, b.pose, b.motion]).dispatch(
            &SPEED,
            dims,
            lanes,
            &[b.topology, params, b.state, b.pose, b.motion, b.speed],
        );
        if self.dims.n_path > 0 {
            recording.dispatch(&PATH, dims, lanes, &[b.topology, params, b.state, b.pose, b.motion, b.pull]);
        }
        if self.acting {
            recording.dispatch(&TREE_ACTING, dims, lanes, &[b.topology, params, b.state, b.pull, b.acting]);
        }
    }

    /// Whether the balance of momentum is taken at a stage of the step.
    pub(crate) fn has_stage(&self) -> bool {
        self.dims.integrator != integrator::LINEARLY_IMPLICIT
    }

    /// Forces of actuators that make bodies adhere.
    pub(crate) fn grip(&self, grip: BufferId, recording: &mut Recording) {
        if self.dims.is_soft() {
            return;
        }
        let b = &self.buffers;
        let buffers = [b.topology, self.params(), b.state, b.grip_items, grip];
        recording.dispatch(&kernel::dynamics::GRIP, &self.tree(), self.dims.lanes, &buffers);
    }

    /// Poses and state to the free velocity; `grip`: forces with which bodies adhere. A soft body's is that of its step: see
    /// [`SoftKernels`].
    pub(crate) fn dynamics(&self, grip: Option<BufferId>, recording: &mut Recording) {
        if self.dims.is_soft() {
            return;
        }
        let (b, dims, lanes, params) = (&self.buffers, &self.tree(), self.dims.lanes, self.params());
        use kernel::dynamics::{ADHERE, APPLIED, BALANCE, BIAS, FACTOR, INERTIA, KINEMATICS, MOMENTUM, STAGE};
        // Nothing reads the momentum matrix before it is written, and nothing the scratch afterwards.
        let work = b.momentum;
        recording
            .dispatch(&BIAS, dims, lanes, &[b.topology, params, b.state, b.pose, b.motion, b.twist, work, b.bias])
            .dispatch(&INERTIA, dims, lanes, &[b.topology, params, b.motion, work, b.mass]);
        self.sense(recording);
        let factor = |recording: &mut Recording| {
            let buffers = [b.topology, params, b.momentum, b.b, b.factor, b.v_free, b.velocity, b.status];
            recording.dispatch(&FACTOR, dims, lanes, &buffers);
        };
        let stage = |recording: &mut Recording| {
            recording.dispatch(&STAGE, dims, lanes, &[b.topology, params, b.state, b.v_free, b.stage]);
        };
        let balance = |recording: &mut Recording| {
            let buffers = [b.topology, params, b.state, b.stage, b.mass, b.bias, b.momentum, b.b];
            recording.dispatch(&BALANCE, dims, lanes, &buffers);
            factor(recording);
        };
        if self.dims.integrator == integrator::SYMPLECTIC_EULER {
            stage(recording);
            balance(recording);
            return;
        }
        recording.dispatch(&MOMENTUM, dims, lanes, &[b.topology, params, b.state, b.mass, b.bias, b.momentum, b.b]);
        if self.dims.n_force > 0 {
            let buffers = [b.topology, params, b.state, b.pose, b.motion, b.pull, b.momentum, b.b];
            recording.dispatch(&APPLIED, dims, lanes, &buffers);
        }
        if let Some(grip) = grip {
            let (items, places) = (b.adhere_items, b.adhere_places);
            let buffers = [b.topology, params, b.motion, items, places, grip, b.b, b.adhesion];
            recording.dispatch(&ADHERE, dims, lanes, &buffers);
        }
        factor(recording);
        let rounds = if self.has_stage() { NEWTON_ROUNDS } else { 0 };
        let (pose, motion, twist) = (b.stage_pose, b.stage_motion, b.stage_twist);
        for _ in 0..rounds {
            stage(recording);
            recording
                .dispatch(&KINEMATICS, dims, lanes, &[b.topology, params, b.stage, pose, motion])
                .dispatch(&BIAS, dims, lanes, &[b.topology, params, b.stage, pose, motion, twist, work, b.bias])
                .dispatch(&INERTIA, dims, lanes, &[b.topology, params, motion, work, b.mass]);
            balance(recording);
        }
    }

    /// What the contact kernels bind.
    fn contact_buffers(&self) -> TreeContactBuffers {
        let b = &self.buffers;
        let Turns { before: impulse_before, now: impulse } = self.impulses;
        TreeContactBuffers {
            topology: b.topology,
            params: self.params(),
            state: b.state,
            pose: b.pose,
            motion: b.motion,
            factor: b.factor,
            pull: b.pull,
            b: b.b,
            contact: b.contact,
            contact_map: b.contact_map,
            slots: b.slots,
            constraint: b.constraint,
            row: b.row,
            impulse_before,
            impulse,
            velocity: b.velocity,
            info: b.info,
            status: b.status,
            work: b.solver_work,
        }
    }

    /// Contacts and rows of trees that are islands by themselves: free velocity to velocity and impulses. `moves`: the
    /// impulses that come back from islands of several trees. No lane has more than `most_slots` slots. Without `by_kernels`
    /// the host solves them.
    pub(crate) fn contact(
        &self,
        by_kernels: bool,
        most_slots: u32,
        recording: &mut Recording,
        moves: impl FnOnce(&mut Recording),
    ) {
        if self.dims.is_soft() {
            return;
        }
        let b = self.contact_buffers();
        tree::record_assembly(recording, &self.pgs, &self.dims, &b);
        moves(recording);
        if by_kernels {
            tree::record_solution(recording, &self.pgs, &self.dims, most_slots, &b);
            tree::record_certificate(recording, &self.pgs, &self.dims, &b);
        }
    }

    /// How good the impulses are.
    pub(crate) fn certify(&self, recording: &mut Recording) {
        if self.dims.is_soft() {
            return;
        }
        tree::record_certificate(recording, &self.pgs, &self.dims, &self.contact_buffers());
    }

    /// The states before the last step to frames and motions of then.
    pub(crate) fn kinematics_before(&self, recording: &mut Recording) {
        let b = &self.buffers;
        recording.dispatch(
            &kernel::dynamics::KINEMATICS,
            &self.tree(),
            self.dims.lanes,
            &[b.topology, self.params(), b.before, b.before_pose, b.before_motion],
        );
    }

    /// The last step of trees that are islands by themselves, linearised as `contact/gradient` says; `touch` and `places` are
    /// there. A step is over: what were impulses of the step before are those of the last one's start. `whole`: for the Jacobian.
    pub(crate) fn linearise(&self, closed: f64, smallest: f64, whole: bool, recording: &mut Recording) {
        use kernel::contact as k;
        use kernel::dynamics::DERIVATIVES_EFFORT;
        let (b, tree, params) = (&self.buffers, &self.tree(), self.params());
        let (dims, lanes, topology) = (&self.dims, self.dims.lanes, self.buffers.topology);
        let impulse = self.impulses.now;
        let gaps = sides::Dims { tree: *dims, closed: (closed as f32).to_bits() };
        let sizes = system::Dims {
            lanes,
            n_v: dims.n_v,
            n_input: dims.n_input(),
            n_row: dims.n_row,
            smallest: (smallest as f32).to_bits(),
            whole: u32::from(whole),
        };
        let motion = b.before_motion;
        recording
            .dispatch(
                &k::GRADIENT_ACTING,
                tree,
                lanes,
                &[topology, params, motion, b.velocity, b.places, b.touch, impulse, b.act],
            )
            .dispatch(
                &DERIVATIVES_EFFORT,
                tree,
                lanes,
                &[topology, params, b.before, b.mass, b.act, b.slope_work, b.slope],
            )
            .dispatch(&k::GRADIENT_SIDES, &gaps, lanes, &[topology, params, b.places, impulse, b.touch, b.act, b.side])
            .dispatch(&k::GRADIENT_SHIFTS, tree, lanes, &[topology, params, b.places, motion, b.act, b.side, b.shift])
            .dispatch(
                &k::GRADIENT_ROW_SHIFTS,
                &gaps,
                lanes,
                &[topology, params, b.before, b.row, b.velocity, b.places, b.shift, b.slope],
            )
            .dispatch(
                &k::GRADIENT_SYSTEM,
                &sizes,
                lanes,
                &[b.places, b.constraint, b.row, impulse, b.velocity, b.shift, b.system],
            );
    }

    /// What it says of the Jacobian.
    pub(crate) fn answer(&self, recording: &mut Recording) {
        use kernel::contact::{GRADIENT_ANSWER, GRADIENT_MOBILITY, GRADIENT_WRENCHES};
        use kernel::dynamics::DERIVATIVES_FORCE;
        let (b, tree, params) = (&self.buffers, &self.tree(), self.params());
        recording
            .dispatch(
                &DERIVATIVES_FORCE,
                tree,
                self.dims.lanes,
                &[b.topology, params, b.before, b.before_pose, b.before_motion, b.act, b.slope_work, b.slope],
            )
            .dispatch(
                &GRADIENT_WRENCHES,
                tree,
                self.dims.lanes,
                &[b.topology, params, b.places, b.before_motion, b.side, b.act, b.slope],
            )
            .dispatch(
                &GRADIENT_MOBILITY,
                tree,
                mobility::items(&self.dims),
                &[b.topology, params, b.factor, b.places, b.system, b.mobility],
            )
            .dispatch(
                &GRADIENT_ANSWER,
                tree,
                answer::items(&self.dims),
                &[b.topology, params, b.slope, b.mobility, b.places, b.system, b.answer],
            )
            .read(b.mobility)
            .read(b.answer);
    }

    /// What it says of a product with the transpose.
    pub(crate) fn back(&self, recording: &mut Recording) {
        use kernel::contact::{GRADIENT_ADJOINT, GRADIENT_BACK, GRADIENT_FOLLOW, GRADIENT_MOMENTUM};
        let (b, tree, params) = (&self.buffers, &self.tree(), self.params());
        recording
            .dispatch(
                &GRADIENT_ADJOINT,
                tree,
                self.dims.lanes,
                &[b.topology, params, b.factor, b.places, b.constraint, b.row, b.system, b.adjoint],
            )
            .dispatch(
                &GRADIENT_FOLLOW,
                tree,
                self.dims.lanes,
                &[b.topology, params, b.places, b.before_motion, b.side, b.act, b.adjoint],
            )
            .dispatch(
                &GRADIENT_MOMENTUM,
                tree,
                self.dims.lanes,
                &[b.topology, params, b.before, b.before_pose, b.before_motion, b.act, b.slope_work, b.adjoint],
            )
            .dispatch(
                &GRADIENT_BACK,
                tree,
                back::items(&self.dims),
                &[b.topology, params, b.slope, b.places, b.row, b.shift, b.system, b.adjoint],
            )
            .read(b.adjoint);
    }

    /// Sensors that show the state.
    fn sense(&self, recording: &mut Recording) {
        let Some(sensing) = self.sensing else { return };
        let b = &self.buffers;
        let dims = SensorDims { tree: self.dims, sensor_at: sensing.at };
        let buffers = [b.topology, self.params(), b.state, b.pose, b.twist, b.pull, b.given, b.reading];
        recording.dispatch(&kernel::dynamics::SENSE, &dims, self.dims.lanes, &buffers);
    }

    /// Sensors that show what the step does, of lanes that are about to move. `islands`: impulses of islands.
    pub(crate) fn feel(&self, islands: BufferId, recording: &mut Recording) {
        use kernel::dynamics::{ACCELERATE, BOUND, FEEL, LOAD};
        let Some(sensing) = self.sensing.filter(|sensing| sensing.late) else { return };
        let (b, lanes, params) = (&self.buffers, self.dims.lanes, self.params());
        if sensing.n_load > 0 {
            let dims = load::Dims { tree: self.dims, n_load: sensing.n_load as u32 };
            let (items, places) = (b.load_items, b.load_places);
            let buffers = [b.topology, params, b.pose, items, places, self.impulses.now, islands, b.load];
            recording.dispatch(&LOAD, &dims, lanes, &buffers);
        }
        let dims = SensorDims { tree: self.dims, sensor_at: sensing.at };
        let buffers = [b.topology, params, b.state, b.motion, b.twist, b.velocity, b.acceleration];
        recording.dispatch(&ACCELERATE, &self.tree(), lanes, &buffers);
        if sensing.bounds {
            recording.dispatch(&BOUND, &dims, lanes, &[b.topology, params, b.row, b.reading, b.status]);
        }
        let buffers = [b.topology, params, b.pose, b.twist, b.acceleration, b.load, b.reading, b.status];
        recording.dispatch(&FEEL, &dims, lanes, &buffers);
    }

    /// Velocity and activations into the state.
    pub(crate) fn integrate(&self, recording: &mut Recording) {
        let b = &self.buffers;
        recording.dispatch(
            &kernel::dynamics::INTEGRATE,
            &self.tree(),
            self.dims.lanes,
            &[b.topology, self.params(), b.velocity, b.state, b.status],
        );
        if self.dims.n_act > 0 {
            let buffers = [b.topology, self.params(), b.state, b.status];
            recording.dispatch(&kernel::dynamics::ACTIVATE, &self.tree(), self.dims.lanes, &buffers);
        }
    }
}

/// The islands of several trees of a chunk, as far as the recording needs to know them.
pub(crate) struct IslandStep {
    pub(crate) buffers: IslandBuffers,
    /// Most iterations of a solve.
    pub(crate) iterations: u32,
    /// Residual (number 1) at which an island is solved, N s.
    pub(crate) tolerance: f32,
    /// Whether the solver itself says what is solved: one of other contact than the residuals'.
    pub(crate) by_solver: bool,
    /// Impulses.
    pub(crate) impulses: Turns,
}

impl IslandStep {
    /// Impulses of the step before that trees of a set take over from islands they are in no longer.
    pub(crate) fn to_trees(&self, set: &SetStep, part: &SetPart, tile: u32, recording: &mut Recording) {
        self.take(part.to_trees, [self.impulses.before, set.impulses.now], [1, tile], recording);
    }

    /// Impulses of the step before that islands take over from trees of a set.
    fn to_islands(&self, set: &SetStep, part: &SetPart, tile: u32, recording: &mut Recording) {
        self.take(part.to_islands, [set.impulses.before, self.impulses.now], [tile, 1], recording);
    }

    fn take(
        &self,
        [items_at, n_items]: [u32; 2],
        [from, to]: [BufferId; 2],
        [stride_in, stride_out]: [u32; 2],
        recording: &mut Recording,
    ) {
        if n_items > 0 {
            let dims = warm_move::Dims { n_items, items_at, stride_in, stride_out };
            recording.dispatch(&kernel::contact::WARM_MOVE, &dims, n_items, &[self.buffers.moves, from, to]);
        }
    }

    /// From the free velocities of all sets to the velocities of their trees that are in islands; what the tree kernels
    /// made of those is overwritten.
    pub(crate) fn record<T: Scalar>(
        &self,
        sets: &[impl AsRef<SetStep>],
        pack: &IslandPack<T>,
        solver: Option<&dyn BatchSolver>,
        tile: u32,
        recording: &mut Recording,
    ) {
        use kernel::contact::{ISLAND_ASSEMBLE, ISLAND_FINISH, ISLAND_GATHER, ISLAND_ROWS, ISLAND_SCATTER};
        let b = &self.buffers;
        let Turns { before, now: impulse } = self.impulses;
        let parts = || sets.iter().map(AsRef::as_ref).zip(&pack.sets).filter(|(_, part)| part.dims.n_trees > 0);
        for (set, part) in parts() {
            let (s, dims) = (&set.buffers, &part.dims);
            recording.dispatch(&ISLAND_GATHER, dims, dims.n_trees, &[b.index, s.state, s.v_free, b.velocity]);
            if part.n_items > 0 {
                let assemble = island_assemble::Dims { tree: set.dims, n_items: part.n_items, items_at: part.items_at };
                recording.dispatch(
                    &ISLAND_ASSEMBLE,
                    &assemble,
                    part.n_items,
                    &[s.topology, set.params(), s.pose, s.motion, s.factor, b.index, b.contact, b.jac],
                );
            }
            if dims.n_rows > 0 {
                recording.dispatch(&ISLAND_ROWS, dims, dims.n_rows, &[s.row, b.index, b.jac, b.con]);
            }
        }
        let dims = self.dims(pack);
        recording.dispatch(
            &ISLAND_FINISH,
            &dims,
            dims.n_constraints,
            &[b.index, b.contact, b.jac, before, b.velocity, b.con, impulse],
        );
        for (set, part) in parts() {
            self.to_islands(set, part, tile, recording);
        }
        let Some(solver) = solver else { return };
        let set = |number: usize| {
            let step: &SetStep = sets[number].as_ref();
            SetSolve { dims: pack.sets[number].dims, n_m: step.dims.n_m, momentum: step.buffers.momentum }
        };
        let buffers = SolveBuffers {
            index: b.index,
            contact: b.contact,
            jac: b.jac,
            con: b.con,
            impulse,
            velocity: b.velocity,
            info: b.info,
            words: b.solver_words,
            reals: b.solver_reals,
            work: b.work,
        };
        solver.record(&IslandSolve { dims, buffers, set: &set, workspaces: &pack.workspaces }, recording);
        for (set, part) in parts() {
            let (s, dims) = (&set.buffers, &part.dims);
            let count = dims.n_trees.max(dims.n_rows);
            recording.dispatch(&ISLAND_SCATTER, dims, count, &[b.index, b.velocity, impulse, s.velocity, s.row]);
        }
        self.certify(pack, recording);
    }

    /// How good the impulses are.
    pub(crate) fn certify<T: Scalar>(&self, pack: &IslandPack<T>, recording: &mut Recording) {
        if pack.is_empty() {
            return;
        }
        let (b, dims) = (&self.buffers, self.dims(pack));
        recording.dispatch(
            &kernel::contact::ISLAND_CERTIFY,
            &dims,
            dims.n_islands,
            &[b.index, b.contact, b.jac, b.con, self.impulses.now, b.velocity, b.info, b.status],
        );
    }

    /// Sizes and what a solve is to reach.
    fn dims<T: Scalar>(&self, pack: &IslandPack<T>) -> IslandDims {
        IslandDims {
            iterations: self.iterations,
            tolerance: self.tolerance.to_bits(),
            // What a batch promises is residual number 1; in f32 heavy bodies cannot reach it, and there the scaled one
            // counts as well.
            tolerance_scaled: if size_of::<T>() == 4 { self.tolerance } else { 0.0 }.to_bits(),
            by_solver: u32::from(self.by_solver),
            ..pack.dims
        }
    }
}
