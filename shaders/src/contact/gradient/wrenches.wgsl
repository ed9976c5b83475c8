// What the motion of the contacts' impulses adds to dF. See wrenches.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/dof_motion
#import dynamics/derivatives/layout
#import contact/gradient/layout
#import contact/gradient/sided

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read> motion: array<real>;
@group(0) @binding(5) var<storage, read> side: array<real>;
@group(0) @binding(6) var<storage, read_write> act: array<real>;
@group(0) @binding(7) var<storage, read_write> slope: array<real>;

// First elements of a lane in the buffers.
struct Bases {
    motion: u32,
    sums: u32,
    slope: u32,
}

// A row of a matrix in the sums times s.
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
    let base = Bases(tile_base(lane, SPATIAL * n), act_base(lane) + act_sums() * TILE, slope_base(lane));
    for (var e = 0u; e < SUM * dims.tree.n_body; e++) {
        act[base.sums + e * TILE] = real(0.0);
    }
    let begin = tile_place(lane, PLACE_BEGIN);
    for (var s = 0u; s < count; s++) {
        let record = slot_base(lane, begin, s, SIDE_SIZE);
        let bodies = vec2<u32>(body_number(side[record]), body_number(side[record + TILE]));
        // Of a contact that carries nothing no more is said.
        if bodies.x == NONE && bodies.y == NONE {
            continue;
        }
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
