// What every tree kernel reads: the twin of tree.rs.
#import index
#import dynamics/names.rs

// A kernel that imports this binds topology at 1 and params at 2, and declares at 0
// `var<uniform> dims: Dims` whose first member is `tree: TreeDims`.

// First activation in a lane of `state`.
fn act_at() -> u32 {
    return dims.tree.n_q + 2u * dims.tree.n_v + dims.tree.n_u;
}

// Reals of a lane of `state`.
fn n_state() -> u32 {
    return act_at() + dims.tree.n_act;
}

// Controls and, behind them, activations.
fn n_input() -> u32 {
    return dims.tree.n_u + dims.tree.n_act;
}

// Weight of the new state in forces.
fn integrator_theta(integrator: u32) -> real {
    let old = select(real(1.0), real(0.0), integrator == INTEGRATOR_SYMPLECTIC_EULER);
    return select(old, real(0.5), integrator == INTEGRATOR_MIDPOINT);
}

// Weight of the new velocity in the positions' rate.
fn integrator_theta_vq(integrator: u32) -> real {
    return select(real(1.0), real(0.5), integrator == INTEGRATOR_MIDPOINT);
}

@group(0) @binding(1) var<storage, read> topology: array<u32>;
@group(0) @binding(2) var<storage, read> params: array<real>;

// Where a lane's parameters begin, and how far apart they are.
fn param_base(lane: u32) -> u32 {
    return select(0u, tile_base(lane, dims.tree.n_param), dims.tree.param_lanes == 1u);
}

fn param_at(base: u32, index: u32) -> real {
    return params[base + index * select(1u, TILE, dims.tree.param_lanes == 1u)];
}

fn param_at3(base: u32, index: u32) -> vec3<real> {
    return vec3<real>(param_at(base, index), param_at(base, index + 1u), param_at(base, index + 2u));
}

fn param_at4(base: u32, index: u32) -> vec4<real> {
    return vec4<real>(
        param_at(base, index),
        param_at(base, index + 1u),
        param_at(base, index + 2u),
        param_at(base, index + 3u),
    );
}

fn body_param(body: u32) -> u32 {
    return PARAM_HEADER + body * PARAM_BODY;
}

fn joint_param(joint: u32) -> u32 {
    return dims.tree.joint_param + joint * PARAM_JOINT;
}

fn actuator_param(actuator: u32) -> u32 {
    return dims.tree.actuator_param + actuator * PARAM_ACTUATOR;
}

fn body_record(i: u32) -> BodyRecord {
    let at = i * BODY_RECORD_SIZE;
    return BodyRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
        topology[at + 6u],
    );
}

// Number of dofs of a joint of a kind.
fn dof_count(kind: u32) -> u32 {
    if kind == JOINT_FREE {
        return 6u;
    }
    return select(1u, 3u, kind == JOINT_BALL);
}

fn joint_record(i: u32) -> JointRecord {
    let at = dims.tree.joint_at + i * JOINT_RECORD_SIZE;
    return JointRecord(topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u]);
}

fn dof_record(i: u32) -> DofRecord {
    let at = dims.tree.dof_at + i * DOF_RECORD_SIZE;
    return DofRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
    );
}

fn dof_parent(i: u32) -> u32 {
    return topology[dims.tree.dof_at + i * DOF_RECORD_SIZE + DOF_RECORD_PARENT];
}

fn actuator_at() -> u32 {
    return dims.tree.dof_at + dims.tree.n_v * DOF_RECORD_SIZE;
}

fn actuator_record(i: u32) -> ActuatorRecord {
    let at = actuator_at() + i * ACTUATOR_RECORD_SIZE;
    return ActuatorRecord(topology[at], topology[at + 1u]);
}

fn row_record(i: u32) -> RowRecord {
    let at = dims.tree.row_at + i * ROW_RECORD_SIZE;
    return RowRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
        topology[at + 6u],
    );
}

// One of the dofs of a row.
fn row_record_dof(row: RowRecord, k: u32) -> u32 {
    return topology[row.dof_at + k];
}

fn block_record(i: u32) -> BlockRecord {
    let at = actuator_at() + dims.tree.n_u * ACTUATOR_RECORD_SIZE + i * BLOCK_RECORD_SIZE;
    return BlockRecord(topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u]);
}

// 1 where a dof moves a body, else 0.
fn moves(dof: DofRecord, body: u32) -> real {
    return select(real(0.0), real(1.0), dof.body <= body && body < dof.subtree_end);
}
