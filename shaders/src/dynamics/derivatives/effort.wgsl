// How the momentum before the step and the impulses of joints, drives and applied forces change. See effort.rs.
#import math
#import dynamics/tree
#import dynamics/tumble
#import dynamics/derivatives/turn
#import dynamics/derivatives/length
#import dynamics/derivatives/drift
#import dynamics/derivatives/layout

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> mass: array<real>;
@group(0) @binding(5) var<storage, read> act: array<real>;
@group(0) @binding(6) var<storage, read_write> work: array<real>;
@group(0) @binding(7) var<storage, read_write> slope: array<real>;

// First elements of a lane in the buffers.
struct Bases {
    param: u32,
    state: u32,
    m: u32,
    slope: u32,
}

fn state3(base: u32, i: u32) -> vec3<real> {
    let at = base + i * TILE;
    return vec3<real>(state[at], state[at + TILE], state[at + 2u * TILE]);
}

// Rotation vector from a reference to an orientation, body axes.
fn turned(orientation: vec4<real>, reference: vec4<real>) -> vec3<real> {
    return quat_log(quat_mul(quat_conjugate(reference), orientation));
}

// An entry of the derivative, to be summed.
fn add(base: Bases, row: u32, column: u32, entry: real) {
    slope[base.slope + (row * slope_width() + column) * TILE] += entry;
}

// M onto the columns of v.
fn add_mass(base: Bases) {
    let n = dims.tree.n_v;
    for (var i = 0u; i < n; i++) {
        let dof = dof_record(i);
        let at = base.m + dof.m_begin * TILE;
        add(base, i, n + i, mass[at]);
        var j = dof.parent;
        for (var k = 1u; k < dof.chain; k++) {
            let entry = mass[at + k * TILE];
            add(base, i, n + j, entry);
            add(base, j, n + i, entry);
            j = dof_parent(j);
        }
    }
}

// M times the derivative of the drift of a lone body; the velocity it drifts to.
fn lone(base: Bases, h: real) -> Drift {
    let v_at = dims.tree.n_q;
    let armature = param_at(base.param, joint_param(0u) + PARAM_JOINT_ARMATURE);
    let body = lone_body(base.m, armature, orientation_at(base.state, 3u));
    let angular = state3(base.state, v_at + 3u);
    let drifted = drift(body, state3(base.state, v_at), angular, h);
    var derivative = drift_derivative(body, angular, drifted.angular, h);
    let zero = real(0.0);
    let none = vec3<real>(zero, zero, zero);
    for (var k = 0u; k < 3u; k++) {
        let one = real(1.0);
        let e = vec3<real>(select(zero, one, k == 0u), select(zero, one, k == 1u), select(zero, one, k == 2u));
        lone_column(base, 6u + k, e, none);
        lone_column(base, 9u + k, derivative[k].linear_angular, derivative[k].angular_angular);
        lone_column(base, 3u + k, derivative[k].linear_turn, none);
    }
    return drifted;
}

// M times a change of the velocity of a lone body, into a column.
fn lone_column(base: Bases, column: u32, linear: vec3<real>, angular: vec3<real>) {
    var v = array<real, 6>(linear.x, linear.y, linear.z, angular.x, angular.y, angular.z);
    // Every dof is the ancestor of the later ones: entry (i, j) of M at i (i + 1) / 2 + i - j.
    for (var i = 0u; i < 6u; i++) {
        var sum = real(0.0);
        for (var j = 0u; j < 6u; j++) {
            let low = min(i, j);
            let high = max(i, j);
            sum = fma(mass_entry(base.m, high * (high + 1u) / 2u + high - low), v[j], sum);
        }
        add(base, i, column, sum);
    }
}

// The pull of a spring, taken at the position before the step.
fn add_spring(base: Bases, joint: JointRecord, at: u32, h: real) {
    let pull = -(h * param_at(base.param, at + PARAM_JOINT_STIFFNESS));
    let q = joint.q_begin;
    let first = joint.dof_begin;
    let spring = at + PARAM_JOINT_SPRING;
    if joint.kind == JOINT_FREE {
        for (var k = first; k < first + 3u; k++) {
            add(base, k, k, pull);
        }
        add_turn(base, pull, turned(orientation_at(base.state, q + 3u), param_at4(base.param, spring + 3u)), first + 3u);
    } else if joint.kind == JOINT_BALL {
        add_turn(base, pull, turned(orientation_at(base.state, q), param_at4(base.param, spring)), first);
    } else {
        add(base, first, first, pull);
    }
}

// That of three dofs of a rotation.
fn add_turn(base: Bases, pull: real, by: vec3<real>, first: u32) {
    let turn = turn_right_inverse(by);
    var rows = array<vec3<real>, 3>(turn.x, turn.y, turn.z);
    for (var r = 0u; r < 3u; r++) {
        for (var k = 0u; k < 3u; k++) {
            add(base, first + r, first + k, pull * rows[r][k]);
        }
    }
}

// The impulse of an actuator that is no row.
fn add_actuator(base: Bases, actuator: ActuatorRecord, index: u32, h_in: real) {
    let zero = real(0.0);
    let n = dims.tree.n_v;
    let at = actuator_param(index);
    let joint = joint_record(actuator.joint);
    let first = joint.dof_begin;
    let count = dof_count(joint.kind);
    let gear = at + PARAM_ACTUATOR_GEAR;
    var speed = zero;
    for (var k = 0u; k < count; k++) {
        speed = fma(param_at(base.param, gear + k), state[base.state + (dims.tree.n_q + first + k) * TILE], speed);
    }
    let gains = param_at3(base.param, at + PARAM_ACTUATOR_BIAS);
    let damping = select(zero, max(-gains.z, zero), actuator.mode == DRIVE_IMPLICIT);
    var length = zero;
    if joint.kind == JOINT_BALL {
        length = dot3(param_at3(base.param, gear), quat_log(orientation_at(base.state, joint.q_begin)));
    } else if joint.kind != JOINT_FREE {
        length = param_at(base.param, gear) * state[base.state + joint.q_begin * TILE];
    }
    let control_range = at + PARAM_ACTUATOR_CONTROL;
    let low = param_at(base.param, control_range);
    let high = param_at(base.param, control_range + 1u);
    let control = state[base.state + (dims.tree.n_q + n + index) * TILE];
    var gain = param_at(base.param, at + PARAM_ACTUATOR_GAIN);
    var force = fma(gain, clamp_keep(control, low, high), gains.x);
    force = fma(gains.z + damping, speed, fma(gains.y, length, force));
    // At a bound of its force nothing changes it, beyond one of the control that does not.
    let force_range = at + PARAM_ACTUATOR_FORCE;
    let free = param_at(base.param, force_range) <= force && force <= param_at(base.param, force_range + 1u);
    let h = select(zero, h_in, free);
    gain = select(zero, gain, low <= control && control <= high);
    var along = length_slope(base.param, base.state, joint, gear);
    for (var i = 0u; i < count; i++) {
        let pull = h * param_at(base.param, gear + i);
        for (var j = 0u; j < count; j++) {
            if j < 3u {
                add(base, first + i, first + j, pull * gains.y * along[j]);
            }
            add(base, first + i, n + first + j, pull * (gains.z + damping) * param_at(base.param, gear + j));
        }
        add(base, first + i, 2u * n + index, pull * gain);
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n = dims.tree.n_v;
    let base = Bases(
        param_base(lane),
        tile_base(lane, n_state()),
        tile_base(lane, dims.tree.n_m),
        slope_base(lane),
    );
    let act_at = act_base(lane);
    let work_at = derivative_work_base(lane);
    let h = param_at(base.param, PARAM_TIMESTEP);
    let per_step = real(1.0) / h;
    // What applied forces are by stands there already.
    for (var e = 0u; dims.tree.n_force == 0u && e < n * slope_width(); e++) {
        slope[base.slope + e * TILE] = real(0.0);
    }
    if dims.tree.lone == 1u {
        let drifted = lone(base, h);
        var start = array<real, 6>(
            drifted.linear.x, drifted.linear.y, drifted.linear.z,
            drifted.angular.x, drifted.angular.y, drifted.angular.z,
        );
        for (var i = 0u; i < 6u; i++) {
            work[work_at + i * TILE] = (act[act_at + i * TILE] - start[i]) * per_step;
        }
    } else {
        add_mass(base);
        let v_at = base.state + dims.tree.n_q * TILE;
        for (var i = 0u; i < n; i++) {
            work[work_at + i * TILE] = (act[act_at + i * TILE] - state[v_at + i * TILE]) * per_step;
        }
    }
    for (var j = 0u; j < dims.tree.n_joint; j++) {
        add_spring(base, joint_record(j), joint_param(j), h);
    }
    for (var a = 0u; a < dims.tree.n_u; a++) {
        let actuator = actuator_record(a);
        if actuator.mode != DRIVE_ROW && actuator.mode != DRIVE_APPLIED {
            add_actuator(base, actuator, a, h);
        }
    }
}
