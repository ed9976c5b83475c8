//! Worlds of a task side by side, each in an episode of its own.

use anyhow::{Context, Result};
use manyworlds::{Batch, BatchOptions, Executor, KeptStep, Precision, State};

use crate::noise::Noise;
use crate::tasks::Task;

/// How an action ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The episode goes on.
    No,
    /// It fell: nothing comes after.
    Fell,
    /// The time was up; it would have gone on.
    Time,
}

/// What an action did, by world.
#[derive(Debug)]
pub struct Turn {
    /// Rewards, not scaled.
    pub rewards: Vec<f64>,
    /// States after the action, before what ended began anew.
    pub after: Vec<State>,
    /// How it ended.
    pub ends: Vec<End>,
    /// The steps, where they are kept.
    pub kept: Vec<KeptStep>,
}

/// Worlds of a task.
pub struct Worlds {
    /// The task.
    pub task: &'static dyn Task,
    batch: Batch,
    states: Vec<State>,
    /// Actions of each world's episode so far.
    clock: Vec<usize>,
    noise: Noise,
    keep: bool,
}

impl Worlds {
    /// So many worlds, which begin their episodes; `keep`: their steps are gone back through.
    ///
    /// # Errors
    /// Of the batch.
    pub fn new(task: &'static dyn Task, count: usize, noise: Noise, keep: bool) -> Result<Self> {
        let model = task.model()?;
        let options = BatchOptions {
            executor: Executor::Cpu,
            precision: Precision::F64,
            // Of those that learn without gradients too: all see the same worlds.
            tolerance: 1e-9,
            dt: Some(task.timing().0),
            ..BatchOptions::default()
        };
        let mut batch = Batch::new(&[(&model, count)], &options)?;
        batch.keep_steps(keep)?;
        let states = vec![State::default(); count];
        let mut out = Self { task, batch, states, clock: vec![0; count], noise, keep };
        out.begin_all()?;
        Ok(out)
    }

    /// Number of worlds.
    #[must_use]
    pub fn count(&self) -> usize {
        self.clock.len()
    }

    /// Numbers of an action.
    #[must_use]
    pub fn actions(&self) -> usize {
        self.batch.n_controls() / self.count()
    }

    /// States now.
    #[must_use]
    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// Begins all episodes anew.
    ///
    /// # Errors
    /// Of the batch.
    pub fn begin_all(&mut self) -> Result<()> {
        self.begin(&(0..self.count()).collect::<Vec<_>>())
    }

    /// Shares out how far episodes have come, so that they do not all end at once.
    pub fn spread(&mut self) {
        let (count, length) = (self.count(), self.task.length());
        self.clock.iter_mut().enumerate().for_each(|(world, clock)| *clock = world * length / count);
    }

    fn begin(&mut self, worlds: &[usize]) -> Result<()> {
        let starts: Vec<_> = worlds.iter().map(|&world| (world, self.task.start(&mut self.noise))).collect();
        self.batch.reset(&starts)?;
        for (world, state) in starts {
            (self.states[world], self.clock[world]) = (state, 0);
        }
        Ok(())
    }

    /// Acts in all worlds, `[worlds][actions]`, each from -1 to 1; those that end begin anew.
    ///
    /// # Errors
    /// Of the batch.
    pub fn act(&mut self, actions: &[f64]) -> Result<Turn> {
        let (_, steps) = self.task.timing();
        let mut kept = Vec::with_capacity(steps);
        for _ in 0..steps {
            self.batch.step(actions)?;
            if self.keep {
                kept.push(self.batch.kept_step()?);
            }
        }
        let after: Vec<State> = match kept.last() {
            Some(last) => last.after().cloned().collect(),
            None => (0..self.count()).map(|world| self.batch.state(world)).collect::<Result<_, _>>()?,
        };
        let mut turn = Turn { rewards: Vec::new(), after, ends: Vec::new(), kept };
        let n = self.actions();
        for (world, action) in actions.chunks_exact(n).enumerate() {
            let state = &mut turn.after[world];
            let mut reward = self.task.reward(state, action);
            let broken = !reward.is_finite() || !state.q.iter().chain(&state.v).all(|x| x.is_finite());
            if broken {
                // It counts as fallen, where it was.
                state.clone_from(&self.states[world]);
                reward = 0.0;
            }
            self.clock[world] += 1;
            turn.rewards.push(reward);
            turn.ends.push(if broken || self.task.fallen(state) {
                End::Fell
            } else if self.clock[world] >= self.task.length() {
                End::Time
            } else {
                End::No
            });
        }
        self.states.clone_from(&turn.after);
        let ended: Vec<usize> = (0..self.count()).filter(|&world| turn.ends[world] != End::No).collect();
        if !ended.is_empty() {
            self.begin(&ended).context("worlds that begin anew")?;
        }
        Ok(turn)
    }
}
