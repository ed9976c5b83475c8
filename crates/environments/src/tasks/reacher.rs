//! An arm in the plane that reaches for a target.

use manyworlds::model::{Model, Vec3};

use super::{Needs, Task, Verdict, View, shake};
use crate::draws::Draws;
use crate::options::{Settings, TaskOptions};

pub(super) struct Reacher;

/// From the target to the fingertip, m.
fn miss(view: &View) -> Vec3 {
    // The last two bodies of the model.
    let [.., tip, target] = view.motions else { return Vec3::zeros() };
    tip.pose.translation.vector - target.pose.translation.vector
}

impl Task for Reacher {
    fn n_observation(&self, _: &Model, _: &Settings) -> usize {
        10
    }

    fn needs(&self) -> Needs {
        Needs { motions: true, ..Needs::default() }
    }

    fn info(&self) -> &'static [&'static str] {
        &["reward_dist", "reward_ctrl"]
    }

    fn defaults(&self) -> TaskOptions {
        TaskOptions { reward_dist_weight: Some(1.0), reward_control_weight: Some(1.0), ..TaskOptions::NONE }
    }

    fn start(&self, _: &Model, _: &Settings, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        shake(draws, q, 0.1);
        shake(draws, v, 0.005);
        // The target stands still, within the arm's reach.
        let goal = loop {
            let goal = [draws.uniform(-0.2, 0.2), draws.uniform(-0.2, 0.2)];
            if goal[0].hypot(goal[1]) < 0.2 {
                break goal;
            }
        };
        q[2..].copy_from_slice(&goal);
        v[2..].fill(0.0);
    }

    fn place(&self, _: &View) -> [f64; 2] {
        [0.0; 2]
    }

    fn observe(&self, view: &View, out: &mut [f64]) {
        let (q, v, miss) = (view.q, view.v, miss(view));
        let seen = [q[0].cos(), q[1].cos(), q[0].sin(), q[1].sin(), q[2], q[3], v[0], v[1], miss.x, miss.y];
        out.copy_from_slice(&seen);
    }

    fn judge(&self, view: &View, _: [f64; 2], info: &mut [f64]) -> Verdict {
        let distance = view.settings.reward_dist_weight * miss(view).norm();
        let effort = view.settings.reward_control_weight * view.effort();
        info.copy_from_slice(&[-distance, -effort]);
        Verdict { reward: -distance - effort, terminated: false }
    }
}
