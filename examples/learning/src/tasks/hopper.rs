//! Make a one-legged robot hop forwards.

use anyhow::Result;
use manyworlds::{ImportOptions, Model, Outputs, State};

use super::Task;
use crate::noise::Noise;

/// Rewards as in J. Xu et al. 2022, appendix: speed forwards, plus `1 - (pitch / 30 deg)^2`, plus height where it is above
/// a crouch (and steeply less below), minus `0.1 |action|^2`. An episode is 400 actions of 15 ms, and ends when the torso has
/// sunk by 0.45 m.
#[derive(Debug, Clone, Copy)]
pub struct Hopper;

/// Entries of q and v: way forwards, height over that of the model's zero, pitch.
const WAY: usize = 0;
const HEIGHT: usize = 1;
const PITCH: usize = 2;
/// Numbers of q and of v.
const N: usize = 6;
/// Height at which it has fallen, and that at which the reward by height begins, m.
const FALLEN: f64 = -0.45;
const CROUCHED: f64 = FALLEN + 0.15;
/// Reward by height stops growing so far above, m.
const HIGH: f64 = 0.3;
/// Steepness below the crouch, 1/m^2.
const STEEP: f64 = 200.0;
/// Pitch at which its reward is gone, rad.
const UPRIGHT: f64 = std::f64::consts::PI / 6.0;
/// Of the squared action.
const EFFORT: f64 = 0.1;

/// Reward by height and its slope.
fn by_height(z: f64) -> (f64, f64) {
    let over = z - CROUCHED;
    if over < 0.0 {
        // Deeper than fallen counts no more.
        let over = over.max(-1.0);
        (-STEEP * over * over, if over > -1.0 { -2.0 * STEEP * over } else { 0.0 })
    } else if over < HIGH {
        (over, 1.0)
    } else {
        (HIGH, 0.0)
    }
}

impl Task for Hopper {
    fn name(&self) -> &'static str {
        "hopper"
    }

    fn model(&self) -> Result<Model> {
        Ok(manyworlds::load(self.name(), &ImportOptions::default())?.model)
    }

    fn timing(&self) -> (f64, usize) {
        (0.005, 3)
    }

    fn length(&self) -> usize {
        400
    }

    fn observed(&self) -> usize {
        2 * N - 1
    }

    fn observe(&self, state: &State) -> Vec<f64> {
        [&state.q[HEIGHT..], &state.v].concat()
    }

    fn observe_back(&self, _: &State, by: &[f64], out: &mut Outputs) {
        let (by_q, by_v) = by.split_at(N - 1);
        out.q[HEIGHT..].iter_mut().zip(by_q).for_each(|(to, g)| *to += g);
        out.v.iter_mut().zip(by_v).for_each(|(to, g)| *to += g);
    }

    fn reward(&self, after: &State, action: &[f64]) -> f64 {
        let effort: f64 = action.iter().map(|a| a * a).sum();
        let lean = after.q[PITCH] / UPRIGHT;
        after.v[WAY] + 1.0 - lean * lean + by_height(after.q[HEIGHT]).0 - EFFORT * effort
    }

    fn reward_back(&self, after: &State, action: &[f64], times: f64, by_state: &mut Outputs, by_action: &mut [f64]) {
        by_state.v[WAY] += times;
        by_state.q[PITCH] -= 2.0 * times * after.q[PITCH] / (UPRIGHT * UPRIGHT);
        by_state.q[HEIGHT] += times * by_height(after.q[HEIGHT]).1;
        by_action.iter_mut().zip(action).for_each(|(to, a)| *to -= 2.0 * times * EFFORT * a);
    }

    fn reward_scale(&self) -> f64 {
        0.05
    }

    fn fallen(&self, state: &State) -> bool {
        state.q[HEIGHT] < FALLEN
    }

    fn goal(&self) -> &'static str {
        "way forwards in an episode, m"
    }

    fn reached(&self, last: &[State]) -> f64 {
        last.last().map_or(0.0, |state| state.q[WAY])
    }

    fn good(&self) -> f64 {
        1000.0
    }

    fn start(&self, noise: &mut Noise) -> State {
        // On a flat foot, knee bent a little; a hair above the floor.
        let bend = 0.2 + 0.1 * noise.even();
        let mut q = vec![0.0, 0.0, 0.05 * noise.even(), -bend, -2.0 * bend, bend];
        q[HEIGHT] = 0.45 * (bend.cos() - 1.0) + 0.5 * (bend.cos() - 1.0) - 0.03;
        State { q, v: (0..N).map(|_| 0.1 * noise.even()).collect(), ..State::default() }
    }
}
