//! How the momentum before the step and the impulses of joints, drives and applied forces change with q, v, tau and ctrl: the
//! derivative of `b` of [`momentum`](crate::dynamics::momentum) apart from the bias force, whose place [`super::force`] takes.

use super::layout::{Act, slope_reals, width, work_reals};
use super::turn::right_inverse;
use crate::args::Args;
use crate::dynamics::effort::{dof_count, length, orientation, turned};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{
    ActuatorRecord, JointRecord, Params, Tree, actuator_param, drive, joint, joint_param, multiply, nth, nth_mut,
    param, row, tile_params,
};
use crate::dynamics::tumble::LoneBody;
use crate::math::{Vec3, clamp, load3, quat_log};
use crate::real::Real;

/// `state`, `mass` `[n_m]` and v+ `[n_v]` to the accelerations `(v+ - v) / h` `[n_v]` of one tile of lanes, of a lone body
/// from the velocity it drifts to. Every entry of the derivative goes to `add(row, column, entry)`, to be summed, with the
/// columns of [`super::layout`].
pub fn effort<R: Real>(
    tree: &Tree,
    params: Params<R>,
    state: &[R],
    mass: &[R],
    after: &[R],
    acceleration: &mut [R],
    add: &mut impl FnMut(usize, usize, R),
) {
    let (dims, n) = (tree.dims, tree.dofs.len());
    let per_step = R::lit(1.0) / params.at(param::TIMESTEP);
    if dims.lone == 1 {
        let drifted = lone(tree, params, state, mass, add);
        for i in 0..n {
            acceleration[i] = (after[i] - drifted[i]) * per_step;
        }
    } else {
        let v = &state[dims.v_at()..dims.ctrl_at()];
        add_mass(tree, mass, add);
        for i in 0..n {
            acceleration[i] = (after[i] - v[i]) * per_step;
        }
    }
    for (j, joint) in tree.joints.iter().enumerate() {
        add_spring(params, joint, joint_param(dims, j), state, add);
    }
    for (a, actuator) in tree.actuators.iter().enumerate() {
        if actuator.mode != drive::ROW && actuator.mode != drive::APPLIED {
            add_actuator(tree, params, actuator, a, state, add);
        }
    }
}

/// `M` onto the columns of v.
#[inline(always)]
fn add_mass<R: Real>(tree: &Tree, mass: &[R], add: &mut impl FnMut(usize, usize, R)) {
    let n = tree.dofs.len();
    for (i, dof) in tree.dofs.iter().enumerate() {
        let entries = row(mass, dof);
        add(i, n + i, entries[0]);
        let mut j = dof.parent as usize;
        for &entry in &entries[1..] {
            add(i, n + j, entry);
            add(j, n + i, entry);
            j = tree.dofs[j].parent as usize;
        }
    }
}

/// `M` times the derivative of the drift of a lone body; the velocity it drifts to.
#[inline(always)]
fn lone<R: Real>(
    tree: &Tree,
    params: Params<R>,
    state: &[R],
    mass: &[R],
    add: &mut impl FnMut(usize, usize, R),
) -> [R; 6] {
    let h = params.at(param::TIMESTEP);
    let v = tree.dims.v_at();
    let armature = params.at(joint_param(tree.dims, 0) + param::JOINT_ARMATURE);
    let body = LoneBody::new(mass, armature, orientation(state, 3));
    let (before, angular) = (load3(state, v), load3(state, v + 3));
    let [l, a] = body.drift(before, angular, h);
    let derivative = body.drift_derivative(angular, a, h);
    let zero = R::lit(0.0);
    let mut column = |at: usize, change: [R; 6]| {
        let mut product = [zero; 6];
        multiply(tree, mass, &change, &mut product);
        for i in 0..6 {
            add(i, at, product[i]);
        }
    };
    for k in 0..3 {
        let mut along = [zero; 6];
        along[k] = R::lit(1.0);
        column(6 + k, along);
        let (linear, angular) = (derivative.linear_angular[k], derivative.angular_angular[k]);
        column(9 + k, [linear[0], linear[1], linear[2], angular[0], angular[1], angular[2]]);
        let turn = derivative.linear_turn[k];
        column(3 + k, [turn[0], turn[1], turn[2], zero, zero, zero]);
    }
    [l[0], l[1], l[2], a[0], a[1], a[2]]
}

/// The pull of a spring, taken at the position before the step: `-h K d(q - q_ref)`.
#[inline(always)]
fn add_spring<R: Real>(
    params: Params<R>,
    joint: &JointRecord,
    at: usize,
    state: &[R],
    add: &mut impl FnMut(usize, usize, R),
) {
    let pull = -(params.at(param::TIMESTEP) * params.at(at + param::JOINT_STIFFNESS));
    let (q, first, spring) = (joint.q_begin as usize, joint.dof_begin as usize, at + param::JOINT_SPRING);
    match joint.kind {
        joint::FREE => {
            for k in first..first + 3 {
                add(k, k, pull);
            }
            add_turn(pull, turned(orientation(state, q + 3), params.at4(spring + 3)), first + 3, add);
        }
        joint::BALL => add_turn(pull, turned(orientation(state, q), params.at4(spring)), first, add),
        _ => add(first, first, pull),
    }
}

/// That of three dofs of a rotation, `by` from where the spring is slack.
#[inline(always)]
fn add_turn<R: Real>(pull: R, by: Vec3<R>, first: usize, add: &mut impl FnMut(usize, usize, R)) {
    let turn = right_inverse(by);
    for r in 0..3 {
        for k in 0..3 {
            add(first + r, first + k, pull * turn[3 * r + k]);
        }
    }
}

/// How the length of an actuator changes with the first three dofs of its joint (tangent space); with others it does not.
#[inline(always)]
pub fn length_slope<R: Real>(params: Params<R>, joint: &JointRecord, at: usize, state: &[R]) -> Vec3<R> {
    let gear = |k: usize| params.at(at + param::ACTUATOR_GEAR + k);
    let zero = R::lit(0.0);
    match joint.kind {
        joint::FREE => [zero; 3],
        joint::BALL => {
            let turn = right_inverse(quat_log(orientation(state, joint.q_begin as usize)));
            let along = |k: usize| gear(2).mul_add(turn[6 + k], gear(1).mul_add(turn[3 + k], gear(0) * turn[k]));
            [along(0), along(1), along(2)]
        }
        _ => [gear(0), zero, zero],
    }
}

/// The impulse of an actuator that is no row.
#[inline(always)]
fn add_actuator<R: Real>(
    tree: &Tree,
    params: Params<R>,
    actuator: &ActuatorRecord,
    index: usize,
    state: &[R],
    add: &mut impl FnMut(usize, usize, R),
) {
    let (dims, n, zero) = (tree.dims, tree.dofs.len(), R::lit(0.0));
    let at = actuator_param(dims, index);
    let joint = &tree.joints[actuator.joint as usize];
    let (first, count) = (joint.dof_begin as usize, dof_count(joint.kind));
    let gear = |k: usize| params.at(at + param::ACTUATOR_GEAR + k);
    let mut speed = zero;
    for k in 0..count {
        speed = gear(k).mul_add(state[dims.v_at() + first + k], speed);
    }
    let [constant, position, velocity] = params.at3(at + param::ACTUATOR_BIAS);
    let damping = if actuator.mode == drive::IMPLICIT { (-velocity).max(zero) } else { zero };
    let limits = at + param::ACTUATOR_CONTROL;
    let (low, high) = (params.at(limits), params.at(limits + 1));
    let control = state[dims.ctrl_at() + index];
    let gain = params.at(at + param::ACTUATOR_GAIN);
    let force = gain.mul_add(clamp(control, low, high), constant);
    let force = (velocity + damping).mul_add(speed, position.mul_add(length(params, joint, at, state), force));
    // At a bound of its force nothing changes it, beyond one of the control that does not.
    let limits = at + param::ACTUATOR_FORCE;
    let free = params.at(limits).le(force) & force.le(params.at(limits + 1));
    let h = R::select(free, params.at(param::TIMESTEP), zero);
    let gain = R::select(low.le(control) & control.le(high), gain, zero);
    let along = length_slope(params, joint, at, state);
    for i in 0..count {
        let pull = h * gear(i);
        for j in 0..count {
            if j < 3 {
                add(first + i, first + j, pull * position * along[j]);
            }
            add(first + i, n + first + j, pull * (velocity + damping) * gear(j));
        }
        add(first + i, 2 * n + index, pull * gain);
    }
}

/// Buffers: topology, params, state, mass, act, work, slope.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, mass, act, work, slope] = args.split();
    let tree = Tree::new(dims, topology.index());
    let (state, mass, act) = (state.tile(), mass.tile(), act.tile());
    let (work, slope) = (work.tile_mut(), slope.tile_mut());
    let width = width(dims);
    for t in 0..tiles {
        let params = tile_params(dims, params, t);
        let slope = nth_mut(slope, t, slope_reals(dims) as u32);
        // What applied forces are by stands there already.
        if dims.n_force == 0 {
            slope.fill(R::lit(0.0));
        }
        self::effort(
            &tree,
            params,
            nth(state, t, dims.n_state() as u32),
            nth(mass, t, dims.n_m),
            nth(act, t, Act::new(dims).reals as u32),
            nth_mut(work, t, work_reals(dims) as u32),
            &mut |row, column, entry| slope[row * width + column] += entry,
        );
    }
}
