// Numbers of worlds from where they lie in tiles, row by row: what a trainer looks at.
#import index

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<real>;
@group(0) @binding(3) var<storage, read_write> destination: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    let column = dims.columns_at + lane % dims.trees * dims.elements + dims.first;
    let element = tile_at(lane, dims.elements, dims.first);
    let number = lane / dims.trees * dims.width;
    for (var e = 0u; e < dims.n; e++) {
        destination[number + columns[column + e]] = source[element + e * TILE];
    }
}
