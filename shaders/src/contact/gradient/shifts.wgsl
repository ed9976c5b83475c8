// ds of the contacts by q, and what the motion of their impulses adds to dF. See shifts.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/dof_motion
#import dynamics/derivatives/layout
#import contact/gradient/layout

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read> motion: array<real>;
@group(0) @binding(5) var<storage, read_write> act: array<real>;
@group(0) @binding(6) var<storage, read> side: array<real>;
@group(0) @binding(7) var<storage, read_write> shift: array<real>;
@group(0) @binding(8) var<storage, read_write> slope: array<real>;

// First elements of a lane in the buffers.
struct Bases {
    motion: u32,
    psi: u32,
    sums: u32,
    slope: u32,
}

fn load_side(at: u32) -> Spatial {
    return Spatial(
        vec3<real>(side[at], side[at + TILE], side[at + 2u * TILE]),
        vec3<real>(side[at + 3u * TILE], side[at + 4u * TILE], side[at + 5u * TILE]),
    );
}

fn load_act(at: u32) -> Spatial {
    return Spatial(
        vec3<real>(act[at], act[at + TILE], act[at + 2u * TILE]),
        vec3<real>(act[at + 3u * TILE], act[at + 4u * TILE], act[at + 5u * TILE]),
    );
}

fn dot6(row: Spatial, s: Spatial, start: real) -> real {
    let r = row.angular;
    let l = row.linear;
    let angular = fma(r.z, s.angular.z, fma(r.y, s.angular.y, fma(r.x, s.angular.x, start)));
    return fma(l.z, s.linear.z, fma(l.y, s.linear.y, fma(l.x, s.linear.x, angular)));
}

// A row of W times s, of a W in `side` and of one in the sums.
fn side_dot(w: u32, row: u32, s: Spatial, start: real) -> real {
    return dot6(load_side(w + row * SPATIAL * TILE), s, start);
}

fn sum_dot(w: u32, row: u32, s: Spatial) -> real {
    return dot6(load_act(w + row * SPATIAL * TILE), s, real(0.0));
}

// `W s` of a W in `side`.
fn side_times(w: u32, s: Spatial) -> Spatial {
    let zero = real(0.0);
    return Spatial(
        vec3<real>(side_dot(w, 0u, s, zero), side_dot(w, 1u, s, zero), side_dot(w, 2u, s, zero)),
        vec3<real>(side_dot(w, 3u, s, zero), side_dot(w, 4u, s, zero), side_dot(w, 5u, s, zero)),
    );
}

// `W s` of a W in the sums.
fn sum_times(w: u32, s: Spatial) -> Spatial {
    return Spatial(
        vec3<real>(sum_dot(w, 0u, s), sum_dot(w, 1u, s), sum_dot(w, 2u, s)),
        vec3<real>(sum_dot(w, 3u, s), sum_dot(w, 4u, s), sum_dot(w, 5u, s)),
    );
}

fn add_row(w: u32, row: u32, by: real, sum: Spatial) -> Spatial {
    let own = load_act(w + row * SPATIAL * TILE);
    return Spatial(scale_add(own.angular, by, sum.angular), scale_add(own.linear, by, sum.linear));
}

// `W^T s` of a W in the sums.
fn sum_times_transposed(w: u32, s: Spatial) -> Spatial {
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    var sum = add_row(w, 0u, s.angular.x, Spatial(zero, zero));
    sum = add_row(w, 1u, s.angular.y, sum);
    sum = add_row(w, 2u, s.angular.z, sum);
    sum = add_row(w, 3u, s.linear.x, sum);
    sum = add_row(w, 4u, s.linear.y, sum);
    return add_row(w, 5u, s.linear.z, sum);
}

// A body given as a number; NONE: the ground.
fn body_number(body: real) -> u32 {
    return select(u32(max(body, real(0.0))), NONE, body < real(0.0));
}

// ds of a slot by q.
fn slot_ds(base: Bases, record: u32, bodies: vec2<u32>, out: u32) {
    let n = dims.tree.n_v;
    let zero = real(0.0);
    for (var i = 0u; i < n; i++) {
        let dof = dof_record(i);
        let weights = vec2<real>(moves(dof, bodies.x), moves(dof, bodies.y));
        var sum = vec3<real>(zero, zero, zero);
        // Zeros for a dof that moves neither.
        if zero < weights.x + weights.y {
            let s = load_motion(base.motion, i);
            let psi = load_act(base.psi + i * SPATIAL * TILE);
            let apart = weights.y - weights.x;
            let speed = record + SIDE_SPEED * TILE;
            sum = vec3<real>(
                side_dot(speed, 0u, psi, zero), side_dot(speed, 1u, psi, zero), side_dot(speed, 2u, psi, zero),
            ) * apart;
            for (var own = 0u; own < 2u; own++) {
                let turned = record + (SIDE_TURNED + 18u * own) * TILE;
                let by = vec3<real>(
                    side_dot(turned, 0u, s, zero), side_dot(turned, 1u, s, zero), side_dot(turned, 2u, s, zero),
                );
                sum = scale_add(by, select(weights.x, weights.y, own == 1u), sum);
            }
        }
        shift[out + i * TILE] = sum.x;
        shift[out + (n + i) * TILE] = sum.y;
        shift[out + (2u * n + i) * TILE] = sum.z;
    }
    shift[out + (3u * n + KINK_MARGIN) * TILE] = side[record + (SIDE_KINK + KINK_MARGIN) * TILE];
    shift[out + (3u * n + KINK_CLOSED) * TILE] = side[record + (SIDE_KINK + KINK_CLOSED) * TILE];
}

// Adds how the wrench on a body follows its own motion to the body's sum.
fn add_sum(base: Bases, record: u32, body: u32, own: u32) {
    if body == NONE {
        return;
    }
    let source = record + (SIDE_WRENCH + SUM * own) * TILE;
    let to = base.sums + body * SUM * TILE;
    let sign = select(real(-1.0), real(1.0), own == 1u);
    for (var e = 0u; e < SUM; e++) {
        act[to + e * TILE] += sign * side[source + e * TILE];
    }
}

// The last dof that moves a body, and how many move it.
fn chain_of(body: u32) -> vec2<u32> {
    let last = body_record(body).chain_dof;
    var count = 0u;
    if last != NONE {
        count = dof_record(last).chain;
    }
    return vec2<u32>(last, count);
}

// What one of two bodies of the tree does to the impulse on the other.
fn add_pair(base: Bases, wrench: u32, body: u32, other: u32, sign: real) {
    let zero = real(0.0);
    let width = slope_width();
    let own = chain_of(body);
    let reached = chain_of(other);
    var i = own.x;
    for (var step = 0u; step < own.y; step++) {
        let moved = side_times(wrench, load_motion(base.motion, i));
        var k = reached.x;
        for (var place = 0u; place < reached.y; place++) {
            let at = base.slope + (k * width + i) * TILE;
            slope[at] = fma(sign, dot6(load_motion(base.motion, k), moved, zero), slope[at]);
            k = dof_parent(k);
        }
        i = dof_parent(i);
    }
}

// Adds to an entry of the derivative.
fn add_slope(base: Bases, row: u32, column: u32, s: Spatial, wrench: Spatial) {
    let at = base.slope + (row * slope_width() + column) * TILE;
    slope[at] = dot6(s, wrench, slope[at]);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let n = dims.tree.n_v;
    let count = tile_place(lane, PLACE_COUNT);
    if count == 0u {
        return;
    }
    let act_at = act_base(lane);
    let base = Bases(
        tile_base(lane, SPATIAL * n), act_at + act_psi() * TILE, act_at + act_sums() * TILE, slope_base(lane),
    );
    for (var e = 0u; e < SUM * dims.tree.n_body; e++) {
        act[base.sums + e * TILE] = real(0.0);
    }
    let begin = tile_place(lane, PLACE_BEGIN);
    let first = ragged_base(lane, PLACE_SHIFT);
    for (var s = 0u; s < count; s++) {
        let record = slot_base(lane, begin, s, SIDE_SIZE);
        let bodies = vec2<u32>(body_number(side[record]), body_number(side[record + TILE]));
        // Of a contact that carries nothing no more is said.
        if bodies.x == NONE && bodies.y == NONE {
            continue;
        }
        slot_ds(base, record, bodies, first + s * slot_shift(n) * TILE);
        add_sum(base, record, bodies.x, 0u);
        add_sum(base, record, bodies.y, 1u);
        if bodies.x != NONE && bodies.y != NONE {
            let wrench = record + SIDE_WRENCH * TILE;
            add_pair(base, wrench, bodies.x, bodies.y, real(1.0));
            add_pair(base, wrench + SUM * TILE, bodies.y, bodies.x, real(-1.0));
        }
    }
    for (var r = 1u; r < dims.tree.n_body; r++) {
        let b = dims.tree.n_body - r;
        let own = base.sums + b * SUM * TILE;
        let parent = base.sums + body_record(b).parent * SUM * TILE;
        for (var e = 0u; e < SUM; e++) {
            act[parent + e * TILE] += act[own + e * TILE];
        }
    }
    for (var i = 0u; i < n; i++) {
        let dof = dof_record(i);
        let s = load_motion(base.motion, i);
        let own = base.sums + dof.body * SUM * TILE;
        let there = sum_times(own, s);
        let back = sum_times_transposed(own, s);
        add_slope(base, i, i, s, there);
        var j = dof.parent;
        for (var k = 1u; k < dof.chain; k++) {
            let above = load_motion(base.motion, j);
            add_slope(base, j, i, above, there);
            add_slope(base, i, j, above, back);
            j = dof_parent(j);
        }
    }
}
