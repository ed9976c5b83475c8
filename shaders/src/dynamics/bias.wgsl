// Recursive Newton-Euler: body twists, and the bias force c(q, v). See bias.rs.
#import math
#import dynamics/tree
#import dynamics/spatial
#import dynamics/dof_motion
#import dynamics/moving
#import dynamics/body_inertia

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read> pose: array<real>;
@group(0) @binding(5) var<storage, read> motion: array<real>;
@group(0) @binding(6) var<storage, read_write> twist: array<real>;
@group(0) @binding(7) var<storage, read_write> work: array<real>;
@group(0) @binding(8) var<storage, read_write> bias: array<real>;

fn load_work(at: u32) -> Spatial {
    return Spatial(
        vec3<real>(work[at], work[at + TILE], work[at + 2u * TILE]),
        vec3<real>(work[at + 3u * TILE], work[at + 4u * TILE], work[at + 5u * TILE]),
    );
}

fn store_work(at: u32, s: Spatial) {
    work[at] = s.angular.x;
    work[at + TILE] = s.angular.y;
    work[at + 2u * TILE] = s.angular.z;
    work[at + 3u * TILE] = s.linear.x;
    work[at + 4u * TILE] = s.linear.y;
    work[at + 5u * TILE] = s.linear.z;
}

fn load_twist(at: u32) -> Spatial {
    return Spatial(
        vec3<real>(twist[at], twist[at + TILE], twist[at + 2u * TILE]),
        vec3<real>(twist[at + 3u * TILE], twist[at + 4u * TILE], twist[at + 5u * TILE]),
    );
}

fn store_twist(at: u32, s: Spatial) {
    twist[at] = s.angular.x;
    twist[at + TILE] = s.angular.y;
    twist[at + 2u * TILE] = s.angular.z;
    twist[at + 3u * TILE] = s.linear.x;
    twist[at + 4u * TILE] = s.linear.y;
    twist[at + 5u * TILE] = s.linear.z;
}

fn store_inertia(at: u32, i: Inertia) {
    work[at] = i.mass;
    work[at + TILE] = i.h.x;
    work[at + 2u * TILE] = i.h.y;
    work[at + 3u * TILE] = i.h.z;
    work[at + 4u * TILE] = i.about.d.x;
    work[at + 5u * TILE] = i.about.d.y;
    work[at + 6u * TILE] = i.about.d.z;
    work[at + 7u * TILE] = i.about.o.x;
    work[at + 8u * TILE] = i.about.o.y;
    work[at + 9u * TILE] = i.about.o.z;
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let param = param_base(lane);
    let n_body = dims.tree.n_body;
    let velocity_base = tile_base(lane, n_state()) + dims.tree.n_q * TILE;
    let pose_base = tile_base(lane, POSE * n_body);
    let motion_base = tile_base(lane, SPATIAL * dims.tree.n_v);
    let twist_base = tile_base(lane, SPATIAL * n_body);
    let work_base = tile_base(lane, WORK_BODY * n_body);
    let bias_base = tile_base(lane, dims.tree.n_v);
    let c = pose3(pose_base);
    let zero = vec3<real>(real(0.0), real(0.0), real(0.0));
    for (var b = 0u; b < n_body; b++) {
        let body = body_record(b);
        var moving = Moving(Spatial(zero, zero), Spatial(zero, param_at3(param, PARAM_GRAVITY) * real(-1.0)));
        if b > 0u {
            moving.v = load_twist(twist_base + body.parent * SPATIAL * TILE);
            moving.a = load_work(work_base + (body.parent * WORK_BODY + WORK_ACCELERATION) * TILE);
        }
        for (var k = 0u; k < body.joint_count; k++) {
            moving = add_joint(joint_record(body.joint_begin + k), motion_base, velocity_base, moving);
        }
        let v = moving.v;
        store_twist(twist_base + b * SPATIAL * TILE, v);
        let slot = work_base + b * WORK_BODY * TILE;
        let inertia = inertia_at(param, b, pose_base, c);
        store_inertia(slot + WORK_INERTIA * TILE, inertia);
        store_work(slot + WORK_ACCELERATION * TILE, moving.a);
        // f = I a + v x* I v
        let force = apply(inertia, moving.a);
        let momentum = apply(inertia, v);
        let moment = force.angular + cross3(v.angular, momentum.angular) + cross3(v.linear, momentum.linear);
        store_work(slot + WORK_FORCE * TILE, Spatial(moment, force.linear + cross3(v.angular, momentum.linear)));
    }
    for (var r = 0u; r < n_body; r++) {
        let b = n_body - 1u - r;
        let body = body_record(b);
        let force = load_work(work_base + (b * WORK_BODY + WORK_FORCE) * TILE);
        for (var i = body.dof_begin; i < body.dof_begin + body.dof_count; i++) {
            bias[bias_base + i * TILE] = spatial_dot(load_motion(motion_base, i), force);
        }
        if b > 0u {
            let parent = work_base + (body.parent * WORK_BODY + WORK_FORCE) * TILE;
            let sum = load_work(parent);
            store_work(parent, Spatial(sum.angular + force.angular, sum.linear + force.linear));
        }
    }
}
