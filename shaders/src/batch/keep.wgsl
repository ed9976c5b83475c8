// Keeps the states that a step begins with. See keep.rs.
#import index

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> state: array<real>;
@group(0) @binding(2) var<storage, read_write> before: array<real>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    let base = tile_base(lane, dims.n);
    for (var e = 0u; e < dims.n; e++) {
        before[base + e * TILE] = state[base + e * TILE];
    }
}
