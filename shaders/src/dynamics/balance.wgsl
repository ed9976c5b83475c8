// The momentum matrix and the right-hand side of the theta method. See balance.rs.
#import math
#import dynamics/tree
#import dynamics/effort

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> stage: array<real>;
@group(0) @binding(5) var<storage, read> mass: array<real>;
@group(0) @binding(6) var<storage, read> bias: array<real>;
@group(0) @binding(7) var<storage, read_write> momentum: array<real>;
@group(0) @binding(8) var<storage, read_write> b: array<real>;

// First elements of a lane in the buffers.
struct Bases {
    param: u32,
    state: u32,
    v0: u32,
    m: u32,
    v: u32,
}

// h, and the weights of the new state.
struct Weights {
    h: real,
    theta: real,
    theta_vq: real,
}

fn stage3(base: u32, i: u32) -> vec3<real> {
    let at = base + i * TILE;
    return vec3<real>(stage[at], stage[at + TILE], stage[at + 2u * TILE]);
}

fn orientation_at(base: u32, q: u32) -> vec4<real> {
    let at = base + q * TILE;
    return quat_normalize(vec4<real>(stage[at], stage[at + TILE], stage[at + 2u * TILE], stage[at + 3u * TILE]));
}

// b = M v0.
fn multiply(base: Bases) {
    for (var i = 0u; i < dims.tree.n_v; i++) {
        let dof = dof_record(i);
        let at = base.m + dof.m_begin * TILE;
        let xi = state[base.v0 + i * TILE];
        var sum = mass[at] * xi;
        var j = dof.parent;
        for (var k = 1u; k < dof.chain; k++) {
            let entry = mass[at + k * TILE];
            sum = fma(entry, state[base.v0 + j * TILE], sum);
            b[base.v + j * TILE] = fma(entry, xi, b[base.v + j * TILE]);
            j = dof_parent(j);
        }
        b[base.v + i * TILE] = sum;
    }
}

// theta v of a dof by the guess that the stage was made of.
fn share(base: Bases, dof: u32, weights: Weights) -> real {
    let at = base.v0 + dof * TILE;
    return fma(weights.theta - real(1.0), state[at], stage[at]);
}

// Damping and stiffness of a joint.
fn add_joint(base: Bases, joint: JointRecord, at: u32, weights: Weights) {
    let h = weights.h;
    let stiffness = param_at(base.param, at + PARAM_JOINT_STIFFNESS);
    let damping = param_at(base.param, at + PARAM_JOINT_DAMPING);
    let way = h * weights.theta_vq;
    let implicit = h * weights.theta * fma(way, stiffness, damping);
    let old = h * (weights.theta - real(1.0)) * damping;
    let first = joint.dof_begin;
    for (var i = first; i < first + dof_count(joint.kind); i++) {
        momentum[base.m + dof_record(i).m_begin * TILE] += implicit;
        let kept = fma(h * way * stiffness, share(base, i, weights), old * state[base.v0 + i * TILE]);
        b[base.v + i * TILE] += kept;
    }
    let q = joint.q_begin;
    let spring = at + PARAM_JOINT_SPRING;
    let pull = -(h * stiffness);
    if joint.kind == JOINT_FREE {
        pull_back(base, first, pull, stage3(base.state, q) - param_at3(base.param, spring));
        let reference = param_at4(base.param, spring + 3u);
        pull_back(base, first + 3u, pull, turned(orientation_at(base.state, q + 3u), reference));
    } else if joint.kind == JOINT_BALL {
        pull_back(base, first, pull, turned(orientation_at(base.state, q), param_at4(base.param, spring)));
    } else {
        let at_b = base.v + first * TILE;
        b[at_b] = fma(pull, stage[base.state + q * TILE] - param_at(base.param, spring), b[at_b]);
    }
}

fn pull_back(base: Bases, first: u32, pull: real, by: vec3<real>) {
    let at = base.v + first * TILE;
    b[at] = fma(pull, by.x, b[at]);
    b[at + TILE] = fma(pull, by.y, b[at + TILE]);
    b[at + 2u * TILE] = fma(pull, by.z, b[at + 2u * TILE]);
}

// The force of an actuator at the stage; falling gains go into the matrix when it has no force limit.
fn add_actuator(base: Bases, actuator: ActuatorRecord, at: u32, control_in: real, weights: Weights) {
    let h = weights.h;
    let joint = joint_record(actuator.joint);
    let first = joint.dof_begin;
    let count = dof_count(joint.kind);
    let gear = at + PARAM_ACTUATOR_GEAR;
    var length = real(0.0);
    if joint.kind == JOINT_BALL {
        length = dot3(param_at3(base.param, gear), quat_log(orientation_at(base.state, joint.q_begin)));
    } else if joint.kind != JOINT_FREE {
        length = param_at(base.param, gear) * stage[base.state + joint.q_begin * TILE];
    }
    var speed = real(0.0);
    var own_part = real(0.0);
    for (var k = 0u; k < count; k++) {
        let g = param_at(base.param, gear + k);
        speed = fma(g, stage[base.v0 + (first + k) * TILE], speed);
        own_part = fma(g, share(base, first + k, weights), own_part);
    }
    let gains = param_at3(base.param, at + PARAM_ACTUATOR_BIAS);
    var stiffness = real(0.0);
    var damping = real(0.0);
    if actuator.mode == DRIVE_IMPLICIT {
        stiffness = max(-gains.y, real(0.0));
        damping = max(-gains.z, real(0.0));
    }
    let control_range = at + PARAM_ACTUATOR_CONTROL;
    let control = clamp_keep(
        control_in, param_at(base.param, control_range), param_at(base.param, control_range + 1u),
    );
    var force = fma(param_at(base.param, at + PARAM_ACTUATOR_GAIN), control, gains.x);
    force = fma(gains.z, speed, fma(gains.y, length, force));
    let force_range = at + PARAM_ACTUATOR_FORCE;
    let limited = clamp_keep(force, param_at(base.param, force_range), param_at(base.param, force_range + 1u));
    let gain = h * fma(h * weights.theta_vq, stiffness, damping);
    let impulse = fma(gain, own_part, h * limited);
    let implicit = weights.theta * gain;
    spread(Targets(base.param, base.m, base.v), joint, gear, impulse, implicit);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n_v = dims.tree.n_v;
    let first = tile_base(lane, n_state());
    let base = Bases(
        param_base(lane),
        first,
        first + dims.tree.n_q * TILE,
        tile_base(lane, dims.tree.n_m),
        tile_base(lane, n_v),
    );
    let weights = Weights(
        param_at(base.param, PARAM_TIMESTEP),
        integrator_theta(dims.tree.integrator),
        integrator_theta_vq(dims.tree.integrator),
    );
    for (var i = 0u; i < dims.tree.n_m; i++) {
        momentum[base.m + i * TILE] = mass[base.m + i * TILE];
    }
    multiply(base);
    let tau = base.state + (dims.tree.n_q + n_v + dims.tree.n_u) * TILE;
    for (var i = 0u; i < n_v; i++) {
        let at = base.v + i * TILE;
        b[at] = fma(weights.h, state[tau + i * TILE] - bias[at], b[at]);
    }
    for (var j = 0u; j < dims.tree.n_joint; j++) {
        add_joint(base, joint_record(j), joint_param(j), weights);
    }
    let ctrl = base.state + (dims.tree.n_q + n_v) * TILE;
    for (var a = 0u; a < dims.tree.n_u; a++) {
        let actuator = actuator_record(a);
        if actuator.mode != DRIVE_ROW && actuator.mode != DRIVE_APPLIED {
            add_actuator(base, actuator, actuator_param(a), state[ctrl + a * TILE], weights);
        }
    }
}
