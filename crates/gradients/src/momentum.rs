//! Derivatives of the momentum balance of one tree, `F = A v+ - b - J^T lambda`, with the impulses and v+ held: what is on
//! the right-hand side of `A dv+ = -dF + J^T dlambda`. Whole, or times a row from the left, which is O(n).

use manyworlds_shaders::dynamics::derivatives::effort::{self, effort};
use manyworlds_shaders::dynamics::derivatives::force::force;
use manyworlds_shaders::dynamics::derivatives::layout::work_reals;
use manyworlds_shaders::dynamics::derivatives::product::product;
use manyworlds_shaders::dynamics::tree::{JointRecord, Params, param};
use manyworlds_shaders::math::{Quat, quat_normalize};

use crate::applied::applied_slopes;
use crate::grid::Grid;
use crate::member::Member;
use crate::pool::Pooled;
use crate::rows::Entry;
use crate::tree::Forward;

/// `-dF` of the trees of an island, over its dofs and controls; by tau it is h.
pub(crate) struct Momentum {
    /// By q, `[n_v, n_v]`.
    pub(crate) q: Grid,
    /// By v, `[n_v, n_v]`.
    pub(crate) v: Grid,
    /// By ctrl, and behind it by act, `[n_v, n_u + n_act]`: each moves few dofs.
    pub(crate) ctrl: Vec<Entry>,
}

impl Momentum {
    /// `push`: what constraints add to it by q.
    pub(crate) fn new(members: &[Member], push: Grid) -> Self {
        let n = push.height();
        let mut out = Self { q: push, v: Grid::zeros(n, n), ctrl: Vec::new() };
        members.iter().for_each(|member| out.add(member, member.at));
        out
    }

    /// Of one tree, over its own dofs and controls.
    pub(crate) fn of_tree(member: &Member) -> Self {
        let n = member.forward.n_v();
        let mut out = Self { q: Grid::zeros(n, n), v: Grid::zeros(n, n), ctrl: Vec::new() };
        out.add(member, [0, 0]);
        out
    }

    /// Adds that of a tree from a dof and a control on.
    fn add(&mut self, member: &Member, [first, control]: [usize; 2]) {
        let forward = &member.forward;
        let (tree, params, n) = (&forward.tree, Params::<f64>::Shared(forward.params), forward.n_v());
        let mut work = Pooled::zeros(work_reals(tree.dims));
        let Self { q, v, ctrl } = self;
        let mut add = |row: usize, column: usize, entry: f64| {
            let row = first + row;
            let to = match column {
                column if column < n => &mut q[(row, first + column)],
                column if column < 2 * n => &mut v[(row, first + column - n)],
                column => return ctrl.push((row, control + column - 2 * n, entry)),
            };
            *to += entry;
        };
        effort(tree, params, forward.state, &forward.mass, &member.after, &mut work, &mut add);
        applied_slopes(forward, &member.after).into_iter().for_each(|(row, column, entry)| add(row, column, entry));
        let (pose, motion, h) = (&forward.pose, &forward.motion, forward.h());
        let add = &mut |row: usize, column: usize, [by_q, by_v]: [f64; 2]| {
            let at = (first + row, first + column);
            q[at] = (-h).mul_add(by_q, q[at]);
            v[at] = (-h).mul_add(by_v, v[at]);
        };
        force(tree, params, pose, motion, velocity(forward), &member.fixed, &mut work, add);
    }

    /// Adds `weight^T` times it to what stands for q, v and ctrl.
    pub(crate) fn add_back(&self, weight: &[f64], [by_q, by_v, by_ctrl]: [&mut [f64]; 3]) {
        self.q.add_transposed_times(1.0, weight, by_q);
        self.v.add_transposed_times(1.0, weight, by_v);
        self.ctrl.iter().for_each(|&(row, control, x)| by_ctrl[control] += weight[row] * x);
    }

    /// Largest size of an entry by ctrl.
    pub(crate) fn largest_by_ctrl(&self) -> f64 {
        self.ctrl.iter().fold(0.0, |largest, (.., x)| largest.max(x.abs()))
    }
}

/// What a tree's derivatives take as velocities: that of a lone body is in its drift.
fn velocity<'f>(forward: &'f Forward) -> &'f [f64] {
    const STILL: [f64; 6] = [0.0; 6];
    if forward.tree.dims.lone == 1 { &STILL } else { forward.v() }
}

/// Adds `-weight^T dF` of one tree to what stands for q, v `[n_v]` and ctrl `[n_u]`. `after`: v+; `fixed` [n_body, 6]: impulses
/// on bodies, fixed in the world, (moment, force) at c.
pub(crate) fn momentum_product(
    forward: &Forward,
    after: &[f64],
    fixed: &[f64],
    weight: &[f64],
    [by_q, by_v, by_ctrl]: [&mut [f64]; 3],
) {
    let (tree, params, n) = (&forward.tree, Params::<f64>::Shared(forward.params), forward.n_v());
    let mut work = Pooled::zeros(work_reals(tree.dims));
    let mut add = |row: usize, column: usize, entry: f64| {
        let to = match column {
            column if column < n => &mut by_q[column],
            column if column < 2 * n => &mut by_v[column - n],
            column => &mut by_ctrl[column - 2 * n],
        };
        *to = entry.mul_add(weight[row], *to);
    };
    effort(tree, params, forward.state, &forward.mass, after, &mut work, &mut add);
    applied_slopes(forward, after).into_iter().for_each(|(row, column, entry)| add(row, column, entry));
    let (pose, motion, h) = (&forward.pose, &forward.motion, forward.h());
    let to = [by_q, by_v];
    product(tree, params, pose, motion, velocity(forward), fixed, -h, &mut work, weight, to);
}

/// The unit quaternion at an entry of q.
pub(crate) fn orientation(state: &[f64], q: usize) -> Quat<f64> {
    quat_normalize([state[q], state[q + 1], state[q + 2], state[q + 3]])
}

/// How the length of an actuator changes with the first three dofs of its joint (tangent space).
pub(crate) fn length_slope(forward: &Forward, record: &JointRecord, at: usize) -> [f64; 3] {
    effort::length_slope(Params::<f64>::Shared(forward.params), record, at, forward.state)
}

/// Whether a control is within its bounds, so that it counts.
pub(crate) fn counts(forward: &Forward, control: f64, at: usize) -> bool {
    let limits = at + param::ACTUATOR_CONTROL;
    forward.params[limits] <= control && control <= forward.params[limits + 1]
}
