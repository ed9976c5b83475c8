//! A step of a chunk as a recording: reads top to bottom as the algorithm.

use manyworlds_gpu::Recording;
use manyworlds_shaders::contact::tree_layout::LaneDims;
use manyworlds_shaders::dynamics::tree::{TreeDims, TreeOnly};
use manyworlds_shaders::kernel;

use super::buffers::SetBuffers;

/// One tree set of a chunk, as far as the recording needs to know it.
pub(crate) struct SetStep {
    pub(crate) buffers: SetBuffers,
    pub(crate) dims: TreeDims,
    pub(crate) contact: LaneDims,
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
            .dispatch(&TREE_WARM, lane, lanes, &[b.slots, b.contact_map, before, impulse])
            .dispatch(
                &TREE_PGS,
                lane,
                lanes,
                &[b.slots, b.constraint, b.row, impulse, b.velocity, b.info, b.status, b.solver_work],
            )
            .dispatch(&TREE_PUSH, lane, lanes, &[b.slots, b.b, b.constraint, impulse, b.row, b.info])
            .dispatch(
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
