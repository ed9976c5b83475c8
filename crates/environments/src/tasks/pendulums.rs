//! A cart that balances one pole, or two on each other.

use manyworlds::model::{Model, Vec3};

use super::{Needs, Task, Verdict, View, shake, shake_normally};
use crate::draws::Draws;
use crate::options::{Settings, TaskOptions};

pub(super) struct Single;

impl Task for Single {
    fn n_observation(&self, model: &Model, _: &Settings) -> usize {
        model.n_q + model.n_v
    }

    fn info(&self) -> &'static [&'static str] {
        &["reward_survive"]
    }

    fn defaults(&self) -> TaskOptions {
        TaskOptions { reset_noise_scale: Some(0.01), ..TaskOptions::NONE }
    }

    fn start(&self, _: &Model, settings: &Settings, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        shake(draws, q, settings.reset_noise_scale);
        shake(draws, v, settings.reset_noise_scale);
    }

    fn place(&self, _: &View) -> [f64; 2] {
        [0.0; 2]
    }

    fn observe(&self, view: &View, out: &mut [f64]) {
        out.iter_mut().zip(view.q.iter().chain(view.v)).for_each(|(to, x)| *to = *x);
    }

    fn judge(&self, view: &View, _: [f64; 2], info: &mut [f64]) -> Verdict {
        let terminated = view.q[1].abs() > 0.2;
        let reward = f64::from(u8::from(!terminated));
        info[0] = reward;
        Verdict { reward, terminated }
    }
}

pub(super) struct Double;

/// Where the upper pole ends, in its frame, m: the model's only site.
fn tip(view: &View) -> Vec3 {
    let site = &view.model.sites[0];
    (view.motions[site.body].pose * site.pose).translation.vector
}

impl Task for Double {
    fn n_observation(&self, _: &Model, _: &Settings) -> usize {
        9
    }

    fn needs(&self) -> Needs {
        Needs { motions: true, first_limit: true, ..Needs::default() }
    }

    fn info(&self) -> &'static [&'static str] {
        &["reward_survive", "distance_penalty", "velocity_penalty"]
    }

    fn defaults(&self) -> TaskOptions {
        TaskOptions { healthy_reward: Some(10.0), reset_noise_scale: Some(0.1), ..TaskOptions::NONE }
    }

    fn start(&self, _: &Model, settings: &Settings, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        shake(draws, q, settings.reset_noise_scale);
        shake_normally(draws, v, settings.reset_noise_scale);
    }

    fn place(&self, _: &View) -> [f64; 2] {
        [0.0; 2]
    }

    fn observe(&self, view: &View, out: &mut [f64]) {
        let ([x, a, b], v) = ([view.q[0], view.q[1], view.q[2]], view.v.iter().map(|x| x.clamp(-10.0, 10.0)));
        let angles = [x, a.sin(), b.sin(), a.cos(), b.cos()];
        let seen = angles.into_iter().chain(v).chain([view.first_limit.clamp(-10.0, 10.0)]);
        out.iter_mut().zip(seen).for_each(|(to, x)| *to = x);
    }

    fn judge(&self, view: &View, _: [f64; 2], info: &mut [f64]) -> Verdict {
        let tip = tip(view);
        let terminated = tip.z <= 1.0;
        let survive = if terminated { 0.0 } else { view.settings.healthy_reward };
        let distance = 0.01 * tip.x * tip.x + (tip.z - 2.0) * (tip.z - 2.0);
        let speed = 1e-3 * view.v[1] * view.v[1] + 5e-3 * view.v[2] * view.v[2];
        info.copy_from_slice(&[survive, -distance, -speed]);
        Verdict { reward: survive - distance - speed, terminated }
    }
}
