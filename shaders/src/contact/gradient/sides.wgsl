// What the two bodies of a contact do to it, as linear functions of their motions. See sides.rs.
#import math
#import dynamics/tree
#import dynamics/derivatives/layout
#import contact/frame
#import contact/gradient/layout
#import contact/gradient/kink
#import contact/gradient/force

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read> impulse: array<real>;
@group(0) @binding(5) var<storage, read> touch: array<real>;
@group(0) @binding(6) var<storage, read> act: array<real>;
@group(0) @binding(7) var<storage, read_write> side: array<real>;

// What weighs two vectors of a body's motion: the velocity at the point and the angular velocity; or at c the angular
// velocity and the linear one.
struct Weights {
    first: vec3<real>,
    second: vec3<real>,
}

// How the tangents change with the normal: `d t1 = first dn`, `d t2 = second dn`.
struct Turned {
    first: Mat3,
    second: Mat3,
}

fn turned_tangents(normal: vec3<real>) -> Turned {
    let x = normal.x;
    let y = normal.y;
    let z = normal.z;
    let one = real(1.0);
    let two = real(2.0);
    let none = real(0.0);
    // The branch that the tangents took.
    let s = select(one, -one, z < real(-0.5));
    let a = -one / (s + z);
    let bend = a * a;
    let b = vec3<real>(y * a, x * a, x * y * bend);
    return Turned(
        Mat3(vec3<real>(two * s * x * a, none, s * x * x * bend), s * b, vec3<real>(-s, none, none)),
        Mat3(b, vec3<real>(none, two * y * a, y * y * bend), vec3<real>(none, -one, none)),
    );
}

// `sum_k rows_k u_k`.
fn weighed_rows(rows: Mat3, u: vec3<real>) -> vec3<real> {
    return scale_add(rows.z, u.z, scale_add(rows.y, u.y, rows.x * u.x));
}

// Whether a contact carries something: whether there is a body that it moves.
fn acts(a: real, b: real) -> bool {
    return real(0.0) <= a || real(0.0) <= b;
}

// Three numbers of a body; zeros for the ground.
fn body3(twist: u32, body: real, field: u32) -> vec3<real> {
    if body < real(0.0) {
        return vec3<real>(real(0.0), real(0.0), real(0.0));
    }
    let at = twist + (u32(body) * SPATIAL + field) * TILE;
    return vec3<real>(act[at], act[at + TILE], act[at + 2u * TILE]);
}

// What weighs a motion at c as `linear` does the velocity at the point, `angular` the angular velocity.
fn at_centre(arm: vec3<real>, linear: vec3<real>, angular: vec3<real>) -> Weights {
    return Weights(cross3(arm, linear) + angular, linear);
}

fn store3(at: u32, x: vec3<real>) {
    side[at] = x.x;
    side[at + TILE] = x.y;
    side[at + 2u * TILE] = x.z;
}

fn store(at: u32, row: u32, x: Weights) {
    store3(at + row * SPATIAL * TILE, x.first);
    store3(at + (row * SPATIAL + 3u) * TILE, x.second);
}

fn slope_row(slopes: u32, row: u32) -> Weights {
    let at = slopes + row * SPATIAL * TILE;
    return Weights(touch3(at), touch3(at + 3u * TILE));
}

fn weights_add(x: Weights, by: real, sum: Weights) -> Weights {
    return Weights(scale_add(x.first, by, sum.first), scale_add(x.second, by, sum.second));
}

// Sums of rows of a body's slopes, each times a number.
fn combined(slopes: u32, first: u32, weights: vec3<real>, start: Weights) -> Weights {
    var sum = weights_add(slope_row(slopes, first), weights.x, start);
    sum = weights_add(slope_row(slopes, first + 1u), weights.y, sum);
    return weights_add(slope_row(slopes, first + 2u), weights.z, sum);
}

// What a slot's two bodies have in common.
struct Contact {
    arm: vec3<real>,
    axes: Mat3,
    // The impulse, world axes.
    force: vec3<real>,
    // Of the second body relative to the first: angular velocity.
    spin: vec3<real>,
    // How fast each axis' speed changes with the normal, and the impulse likewise, by components.
    by_normal: Mat3,
    bent: Mat3,
    by_distance: real,
}

// One row of TURNED of a body.
fn turned_row(c: Contact, slopes: u32, axis: vec3<real>, by_normal: vec3<real>) -> Weights {
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    let lever = cross3(axis, c.spin);
    return combined(slopes, 3u, by_normal, combined(slopes, 0u, lever, Weights(zero, zero)));
}

// Stores a row of TURNED: the change, and `S x V`.
fn store_turned(to: u32, row: u32, c: Contact, axis: vec3<real>, change: Weights, sign: real, own: Weights) {
    let moved = at_centre(c.arm, change.first, change.second);
    let a = cross3(c.arm, axis);
    let swept = Weights(cross3(own.first, a) + cross3(own.second, axis), cross3(own.first, axis));
    store(to, row, weights_add(swept, sign, moved));
}

// A row of forces: how a component of the impulse changes.
fn force_row(c: Contact, slopes: u32, bent: vec3<real>) -> Weights {
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    let change = combined(slopes, 3u, bent, Weights(zero, zero));
    return at_centre(c.arm, change.first, change.second);
}

// A row of moments; numbers of the two components behind it: the rows of the point, what force they have, arm and
// forces.
fn moment_row(
    c: Contact, point_next: Weights, point_last: Weights, f: vec2<real>, arm: vec2<real>, next: Weights, last: Weights,
) -> Weights {
    // dp x f
    let turning = weights_add(point_next, f.y, Weights(point_last.first * -f.x, point_last.second * -f.x));
    let moment = at_centre(c.arm, turning.first, turning.second);
    return weights_add(last, arm.x, weights_add(next, -arm.y, moment));
}

// What one of the bodies does; its twist at c in `own`.
fn store_body(c: Contact, out: u32, slopes: u32, which: u32, own: Weights) {
    let sign = select(real(-1.0), real(1.0), which == 1u);
    let turned = out + (SIDE_TURNED + 18u * which) * TILE;
    store_turned(turned, 0u, c, c.axes.x, turned_row(c, slopes, c.axes.x, c.by_normal.x), sign, own);
    store_turned(turned, 1u, c, c.axes.y, turned_row(c, slopes, c.axes.y, c.by_normal.y), sign, own);
    var change = turned_row(c, slopes, c.axes.z, c.by_normal.z);
    change = weights_add(slope_row(slopes, 6u), c.by_distance, change);
    store_turned(turned, 2u, c, c.axes.z, change, sign, own);
    let wrench = out + (SIDE_WRENCH + 36u * which) * TILE;
    let x = force_row(c, slopes, c.bent.x);
    let y = force_row(c, slopes, c.bent.y);
    let z = force_row(c, slopes, c.bent.z);
    let point_x = slope_row(slopes, 0u);
    let point_y = slope_row(slopes, 1u);
    let point_z = slope_row(slopes, 2u);
    store(wrench, 0u, moment_row(c, point_y, point_z, c.force.yz, c.arm.yz, y, z));
    store(wrench, 1u, moment_row(c, point_z, point_x, c.force.zx, c.arm.zx, z, x));
    store(wrench, 2u, moment_row(c, point_x, point_y, c.force.xy, c.arm.xy, x, y));
    store(wrench, 3u, x);
    store(wrench, 4u, y);
    store(wrench, 5u, z);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    let param = param_base(lane);
    let settings = vec3<real>(
        real(1.0) / param_at(param, PARAM_TIMESTEP),
        param_at(param, PARAM_CORRECTION_FRACTION),
        param_at(param, PARAM_CORRECTION_MAX),
    );
    let closed = real(bitcast<f32>(dims.closed));
    let twist = act_base(lane) + act_twist() * TILE;
    let begin = tile_place(lane, PLACE_BEGIN);
    for (var s = 0u; s < tile_place(lane, PLACE_COUNT); s++) {
        let at = slot_base(lane, begin, s, TOUCH_SIZE);
        let out = slot_base(lane, begin, s, SIDE_SIZE);
        side[out] = touch[at];
        side[out + TILE] = touch[at + TILE];
        if !acts(touch[at], touch[at + TILE]) {
            continue;
        }
        let lambda = slot_impulse(slot_base(lane, begin, s, 3u));
        let arm = touch3(at + TOUCH_ARM * TILE);
        let normal = touch3(at + TOUCH_NORMAL * TILE);
        let axes = axes_of(normal);
        let turned = turned_tangents(normal);
        let first = Weights(body3(twist, touch[at], 0u), body3(twist, touch[at], 3u));
        let second = Weights(body3(twist, touch[at + TILE], 0u), body3(twist, touch[at + TILE], 3u));
        let u = (second.second + cross3(second.first, arm)) - (first.second + cross3(first.first, arm));
        var bent = Mat3(
            scale_add(turned.first.x, lambda.x, turned.second.x * lambda.y),
            scale_add(turned.first.y, lambda.x, turned.second.y * lambda.y),
            scale_add(turned.first.z, lambda.x, turned.second.z * lambda.y),
        );
        bent.x.x += lambda.z;
        bent.y.y += lambda.z;
        bent.z.z += lambda.z;
        let distance = touch[at + TOUCH_DISTANCE * TILE];
        let contact = Contact(
            arm,
            axes,
            along_axes(axes, lambda),
            second.first - first.first,
            Mat3(weighed_rows(turned.first, u), weighed_rows(turned.second, u), u),
            bent,
            kink_slope(distance, settings, closed),
        );
        let bias = kink(distance, settings, closed);
        side[out + (SIDE_KINK + KINK_MARGIN) * TILE] = bias.x;
        side[out + (SIDE_KINK + KINK_CLOSED) * TILE] = bias.y;
        store(out + SIDE_SPEED * TILE, 0u, at_centre(arm, axes.x, zero));
        store(out + SIDE_SPEED * TILE, 1u, at_centre(arm, axes.y, zero));
        store(out + SIDE_SPEED * TILE, 2u, at_centre(arm, axes.z, zero));
        store_body(contact, out, at + TOUCH_SLOPES * TILE, 0u, first);
        store_body(contact, out, at + (TOUCH_SLOPES + 42u) * TILE, 1u, second);
    }
}
