// Jacobian and response of one side of a contact or bilateral block; an invocation a side.
#import index
#import math
#import dynamics/tree
#import dynamics/point
#import contact/frame
#import contact/island.rs
#import contact/side

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
    return vec3<real>(island_contact[at], island_contact[at + 1u], island_contact[at + 2u]);
}

fn side_word(at: u32) -> u32 {
    return island_index[at];
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = lane_index(group, local);
    if item >= dims.n_items {
        return;
    }
    let record = side_item(dims.items_at + SIDE_ITEM_SIZE * item);
    let c = CONTACT_SIZE * record.constraint;

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
    let pose_at = tile_base(record.lane, POSE * dims.tree.n_body);
    let offset = contact3(c) - vec3<real>(pose[pose_at], pose[pose_at + TILE], pose[pose_at + 2u * TILE]);
    side(record, Mat3(t1, t2, t3), offset);
}
