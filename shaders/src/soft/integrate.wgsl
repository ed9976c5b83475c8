// The end of a step: v = v+, q = q + h v+. See integrate.rs.
#import index
#import dynamics/names.rs
#import soft/body.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> params: array<real>;
@group(0) @binding(2) var<storage, read> velocity: array<real>;
@group(0) @binding(3) var<storage, read_write> state: array<real>;
@group(0) @binding(4) var<storage, read_write> status: array<u32>;

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    let n = 3u * dims.n_node;
    let h = params[select(0u, tile_base(lane, dims.n_param), dims.param_lanes == 1u) + SOFT_TIMESTEP];
    let v_base = tile_base(lane, n);
    let q_base = tile_base(lane, 3u * n);
    var sound = true;
    for (var i = 0u; i < n; i++) {
        let speed = velocity[v_base + i * TILE];
        sound = sound && is_finite(speed) && abs(speed) <= FASTEST;
    }
    if (status[lane] & STATUS_HELD) == 0u && !sound {
        status[lane] |= STATUS_NON_FINITE;
    }
    if (status[lane] & (STATUS_STOPPED | STATUS_HELD)) != 0u {
        return;
    }
    for (var i = 0u; i < n; i++) {
        let next = velocity[v_base + i * TILE];
        let q = q_base + i * TILE;
        state[q] = fma(h, next, state[q]);
        state[q + n * TILE] = next;
    }
}
