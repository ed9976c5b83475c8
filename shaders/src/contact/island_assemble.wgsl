// Jacobian and response of one side of a contact or bilateral block; an invocation a side.
#import index
#import math
#import dynamics/tree
#import dynamics/point
#import dynamics/solve
#import contact/frame
#import contact/island.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> pose: array<real>;
@group(0) @binding(4) var<storage, read> motion: array<real>;
@group(0) @binding(5) var<storage, read> factor: array<real>;
@group(0) @binding(6) var<storage, read> island_index: array<u32>;
@group(0) @binding(7) var<storage, read> island_contact: array<real>;
@group(0) @binding(8) var<storage, read_write> island_jac: array<real>;

fn load_x(base: u32, i: u32) -> real {
    return island_jac[base + i];
}

fn store_x(base: u32, i: u32, value: real) {
    island_jac[base + i] = value;
}

fn contact3(at: u32) -> vec3<real> {
    return vec3<real>(island_contact[at + SIDE_ITEM_LANE], island_contact[at + 1u], island_contact[at + 2u]);
}

fn moves_body(dof: DofRecord, body: u32) -> real {
    return select(real(0.0), real(1.0), body != NONE && dof.body <= body && body < dof.subtree_end);
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = lane_index(group, local);
    if item >= dims.n_items {
        return;
    }
    let at = dims.items_at + SIDE_ITEM_SIZE * item;
    let lane = island_index[at + SIDE_ITEM_LANE];
    let body_a = island_index[at + SIDE_ITEM_BODY_A];
    let body_b = island_index[at + SIDE_ITEM_BODY_B];
    let angular = island_index[at + SIDE_ITEM_ANGULAR] != 0u;
    let c = CONTACT_SIZE * island_index[at + SIDE_ITEM_CONSTRAINT];
    let jac = island_index[at + SIDE_ITEM_JAC];

    // The friction frame of a contact, the world's axes for a bilateral block.
    let n = contact3(c + CONTACT_NORMAL);
    var t1 = vec3<real>(real(1.0), real(0.0), real(0.0));
    var t2 = vec3<real>(real(0.0), real(1.0), real(0.0));
    var t3 = vec3<real>(real(0.0), real(0.0), real(1.0));
    if island_contact[c + CONTACT_FRICTION] >= real(0.0) {
        t1 = contact_tangent_1(n);
        t2 = contact_tangent_2(n);
        t3 = n;
    }
    let pose_at = tile_base(lane, POSE * dims.tree.n_body);
    let offset = contact3(c) - vec3<real>(pose[pose_at], pose[pose_at + TILE], pose[pose_at + 2u * TILE]);
    let motion_at = tile_base(lane, SPATIAL * dims.tree.n_v);
    let n_v = dims.tree.n_v;
    for (var i = 0u; i < n_v; i++) {
        let dof = dof_record(i);
        let weight = moves_body(dof, body_b) - moves_body(dof, body_a);
        var u = point_motion(motion_at, i, offset);
        if angular {
            let s = motion_at + i * SPATIAL * TILE;
            u = vec3<real>(motion[s], motion[s + TILE], motion[s + 2u * TILE]);
        }
        let x = weight * vec3<real>(dot3(t1, u), dot3(t2, u), dot3(t3, u));
        island_jac[jac + i] = x.x;
        island_jac[jac + n_v + i] = x.y;
        island_jac[jac + 2u * n_v + i] = x.z;
        island_jac[jac + 3u * n_v + i] = x.x;
        island_jac[jac + 4u * n_v + i] = x.y;
        island_jac[jac + 5u * n_v + i] = x.z;
    }
    let factor_at = tile_base(lane, dims.tree.n_m);
    for (var r = 3u; r < 6u; r++) {
        solve(factor_at, jac + r * n_v);
    }
}
