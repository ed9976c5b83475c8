//! Proximal policy optimisation (J. Schulman et al. 2017, equation 7) with generalised advantages (J. Schulman et al. 2016,
//! equation 16): gradients of the policy's likelihoods, none of the simulation.

use anyhow::Result;
use candle_core::{D, Device, Tensor};

use crate::Learner;
use crate::net::{Descent, Mlp, fit, numbers, rows};
use crate::noise::Noise;
use crate::policy::{Policy, observations, widths};
use crate::tasks::Task;
use crate::worlds::{End, Turn, Worlds};

/// How it learns.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Worlds side by side.
    pub worlds: usize,
    /// Actions between updates.
    pub horizon: usize,
    /// Adam's rates, of policy and value.
    pub rates: [f64; 2],
    /// Of rewards, by action.
    pub discount: f64,
    /// Of longer advantages.
    pub lambda: f64,
    /// Ratios of likelihoods are clipped this far from 1.
    pub clip: f64,
    /// Times policy and value go through the data of an update, and in how many parts.
    pub fits: [usize; 2],
    /// Deviation of `u` at the start.
    pub deviation: f64,
}

impl Settings {
    /// Usual ones but for worlds, horizon, the policy's rate, deviation and fits, which did best of those tried
    /// (docs/learning.md).
    #[must_use]
    pub fn of(task: &dyn Task) -> Self {
        let all = Self {
            worlds: 16,
            horizon: 64,
            rates: [3e-3, 1e-3],
            discount: 0.99,
            lambda: 0.95,
            clip: 0.2,
            fits: [8, 4],
            deviation: 1.2,
        };
        match task.name() {
            "hopper" => Self { deviation: 0.8, ..all },
            _ => all,
        }
    }
}

/// The learner.
pub struct Ppo {
    settings: Settings,
    worlds: Worlds,
    policy: Policy,
    critic: Mlp,
    descents: [Descent; 2],
    noise: Noise,
}

/// Adam's decays.
const DECAYS: [f64; 2] = [0.9, 0.999];

impl Ppo {
    /// Begins to learn a task.
    ///
    /// # Errors
    /// Of the batch.
    pub fn new(task: &'static dyn Task, settings: Settings, seed: u64) -> Result<Self> {
        let mut worlds = Worlds::new(task, settings.worlds, Noise::new(seed, 1), false)?;
        worlds.spread();
        let mut noise = Noise::new(seed, 2);
        let policy = Policy::new(task.observed(), worlds.actions(), settings.deviation, &mut noise)?;
        let critic = Mlp::new(&widths(task.observed(), 1), 1.0, &mut noise)?;
        let descents = [
            Descent::new(policy.vars(), settings.rates[0], DECAYS, 1.0)?,
            Descent::new(critic.vars(), settings.rates[1], DECAYS, 1.0)?,
        ];
        Ok(Self { settings, worlds, policy, critic, descents, noise })
    }

    fn task(&self) -> &'static dyn Task {
        self.worlds.task
    }

    /// Scaled observations as rows.
    fn seen(&self, observed: &[f64]) -> Result<Tensor> {
        rows(self.policy.seen.scaled(observed), self.task().observed())
    }

    /// Logarithms of the likelihoods of `u`, `[rows]`, but for a constant. Those of `tanh(u)` differ by what no ratio sees.
    fn likelihoods(&self, seen: &Tensor, drawn: &Tensor) -> Result<Tensor> {
        let log_deviation = self.policy.log_deviation.as_tensor();
        let off = (drawn - self.policy.net.forward(seen)?)?.broadcast_div(&log_deviation.exp()?)?;
        Ok((off.sqr()? * -0.5)?.broadcast_sub(log_deviation)?.sum(D::Minus1)?)
    }

    /// Advantages and returns, `[horizon][worlds]`.
    fn advantages(&self, observed: &[f64], turns: &[Turn]) -> Result<[Vec<f64>; 2]> {
        let Settings { discount, lambda, .. } = self.settings;
        let count = self.worlds.count();
        let now = numbers(&self.critic.forward(&self.seen(observed)?)?)?;
        let after = turns.iter().flat_map(|turn| &turn.after);
        let after = numbers(&self.critic.forward(&self.seen(&observations(self.task(), after))?)?)?;
        let mut advantages = vec![0.0; now.len()];
        for (t, turn) in turns.iter().enumerate().rev() {
            for world in 0..count {
                let at = t * count + world;
                let follows = if turn.ends[world] == End::Fell { 0.0 } else { after[at] };
                let surprise = self.task().reward_scale() * turn.rewards[world] + discount * follows - now[at];
                let later = if turn.ends[world] == End::No { advantages.get(at + count).copied() } else { None };
                advantages[at] = surprise + discount * lambda * later.unwrap_or(0.0);
            }
        }
        let returns = advantages.iter().zip(&now).map(|(advantage, value)| advantage + value).collect();
        Ok([advantages, returns])
    }

    /// Raises the clipped objective.
    fn improve(&mut self, [seen, drawn, before, advantages]: [&Tensor; 4], share: f64) -> Result<()> {
        let count = advantages.dim(0)?;
        let [epochs, parts] = self.settings.fits;
        for _ in 0..epochs {
            for part in self.noise.order(count).chunks(count.div_ceil(parts)) {
                let part = Tensor::new(part, &Device::Cpu)?;
                let of = |all: &Tensor| all.index_select(&part, 0);
                let ratio = (self.likelihoods(&of(seen)?, &of(drawn)?)? - of(before)?)?.exp()?;
                let advantage = of(advantages)?;
                let clipped = ratio.clamp(1.0 - self.settings.clip, 1.0 + self.settings.clip)?;
                let gain = (&ratio * &advantage)?.minimum(&(clipped * &advantage)?)?.mean_all()?;
                self.descents[0].step(&gain.neg()?, share)?;
            }
        }
        Ok(())
    }
}

impl Learner for Ppo {
    fn iterate(&mut self, share: f64) -> Result<usize> {
        let (task, wide) = (self.task(), self.worlds.actions());
        let (mut observed, mut drawn, mut turns) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.settings.horizon {
            let now = observations(task, self.worlds.states());
            let noise = rows(self.noise.normals(self.worlds.count() * wide), wide)?;
            let u = self.policy.drawn(&self.seen(&now)?, &noise)?;
            turns.push(self.worlds.act(&numbers(&u.tanh()?)?)?);
            drawn.extend(numbers(&u)?);
            observed.extend(now);
        }
        let [advantages, returns] = self.advantages(&observed, &turns)?;
        let count = returns.len();
        let mean = advantages.iter().sum::<f64>() / count as f64;
        let variance = advantages.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / count as f64;
        let scaled = advantages.iter().map(|a| (a - mean) / (variance.sqrt() + 1e-8)).collect();
        let column = |x: Vec<f64>| -> Result<Tensor> { Ok(rows(x, 1)?.reshape(count)?) };
        let (advantages, returns) = (column(scaled)?, column(returns)?);
        let (seen, drawn) = (self.seen(&observed)?, rows(drawn, wide)?);
        let before = self.likelihoods(&seen, &drawn)?.detach();
        self.improve([&seen, &drawn, &before, &advantages], share)?;
        let fits = self.settings.fits;
        fit(&self.critic, &mut self.descents[1], [&seen, &returns], fits, share, &mut self.noise)?;
        self.policy.seen.add(&observed);
        Ok(count)
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }
}
