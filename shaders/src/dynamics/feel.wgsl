// Sensors that show what a step does. See feel.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/body_inertia
#import dynamics/body_frame
#import dynamics/sensor_record

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> pose: array<real>;
@group(0) @binding(4) var<storage, read> twist: array<real>;
@group(0) @binding(5) var<storage, read> acceleration: array<real>;
@group(0) @binding(6) var<storage, read> load: array<real>;
@group(0) @binding(7) var<storage, read_write> reading: array<real>;
@group(0) @binding(8) var<storage, read> status: array<u32>;

// First elements of a lane in the buffers; body: of those with six numbers a body.
struct Bases {
    param: u32,
    pose: u32,
    body: u32,
    load: u32,
    reading: u32,
}

fn put3(at: u32, x: vec3<real>) {
    reading[at] = x.x;
    reading[at + TILE] = x.y;
    reading[at + 2u * TILE] = x.z;
}

fn twist_of(at: u32) -> Spatial {
    return Spatial(
        vec3<real>(twist[at], twist[at + TILE], twist[at + 2u * TILE]),
        vec3<real>(twist[at + 3u * TILE], twist[at + 4u * TILE], twist[at + 5u * TILE]),
    );
}

fn acceleration_of(at: u32) -> Spatial {
    return Spatial(
        vec3<real>(acceleration[at], acceleration[at + TILE], acceleration[at + 2u * TILE]),
        vec3<real>(acceleration[at + 3u * TILE], acceleration[at + 4u * TILE], acceleration[at + 5u * TILE]),
    );
}

fn load_of(at: u32) -> Spatial {
    return Spatial(
        vec3<real>(load[at], load[at + TILE], load[at + 2u * TILE]),
        vec3<real>(load[at + 3u * TILE], load[at + 4u * TILE], load[at + 5u * TILE]),
    );
}

fn feel(base: Bases, record: SensorRecord) {
    let at = base.reading + record.at * TILE;
    switch record.kind {
        case SENSOR_LOAD: { reading[at] = load[base.load + record.index * TILE]; }
        case SENSOR_CUT_LATE: { cut(base, record); }
        case SENSOR_FORCE, SENSOR_TORQUE: { put3(at, joint(base, record)); }
        default: { put3(at, rate(base, record)); }
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

// Acceleration of a frame, less gravity.
fn rate(base: Bases, record: SensorRecord) -> vec3<real> {
    let at = record.param + PARAM_SENSOR_FRAME;
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    var v = Spatial(zero, zero);
    var a = Spatial(zero, param_at3(base.param, PARAM_GRAVITY) * real(-1.0));
    if record.body != NONE {
        let b = base.body + record.body * SPATIAL * TILE;
        v = twist_of(b);
        a = acceleration_of(b);
    }
    if record.kind == SENSOR_TURNING {
        return a.angular;
    }
    let x = place(base.pose, record.body, param_at3(base.param, at));
    let velocity = v.linear + cross3(v.angular, x);
    let linear = a.linear + cross3(a.angular, x) + cross3(v.angular, velocity);
    if record.kind == SENSOR_WORLD_ACCELERATION {
        return linear;
    }
    let turn = quat_mul(orientation(base.pose, record.body), param_at4(base.param, at + 3u));
    return quat_rotate(quat_conjugate(turn), linear);
}

// What the parent of a body exerts on it.
fn joint(base: Bases, record: SensorRecord) -> vec3<real> {
    let c = pose3(base.pose);
    var moment = vec3<real>(real(0.0), real(0.0), real(0.0));
    var force = moment;
    for (var b = record.body; b < body_record(record.body).subtree_end; b++) {
        let at = base.body + b * SPATIAL * TILE;
        let inertia = inertia_at(base.param, b, base.pose, c);
        let v = twist_of(at);
        let rising = apply(inertia, acceleration_of(at));
        let momentum = apply(inertia, v);
        let given = load_of(base.load + b * SPATIAL * TILE);
        let turning = rising.angular + cross3(v.angular, momentum.angular) + cross3(v.linear, momentum.linear);
        moment += turning - given.angular;
        force += rising.linear + cross3(v.angular, momentum.linear) - given.linear;
    }
    let at = record.param + PARAM_SENSOR_FRAME;
    var vector = force;
    if record.kind == SENSOR_TORQUE {
        vector = moment - cross3(place(base.pose, record.body, param_at3(base.param, at)), force);
    }
    let turn = quat_mul(orientation(base.pose, record.body), param_at4(base.param, at + 3u));
    return quat_rotate(quat_conjugate(turn), vector);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes || (status[lane] & (STATUS_STOPPED | STATUS_HELD)) != 0u {
        return;
    }
    let header = sensor_header();
    let base = Bases(
        param_base(lane),
        tile_base(lane, POSE * dims.tree.n_body),
        tile_base(lane, SPATIAL * dims.tree.n_body),
        tile_base(lane, header.n_load),
        tile_base(lane, header.n_reading),
    );
    for (var i = 0u; i < header.n_sensor; i++) {
        let record = sensor_record(i);
        // Those of limits are another kernel's.
        if record.kind >= SENSOR_LATE && record.kind < SENSOR_BOUND {
            feel(base, record);
        }
    }
}
