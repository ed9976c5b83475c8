// Solved velocities back to the trees of one set that touch a soft body; an invocation a tree. See scatter.rs.
#import index
#import dynamics/names.rs
#import soft/scatter.rs
#import soft/trees.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> touch_words: array<u32>;
@group(0) @binding(2) var<storage, read> beside: array<real>;
@group(0) @binding(3) var<storage, read> status: array<u32>;
@group(0) @binding(4) var<storage, read_write> velocity: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = lane_index(group, local);
    if item >= dims.n_items {
        return;
    }
    let at = dims.items_at + MET_ITEM_SIZE * item;
    let soft = touch_words[at + MET_ITEM_SOFT];
    // What is not solved is the host's.
    if (status[soft] & STATUS_CONVERGED) == 0u {
        return;
    }
    let solved = tile_at(soft, dims.n_beside, dims.velocity_at + touch_words[at + MET_ITEM_COLUMN]);
    let to = tile_base(touch_words[at + MET_ITEM_LANE], dims.n_v);
    for (var i = 0u; i < dims.n_v; i++) {
        velocity[to + i * TILE] = beside[solved + i * TILE];
    }
}
