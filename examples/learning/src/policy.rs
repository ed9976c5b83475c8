//! What acts: a network over what is seen, and noise about what it says.

use anyhow::Result;
use candle_core::{Device, Tensor, Var};

use crate::net::{Mlp, numbers, rows};
use crate::noise::Noise;
use crate::tasks::Task;
use crate::worlds::{End, Worlds};

/// Mean and variance of all that was seen so far (T. Chan et al. 1979).
#[derive(Debug, Clone)]
pub struct Seen {
    mean: Vec<f64>,
    variance: Vec<f64>,
    count: f64,
}

impl Seen {
    /// Nothing yet: mean 0 and variance 1, soon forgotten.
    #[must_use]
    pub fn new(wide: usize) -> Self {
        Self { mean: vec![0.0; wide], variance: vec![1.0; wide], count: 1.0 }
    }

    /// Takes in rows.
    pub fn add(&mut self, rows: &[f64]) {
        let wide = self.mean.len();
        let n = (rows.len() / wide) as f64;
        let total = self.count + n;
        for k in 0..wide {
            let column = || rows.iter().skip(k).step_by(wide);
            let mean = column().sum::<f64>() / n;
            let variance = column().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            let apart = mean - self.mean[k];
            let squares = self.variance[k] * self.count + variance * n + apart * apart * self.count * n / total;
            self.mean[k] += apart * n / total;
            self.variance[k] = squares / total;
        }
        self.count = total;
    }

    fn deviation(&self, k: usize) -> f64 {
        self.variance[k].sqrt().max(1e-3)
    }

    /// Rows of mean 0 and variance 1, nearly.
    #[must_use]
    pub fn scaled(&self, rows: &[f64]) -> Vec<f64> {
        let wide = self.mean.len();
        rows.iter().enumerate().map(|(i, x)| (x - self.mean[i % wide]) / self.deviation(i % wide)).collect()
    }

    /// Gradients by rows from those by the scaled rows.
    #[must_use]
    pub fn scaled_back(&self, rows: &[f64]) -> Vec<f64> {
        let wide = self.mean.len();
        rows.iter().enumerate().map(|(i, g)| g / self.deviation(i % wide)).collect()
    }
}

/// Actions `tanh(u)`, `u` normal about a network's output with a deviation that is learned, too.
#[derive(Debug)]
pub struct Policy {
    /// Of the mean of `u`.
    pub net: Mlp,
    /// Logarithm of the deviation of `u`, `[actions]`.
    pub log_deviation: Var,
    /// What inputs are scaled by.
    pub seen: Seen,
}

/// Widths of the hidden layers of every network.
pub const HIDDEN: [usize; 2] = [64, 64];

/// Widths of a network.
#[must_use]
pub fn widths(inputs: usize, outputs: usize) -> Vec<usize> {
    [&[inputs], &HIDDEN[..], &[outputs]].concat()
}

impl Policy {
    /// One that knows nothing, its actions spread by `deviation`.
    ///
    /// # Errors
    /// Of tensors.
    pub fn new(observed: usize, actions: usize, deviation: f64, noise: &mut Noise) -> Result<Self> {
        let net = Mlp::new(&widths(observed, actions), 0.1, noise)?;
        let log_deviation = Var::from_vec(vec![deviation.ln(); actions], actions, &Device::Cpu)?;
        Ok(Self { net, log_deviation, seen: Seen::new(observed) })
    }

    /// What is trained.
    #[must_use]
    pub fn vars(&self) -> Vec<Var> {
        let mut vars = self.net.vars();
        vars.push(self.log_deviation.clone());
        vars
    }

    /// `u` of scaled observations and noise, `[rows, actions]`.
    ///
    /// # Errors
    /// Where widths do not fit.
    pub fn drawn(&self, scaled: &Tensor, noise: &Tensor) -> Result<Tensor> {
        let deviation = self.log_deviation.as_tensor().exp()?;
        Ok((self.net.forward(scaled)? + noise.broadcast_mul(&deviation)?)?)
    }
}

/// What is seen of states, row by row.
#[must_use]
pub fn observations<'a>(task: &dyn Task, states: impl IntoIterator<Item = &'a manyworlds::State>) -> Vec<f64> {
    states.into_iter().flat_map(|state| task.observe(state)).collect()
}

/// What comes of a policy without noise, means over episodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Return of an episode, of rewards as they are.
    pub value: f64,
    /// How far its goal is reached, [`Task::reached`].
    pub reached: f64,
}

/// Follows a policy without noise through episodes from the same starts for every policy.
///
/// # Errors
/// Of the batch.
pub fn evaluate(task: &'static dyn Task, policy: &Policy, episodes: usize) -> Result<Outcome> {
    // Its own sequence, which no training draws from.
    let mut worlds = Worlds::new(task, episodes, Noise::new(u64::MAX, 0), false)?;
    let mut sum = 0.0;
    let mut paths = vec![Vec::new(); episodes];
    let mut going = vec![true; episodes];
    for _ in 0..task.length() {
        let seen = policy.seen.scaled(&observations(task, worlds.states()));
        let actions = numbers(&policy.net.forward(&rows(seen, task.observed())?)?.tanh()?)?;
        let turn = worlds.act(&actions)?;
        for (world, state) in turn.after.into_iter().enumerate() {
            if going[world] {
                sum += turn.rewards[world];
                paths[world].push(state);
                going[world] = turn.ends[world] == End::No;
            }
        }
        if going.iter().all(|going| !going) {
            break;
        }
    }
    let (dt, steps) = task.timing();
    let second = (1.0 / (dt * steps as f64)).round() as usize;
    let reached: f64 = paths.iter().map(|path| task.reached(&path[path.len().saturating_sub(second)..])).sum();
    Ok(Outcome { value: sum / episodes as f64, reached: reached / episodes as f64 })
}

#[cfg(test)]
mod tests {
    use super::Seen;
    use crate::noise::Noise;

    #[test]
    fn parts_give_the_moments_of_the_whole() {
        let mut noise = Noise::new(1, 1);
        let all: Vec<f64> = (0..3000).map(|i| 5.0 * (i % 3) as f64 + (1.0 + (i % 3) as f64) * noise.normal()).collect();
        let mut seen = Seen::new(3);
        all.chunks(300).for_each(|part| seen.add(part));
        for k in 0..3 {
            let (mean, deviation) = (5.0 * k as f64, 1.0 + k as f64);
            assert!((seen.mean[k] - mean).abs() < 0.2 && (seen.deviation(k) - deviation).abs() < 0.2, "{seen:?}");
        }
        let scaled = seen.scaled(&all);
        assert!(scaled.iter().sum::<f64>().abs() / 3000.0 < 0.02);
    }
}
