// Whether what momentum lacks after a round is little enough, and whether another round may make it so. See balance.rs.
#import math
#import index
#import dynamics/names.rs
#import contact/tree_layout.rs
#import soft/body.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> b: array<real>;
@group(0) @binding(2) var<storage, read_write> info: array<real>;
@group(0) @binding(3) var<storage, read_write> status: array<u32>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes || (status[lane] & STATUS_SETTLED) != 0u {
        return;
    }
    let base = tile_base(lane, dims.n_v);
    var square = real(0.0);
    for (var i = 0u; i < dims.n_v; i++) {
        let x = b[base + i * TILE];
        square = fma(x, x, square);
    }
    let left = sqrt(square);
    let out = tile_base(lane, INFO_SIZE + dims.n_v);
    let done = dims.round > 0u && left <= real(bitcast<f32>(dims.tolerance));
    let falls = dims.round < 2u || left < info[out + INFO_STOPPED_AT * TILE];
    if done {
        status[lane] |= STATUS_CONVERGED;
    } else if dims.last == 1u || !falls || !is_finite(left) {
        status[lane] |= STATUS_ITERATION_LIMIT;
    }
    info[out + INFO_RESIDUAL * TILE] = left;
    info[out + INFO_STOPPED_AT * TILE] = left;
    info[out + INFO_SWEEPS * TILE] = real(dims.round);
}
