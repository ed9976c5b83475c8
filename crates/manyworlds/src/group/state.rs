//! States of worlds, and where their parts stand in the lanes of trees.

use manyworlds_dynamics::TreeSet;
use manyworlds_shaders::Scalar;

use super::chunk::Chunk;
use super::seen::{Lane, Seen};
use super::shared::Shared;
use crate::Error;

/// A world's state; an empty part stands for "as it is".
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// Generalized position, `[n_q]`.
    pub q: Vec<f64>,
    /// Generalized velocity, `[n_v]`.
    pub v: Vec<f64>,
    /// Controls, one per actuator.
    pub ctrl: Vec<f64>,
    /// Applied generalized force, `[n_v]`, N or N m.
    pub tau: Vec<f64>,
    /// Activations, one per actuator that has dynamics.
    pub act: Vec<f64>,
}

impl State {
    /// Memory its numbers take, B.
    pub(super) fn bytes(&self) -> usize {
        8 * [&self.q, &self.v, &self.ctrl, &self.tau, &self.act].map(Vec::len).iter().sum::<usize>()
    }
}

/// Memory of the numbers of a state without controls and forces, B.
pub(super) fn motion_bytes<T: Scalar>(shared: &Shared<T>) -> usize {
    8 * (shared.model.n_q + shared.model.n_v + shared.model.n_act())
}

/// Reads the state of a world of a chunk; `states`: of each tree set.
pub(super) type Read<T> = fn(shared: &Shared<T>, states: &[&[T]], width: usize, world: usize, out: &mut State);

impl<T: Scalar> Chunk<T> {
    /// States of some of its worlds.
    pub(super) fn states(
        &mut self,
        worlds: impl IntoIterator<Item = usize>,
        read: Read<T>,
    ) -> Result<Vec<State>, Error> {
        self.finish()?;
        let seen = self.seen_states()?;
        let (shared, width) = (&self.shared, self.store.tile());
        let states: Vec<&[T]> = seen.iter().map(|seen| seen.of(&*self.store)).collect();
        let state = |world: usize| {
            let mut out = State::default();
            read(shared, &states, width, world, &mut out);
            out
        };
        Ok(worlds.into_iter().map(state).collect())
    }

    /// Those of all lanes, of each tree set.
    pub(super) fn seen_states(&mut self) -> Result<Vec<Seen<T>>, Error> {
        let store = &mut *self.store;
        self.sets.iter().map(|set| Seen::new(store, set.step.buffers.state)).collect()
    }
}

/// A [`Read`].
pub(super) fn read_state<T: Scalar>(shared: &Shared<T>, states: &[&[T]], width: usize, world: usize, out: &mut State) {
    read_motion(shared, states, width, world, out);
    let model = &shared.model;
    out.ctrl.resize(model.actuators.len(), 0.0);
    out.tau.resize(model.n_v, 0.0);
    for (set, j, state) in trees(shared, states, width, world) {
        let (dims, tree) = (set.layout.dims, &model.trees[set.trees[j]]);
        set.actuators[j].iter().enumerate().for_each(|(e, &to)| out.ctrl[to] = state.at(dims.ctrl_at() + e));
        tree.v.clone().enumerate().for_each(|(e, to)| out.tau[to] = state.at(dims.tau_at() + e));
    }
}

/// A [`Read`] of all but controls and forces.
pub(super) fn read_motion<T: Scalar>(shared: &Shared<T>, states: &[&[T]], width: usize, world: usize, out: &mut State) {
    let model = &shared.model;
    out.q.resize(model.n_q, 0.0);
    out.v.resize(model.n_v, 0.0);
    out.act.resize(model.n_act(), 0.0);
    for (set, j, state) in trees(shared, states, width, world) {
        let (dims, tree) = (set.layout.dims, &model.trees[set.trees[j]]);
        tree.q.clone().enumerate().for_each(|(e, to)| out.q[to] = state.at(e));
        tree.v.clone().enumerate().for_each(|(e, to)| out.v[to] = state.at(dims.v_at() + e));
        set.activations[j].iter().enumerate().for_each(|(e, &to)| out.act[to] = state.at(dims.act_at() + e));
    }
}

/// The trees of a world: the set of each, its number there, and its state.
fn trees<'a, T: Scalar>(
    shared: &'a Shared<T>,
    states: &'a [&[T]],
    width: usize,
    world: usize,
) -> impl Iterator<Item = (&'a TreeSet, usize, Lane<'a, T>)> {
    shared.sets.iter().zip(states).flat_map(move |(set, state)| {
        let (k, reals) = (set.trees.len(), set.layout.dims.n_state());
        (0..k).map(move |j| (set, j, Lane::new(state, width, world * k + j, reals)))
    })
}
