//! Two legs that walk along x.

use manyworlds::model::Model;

use super::{Needs, Task, Verdict, View, hidden, shake};
use crate::draws::Draws;
use crate::options::{Settings, TaskOptions};
use crate::spatial::{self, INERTIA, SPATIAL};

pub(super) struct Humanoid;

/// Positions along x and y, which are not seen.
const HIDDEN: usize = 2;
/// Degrees of freedom of the root, which no actuator moves.
const ROOT: usize = 6;

/// Numbers of what is seen beside positions and velocities: inertias and velocities of bodies, torques of actuators, contact
/// torques and forces.
fn parts(model: &Model, settings: &Settings) -> [usize; 4] {
    let bodies = model.bodies.len() - 1;
    let seen = |included: bool, numbers: usize| if included { numbers } else { 0 };
    [
        seen(settings.include_cinert_in_observation, INERTIA * bodies),
        seen(settings.include_cvel_in_observation, SPATIAL * bodies),
        seen(settings.include_qfrc_actuator_in_observation, model.n_v - ROOT),
        seen(settings.include_cfrc_ext_in_observation, SPATIAL * bodies),
    ]
}

/// Torques of actuators on all joints but the root, N m.
fn torques(view: &View, out: &mut [f64]) {
    out.fill(0.0);
    for (actuator, control) in view.model.actuators.iter().zip(view.action) {
        // All of them are motors of hinges.
        let Some(joint) = actuator.joint() else { continue };
        let [low, high] = actuator.ctrl_range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        let dof = view.model.joints[joint].v_start - ROOT;
        out[dof] += actuator.gear[0] * actuator.gain[0] * control.clamp(low, high);
    }
}

impl Task for Humanoid {
    fn n_observation(&self, model: &Model, settings: &Settings) -> usize {
        model.n_q - hidden(settings, HIDDEN) + model.n_v + parts(model, settings).iter().sum::<usize>()
    }

    fn defaults(&self) -> TaskOptions {
        TaskOptions {
            forward_reward_weight: Some(1.25),
            ctrl_cost_weight: Some(0.1),
            contact_cost_weight: Some(5e-7),
            contact_cost_range: Some([f64::NEG_INFINITY, 10.0]),
            healthy_reward: Some(5.0),
            terminate_when_unhealthy: Some(true),
            healthy_z_range: Some([1.0, 2.0]),
            reset_noise_scale: Some(0.01),
            exclude_current_positions_from_observation: Some(true),
            include_cinert_in_observation: Some(true),
            include_cvel_in_observation: Some(true),
            include_qfrc_actuator_in_observation: Some(true),
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
            "reward_survive",
            "reward_forward",
            "reward_ctrl",
            "reward_contact",
        ]
    }

    fn start(&self, _: &Model, settings: &Settings, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        shake(draws, q, settings.reset_noise_scale);
        shake(draws, v, settings.reset_noise_scale);
    }

    fn place(&self, view: &View) -> [f64; 2] {
        let centre = spatial::centre(view.model, view.motions);
        [centre.x, centre.y]
    }

    fn observe(&self, view: &View, out: &mut [f64]) {
        let (model, centre) = (view.model, spatial::centre(view.model, view.motions));
        let hidden = hidden(view.settings, HIDDEN);
        let [n_inertias, n_velocities, n_torques, n_forces] = parts(model, view.settings);
        let (q, rest) = out.split_at_mut(model.n_q - hidden);
        let (v, rest) = rest.split_at_mut(model.n_v);
        let (inertias, rest) = rest.split_at_mut(n_inertias);
        let (velocities, rest) = rest.split_at_mut(n_velocities);
        let (actuators, forces) = rest.split_at_mut(n_torques);
        q.copy_from_slice(&view.q[hidden..]);
        v.copy_from_slice(view.v);
        spatial::inertias(model, view.motions, &centre, inertias);
        spatial::velocities(view.motions, &centre, velocities);
        if n_torques > 0 {
            torques(view, actuators);
        }
        if n_forces > 0 {
            spatial::forces(view.contacts, view.dt, &centre, forces);
        }
    }

    fn judge(&self, view: &View, velocity: [f64; 2], info: &mut [f64]) -> Verdict {
        let centre = spatial::centre(view.model, view.motions);
        let mut forces = vec![0.0; SPATIAL * (view.model.bodies.len() - 1)];
        spatial::forces(view.contacts, view.dt, &centre, &mut forces);
        let settings = view.settings;
        let [least, most] = settings.contact_cost_range;
        let contact = (settings.contact_cost_weight * forces.iter().map(|x| x * x).sum::<f64>()).clamp(least, most);
        let effort = settings.ctrl_cost_weight * view.effort();
        let [lowest, highest] = settings.healthy_z_range;
        let healthy = lowest < view.q[2] && view.q[2] < highest;
        let survive = if healthy { settings.healthy_reward } else { 0.0 };
        let [forward, sideways] = velocity;
        let (x, y, along) = (view.q[0], view.q[1], settings.forward_reward_weight * forward);
        info.copy_from_slice(&[x, y, x.hypot(y), forward, sideways, survive, along, -effort, -contact]);
        let terminated = !healthy && settings.terminate_when_unhealthy;
        Verdict { reward: along + survive - effort - contact, terminated }
    }
}
