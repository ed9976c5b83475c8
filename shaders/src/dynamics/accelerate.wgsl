// Accelerations of bodies in a step. See accelerate.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/dof_motion
#import dynamics/moving

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> motion: array<real>;
@group(0) @binding(5) var<storage, read> twist: array<real>;
@group(0) @binding(6) var<storage, read> velocity: array<real>;
@group(0) @binding(7) var<storage, read_write> acceleration: array<real>;

fn twist3(at: u32) -> vec3<real> {
    return vec3<real>(twist[at], twist[at + TILE], twist[at + 2u * TILE]);
}

fn acceleration3(at: u32) -> vec3<real> {
    return vec3<real>(acceleration[at], acceleration[at + TILE], acceleration[at + 2u * TILE]);
}

fn put3(at: u32, x: vec3<real>) {
    acceleration[at] = x.x;
    acceleration[at + TILE] = x.y;
    acceleration[at + 2u * TILE] = x.z;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let param = param_base(lane);
    let before = tile_base(lane, n_state()) + dims.tree.n_q * TILE;
    let motion_base = tile_base(lane, SPATIAL * dims.tree.n_v);
    let twist_base = tile_base(lane, SPATIAL * dims.tree.n_body);
    let after = tile_base(lane, dims.tree.n_v);
    let per_second = real(1.0) / param_at(param, PARAM_TIMESTEP);
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var b = 0u; b < dims.tree.n_body; b++) {
        let body = body_record(b);
        var moving = Moving(Spatial(zero, zero), Spatial(zero, param_at3(param, PARAM_GRAVITY) * real(-1.0)));
        if b > 0u {
            let p = twist_base + body.parent * SPATIAL * TILE;
            moving.v = Spatial(twist3(p), twist3(p + 3u * TILE));
            moving.a = Spatial(acceleration3(p), acceleration3(p + 3u * TILE));
        }
        for (var k = 0u; k < body.joint_count; k++) {
            moving = add_joint(joint_record(body.joint_begin + k), motion_base, before, moving);
        }
        var a = moving.a;
        for (var i = body.dof_begin; i < body.dof_begin + body.dof_count; i++) {
            let s = load_motion(motion_base, i);
            let rate = (velocity[after + i * TILE] - state[before + i * TILE]) * per_second;
            a = Spatial(scale_add(s.angular, rate, a.angular), scale_add(s.linear, rate, a.linear));
        }
        let at = twist_base + b * SPATIAL * TILE;
        put3(at, a.angular);
        put3(at + 3u * TILE, a.linear);
    }
}
