// Forward kinematics: body poses, and the motion of each dof at c. See kinematics.rs.
#import math
#import dynamics/tree

@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(3) var<storage, read> state: array<real>;
@group(0) @binding(4) var<storage, read_write> pose: array<real>;
@group(0) @binding(5) var<storage, read_write> motion: array<real>;

struct Pose {
    position: vec3<real>,
    orientation: vec4<real>,
}

fn zero3() -> vec3<real> {
    return vec3<real>(real(0.0), real(0.0), real(0.0));
}

fn state3(base: u32, i: u32) -> vec3<real> {
    let at = base + i * TILE;
    return vec3<real>(state[at], state[at + TILE], state[at + 2u * TILE]);
}

fn state4(base: u32, i: u32) -> vec4<real> {
    let at = base + i * TILE;
    return vec4<real>(state[at], state[at + TILE], state[at + 2u * TILE], state[at + 3u * TILE]);
}

fn load_pose(base: u32, body: u32) -> Pose {
    let at = base + body * POSE * TILE;
    return Pose(
        vec3<real>(pose[at], pose[at + TILE], pose[at + 2u * TILE]),
        vec4<real>(pose[at + 3u * TILE], pose[at + 4u * TILE], pose[at + 5u * TILE], pose[at + 6u * TILE]),
    );
}

fn store_pose(base: u32, body: u32, p: Pose) {
    let at = base + body * POSE * TILE;
    pose[at] = p.position.x;
    pose[at + TILE] = p.position.y;
    pose[at + 2u * TILE] = p.position.z;
    pose[at + 3u * TILE] = p.orientation.x;
    pose[at + 4u * TILE] = p.orientation.y;
    pose[at + 5u * TILE] = p.orientation.z;
    pose[at + 6u * TILE] = p.orientation.w;
}

fn write_motion(base: u32, dof: u32, angular: vec3<real>, linear: vec3<real>) {
    let at = base + dof * SPATIAL * TILE;
    motion[at] = angular.x;
    motion[at + TILE] = angular.y;
    motion[at + 2u * TILE] = angular.z;
    motion[at + 3u * TILE] = linear.x;
    motion[at + 4u * TILE] = linear.y;
    motion[at + 5u * TILE] = linear.z;
}

// Three rotations about the columns of `axes` through a pivot at `arm` from c.
fn write_rotations(base: u32, dof: u32, axes: Mat3, arm: vec3<real>) {
    let x = vec3<real>(axes.x.x, axes.y.x, axes.z.x);
    let y = vec3<real>(axes.x.y, axes.y.y, axes.z.y);
    let z = vec3<real>(axes.x.z, axes.y.z, axes.z.z);
    write_motion(base, dof, x, cross3(arm, x));
    write_motion(base, dof + 1u, y, cross3(arm, y));
    write_motion(base, dof + 2u, z, cross3(arm, z));
}

// Where a body stands before its joints move it.
fn parent_pose(param: u32, pose_base: u32, b: u32) -> Pose {
    let at = body_param(b);
    let position = param_at3(param, at + PARAM_BODY_POSITION);
    let orientation = param_at4(param, at + PARAM_BODY_ORIENTATION);
    if b == 0u {
        return Pose(position, orientation);
    }
    let parent = load_pose(pose_base, body_record(b).parent);
    return Pose(
        parent.position + quat_rotate(parent.orientation, position),
        quat_mul(parent.orientation, orientation),
    );
}

// Moves a body by one of its joints, and writes the motion of the joint's dofs at the point c.
fn move_joint(
    param: u32, state_base: u32, motion_base: u32, joint: JointRecord, at: u32, body: Pose, c: vec3<real>,
) -> Pose {
    let q = joint.q_begin;
    let dof = joint.dof_begin;
    if joint.kind == JOINT_FREE {
        let position = state3(state_base, q);
        let orientation = quat_normalize(state4(state_base, q + 3u));
        write_motion(motion_base, dof, zero3(), vec3<real>(real(1.0), real(0.0), real(0.0)));
        write_motion(motion_base, dof + 1u, zero3(), vec3<real>(real(0.0), real(1.0), real(0.0)));
        write_motion(motion_base, dof + 2u, zero3(), vec3<real>(real(0.0), real(0.0), real(1.0)));
        write_rotations(motion_base, dof + 3u, quat_matrix(orientation), position - c);
        return Pose(position, orientation);
    }
    if joint.kind == JOINT_BALL {
        let turn = quat_normalize(state4(state_base, q));
        let anchor = param_at3(param, at + PARAM_JOINT_ANCHOR);
        let pivot = body.position + quat_rotate(body.orientation, anchor);
        let orientation = quat_mul(body.orientation, turn);
        write_rotations(motion_base, dof, quat_matrix(orientation), pivot - c);
        return Pose(pivot - quat_rotate(orientation, anchor), orientation);
    }
    let axis = param_at3(param, at + PARAM_JOINT_AXIS);
    let world_axis = quat_rotate(body.orientation, axis);
    let displacement = state[state_base + q * TILE] - param_at(param, at + PARAM_JOINT_REFERENCE);
    if joint.kind == JOINT_HINGE {
        let anchor = param_at3(param, at + PARAM_JOINT_ANCHOR);
        let pivot = body.position + quat_rotate(body.orientation, anchor);
        let orientation = quat_mul(body.orientation, quat_about(axis, displacement));
        write_motion(motion_base, dof, world_axis, cross3(pivot - c, world_axis));
        return Pose(pivot - quat_rotate(orientation, anchor), orientation);
    }
    write_motion(motion_base, dof, zero3(), world_axis);
    return Pose(scale_add(world_axis, displacement, body.position), body.orientation);
}

// Moves the reference point of the first dofs by `by`.
fn shift(motion_base: u32, by: vec3<real>, count: u32) {
    for (var i = 0u; i < count; i++) {
        let at = motion_base + i * SPATIAL * TILE;
        let moved = cross3(vec3<real>(motion[at], motion[at + TILE], motion[at + 2u * TILE]), by);
        motion[at + 3u * TILE] += moved.x;
        motion[at + 4u * TILE] += moved.y;
        motion[at + 5u * TILE] += moved.z;
    }
}

@compute @workgroup_size(TILE)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let lane = lane_index(group, local);
    if lane >= dims.tree.lanes {
        return;
    }
    let param = param_base(lane);
    let state_base = tile_base(lane, n_state());
    let pose_base = tile_base(lane, POSE * dims.tree.n_body);
    let motion_base = tile_base(lane, SPATIAL * dims.tree.n_v);
    var c = zero3();
    for (var b = 0u; b < dims.tree.n_body; b++) {
        let body = body_record(b);
        var placed = parent_pose(param, pose_base, b);
        // Before the first body stands, its start stands for c.
        var at_c = c;
        if b == 0u {
            at_c = placed.position;
        }
        for (var k = 0u; k < body.joint_count; k++) {
            let j = body.joint_begin + k;
            placed = move_joint(param, state_base, motion_base, joint_record(j), joint_param(j), placed, at_c);
        }
        store_pose(pose_base, b, placed);
        if b == 0u {
            c = placed.position;
            shift(motion_base, c - at_c, body.dof_count);
        }
    }
}
