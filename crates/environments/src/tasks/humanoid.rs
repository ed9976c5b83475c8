//! Two legs that walk along x.

use manyworlds::model::Model;

use super::{Needs, Task, Verdict, View, shake};
use crate::draws::Draws;
use crate::spatial::{self, INERTIA, SPATIAL};

pub(super) struct Humanoid;

/// Positions along x and y, which are not seen.
const HIDDEN: usize = 2;
/// Degrees of freedom of the root, which no actuator moves.
const ROOT: usize = 6;

impl Task for Humanoid {
    fn n_observation(&self, model: &Model) -> usize {
        let bodies = model.bodies.len() - 1;
        model.n_q - HIDDEN + model.n_v + (INERTIA + 2 * SPATIAL) * bodies + model.n_v - ROOT
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

    fn start(&self, _: &Model, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        shake(draws, q, 0.01);
        shake(draws, v, 0.01);
    }

    fn place(&self, view: &View) -> [f64; 2] {
        let centre = spatial::centre(view.model, view.motions);
        [centre.x, centre.y]
    }

    fn observe(&self, view: &View, out: &mut [f64]) {
        let (model, centre) = (view.model, spatial::centre(view.model, view.motions));
        let bodies = model.bodies.len() - 1;
        let (q, rest) = out.split_at_mut(model.n_q - HIDDEN);
        let (v, rest) = rest.split_at_mut(model.n_v);
        let (inertias, rest) = rest.split_at_mut(INERTIA * bodies);
        let (velocities, rest) = rest.split_at_mut(SPATIAL * bodies);
        let (actuators, forces) = rest.split_at_mut(model.n_v - ROOT);
        q.copy_from_slice(&view.q[HIDDEN..]);
        v.copy_from_slice(view.v);
        spatial::inertias(model, view.motions, &centre, inertias);
        spatial::velocities(view.motions, &centre, velocities);
        actuators.fill(0.0);
        for (actuator, control) in model.actuators.iter().zip(view.action) {
            // All of them are motors of hinges.
            let Some(joint) = actuator.joint() else { continue };
            let [low, high] = actuator.ctrl_range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
            let dof = model.joints[joint].v_start - ROOT;
            actuators[dof] += actuator.gear[0] * actuator.gain[0] * control.clamp(low, high);
        }
        spatial::forces(view.contacts, view.dt, &centre, forces);
    }

    fn judge(&self, view: &View, velocity: [f64; 2], info: &mut [f64]) -> Verdict {
        let centre = spatial::centre(view.model, view.motions);
        let mut forces = vec![0.0; SPATIAL * (view.model.bodies.len() - 1)];
        spatial::forces(view.contacts, view.dt, &centre, &mut forces);
        let contact = (5e-7 * forces.iter().map(|x| x * x).sum::<f64>()).min(10.0);
        let effort = 0.1 * view.effort();
        let healthy = 1.0 < view.q[2] && view.q[2] < 2.0;
        let survive = if healthy { 5.0 } else { 0.0 };
        let [forward, sideways] = velocity;
        let (x, y, along) = (view.q[0], view.q[1], 1.25 * forward);
        info.copy_from_slice(&[x, y, x.hypot(y), forward, sideways, survive, along, -effort, -contact]);
        Verdict { reward: along + survive - effort - contact, terminated: !healthy }
    }
}
