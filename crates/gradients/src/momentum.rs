//! Derivatives of the momentum balance of one tree, `F = A v+ - b - J^T lambda`, with the impulses and v+ held: what is on
//! the right-hand side of `A dv+ = -dF + J^T dlambda`.

use manyworlds_shaders::dynamics::derivatives::force::{force_derivatives, scratch_reals};
use manyworlds_shaders::dynamics::derivatives::turn::right_inverse;
use manyworlds_shaders::dynamics::tree::{
    ActuatorRecord, JointRecord, Params, actuator_param, drive, joint, joint_param, multiply, param,
};
use manyworlds_shaders::dynamics::tumble::LoneBody;
use manyworlds_shaders::math::{Quat, quat_conjugate, quat_log, quat_mul, quat_normalize};

use crate::grid::{Grid, axpy};
use crate::pool::Pooled;
use crate::tree::Forward;

/// Where `-dF` of a tree is added: over the dofs and controls of its island.
pub(crate) struct MomentumDerivative<'g> {
    /// By q, `[n_v, n_v]`.
    pub(crate) q: &'g mut Grid,
    /// By v, `[n_v, n_v]`.
    pub(crate) v: &'g mut Grid,
    /// By ctrl, `[n_v, n_u]`.
    pub(crate) ctrl: &'g mut Grid,
    /// First dof and first control of the tree.
    pub(crate) at: [usize; 2],
}

/// `after`: v+; `fixed` [n_body, 6]: impulses on bodies, fixed in the world, (moment, force) at c.
pub(crate) fn momentum_derivative(forward: &Forward, after: &[f64], fixed: &[f64], mut out: MomentumDerivative) {
    let (tree, n, h) = (&forward.tree, forward.n_v(), forward.h());
    let lone = (tree.dims.lone == 1).then(|| Lone::new(forward));
    let v = forward.v();
    let mut acceleration = Pooled::copy(after);
    let start = lone.as_ref().map_or(v, |lone| &lone.drifted[..]);
    acceleration.iter_mut().zip(start).for_each(|(after, start)| *after = (*after - start) / h);
    let speed = if lone.is_some() { Pooled::zeros(n) } else { Pooled::copy(v) };
    let mut per_step = Pooled::copy(fixed);
    per_step.iter_mut().for_each(|x| *x /= h);
    let mut scratch = Pooled::zeros(scratch_reals(tree.bodies.len(), n));
    let (mut dq, mut dv) = (Pooled::zeros(n * n), Pooled::zeros(n * n));
    force_derivatives(
        tree,
        Params::<f64>::Shared(forward.params),
        &forward.pose,
        &forward.motion,
        &speed,
        &acceleration,
        &per_step,
        &mut scratch,
        &mut dq,
        &mut dv,
    );
    let [first, control] = out.at;
    for i in 0..n {
        axpy(-h, &dq[i * n..(i + 1) * n], &mut out.q.row_mut(first + i)[first..]);
        if lone.is_none() {
            axpy(-h, &dv[i * n..(i + 1) * n], &mut out.v.row_mut(first + i)[first..]);
        }
    }
    if let Some(lone) = &lone {
        lone.add(forward, &mut out);
    } else {
        add_mass(forward, first, out.v);
    }
    for (j, record) in tree.joints.iter().enumerate() {
        spring(forward, record, joint_param(tree.dims, j), first, out.q);
    }
    for (a, record) in tree.actuators.iter().enumerate() {
        if record.mode != drive::ROW {
            actuator(forward, a, record, [first, control + a], &mut out);
        }
    }
}

/// `M` onto a dense matrix, from a dof on.
fn add_mass(forward: &Forward, first: usize, to: &mut Grid) {
    for (i, dof) in forward.tree.dofs.iter().enumerate() {
        let mut j = i;
        for k in 0..dof.chain as usize {
            let entry = forward.mass[dof.m_begin as usize + k];
            to[(first + i, first + j)] += entry;
            if i != j {
                to[(first + j, first + i)] += entry;
            }
            j = forward.tree.dofs[j].parent as usize;
        }
    }
}

/// A lone body: its velocity drifts before anything acts.
struct Lone {
    drifted: [f64; 6],
    body: LoneBody<f64>,
}

impl Lone {
    fn new(forward: &Forward) -> Self {
        let armature = forward.params[joint_param(forward.tree.dims, 0) + param::JOINT_ARMATURE];
        let body = LoneBody::new(&forward.mass, armature, orientation(forward.state, 3));
        let v = forward.v();
        let [l, a] = body.drift([v[0], v[1], v[2]], [v[3], v[4], v[5]], forward.h());
        Self { drifted: [l[0], l[1], l[2], a[0], a[1], a[2]], body }
    }

    /// `M` times the derivative of the drift.
    fn add(&self, forward: &Forward, out: &mut MomentumDerivative) {
        let v = forward.v();
        let [_, _, _, x, y, z] = self.drifted;
        let slope = self.body.drift_derivative([v[3], v[4], v[5]], [x, y, z], forward.h());
        let first = out.at[0];
        let column = |to: &mut Grid, j: usize, change: [f64; 6]| {
            let mut product = [0.0; 6];
            multiply(&forward.tree, &forward.mass, &change, &mut product);
            product.iter().enumerate().for_each(|(i, x)| to[(first + i, first + j)] += x);
        };
        for k in 0..3 {
            let mut along = [0.0; 6];
            along[k] = 1.0;
            column(out.v, k, along);
            let (l, a) = (slope.linear_angular[k], slope.angular_angular[k]);
            column(out.v, 3 + k, [l[0], l[1], l[2], a[0], a[1], a[2]]);
            let l = slope.linear_turn[k];
            column(out.q, 3 + k, [l[0], l[1], l[2], 0.0, 0.0, 0.0]);
        }
    }
}

/// The unit quaternion at an entry of q.
pub(crate) fn orientation(state: &[f64], q: usize) -> Quat<f64> {
    quat_normalize([state[q], state[q + 1], state[q + 2], state[q + 3]])
}

/// The pull of a joint's spring, taken at the position before the step: `-h K d(q - q_ref)`.
fn spring(forward: &Forward, record: &JointRecord, at: usize, first: usize, to: &mut Grid) {
    let pull = -forward.h() * forward.params[at + param::JOINT_STIFFNESS];
    if pull == 0.0 {
        return;
    }
    let (q, first, spring) = (record.q_begin as usize, first + record.dof_begin as usize, at + param::JOINT_SPRING);
    let mut turn = |q: usize, spring: usize, first: usize| {
        let p = &forward.params[spring..spring + 4];
        let slack = quat_conjugate([p[0], p[1], p[2], p[3]]);
        let slope = right_inverse(quat_log(quat_mul(slack, orientation(forward.state, q))));
        for (k, x) in slope.iter().enumerate() {
            to[(first + k / 3, first + k % 3)] += pull * x;
        }
    };
    match record.kind {
        joint::FREE => {
            turn(q + 3, spring + 3, first + 3);
            (0..3).for_each(|k| to[(first + k, first + k)] += pull);
        }
        joint::BALL => turn(q, spring, first),
        _ => to[(first, first)] += pull,
    }
}

/// How the length of an actuator changes with the dofs of its joint (tangent space): number of dofs, and the slope.
pub(crate) fn length_slope(forward: &Forward, record: &JointRecord, at: usize) -> (usize, [f64; 6]) {
    let gear: [f64; 6] = std::array::from_fn(|k| forward.params[at + param::ACTUATOR_GEAR + k]);
    match record.kind {
        joint::FREE => (6, [0.0; 6]),
        joint::BALL => {
            let slope = right_inverse(quat_log(orientation(forward.state, record.q_begin as usize)));
            let along = |k: usize| (0..3).map(|r| gear[r] * slope[3 * r + k]).sum();
            (3, [along(0), along(1), along(2), 0.0, 0.0, 0.0])
        }
        _ => (1, [gear[0], 0.0, 0.0, 0.0, 0.0, 0.0]),
    }
}

/// Whether a control is within its bounds, so that it counts.
pub(crate) fn counts(forward: &Forward, control: f64, at: usize) -> bool {
    let limits = at + param::ACTUATOR_CONTROL;
    forward.params[limits] <= control && control <= forward.params[limits + 1]
}

/// The force of an actuator that is no row; `place`: first dof of its tree and its control, in the island.
fn actuator(forward: &Forward, index: usize, record: &ActuatorRecord, place: [usize; 2], out: &mut MomentumDerivative) {
    let (tree, h) = (&forward.tree, forward.h());
    let at = actuator_param(tree.dims, index);
    let joint = &tree.joints[record.joint as usize];
    let first = joint.dof_begin as usize;
    let (count, slope) = length_slope(forward, joint, at);
    let params = &forward.params[at..];
    let gear = &params[param::ACTUATOR_GEAR..];
    let control = forward.state[tree.dims.ctrl_at() + index];
    let [constant, position, velocity] = [0, 1, 2].map(|k| params[param::ACTUATOR_BIAS + k]);
    let damping = if record.mode == drive::IMPLICIT { (-velocity).max(0.0) } else { 0.0 };
    let length = match joint.kind {
        joint::FREE => 0.0,
        joint::BALL => {
            let turn = quat_log(orientation(forward.state, joint.q_begin as usize));
            (0..3).map(|k| gear[k] * turn[k]).sum()
        }
        _ => gear[0] * forward.state[joint.q_begin as usize],
    };
    let speed: f64 = (0..count).map(|k| gear[k] * forward.v()[first + k]).sum();
    let bounds = &params[param::ACTUATOR_CONTROL..];
    let gain = params[param::ACTUATOR_GAIN];
    let force =
        gain * control.clamp(bounds[0], bounds[1]) + constant + position * length + (velocity + damping) * speed;
    let limits = &params[param::ACTUATOR_FORCE..];
    if !(limits[0]..=limits[1]).contains(&force) {
        return;
    }
    let to = place[0] + first;
    for i in 0..count {
        for j in 0..count {
            out.q[(to + i, to + j)] += h * gear[i] * position * slope[j];
            out.v[(to + i, to + j)] += h * gear[i] * (velocity + damping) * gear[j];
        }
        if counts(forward, control, at) {
            out.ctrl[(to + i, place[1])] += h * gear[i] * gain;
        }
    }
}
