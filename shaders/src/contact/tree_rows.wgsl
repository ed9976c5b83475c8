// Static rows: limits, dry friction, force-limited drives and couplings. See tree_rows.rs.
#import math
#import dynamics/tree
#import dynamics/solve
#import dynamics/small
#import contact/tree_layout

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> factor: array<real>;
@group(0) @binding(5) var<storage, read> pull: array<real>;
@group(0) @binding(6) var<storage, read_write> row: array<real>;

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

fn load_x(base: u32, i: u32) -> real {
    return row[base + i * TILE];
}

fn store_x(base: u32, i: u32, value: real) {
    row[base + i * TILE] = value;
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

// What stands at `y` to its response, in place.
fn solve_row(factor_base: u32, y: u32) {
    if !is_small() {
        solve(factor_base, y);
        return;
    }
    for (var i = 0u; i < dims.tree.n_v; i++) {
        x[i] = row[y + i * TILE];
    }
    solve_small(factor_base);
    for (var i = 0u; i < dims.tree.n_v; i++) {
        row[y + i * TILE] = x[i];
    }
}

// Y of a row of one dof: the response to a unit of it, which a row before this may have, times J. Rows begin at `first`, this at r.
fn respond_alone(record: RowRecord, factor_base: u32, first: u32, r: u32, y: u32) {
    let n_v = dims.tree.n_v;
    let width = dims.tree.row_width;
    let j = row[r + ROW_COEFFICIENT * TILE];
    let like = first + record.like * row_stride(n_v, width) * TILE;
    if record.like != NONE && real(0.0) < row[like + ROW_ACTIVE * TILE] {
        let unit = like + row_head(width) * TILE;
        for (var i = 0u; i < n_v; i++) {
            row[y + i * TILE] = row[unit + i * TILE] * j;
        }
        return;
    }
    for (var i = 0u; i < n_v; i++) {
        row[y + i * TILE] = real(0.0);
    }
    row[y + row_record_dof(record, 0u) * TILE] = real(1.0);
    solve_row(factor_base, y);
    for (var i = 0u; i < n_v; i++) {
        row[y + i * TILE] *= j;
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n_v = dims.tree.n_v;
    let zero = real(0.0);
    let lanes = Bases(param_base(lane), tile_base(lane, n_state()), tile_base(lane, dims.tree.n_pull));
    let factor_base = tile_base(lane, dims.tree.n_m);
    let width = dims.tree.row_width;
    let stride = row_stride(n_v, width);
    let first = tile_base(lane, dims.tree.n_row * stride);
    if is_small() {
        read_small();
    }
    for (var k = 0u; k < dims.tree.n_row; k++) {
        let record = row_record(k);
        let law = row_law(record, lanes);
        let r = first + k * stride * TILE;
        // A limit that changed sides starts anew.
        var kept = true;
        if record.kind == ROW_LIMIT || record.kind == ROW_TENDON_LIMIT {
            var along = zero;
            for (var d = 0u; d < record.count; d++) {
                let old = row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE];
                along = fma(coefficient(lanes, record, law.factors, d), old, along);
            }
            kept = zero < along;
        }
        let before = row[r + ROW_IMPULSE * TILE];
        let sound = is_finite(before) && kept && law.is_active;
        let counts = select(zero, real(1.0), law.is_active);
        row[r + ROW_IMPULSE * TILE] = select(zero, min(max(before, law.lower), law.upper), sound);
        row[r + ROW_BIAS * TILE] = select(zero, law.bias, law.is_active);
        row[r + ROW_RELAXED * TILE] = zero;
        row[r + ROW_COMPLIANCE * TILE] = law.compliance;
        row[r + ROW_LOWER * TILE] = law.lower;
        row[r + ROW_UPPER * TILE] = law.upper;
        row[r + ROW_ACTIVE * TILE] = counts;
        row[r + ROW_BLOCK * TILE] = zero;
        for (var d = 0u; d < width; d++) {
            var j = zero;
            var dof = 0u;
            if d < record.count {
                j = select(zero, coefficient(lanes, record, law.factors, d), law.is_active);
                dof = row_record_dof(record, d);
            }
            row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE] = j;
            row[r + (ROW_DOF + ROW_TERM * d) * TILE] = real(dof);
        }
        if !law.is_active {
            continue;
        }
        let y = r + row_head(width) * TILE;
        if record.count == 1u {
            respond_alone(record, factor_base, first, r, y);
        } else {
            for (var i = 0u; i < n_v; i++) {
                row[y + i * TILE] = zero;
            }
            for (var d = 0u; d < record.count; d++) {
                row[y + row_record_dof(record, d) * TILE] += row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE];
            }
            solve_row(factor_base, y);
        }
        var block = zero;
        for (var d = 0u; d < record.count; d++) {
            let j = row[r + (ROW_COEFFICIENT + ROW_TERM * d) * TILE];
            block = fma(j, row[y + row_record_dof(record, d) * TILE], block);
        }
        row[r + ROW_BLOCK * TILE] = block;
    }
}
