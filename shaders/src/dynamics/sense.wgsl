// Sensors that show a state. See sense.rs.
#import math
#import dynamics/tree
#import dynamics/body_frame
#import dynamics/sensor_record
#import dynamics/path_record

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> pose: array<real>;
@group(0) @binding(5) var<storage, read> twist: array<real>;
@group(0) @binding(6) var<storage, read> pull: array<real>;
@group(0) @binding(7) var<storage, read> given: array<real>;
@group(0) @binding(8) var<storage, read_write> reading: array<real>;

// First elements of a lane in the buffers.
struct Bases {
    param: u32,
    state: u32,
    pose: u32,
    twist: u32,
    pull: u32,
    given: u32,
    reading: u32,
}

// A frame at c, and how it moves.
struct Frame {
    place: vec3<real>,
    turn: vec4<real>,
    linear: vec3<real>,
    angular: vec3<real>,
}

fn put3(at: u32, x: vec3<real>) {
    reading[at] = x.x;
    reading[at + TILE] = x.y;
    reading[at + 2u * TILE] = x.z;
}

fn put4(at: u32, x: vec4<real>) {
    reading[at] = x.x;
    reading[at + TILE] = x.y;
    reading[at + 2u * TILE] = x.z;
    reading[at + 3u * TILE] = x.w;
}

fn twist3(at: u32) -> vec3<real> {
    return vec3<real>(twist[at], twist[at + TILE], twist[at + 2u * TILE]);
}

fn sense(base: Bases, record: SensorRecord) {
    let at = base.reading + record.at * TILE;
    switch record.kind {
        case SENSOR_POSITION: {
            for (var k = 0u; k < record.count; k++) {
                reading[at + k * TILE] = state[base.state + (record.index + k) * TILE];
            }
        }
        case SENSOR_QUATERNION: {
            let q = base.state + record.index * TILE;
            put4(at, quat_normalize(vec4<real>(state[q], state[q + TILE], state[q + 2u * TILE], state[q + 3u * TILE])));
        }
        case SENSOR_VELOCITY: {
            for (var k = 0u; k < record.count; k++) {
                reading[at + k * TILE] = state[base.state + (dims.tree.n_q + record.index + k) * TILE];
            }
        }
        case SENSOR_LENGTH, SENSOR_RATE, SENSOR_ACTUATOR, SENSOR_EFFORT: { reading[at] += along(base, record); }
        case SENSOR_CENTRE, SENSOR_DRIFT, SENSOR_SPIN: { put3(at, subtree(base, record)); }
        case SENSOR_GIVEN: {
            for (var k = 0u; k < record.count; k++) {
                reading[at + k * TILE] = given[base.given + (record.index + k) * TILE];
            }
        }
        case SENSOR_CUT: { cut(base, record); }
        case SENSOR_TURN: {
            let own = frame(base, record.param + PARAM_SENSOR_FRAME, record.body);
            let other = frame(base, record.param + PARAM_SENSOR_OTHER, record.other);
            put4(at, quat_mul(quat_conjugate(other.turn), own.turn));
        }
        default: { put3(at, seen(base, record)); }
    }
}

// Bounds a reading both ways.
fn cut(base: Bases, record: SensorRecord) {
    let most = param_at(base.param, record.param + PARAM_SENSOR_CUTOFF);
    for (var k = 0u; k < record.count; k++) {
        let at = base.reading + (record.at + k) * TILE;
        reading[at] = clamp_keep(reading[at], -most, most);
    }
}

// What a path and an actuator on it show.
fn along(base: Bases, record: SensorRecord) -> real {
    let path = path_record(record.index);
    let at = base.pull + path.pull * TILE;
    var length = pull[at];
    var rate = real(0.0);
    for (var k = 0u; k < path.dof_count; k++) {
        let v = state[base.state + (dims.tree.n_q + path_dof(path, k)) * TILE];
        rate = fma(pull[at + (1u + k) * TILE], v, rate);
    }
    if record.actuator == NONE {
        return select(rate, length, record.kind == SENSOR_LENGTH);
    }
    let own = actuator_param(record.actuator);
    var gear = real(1.0);
    if path.gear == NONE {
        gear = param_at(base.param, own + PARAM_ACTUATOR_GEAR);
    }
    length = gear * length;
    rate = gear * rate;
    if record.kind == SENSOR_LENGTH {
        return length;
    }
    if record.kind == SENSOR_RATE {
        return rate;
    }
    let limits = own + PARAM_ACTUATOR_CONTROL;
    let given = state[base.state + (dims.tree.n_q + dims.tree.n_v + record.actuator) * TILE];
    let control = clamp_keep(given, param_at(base.param, limits), param_at(base.param, limits + 1u));
    let bias = param_at3(base.param, own + PARAM_ACTUATOR_BIAS);
    let constant = fma(param_at(base.param, own + PARAM_ACTUATOR_GAIN), control, bias.x);
    let whole = fma(bias.z, rate, fma(bias.y, length, constant));
    let bounds = own + PARAM_ACTUATOR_FORCE;
    let force = clamp_keep(whole, param_at(base.param, bounds), param_at(base.param, bounds + 1u));
    if record.kind == SENSOR_ACTUATOR {
        return force;
    }
    return gear * pull[at + (1u + record.dof) * TILE] * force;
}

// A frame of a body.
fn frame(base: Bases, at: u32, body: u32) -> Frame {
    let turn = quat_mul(orientation(base.pose, body), param_at4(base.param, at + 3u));
    let here = place(base.pose, body, param_at3(base.param, at));
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    if body == NONE {
        return Frame(here, turn, zero, zero);
    }
    let t = base.twist + body * SPATIAL * TILE;
    let angular = twist3(t);
    return Frame(here, turn, twist3(t + 3u * TILE) + cross3(angular, here), angular);
}

// Three numbers of a frame.
fn seen(base: Bases, record: SensorRecord) -> vec3<real> {
    if record.kind == SENSOR_FIELD {
        let turn = quat_mul(
            orientation(base.pose, record.body), param_at4(base.param, record.param + PARAM_SENSOR_FRAME + 3u),
        );
        return quat_rotate(quat_conjugate(turn), param_at3(base.param, record.param + PARAM_SENSOR_OTHER));
    }
    let own = frame(base, record.param + PARAM_SENSOR_FRAME, record.body);
    let other = frame(base, record.param + PARAM_SENSOR_OTHER, record.other);
    let arm = own.place - other.place;
    let back = quat_conjugate(other.turn);
    switch record.kind {
        case SENSOR_PLACE: { return quat_rotate(back, arm); }
        case SENSOR_AXIS: {
            let one = vec3<u32>(0u, 1u, 2u) == vec3<u32>(record.index);
            let axis = select(
                vec3<real>(real(0.0), real(0.0), real(0.0)), vec3<real>(real(1.0), real(1.0), real(1.0)), one,
            );
            return quat_rotate(back, quat_rotate(own.turn, axis));
        }
        case SENSOR_LINEAR: { return quat_rotate(back, own.linear - other.linear - cross3(other.angular, arm)); }
        case SENSOR_ANGULAR: { return quat_rotate(back, own.angular - other.angular); }
        case SENSOR_OWN_LINEAR: { return quat_rotate(quat_conjugate(own.turn), own.linear); }
        default: { return quat_rotate(quat_conjugate(own.turn), own.angular); }
    }
}

// Centre of mass of a subtree, its velocity, or the angular momentum about it.
fn subtree(base: Bases, record: SensorRecord) -> vec3<real> {
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    var total = real(0.0);
    var moment = zero;
    var momentum = zero;
    var spin = zero;
    for (var b = record.body; b < body_record(record.body).subtree_end; b++) {
        let at = body_param(b);
        let mass = param_at(base.param, at + PARAM_BODY_MASS);
        let com = place(base.pose, b, param_at3(base.param, at + PARAM_BODY_COM));
        let t = base.twist + b * SPATIAL * TILE;
        let angular = twist3(t);
        let velocity = twist3(t + 3u * TILE) + cross3(angular, com);
        total += mass;
        moment = scale_add(com, mass, moment);
        let linear = velocity * mass;
        momentum += linear;
        if record.kind == SENSOR_SPIN {
            let axes = quat_matrix(orientation(base.pose, b));
            let i = at + PARAM_BODY_INERTIA;
            let inertia = Sym3(param_at3(base.param, i), param_at3(base.param, i + 3u));
            let own = mat_vec(axes, sym_vec(inertia, mat_t_vec(axes, angular)));
            spin += own + cross3(com, linear);
        }
    }
    let share = real(1.0) / total;
    let centre = moment * share;
    switch record.kind {
        case SENSOR_CENTRE: {
            let c = vec3<real>(pose[base.pose], pose[base.pose + TILE], pose[base.pose + 2u * TILE]);
            return centre + c;
        }
        case SENSOR_DRIFT: { return momentum * share; }
        default: { return spin - cross3(centre, momentum); }
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let header = sensor_header();
    let base = Bases(
        param_base(lane),
        tile_base(lane, n_state()),
        tile_base(lane, POSE * dims.tree.n_body),
        tile_base(lane, SPATIAL * dims.tree.n_body),
        tile_base(lane, dims.tree.n_pull),
        tile_base(lane, header.n_given),
        tile_base(lane, header.n_reading),
    );
    for (var i = 0u; i < header.n_reading; i++) {
        reading[base.reading + i * TILE] = real(0.0);
    }
    for (var i = 0u; i < header.n_sensor; i++) {
        let record = sensor_record(i);
        if record.kind < SENSOR_LATE {
            sense(base, record);
        }
    }
}
