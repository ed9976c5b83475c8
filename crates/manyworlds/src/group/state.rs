//! States of worlds, and where their parts stand in the lanes of trees.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::index::tile_at;

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
    for (set, state) in shared.sets.iter().zip(states) {
        let dims = set.layout.dims;
        for j in 0..set.trees.len() {
            let lane = world * set.trees.len() + j;
            let tree = &model.trees[set.trees[j]];
            let get = |e: usize| state[tile_at(width, lane, dims.n_state(), e)].to_f64();
            set.actuators[j].iter().enumerate().for_each(|(e, &to)| out.ctrl[to] = get(dims.ctrl_at() + e));
            tree.v.clone().enumerate().for_each(|(e, to)| out.tau[to] = get(dims.tau_at() + e));
        }
    }
}

/// The same without controls and forces.
pub(super) fn read_motion<T: Scalar>(shared: &Shared<T>, states: &[&[T]], width: usize, world: usize, out: &mut State) {
    let model = &shared.model;
    out.q.resize(model.n_q, 0.0);
    out.v.resize(model.n_v, 0.0);
    out.act.resize(model.n_act(), 0.0);
    for (set, state) in shared.sets.iter().zip(states) {
        let dims = set.layout.dims;
        for j in 0..set.trees.len() {
            let lane = world * set.trees.len() + j;
            let tree = &model.trees[set.trees[j]];
            let get = |e: usize| state[tile_at(width, lane, dims.n_state(), e)].to_f64();
            tree.q.clone().enumerate().for_each(|(e, to)| out.q[to] = get(e));
            tree.v.clone().enumerate().for_each(|(e, to)| out.v[to] = get(dims.v_at() + e));
            let activations = set.activations[j].iter().enumerate();
            activations.for_each(|(e, &to)| out.act[to] = get(dims.act_at() + e));
        }
    }
}
