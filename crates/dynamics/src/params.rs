//! The numbers of a tree, in the order of the records of `shaders/src/dynamics/tree.rs`.

use manyworlds_model::{Actuator, EqualityKind, Joint, JointKind, Model, Pose, Quat};
use manyworlds_shaders::dynamics::tree::{TreeDims, param};

use crate::forces::Plan;
use crate::sensors::SensorPlan;
use crate::settings::Settings;
use crate::view::{TreeView, static_pose};

/// One set of parameters, `n_param` reals.
pub(crate) fn params(tree: &TreeView, dims: &TreeDims, settings: &Settings) -> Vec<f64> {
    let model = tree.model;
    let mut params = header(model, settings);
    for b in tree.tree.bodies.clone() {
        body(model, b, b == tree.tree.bodies.start, &mut params);
    }
    for j in tree.joints() {
        joint(model, j, &mut params);
    }
    for &a in &tree.actuators {
        actuator(&model.actuators[a], &mut params);
    }
    for &e in &tree.equalities {
        coupling(model, &model.equalities[e].kind, &mut params);
    }
    for &e in &tree.equalities {
        blocks(model, &model.equalities[e].kind, &mut params);
    }
    let mut plan = Plan::new(tree);
    let sensors = SensorPlan::new(tree, &mut plan);
    plan.params(&mut params);
    sensors.params(&mut params);
    debug_assert_eq!(params.len(), dims.n_param as usize);
    params
}

/// What the parameters of every tree begin with.
pub(crate) fn header(model: &Model, settings: &Settings) -> Vec<f64> {
    let mut params = vec![model.options.timestep];
    params.extend(model.options.gravity.iter());
    params.extend([settings.correction_fraction, settings.correction_max]);
    params.extend([settings.restitution_threshold, settings.correction_slop]);
    params
}

fn push_quat(q: &Quat, params: &mut Vec<f64>) {
    params.extend([q.w, q.i, q.j, q.k]);
}

fn push_pose(pose: &Pose, params: &mut Vec<f64>) {
    params.extend(pose.translation.vector.iter());
    push_quat(&pose.rotation, params);
}

fn body(model: &Model, index: usize, is_root: bool, params: &mut Vec<f64>) {
    let body = &model.bodies[index];
    push_pose(&if is_root { static_pose(model, index) } else { body.pose }, params);
    let inertial = &body.inertial;
    params.push(inertial.mass);
    params.extend(inertial.com.iter());
    let i = &inertial.inertia;
    params.extend([i[(0, 0)], i[(1, 1)], i[(2, 2)], i[(0, 1)], i[(0, 2)], i[(1, 2)]]);
}

fn joint(model: &Model, joint: &Joint, params: &mut Vec<f64>) {
    let start = params.len();
    params.extend(joint.anchor.iter());
    params.extend(joint.axis.iter());
    params.extend([joint.reference, joint.stiffness, joint.damping, joint.armature, joint.dry_friction]);
    params.extend(joint.range.unwrap_or([-param::UNBOUNDED, param::UNBOUNDED]));
    match joint.kind {
        JointKind::Free => {
            let body = &model.bodies[joint.body];
            push_pose(&(static_pose(model, body.parent) * body.pose), params);
        }
        JointKind::Ball => params.extend([1.0, 0.0, 0.0, 0.0]),
        JointKind::Hinge | JointKind::Slide => params.push(joint.spring_reference),
    }
    params.resize(start + param::JOINT, 0.0);
}

pub(crate) fn actuator(actuator: &Actuator, params: &mut Vec<f64>) {
    let unbounded = [-param::UNBOUNDED, param::UNBOUNDED];
    params.extend(actuator.gear);
    params.push(actuator.gain[0]);
    params.extend(actuator.bias);
    params.extend(actuator.ctrl_range.unwrap_or(unbounded));
    params.extend(actuator.force_range.unwrap_or(unbounded));
}

/// Position of q at which a joint stands as the model says.
fn coupling(model: &Model, kind: &EqualityKind, params: &mut Vec<f64>) {
    match kind {
        EqualityKind::Coupling { joint, driver, coefficients } => {
            params.push(model.joints[*joint].reference);
            params.push(driver.map_or(0.0, |d| model.joints[d].reference));
            params.extend(coefficients);
        }
        EqualityKind::TendonCoupling { coefficients, .. } => {
            // Known once the lengths at the initial position are.
            params.extend([f64::NAN; 2]);
            params.extend(coefficients);
        }
        EqualityKind::Connect { .. } | EqualityKind::Weld { .. } => {}
    }
}

fn blocks(model: &Model, kind: &EqualityKind, params: &mut Vec<f64>) {
    let (bodies, frames, copies) = match kind {
        EqualityKind::Connect { bodies, anchors } => (bodies, anchors.map(|a| Pose::translation(a.x, a.y, a.z)), 1),
        EqualityKind::Weld { bodies, frames } => (bodies, *frames, 2),
        EqualityKind::Coupling { .. } | EqualityKind::TendonCoupling { .. } => return,
    };
    for _ in 0..copies {
        for (body, frame) in bodies.iter().zip(&frames) {
            // A frame on a body that stands still is given in the world.
            let still = model.bodies[*body].tree.is_none();
            let frame = if still { static_pose(model, *body) * frame } else { *frame };
            push_pose(&frame, params);
        }
    }
}
