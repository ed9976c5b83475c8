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

/// Where a joint is, in the world frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointLine {
    /// Its number in the model.
    pub joint: usize,
    /// Its anchor, m.
    pub anchor: Vec3,
    /// Its axis (hinge, slide), as it is when its turn comes.
    pub axis: Vec3,
}

/// Anchors and axes of all joints; `poses` are those of the bodies, the ground first.
///
/// # Panics
/// When `q` does not have the model's length, or a body has no pose.
#[must_use]
pub fn joint_lines(model: &Model, q: &[f64], poses: &[Pose]) -> Vec<JointLine> {
    let mut all = Vec::with_capacity(model.joints.len());
    for body in 1..model.bodies.len() {
        place(model, body, &poses[model.bodies[body].parent], q, &mut all);
    }
    all
}

/// Where a body's joints put it on its parent, in their order, and where these are, appended to `lines`.
fn place(model: &Model, body: usize, parent: &Pose, q: &[f64], lines: &mut Vec<JointLine>) -> Pose {
    let own = &model.bodies[body];
    let mut pose = parent * own.pose;
    for number in own.joints.clone() {
        let joint = &model.joints[number];
        let anchor = (pose * Point3::from(joint.anchor)).coords;
        let axis = pose.rotation * joint.axis;
        lines.push(JointLine { joint: number, anchor, axis });
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
        pose.translation.vector = anchor - pose.rotation * joint.anchor;
    }
    pose
}

/// A body moved by its joints, in their order.
fn moved(model: &Model, body: usize, parent: &Motion, q: &[f64], v: &[f64]) -> Motion {
    // Each as it is when its turn comes.
    let mut lines = Vec::new();
    let pose = place(model, body, &parent.pose, q, &mut lines);
    let origin = pose.translation.vector;
    let mut angular = parent.angular;
    let mut linear = parent.velocity_at(&origin);
    for JointLine { joint, anchor, axis } in lines {
        let joint = &model.joints[joint];
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
        linear += spin.cross(&(origin - anchor));
    }
    Motion { pose, linear, angular }
}
