// The sides of trees of one set in the contacts of a soft body; an invocation a side. See sides.rs.
#import index
#import math
#import dynamics/tree
#import dynamics/point
#import contact/side
#import soft/sides.rs
#import soft/touch.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> motion: array<real>;
@group(0) @binding(4) var<storage, read> factor: array<real>;
@group(0) @binding(5) var<storage, read> touch_words: array<u32>;
@group(0) @binding(6) var<storage, read_write> touches: array<real>;

fn side_word(at: u32) -> u32 {
    return touch_words[at];
}

fn load_x(base: u32, i: u32) -> real {
    return touches[base + i];
}

fn store_x(base: u32, i: u32, value: real) {
    touches[base + i] = value;
}

fn given3(at: u32) -> vec3<real> {
    return vec3<real>(touches[at], touches[at + 1u], touches[at + 2u]);
}

// The trace of `J Y`, of a side `[2][3][n_v]`.
fn mobility(jac: u32) -> real {
    var trace = real(0.0);
    let n = 3u * dims.tree.n_v;
    for (var i = 0u; i < n; i++) {
        trace = fma(touches[jac + i], touches[jac + n + i], trace);
    }
    return trace;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = lane_index(group, local);
    if index >= dims.n_items {
        return;
    }
    let item = side_item(dims.items_at + SIDE_ITEM_SIZE * index);
    let axes = item.constraint + FRAME_AXES;
    side(item, Mat3(given3(axes), given3(axes + 3u), given3(axes + 6u)), given3(item.constraint + FRAME_OFFSET));
    touches[item.jac - TREE_SIDE_JACOBIAN + TREE_SIDE_MOBILITY] = mobility(item.jac);
}
