// ds of the rows of a tree, kinks of their biases, and what the motion of their impulses adds to dF. See row_shifts.rs.
#import math
#import dynamics/tree
#import dynamics/derivatives/turn
#import dynamics/derivatives/length
#import dynamics/derivatives/layout
#import contact/tree_layout
#import contact/gradient/layout
#import contact/gradient/kink
#import contact/gradient/sides.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> row: array<real>;
@group(0) @binding(5) var<storage, read> velocity: array<real>;
@group(0) @binding(6) var<storage, read> places: array<u32>;
@group(0) @binding(7) var<storage, read_write> shift: array<real>;
@group(0) @binding(8) var<storage, read_write> slope: array<real>;

// A row as its derivative needs it: its record, first elements of a lane in the buffers, those of its numbers and of
// what is written; settings 1/h, fraction, largest speed.
struct Own {
    record: RowRecord,
    param: u32,
    state: u32,
    numbers: u32,
    velocity: u32,
    slope: u32,
    out: u32,
    settings: vec3<real>,
    closed: real,
}

fn own_param(own: Own, parameter: u32) -> real {
    return param_at(own.param, own.record.param + parameter);
}

fn number(own: Own, field: u32) -> real {
    return row[own.numbers + field * TILE];
}

fn put(own: Own, field: u32, x: real) {
    shift[own.out + field * TILE] = x;
}

fn put_kink(own: Own, gap: real) {
    let found = kink(gap, own.settings, own.closed);
    put(own, ROW_SHIFT_MARGIN, found.x);
    put(own, ROW_SHIFT_CLOSED, found.y);
}

fn limit(own: Own) {
    let side = number(own, ROW_COEFFICIENT);
    let q = state[own.state + own.record.q * TILE];
    let below = q - own_param(own, PARAM_JOINT_LOWER);
    let above = own_param(own, PARAM_JOINT_UPPER) - q;
    let gap = select(above, below, real(0.0) < side);
    put(own, ROW_SHIFT_BY_Q, side * kink_slope(gap, own.settings, own.closed));
    put_kink(own, gap);
}

// J = -axis^T, of which the derivative turns with the logarithm.
fn ball(own: Own) {
    let turn = quat_log(orientation_at(own.state, own.record.q));
    let angle = max(sqrt(dot3(turn, turn)), real(1e-12));
    var axis = turn * (real(1.0) / angle);
    let gap = own_param(own, PARAM_JOINT_UPPER) - angle;
    let gap_slope = kink_slope(gap, own.settings, own.closed);
    put_kink(own, gap);
    let inverse = turn_right_inverse(turn);
    var along = mat_t_vec(inverse, axis);
    var rows = array<vec3<real>, 3>(inverse.x, inverse.y, inverse.z);
    let record = own.record;
    var dofs = vec3<u32>(row_record_dof(record, 0u), row_record_dof(record, 1u), row_record_dof(record, 2u));
    for (var k = 0u; k < 3u; k++) {
        var moved = real(0.0);
        for (var l = 0u; l < 3u; l++) {
            let change = (axis[l] * along[k] - rows[l][k]) / angle;
            moved = fma(change, velocity[own.velocity + dofs[l] * TILE], moved);
            let to = own.slope + (dofs[l] * slope_width() + dofs[k]) * TILE;
            slope[to] = fma(number(own, ROW_IMPULSE), change, slope[to]);
        }
        put(own, ROW_SHIFT_BY_Q + k, moved - gap_slope * axis[k]);
    }
}

fn drive(own: Own, h: real) {
    let per_force = -(h * number(own, ROW_COMPLIANCE));
    let joint = joint_record(dof_record(row_record_dof(own.record, 0u)).joint);
    var length = length_slope(own.param, own.state, joint, own.record.param + PARAM_ACTUATOR_GEAR);
    let pull = per_force * own_param(own, PARAM_ACTUATOR_BIAS + 1u);
    for (var k = 0u; k < own.record.count; k++) {
        put(own, ROW_SHIFT_BY_Q + k, pull * length[k]);
    }
    let control = state[own.state + (dims.tree.n_q + dims.tree.n_v + own.record.source) * TILE];
    let low = own_param(own, PARAM_ACTUATOR_CONTROL);
    let counts = low <= control && control <= own_param(own, PARAM_ACTUATOR_CONTROL + 1u);
    put(own, ROW_SHIFT_CONTROL, real(own.record.source));
    put(own, ROW_SHIFT_BY_CTRL, select(real(0.0), per_force * own_param(own, PARAM_ACTUATOR_GAIN), counts));
}

// `q1 - ref1 = p(q2 - ref2)`, J = (1, -p').
fn coupling(own: Own) {
    let zero = real(0.0);
    let driven = own.record.source != NONE;
    var driver = zero;
    if driven {
        driver = state[own.state + own.record.source * TILE] - own_param(own, PARAM_COUPLING_DRIVER_REFERENCE);
    }
    var value = zero;
    var first = zero;
    var bend = zero;
    for (var k = 0u; k < 5u; k++) {
        bend = fma(bend, driver, real(2.0) * first);
        first = fma(first, driver, value);
        value = fma(value, driver, own_param(own, PARAM_COUPLING_COEFFICIENTS + 4u - k));
    }
    let error = state[own.state + own.record.q * TILE] - own_param(own, PARAM_COUPLING_REFERENCE) - value;
    let bias = kink_bilateral(error, own.settings);
    put(own, ROW_SHIFT_BY_Q, bias.x);
    put(own, ROW_SHIFT_MARGIN, bias.y);
    if driven {
        let dof = row_record_dof(own.record, 1u);
        put(own, ROW_SHIFT_BY_Q + 1u, -(first * bias.x) - bend * velocity[own.velocity + dof * TILE]);
        slope[own.slope + (dof * slope_width() + dof) * TILE] -= number(own, ROW_IMPULSE) * bend;
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n = dims.tree.n_v;
    let param = param_base(lane);
    let h = param_at(param, PARAM_TIMESTEP);
    let settings = vec3<real>(
        real(1.0) / h, param_at(param, PARAM_CORRECTION_FRACTION), param_at(param, PARAM_CORRECTION_MAX),
    );
    let stride = row_stride(n, ROW_WIDTH);
    let numbers = tile_base(lane, dims.tree.n_row * stride);
    let out = ragged_base(lane, PLACE_SHIFT) + tile_place(lane, PLACE_COUNT) * slot_shift(n) * TILE;
    for (var r = 0u; r < dims.tree.n_row; r++) {
        let own = Own(
            row_record(r),
            param,
            tile_base(lane, n_state()),
            numbers + r * stride * TILE,
            tile_base(lane, n),
            slope_base(lane),
            out + r * ROW_SHIFT_SIZE * TILE,
            settings,
            real(bitcast<f32>(dims.closed)),
        );
        for (var field = 0u; field < ROW_SHIFT_SIZE; field++) {
            put(own, field, real(0.0));
        }
        put(own, ROW_SHIFT_MARGIN, UNBOUNDED);
        switch own.record.kind {
            case ROW_LIMIT: {
                limit(own);
            }
            case ROW_LIMIT_BALL: {
                ball(own);
            }
            case ROW_DRIVE: {
                drive(own, h);
            }
            case ROW_COUPLING: {
                coupling(own);
            }
            // Dry friction depends on nothing.
            default: {}
        }
    }
}
