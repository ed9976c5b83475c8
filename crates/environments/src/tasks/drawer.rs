//! An arm that opens a drawer without a handle, by friction alone.

use manyworlds::model::{Model, Vec3};

use super::{Needs, Task, Verdict, View, shake};
use crate::draws::Draws;
use crate::options::Settings;

pub(super) struct Drawer;

/// Joints of the arm; the drawer's follows.
const ARM: usize = 4;
/// Where the tip of the hand is on it, m.
const TIP: Vec3 = Vec3::new(0.15, 0.0, 0.0);
/// What a metre between the tip and the top of the drawer costs, and what a metre of opening is worth.
const DISTANCE: f64 = 0.2;
const OPENING: f64 = 10.0;
/// A start that does not touch the drawer, rad.
const START: [f64; ARM] = [0.0, -0.9, 1.7, 0.7];

/// From the top of the drawer to the tip, m.
fn offset(view: &View) -> Vec3 {
    let [.., hand, drawer] = view.motions else { return Vec3::zeros() };
    hand.pose.translation.vector + hand.pose.rotation * TIP - drawer.pose.translation.vector
}

impl Task for Drawer {
    fn n_observation(&self, model: &Model, _: &Settings) -> usize {
        model.n_q + model.n_v + 3
    }

    fn needs(&self) -> Needs {
        Needs { motions: true, ..Needs::default() }
    }

    fn info(&self) -> &'static [&'static str] {
        &["opening", "distance"]
    }

    fn start(&self, _: &Model, _: &Settings, draws: &mut Draws, q: &mut [f64], _: &mut [f64]) {
        q[..ARM].copy_from_slice(&START);
        shake(draws, &mut q[..ARM], 0.02);
    }

    /// How far the drawer is open.
    fn place(&self, view: &View) -> [f64; 2] {
        [view.q[ARM], 0.0]
    }

    /// Positions and velocities of arm and drawer, the tip from the top of the drawer.
    fn observe(&self, view: &View, out: &mut [f64]) {
        let offset = offset(view);
        let seen = view.q.iter().chain(view.v).chain(offset.iter());
        out.iter_mut().zip(seen).for_each(|(to, x)| *to = *x);
    }

    fn judge(&self, view: &View, velocity: [f64; 2], info: &mut [f64]) -> Verdict {
        let distance = offset(view).norm();
        info.copy_from_slice(&[view.q[ARM], distance]);
        Verdict { reward: OPENING * velocity[0] - DISTANCE * distance, terminated: false }
    }
}
