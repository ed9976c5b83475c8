// Static rows: joint limits, dry friction, force-limited drives and joint couplings. See tree_rows.rs.
#import math
#import dynamics/tree
#import dynamics/solve
#import dynamics/small
#import contact/tree_layout

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> factor: array<real>;
@group(0) @binding(5) var<storage, read_write> row: array<real>;

struct Law {
    bias: real,
    compliance: real,
    lower: real,
    upper: real,
    is_active: bool,
    coefficient: vec3<real>,
}

fn load_x(base: u32, i: u32) -> real {
    return row[base + i * TILE];
}

fn store_x(base: u32, i: u32, value: real) {
    row[base + i * TILE] = value;
}

fn row_law(record: RowRecord, param: u32, base: u32) -> Law {
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
            return limit(select(above, below, nearer), sign, record, param, v);
        }
        case ROW_LIMIT_BALL: {
            let turn = rotation(q);
            let angle = sqrt(fma(turn.x, turn.x, fma(turn.y, turn.y, turn.z * turn.z)));
            let shrink = -(one / max(angle, real(1e-12)));
            return limit(param_at(param, at + PARAM_JOINT_UPPER) - angle, turn * shrink, record, param, v);
        }
        case ROW_FRICTION: {
            let most = h * param_at(param, at + PARAM_JOINT_FRICTION);
            return Law(zero, zero, -most, most, zero < most, vec3<real>(one, zero, zero));
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
                force = fma(gain, row_velocity(gear, record, v), force);
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
                driver = state[base + record.source * TILE] - param_at(param, at + PARAM_COUPLING_DRIVER_REFERENCE);
            }
            var value = zero;
            var slope = zero;
            for (var k = 0u; k < 5u; k++) {
                slope = fma(slope, driver, value);
                value = fma(value, driver, param_at(param, at + PARAM_COUPLING_COEFFICIENTS + 4u - k));
            }
            let error = state[q] - param_at(param, at + PARAM_COUPLING_REFERENCE) - value;
            let bias = bilateral_bias(
                error,
                one / h,
                param_at(param, PARAM_CORRECTION_FRACTION),
                param_at(param, PARAM_CORRECTION_MAX),
            );
            let second = select(-slope, zero, record.source == NONE);
            return Law(bias, zero, -UNBOUNDED, UNBOUNDED, true, vec3<real>(one, second, zero));
        }
    }
}

fn row_velocity(coefficient: vec3<real>, record: RowRecord, v: u32) -> real {
    var speed = coefficient.x * state[v + record.dofs[0] * TILE];
    if record.count > 1u {
        speed = fma(coefficient.y, state[v + record.dofs[1] * TILE], speed);
        speed = fma(coefficient.z, state[v + record.dofs[2] * TILE], speed);
    }
    return speed;
}

fn limit(distance: real, coefficient: vec3<real>, record: RowRecord, param: u32, v: u32) -> Law {
    let per_step = real(1.0) / param_at(param, PARAM_TIMESTEP);
    let speed = row_velocity(coefficient, record, v);
    let reach = min(distance * per_step, UNBOUNDED) + real(2.0) * min(speed, real(0.0)) - REACH;
    let bias = position_bias(
        distance,
        per_step,
        param_at(param, PARAM_CORRECTION_FRACTION),
        param_at(param, PARAM_CORRECTION_MAX),
        real(0.0),
    );
    return Law(bias, real(0.0), real(0.0), UNBOUNDED, reach < real(0.0), coefficient);
}

fn rotation(q: u32) -> vec3<real> {
    return quat_log(vec4<real>(state[q], state[q + TILE], state[q + 2u * TILE], state[q + 3u * TILE]));
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n_v = dims.tree.n_v;
    let zero = real(0.0);
    let param = param_base(lane);
    let base = tile_base(lane, n_state());
    let factor_base = tile_base(lane, dims.tree.n_m);
    let stride = row_stride(n_v);
    let first = tile_base(lane, dims.tree.n_row * stride);
    let small = is_small();
    if small {
        read_small();
    }
    for (var k = 0u; k < dims.tree.n_row; k++) {
        let record = row_record(k);
        let law = row_law(record, param, base);
        let r = first + k * stride * TILE;
        let kept = record.kind != ROW_LIMIT || law.coefficient.x == row[r + ROW_COEFFICIENT * TILE];
        let before = row[r + ROW_IMPULSE * TILE];
        let sound = is_finite(before) && kept && law.is_active;
        let counts = select(zero, real(1.0), law.is_active);
        row[r + ROW_IMPULSE * TILE] = select(zero, min(max(before, law.lower), law.upper), sound);
        row[r + ROW_BIAS * TILE] = select(zero, law.bias, law.is_active);
        row[r + ROW_COMPLIANCE * TILE] = law.compliance;
        row[r + ROW_LOWER * TILE] = law.lower;
        row[r + ROW_UPPER * TILE] = law.upper;
        row[r + ROW_ACTIVE * TILE] = counts;
        row[r + ROW_BLOCK * TILE] = zero;
        var dofs = vec3<u32>(record.dofs[0], record.dofs[1], record.dofs[2]);
        if record.count < 3u {
            dofs.z = 0u;
        }
        if record.count < 2u {
            dofs.y = 0u;
        }
        for (var d = 0u; d < 3u; d++) {
            row[r + (ROW_COEFFICIENT + d) * TILE] = select(zero, law.coefficient[d], law.is_active);
            row[r + (ROW_DOF + d) * TILE] = real(dofs[d]);
        }
        if !law.is_active {
            continue;
        }
        let y = r + ROW_Y * TILE;
        for (var i = 0u; i < n_v; i++) {
            row[y + i * TILE] = zero;
        }
        for (var d = 0u; d < record.count; d++) {
            row[y + dofs[d] * TILE] = law.coefficient[d];
        }
        if small {
            for (var i = 0u; i < n_v; i++) {
                x[i] = row[y + i * TILE];
            }
            solve_small(factor_base);
            for (var i = 0u; i < n_v; i++) {
                row[y + i * TILE] = x[i];
            }
        } else {
            solve(factor_base, y);
        }
        var block = zero;
        for (var d = 0u; d < record.count; d++) {
            block = fma(law.coefficient[d], row[y + dofs[d] * TILE], block);
        }
        row[r + ROW_BLOCK * TILE] = block;
    }
}
