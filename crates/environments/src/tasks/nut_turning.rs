//! A hand that turns a nut down its bolt by friction alone, and has to let go and grip anew.

use std::f64::consts::TAU;

use manyworlds::model::Model;

use super::{Task, Verdict, View, shake};
use crate::draws::Draws;
use crate::options::Settings;

pub(super) struct NutTurning;

/// Joints of the hand: lift, wrist, three fingers. The nut's follows.
const HAND: usize = 5;
const WRIST: usize = 1;
/// Where the nut's height and quaternion are in q.
const HEIGHT: usize = HAND + 2;
const QUATERNION: usize = HAND + 3;
/// The thread: a turn, m, and a height at which a nut that is not turned is in the middle of its play, m.
const PITCH: f64 = 0.005;
const MIDDLE: f64 = 0.03;
/// Height of the nut when it lies on the floor, m, and how near counts.
const HOME: f64 = 0.0075;
const NEAR: f64 = 1e-4;
/// Whole turns below the middle at which episodes start.
const START: f64 = 2.0;
/// What a newton of the motor costs; a radian of turning a second is worth 1.
const COST: f64 = 0.02;

/// Angle about the bolt between half a turn back and half a turn ahead, rad.
fn angle_within_a_turn(q: &[f64]) -> f64 {
    2.0 * (q[QUATERNION + 3] / q[QUATERNION]).atan()
}

/// Angle that is left until the nut is home, rad: of all that look alike the one that fits its height.
fn angle_left(view: &View) -> f64 {
    let within = angle_within_a_turn(view.q);
    let by_height = (view.q[HEIGHT] - MIDDLE) / PITCH * TAU;
    let angle = within + TAU * ((by_height - within) / TAU).round();
    angle - (HOME - MIDDLE) / PITCH * TAU
}

impl Task for NutTurning {
    fn n_observation(&self, model: &Model, _: &Settings) -> usize {
        HAND + 2 + model.n_v
    }

    fn info(&self) -> &'static [&'static str] {
        &["angle_left", "reward_turning", "reward_force"]
    }

    fn start(&self, _: &Model, _: &Settings, draws: &mut Draws, q: &mut [f64], _: &mut [f64]) {
        shake(draws, &mut q[WRIST..=WRIST], 0.5);
        let angle = draws.uniform(-0.5, 0.5) * TAU;
        (q[QUATERNION], q[QUATERNION + 3]) = ((angle / 2.0).cos(), (angle / 2.0).sin());
        q[HEIGHT] = MIDDLE + PITCH * (angle / TAU - START);
    }

    fn place(&self, view: &View) -> [f64; 2] {
        [angle_left(view), 0.0]
    }

    /// Positions of the hand's joints, height of the nut above home, angle left, all velocities.
    fn observe(&self, view: &View, out: &mut [f64]) {
        let nut = [view.q[HEIGHT] - HOME, angle_left(view)];
        let seen = view.q[..HAND].iter().chain(&nut).chain(view.v);
        out.iter_mut().zip(seen).for_each(|(to, x)| *to = *x);
    }

    fn judge(&self, view: &View, velocity: [f64; 2], info: &mut [f64]) -> Verdict {
        let turning = -velocity[0];
        let force = -COST * view.action.get(1).map_or(0.0, |force| force.abs());
        info.copy_from_slice(&[angle_left(view), turning, force]);
        Verdict { reward: turning + force, terminated: view.q[HEIGHT] < HOME + NEAR }
    }
}
