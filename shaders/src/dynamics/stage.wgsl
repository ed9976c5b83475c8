// The state at which a step evaluates its forces. See stage.rs.
#import math
#import dynamics/tree

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> velocity: array<real>;
@group(0) @binding(5) var<storage, read_write> stage: array<real>;

// Between v0 at `at` of the state and the velocity at `w`.
fn blend(at: u32, w: u32, weight: real) -> real {
    return fma(weight, velocity[w] - state[at], state[at]);
}

// An orientation turned at an angular velocity for h seconds.
fn turn(q: u32, v: u32, w: u32, weight: real, h: real) {
    let now = vec4<real>(state[q], state[q + TILE], state[q + 2u * TILE], state[q + 3u * TILE]);
    let angular = vec3<real>(
        blend(v, w, weight), blend(v + TILE, w + TILE, weight), blend(v + 2u * TILE, w + 2u * TILE, weight),
    );
    let next = quat_turn(now, angular * h);
    stage[q] = next.x;
    stage[q + TILE] = next.y;
    stage[q + 2u * TILE] = next.z;
    stage[q + 3u * TILE] = next.w;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let theta = integrator_theta(dims.tree.integrator);
    let theta_vq = integrator_theta_vq(dims.tree.integrator);
    let span = theta * param_at(param_base(lane), PARAM_TIMESTEP);
    let n_q = dims.tree.n_q;
    let n_v = dims.tree.n_v;
    let w_base = tile_base(lane, n_v);
    let q_base = tile_base(lane, n_state());
    let v_base = q_base + n_q * TILE;
    if dims.tree.integrator == INTEGRATOR_SYMPLECTIC_EULER {
        // Whatever the guess is, if there is any.
        for (var i = 0u; i < n_state(); i++) {
            stage[q_base + i * TILE] = state[q_base + i * TILE];
        }
        return;
    }
    for (var i = 0u; i < n_v; i++) {
        stage[v_base + i * TILE] = blend(v_base + i * TILE, w_base + i * TILE, theta);
    }
    for (var i = n_q + n_v; i < n_state(); i++) {
        stage[q_base + i * TILE] = state[q_base + i * TILE];
    }
    for (var j = 0u; j < dims.tree.n_joint; j++) {
        let joint = joint_record(j);
        let q = q_base + joint.q_begin * TILE;
        let v = v_base + joint.dof_begin * TILE;
        let w = w_base + joint.dof_begin * TILE;
        if joint.kind == JOINT_FREE {
            for (var k = 0u; k < 3u; k++) {
                let at = k * TILE;
                stage[q + at] = fma(span, blend(v + at, w + at, theta_vq), state[q + at]);
            }
            turn(q + 3u * TILE, v + 3u * TILE, w + 3u * TILE, theta_vq, span);
        } else if joint.kind == JOINT_BALL {
            turn(q, v, w, theta_vq, span);
        } else {
            stage[q] = fma(span, blend(v, w, theta_vq), state[q]);
        }
    }
}
