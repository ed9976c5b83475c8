// Lengths and moment arms of paths. See path.rs.
#import math
#import dynamics/tree
#import dynamics/carried
#import dynamics/wrap

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> pose: array<real>;
@group(0) @binding(5) var<storage, read> motion: array<real>;
@group(0) @binding(6) var<storage, read_write> pull: array<real>;

// First elements of a lane in the buffers; pull: of the path at hand.
struct Bases {
    param: u32,
    state: u32,
    pose: u32,
    motion: u32,
    pull: u32,
}

fn linear(base: Bases, record: PathRecord) {
    for (var k = 0u; k < record.point_count; k++) {
        let item = point_record(record, k);
        let coefficient = param_at(base.param, item.param + PARAM_POINT);
        pull[base.pull] = fma(coefficient, state[base.state + item.q * TILE], pull[base.pull]);
        pull[base.pull + (1u + item.dof) * TILE] += coefficient;
    }
}

// Adds `times` the line between two points.
fn add_line(
    base: Bases, record: PathRecord, bodies: vec3<u32>, start: vec3<real>, end: vec3<real>, share: real, times: real,
) {
    let way = end - start;
    let length = sqrt(dot3(way, way));
    let along = way * (real(1.0) / max(length, SHORTEST));
    pull[base.pull] = fma(times, length, pull[base.pull]);
    for (var k = 0u; k < record.dof_count; k++) {
        let i = path_dof(record, k);
        let dof = dof_record(i);
        let near = carries(dof, bodies.y);
        let held = fma(share, carries(dof, bodies.z) - near, near);
        let ahead = held * dot3(along, point_motion(base.motion, i, end));
        let behind = carries(dof, bodies.x) * dot3(along, point_motion(base.motion, i, start));
        let at = base.pull + (1u + k) * TILE;
        pull[at] = fma(times, ahead - behind, pull[at]);
    }
}

fn spatial(base: Bases, record: PathRecord) {
    var times = real(1.0);
    for (var j = 0u; j + 1u < record.point_count; j++) {
        let first = point_record(record, j);
        let second = point_record(record, j + 1u);
        if first.kind == POINT_PULLEY {
            times = real(1.0) / param_at(base.param, first.param + PARAM_POINT);
        }
        if first.kind != POINT_SITE || second.kind == POINT_PULLEY {
            continue;
        }
        let start = place(base.pose, first.body, param_at3(base.param, first.param + PARAM_POINT));
        if second.kind == POINT_SITE {
            let end = place(base.pose, second.body, param_at3(base.param, second.param + PARAM_POINT));
            let bodies = vec3<u32>(first.body, second.body, second.body);
            add_line(base, record, bodies, start, end, real(0.0), times);
            continue;
        }
        let last = point_record(record, j + 2u);
        let end = place(base.pose, last.body, param_at3(base.param, last.param + PARAM_POINT));
        let centre = place(base.pose, second.body, param_at3(base.param, second.param + PARAM_POINT));
        let own = param_at4(base.param, second.param + PARAM_POINT_ORIENTATION);
        let turn = quat_mul(orientation(base.pose, second.body), own);
        let back = quat_conjugate(turn);
        let beside = place(base.pose, second.side, param_at3(base.param, second.param + PARAM_POINT_SIDE));
        let radius = param_at(base.param, second.param + PARAM_POINT_RADIUS);
        let way = wrap(
            quat_rotate(back, start - centre), quat_rotate(back, end - centre), quat_rotate(back, beside - centre),
            second.sided == 1u, second.kind == POINT_CYLINDER, radius,
        );
        let share = select(real(0.0), real(1.0), way.wraps);
        let meets = centre + quat_rotate(turn, way.first);
        let leaves = centre + quat_rotate(turn, way.second);
        let reached = end + (meets - end) * share;
        add_line(base, record, vec3<u32>(first.body, last.body, second.body), start, reached, share, times);
        let bodies = vec3<u32>(second.body, last.body, last.body);
        add_line(base, record, bodies, leaves, end, real(0.0), times * share);
        pull[base.pull] = fma(times * share, way.length, pull[base.pull]);
    }
}

fn put_arm(base: Bases, k: u32, arm: real) {
    pull[base.pull + (1u + k) * TILE] = arm;
}

fn put_arm3(base: Bases, k: u32, arm: vec3<real>) {
    put_arm(base, k, arm.x);
    put_arm(base, k + 1u, arm.y);
    put_arm(base, k + 2u, arm.z);
}

fn turn_at(base: Bases, q: u32) -> vec4<real> {
    let at = base.state + q * TILE;
    return quat_normalize(vec4<real>(state[at], state[at + TILE], state[at + 2u * TILE], state[at + 3u * TILE]));
}

fn ball(base: Bases, record: PathRecord) {
    let turn = turn_at(base, record.q);
    var gear = param_at3(base.param, record.gear);
    if record.in_parent == 1u {
        gear = quat_rotate(quat_conjugate(turn), gear);
    }
    pull[base.pull] = dot3(gear, quat_log(turn));
    put_arm3(base, 0u, gear);
}

fn free(base: Bases, record: PathRecord) {
    var gear = param_at3(base.param, record.gear + 3u);
    if record.in_parent == 1u {
        gear = quat_rotate(quat_conjugate(turn_at(base, record.q + 3u)), gear);
    }
    put_arm3(base, 0u, param_at3(base.param, record.gear));
    put_arm3(base, 3u, gear);
}

fn site(base: Bases, record: PathRecord) {
    let at = record.param + PARAM_PATH_FRAME;
    let x = place(base.pose, record.body, param_at3(base.param, at));
    let turn = quat_mul(orientation(base.pose, record.body), param_at4(base.param, at + 3u));
    let force = quat_rotate(turn, param_at3(base.param, record.gear));
    let torque = quat_rotate(turn, param_at3(base.param, record.gear + 3u));
    for (var k = 0u; k < record.dof_count; k++) {
        let i = path_dof(record, k);
        put_arm(base, k, dot3(force, point_motion(base.motion, i, x)) + dot3(torque, motion3(base.motion, i)));
    }
}

fn relative(base: Bases, record: PathRecord) {
    let at = record.param + PARAM_PATH_FRAME;
    let other = record.param + PARAM_PATH_OTHER;
    let x = place(base.pose, record.body, param_at3(base.param, at));
    let start = place(base.pose, record.other, param_at3(base.param, other));
    let own = param_at4(base.param, at + 3u);
    let own_other = param_at4(base.param, other + 3u);
    let body = orientation(base.pose, record.body);
    let reference = orientation(base.pose, record.other);
    let turn = quat_mul(reference, own_other);
    let seen = quat_rotate(quat_conjugate(turn), x - start);
    let turned = quat_log(quat_mul(quat_conjugate(quat_mul(own_other, reference)), quat_mul(own, body)));
    let shift = param_at3(base.param, record.gear);
    let spin = param_at3(base.param, record.gear + 3u);
    pull[base.pull] = dot3(shift, seen) + dot3(spin, turned);
    let force = quat_rotate(turn, shift);
    let torque = quat_rotate(turn, spin);
    for (var k = 0u; k < record.dof_count; k++) {
        let i = path_dof(record, k);
        let dof = dof_record(i);
        let held = carries(dof, record.other);
        let moved = carries(dof, record.body);
        let ahead = dot3(force, point_motion(base.motion, i, x));
        let behind = dot3(force, point_motion(base.motion, i, start));
        put_arm(base, k, moved * ahead - held * behind + (moved - held) * dot3(torque, motion3(base.motion, i)));
    }
}

fn crank(base: Bases, record: PathRecord) {
    let at = record.param + PARAM_PATH_FRAME;
    let other = record.param + PARAM_PATH_OTHER;
    let x = place(base.pose, record.body, param_at3(base.param, at));
    let start = place(base.pose, record.other, param_at3(base.param, other));
    let turn = quat_mul(orientation(base.pose, record.other), param_at4(base.param, other + 3u));
    let axis = quat_rotate(turn, vec3<real>(real(0.0), real(0.0), real(1.0)));
    let rod = param_at(base.param, record.param + PARAM_PATH_ROD);
    let way = x - start;
    let along = dot3(axis, way);
    let det = fma(along, along, fma(rod, rod, -dot3(way, way)));
    let reaches = real(0.0) < det;
    let root = sqrt(select(real(0.0), det, reaches));
    pull[base.pull] = along - root;
    let inverse = select(real(0.0), real(1.0), reaches) / select(real(1.0), root, reaches);
    let slope = fma(-along, inverse, real(1.0));
    let by_way = scale_add(way, inverse, axis * slope);
    let by_axis = way * slope;
    for (var k = 0u; k < record.dof_count; k++) {
        let i = path_dof(record, k);
        let dof = dof_record(i);
        let held = carries(dof, record.other);
        let moved = carries(dof, record.body);
        let spin = cross3(motion3(base.motion, i), axis);
        let shift = point_motion(base.motion, i, x) * moved + point_motion(base.motion, i, start) * (-held);
        put_arm(base, k, fma(held, dot3(by_axis, spin), dot3(by_way, shift)));
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let pull_base = tile_base(lane, dims.tree.n_pull);
    for (var i = 0u; i < dims.tree.n_pull; i++) {
        pull[pull_base + i * TILE] = real(0.0);
    }
    for (var p = 0u; p < dims.tree.n_path; p++) {
        let record = path_record(p);
        let base = Bases(
            param_base(lane),
            tile_base(lane, n_state()),
            tile_base(lane, POSE * dims.tree.n_body),
            tile_base(lane, SPATIAL * dims.tree.n_v),
            pull_base + record.pull * TILE,
        );
        switch record.kind {
            case PATH_LINEAR: { linear(base, record); }
            case PATH_SPATIAL: { spatial(base, record); }
            case PATH_BALL: { ball(base, record); }
            case PATH_FREE: { free(base, record); }
            case PATH_SITE: { site(base, record); }
            case PATH_RELATIVE: { relative(base, record); }
            default: { crank(base, record); }
        }
    }
}
