// Momentum matrices of the trees of one set to where their islands' solver has them; an invocation a tree.
#import index
#import contact/subadmm/layout.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> split_index: array<u32>;
@group(0) @binding(2) var<storage, read> momentum: array<real>;
@group(0) @binding(3) var<storage, read_write> split: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = lane_index(group, local);
    if item >= dims.n_items {
        return;
    }
    let record = dims.trees_at + SPLIT_TREE_SIZE * split_index[dims.items_at + item];
    let source = tile_base(split_index[record + SPLIT_TREE_LANE], dims.n_m);
    let to = split_index[record + SPLIT_TREE_MATRIX];
    for (var i = 0u; i < dims.n_m; i++) {
        split[to + i] = momentum[source + i * TILE];
    }
}
