//! A step of a chunk as a recording: reads top to bottom as the algorithm.

use manyworlds_gpu::Recording;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::island::IslandDims;
use manyworlds_shaders::contact::tree_layout::LaneDims;
use manyworlds_shaders::contact::{island_assemble, island_pgs};
use manyworlds_shaders::dynamics::tree::{TreeDims, TreeOnly};
use manyworlds_shaders::kernel;

use super::buffers::{IslandBuffers, SetBuffers};
use super::chunk::ChunkSet;
use crate::host::IslandPack;

/// One tree set of a chunk, as far as the recording needs to know it.
pub(crate) struct SetStep {
    pub(crate) buffers: SetBuffers,
    pub(crate) dims: TreeDims,
    pub(crate) contact: LaneDims,
    /// Whether a solve is spread over dispatches of one round each.
    pub(crate) spread: bool,
    /// Which of the two impulse buffers holds the step before.
    pub(crate) odd: bool,
}

impl SetStep {
    fn tree(&self) -> TreeOnly {
        TreeOnly { tree: self.dims }
    }

    fn params(&self) -> manyworlds_gpu::BufferId {
        if self.dims.param_lanes == 1 { self.buffers.lane_params } else { self.buffers.params }
    }

    /// State to body poses and dof motions.
    pub(crate) fn kinematics(&self, recording: &mut Recording) {
        let b = &self.buffers;
        recording.dispatch(
            &kernel::dynamics::KINEMATICS,
            &self.tree(),
            self.dims.lanes,
            &[b.topology, self.params(), b.state, b.pose, b.motion],
        );
    }

    /// Poses and state to the free velocity.
    pub(crate) fn dynamics(&self, recording: &mut Recording) {
        let (b, dims, lanes, params) = (&self.buffers, &self.tree(), self.dims.lanes, self.params());
        use kernel::dynamics::{BIAS, FACTOR, INERTIA, MOMENTUM};
        recording
            .dispatch(&BIAS, dims, lanes, &[b.topology, params, b.state, b.pose, b.motion, b.twist, b.work, b.bias])
            .dispatch(&INERTIA, dims, lanes, &[b.topology, params, b.motion, b.work, b.mass])
            .dispatch(&MOMENTUM, dims, lanes, &[b.topology, params, b.state, b.mass, b.bias, b.momentum, b.b])
            .dispatch(
                &FACTOR,
                dims,
                lanes,
                &[b.topology, params, b.momentum, b.b, b.factor, b.v_free, b.velocity, b.status],
            );
    }

    /// Contacts and rows of trees that are islands by themselves: free velocity to velocity and impulses.
    pub(crate) fn contact(&self, recording: &mut Recording) {
        let (b, lanes, params) = (&self.buffers, self.dims.lanes, self.params());
        let (tree, lane) = (&self.tree(), &self.contact);
        let [before, impulse] = b.impulses(self.odd);
        use kernel::contact::{TREE_ASSEMBLE, TREE_CERTIFY, TREE_JACOBIAN, TREE_PGS, TREE_PUSH, TREE_ROWS, TREE_WARM};
        recording
            .dispatch(
                &TREE_JACOBIAN,
                tree,
                lanes,
                &[b.topology, params, b.pose, b.motion, b.contact, b.contact_map, b.slots, b.constraint],
            )
            .dispatch(&TREE_ASSEMBLE, tree, lanes, &[b.topology, params, b.factor, b.state, b.slots, b.constraint])
            .dispatch(&TREE_ROWS, tree, lanes, &[b.topology, params, b.state, b.factor, b.row])
            .dispatch(&TREE_WARM, lane, lanes, &[b.slots, b.contact_map, before, impulse]);
        let length = if self.spread { 1 } else { lane.sweeps.max(1) };
        for begin in (0..lane.sweeps.max(1)).step_by(length as usize) {
            recording.dispatch(
                &TREE_PGS,
                &LaneDims { begin, end: lane.sweeps.min(begin + length), ..*lane },
                lanes,
                &[b.slots, b.constraint, b.row, impulse, b.velocity, b.info, b.status, b.solver_work],
            );
        }
        recording.dispatch(&TREE_PUSH, lane, lanes, &[b.slots, b.b, b.constraint, impulse, b.row, b.info]).dispatch(
            &TREE_CERTIFY,
            tree,
            lanes,
            &[b.topology, params, b.slots, b.factor, b.constraint, impulse, b.row, b.info],
        );
    }

    /// Velocity into the state.
    pub(crate) fn integrate(&self, recording: &mut Recording) {
        let b = &self.buffers;
        recording.dispatch(
            &kernel::dynamics::INTEGRATE,
            &self.tree(),
            self.dims.lanes,
            &[b.topology, self.params(), b.velocity, b.state, b.status],
        );
    }
}

/// The islands of several trees of a chunk, as far as the recording needs to know them.
pub(crate) struct IslandStep {
    pub(crate) buffers: IslandBuffers,
    /// Most sweeps of a solve.
    pub(crate) iterations: u32,
    /// Residual (number 1) at which an island is solved, N s.
    pub(crate) tolerance: f32,
    /// Which of the two impulse buffers holds the step before.
    pub(crate) odd: bool,
}

impl IslandStep {
    /// From the free velocities of all sets to the velocities of their trees that are in islands; what the tree kernels
    /// made of those is overwritten.
    pub(crate) fn record<T: Scalar>(&self, sets: &[ChunkSet<T>], pack: &IslandPack<T>, recording: &mut Recording) {
        use kernel::contact::{
            ISLAND_ASSEMBLE, ISLAND_CERTIFY, ISLAND_FINISH, ISLAND_GATHER, ISLAND_PGS, ISLAND_ROWS, ISLAND_SCATTER,
        };
        let b = &self.buffers;
        let [before, impulse] = b.impulses(self.odd);
        let parts = || sets.iter().map(|set| &set.step).zip(&pack.sets).filter(|(_, part)| part.dims.n_trees > 0);
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
                recording.dispatch(&ISLAND_ROWS, dims, dims.n_rows, &[s.topology, s.row, b.index, b.jac, b.con]);
            }
        }
        let dims = &IslandDims {
            iterations: self.iterations,
            tolerance: self.tolerance.to_bits(),
            // An exact zero only: what a batch promises is residual number 1.
            tolerance_scaled: 0f32.to_bits(),
            ..pack.dims
        };
        recording.dispatch(
            &ISLAND_FINISH,
            dims,
            dims.n_constraints,
            &[b.index, b.contact, b.jac, before, b.velocity, b.con, impulse],
        );
        for done in (0..self.iterations).step_by(island_pgs::SWEEPS as usize) {
            let iterations = self.iterations.min(done + island_pgs::SWEEPS);
            recording.dispatch(
                &ISLAND_PGS,
                &IslandDims { iterations, done, ..*dims },
                dims.n_islands,
                &[b.index, b.jac, b.con, impulse, b.velocity, b.info],
            );
        }
        for (set, part) in parts() {
            let (s, dims) = (&set.buffers, &part.dims);
            let count = dims.n_trees.max(dims.n_rows);
            recording.dispatch(&ISLAND_SCATTER, dims, count, &[b.index, b.velocity, impulse, s.velocity, s.row]);
        }
        recording.dispatch(
            &ISLAND_CERTIFY,
            dims,
            dims.n_islands,
            &[b.index, b.contact, b.jac, b.con, impulse, b.velocity, b.info, b.status],
        );
    }
}
