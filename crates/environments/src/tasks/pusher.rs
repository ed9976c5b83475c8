//! An arm that pushes a cylinder to a goal.

use manyworlds::model::{Model, Vec3};

use super::{Needs, Task, Verdict, View, shake};
use crate::draws::Draws;
use crate::options::{Settings, TaskOptions};

pub(super) struct Pusher;

/// Joints of the arm.
const ARM: usize = 7;

/// Tip of the arm, cylinder, goal, m: the last three bodies of the model.
fn places(view: &View) -> [Vec3; 3] {
    let [.., tip, object, goal] = view.motions else { return [Vec3::zeros(); 3] };
    [tip, object, goal].map(|motion| motion.pose.translation.vector)
}

impl Task for Pusher {
    fn n_observation(&self, _: &Model, _: &Settings) -> usize {
        2 * ARM + 9
    }

    fn needs(&self) -> Needs {
        Needs { motions: true, late: true, ..Needs::default() }
    }

    fn info(&self) -> &'static [&'static str] {
        &["reward_dist", "reward_ctrl", "reward_near"]
    }

    fn defaults(&self) -> TaskOptions {
        TaskOptions {
            reward_near_weight: Some(0.5),
            reward_dist_weight: Some(1.0),
            reward_control_weight: Some(0.1),
            ..TaskOptions::NONE
        }
    }

    fn start(&self, _: &Model, _: &Settings, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        // Not where the goal is.
        let object = loop {
            let object = [draws.uniform(-0.3, 0.0), draws.uniform(-0.2, 0.2)];
            if object[0].hypot(object[1]) > 0.17 {
                break object;
            }
        };
        q[ARM..ARM + 2].copy_from_slice(&object);
        q[ARM + 2..].fill(0.0);
        shake(draws, v, 0.005);
        v[ARM..].fill(0.0);
    }

    fn place(&self, _: &View) -> [f64; 2] {
        [0.0; 2]
    }

    fn observe(&self, view: &View, out: &mut [f64]) {
        let places = places(view);
        let seen = view.q[..ARM].iter().chain(&view.v[..ARM]).chain(places.iter().flatten());
        out.iter_mut().zip(seen).for_each(|(to, x)| *to = *x);
    }

    fn judge(&self, view: &View, _: [f64; 2], info: &mut [f64]) -> Verdict {
        let [tip, object, goal] = places(view);
        let settings = view.settings;
        let near = settings.reward_near_weight * (object - tip).norm();
        let distance = settings.reward_dist_weight * (object - goal).norm();
        let effort = settings.reward_control_weight * view.effort();
        info.copy_from_slice(&[-distance, -effort, -near]);
        Verdict { reward: -distance - effort - near, terminated: false }
    }
}
