//! The dispatches of the tree path, in order.

use manyworlds_gpu::{BufferId, Recording};
use manyworlds_shaders::contact::LOOPS;
use manyworlds_shaders::contact::tree_layout::{LaneDims, phase, work_reals as lane_reals};
use manyworlds_shaders::dynamics::tree::{TreeDims, TreeOnly};
use manyworlds_shaders::kernel::contact::{
    TREE_ASSEMBLE, TREE_CERTIFY, TREE_GROUP, TREE_JACOBIAN, TREE_PGS, TREE_PUSH, TREE_ROWS, TREE_WARM,
};

use super::{PgsParams, Spread};

/// Invocations at least that share the lanes of a solve.
const FEWEST: u32 = 32;

/// Rounds through its loops that an invocation makes for one round of a lane, at most.
fn loops(params: &PgsParams, tree: &TreeDims, most_slots: u32) -> u32 {
    let n = 3 * most_slots + tree.n_row;
    if n > params.rows {
        // Swept on the velocity.
        return 4 * (most_slots + tree.n_row) * tree.n_v.max(1);
    }
    // Elimination, in blocks of four; what goes through the matrix once, with six sweeps where a lane begins anew; what
    // goes through the rows.
    let blocks = n.div_ceil(4);
    blocks.pow(3) / 2 + 4 * blocks.pow(2) + 4 * (most_slots + tree.n_row) * blocks + 8 * n + 1
}

/// What the kernels bind. Sizes are reals a lane in tile layout, unless said otherwise; n slots are all slots of all
/// tiles ([`manyworlds_shaders::contact::tree_layout`]).
#[derive(Debug, Clone, Copy)]
pub struct TreeContactBuffers {
    /// Structure of the tree.
    pub topology: BufferId,
    /// Its parameters, shared or a set a lane.
    pub params: BufferId,
    /// q, v, ctrl, tau.
    pub state: BufferId,
    /// Body poses.
    pub pose: BufferId,
    /// Motions of the dofs.
    pub motion: BufferId,
    /// Factor of the momentum matrix.
    pub factor: BufferId,
    /// Lengths of paths and their moment arms.
    pub pull: BufferId,
    /// Right-hand side, `[n_v]`.
    pub b: BufferId,
    /// Contact records, tile-ragged, 12 a slot.
    pub contact: BufferId,
    /// Words of contacts, tile-ragged, 4 a slot.
    pub contact_map: BufferId,
    /// First slot and number of slots of each tile, in this step and the one before: 4 words a tile.
    pub slots: BufferId,
    /// Laws, J and Y, tile-ragged, `slot_reals(n_v)` a slot.
    pub constraint: BufferId,
    /// Static rows, `n_row * row_stride(n_v, row_width)`; keeps its impulses from step to step.
    pub row: BufferId,
    /// Impulses of the step before, tile-ragged, 3 a slot.
    pub impulse_before: BufferId,
    /// Impulses of this step, tile-ragged, 3 a slot.
    pub impulse: BufferId,
    /// The free velocity; afterwards the velocity at the end of the step, `[n_v]`.
    pub velocity: BufferId,
    /// Certificate, `info::reals(n_v)`.
    pub info: BufferId,
    /// Status words, one a lane, tile layout.
    pub status: BufferId,
    /// Workspace of the solver, [`work_reals`] a lane on a device; the CPU's mirrors bring their own.
    pub work: BufferId,
}

/// Reals a lane of the solver's workspace on a device.
#[must_use]
pub fn work_reals(params: &PgsParams) -> usize {
    lane_reals(params.rows as usize)
}

/// Appends the first half of the contact stage of one tree set, from poses and factor: laws and responses of slots and
/// rows, and the impulses to start from.
pub fn record_assembly(recording: &mut Recording, params: &PgsParams, tree: &TreeDims, b: &TreeContactBuffers) {
    let (whole, lane, lanes) = (TreeOnly { tree: *tree }, params.dims(tree), tree.lanes);
    recording
        .dispatch(
            &TREE_JACOBIAN,
            &whole,
            lanes,
            &[b.topology, b.params, b.pose, b.motion, b.contact, b.contact_map, b.slots, b.constraint],
        )
        .dispatch(&TREE_ASSEMBLE, &whole, lanes, &[b.topology, b.params, b.factor, b.state, b.slots, b.constraint])
        .dispatch(&TREE_WARM, &lane, lanes, &[b.slots, b.contact_map, b.impulse_before, b.impulse])
        .dispatch(&TREE_ROWS, &whole, lanes, &[b.topology, b.params, b.state, b.factor, b.pull, b.row]);
}

/// Appends the second half: from the free velocity to velocity and impulses. No lane has more than
/// `most_slots` slots.
pub fn record_solution(
    recording: &mut Recording,
    params: &PgsParams,
    tree: &TreeDims,
    most_slots: u32,
    b: &TreeContactBuffers,
) {
    let (lane, lanes) = (params.dims(tree), tree.lanes);
    let buffers = [b.slots, b.constraint, b.row, b.impulse, b.velocity, b.info, b.status, b.work];
    let mut solve = |dims: LaneDims, count: u32| {
        recording.dispatch(&TREE_PGS, &dims, count, &buffers);
    };
    match params.spread {
        Spread::Mirror => solve(lane, lanes),
        Spread::Workgroups => {
            recording.dispatch(&TREE_GROUP, &lane, lanes, &buffers);
        }
        Spread::Invocations { share } => {
            solve(LaneDims { phases: phase::PREPARE, ..lane }, lanes);
            // Whole workgroups, and enough of them for the cores there are.
            let stride = lanes.div_ceil(share).next_multiple_of(FEWEST).min(lanes);
            // Each dispatch has a round for every lane, or several of small problems.
            let each = lanes.div_ceil(stride.max(1));
            let rounds = (LOOPS / (each * loops(params, tree, most_slots))).clamp(1, params.sweeps.max(1));
            let dims = LaneDims { phases: phase::ROUNDS, budget: each * rounds, stride, ..lane };
            (0..params.sweeps.div_ceil(rounds)).for_each(|_| solve(dims, stride));
            solve(LaneDims { phases: phase::FINISH, ..lane }, lanes);
        }
    }
}

/// Appends how good the impulses are.
pub fn record_certificate(recording: &mut Recording, params: &PgsParams, tree: &TreeDims, b: &TreeContactBuffers) {
    let (whole, lane, lanes) = (TreeOnly { tree: *tree }, params.dims(tree), tree.lanes);
    recording.dispatch(&TREE_PUSH, &lane, lanes, &[b.slots, b.b, b.constraint, b.impulse, b.row, b.info]).dispatch(
        &TREE_CERTIFY,
        &whole,
        lanes,
        &[b.topology, b.params, b.slots, b.factor, b.constraint, b.impulse, b.row, b.info],
    );
}
