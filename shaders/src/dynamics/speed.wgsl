// How fast each body moves at the state at hand, and which way. See speed.rs.
#import math
#import dynamics/tree

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> pose: array<real>;
@group(0) @binding(5) var<storage, read> motion: array<real>;
@group(0) @binding(6) var<storage, read_write> speed: array<real>;

fn motion3(at: u32) -> vec3<real> {
    return vec3<real>(motion[at], motion[at + TILE], motion[at + 2u * TILE]);
}

fn position(at: u32) -> vec3<real> {
    return vec3<real>(pose[at], pose[at + TILE], pose[at + 2u * TILE]);
}

fn store3(at: u32, x: vec3<real>) {
    speed[at] = x.x;
    speed[at + TILE] = x.y;
    speed[at + 2u * TILE] = x.z;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let v_base = tile_base(lane, n_state()) + dims.tree.n_q * TILE;
    let pose_base = tile_base(lane, POSE * dims.tree.n_body);
    let motion_base = tile_base(lane, SPATIAL * dims.tree.n_v);
    let speed_base = tile_base(lane, SPEED * dims.tree.n_body);
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    let c = position(pose_base);
    for (var b = 0u; b < dims.tree.n_body; b++) {
        var angular = zero;
        var linear = zero;
        var i = body_record(b).chain_dof;
        var count = 0u;
        if i != NONE {
            count = dof_record(i).chain;
        }
        for (var k = 0u; k < count; k++) {
            let at = motion_base + i * SPATIAL * TILE;
            let v = state[v_base + i * TILE];
            if dims.tree.bound == 0u || moves(dof_record(i), b) != real(0.0) {
                angular = scale_add(motion3(at), v, angular);
                linear = scale_add(motion3(at + 3u * TILE), v, linear);
            }
            i = dof_parent(i);
        }
        let origin = linear + cross3(angular, position(pose_base + b * POSE * TILE) - c);
        store3(speed_base + b * SPEED * TILE, origin);
        store3(speed_base + (b * SPEED + 3u) * TILE, angular);
    }
}
