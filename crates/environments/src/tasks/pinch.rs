//! A hand that lifts a box and holds it by friction, with no more force than need be.
//!
//! One of our own: where contact is soft a box creeps out of such fingers, and pays for every newton that it does not.

use manyworlds::model::Model;

use super::{Task, Verdict, View, shake};
use crate::draws::Draws;
use crate::options::Settings;

pub(super) struct Pinch;

/// Joints of the hand.
const HAND: usize = 3;
/// Height of the hand where its slide is at zero, m.
const HAND_HEIGHT: f64 = 0.03;
/// Height that the box is to have, and within what it counts, m.
const GOAL: f64 = 0.15;
const WIDTH: f64 = 0.05;
/// What a newton of the motor costs.
const COST: f64 = 0.02;
/// A box this far from where the fingers close is lost, m.
const LOST: f64 = 0.08;

/// From the hand to the box, m.
fn offset(view: &View) -> [f64; 3] {
    let q = &view.q[HAND..];
    [q[0], q[1], q[2] - HAND_HEIGHT - view.q[0]]
}

impl Task for Pinch {
    fn n_observation(&self, model: &Model, _: &Settings) -> usize {
        model.n_q + model.n_v
    }

    fn info(&self) -> &'static [&'static str] {
        &["reward_height", "reward_force"]
    }

    fn start(&self, _: &Model, _: &Settings, draws: &mut Draws, q: &mut [f64], _: &mut [f64]) {
        shake(draws, &mut q[HAND..HAND + 2], 0.003);
        let half_turn = draws.uniform(-0.05, 0.05);
        (q[HAND + 3], q[HAND + 6]) = (half_turn.cos(), half_turn.sin());
    }

    fn place(&self, _: &View) -> [f64; 2] {
        [0.0; 2]
    }

    /// Positions of hand and fingers, the box from the hand, its quaternion, all velocities.
    fn observe(&self, view: &View, out: &mut [f64]) {
        let offset = offset(view);
        let seen = view.q[..HAND].iter().chain(&offset).chain(&view.q[HAND + 3..]).chain(view.v);
        out.iter_mut().zip(seen).for_each(|(to, x)| *to = *x);
    }

    fn judge(&self, view: &View, _: [f64; 2], info: &mut [f64]) -> Verdict {
        let height = 1.0 - ((view.q[HAND + 2] - GOAL).abs() / WIDTH).tanh();
        let force = -COST * view.action.get(1).copied().unwrap_or(0.0);
        info.copy_from_slice(&[height, force]);
        let terminated = offset(view).iter().any(|x| x.abs() > LOST);
        Verdict { reward: height + force, terminated }
    }
}
