// Overwrites the lanes that are marked, n elements each, and leaves the others as they are: a masked reset.
#import index

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> marked: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<real>;
@group(0) @binding(3) var<storage, read_write> destination: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes || marked[lane] == 0u {
        return;
    }
    let base = tile_base(lane, dims.n);
    for (var e = 0u; e < dims.n; e++) {
        destination[base + e * TILE] = source[base + e * TILE];
    }
}
