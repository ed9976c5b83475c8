// The end of a step: v = v+, q = q (+) h v+. See integrate.rs.
#import math
#import dynamics/tree

struct Dims {
    tree: TreeDims,
}

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> velocity: array<real>;
@group(0) @binding(4) var<storage, read_write> state: array<real>;
@group(0) @binding(5) var<storage, read_write> status: array<u32>;

const FASTEST: real = real(1e9);

// q exp(h w / 2), of unit length.
fn turn(q: u32, w: u32, h: real) {
    let now = quat_normalize(vec4<real>(state[q], state[q + TILE], state[q + 2u * TILE], state[q + 3u * TILE]));
    let angular = vec3<real>(velocity[w], velocity[w + TILE], velocity[w + 2u * TILE]);
    let next = quat_normalize(quat_mul(now, quat_exp(angular * h)));
    state[q] = next.x;
    state[q + TILE] = next.y;
    state[q + 2u * TILE] = next.z;
    state[q + 3u * TILE] = next.w;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let h = param_at(param_base(lane), PARAM_TIMESTEP);
    let v_base = tile_base(lane, dims.tree.n_v);
    let q_base = tile_base(lane, dims.tree.n_q + 2u * dims.tree.n_v + dims.tree.n_u);
    var sound = true;
    for (var i = 0u; i < dims.tree.n_v; i++) {
        let speed = velocity[v_base + i * TILE];
        sound = sound && is_finite(speed) && abs(speed) <= FASTEST;
    }
    if !sound {
        status[lane] |= STATUS_NON_FINITE;
    }
    if (status[lane] & STATUS_STOPPED) != 0u {
        return;
    }
    for (var i = 0u; i < dims.tree.n_v; i++) {
        state[q_base + (dims.tree.n_q + i) * TILE] = velocity[v_base + i * TILE];
    }
    for (var j = 0u; j < dims.tree.n_joint; j++) {
        let joint = joint_record(j);
        let q = q_base + joint.q_begin * TILE;
        let dof = v_base + joint.dof_begin * TILE;
        if joint.kind == JOINT_FREE {
            for (var k = 0u; k < 3u; k++) {
                state[q + k * TILE] = fma(h, velocity[dof + k * TILE], state[q + k * TILE]);
            }
            turn(q + 3u * TILE, dof + 3u * TILE, h);
        } else if joint.kind == JOINT_BALL {
            turn(q, dof, h);
        } else {
            state[q] = fma(h, velocity[dof], state[q]);
        }
    }
}
