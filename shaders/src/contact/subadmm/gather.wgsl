// Momentum matrices of the trees of one set to where their islands' solver has them; an invocation a tree.
#import index

struct Dims {
    n_items: u32,
    items_at: u32,
    trees_at: u32,
    n_m: u32,
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> split_index: array<u32>;
@group(0) @binding(2) var<storage, read> momentum: array<real>;
@group(0) @binding(3) var<storage, read_write> split: array<real>;

// Of a tree record: its matrices, its lane, and how long it is.
const TREE_MATRIX: u32 = 5u;
const TREE_LANE: u32 = 8u;
const TREE_WORDS: u32 = 9u;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = lane_index(group, local);
    if item >= dims.n_items {
        return;
    }
    let record = dims.trees_at + TREE_WORDS * split_index[dims.items_at + item];
    let source = tile_base(split_index[record + TREE_LANE], dims.n_m);
    let to = split_index[record + TREE_MATRIX];
    for (var i = 0u; i < dims.n_m; i++) {
        split[to + i] = momentum[source + i * TILE];
    }
}
