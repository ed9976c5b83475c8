//! Where a tree is at the start of a step, and how that changes with its positions.

use std::cell::OnceCell;

use manyworlds_shaders::dynamics::kinematics::kinematics;
use manyworlds_shaders::dynamics::path;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL, Tree, joint, param, path as kinds};
use manyworlds_shaders::math::quat_mul;

use crate::dual::Dual;
use crate::grid::Grid;
use crate::pool::Pooled;

/// Dofs that dual numbers are about at a time.
const DIRECTIONS: usize = 8;

/// A number that changes with positions or speeds of so many dofs.
type OfDofs = Dual<{ 1 + DIRECTIONS }>;

/// See the module.
pub(crate) struct Placed<'a> {
    pub(crate) tree: Tree<'a>,
    pub(crate) params: &'a [f64],
    pub(crate) state: &'a [f64],
    /// `[n_body][7]`
    pub(crate) pose: Pooled,
    /// `[n_v][6]`
    pub(crate) motion: Pooled,
    /// Lengths and moment arms of paths, `[n_pull]`.
    pub(crate) pull: Pooled,
    /// [`Placed::pull_slopes`], once they were asked for.
    pull_slopes: OnceCell<Grid>,
}

impl<'a> Placed<'a> {
    /// A tree with these parameters, in this state; `frames`: pose and motion.
    pub(crate) fn new(tree: Tree<'a>, params: &'a [f64], state: &'a [f64], frames: [Pooled; 2]) -> Self {
        let [pose, motion] = frames;
        let mut pull = Pooled::zeros(tree.dims.n_pull as usize);
        path::path(&tree, Params::Shared(params), state, &pose, &motion, &mut pull);
        Self { tree, params, state, pose, motion, pull, pull_slopes: OnceCell::new() }
    }

    pub(crate) fn n_v(&self) -> usize {
        self.tree.dofs.len()
    }

    /// Time step, s.
    pub(crate) fn h(&self) -> f64 {
        self.params[param::TIMESTEP]
    }

    /// Generalized velocity before the step.
    pub(crate) fn v(&self) -> &[f64] {
        &self.state[self.tree.dims.v_at()..self.tree.dims.ctrl_at()]
    }

    /// Reference point c.
    pub(crate) fn centre(&self) -> [f64; 3] {
        [self.pose[0], self.pose[1], self.pose[2]]
    }

    /// Length of a path.
    pub(crate) fn length(&self, path: u32) -> f64 {
        self.pull[self.tree.paths[path as usize].pull as usize]
    }

    /// Moment arms of a path: dofs and entries.
    pub(crate) fn arms(&self, path: u32) -> impl Iterator<Item = (usize, f64)> {
        let record = &self.tree.paths[path as usize];
        let arms = &self.pull[record.pull as usize + 1..];
        self.tree.path_dofs(record).iter().zip(arms).map(|(&dof, &arm)| (dof as usize, arm))
    }

    /// How these change with each of the dofs, `[dofs, dofs]`.
    pub(crate) fn arm_slopes(&self, path: u32) -> Grid {
        let record = &self.tree.paths[path as usize];
        let dofs = self.tree.path_dofs(record);
        let mut slopes = Grid::zeros(dofs.len(), dofs.len());
        if record.kind != kinds::LINEAR {
            let (all, first) = (self.pull_slopes(), record.pull as usize + 1);
            for (i, &dof) in dofs.iter().enumerate() {
                let arms = &all.row(dof as usize)[first..];
                (0..dofs.len()).for_each(|k| slopes[(k, i)] = arms[k]);
            }
        }
        slopes
    }

    /// How the length of a path changes with each of its dofs: by its moment arms, but where these are, as MuJoCo has it, not quite
    /// its derivative (gears of balls and of sites that a second one sees).
    pub(crate) fn length_slopes(&self, path: u32) -> Vec<f64> {
        let record = &self.tree.paths[path as usize];
        if record.kind == kinds::LINEAR {
            return self.arms(path).map(|(_, arm)| arm).collect();
        }
        let at = record.pull as usize;
        self.tree.path_dofs(record).iter().map(|&dof| self.pull_slopes()[(dof as usize, at)]).collect()
    }

    /// How lengths and moment arms of all paths change with each of the dofs, `[n_v, n_pull]`: by their kernels' mirrors in dual
    /// numbers.
    fn pull_slopes(&self) -> &Grid {
        self.pull_slopes.get_or_init(|| {
            let (tree, n, n_pull) = (&self.tree, self.n_v(), self.tree.dims.n_pull as usize);
            let mut turns = vec![false; n];
            for record in tree.paths.iter().filter(|record| record.kind != kinds::LINEAR) {
                tree.path_dofs(record).iter().for_each(|&dof| turns[dof as usize] = true);
            }
            let dofs: Vec<usize> = (0..n).filter(|&dof| turns[dof]).collect();
            let mut slopes = Grid::zeros(n, n_pull);
            let mut pull = vec![OfDofs::ZERO; n_pull];
            for moved in dofs.chunks(DIRECTIONS) {
                let (state, [pose, motion]) = self.along_positions(moved);
                path::path(tree, Params::Shared(self.params), &state, &pose, &motion, &mut pull);
                for (direction, &dof) in moved.iter().enumerate() {
                    slopes.row_mut(dof).iter_mut().zip(&pull).for_each(|(to, x)| *to = x.slope(direction));
                }
            }
            slopes
        })
    }

    /// The state, and what kinematics make of it, with slopes along changes of the positions by some dofs, one a direction.
    fn along_positions(&self, dofs: &[usize]) -> (Vec<OfDofs>, [Vec<OfDofs>; 2]) {
        let tree = &self.tree;
        let mut state = Dual::constants(self.state);
        for (direction, &dof) in dofs.iter().enumerate() {
            let joint = &tree.joints[tree.dofs[dof].joint as usize];
            let (q, at) = (joint.q_begin as usize, dof - joint.dof_begin as usize);
            // Where the quaternion of a joint begins, and its first dof.
            let turns = match joint.kind {
                joint::FREE if at >= 3 => Some((q + 3, 3)),
                joint::BALL => Some((q, 0)),
                _ => None,
            };
            if let Some((q, first)) = turns {
                let mut turn = [0.0; 4];
                turn[1 + at - first] = 0.5;
                let now = std::array::from_fn(|k| state[q + k].value());
                let change = quat_mul(now, turn);
                (0..4).for_each(|k| state[q + k].set_slope(direction, change[k]));
            } else {
                state[q + at].set_slope(direction, 1.0);
            }
        }
        let mut frames = [POSE * tree.bodies.len(), SPATIAL * tree.dofs.len()].map(|n| vec![Dual::ZERO; n]);
        let [pose, motion] = &mut frames;
        kinematics(tree, Params::Shared(self.params), &state, pose, motion);
        (state, frames)
    }
}
