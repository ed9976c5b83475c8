//! Starts of episodes, and what these are told to do.

use manyworlds::{Batch, StateRows, Which, kinematics};

use super::{Environments, Real, Scratch, write};
use crate::Error;
use crate::draws::Draws;
use crate::tasks::{Change, View};

impl Environments {
    /// Numbers of a goal that an episode draws and the observation shows; zero for most tasks.
    #[must_use]
    pub fn n_goal(&self) -> usize {
        self.spec.task.n_goal()
    }

    /// Goals of all environments, `[environments][n_goal]`.
    #[must_use]
    pub fn goals(&self) -> Vec<f64> {
        let n = self.n_goal();
        self.drawn.chunks_exact(self.spec.task.n_drawn().max(1)).flat_map(|drawn| &drawn[..n]).copied().collect()
    }

    /// Gives all environments goals of the caller's for the rest of their episodes; the next observation shows them.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn set_goals(&mut self, goals: &[f64]) -> Result<(), Error> {
        let n = self.n_goal();
        self.expect("goals", n, goals.len())?;
        let each = self.drawn.chunks_exact_mut(self.spec.task.n_drawn().max(1));
        each.zip(goals.chunks_exact(n.max(1))).for_each(|(drawn, goal)| drawn[..n].copy_from_slice(goal));
        Ok(())
    }

    /// Steps that each environment's episode is old.
    #[must_use]
    pub fn ages(&self) -> Vec<u32> {
        self.episodes.iter().map(|episode| episode.steps).collect()
    }

    /// Makes episodes as old as the caller says, so that not all are cut off at once: an entry an environment.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn set_ages(&mut self, ages: &[u32]) -> Result<(), Error> {
        self.expect("ages", 1, ages.len())?;
        self.episodes.iter_mut().zip(ages).for_each(|(episode, &age)| episode.steps = age);
        Ok(())
    }

    /// Starts episodes: of all environments, or of those of a mask. With a seed environment `i` has the seed `seed + i` from
    /// now on; without one its next episode follows. `observations` of the others stay as they are.
    ///
    /// # Errors
    /// [`Error::Length`], or a device that fails.
    pub fn reset<T: Real>(
        &mut self,
        mask: Option<&[bool]>,
        seed: Option<u64>,
        observations: &mut [T],
    ) -> Result<(), Error> {
        self.expect("observations", self.n_observation(), observations.len())?;
        if let Some(mask) = mask {
            self.expect("mask", 1, mask.len())?;
        }
        let chosen: Vec<usize> = (0..self.len()).filter(|&i| mask.is_none_or(|mask| mask[i])).collect();
        if let Some(seed) = seed {
            for &i in &chosen {
                (self.episodes[i].seed, self.episodes[i].number) = (seed.wrapping_add(i as u64), 0);
            }
        }
        self.start(&chosen)?;
        self.see_starts(&chosen, observations);
        Ok(())
    }

    /// Puts environments into states of the caller's, `[environments][n_q]` and `[environments][n_v]`: episodes of their own.
    ///
    /// # Errors
    /// [`Error::Length`], numbers that are not finite, or a device that fails.
    pub fn set_state<T: Real>(&mut self, q: &[f64], v: &[f64], observations: &mut [T]) -> Result<(), Error> {
        self.expect("observations", self.n_observation(), observations.len())?;
        self.expect("q", self.model.n_q, q.len())?;
        self.expect("v", self.model.n_v, v.len())?;
        let ctrl = vec![0.0; self.batch.n_controls()];
        self.batch.restart_worlds(Which::All, StateRows { q, v, ctrl: &ctrl, ..StateRows::default() })?;
        self.q.copy_from_slice(q);
        self.v.copy_from_slice(v);
        for q in self.q.chunks_exact_mut(self.model.n_q) {
            self.model.normalize_quaternions(q);
        }
        for episode in &mut self.episodes {
            (episode.steps, episode.over) = (0, false);
        }
        self.actions_before.fill(0.0);
        let all: Vec<usize> = (0..self.len()).collect();
        self.see_starts(&all, observations);
        Ok(())
    }

    /// Starts the next episode of some environments.
    pub(super) fn start(&mut self, chosen: &[usize]) -> Result<(), Error> {
        if chosen.is_empty() {
            return Ok(());
        }
        let (n_q, n_v) = (self.model.n_q, self.model.n_v);
        let initial = self.model.initial_q();
        let (n_u, n_drawn) = (self.n_action(), self.spec.task.n_drawn());
        let (mut q, mut v) = (Vec::with_capacity(chosen.len() * n_q), vec![0.0; chosen.len() * n_v]);
        for (&i, v) in chosen.iter().zip(v.chunks_exact_mut(n_v)) {
            let episode = &mut self.episodes[i];
            episode.number += 1;
            (episode.steps, episode.over) = (0, false);
            let begin = q.len();
            q.extend_from_slice(&initial);
            let mut draws = Draws::new(episode.seed, episode.number);
            let drawn = &mut self.drawn[i * n_drawn..(i + 1) * n_drawn];
            self.spec.task.draw(&mut draws, self.randomize, drawn);
            if self.randomize {
                change(&mut self.batch, i, self.spec.task.changes(&self.model, drawn))?;
            }
            self.spec.task.start(&self.model, &self.settings, &mut draws, &mut q[begin..], v);
            self.model.normalize_quaternions(&mut q[begin..]);
            self.q[i * n_q..(i + 1) * n_q].copy_from_slice(&q[begin..]);
            self.v[i * n_v..(i + 1) * n_v].copy_from_slice(v);
            self.actions_before[i * n_u..(i + 1) * n_u].fill(0.0);
        }
        let ctrl = vec![0.0; chosen.len() * n_u];
        let rows = StateRows { q: &q, v: &v, ctrl: &ctrl, ..StateRows::default() };
        Ok(self.batch.restart_worlds(Which::Listed(chosen), rows)?)
    }

    /// What environments see that have just started.
    pub(super) fn see_starts<T: Real>(&mut self, chosen: &[usize], observations: &mut [T]) {
        let (model, n) = (&self.model, self.n_observation());
        let mut scratch = Scratch::default();
        for &i in chosen {
            let (q, v) = (&self.q[i * model.n_q..(i + 1) * model.n_q], &self.v[i * model.n_v..(i + 1) * model.n_v]);
            if self.spec.task.needs().motions {
                kinematics::motions(model, q, v, &mut scratch.motions);
            }
            let motions = &scratch.motions;
            let n_drawn = self.spec.task.n_drawn();
            let drawn = &self.drawn[i * n_drawn..(i + 1) * n_drawn];
            let (action, contacts) = (&[][..], &[][..]);
            let view = View {
                model,
                settings: &self.settings,
                q,
                v,
                motions,
                action,
                action_before: action,
                drawn,
                contacts,
                first_limit: 0.0,
                dt: self.dt,
            };
            self.episodes[i].place = self.spec.task.place(&view);
            write(&view, self.spec, &mut scratch.observation, &mut observations[i * n..(i + 1) * n]);
        }
    }
}

/// Changes a world for an episode.
fn change(batch: &mut Batch, world: usize, changes: Vec<Change>) -> Result<(), Error> {
    for change in changes {
        match change {
            Change::Tree { tree, parameter, values } => batch.set_parameter(world, tree, parameter, &values)?,
            Change::Geom { geom, parameter, value } => batch.set_geom(world, geom, parameter, &[value])?,
        }
    }
    Ok(())
}
