//! The balance of momentum of the theta method, `m(v) = M(q^theta) (v - v0) - h k(q^theta, v^theta)` (Castro 2022, eq. 14),
//! linearised at the guess v that the stage was made of: `A = M + h theta D + h^2 theta theta_vq K` (eq. 15) and
//! `b = A v - m(v)`, so that `A^-1 b` is a Newton step for `m(v) = 0`.
//!
//! D and K are those of [`super::momentum`], the damping and stiffness of joints and of drives without a force limit; all
//! other forces (Coriolis and gyroscopic, gravity, limited drives) are in `k` at the stage, without a derivative. With
//! theta = 0 the stage is the state itself, and `b` is final.

use crate::args::Args;
use crate::dynamics::effort::{dof_count, length, pull_joint, spread};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{
    ActuatorRecord, JointRecord, Params, Tree, actuator_param, drive, joint_param, multiply, nth, nth_mut, param,
    tile_params,
};
use crate::math::clamp;
use crate::real::Real;

/// h, and the weights of the new state.
struct Weights<R> {
    h: R,
    theta: R,
    theta_vq: R,
}

/// `state`, `stage`, and `mass` `[n_m]` and `bias` `[n_v]` at the stage, to `momentum` `[n_m]` and `b` `[n_v]` of one tile of
/// lanes.
pub fn balance<R: Real>(
    tree: &Tree,
    params: Params<R>,
    state: &[R],
    stage: &[R],
    mass: &[R],
    bias: &[R],
    momentum: &mut [R],
    b: &mut [R],
) {
    let dims = tree.dims;
    let weights = Weights { h: params.at(param::TIMESTEP), theta: dims.theta(), theta_vq: dims.theta_vq() };
    let v0 = &state[dims.v_at()..dims.ctrl_at()];
    let tau = &state[dims.tau_at()..dims.n_state()];
    momentum.copy_from_slice(mass);
    multiply(tree, mass, v0, b);
    for i in 0..v0.len() {
        b[i] = weights.h.mul_add(tau[i] - bias[i], b[i]);
    }
    for (j, joint) in tree.joints.iter().enumerate() {
        add_joint(tree, params, joint, joint_param(dims, j), v0, stage, &weights, momentum, b);
    }
    for (a, actuator) in tree.actuators.iter().enumerate() {
        if actuator.mode != drive::ROW && actuator.mode != drive::APPLIED {
            let at = actuator_param(dims, a);
            let control = state[dims.ctrl_at() + a];
            add_actuator(tree, params, actuator, at, control, v0, stage, &weights, momentum, b);
        }
    }
}

/// `theta v` of a dof by the guess that the stage was made of.
#[inline(always)]
fn share<R: Real>(tree: &Tree, v0: &[R], stage: &[R], dof: usize, weights: &Weights<R>) -> R {
    (weights.theta - R::lit(1.0)).mul_add(v0[dof], stage[tree.dims.v_at() + dof])
}

/// Damping and stiffness of a joint.
#[inline(always)]
fn add_joint<R: Real>(
    tree: &Tree,
    params: Params<R>,
    joint: &JointRecord,
    at: usize,
    v0: &[R],
    stage: &[R],
    weights: &Weights<R>,
    momentum: &mut [R],
    b: &mut [R],
) {
    let h = weights.h;
    let stiffness = params.at(at + param::JOINT_STIFFNESS);
    let damping = params.at(at + param::JOINT_DAMPING);
    let way = h * weights.theta_vq;
    let implicit = h * weights.theta * way.mul_add(stiffness, damping);
    let old = h * (weights.theta - R::lit(1.0)) * damping;
    let first = joint.dof_begin as usize;
    for i in first..first + dof_count(joint.kind) {
        let entry = &mut momentum[tree.dofs[i].m_begin as usize];
        *entry += implicit;
        let kept = (h * way * stiffness).mul_add(share(tree, v0, stage, i, weights), old * v0[i]);
        b[i] += kept;
    }
    pull_joint(-(h * stiffness), params, joint, at, stage, b);
}

/// The force of an actuator at the stage; falling gains go into the matrix when it has no force limit.
#[inline(always)]
fn add_actuator<R: Real>(
    tree: &Tree,
    params: Params<R>,
    actuator: &ActuatorRecord,
    at: usize,
    control: R,
    v0: &[R],
    stage: &[R],
    weights: &Weights<R>,
    momentum: &mut [R],
    b: &mut [R],
) {
    let zero = R::lit(0.0);
    let h = weights.h;
    let joint = &tree.joints[actuator.joint as usize];
    let (first, count) = (joint.dof_begin as usize, dof_count(joint.kind));
    let gear = |k: usize| params.at(at + param::ACTUATOR_GEAR + k);
    let length = length(params, joint, at, stage);
    let (mut speed, mut own_part) = (zero, zero);
    for k in 0..count {
        speed = gear(k).mul_add(stage[tree.dims.v_at() + first + k], speed);
        own_part = gear(k).mul_add(share(tree, v0, stage, first + k, weights), own_part);
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
    let force = velocity.mul_add(speed, position.mul_add(length, force));
    let limits = at + param::ACTUATOR_FORCE;
    let limited = clamp(force, params.at(limits), params.at(limits + 1));
    let gain = h * (h * weights.theta_vq).mul_add(stiffness, damping);
    let impulse = gain.mul_add(own_part, h * limited);
    let implicit = weights.theta * gain;
    spread(tree, params, joint, at, impulse, implicit, momentum, b);
}

/// Buffers: topology, params, state, stage, mass, bias, momentum, b.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, stage, mass, bias, momentum, b] = args.split();
    let tree = Tree::new(dims, topology.index());
    let (state, stage) = (state.tile(), stage.tile());
    let (mass, bias) = (mass.tile(), bias.tile());
    let (momentum, b) = (momentum.tile_mut(), b.tile_mut());
    for t in 0..tiles {
        let n_state = dims.n_state() as u32;
        self::balance(
            &tree,
            tile_params(dims, params, t),
            nth(state, t, n_state),
            nth(stage, t, n_state),
            nth(mass, t, dims.n_m),
            nth(bias, t, dims.n_v),
            nth_mut(momentum, t, dims.n_m),
            nth_mut(b, t, dims.n_v),
        );
    }
}
