//! Derivatives of a step by parameters of the model.
//!
//! They enter the momentum balance and the rows with the state after the step and the impulses held, and from there on they
//! are one more right-hand side of the linearised island. The two are polynomials in the parameters but for a lone body's
//! drift and the compliance of a drive; their slopes are taken by differences of fourth order of the kernels' own results,
//! which are exact for polynomials of degree four: no step is solved anew.

use manyworlds_shaders::contact::tree_layout::{row, row_stride};
use manyworlds_shaders::contact::tree_rows::tree_rows;
use manyworlds_shaders::dynamics::bias::bias;
use manyworlds_shaders::dynamics::inertia::inertia;
use manyworlds_shaders::dynamics::momentum::momentum;
use manyworlds_shaders::dynamics::tree::{Params, SPATIAL, multiply};

use crate::island::Island;
use crate::mode::Mode;
use crate::tree::Forward;

/// A number that a step depends on beside its state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StepParameter {
    /// A number among a tree's parameters that does not move its bodies (links' frames, anchors and axes do), nor change
    /// how violations are undone or the time step.
    Tree {
        /// Tree of the world.
        tree: usize,
        /// Entry of its parameters.
        entry: usize,
        /// Size of what the number belongs to, in its unit; above zero.
        scale: f64,
    },
    /// Friction coefficient of the contacts between two geoms.
    Friction {
        /// As in [`crate::ContactInput::geoms`], in either order.
        geoms: [usize; 2],
    },
    /// Restitution coefficient of the contacts between two geoms.
    Restitution {
        /// As in [`crate::ContactInput::geoms`], in either order.
        geoms: [usize; 2],
    },
}

/// Differences are taken this far apart, relative to the parameter's size.
const STEP: f64 = 1e-4;

/// How the balance of momentum and the rows of a tree stand with other parameters: `A v+ - b - J^T lambda` less what
/// contacts do, `[n_v]`, and `J v+ + e + c lambda` by row.
fn balance(forward: &Forward, params: &[f64], after: &[f64], at_bound: &[Option<usize>]) -> [Vec<f64>; 2] {
    let tree = &forward.tree;
    let dims = tree.dims;
    let (n_v, n_body) = (forward.n_v(), tree.bodies.len());
    let zeros = |n: usize| vec![0.0; n];
    let params = Params::<f64>::Shared(params);
    let (mut twist, mut work, mut force) = (zeros(SPATIAL * n_body), zeros(dims.n_work()), zeros(n_v));
    bias(tree, params, forward.state, &forward.pose, &forward.motion, &mut twist, &mut work, &mut force);
    let (mut mass, mut matrix, mut b) = (zeros(dims.n_m as usize), zeros(dims.n_m as usize), zeros(n_v));
    inertia(tree, params, &forward.motion, &mut work, &mut mass);
    momentum(tree, params, forward.state, &mass, &force, &mut matrix, &mut b);
    let mut left = zeros(n_v);
    multiply(tree, &matrix, after, &mut left);
    left.iter_mut().zip(&b).for_each(|(left, b)| *left -= b);
    let stride = row_stride(n_v);
    let mut rows = zeros(tree.rows.len() * stride);
    tree_rows(tree, &params, forward.state, &forward.factor, &mut rows);
    let mut speeds = zeros(tree.rows.len());
    for (index, record) in tree.rows.iter().enumerate() {
        let numbers = &rows[index * stride..(index + 1) * stride];
        let impulse = at_bound[index].map_or(forward.impulses[index], |bound| numbers[bound]);
        let mut speed = numbers[row::BIAS] + numbers[row::COMPLIANCE] * impulse;
        for k in 0..record.count as usize {
            let dof = record.dofs[k] as usize;
            left[dof] -= numbers[row::COEFFICIENT + k] * impulse;
            speed += numbers[row::COEFFICIENT + k] * after[dof];
        }
        speeds[index] = speed;
    }
    [left, speeds]
}

impl Island<'_> {
    /// dF and ds by a parameter of a tree of the island.
    pub(crate) fn by_tree_parameter(&self, member: usize, entry: usize, scale: f64) -> [Vec<f64>; 2] {
        let member = &self.members[member];
        let forward = &member.forward;
        // Where each row stands among the island's, and the bound it is at.
        let mut places = vec![None; forward.tree.rows.len()];
        let mut at_bound = vec![None; forward.tree.rows.len()];
        for (constraint, mode) in self.rows.constraints.iter().zip(&self.constraint_modes) {
            let Some((tree, index)) = constraint.row else { continue };
            if tree != member.at[0] {
                continue;
            }
            places[index] = Some(constraint.first);
            if *mode == Mode::AtBound {
                let numbers = forward.row(index);
                let lambda = constraint.impulse[0];
                let nearer = (lambda - numbers[row::LOWER]).abs() <= (numbers[row::UPPER] - lambda).abs();
                at_bound[index] = Some(if nearer { row::LOWER } else { row::UPPER });
            }
        }
        let step = STEP * scale;
        let mut params = forward.params.to_vec();
        let mut by_force = vec![0.0; self.n_v];
        let mut by_rows = vec![0.0; self.rows.j.height()];
        for (times, weight) in [(1.0, 8.0), (-1.0, -8.0), (2.0, -1.0), (-2.0, 1.0)] {
            params[entry] = forward.params[entry] + times * step;
            let [left, speeds] = balance(forward, &params, &member.after, &at_bound);
            let weight = weight / (12.0 * step);
            left.iter().enumerate().for_each(|(i, x)| by_force[member.at[0] + i] -= weight * x);
            for (place, speed) in places.iter().zip(speeds) {
                place.iter().for_each(|&at| by_rows[at] += weight * speed);
            }
        }
        [by_force, by_rows]
    }

    /// dF and ds by the friction coefficient of a contact; nothing if it does not slide.
    pub(crate) fn add_friction(&self, constraint: usize, force: &mut [f64]) {
        let record = &self.rows.constraints[constraint];
        if self.constraint_modes[constraint] != Mode::Sliding {
            return;
        }
        let (first, [.., normal]) = (record.first, record.impulse);
        let (x, y) = (self.sigma[first], self.sigma[first + 1]);
        let slip = x.hypot(y);
        if slip > 0.0 {
            crate::grid::axpy(-normal * x / slip, self.rows.j.row(first), force);
            crate::grid::axpy(-normal * y / slip, self.rows.j.row(first + 1), force);
        }
    }

    /// ds by the restitution coefficient of a contact; nothing if it does not bounce.
    pub(crate) fn add_restitution(&self, constraint: usize, rows: &mut [f64]) {
        let record = &self.rows.constraints[constraint];
        rows[record.first + 2] += record.approach;
    }
}
