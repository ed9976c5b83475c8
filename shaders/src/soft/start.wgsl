// The start of a step: the velocity to correct is the state's. See start.rs.
#import index
#import dynamics/names.rs
#import soft/body.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> state: array<real>;
@group(0) @binding(2) var<storage, read_write> velocity: array<real>;
@group(0) @binding(3) var<storage, read_write> status: array<u32>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    let n = 3u * dims.n_node;
    let v_base = tile_base(lane, 3u * n) + n * TILE;
    let velocity_base = tile_base(lane, n);
    for (var i = 0u; i < n; i++) {
        velocity[velocity_base + i * TILE] = state[v_base + i * TILE];
    }
    status[lane] = status[lane] & STATUS_KEPT;
}
