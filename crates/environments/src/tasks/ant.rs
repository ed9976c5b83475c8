//! Four legs that walk along x.

use manyworlds::model::Model;

use super::{Needs, Task, Verdict, View, hidden, shake, shake_normally};
use crate::draws::Draws;
use crate::options::{Settings, TaskOptions};
use crate::spatial::{self, SPATIAL};

pub(super) struct Ant;

/// Positions along x and y, which are not seen.
const HIDDEN: usize = 2;

/// What the legs feel, clipped as Gymnasium does.
fn felt(view: &View, out: &mut [f64]) {
    spatial::forces(view.contacts, view.dt, &spatial::centre(view.model, view.motions), out);
    let [least, most] = view.settings.contact_force_range;
    out.iter_mut().for_each(|x| *x = x.clamp(least, most));
}

impl Task for Ant {
    fn n_observation(&self, model: &Model, settings: &Settings) -> usize {
        let forces = if settings.include_cfrc_ext_in_observation { SPATIAL * (model.bodies.len() - 1) } else { 0 };
        model.n_q - hidden(settings, HIDDEN) + model.n_v + forces
    }

    fn defaults(&self) -> TaskOptions {
        TaskOptions {
            forward_reward_weight: Some(1.0),
            ctrl_cost_weight: Some(0.5),
            contact_cost_weight: Some(5e-4),
            contact_force_range: Some([-1.0, 1.0]),
            healthy_reward: Some(1.0),
            terminate_when_unhealthy: Some(true),
            healthy_z_range: Some([0.2, 1.0]),
            reset_noise_scale: Some(0.1),
            exclude_current_positions_from_observation: Some(true),
            include_cfrc_ext_in_observation: Some(true),
            ..TaskOptions::NONE
        }
    }

    fn needs(&self) -> Needs {
        Needs { motions: true, contacts: true, ..Needs::default() }
    }

    fn info(&self) -> &'static [&'static str] {
        &[
            "x_position",
            "y_position",
            "distance_from_origin",
            "x_velocity",
            "y_velocity",
            "reward_forward",
            "reward_ctrl",
            "reward_contact",
            "reward_survive",
        ]
    }

    fn start(&self, _: &Model, settings: &Settings, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        shake(draws, q, settings.reset_noise_scale);
        shake_normally(draws, v, settings.reset_noise_scale);
    }

    fn place(&self, view: &View) -> [f64; 2] {
        [view.q[0], view.q[1]]
    }

    fn observe(&self, view: &View, out: &mut [f64]) {
        let hidden = hidden(view.settings, HIDDEN);
        let (q, rest) = out.split_at_mut(view.q.len() - hidden);
        let (v, forces) = rest.split_at_mut(view.v.len());
        q.copy_from_slice(&view.q[hidden..]);
        v.copy_from_slice(view.v);
        if view.settings.include_cfrc_ext_in_observation {
            felt(view, forces);
        }
    }

    fn judge(&self, view: &View, velocity: [f64; 2], info: &mut [f64]) -> Verdict {
        let mut forces = vec![0.0; SPATIAL * (view.model.bodies.len() - 1)];
        felt(view, &mut forces);
        let settings = view.settings;
        let contact = settings.contact_cost_weight * forces.iter().map(|x| x * x).sum::<f64>();
        let effort = settings.ctrl_cost_weight * view.effort();
        let [lowest, highest] = settings.healthy_z_range;
        let healthy = (lowest..=highest).contains(&view.q[2]);
        let survive = if healthy { settings.healthy_reward } else { 0.0 };
        let [x, y] = [view.q[0], view.q[1]];
        let [forward, sideways] = velocity;
        let along = settings.forward_reward_weight * forward;
        info.copy_from_slice(&[x, y, x.hypot(y), forward, sideways, along, -effort, -contact, survive]);
        let terminated = !healthy && settings.terminate_when_unhealthy;
        Verdict { reward: along + survive - effort - contact, terminated }
    }
}
