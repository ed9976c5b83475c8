//! Forward kinematics: body poses, and the motion of each dof at the tree's reference point c.
//!
//! Joints of a body act in order, each about the anchor and axis that its predecessors left, as in MuJoCo's
//! `mj_kinematics`. Source: Featherstone 2008, chapter 4.

use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{
    JointRecord, POSE, Params, SPATIAL, Tree, body_param, joint, joint_param, nth, nth_mut, param, tile_params,
};
use crate::math::{
    Mat3, Quat, Vec3, add, cross, load3, quat_about, quat_matrix, quat_mul, quat_normalize, quat_rotate, scale_add,
    store3, sub, zero,
};
use crate::real::Real;

/// A placement in the world.
#[derive(Clone, Copy)]
struct Pose<R> {
    position: Vec3<R>,
    orientation: Quat<R>,
}

/// `state` `[n_state]` to `pose` [n_body, 7] and `motion` [n_v, 6] of one tile of lanes.
pub fn kinematics<R: Real>(tree: &Tree, params: Params<R>, state: &[R], pose: &mut [R], motion: &mut [R]) {
    let mut c = zero();
    for b in 0..tree.bodies.len() {
        let body = &tree.bodies[b];
        let mut placed = parent_pose(tree, params, b, pose);
        // Before the first body stands, its start stands for c.
        let from = if b == 0 { placed.position } else { c };
        let first = body.joint_begin as usize;
        for j in first..first + body.joint_count as usize {
            placed = move_joint(params, &tree.joints[j], joint_param(tree.dims, j), state, placed, from, motion);
        }
        store3(pose, b * POSE, placed.position);
        pose[b * POSE + 3..(b + 1) * POSE].copy_from_slice(&placed.orientation);
        if b == 0 {
            c = placed.position;
            shift(sub(c, from), body.dof_count as usize, motion);
        }
    }
}

#[inline(always)]
fn write_motion<R: Real>(motion: &mut [R], at: usize, angular: Vec3<R>, linear: Vec3<R>) {
    store3(motion, at, angular);
    store3(motion, at + 3, linear);
}

/// Three rotations about the columns of `axes` through a pivot at `arm` from c.
#[inline(always)]
fn write_rotations<R: Real>(motion: &mut [R], at: usize, axes: &Mat3<R>, arm: Vec3<R>) {
    for k in 0..3 {
        let axis = [axes[k], axes[3 + k], axes[6 + k]];
        write_motion(motion, at + k * SPATIAL, axis, cross(arm, axis));
    }
}

/// Where a body stands before its joints move it.
#[inline(always)]
fn parent_pose<R: Real>(tree: &Tree, params: Params<R>, b: usize, pose: &[R]) -> Pose<R> {
    let at = body_param(b);
    let position = params.at3(at + param::BODY_POSITION);
    let orientation = params.at4(at + param::BODY_ORIENTATION);
    if b == 0 {
        return Pose { position, orientation };
    }
    let p = tree.bodies[b].parent as usize * POSE;
    let parent = [pose[p + 3], pose[p + 4], pose[p + 5], pose[p + 6]];
    Pose { position: add(load3(pose, p), quat_rotate(parent, position)), orientation: quat_mul(parent, orientation) }
}

/// Moves a body by one of its joints, and writes the motion of the joint's dofs at the point `c`.
#[inline(always)]
fn move_joint<R: Real>(
    params: Params<R>,
    joint: &JointRecord,
    at: usize,
    state: &[R],
    body: Pose<R>,
    c: Vec3<R>,
    motion: &mut [R],
) -> Pose<R> {
    let q = joint.q_begin as usize;
    let dof = joint.dof_begin as usize * SPATIAL;
    match joint.kind {
        joint::FREE => {
            let position = load3(state, q);
            let orientation = quat_normalize([state[q + 3], state[q + 4], state[q + 5], state[q + 6]]);
            for k in 0..3 {
                let mut axis = zero();
                axis[k] = R::lit(1.0);
                write_motion(motion, dof + k * SPATIAL, zero(), axis);
            }
            write_rotations(motion, dof + 3 * SPATIAL, &quat_matrix(orientation), sub(position, c));
            Pose { position, orientation }
        }
        joint::BALL => {
            let turn = quat_normalize([state[q], state[q + 1], state[q + 2], state[q + 3]]);
            let anchor = params.at3(at + param::JOINT_ANCHOR);
            let pivot = add(body.position, quat_rotate(body.orientation, anchor));
            let orientation = quat_mul(body.orientation, turn);
            write_rotations(motion, dof, &quat_matrix(orientation), sub(pivot, c));
            Pose { position: sub(pivot, quat_rotate(orientation, anchor)), orientation }
        }
        joint::HINGE => {
            let anchor = params.at3(at + param::JOINT_ANCHOR);
            let axis = params.at3(at + param::JOINT_AXIS);
            let pivot = add(body.position, quat_rotate(body.orientation, anchor));
            let turned = quat_about(axis, state[q] - params.at(at + param::JOINT_REFERENCE));
            let orientation = quat_mul(body.orientation, turned);
            let world_axis = quat_rotate(body.orientation, axis);
            write_motion(motion, dof, world_axis, cross(sub(pivot, c), world_axis));
            Pose { position: sub(pivot, quat_rotate(orientation, anchor)), orientation }
        }
        _ => {
            let axis = quat_rotate(body.orientation, params.at3(at + param::JOINT_AXIS));
            write_motion(motion, dof, zero(), axis);
            let distance = state[q] - params.at(at + param::JOINT_REFERENCE);
            Pose { position: scale_add(axis, distance, body.position), orientation: body.orientation }
        }
    }
}

/// Moves the reference point of the first dofs by `by`.
#[inline(always)]
fn shift<R: Real>(by: Vec3<R>, count: usize, motion: &mut [R]) {
    for at in (0..count).map(|i| i * SPATIAL) {
        let linear = add(load3(motion, at + 3), cross(load3(motion, at), by));
        store3(motion, at + 3, linear);
    }
}

/// Buffers: topology, params, state, pose, motion.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, pose, motion] = args.split();
    let tree = Tree::new(dims, topology.index());
    let state = state.tile();
    let pose = pose.tile_mut();
    let motion = motion.tile_mut();
    for t in 0..tiles {
        kinematics(
            &tree,
            tile_params(dims, params, t),
            nth(state, t, dims.n_state() as u32),
            nth_mut(pose, t, POSE as u32 * dims.n_body),
            nth_mut(motion, t, SPATIAL as u32 * dims.n_v),
        );
    }
}
