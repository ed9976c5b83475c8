//! Mechanical energy of a state, on the host and in f64, apart from the kernels.

use manyworlds::kinematics;
use manyworlds_model::{JointKind, Model};

/// Kinetic energy with armature, potential energy of gravity (zero at the origin) and of joint springs, J.
pub(crate) fn mechanical(model: &Model, q: &[f64], v: &[f64]) -> f64 {
    let mut motions = Vec::with_capacity(model.bodies.len());
    kinematics::motions(model, q, v, &mut motions);
    let mut energy = 0.0;
    for (body, motion) in model.bodies.iter().zip(&motions).skip(1) {
        let inertial = &body.inertial;
        let arm = motion.pose.rotation * inertial.com;
        let velocity = motion.linear + motion.angular.cross(&arm);
        let spin = motion.pose.rotation.inverse() * motion.angular;
        energy += 0.5 * inertial.mass * velocity.norm_squared() + 0.5 * spin.dot(&(inertial.inertia * spin));
        energy -= inertial.mass * model.options.gravity.dot(&(motion.pose.translation.vector + arm));
    }
    for joint in &model.joints {
        let dofs = &v[joint.v_start..joint.v_start + joint.kind.n_v()];
        energy += 0.5 * joint.armature * dofs.iter().map(|x| x * x).sum::<f64>();
        if matches!(joint.kind, JointKind::Hinge | JointKind::Slide) {
            energy += 0.5 * joint.stiffness * (q[joint.q_start] - joint.spring_reference).powi(2);
        }
    }
    energy
}
