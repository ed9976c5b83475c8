//! The momentum matrix `A = M + h D + h^2 K` and the right-hand side
//! `b = M v0 + h (tau + f - c - K (q0 - q_ref))` of the free velocity `A v_free = b` (Castro 2022, eq. 15, with the new
//! state weighed fully: theta = theta_vq = 1).
//!
//! D and K are diagonal with the damping and stiffness of joints, and hold `-bias[2] g g^T` and `-bias[1] g g^T` of drives
//! without a force limit (g the gear) where these are positive; f is what the actuators add beside that. Drives with gains
//! and a force limit are rows, not here.

use crate::args::Args;
use crate::dynamics::effort::{dof_count, length, orientation, pull_joint, spread};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{
    ActuatorRecord, JointRecord, Params, Tree, actuator_param, drive, joint_param, multiply, nth, nth_mut, param,
    tile_params,
};
use crate::dynamics::tumble::LoneBody;
use crate::math::{clamp, cross, load3, quat_conjugate, scale};
use crate::real::Real;

/// `state`, `mass` `[n_m]`, `bias` `[n_v]` to `momentum` `[n_m]` and `b` `[n_v]` of one tile of lanes.
pub fn momentum<R: Real>(
    tree: &Tree,
    params: Params<R>,
    state: &[R],
    mass: &[R],
    bias: &[R],
    momentum: &mut [R],
    b: &mut [R],
) {
    let dims = tree.dims;
    let h = params.at(param::TIMESTEP);
    let v = &state[dims.v_at()..dims.ctrl_at()];
    let tau = &state[dims.tau_at()..dims.n_state()];
    momentum.copy_from_slice(mass);
    if dims.lone == 1 {
        lone(tree, params, state, mass, b);
    } else {
        multiply(tree, mass, v, b);
        for i in 0..v.len() {
            b[i] = (-h).mul_add(bias[i], b[i]);
        }
    }
    for i in 0..v.len() {
        b[i] = h.mul_add(tau[i], b[i]);
    }
    for (j, joint) in tree.joints.iter().enumerate() {
        add_joint(tree, params, joint, joint_param(dims, j), state, momentum, b);
    }
    for (a, actuator) in tree.actuators.iter().enumerate() {
        if actuator.mode != drive::ROW && actuator.mode != drive::APPLIED {
            let control = state[dims.ctrl_at() + a];
            add_actuator(tree, params, actuator, actuator_param(dims, a), control, state, momentum, b);
        }
    }
}

/// `M v` of a lone body as it drifts, and the impulse of gravity.
#[inline(always)]
fn lone<R: Real>(tree: &Tree, params: Params<R>, state: &[R], mass: &[R], b: &mut [R]) {
    let h = params.at(param::TIMESTEP);
    let v = tree.dims.v_at();
    let armature = params.at(joint_param(tree.dims, 0) + param::JOINT_ARMATURE);
    let orientation = orientation(state, 3);
    let body = LoneBody::new(mass, armature, orientation);
    let [linear, angular] = body.drift(load3(state, v), load3(state, v + 3), h);
    let drifted = [linear[0], linear[1], linear[2], angular[0], angular[1], angular[2]];
    multiply(tree, mass, &drifted, b);
    let weight = scale(params.at3(param::GRAVITY), h);
    let moment = crate::math::quat_rotate(quat_conjugate(orientation), cross(body.moment, weight));
    for k in 0..3 {
        b[k] = body.mass.mul_add(weight[k], b[k]);
        b[3 + k] += moment[k];
    }
}

/// Damping and stiffness of a joint.
#[inline(always)]
fn add_joint<R: Real>(
    tree: &Tree,
    params: Params<R>,
    joint: &JointRecord,
    at: usize,
    state: &[R],
    momentum: &mut [R],
    b: &mut [R],
) {
    let h = params.at(param::TIMESTEP);
    let stiffness = params.at(at + param::JOINT_STIFFNESS);
    let implicit = h * h.mul_add(stiffness, params.at(at + param::JOINT_DAMPING));
    let first = joint.dof_begin as usize;
    for dof in &tree.dofs[first..first + dof_count(joint.kind)] {
        momentum[dof.m_begin as usize] += implicit;
    }
    pull_joint(-(h * stiffness), params, joint, at, state, b);
}

/// The force of an actuator, its falling gains implicit when it has no force limit.
#[inline(always)]
fn add_actuator<R: Real>(
    tree: &Tree,
    params: Params<R>,
    actuator: &ActuatorRecord,
    at: usize,
    control: R,
    state: &[R],
    momentum: &mut [R],
    b: &mut [R],
) {
    let zero = R::lit(0.0);
    let h = params.at(param::TIMESTEP);
    let joint = &tree.joints[actuator.joint as usize];
    let (first, count) = (joint.dof_begin as usize, dof_count(joint.kind));
    let gear = |k: usize| params.at(at + param::ACTUATOR_GEAR + k);
    let length = length(params, joint, at, state);
    let mut speed = zero;
    for k in 0..count {
        speed = gear(k).mul_add(state[tree.dims.v_at() + first + k], speed);
    }
    let [constant, position, velocity] = params.at3(at + param::ACTUATOR_BIAS);
    let (mut stiffness, mut damping) = (zero, zero);
    if actuator.mode == drive::IMPLICIT {
        stiffness = (-position).max(zero);
        damping = (-velocity).max(zero);
    }
    let limits = at + param::ACTUATOR_CONTROL;
    let control = clamp(control, params.at(limits), params.at(limits + 1));
    let force = params.at(at + param::ACTUATOR_GAIN).mul_add(control, constant);
    let force = (velocity + damping).mul_add(speed, position.mul_add(length, force));
    let limits = at + param::ACTUATOR_FORCE;
    let impulse = h * clamp(force, params.at(limits), params.at(limits + 1));
    let implicit = h * h.mul_add(stiffness, damping);
    spread(tree, params, joint, at, impulse, implicit, momentum, b);
}

/// Adds the forces of joints' springs and dampers, and of their drives, at a state as they are; `[n_v]` both. For hosts; it
/// has no kernel.
pub fn efforts_at<R: Real>(tree: &Tree, params: Params<R>, state: &[R], [passive, active]: [&mut [R]; 2]) {
    let dims = tree.dims;
    for (j, joint) in tree.joints.iter().enumerate() {
        let at = joint_param(dims, j);
        pull_joint(-params.at(at + param::JOINT_STIFFNESS), params, joint, at, state, passive);
        let first = joint.dof_begin as usize;
        for i in first..first + dof_count(joint.kind) {
            passive[i] -= params.at(at + param::JOINT_DAMPING) * state[dims.v_at() + i];
        }
    }
    for (a, actuator) in tree.actuators.iter().enumerate().filter(|(_, actuator)| actuator.mode != drive::APPLIED) {
        let (at, joint) = (actuator_param(dims, a), &tree.joints[actuator.joint as usize]);
        let first = joint.dof_begin as usize;
        let gear = |k: usize| params.at(at + param::ACTUATOR_GEAR + k);
        let mut speed = R::lit(0.0);
        for k in 0..dof_count(joint.kind) {
            speed = gear(k).mul_add(state[dims.v_at() + first + k], speed);
        }
        let limits = at + param::ACTUATOR_CONTROL;
        let control = clamp(state[dims.ctrl_at() + a], params.at(limits), params.at(limits + 1));
        let [constant, position, velocity] = params.at3(at + param::ACTUATOR_BIAS);
        let force = params.at(at + param::ACTUATOR_GAIN).mul_add(control, constant);
        let force = velocity.mul_add(speed, position.mul_add(length(params, joint, at, state), force));
        let limits = at + param::ACTUATOR_FORCE;
        let force = clamp(force, params.at(limits), params.at(limits + 1));
        for k in 0..dof_count(joint.kind) {
            active[first + k] = gear(k).mul_add(force, active[first + k]);
        }
    }
}

/// Buffers: topology, params, state, mass, bias, momentum, b.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, mass, bias, momentum, b] = args.split();
    let tree = Tree::new(dims, topology.index());
    let state = state.tile();
    let mass = mass.tile();
    let bias = bias.tile();
    let momentum = momentum.tile_mut();
    let b = b.tile_mut();
    for t in 0..tiles {
        self::momentum(
            &tree,
            tile_params(dims, params, t),
            nth(state, t, dims.n_state() as u32),
            nth(mass, t, dims.n_m),
            nth(bias, t, dims.n_v),
            nth_mut(momentum, t, dims.n_m),
            nth_mut(b, t, dims.n_v),
        );
    }
}
