//! A body pushed by hand: a spring from a point of it to one that is dragged about.

use manyworlds::kinematics::{Motion, motions_with};
use manyworlds::model::{Pose, Vec3};
use manyworlds::{Model, State};
use manyworlds_render::Placed;
use nalgebra::Point3;

/// Frequency of the spring with the mass of all that it pulls, rad/s; it is damped critically.
const PULL: f64 = 12.0;

/// A spring.
#[derive(Debug, Clone, Copy)]
pub struct Push {
    body: usize,
    /// In the body's frame, m.
    point: Vec3,
    /// Where its other end is, m.
    pub to: Vec3,
}

impl Push {
    /// Takes hold of a body at a point; not of one that nothing moves.
    #[must_use]
    pub fn grab(model: &Model, body: usize, pose: &Pose, at: Vec3) -> Option<Self> {
        model.bodies[body].tree?;
        Some(Self { body, point: (pose.inverse() * Point3::from(at)).coords, to: at })
    }

    /// Where it holds the body.
    #[must_use]
    pub fn held(&self, placed: &Placed) -> Vec3 {
        (placed.poses[self.body] * Point3::from(self.point)).coords
    }

    /// Adds its generalized force to others.
    pub fn add_force(&self, model: &Model, state: &State, tau: &mut [f64]) {
        let Some(tree) = model.bodies[self.body].tree.map(|tree| &model.trees[tree]) else { return };
        let mass: f64 = model.bodies[tree.bodies.clone()].iter().map(|body| body.inertial.mass).sum();
        let mut bodies: Vec<Motion> = Vec::new();
        let mut velocity = |v: &[f64]| {
            motions_with(model, &state.q, v, &[], &mut bodies);
            let motion = &bodies[self.body];
            let at = (motion.pose * Point3::from(self.point)).coords;
            (at, motion.velocity_at(&at))
        };
        let (at, moving) = velocity(&state.v);
        let force = mass * PULL * (PULL * (self.to - at) - 2.0 * moving);
        // The point's velocity is linear in v: a column of its Jacobian for each degree of freedom of the tree.
        let mut unit = vec![0.0; model.n_v];
        for dof in tree.v.clone() {
            unit[dof] = 1.0;
            tau[dof] += force.dot(&velocity(&unit).1);
            unit[dof] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use manyworlds::{Batch, BatchOptions, Executor, FieldId, ImportOptions, Precision};

    use super::*;

    #[test]
    fn a_body_follows_the_spring_that_pulls_it() {
        let model = manyworlds::load("free-box", &ImportOptions::default()).unwrap().model;
        let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() };
        let mut batch = Batch::new(&[(&model, 1)], &options).unwrap();
        let first = batch.state(0).unwrap();
        let to = Vec3::new(first.q[0] + 0.3, first.q[1] - 0.2, first.q[2] + 1.0);
        let pose = Pose::translation(first.q[0], first.q[1], first.q[2]);
        assert!(Push::grab(&model, 0, &Pose::identity(), to).is_none(), "the ground stays");
        let mut push = Push::grab(&model, 1, &pose, pose.translation.vector).expect("a body that moves");
        push.to = to;
        let mut speed = 0.0;
        for _ in 0..(2.0 / model.options.timestep) as usize {
            let state = batch.state(0).unwrap();
            let mut tau = vec![0.0; model.n_v];
            push.add_force(&model, &state, &mut tau);
            batch.write(0, FieldId::Force, &tau).unwrap();
            batch.step::<f64>(&[]).unwrap();
            speed = Vec3::from_column_slice(&state.v[..3]).norm();
        }
        let state = batch.state(0).unwrap();
        // It hangs below, where the spring bears its weight.
        let expected = to - Vec3::z() * (9.81 / (PULL * PULL));
        let found = Vec3::from_column_slice(&state.q[..3]);
        assert!((found - expected).norm() < 1e-3 && speed < 1e-2, "{found} {expected} {speed}");
    }
}
