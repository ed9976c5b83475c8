//! States of worlds, and where their parts stand in the lanes of trees.

use manyworlds_dynamics::TreeSet;
use manyworlds_shaders::Scalar;

use super::seen::Lane;
use super::shared::Shared;

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

/// The state of a world of a chunk; `states`: of each tree set.
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

/// The same without controls and forces.
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
