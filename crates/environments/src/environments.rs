//! Many environments of one task, stepped together.

mod starts;

use std::ops::Range;
use std::path::Path;

use manyworlds::kinematics::{self, Motion};
use manyworlds::model::{Model, from_mjcf_str};
use manyworlds::{Batch, BatchOptions, ContactImpulse, FieldId, ImportOptions, Number, RowOf};
use rayon::prelude::*;

use crate::draws::Draws;
use crate::options::Settings;
use crate::tasks::{TASKS, View};
use crate::{Error, Spec, TaskOptions};

/// When an environment whose episode is over starts the next one (Gymnasium's `AutoresetMode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Autoreset {
    /// In the step after: its action is not looked at, its reward is zero.
    #[default]
    NextStep,
    /// In the same step: what it saw last is in [`Outcome::final_observations`].
    SameStep,
    /// When [`Environments::reset`] is told to; stepping it before is an error.
    Disabled,
}

/// A number type of observations.
pub trait Real: Number {
    /// Rounded to this type.
    fn of(x: f64) -> Self;
}

impl Real for f32 {
    fn of(x: f64) -> Self {
        x as Self
    }
}

impl Real for f64 {
    fn of(x: f64) -> Self {
        x
    }
}

/// What a step gave beside observations; an entry an environment.
#[derive(Debug, Clone, Default)]
pub struct Outcome<T> {
    /// Rewards.
    pub rewards: Vec<f64>,
    /// The task is over: what comes after is worth nothing.
    pub terminated: Vec<bool>,
    /// The time is over.
    pub truncated: Vec<bool>,
    /// The world stopped because its state was not finite; it counts as terminated, and is to be reset.
    pub failed: Vec<bool>,
    /// Further numbers, [`Environments::info_names`] of each environment.
    pub info: Vec<f64>,
    /// With [`Autoreset::SameStep`]: what environments saw last whose episode is over in this step; else as it was.
    pub final_observations: Vec<T>,
}

impl<T: Real> Outcome<T> {
    /// Of these environments.
    #[must_use]
    pub fn new(environments: &Environments) -> Self {
        let n = environments.len();
        let same_step = environments.autoreset == Autoreset::SameStep;
        Self {
            rewards: vec![0.0; n],
            terminated: vec![false; n],
            truncated: vec![false; n],
            failed: vec![false; n],
            info: vec![0.0; n * environments.info_names().len()],
            final_observations: vec![T::of(0.0); if same_step { n * environments.n_observation() } else { 0 }],
        }
    }
}

/// What is remembered of an environment between steps.
#[derive(Debug, Clone, Copy, Default)]
struct Episode {
    seed: u64,
    number: u64,
    steps: u32,
    over: bool,
    /// Where what is rewarded for moving was after the last step.
    place: [f64; 2],
}

/// Many environments of one task.
pub struct Environments {
    spec: &'static Spec,
    settings: Settings,
    model: Model,
    batch: Batch,
    autoreset: Autoreset,
    dt: f64,
    frame_skip: usize,
    max_episode_steps: u32,
    episodes: Vec<Episode>,
    /// `[environments][n_q]`, `[environments][n_v]`: after the last step or start.
    q: Vec<f64>,
    v: Vec<f64>,
    /// Before the last of a step's steps, where the task needs it.
    late_q: Vec<f64>,
    late_v: Vec<f64>,
    /// `[environments][n_action]`: of the last step, zeros after a start.
    actions_before: Vec<f64>,
    /// `[environments][n_drawn]`: what their episodes drew.
    drawn: Vec<f64>,
    /// Whether what they drew changes their worlds.
    randomize: bool,
    contacts: Vec<ContactImpulse>,
}

/// Memory of a thread for one environment after the other.
#[derive(Default)]
struct Scratch {
    motions: Vec<Motion>,
    action: Vec<f64>,
    observation: Vec<f64>,
}

impl Environments {
    /// Makes `count` environments of a task of [`TASKS`]; they are to be reset before the first step.
    ///
    /// # Errors
    /// [`Error::UnknownTask`], and what [`Batch::new`] has to say.
    pub fn new(task: &str, count: usize, autoreset: Autoreset, options: &BatchOptions) -> Result<Self, Error> {
        Self::with(task, count, autoreset, &TaskOptions::default(), options)
    }

    /// The same with options of the task.
    ///
    /// # Errors
    /// As [`Environments::new`], and [`Error::Option`].
    pub fn with(
        task: &str,
        count: usize,
        autoreset: Autoreset,
        task_options: &TaskOptions,
        options: &BatchOptions,
    ) -> Result<Self, Error> {
        let spec = TASKS.iter().find(|spec| spec.name == task).ok_or_else(|| Error::UnknownTask {
            found: task.into(),
            known: TASKS.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", "),
        })?;
        let none = |path: &Path| Err(std::io::Error::other(format!("{}: the model is one file", path.display())));
        let loaded = from_mjcf_str(spec.file, spec.mjcf, &none, &ImportOptions::default());
        let mut model = loaded.map_err(manyworlds::Error::from)?.model;
        let settings = task_options.settings(spec.name, &spec.task.defaults())?;
        spec.task.shape(&mut model, &settings);
        let batch = Batch::new(&[(&model, count)], options)?;
        let dt = options.dt.unwrap_or(model.options.timestep);
        let late = spec.task.needs().late;
        let zeros = |n: usize| vec![0.0; n * count];
        let episodes: Vec<_> =
            (0..count as u64).map(|seed| Episode { seed, over: true, ..Episode::default() }).collect();
        // Before its first start a world is as the model has it.
        let mut drawn = zeros(spec.task.n_drawn());
        for (drawn, episode) in drawn.chunks_exact_mut(spec.task.n_drawn().max(1)).zip(&episodes) {
            spec.task.draw(&mut Draws::new(episode.seed, 0), false, drawn);
        }
        Ok(Self {
            spec,
            settings,
            batch,
            autoreset,
            dt,
            frame_skip: spec.frame_skip,
            max_episode_steps: spec.max_episode_steps,
            episodes,
            q: zeros(model.n_q),
            v: zeros(model.n_v),
            late_q: zeros(if late { model.n_q } else { 0 }),
            late_v: zeros(if late { model.n_v } else { 0 }),
            actions_before: zeros(model.actuators.len()),
            drawn,
            randomize: settings.randomize,
            contacts: Vec::new(),
            model,
        })
    }

    /// Cuts episodes off after so many steps from now on, instead of the task's own number.
    pub fn set_max_episode_steps(&mut self, steps: u32) {
        self.max_episode_steps = steps;
    }

    /// Steps after which an episode is cut off.
    #[must_use]
    pub fn max_episode_steps(&self) -> u32 {
        self.max_episode_steps
    }

    /// Makes a step of the environment so many steps of the simulation from now on, at least one, instead of the task's own
    /// number.
    pub fn set_frame_skip(&mut self, steps: usize) {
        self.frame_skip = steps.max(1);
    }

    /// The task.
    #[must_use]
    pub fn spec(&self) -> &'static Spec {
        self.spec
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The worlds, for a look at them and for parameters of their own; their states are the environments'.
    pub fn batch(&mut self) -> &mut Batch {
        &mut self.batch
    }

    /// Number of environments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.episodes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.episodes.is_empty()
    }

    /// Numbers of an observation.
    #[must_use]
    pub fn n_observation(&self) -> usize {
        self.spec.task.n_observation(&self.model, &self.settings)
    }

    /// Numbers of an action.
    #[must_use]
    pub fn n_action(&self) -> usize {
        self.model.actuators.len()
    }

    /// Time of one step of the environment, s.
    #[must_use]
    pub fn dt(&self) -> f64 {
        self.dt * self.frame_skip as f64
    }

    /// Names of [`Outcome::info`].
    #[must_use]
    pub fn info_names(&self) -> &'static [&'static str] {
        self.spec.task.info()
    }

    /// Positions after the last step or start, `[environments][n_q]`.
    #[must_use]
    pub fn q(&self) -> &[f64] {
        &self.q
    }

    /// Velocities after the last step or start, `[environments][n_v]`.
    #[must_use]
    pub fn v(&self) -> &[f64] {
        &self.v
    }

    /// Steps all environments: `actions` `[environments][n_action]`, `observations` `[environments][n_observation]`.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Over`] for an environment that nobody reset, actions that are not finite, or a device that
    /// fails.
    pub fn step<A: Number, T: Real>(
        &mut self,
        actions: &[A],
        observations: &mut [T],
        outcome: &mut Outcome<T>,
    ) -> Result<(), Error> {
        self.expect("actions", self.n_action(), actions.len())?;
        self.expect("observations", self.n_observation(), observations.len())?;
        self.expect("outcome", 1, outcome.rewards.len())?;
        if self.autoreset == Autoreset::Disabled
            && let Some(over) = self.episodes.iter().position(|episode| episode.over)
        {
            return Err(Error::Over(over));
        }
        let again: Vec<usize> = (0..self.len()).filter(|&i| self.episodes[i].over).collect();
        self.simulate(actions)?;
        self.judge(actions, observations, outcome)?;
        // Worlds of the last step's ended episodes were simulated along with the others, to no effect.
        self.start(&again)?;
        self.see_starts(&again, observations);
        let n_info = self.info_names().len();
        for &i in &again {
            outcome.rewards[i] = 0.0;
            (outcome.terminated[i], outcome.truncated[i], outcome.failed[i]) = (false, false, false);
            outcome.info[i * n_info..(i + 1) * n_info].fill(0.0);
        }
        if self.autoreset == Autoreset::SameStep {
            let n = self.n_observation();
            let ended: Vec<usize> = (0..self.len()).filter(|&i| self.episodes[i].over).collect();
            for &i in &ended {
                let own = i * n..(i + 1) * n;
                outcome.final_observations[own.clone()].copy_from_slice(&observations[own]);
            }
            self.start(&ended)?;
            self.see_starts(&ended, observations);
        }
        Ok(())
    }

    fn expect(&self, what: &'static str, width: usize, found: usize) -> Result<(), Error> {
        let expected = width * self.len();
        if found == expected { Ok(()) } else { Err(Error::Length { what, expected, found }) }
    }

    /// The steps of the simulation, and what the task needs to know of them.
    fn simulate<A: Number>(&mut self, actions: &[A]) -> Result<(), Error> {
        let needs = self.spec.task.needs();
        for step in 0..self.frame_skip {
            if needs.late && step + 1 == self.frame_skip {
                self.batch.read(0, FieldId::Position, &mut self.late_q)?;
                self.batch.read(0, FieldId::Velocity, &mut self.late_v)?;
            }
            self.batch.step(if step == 0 { actions } else { &[] })?;
        }
        self.batch.read(0, FieldId::Position, &mut self.q)?;
        self.batch.read(0, FieldId::Velocity, &mut self.v)?;
        self.contacts.clear();
        if needs.contacts {
            self.batch.contact_impulses(&mut self.contacts)?;
        }
        Ok(())
    }

    /// Observations and verdicts of all environments after a step.
    fn judge<A: Number, T: Real>(
        &mut self,
        actions: &[A],
        observations: &mut [T],
        outcome: &mut Outcome<T>,
    ) -> Result<(), Error> {
        let mut summaries = Vec::with_capacity(self.len());
        self.batch.summaries(&mut summaries)?;
        for (failed, summary) in outcome.failed.iter_mut().zip(&summaries) {
            *failed = summary.failed();
        }
        let limits = self.limits()?;
        let ranges = ranges(&self.contacts, self.len());
        let (model, task, needs) = (&self.model, self.spec.task, self.spec.task.needs());
        let settings = &self.settings;
        let (n_q, n_v, n_u, n_info) = (model.n_q, model.n_v, model.actuators.len(), task.info().len());
        let (dt, step_time, most) = (self.dt, self.dt(), self.max_episode_steps);
        let (motion_q, motion_v) = if needs.late { (&self.late_q, &self.late_v) } else { (&self.q, &self.v) };
        let (q, v, contacts, failed) = (&self.q, &self.v, &self.contacts, &outcome.failed);
        let n_observation = task.n_observation(model, settings);
        let (drawn, n_drawn) = (&self.drawn, task.n_drawn());
        let each = self.episodes.par_iter_mut().zip(observations.par_chunks_exact_mut(n_observation));
        let each = each.zip(outcome.rewards.par_iter_mut()).zip(outcome.info.par_chunks_exact_mut(n_info));
        let each = each.zip(outcome.terminated.par_iter_mut().zip(outcome.truncated.par_iter_mut()));
        let each = each.zip(self.actions_before.par_chunks_exact_mut(n_u));
        each.enumerate().with_min_len(SIDE_BY_SIDE).for_each_init(Scratch::default, |scratch, (i, part)| {
            let (((((episode, seen), reward), info), (terminated, truncated)), action_before) = part;
            let Scratch { motions, action, observation } = scratch;
            episode.steps = episode.steps.saturating_add(1);
            *truncated = episode.steps >= most;
            if failed[i] {
                // Nothing that could be seen is finite.
                (*reward, *terminated, episode.over) = (0.0, true, true);
                seen.fill(T::of(0.0));
                info.fill(0.0);
                return;
            }
            action.clear();
            action.extend(actions[i * n_u..(i + 1) * n_u].iter().map(|&x| x.into()));
            if needs.motions {
                let (q, v) = (&motion_q[i * n_q..(i + 1) * n_q], &motion_v[i * n_v..(i + 1) * n_v]);
                kinematics::motions(model, q, v, motions);
            }
            let view = View {
                model,
                settings,
                q: &q[i * n_q..(i + 1) * n_q],
                v: &v[i * n_v..(i + 1) * n_v],
                motions,
                action,
                action_before,
                drawn: &drawn[i * n_drawn..(i + 1) * n_drawn],
                contacts: ranges.get(i).map_or(&[], |range| &contacts[range.clone()]),
                first_limit: limits.get(i).copied().unwrap_or(0.0),
                dt,
            };
            let place = task.place(&view);
            let velocity = std::array::from_fn(|k| (place[k] - episode.place[k]) / step_time);
            let verdict = task.judge(&view, velocity, info);
            (*reward, *terminated) = (verdict.reward, verdict.terminated);
            (episode.place, episode.over) = (place, verdict.terminated || *truncated);
            write(&view, self.spec, observation, seen);
            action_before.copy_from_slice(action);
        });
        Ok(())
    }

    /// The force that holds the first joint in its range, by environment, where the task needs it, N.
    fn limits(&mut self) -> Result<Vec<f64>, Error> {
        if !self.spec.task.needs().first_limit {
            return Ok(Vec::new());
        }
        let Some([low, high]) = self.model.joints[0].range else { return Ok(Vec::new()) };
        let mut forces = vec![0.0; self.len()];
        for (i, force) in forces.iter_mut().enumerate() {
            let x = self.q[i * self.model.n_q];
            if (low + NEAR..=high - NEAR).contains(&x) {
                continue;
            }
            let rows = self.batch.inspect(i)?.rows;
            *force = rows.iter().filter(|row| row.of == RowOf::Joint(0)).map(|row| row.impulse).sum::<f64>() / self.dt;
        }
        Ok(forces)
    }
}

/// How near its bound the first joint is looked at for a force that holds it, m.
const NEAR: f64 = 0.02;

/// Least environments of a thread: a few microseconds' work.
const SIDE_BY_SIDE: usize = 16;

fn write<T: Real>(view: &View, spec: &Spec, numbers: &mut Vec<f64>, out: &mut [T]) {
    numbers.resize(out.len(), 0.0);
    spec.task.observe(view, numbers);
    out.iter_mut().zip(numbers).for_each(|(to, &mut x)| *to = T::of(x));
}

/// Where the contacts of each world are in a list that goes from world to world; empty for no contacts at all.
fn ranges(contacts: &[ContactImpulse], worlds: usize) -> Vec<Range<usize>> {
    let mut out = Vec::with_capacity(if contacts.is_empty() { 0 } else { worlds });
    let mut begin = 0;
    while !contacts.is_empty() && out.len() < worlds {
        let end = begin + contacts[begin..].iter().take_while(|contact| contact.world == out.len()).count();
        out.push(begin..end);
        begin = end;
    }
    out
}
