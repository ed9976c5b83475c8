//! Swing a pole up on a cart and keep it there.

use std::f64::consts::{PI, TAU};

use anyhow::Result;
use manyworlds::{ImportOptions, Model, Outputs, State};

use super::Task;
use crate::noise::Noise;

/// Rewards and episodes as in J. Xu et al. 2022, appendix: `-theta^2 - 0.1 theta'^2 - 0.05 x^2 - 0.1 x'^2`, from a hanging
/// pole. An episode is 200 actions of 0.02 s; nothing ends it earlier.
#[derive(Debug, Clone, Copy)]
pub struct Cartpole {
    /// Whether the track ends, as the scene's does: a cart that is pushed against an end stays there whatever the force, and
    /// has no gradient by it.
    pub ends: bool,
}

/// Weights of pole angle, cart position, and their rates.
const COST: [f64; 4] = [1.0, 0.05, 0.1, 0.1];
/// A pole nearer to upright than this is held up, rad.
const HELD: f64 = 0.2;

/// The angle from upright, -pi to pi.
fn wrapped(angle: f64) -> f64 {
    angle - TAU * (angle / TAU).round()
}

impl Task for Cartpole {
    fn name(&self) -> &'static str {
        if self.ends { "cartpole-with-ends" } else { "cartpole" }
    }

    fn model(&self) -> Result<Model> {
        let mut model = manyworlds::load("cartpole", &ImportOptions::default())?.model;
        if !self.ends {
            model.joints.iter_mut().for_each(|joint| joint.range = None);
        }
        Ok(model)
    }

    fn timing(&self) -> (f64, usize) {
        (0.02, 1)
    }

    fn length(&self) -> usize {
        200
    }

    fn observed(&self) -> usize {
        5
    }

    fn observe(&self, state: &State) -> Vec<f64> {
        let (sin, cos) = state.q[1].sin_cos();
        vec![state.q[0], state.v[0], sin, cos, state.v[1]]
    }

    fn observe_back(&self, state: &State, by: &[f64], out: &mut Outputs) {
        let (sin, cos) = state.q[1].sin_cos();
        out.q[0] += by[0];
        out.v[0] += by[1];
        out.q[1] += by[2] * cos - by[3] * sin;
        out.v[1] += by[4];
    }

    fn reward(&self, after: &State, _: &[f64]) -> f64 {
        let terms = [wrapped(after.q[1]), after.q[0], after.v[1], after.v[0]];
        -COST.iter().zip(terms).map(|(cost, x)| cost * x * x).sum::<f64>()
    }

    fn reward_back(&self, after: &State, _: &[f64], times: f64, by_state: &mut Outputs, _: &mut [f64]) {
        by_state.q[1] -= 2.0 * times * COST[0] * wrapped(after.q[1]);
        by_state.q[0] -= 2.0 * times * COST[1] * after.q[0];
        by_state.v[1] -= 2.0 * times * COST[2] * after.v[1];
        by_state.v[0] -= 2.0 * times * COST[3] * after.v[0];
    }

    fn reward_scale(&self) -> f64 {
        0.02
    }

    fn fallen(&self, _: &State) -> bool {
        false
    }

    fn goal(&self) -> &'static str {
        "episodes whose pole is held up for the last second, share"
    }

    fn reached(&self, last: &[State]) -> f64 {
        if last.iter().all(|state| wrapped(state.q[1]).abs() < HELD) { 1.0 } else { 0.0 }
    }

    fn good(&self) -> f64 {
        -650.0
    }

    fn start(&self, noise: &mut Noise) -> State {
        let q = vec![0.5 * noise.even(), PI + 0.5 * noise.even()];
        State { q, v: (0..2).map(|_| 0.25 * noise.even()).collect(), ..State::default() }
    }
}
