//! Questions that many ask of a model.

use crate::{Body, Geom, Joint, JointKind, Model, Pose};

impl Model {
    /// For each body the first of those welded together with it.
    #[must_use]
    pub fn welds(&self) -> Vec<usize> {
        let mut welds: Vec<usize> = Vec::with_capacity(self.bodies.len());
        for (index, body) in self.bodies.iter().enumerate() {
            let own = index == 0 || !body.joints.is_empty() || self.mocaps.contains(&index);
            welds.push(if own { index } else { welds[body.parent] });
        }
        welds
    }

    /// The position in which the file draws the model: joints at their reference, free bodies where they stand.
    #[must_use]
    pub fn initial_q(&self) -> Vec<f64> {
        let mut q = vec![0.0; self.n_q];
        for joint in &self.joints {
            let own = &mut q[joint.q_start..][..joint.kind.n_q()];
            match joint.kind {
                JointKind::Hinge | JointKind::Slide => own[0] = joint.reference,
                JointKind::Ball => own.copy_from_slice(&[1.0, 0.0, 0.0, 0.0]),
                JointKind::Free => {
                    let Pose { translation, rotation: r } = &self.bodies[joint.body].pose;
                    own[..3].copy_from_slice(translation.vector.as_slice());
                    own[3..].copy_from_slice(&[r.w, r.i, r.j, r.k]);
                }
            }
        }
        q
    }

    /// Scales every quaternion of a position to norm 1; one of zero norm becomes the identity. Entries past the end
    /// of a short `q` are left out.
    pub fn normalize_quaternions(&self, q: &mut [f64]) {
        for joint in &self.joints {
            let start = match joint.kind {
                JointKind::Hinge | JointKind::Slide => continue,
                JointKind::Ball => joint.q_start,
                JointKind::Free => joint.q_start + 3,
            };
            let Some(quaternion) = q.get_mut(start..start + 4) else { continue };
            let norm = quaternion.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm > 1e-14 {
                quaternion.iter_mut().for_each(|x| *x /= norm);
            } else {
                quaternion.copy_from_slice(&[1.0, 0.0, 0.0, 0.0]);
            }
        }
    }

    /// Whether a body stays where the model has it: the ground and what is welded to it.
    #[must_use]
    pub fn stands_still(&self, body: usize) -> bool {
        self.bodies[body].tree.is_none() && self.bodies[body].mocap.is_none()
    }

    /// Index of a body.
    #[must_use]
    pub fn body_by_name(&self, name: &str) -> Option<usize> {
        self.bodies.iter().position(|body: &Body| body.name == name)
    }

    /// Index of a joint.
    #[must_use]
    pub fn joint_by_name(&self, name: &str) -> Option<usize> {
        self.joints.iter().position(|joint: &Joint| joint.name == name)
    }

    /// Index of a geom.
    #[must_use]
    pub fn geom_by_name(&self, name: &str) -> Option<usize> {
        self.geoms.iter().position(|geom: &Geom| geom.name == name)
    }

    /// Index of an actuator, which is that of its control.
    #[must_use]
    pub fn actuator_by_name(&self, name: &str) -> Option<usize> {
        self.actuators.iter().position(|actuator| actuator.name == name)
    }

    /// Index of a keyframe.
    #[must_use]
    pub fn keyframe_by_name(&self, name: &str) -> Option<usize> {
        self.keyframes.iter().position(|keyframe| keyframe.name == name)
    }
}
