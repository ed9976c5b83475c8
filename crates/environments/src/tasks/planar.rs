//! Those that move in a plane, forward as fast as they can: HalfCheetah, Hopper, Walker2d, Swimmer.

use manyworlds::model::Model;

use super::{Task, Verdict, View, hidden, shake, shake_normally};
use crate::draws::Draws;
use crate::options::{Settings, TaskOptions};

/// Gymnasium's clip of velocities of those that can fall.
const FASTEST: f64 = 10.0;

pub(super) struct Planar {
    defaults: TaskOptions,
    /// Velocities of a start are normally distributed.
    normal: bool,
    /// First positions that are not seen.
    hidden: usize,
    /// It can fall.
    falls: bool,
}

const RUNNER: TaskOptions = TaskOptions {
    forward_reward_weight: Some(1.0),
    ctrl_cost_weight: Some(0.1),
    reset_noise_scale: Some(0.1),
    exclude_current_positions_from_observation: Some(true),
    ..TaskOptions::NONE
};

const WALKER_OPTIONS: TaskOptions = TaskOptions {
    ctrl_cost_weight: Some(1e-3),
    healthy_reward: Some(1.0),
    terminate_when_unhealthy: Some(true),
    healthy_z_range: Some([0.8, 2.0]),
    healthy_angle_range: Some([-1.0, 1.0]),
    reset_noise_scale: Some(5e-3),
    ..RUNNER
};

pub(super) static HALF_CHEETAH: Planar = Planar { defaults: RUNNER, normal: true, hidden: 1, falls: false };
pub(super) static SWIMMER: Planar =
    Planar { defaults: TaskOptions { ctrl_cost_weight: Some(1e-4), ..RUNNER }, normal: false, hidden: 2, falls: false };
pub(super) static HOPPER: Planar = Planar {
    defaults: TaskOptions {
        healthy_z_range: Some([0.7, f64::INFINITY]),
        healthy_angle_range: Some([-0.2, 0.2]),
        healthy_state_range: Some([-100.0, 100.0]),
        ..WALKER_OPTIONS
    },
    normal: false,
    hidden: 1,
    falls: true,
};
pub(super) static WALKER: Planar = Planar { defaults: WALKER_OPTIONS, normal: false, hidden: 1, falls: true };

fn within(x: f64, [low, high]: [f64; 2]) -> bool {
    low < x && x < high
}

impl Planar {
    fn stands(&self, view: &View) -> bool {
        let settings = view.settings;
        let mut rest = view.q[2..].iter().chain(view.v);
        let bounded =
            self.defaults.healthy_state_range.is_none() || rest.all(|&x| within(x, settings.healthy_state_range));
        within(view.q[1], settings.healthy_z_range) && within(view.q[2], settings.healthy_angle_range) && bounded
    }
}

impl Task for Planar {
    fn n_observation(&self, model: &Model, settings: &Settings) -> usize {
        model.n_q - hidden(settings, self.hidden) + model.n_v
    }

    fn info(&self) -> &'static [&'static str] {
        if self.falls {
            &["x_position", "x_velocity", "reward_forward", "reward_ctrl", "reward_survive"]
        } else {
            &["x_position", "x_velocity", "reward_forward", "reward_ctrl"]
        }
    }

    fn defaults(&self) -> TaskOptions {
        self.defaults
    }

    fn start(&self, _: &Model, settings: &Settings, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        shake(draws, q, settings.reset_noise_scale);
        if self.normal {
            shake_normally(draws, v, settings.reset_noise_scale);
        } else {
            shake(draws, v, settings.reset_noise_scale);
        }
    }

    fn place(&self, view: &View) -> [f64; 2] {
        [view.q[0], 0.0]
    }

    fn observe(&self, view: &View, out: &mut [f64]) {
        let most = if self.falls { FASTEST } else { f64::INFINITY };
        let v = view.v.iter().map(|x| x.clamp(-most, most));
        let seen = view.q[hidden(view.settings, self.hidden)..].iter().copied().chain(v);
        out.iter_mut().zip(seen).for_each(|(to, x)| *to = x);
    }

    fn judge(&self, view: &View, [velocity, _]: [f64; 2], info: &mut [f64]) -> Verdict {
        let settings = view.settings;
        let effort = settings.ctrl_cost_weight * view.effort();
        let forward = settings.forward_reward_weight * velocity;
        let stands = !self.falls || self.stands(view);
        let survive = if self.falls && stands { settings.healthy_reward } else { 0.0 };
        let parts = [view.q[0], velocity, forward, -effort, survive];
        info.iter_mut().zip(parts).for_each(|(to, x)| *to = x);
        let terminated = !stands && settings.terminate_when_unhealthy;
        Verdict { reward: forward + survive - effort, terminated }
    }
}
