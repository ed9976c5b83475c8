// The momentum matrix and the right-hand side of the free velocity. See momentum.rs.
#import math
#import dynamics/tree
#import dynamics/effort
#import dynamics/tumble

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> mass: array<real>;
@group(0) @binding(5) var<storage, read> bias: array<real>;
@group(0) @binding(6) var<storage, read_write> momentum: array<real>;
@group(0) @binding(7) var<storage, read_write> b: array<real>;

// First elements of a lane in the buffers.
struct Bases {
    param: u32,
    state: u32,
    m: u32,
    v: u32,
}

fn state3(base: u32, i: u32) -> vec3<real> {
    let at = base + i * TILE;
    return vec3<real>(state[at], state[at + TILE], state[at + 2u * TILE]);
}

fn orientation_at(base: u32, q: u32) -> vec4<real> {
    let at = base + q * TILE;
    return quat_normalize(vec4<real>(state[at], state[at + TILE], state[at + 2u * TILE], state[at + 3u * TILE]));
}

fn add_b3(base: u32, first: u32, x: vec3<real>) {
    b[base + first * TILE] += x.x;
    b[base + (first + 1u) * TILE] += x.y;
    b[base + (first + 2u) * TILE] += x.z;
}

// b = M v.
fn multiply(base: Bases) {
    let v_at = base.state + dims.tree.n_q * TILE;
    for (var i = 0u; i < dims.tree.n_v; i++) {
        let dof = dof_record(i);
        let at = base.m + dof.m_begin * TILE;
        let xi = state[v_at + i * TILE];
        var sum = mass[at] * xi;
        var j = dof.parent;
        for (var k = 1u; k < dof.chain; k++) {
            let entry = mass[at + k * TILE];
            sum = fma(entry, state[v_at + j * TILE], sum);
            b[base.v + j * TILE] = fma(entry, xi, b[base.v + j * TILE]);
            j = dof_parent(j);
        }
        b[base.v + i * TILE] = sum;
    }
}

// M v of a lone body as it drifts, and the impulse of gravity.
fn lone(base: Bases, h: real) {
    let v_at = dims.tree.n_q;
    let armature = param_at(base.param, joint_param(0u) + PARAM_JOINT_ARMATURE);
    let orientation = orientation_at(base.state, 3u);
    let body = lone_body(base.m, armature, orientation);
    let drifted = drift(body, state3(base.state, v_at), state3(base.state, v_at + 3u), h);
    var v = array<real, 6>(
        drifted.linear.x, drifted.linear.y, drifted.linear.z, drifted.angular.x, drifted.angular.y, drifted.angular.z,
    );
    // Every dof is the ancestor of the later ones: entry (i, j) of M at i (i + 1) / 2 + i - j.
    for (var i = 0u; i < 6u; i++) {
        var sum = real(0.0);
        for (var j = 0u; j < 6u; j++) {
            let low = min(i, j);
            let high = max(i, j);
            sum = fma(mass_entry(base.m, high * (high + 1u) / 2u + high - low), v[j], sum);
        }
        b[base.v + i * TILE] = sum;
    }
    let weight = param_at3(base.param, PARAM_GRAVITY) * h;
    add_b3(base.v, 0u, weight * body.mass);
    add_b3(base.v, 3u, quat_rotate(quat_conjugate(orientation), cross3(body.moment, weight)));
}

// Damping and stiffness of a joint.
fn add_joint(base: Bases, joint: JointRecord, at: u32, h: real) {
    let stiffness = param_at(base.param, at + PARAM_JOINT_STIFFNESS);
    let implicit = h * fma(h, stiffness, param_at(base.param, at + PARAM_JOINT_DAMPING));
    let first = joint.dof_begin;
    for (var i = first; i < first + dof_count(joint.kind); i++) {
        momentum[base.m + dof_record(i).m_begin * TILE] += implicit;
    }
    let q = joint.q_begin;
    let spring = at + PARAM_JOINT_SPRING;
    let pull = -(h * stiffness);
    if joint.kind == JOINT_FREE {
        add_b3(base.v, first, (state3(base.state, q) - param_at3(base.param, spring)) * pull);
        let turn = turned(orientation_at(base.state, q + 3u), param_at4(base.param, spring + 3u));
        add_b3(base.v, first + 3u, turn * pull);
    } else if joint.kind == JOINT_BALL {
        add_b3(base.v, first, turned(orientation_at(base.state, q), param_at4(base.param, spring)) * pull);
    } else {
        let at_b = base.v + first * TILE;
        b[at_b] = fma(pull, state[base.state + q * TILE] - param_at(base.param, spring), b[at_b]);
    }
}

// The force of an actuator, its falling gains implicit when it has no force limit.
fn add_actuator(base: Bases, actuator: ActuatorRecord, at: u32, control_in: real, h: real) {
    let joint = joint_record(actuator.joint);
    let first = joint.dof_begin;
    let count = dof_count(joint.kind);
    let gear = at + PARAM_ACTUATOR_GEAR;
    var length = real(0.0);
    if joint.kind == JOINT_BALL {
        length = dot3(param_at3(base.param, gear), quat_log(orientation_at(base.state, joint.q_begin)));
    } else if joint.kind != JOINT_FREE {
        length = param_at(base.param, gear) * state[base.state + joint.q_begin * TILE];
    }
    var speed = real(0.0);
    for (var k = 0u; k < count; k++) {
        speed = fma(param_at(base.param, gear + k), state[base.state + (dims.tree.n_q + first + k) * TILE], speed);
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
    force = fma(gains.z + damping, speed, fma(gains.y, length, force));
    let force_range = at + PARAM_ACTUATOR_FORCE;
    let impulse = h * clamp_keep(force, param_at(base.param, force_range), param_at(base.param, force_range + 1u));
    let implicit = h * fma(h, stiffness, damping);
    spread(Targets(base.param, base.m, base.v), joint, gear, impulse, implicit);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n_v = dims.tree.n_v;
    let base = Bases(
        param_base(lane),
        tile_base(lane, n_state()),
        tile_base(lane, dims.tree.n_m),
        tile_base(lane, n_v),
    );
    let h = param_at(base.param, PARAM_TIMESTEP);
    for (var i = 0u; i < dims.tree.n_m; i++) {
        momentum[base.m + i * TILE] = mass[base.m + i * TILE];
    }
    if dims.tree.lone == 1u {
        lone(base, h);
    } else {
        multiply(base);
        for (var i = 0u; i < n_v; i++) {
            let at = base.v + i * TILE;
            b[at] = fma(-h, bias[at], b[at]);
        }
    }
    let tau = base.state + (dims.tree.n_q + n_v + dims.tree.n_u) * TILE;
    for (var i = 0u; i < n_v; i++) {
        let at = base.v + i * TILE;
        b[at] = fma(h, state[tau + i * TILE], b[at]);
    }
    for (var j = 0u; j < dims.tree.n_joint; j++) {
        add_joint(base, joint_record(j), joint_param(j), h);
    }
    let ctrl = base.state + (dims.tree.n_q + n_v) * TILE;
    for (var a = 0u; a < dims.tree.n_u; a++) {
        let actuator = actuator_record(a);
        if actuator.mode != DRIVE_ROW && actuator.mode != DRIVE_APPLIED {
            add_actuator(base, actuator, actuator_param(a), state[ctrl + a * TILE], h);
        }
    }
}
