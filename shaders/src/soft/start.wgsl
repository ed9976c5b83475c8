// The start of a step, from the state. See start.rs.
#import math
#import index
#import dynamics/names.rs
#import contact/tree_layout.rs
#import soft/body.rs

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> topology: array<u32>;
@group(0) @binding(2) var<storage, read> rest: array<real>;
@group(0) @binding(3) var<storage, read> params: array<real>;
@group(0) @binding(4) var<storage, read> state: array<real>;
@group(0) @binding(5) var<storage, read_write> begin: array<real>;
@group(0) @binding(6) var<storage, read_write> velocity: array<real>;
@group(0) @binding(7) var<storage, read_write> info: array<real>;
@group(0) @binding(8) var<storage, read_write> status: array<u32>;

fn param_at(lane: u32, index: u32) -> real {
    return params[tile_at(lane, dims.n_param, index)];
}

// The velocity of a node as the balance of momentum takes it.
fn begins(lane: u32, q: u32, v: u32, node: u32) -> vec3<real> {
    let first = 3u * node;
    let speed = vec3<real>(state[v + first * TILE], state[v + (first + 1u) * TILE], state[v + (first + 2u) * TILE]);
    if dims.ridden == 0u {
        return speed;
    }
    var place: vec3<real>;
    for (var k = 0u; k < 3u; k++) {
        place[k] = rest[dims.n_node + first + k] + state[q + (first + k) * TILE];
    }
    let ride = SOFT_HEADER + dims.n_region + dims.n_u * SOFT_CONTROL;
    var out: vec3<real>;
    for (var row = 0u; row < 3u; row++) {
        var sum = -param_at(lane, ride + SOFT_RIDE_GAINED + row);
        for (var k = 0u; k < 3u; k++) {
            sum = fma(param_at(lane, ride + SOFT_RIDE_BY_SPEED + 3u * row + k), speed[k], sum);
            sum = fma(param_at(lane, ride + SOFT_RIDE_BY_PLACE + 3u * row + k), place[k], sum);
        }
        out[row] = sum;
    }
    return out;
}

// Pressures, with what controls add to them.
fn pressures(lane: u32, control: u32, to: u32) {
    for (var r = 0u; r < dims.n_region; r++) {
        begin[to + r * TILE] = param_at(lane, SOFT_HEADER + r);
    }
    for (var i = 0u; i < dims.n_u; i++) {
        let region = topology[dims.control_at + i];
        let own = SOFT_HEADER + dims.n_region + i * SOFT_CONTROL;
        let input = within(state[control + i * TILE], lane, own + SOFT_CONTROL_RANGE);
        let force = fma(param_at(lane, own + SOFT_CONTROL_GAIN), input, param_at(lane, own + SOFT_CONTROL_BIAS));
        let acting = within(force, lane, own + SOFT_CONTROL_FORCE);
        begin[to + region * TILE] = fma(param_at(lane, own + SOFT_CONTROL_GEAR), acting, begin[to + region * TILE]);
    }
}

fn within(x: real, lane: u32, at: u32) -> real {
    return clamp_keep(x, param_at(lane, at), param_at(lane, at + 1u));
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.lanes {
        return;
    }
    let n = 3u * dims.n_node;
    let q = tile_base(lane, 3u * n + dims.n_u);
    let v = q + n * TILE;
    let force = q + (2u * n + dims.n_u) * TILE;
    let to = tile_base(lane, 2u * n + dims.n_region);
    let velocity_base = tile_base(lane, n);
    let h = param_at(lane, SOFT_TIMESTEP);
    let density = param_at(lane, SOFT_DENSITY);
    for (var node = 0u; node < dims.n_node; node++) {
        let mass = density * rest[node];
        let speed = begins(lane, q, v, node);
        for (var k = 0u; k < 3u; k++) {
            let dof = (3u * node + k) * TILE;
            begin[to + dof] = state[q + dof];
            let pulled = param_at(lane, SOFT_GRAVITY + k) + state[force + dof] / mass;
            begin[to + n * TILE + dof] = fma(h, pulled, speed[k]);
            velocity[velocity_base + dof] = state[v + dof];
        }
    }
    pressures(lane, q + 2u * n * TILE, to + 2u * n * TILE);
    let out = tile_base(lane, INFO_SIZE + n);
    for (var e = 0u; e < INFO_SIZE; e++) {
        info[out + e * TILE] = real(0.0);
    }
    var word = status[lane] & STATUS_KEPT;
    if (word & STATUS_APART) == STATUS_SHARED {
        word |= STATUS_ITERATION_LIMIT;
    }
    status[lane] = word;
}
