// What the motion of the contacts' impulses adds to a gradient by q. See follow.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/dof_motion
#import dynamics/derivatives/layout
#import contact/gradient/layout
#import contact/gradient/adjoint_parts
#import contact/gradient/sided
#import dynamics/derivatives/transport

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> places: array<u32>;
@group(0) @binding(4) var<storage, read> motion: array<real>;
@group(0) @binding(5) var<storage, read> side: array<real>;
@group(0) @binding(6) var<storage, read_write> act: array<real>;
@group(0) @binding(7) var<storage, read_write> adjoint: array<real>;

fn store_act(at: u32, s: Spatial) {
    act[at] = s.angular.x;
    act[at + TILE] = s.angular.y;
    act[at + 2u * TILE] = s.angular.z;
    act[at + 3u * TILE] = s.linear.x;
    act[at + 4u * TILE] = s.linear.y;
    act[at + 5u * TILE] = s.linear.z;
}

// The motions of the bodies that the gradient by impulses on the dofs, at `weights`, stands for.
fn move_bodies(moved: u32, motions: u32, weights: u32) {
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var b = 0u; b < dims.tree.n_body; b++) {
        let body = body_record(b);
        var own = Spatial(zero, zero);
        if b > 0u {
            own = load_act(moved + body.parent * SPATIAL * TILE);
        }
        for (var k = 0u; k < body.joint_count; k++) {
            let joint = joint_record(body.joint_begin + k);
            for (var i = joint.dof_begin; i < joint.dof_begin + dof_count(joint.kind); i++) {
                let s = load_motion(motions, i);
                let w = adjoint[weights + i * TILE];
                own = Spatial(scale_add(s.angular, w, own.angular), scale_add(s.linear, w, own.linear));
            }
        }
        store_act(moved + b * SPATIAL * TILE, own);
    }
}

// Of a body that may be the ground.
fn motion_of(moved: u32, body: u32) -> Spatial {
    if body == NONE {
        let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
        return Spatial(zero, zero);
    }
    return load_act(moved + body * SPATIAL * TILE);
}

// Adds `W^T apart` of a W in `side` to what a body's motion is felt by.
fn feel(felt: u32, body: u32, w: u32, apart: Spatial) {
    if body == NONE {
        return;
    }
    let at = felt + body * SPATIAL * TILE;
    var sum = load_act(at);
    var weights = array<real, 6>(
        apart.angular.x, apart.angular.y, apart.angular.z, apart.linear.x, apart.linear.y, apart.linear.z,
    );
    for (var r = 0u; r < SPATIAL; r++) {
        let row = load_side(w + r * SPATIAL * TILE);
        sum = Spatial(scale_add(row.angular, weights[r], sum.angular), scale_add(row.linear, weights[r], sum.linear));
    }
    store_act(at, sum);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let zero = real(0.0);
    let n = dims.tree.n_v;
    let own = adjoint_new(n, n_input());
    let adjoint_at = tile_base(lane, own.reals);
    let by_q = adjoint_at + own.inputs * TILE;
    let count = tile_place(lane, PLACE_COUNT);
    if count == 0u {
        for (var i = 0u; i < n; i++) {
            adjoint[by_q + i * TILE] = zero;
        }
        return;
    }
    let motions = tile_base(lane, SPATIAL * n);
    let moved = act_base(lane) + act_sums() * TILE;
    let felt = moved + SPATIAL * dims.tree.n_body * TILE;
    for (var e = 0u; e < SPATIAL * dims.tree.n_body; e++) {
        act[felt + e * TILE] = zero;
    }
    move_bodies(moved, motions, adjoint_at + own.impulse * TILE);
    let begin = tile_place(lane, PLACE_BEGIN);
    for (var s = 0u; s < count; s++) {
        let record = slot_base(lane, begin, s, SIDE_SIZE);
        let bodies = vec2<u32>(body_number(side[record]), body_number(side[record + TILE]));
        if bodies.x == NONE && bodies.y == NONE {
            continue;
        }
        let first = motion_of(moved, bodies.x);
        let second = motion_of(moved, bodies.y);
        let apart = Spatial(second.angular - first.angular, second.linear - first.linear);
        let wrench = record + SIDE_WRENCH * TILE;
        feel(felt, bodies.x, wrench, apart);
        feel(felt, bodies.y, wrench + SUM * TILE, apart);
    }
    for (var r = 1u; r < dims.tree.n_body; r++) {
        let b = dims.tree.n_body - r;
        let parent = felt + body_record(b).parent * SPATIAL * TILE;
        for (var e = 0u; e < SPATIAL; e++) {
            act[parent + e * TILE] += act[felt + (b * SPATIAL + e) * TILE];
        }
    }
    for (var i = 0u; i < n; i++) {
        let at = felt + dof_record(i).body * SPATIAL * TILE;
        adjoint[by_q + i * TILE] = dot6(load_act(at), load_motion(motions, i), zero);
    }
}
