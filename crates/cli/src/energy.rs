//! Mechanical energy of a state, on the host and in f64, apart from the kernels.

use manyworlds_model::{JointKind, Model, Pose, Quat, Vec3};
use nalgebra::{Point3, Quaternion, Translation3};

/// Where a body is and how it moves, in the world frame.
#[derive(Clone, Copy)]
struct Motion {
    pose: Pose,
    /// Velocity of the frame's origin, m/s.
    linear: Vec3,
    /// rad/s
    angular: Vec3,
}

/// Kinetic energy with armature, potential energy of gravity (zero at the origin) and of joint springs, J.
pub(crate) fn mechanical(model: &Model, q: &[f64], v: &[f64]) -> f64 {
    let still = Motion { pose: Pose::identity(), linear: Vec3::zeros(), angular: Vec3::zeros() };
    let mut motions = vec![still; model.bodies.len()];
    let mut energy = 0.0;
    for (index, body) in model.bodies.iter().enumerate().skip(1) {
        let motion = moved(model, index, &motions[body.parent], q, v);
        motions[index] = motion;
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

/// A body moved by its joints, in their order.
fn moved(model: &Model, body: usize, parent: &Motion, q: &[f64], v: &[f64]) -> Motion {
    let body = &model.bodies[body];
    let mut pose = parent.pose * body.pose;
    let joints = &model.joints[body.joints.clone()];
    // World axis and anchor of each scalar joint, as they are when its turn comes.
    let mut lines = Vec::with_capacity(joints.len());
    for joint in joints {
        let anchor = pose * Point3::from(joint.anchor);
        let axis = pose.rotation * joint.axis;
        lines.push((axis, anchor));
        let q = &q[joint.q_start..joint.q_start + joint.kind.n_q()];
        let quaternion = |w: &[f64]| Quat::from_quaternion(Quaternion::new(w[0], w[1], w[2], w[3]));
        match joint.kind {
            JointKind::Free => {
                pose = Pose::from_parts(Translation3::new(q[0], q[1], q[2]), quaternion(&q[3..]));
                continue;
            }
            JointKind::Slide => {
                pose.translation.vector += axis * (q[0] - joint.reference);
                continue;
            }
            JointKind::Hinge => pose.rotation *= Quat::from_scaled_axis(joint.axis * (q[0] - joint.reference)),
            JointKind::Ball => pose.rotation *= quaternion(q),
        }
        pose.translation.vector = anchor.coords - pose.rotation * joint.anchor;
    }
    let origin = pose.translation.vector;
    let mut angular = parent.angular;
    let mut linear = parent.linear + parent.angular.cross(&(origin - parent.pose.translation.vector));
    for (joint, (axis, anchor)) in joints.iter().zip(lines) {
        let v = &v[joint.v_start..joint.v_start + joint.kind.n_v()];
        let spin = match joint.kind {
            JointKind::Free => {
                linear += Vec3::new(v[0], v[1], v[2]);
                angular += pose.rotation * Vec3::new(v[3], v[4], v[5]);
                continue;
            }
            JointKind::Slide => {
                linear += axis * v[0];
                continue;
            }
            JointKind::Hinge => axis * v[0],
            JointKind::Ball => pose.rotation * Vec3::new(v[0], v[1], v[2]),
        };
        angular += spin;
        linear += spin.cross(&(origin - anchor.coords));
    }
    Motion { pose, linear, angular }
}
