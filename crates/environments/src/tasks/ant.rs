//! Four legs that walk along x.

use manyworlds::model::Model;

use super::{Needs, Task, Verdict, View, shake, shake_normally};
use crate::draws::Draws;
use crate::spatial::{self, SPATIAL};

pub(super) struct Ant;

/// Positions along x and y, which are not seen.
const HIDDEN: usize = 2;

/// What the legs feel, clipped as Gymnasium does.
fn felt(view: &View, out: &mut [f64]) {
    spatial::forces(view.contacts, view.dt, &spatial::centre(view.model, view.motions), out);
    out.iter_mut().for_each(|x| *x = x.clamp(-1.0, 1.0));
}

impl Task for Ant {
    fn n_observation(&self, model: &Model) -> usize {
        model.n_q - HIDDEN + model.n_v + SPATIAL * (model.bodies.len() - 1)
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

    fn start(&self, _: &Model, draws: &mut Draws, q: &mut [f64], v: &mut [f64]) {
        shake(draws, q, 0.1);
        shake_normally(draws, v, 0.1);
    }

    fn place(&self, view: &View) -> [f64; 2] {
        [view.q[0], view.q[1]]
    }

    fn observe(&self, view: &View, out: &mut [f64]) {
        let (q, rest) = out.split_at_mut(view.q.len() - HIDDEN);
        let (v, forces) = rest.split_at_mut(view.v.len());
        q.copy_from_slice(&view.q[HIDDEN..]);
        v.copy_from_slice(view.v);
        felt(view, forces);
    }

    fn judge(&self, view: &View, velocity: [f64; 2], info: &mut [f64]) -> Verdict {
        let mut forces = vec![0.0; SPATIAL * (view.model.bodies.len() - 1)];
        felt(view, &mut forces);
        let contact = 5e-4 * forces.iter().map(|x| x * x).sum::<f64>();
        let effort = 0.5 * view.effort();
        let healthy = (0.2..=1.0).contains(&view.q[2]);
        let survive = f64::from(u8::from(healthy));
        let [x, y] = [view.q[0], view.q[1]];
        let [forward, sideways] = velocity;
        info.copy_from_slice(&[x, y, x.hypot(y), forward, sideways, forward, -effort, -contact, survive]);
        Verdict { reward: forward + survive - effort - contact, terminated: !healthy }
    }
}
