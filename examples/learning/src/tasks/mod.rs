//! What is to be learned: a scene, what is seen of it, and what is rewarded.

mod cartpole;
mod hopper;

use anyhow::Result;
use manyworlds::{Model, Outputs, State};

use crate::noise::Noise;

pub use cartpole::Cartpole;
pub use hopper::Hopper;

/// A task for a policy. All of it is differentiable but falling.
pub trait Task: Sync {
    /// What it is called.
    fn name(&self) -> &'static str;
    /// What moves.
    ///
    /// # Errors
    /// Of the model.
    fn model(&self) -> Result<Model>;
    /// Time step, s, and steps that an action lasts.
    fn timing(&self) -> (f64, usize);
    /// Actions of an episode.
    fn length(&self) -> usize;
    /// Numbers that are seen of a state.
    fn observed(&self) -> usize;
    /// What is seen of a state, `[observed]`.
    fn observe(&self, state: &State) -> Vec<f64>;
    /// Adds to the gradient of a loss by a state that by what is seen of it.
    fn observe_back(&self, state: &State, by_observation: &[f64], out: &mut Outputs);
    /// Reward of coming to a state by an action.
    fn reward(&self, after: &State, action: &[f64]) -> f64;
    /// Adds `times` the gradient of the reward to the gradients of a loss by state and action.
    fn reward_back(&self, after: &State, action: &[f64], times: f64, by_state: &mut Outputs, by_action: &mut [f64]);
    /// Rewards are multiplied by this for learning, so that values are not far from 1 to 10.
    fn reward_scale(&self) -> f64;
    /// Whether an episode ends early in a state.
    fn fallen(&self, state: &State) -> bool;
    /// What is asked of a policy in the end, in words.
    fn goal(&self) -> &'static str;
    /// How far that is reached in an episode, by the states of its last second.
    fn reached(&self, last: &[State]) -> f64;
    /// Return of an episode from which on the task counts as learned.
    fn good(&self) -> f64;
    /// Where an episode begins.
    fn start(&self, noise: &mut Noise) -> State;
}

/// All tasks.
pub const TASKS: [&'static dyn Task; 3] = [&Cartpole { ends: false }, &Cartpole { ends: true }, &Hopper];

/// A task by its name.
#[must_use]
pub fn task(name: &str) -> Option<&'static dyn Task> {
    TASKS.into_iter().find(|task| task.name() == name)
}

#[cfg(test)]
mod tests {
    use manyworlds::{Outputs, State};

    use super::TASKS;
    use crate::noise::Noise;

    /// Observation and reward against central differences at random states; positions of both tasks are plain numbers.
    #[test]
    fn gradients_are_those_of_differences() {
        for task in TASKS {
            let name = task.name();
            let mut noise = Noise::new(5, 0);
            for _ in 0..20 {
                let mut state = task.start(&mut noise);
                state.q.iter_mut().chain(&mut state.v).for_each(|x| *x += 0.2 * noise.even());
                let action: Vec<f64> = (0..3).map(|_| noise.even()).collect();
                let weights = noise.normals(task.observed());
                let value = |state: &State, action: &[f64]| -> f64 {
                    let seen: f64 = task.observe(state).iter().zip(&weights).map(|(x, w)| x * w).sum();
                    seen + 0.7 * task.reward(state, action)
                };
                let n = state.v.len();
                let (mut found, mut by_action) =
                    (Outputs { q: vec![0.0; n], v: vec![0.0; n], ..Outputs::default() }, vec![0.0; 3]);
                task.observe_back(&state, &weights, &mut found);
                task.reward_back(&state, &action, 0.7, &mut found, &mut by_action);
                let found = [found.q, found.v, by_action].concat();
                for (k, found) in found.into_iter().enumerate() {
                    let [up, down] = [1e-6, -1e-6].map(|e| {
                        let (mut state, mut action) = (state.clone(), action.clone());
                        match k / n {
                            0 => state.q[k] += e,
                            1 => state.v[k - n] += e,
                            _ => action[k - 2 * n] += e,
                        }
                        value(&state, &action)
                    });
                    let expected = (up - down) / 2e-6;
                    assert!((found - expected).abs() < 1e-6 * (1.0 + expected.abs()), "{name} {k}: {found} {expected}");
                }
            }
        }
    }
}
