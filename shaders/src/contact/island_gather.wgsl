// Velocities of the trees of one set into the islands they are in; an invocation a tree.
#import index
#import contact/island_set
#import contact/island.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> state: array<real>;
@group(0) @binding(3) var<storage, read> v_free: array<real>;
@group(0) @binding(4) var<storage, read_write> velocity: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = lane_index(group, local);
    if item >= dims.n_trees {
        return;
    }
    let tree = tree_item(item);
    let free = tile_base(tree.lane, dims.n_v);
    let before = tile_at(tree.lane, dims.n_state, dims.v_at);
    for (var i = 0u; i < dims.n_v; i++) {
        velocity[tree.velocity + i] = v_free[free + i * TILE];
        velocity[REGION_SCRATCH * dims.n_velocity + tree.velocity + i] = state[before + i * TILE];
    }
}
