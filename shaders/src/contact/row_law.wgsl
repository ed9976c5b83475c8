// The laws of static rows: the twin of row_law.rs. The importing kernel binds `state` and `pull`.
#import math
#import dynamics/tree
#import contact/tree_layout

struct Law {
    bias: real,
    compliance: real,
    lower: real,
    upper: real,
    is_active: bool,
    // J at the row's dofs; of a tendon's row, what its moment arms and those of its driver are multiplied by.
    factors: vec3<real>,
}

// First elements of a lane in the buffers.
struct Bases {
    param: u32,
    state: u32,
    pull: u32,
}

// Where the length of a path stands; its moment arms follow.
fn pull_at(lane_base: u32, path: u32) -> u32 {
    return lane_base + topology[dims.tree.path_at + path * PATH_RECORD_SIZE + PATH_RECORD_PULL] * TILE;
}

// J at one of the dofs of a row.
fn coefficient(base: Bases, record: RowRecord, factors: vec3<real>, k: u32) -> real {
    if record.kind < ROW_TENDON_LIMIT {
        return select(select(factors.z, factors.y, k == 1u), factors.x, k == 0u);
    }
    let count = topology[dims.tree.path_at + record.q * PATH_RECORD_SIZE + PATH_RECORD_DOF_COUNT];
    if k < count {
        return factors.x * pull[pull_at(base.pull, record.q) + (1u + k) * TILE];
    }
    return factors.y * pull[pull_at(base.pull, record.source) + (1u + k - count) * TILE];
}

fn row_law(record: RowRecord, lanes: Bases) -> Law {
    let param = lanes.param;
    let base = lanes.state;
    let zero = real(0.0);
    let one = real(1.0);
    let h = param_at(param, PARAM_TIMESTEP);
    let at = record.param;
    let q = base + record.q * TILE;
    let v = base + dims.tree.n_q * TILE;
    switch record.kind {
        case ROW_LIMIT: {
            let below = state[q] - param_at(param, at + PARAM_JOINT_LOWER);
            let above = param_at(param, at + PARAM_JOINT_UPPER) - state[q];
            let nearer = below <= above;
            let sign = vec3<real>(select(-one, one, nearer), zero, zero);
            return limit(select(above, below, nearer), sign, record, lanes, v);
        }
        case ROW_LIMIT_BALL: {
            let turn = rotation(q);
            let angle = sqrt(fma(turn.x, turn.x, fma(turn.y, turn.y, turn.z * turn.z)));
            let shrink = -(one / max(angle, real(1e-12)));
            return limit(param_at(param, at + PARAM_JOINT_UPPER) - angle, turn * shrink, record, lanes, v);
        }
        case ROW_FRICTION: {
            let most = h * param_at(param, at + PARAM_JOINT_FRICTION);
            return Law(zero, zero, -most, most, zero < most, vec3<real>(one, zero, zero));
        }
        case ROW_TENDON_LIMIT: {
            let length = pull[pull_at(lanes.pull, record.q)];
            let below = length - param_at(param, at + PARAM_PATH_LOWER);
            let above = param_at(param, at + PARAM_PATH_UPPER) - length;
            let nearer = below <= above;
            let sign = vec3<real>(select(-one, one, nearer), zero, zero);
            var law = limit(select(above, below, nearer), sign, record, lanes, v);
            law.is_active = law.is_active && moved(lanes, record, sign);
            return law;
        }
        case ROW_TENDON_FRICTION: {
            let most = h * param_at(param, at + PARAM_PATH_FRICTION);
            let factors = vec3<real>(one, zero, zero);
            return Law(zero, zero, -most, most, zero < most && moved(lanes, record, factors), factors);
        }
        case ROW_DRIVE: {
            var gear = param_at3(param, at + PARAM_ACTUATOR_GEAR);
            var length = zero;
            if record.count == 1u {
                gear = vec3<real>(gear.x, zero, zero);
                length = gear.x * state[q];
            } else {
                let turn = rotation(q);
                length = fma(gear.x, turn.x, fma(gear.y, turn.y, gear.z * turn.z));
            }
            let affine = param_at3(param, at + PARAM_ACTUATOR_BIAS);
            let given = state[base + (dims.tree.n_q + dims.tree.n_v + record.source) * TILE];
            let lowest = param_at(param, at + PARAM_ACTUATOR_CONTROL);
            let control = min(max(given, lowest), param_at(param, at + PARAM_ACTUATOR_CONTROL + 1u));
            let passive = fma(affine.y, length, affine.x);
            var force = fma(param_at(param, at + PARAM_ACTUATOR_GAIN), control, passive);
            var b = -(h * fma(h, affine.y, affine.z));
            if dims.tree.integrator == INTEGRATOR_MIDPOINT {
                // Castro 2022, eqs. 6 and 12: length and speed midway, with the part of the velocity before in the force.
                let half = real(0.5);
                let gain = half * fma(half * h, affine.y, affine.z);
                force = fma(gain, row_velocity(gear, record, lanes, v), force);
                b = -(h * gain);
            }
            let compliance = one / max(b, LEAST_GAIN);
            return Law(
                -(h * force * compliance),
                compliance,
                h * param_at(param, at + PARAM_ACTUATOR_FORCE),
                h * param_at(param, at + PARAM_ACTUATOR_FORCE + 1u),
                LEAST_GAIN < b,
                gear,
            );
        }
        default: {
            var driver = zero;
            if record.source != NONE {
                driver = value_of(lanes, record, record.source) - param_at(param, at + PARAM_COUPLING_DRIVER_REFERENCE);
            }
            var value = zero;
            var slope = zero;
            for (var k = 0u; k < 5u; k++) {
                slope = fma(slope, driver, value);
                value = fma(value, driver, param_at(param, at + PARAM_COUPLING_COEFFICIENTS + 4u - k));
            }
            let error = value_of(lanes, record, record.q) - param_at(param, at + PARAM_COUPLING_REFERENCE) - value;
            let bias = bilateral_bias(
                error,
                one / h,
                param_at(param, PARAM_CORRECTION_FRACTION),
                param_at(param, PARAM_CORRECTION_MAX),
            );
            let factors = vec3<real>(one, select(-slope, zero, record.source == NONE), zero);
            let acts = record.kind == ROW_COUPLING || moved(lanes, record, factors);
            return Law(bias, zero, -UNBOUNDED, UNBOUNDED, acts, factors);
        }
    }
}

fn row_velocity(factors: vec3<real>, record: RowRecord, lanes: Bases, v: u32) -> real {
    var speed = real(0.0);
    for (var k = 0u; k < record.count; k++) {
        speed = fma(coefficient(lanes, record, factors, k), state[v + row_record_dof(record, k) * TILE], speed);
    }
    return speed;
}

fn limit(distance: real, factors: vec3<real>, record: RowRecord, lanes: Bases, v: u32) -> Law {
    let param = lanes.param;
    let per_step = real(1.0) / param_at(param, PARAM_TIMESTEP);
    let speed = row_velocity(factors, record, lanes, v);
    let reach = min(distance * per_step, UNBOUNDED) + real(2.0) * min(speed, real(0.0)) - REACH;
    let bias = position_bias(
        distance,
        per_step,
        param_at(param, PARAM_CORRECTION_FRACTION),
        param_at(param, PARAM_CORRECTION_MAX),
        real(0.0),
    );
    return Law(bias, real(0.0), real(0.0), UNBOUNDED, reach < real(0.0), factors);
}

// A tendon has no say where nothing changes its length, as where two sites meet.
fn moved(base: Bases, record: RowRecord, factors: vec3<real>) -> bool {
    var square = real(0.0);
    for (var k = 0u; k < record.count; k++) {
        let j = coefficient(base, record, factors, k);
        square = fma(j, j, square);
    }
    return real(0.0) < square;
}

// Position of a joint, or length of a tendon.
fn value_of(lanes: Bases, record: RowRecord, which: u32) -> real {
    if record.kind == ROW_TENDON_COUPLING {
        return pull[pull_at(lanes.pull, which)];
    }
    return state[lanes.state + which * TILE];
}

fn rotation(q: u32) -> vec3<real> {
    return quat_log(vec4<real>(state[q], state[q + TILE], state[q + 2u * TILE], state[q + 3u * TILE]));
}
