// Momentum matrices of the trees of one set, dense, to where their islands' solver has them; an invocation a tree.
#import index
#import dynamics/names.rs
#import contact/convex/layout.rs
#import contact/island.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> convex_index: array<u32>;
@group(0) @binding(3) var<storage, read> momentum: array<real>;
@group(0) @binding(4) var<storage, read_write> convex: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let item = lane_index(group, local);
    if item >= dims.n_items {
        return;
    }
    let lane = island_index[dims.items_at + TREE_ITEM_SIZE * item + TREE_ITEM_LANE];
    let entry = island_index[dims.items_at + TREE_ITEM_SIZE * item + TREE_ITEM_VELOCITY];
    let a = convex_index[dims.dofs_at + DOF_RECORD_SIZE * entry + DOF_RECORD_ROW];
    if a == NONE {
        return;
    }
    let source = tile_base(lane, dims.n_m);
    for (var e = 0u; e < dims.n_v * dims.n_v; e++) {
        convex[a + e] = real(0.0);
    }
    for (var i = 0u; i < dims.n_v; i++) {
        let end = convex_index[dims.begins_at + i + 1u];
        for (var k = convex_index[dims.begins_at + i]; k < end; k++) {
            let j = convex_index[dims.columns_at + k];
            let x = momentum[source + k * TILE];
            convex[a + i * dims.n_v + j] = x;
            convex[a + j * dims.n_v + i] = x;
        }
    }
}
