// Numbers of worlds, row by row, to where they lie in tiles: controls, forces, states of worlds that start afresh.
#import index

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> rows: array<u32>;
@group(0) @binding(3) var<storage, read> source: array<real>;
@group(0) @binding(4) var<storage, read_write> destination: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    let row = rows[dims.rows_at + lane / dims.trees];
    if row == KEEP {
        return;
    }
    let column = dims.columns_at + lane % dims.trees * dims.elements + dims.first;
    let number = dims.source_at + row * dims.width;
    let element = tile_at(lane, dims.elements, dims.first);
    for (var e = 0u; e < dims.n; e++) {
        destination[element + e * TILE] = source[number + columns[column + e]];
    }
}
