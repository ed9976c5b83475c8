// Solved velocities back to the trees of one set, and the impulses of their static rows; an invocation a tree or row.
#import index
#import contact/island_set
#import contact/tree_layout
#import contact/island.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> island_index: array<u32>;
@group(0) @binding(2) var<storage, read> solved: array<real>;
@group(0) @binding(3) var<storage, read> impulse: array<real>;
@group(0) @binding(4) var<storage, read_write> velocity: array<real>;
@group(0) @binding(5) var<storage, read_write> row: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let index = lane_index(group, local);
    if index < dims.n_trees {
        let tree = tree_item(index);
        let to = tile_base(tree.lane, dims.n_v);
        for (var i = 0u; i < dims.n_v; i++) {
            velocity[to + i * TILE] = solved[REGION_SOLUTION * dims.n_velocity + tree.velocity + i];
        }
    }
    if index < dims.n_rows {
        let item = row_item(index);
        let at = tile_at(item.lane, dims.n_row_real, item.row * row_stride(dims.n_v, dims.row_width) + ROW_IMPULSE);
        row[at] = impulse[3u * item.constraint];
    }
}
