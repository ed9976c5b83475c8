//! What both balances of momentum, [`super::momentum`] and [`super::balance`], take from joints and drives.

use crate::dynamics::tree::{JointRecord, Params, Tree, joint, param};
use crate::math::{Quat, Vec3, dot, load3, quat_conjugate, quat_log, quat_mul, quat_normalize, scale_add, sub};
use crate::real::Real;

/// The orientation that begins at q.
#[inline(always)]
pub(crate) fn orientation<R: Real>(state: &[R], q: usize) -> Quat<R> {
    quat_normalize([state[q], state[q + 1], state[q + 2], state[q + 3]])
}

/// Number of dofs of a joint.
#[inline(always)]
pub(crate) fn dof_count(kind: u32) -> usize {
    match kind {
        joint::FREE => 6,
        joint::BALL => 3,
        _ => 1,
    }
}

/// Rotation vector from a reference to an orientation, body axes.
#[inline(always)]
pub(super) fn turned<R: Real>(orientation: Quat<R>, reference: Quat<R>) -> Vec3<R> {
    quat_log(quat_mul(quat_conjugate(reference), orientation))
}

#[inline(always)]
fn pull_back<R: Real>(pull: R, by: Vec3<R>, first: usize, b: &mut [R]) {
    let sum = scale_add(by, pull, load3(b, first));
    b[first..first + 3].copy_from_slice(&sum);
}

/// Adds what a joint's spring does: `pull`, minus stiffness times h, times the way from its reference; `state`: where it is.
#[inline(always)]
pub(super) fn pull_joint<R: Real>(
    pull: R,
    params: Params<R>,
    joint: &JointRecord,
    at: usize,
    state: &[R],
    b: &mut [R],
) {
    let (first, q, spring) = (joint.dof_begin as usize, joint.q_begin as usize, at + param::JOINT_SPRING);
    match joint.kind {
        joint::FREE => {
            pull_back(pull, sub(load3(state, q), params.at3(spring)), first, b);
            let turn = turned(orientation(state, q + 3), params.at4(spring + 3));
            pull_back(pull, turn, first + 3, b);
        }
        joint::BALL => pull_back(pull, turned(orientation(state, q), params.at4(spring)), first, b),
        _ => b[first] = pull.mul_add(state[q] - params.at(spring), b[first]),
    }
}

/// Length of an actuator at a state.
#[inline(always)]
pub(super) fn length<R: Real>(params: Params<R>, joint: &JointRecord, at: usize, state: &[R]) -> R {
    let (gear, q) = (at + param::ACTUATOR_GEAR, joint.q_begin as usize);
    match joint.kind {
        joint::FREE => R::lit(0.0),
        joint::BALL => dot(params.at3(gear), quat_log(orientation(state, q))),
        _ => params.at(gear) * state[q],
    }
}

/// Adds an actuator's impulse to `b`, and its implicit gain to the matrix, along its gear g: `impulse g`, `implicit g g^T`.
#[inline(always)]
pub(super) fn spread<R: Real>(
    tree: &Tree,
    params: Params<R>,
    joint: &JointRecord,
    at: usize,
    impulse: R,
    implicit: R,
    momentum: &mut [R],
    b: &mut [R],
) {
    let first = joint.dof_begin as usize;
    let gear = |k: usize| params.at(at + param::ACTUATOR_GEAR + k);
    for k in 0..dof_count(joint.kind) {
        b[first + k] = gear(k).mul_add(impulse, b[first + k]);
        let row = tree.dofs[first + k].m_begin as usize;
        for l in 0..=k {
            momentum[row + l] = (implicit * gear(k)).mul_add(gear(k - l), momentum[row + l]);
        }
    }
}
