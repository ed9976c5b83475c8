//! Short-horizon actor-critic (J. Xu et al., *Accelerated Policy Learning with Parallel Differentiable Simulation*, 2022).
//!
//! The policy goes down the gradient of `-(sum of discounted rewards over a short horizon + discounted value of where it
//! ends)` (equation 5), taken through the simulation step by step; the value is a network's that is fitted to returns
//! (TD-lambda, equations 6 to 8), of which a slow copy is used.

use anyhow::Result;
use candle_core::{Tensor, Var};
use manyworlds::Outputs;

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
    /// Adam's decays.
    pub decays: [f64; 2],
    /// Of rewards, by action.
    pub discount: f64,
    /// Of longer returns.
    pub lambda: f64,
    /// Share of its numbers that the slow copy keeps in an update.
    pub kept: f64,
    /// Times the value's network goes through the data of an update, and in how many parts.
    pub fits: [usize; 2],
    /// Deviation of `u` at the start.
    pub deviation: f64,
    /// A world's gradient by a state and the action before it is shortened to so many times that of the median world.
    pub longest: f64,
}

impl Settings {
    /// Of the paper's code but for worlds, horizon, the policy's rate, deviation and fits, which did best of those tried
    /// (docs/learning.md), and for `longest`.
    #[must_use]
    pub fn of(task: &dyn Task) -> Self {
        let all = Self {
            worlds: 8,
            horizon: 32,
            rates: [1e-2, 1e-3],
            decays: [0.7, 0.95],
            discount: 0.99,
            lambda: 0.95,
            kept: 0.2,
            fits: [4, 4],
            deviation: 0.8,
            longest: 3.0,
        };
        match task.name() {
            "hopper" => Self { worlds: 32, horizon: 8, rates: [2e-3, 1e-3], ..all },
            _ => all,
        }
    }
}

/// The learner.
pub struct Shac {
    settings: Settings,
    worlds: Worlds,
    policy: Policy,
    critic: Mlp,
    /// The slow copy.
    target: Mlp,
    descents: [Descent; 2],
    noise: Noise,
}

/// One action of all worlds.
struct Instant {
    /// Scaled, and the `tanh(u)` made of it.
    seen: Var,
    actions: Tensor,
    /// Noise in it.
    noise: Vec<f64>,
    turn: Turn,
}

/// A short horizon.
struct Horizon {
    instants: Vec<Instant>,
    /// Observations before all actions, not scaled.
    observed: Vec<f64>,
}

/// The gradient of the policy's loss by all actions of a horizon.
struct Sweep {
    loss: f64,
    /// By action, `[horizon][worlds * actions]`.
    by_actions: Vec<Vec<f64>>,
}

impl Shac {
    /// Begins to learn a task.
    ///
    /// # Errors
    /// Of the batch.
    pub fn new(task: &'static dyn Task, settings: Settings, seed: u64) -> Result<Self> {
        let mut worlds = Worlds::new(task, settings.worlds, Noise::new(seed, 1), true)?;
        worlds.spread();
        let mut noise = Noise::new(seed, 2);
        let policy = Policy::new(task.observed(), worlds.actions(), settings.deviation, &mut noise)?;
        let critic = Mlp::new(&widths(task.observed(), 1), 1.0, &mut noise)?;
        let target = Mlp::new(&widths(task.observed(), 1), 1.0, &mut noise)?;
        target.follow(&critic, 0.0)?;
        let descents = [
            Descent::new(policy.vars(), settings.rates[0], settings.decays, 1.0)?,
            Descent::new(critic.vars(), settings.rates[1], settings.decays, 1.0)?,
        ];
        Ok(Self { settings, worlds, policy, critic, target, descents, noise })
    }

    fn task(&self) -> &'static dyn Task {
        self.worlds.task
    }

    /// Acts for a horizon.
    fn act(&mut self) -> Result<Horizon> {
        let (task, wide) = (self.task(), self.worlds.actions());
        let mut out = Horizon { instants: Vec::new(), observed: Vec::new() };
        for _ in 0..self.settings.horizon {
            let observed = observations(task, self.worlds.states());
            // A variable, so that there is a gradient by it.
            let seen = Var::from_tensor(&rows(self.policy.seen.scaled(&observed), task.observed())?)?;
            let noise = self.noise.normals(self.worlds.count() * wide);
            let actions = self.policy.drawn(&seen, &rows(noise.clone(), wide)?)?.tanh()?;
            let turn = self.worlds.act(&numbers(&actions)?)?;
            out.observed.extend(observed);
            out.instants.push(Instant { seen, actions, noise, turn });
        }
        Ok(out)
    }

    /// Values of states after an action by the slow copy, and their gradients by what is seen, not scaled.
    fn values(&self, turn: &Turn) -> Result<(Vec<f64>, Vec<f64>)> {
        let task = self.task();
        let seen = self.policy.seen.scaled(&observations(task, &turn.after));
        let seen = Var::from_tensor(&rows(seen, task.observed())?)?;
        let values = self.target.forward(&seen)?;
        let slopes = match values.sum_all()?.backward()?.get(&seen) {
            Some(slopes) => numbers(slopes)?,
            None => vec![0.0; turn.after.len() * task.observed()],
        };
        Ok((numbers(&values)?, self.policy.seen.scaled_back(&slopes)))
    }

    /// Goes back through a horizon.
    fn sweep(&self, horizon: &Horizon) -> Result<Sweep> {
        let (task, settings) = (self.task(), &self.settings);
        let (count, wide, observed) = (self.worlds.count(), self.worlds.actions(), self.task().observed());
        let steps = horizon.instants.len();
        let share = 1.0 / (count * steps) as f64;
        // Discount of each action: episodes count from their own start.
        let mut weights = vec![vec![1.0; count]; steps + 1];
        for (t, instant) in horizon.instants.iter().enumerate() {
            for (world, end) in instant.turn.ends.iter().enumerate() {
                weights[t + 1][world] = if *end == End::No { settings.discount * weights[t][world] } else { 1.0 };
            }
        }
        let mut out = Sweep { loss: 0.0, by_actions: Vec::new() };
        let mut by_states: Vec<Outputs> = Vec::new();
        for (t, instant) in horizon.instants.iter().enumerate().rev() {
            let turn = &instant.turn;
            if t + 1 == steps {
                by_states = turn.after.iter().map(|state| zeros(state.v.len())).collect();
            }
            let cut = |world: usize| t + 1 == steps || turn.ends[world] != End::No;
            let valued = |world: usize| cut(world) && turn.ends[world] != End::Fell;
            let values = if (0..count).any(valued) { Some(self.values(turn)?) } else { None };
            let actions = numbers(&instant.actions)?;
            let mut by_actions = vec![0.0; count * wide];
            for world in 0..count {
                let (state, by_state) = (&turn.after[world], &mut by_states[world]);
                if cut(world) {
                    *by_state = zeros(state.v.len());
                }
                if let (Some((values, slopes)), true) = (&values, valued(world)) {
                    let weight = -share * settings.discount * weights[t][world];
                    out.loss += weight * values[world];
                    let slope: Vec<f64> =
                        slopes[world * observed..(world + 1) * observed].iter().map(|g| weight * g).collect();
                    task.observe_back(state, &slope, by_state);
                }
                let weight = -share * task.reward_scale() * weights[t][world];
                out.loss += weight * turn.rewards[world];
                let own = world * wide..(world + 1) * wide;
                task.reward_back(state, &actions[own.clone()], weight, by_state, &mut by_actions[own]);
            }
            for kept in turn.kept.iter().rev() {
                for (world, (inputs, _)) in kept.back(&by_states)?.into_iter().enumerate() {
                    by_states[world] = Outputs { q: inputs.q, v: inputs.v, act: inputs.act };
                    let own = &mut by_actions[world * wide..(world + 1) * wide];
                    own.iter_mut().zip(inputs.ctrl).for_each(|(to, g)| *to += g);
                }
            }
            shorten(&mut by_states, &mut by_actions, settings.longest);
            // Through the policy to what it saw.
            let pulled = (&instant.actions * rows(by_actions.clone(), wide)?)?.sum_all()?.backward()?;
            if let (Some(slopes), true) = (pulled.get(&instant.seen), t > 0) {
                let slopes = self.policy.seen.scaled_back(&numbers(slopes)?);
                for (world, state) in horizon.instants[t - 1].turn.after.iter().enumerate() {
                    // Of a world that began anew it was another state; the chain is cut there.
                    task.observe_back(state, &slopes[world * observed..(world + 1) * observed], &mut by_states[world]);
                }
            }
            out.by_actions.push(by_actions);
        }
        out.by_actions.reverse();
        Ok(out)
    }

    /// A loss whose gradient by the policy's numbers is that of a sweep.
    fn surrogate(&self, horizon: &Horizon, sweep: &Sweep) -> Result<Tensor> {
        let wide = self.worlds.actions();
        let seen = rows(self.policy.seen.scaled(&horizon.observed), self.task().observed())?;
        let noise: Vec<f64> = horizon.instants.iter().flat_map(|instant| instant.noise.iter().copied()).collect();
        let actions = self.policy.drawn(&seen, &rows(noise, wide)?)?.tanh()?;
        Ok((actions * rows(sweep.by_actions.concat(), wide)?)?.sum_all()?)
    }

    /// Returns that values are fitted to, `[horizon][worlds]`.
    fn targets(&self, horizon: &Horizon) -> Result<Vec<f64>> {
        let (count, Settings { discount, lambda, .. }) = (self.worlds.count(), self.settings.clone());
        let mut out = vec![Vec::new(); horizon.instants.len()];
        let mut after: Option<Vec<f64>> = None;
        for (t, instant) in horizon.instants.iter().enumerate().rev() {
            let (values, _) = self.values(&instant.turn)?;
            let target = |world: usize| {
                let reward = self.task().reward_scale() * instant.turn.rewards[world];
                let follows = match (instant.turn.ends[world], &after) {
                    (End::Fell, _) => 0.0,
                    (End::No, Some(after)) => (1.0 - lambda) * values[world] + lambda * after[world],
                    _ => values[world],
                };
                reward + discount * follows
            };
            out[t] = (0..count).map(target).collect();
            after = Some(out[t].clone());
        }
        Ok(out.concat())
    }
}

fn zeros(n: usize) -> Outputs {
    Outputs { q: vec![0.0; n], v: vec![0.0; n], ..Outputs::default() }
}

/// Shortens gradients by states and actions, world by world, to at most `most` times the length of the median world's.
///
/// Impacts in a row multiply gradients: some worlds' become a thousand times as long as most, and say where these few impacts
/// lead, nearby, and nothing else. Adam's one step for all worlds would be theirs alone.
fn shorten(by_states: &mut [Outputs], by_actions: &mut [f64], most: f64) {
    let wide = by_actions.len() / by_states.len();
    let lengths = by_states.iter().zip(by_actions.chunks_exact(wide)).map(|(by_state, by_action)| {
        by_state.q.iter().chain(&by_state.v).chain(by_action).map(|g| g * g).sum::<f64>().sqrt()
    });
    let lengths: Vec<f64> = lengths.collect();
    let mut ordered = lengths.clone();
    ordered.sort_by(f64::total_cmp);
    let longest = most * ordered[ordered.len() / 2];
    for ((by_state, by_action), length) in by_states.iter_mut().zip(by_actions.chunks_exact_mut(wide)).zip(lengths) {
        if length > longest {
            let share = longest / length;
            by_state.q.iter_mut().chain(&mut by_state.v).chain(by_action).for_each(|g| *g *= share);
        }
    }
}

impl Learner for Shac {
    fn iterate(&mut self, share: f64) -> Result<usize> {
        let horizon = self.act()?;
        let sweep = self.sweep(&horizon)?;
        let loss = self.surrogate(&horizon, &sweep)?;
        self.descents[0].step(&loss, share)?;
        let targets = self.targets(&horizon)?;
        let count = targets.len();
        let seen = rows(self.policy.seen.scaled(&horizon.observed), self.task().observed())?;
        let targets = rows(targets, 1)?.reshape(count)?;
        let fits = self.settings.fits;
        fit(&self.critic, &mut self.descents[1], [&seen, &targets], fits, share, &mut self.noise)?;
        self.target.follow(&self.critic, self.settings.kept)?;
        self.policy.seen.add(&horizon.observed);
        Ok(count)
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }
}

#[cfg(test)]
mod tests {
    use manyworlds::Outputs;

    use super::{Settings, Shac, shorten};
    use crate::tasks::task;

    #[test]
    fn a_gradient_far_longer_than_the_others_is_shortened() {
        let of = |q: f64| Outputs { q: vec![q], v: vec![0.0], ..Outputs::default() };
        let mut by_states = vec![of(1.0), of(-2.0), of(30.0)];
        let mut by_actions = vec![0.0, 0.0, 40.0];
        shorten(&mut by_states, &mut by_actions, 3.0);
        assert_eq!(by_states[..2], [of(1.0), of(-2.0)]);
        let (state, action) = (by_states[2].q[0], by_actions[2]);
        assert!((state - 3.6).abs() < 1e-12 && (action - 4.8).abs() < 1e-12, "{state} {action}");
        shorten(&mut by_states, &mut by_actions, f64::INFINITY);
        assert_eq!(by_states[2].q[0], state);
    }

    /// The gradient by numbers of the policy against central differences of the loss: through network, simulation,
    /// contacts, rewards and value.
    #[test]
    fn the_policys_gradient_is_that_of_differences() {
        for name in ["cartpole", "hopper"] {
            let task = task(name).expect("a task");
            let settings = Settings { worlds: 4, horizon: 12, longest: f64::INFINITY, ..Settings::of(task) };
            let begin = || Shac::new(task, settings.clone(), 1).expect("a learner");
            let mut shac = begin();
            let horizon = shac.act().expect("a horizon");
            let sweep = shac.sweep(&horizon).expect("a gradient");
            let gradients = shac.surrogate(&horizon, &sweep).and_then(|loss| Ok(loss.backward()?)).expect("a gradient");
            for (index, var) in shac.policy.vars().into_iter().enumerate() {
                let found = gradients.get(&var).expect("a gradient").flatten_all().expect("numbers");
                let found = found.to_vec1::<f64>().expect("numbers");
                let scale = found.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
                let (entry, found) = (found.len() / 2, found[found.len() / 2]);
                let loss = |e: f64| {
                    let mut shac = begin();
                    let var = &shac.policy.vars()[index];
                    let mut numbers = var.flatten_all().and_then(|x| x.to_vec1::<f64>()).expect("numbers");
                    numbers[entry] += e;
                    let changed = candle_core::Tensor::from_vec(numbers, var.shape(), var.device()).expect("a tensor");
                    var.set(&changed).expect("the same shape");
                    let horizon = shac.act().expect("a horizon");
                    shac.sweep(&horizon).expect("a gradient").loss
                };
                let expected = (loss(1e-5) - loss(-1e-5)) / 2e-5;
                println!("{name} {index}: {found:.6e} {expected:.6e} of {scale:.1e}");
                assert!(
                    (found - expected).abs() < 1e-4 * scale,
                    "{name} {index}: {found:e}, {expected:e} of {scale:e}"
                );
            }
        }
    }
}
