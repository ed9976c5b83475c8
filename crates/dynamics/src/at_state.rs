//! Forces at a state, for people and outside checks: not for the hot path.

use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL};
use manyworlds_shaders::dynamics::{applied, kinematics, momentum, path};

use manyworlds_model::Model;

use crate::TreeSet;

/// Generalized forces of a tree at a state, and lengths of its tendons.
#[derive(Debug, Clone, PartialEq)]
pub struct ForcesAt {
    /// Springs, dampers and fluid, `[n_v]`; and what compensates gravity, where that is no actuator's.
    pub passive: Vec<f64>,
    /// Actuators, `[n_v]`; and what compensates gravity at joints that say so.
    pub actuator: Vec<f64>,
    /// Forces of the tree's actuators before the gear; zero for simple drives of joints.
    pub by_actuator: Vec<f64>,
    /// Lengths of the tree's tendons, m, or rad for those of joints.
    pub tendons: Vec<f64>,
    /// Their rates.
    pub tendon_rates: Vec<f64>,
}

impl TreeSet {
    /// Forces of a tree of the set at a state (q, v, ctrl, tau, act), as they are there: none is taken implicitly.
    #[must_use]
    pub fn forces_at(&self, model: &Model, index: usize, state: &[f64]) -> ForcesAt {
        let (tree, dims) = (self.layout.tree(), &self.layout.dims);
        let n_v = dims.n_v as usize;
        let params = Params::Shared(&self.params[index]);
        let (mut pose, mut motion) = (vec![0.0; POSE * dims.n_body as usize], vec![0.0; SPATIAL * n_v]);
        let mut pull = vec![0.0; dims.n_pull as usize];
        kinematics::kinematics(&tree, params, state, &mut pose, &mut motion);
        path::path(&tree, params, state, &pose, &motion, &mut pull);
        let [mut passive, mut actuator, mut lift] = [const { Vec::new() }; 3];
        [&mut passive, &mut actuator, &mut lift].into_iter().for_each(|forces| forces.resize(n_v, 0.0));
        momentum::efforts_at(&tree, params, state, [&mut passive, &mut actuator]);
        applied::applied_at(&tree, params, state, &pose, &motion, &pull, [&mut passive, &mut actuator, &mut lift]);
        let own = &model.trees[self.trees[index]].v;
        for joint in model.joints.iter().filter(|joint| own.contains(&joint.v_start)) {
            let to = if joint.lifted_by_actuators { &mut actuator } else { &mut passive };
            let first = joint.v_start - own.start;
            (first..first + joint.kind.n_v()).for_each(|dof| to[dof] += lift[dof]);
        }
        let mut by_actuator = vec![0.0; dims.n_u as usize];
        applied::actuators_at(&tree, params, state, &pull, &mut by_actuator);
        let length = |number: usize| pull[tree.paths[number].pull as usize];
        let rate = |number: usize| {
            let path = &tree.paths[number];
            let arms = &pull[path.pull as usize + 1..];
            tree.path_dofs(path).iter().zip(arms).map(|(&dof, arm)| arm * state[dims.v_at() + dof as usize]).sum()
        };
        let tendons = 0..self.tendons[index].len();
        let (lengths, tendon_rates) = (tendons.clone().map(length).collect(), tendons.map(rate).collect());
        ForcesAt { passive, actuator, by_actuator, tendons: lengths, tendon_rates }
    }
}
