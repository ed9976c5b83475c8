// What every tree kernel reads: the twin of tree.rs.
#import index

// A kernel that imports this binds topology at 1 and params at 2, and declares at 0
// `var<uniform> dims: Dims` with `struct Dims { tree: TreeDims, ... }`.

const NONE: u32 = 0xffffffffu;

const JOINT_FREE: u32 = 0u;
const JOINT_BALL: u32 = 1u;
const JOINT_HINGE: u32 = 2u;
const JOINT_SLIDE: u32 = 3u;

const DRIVE_IMPLICIT: u32 = 0u;
const DRIVE_ROW: u32 = 1u;
const DRIVE_EXPLICIT: u32 = 2u;

const INTEGRATOR_SYMPLECTIC_EULER: u32 = 1u;
const INTEGRATOR_MIDPOINT: u32 = 3u;

const ROW_LIMIT: u32 = 0u;
const ROW_LIMIT_BALL: u32 = 1u;
const ROW_FRICTION: u32 = 2u;
const ROW_DRIVE: u32 = 3u;
const ROW_COUPLING: u32 = 4u;

const BLOCK_POSITION: u32 = 0u;
const BLOCK_ROTATION: u32 = 1u;

const STATUS_CONVERGED: u32 = 1u;
const STATUS_ITERATION_LIMIT: u32 = 2u;
const STATUS_BREAKDOWN: u32 = 4u;
const STATUS_NON_FINITE: u32 = 8u;
const STATUS_FROZEN: u32 = 16u;
const STATUS_CAPACITY: u32 = 32u;
const STATUS_SHARED: u32 = 64u;
const STATUS_STOPPED: u32 = 24u;
const STATUS_KEPT: u32 = 88u;

const PARAM_TIMESTEP: u32 = 0u;
const PARAM_GRAVITY: u32 = 1u;
const PARAM_CORRECTION_FRACTION: u32 = 4u;
const PARAM_CORRECTION_MAX: u32 = 5u;
const PARAM_RESTITUTION_THRESHOLD: u32 = 6u;
const PARAM_CORRECTION_SLOP: u32 = 7u;
const PARAM_HEADER: u32 = 8u;

const PARAM_BODY_POSITION: u32 = 0u;
const PARAM_BODY_ORIENTATION: u32 = 3u;
const PARAM_BODY_MASS: u32 = 7u;
const PARAM_BODY_COM: u32 = 8u;
const PARAM_BODY_INERTIA: u32 = 11u;
const PARAM_BODY: u32 = 17u;

const PARAM_JOINT_ANCHOR: u32 = 0u;
const PARAM_JOINT_AXIS: u32 = 3u;
const PARAM_JOINT_REFERENCE: u32 = 6u;
const PARAM_JOINT_STIFFNESS: u32 = 7u;
const PARAM_JOINT_DAMPING: u32 = 8u;
const PARAM_JOINT_ARMATURE: u32 = 9u;
const PARAM_JOINT_FRICTION: u32 = 10u;
const PARAM_JOINT_LOWER: u32 = 11u;
const PARAM_JOINT_UPPER: u32 = 12u;
const PARAM_JOINT_SPRING: u32 = 13u;
const PARAM_JOINT: u32 = 20u;

const PARAM_ACTUATOR_GEAR: u32 = 0u;
const PARAM_ACTUATOR_GAIN: u32 = 6u;
const PARAM_ACTUATOR_BIAS: u32 = 7u;
const PARAM_ACTUATOR_CONTROL: u32 = 10u;
const PARAM_ACTUATOR_FORCE: u32 = 12u;
const PARAM_ACTUATOR: u32 = 14u;

const PARAM_COUPLING_REFERENCE: u32 = 0u;
const PARAM_COUPLING_DRIVER_REFERENCE: u32 = 1u;
const PARAM_COUPLING_COEFFICIENTS: u32 = 2u;
const PARAM_COUPLING: u32 = 7u;

const PARAM_BLOCK_FRAME_A: u32 = 0u;
const PARAM_BLOCK_FRAME_B: u32 = 7u;
const PARAM_BLOCK: u32 = 14u;

const POSE: u32 = 7u;
const SPATIAL: u32 = 6u;
const SPEED: u32 = 2u;

const WORK_INERTIA: u32 = 0u;
const WORK_ACCELERATION: u32 = 10u;
const WORK_FORCE: u32 = 16u;
const WORK_BODY: u32 = 22u;

// Weight of the new state in forces.
fn theta_of(integrator: u32) -> real {
    let old = select(real(1.0), real(0.0), integrator == INTEGRATOR_SYMPLECTIC_EULER);
    return select(old, real(0.5), integrator == INTEGRATOR_MIDPOINT);
}

// Weight of the new velocity in the positions' rate.
fn theta_vq_of(integrator: u32) -> real {
    return select(real(1.0), real(0.5), integrator == INTEGRATOR_MIDPOINT);
}

struct TreeDims {
    lanes: u32,
    param_lanes: u32,
    n_body: u32,
    n_joint: u32,
    n_q: u32,
    n_v: u32,
    n_u: u32,
    n_m: u32,
    n_row: u32,
    n_block: u32,
    n_param: u32,
    lone: u32,
    joint_at: u32,
    dof_at: u32,
    actuator_at: u32,
    row_at: u32,
    block_at: u32,
    joint_param: u32,
    actuator_param: u32,
    coupling_param: u32,
    block_param: u32,
    integrator: u32,
    spare_1: u32,
    spare_2: u32,
}

struct BodyRecord {
    parent: u32,
    joint_begin: u32,
    joint_count: u32,
    dof_begin: u32,
    dof_count: u32,
    chain_dof: u32,
    subtree_end: u32,
}

struct JointRecord {
    kind: u32,
    body: u32,
    q_begin: u32,
    dof_begin: u32,
}

struct DofRecord {
    m_begin: u32,
    chain: u32,
    parent: u32,
    body: u32,
    subtree_end: u32,
    joint: u32,
}

struct ActuatorRecord {
    joint: u32,
    mode: u32,
}

struct RowRecord {
    kind: u32,
    count: u32,
    dof_0: u32,
    dof_1: u32,
    dof_2: u32,
    q: u32,
    source: u32,
    param: u32,
}

struct BlockRecord {
    kind: u32,
    body_a: u32,
    body_b: u32,
    param: u32,
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
    let at = i * 7u;
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
    let at = dims.tree.joint_at + i * 4u;
    return JointRecord(topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u]);
}

fn dof_record(i: u32) -> DofRecord {
    let at = dims.tree.dof_at + i * 6u;
    return DofRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
    );
}

fn dof_parent(i: u32) -> u32 {
    return topology[dims.tree.dof_at + i * 6u + 2u];
}

fn actuator_record(i: u32) -> ActuatorRecord {
    let at = dims.tree.actuator_at + i * 2u;
    return ActuatorRecord(topology[at], topology[at + 1u]);
}

fn row_record(i: u32) -> RowRecord {
    let at = dims.tree.row_at + i * 8u;
    return RowRecord(
        topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u], topology[at + 4u], topology[at + 5u],
        topology[at + 6u], topology[at + 7u],
    );
}

fn block_record(i: u32) -> BlockRecord {
    let at = dims.tree.block_at + i * 4u;
    return BlockRecord(topology[at], topology[at + 1u], topology[at + 2u], topology[at + 3u]);
}

// 1 where a dof moves a body, else 0.
fn moves(dof: DofRecord, body: u32) -> real {
    return select(real(0.0), real(1.0), dof.body <= body && body < dof.subtree_end);
}
