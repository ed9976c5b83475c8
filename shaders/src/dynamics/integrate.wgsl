// The end of a step: v = v+, q = q (+) h v+, or h (v + v+) / 2. See integrate.rs.
#import math
#import dynamics/tree

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> velocity: array<real>;
@group(0) @binding(4) var<storage, read_write> state: array<real>;
@group(0) @binding(5) var<storage, read_write> status: array<u32>;

// The rate of a dof's position: of the velocity at `w` and, midpoint, of the one before at `v`.
fn rate(w: u32, v: u32, midpoint: bool) -> real {
    if midpoint {
        return real(0.5) * (velocity[w] + state[v]);
    }
    return velocity[w];
}

// An orientation turned at an angular velocity for h seconds.
fn turn(q: u32, w: u32, v: u32, midpoint: bool, h: real) {
    let now = vec4<real>(state[q], state[q + TILE], state[q + 2u * TILE], state[q + 3u * TILE]);
    let angular = vec3<real>(
        rate(w, v, midpoint), rate(w + TILE, v + TILE, midpoint), rate(w + 2u * TILE, v + 2u * TILE, midpoint),
    );
    let next = quat_turn(now, angular * h);
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
    let q_base = tile_base(lane, n_state());
    var sound = true;
    for (var i = 0u; i < dims.tree.n_v; i++) {
        let speed = velocity[v_base + i * TILE];
        sound = sound && is_finite(speed) && abs(speed) <= FASTEST;
    }
    if (status[lane] & STATUS_HELD) == 0u && !sound {
        status[lane] |= STATUS_NON_FINITE;
    }
    if (status[lane] & (STATUS_STOPPED | STATUS_HELD)) != 0u {
        return;
    }
    let midpoint = dims.tree.integrator == INTEGRATOR_MIDPOINT;
    let before = q_base + dims.tree.n_q * TILE;
    for (var j = 0u; j < dims.tree.n_joint; j++) {
        let joint = joint_record(j);
        let q = q_base + joint.q_begin * TILE;
        let dof = v_base + joint.dof_begin * TILE;
        let v = before + joint.dof_begin * TILE;
        if joint.kind == JOINT_FREE {
            for (var k = 0u; k < 3u; k++) {
                state[q + k * TILE] = fma(h, rate(dof + k * TILE, v + k * TILE, midpoint), state[q + k * TILE]);
            }
            turn(q + 3u * TILE, dof + 3u * TILE, v + 3u * TILE, midpoint, h);
        } else if joint.kind == JOINT_BALL {
            turn(q, dof, v, midpoint, h);
        } else {
            state[q] = fma(h, rate(dof, v, midpoint), state[q]);
        }
    }
    for (var i = 0u; i < dims.tree.n_v; i++) {
        state[before + i * TILE] = velocity[v_base + i * TILE];
    }
}
