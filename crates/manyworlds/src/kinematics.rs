//! Where the bodies of a state are and how they move, on the host and in f64, apart from the kernels.

use manyworlds_model::{JointKind, Model, Pose, Quat, Vec3};
use nalgebra::{Point3, Quaternion, Translation3};

/// Where a body is and how it moves, in the world frame.
#[derive(Debug, Clone, Copy)]
pub struct Motion {
    /// Its frame.
    pub pose: Pose,
    /// Velocity of the frame's origin, m/s.
    pub linear: Vec3,
    /// rad/s
    pub angular: Vec3,
}

impl Motion {
    /// That of the ground.
    #[must_use]
    pub fn still() -> Self {
        Self { pose: Pose::identity(), linear: Vec3::zeros(), angular: Vec3::zeros() }
    }

    /// Velocity of a point that moves with the body, m/s; all in the world frame.
    #[must_use]
    pub fn velocity_at(&self, point: &Vec3) -> Vec3 {
        self.linear + self.angular.cross(&(point - self.pose.translation.vector))
    }
}

/// The motions of all bodies of a state, the ground first; mocap bodies stand where the model has them.
///
/// # Panics
/// When `q` and `v` do not have the model's lengths.
pub fn motions(model: &Model, q: &[f64], v: &[f64], out: &mut Vec<Motion>) {
    motions_with(model, q, v, &[], out);
}

/// The same with the mocap bodies at these poses; those that the list does not reach stand where the model has them.
///
/// # Panics
/// When `q` and `v` do not have the model's lengths.
pub fn motions_with(model: &Model, q: &[f64], v: &[f64], mocap: &[Pose], out: &mut Vec<Motion>) {
    assert_eq!((q.len(), v.len()), (model.n_q, model.n_v), "n_q and n_v of the model");
    out.clear();
    out.push(Motion::still());
    for body in 1..model.bodies.len() {
        let parent = out[model.bodies[body].parent];
        let mut motion = moved(model, body, &parent, q, v);
        let given = model.mocaps.iter().position(|&it| it == body).and_then(|number| mocap.get(number));
        given.into_iter().for_each(|pose| motion.pose = *pose);
        out.push(motion);
    }
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
    let mut linear = parent.velocity_at(&origin);
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
