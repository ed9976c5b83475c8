//! Poses and inertia of a model that is still being built, at its reference position.

use std::ops::Range;

use nalgebra::{DMatrix, Matrix3xX};

use crate::{JointKind, ModelBuilder, Pose, Vec3};

/// World pose of a body when all joints stand at their reference.
pub(crate) fn body_pose(builder: &ModelBuilder, body: usize) -> Pose {
    let mut pose = Pose::identity();
    let mut at = body;
    while at > 0 {
        pose = builder.bodies[at].pose * pose;
        at = builder.bodies[at].parent;
    }
    pose
}

/// The inverse of the joint-space inertia, armature included, with degrees of freedom in the builder's joint order.
pub(crate) struct InverseMass {
    pub(crate) matrix: DMatrix<f64>,
    starts: Vec<usize>,
}

impl InverseMass {
    /// The degrees of freedom of a joint.
    pub(crate) fn dofs(&self, joint: usize) -> Range<usize> {
        self.starts[joint]..self.starts[joint + 1]
    }
}

/// Inverts M = sum over bodies of m Jv^T Jv + Jw^T I Jw, plus armature; `None` when it is not positive definite.
pub(crate) fn inverse_mass_matrix(builder: &ModelBuilder) -> Option<InverseMass> {
    let mut starts = vec![0];
    for joint in &builder.joints {
        starts.push(starts[starts.len() - 1] + joint.kind.n_v());
    }
    let n = starts[starts.len() - 1];
    let mut mass = DMatrix::zeros(n, n);
    for (index, body) in builder.bodies.iter().enumerate().skip(1) {
        let pose = body_pose(builder, index);
        let com = pose * nalgebra::Point3::from(body.inertial.com);
        let (mut linear, mut angular) = (Matrix3xX::zeros(n), Matrix3xX::zeros(n));
        let mut at = index;
        while at > 0 {
            for (joint, &start) in builder.joints.iter().zip(&starts).filter(|(joint, _)| joint.body == at) {
                let frame = body_pose(builder, at);
                let arm = com - frame * nalgebra::Point3::from(joint.anchor);
                let mut column = start;
                let mut add = |spin: Vec3, shift: Vec3| {
                    angular.set_column(column, &spin);
                    linear.set_column(column, &(spin.cross(&arm) + shift));
                    column += 1;
                };
                match joint.kind {
                    JointKind::Hinge => add(frame * joint.axis, Vec3::zeros()),
                    JointKind::Slide => add(Vec3::zeros(), frame * joint.axis),
                    JointKind::Ball | JointKind::Free => {
                        if joint.kind == JointKind::Free {
                            (0..3).for_each(|i| add(Vec3::zeros(), Vec3::ith(i, 1.0)));
                        }
                        (0..3).for_each(|i| add(frame * Vec3::ith(i, 1.0), Vec3::zeros()));
                    }
                }
            }
            at = builder.bodies[at].parent;
        }
        let rotation = pose.rotation.to_rotation_matrix();
        let inertia = rotation.matrix() * body.inertial.inertia * rotation.matrix().transpose();
        mass += linear.transpose() * &linear * body.inertial.mass + angular.transpose() * inertia * &angular;
    }
    for (joint, &start) in builder.joints.iter().zip(&starts) {
        for dof in start..start + joint.kind.n_v() {
            mass[(dof, dof)] += joint.armature;
        }
    }
    Some(InverseMass { matrix: mass.cholesky()?.inverse(), starts })
}
