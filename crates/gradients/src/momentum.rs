//! Derivatives of the momentum balance of one tree, `F = A v+ - b - J^T lambda`, with the impulses and v+ held: what is on
//! the right-hand side of `A dv+ = -dF + J^T dlambda`. Whole, or times a row from the left, which is O(n).

use manyworlds_shaders::dynamics::derivatives::effort::{self, effort};
use manyworlds_shaders::dynamics::derivatives::force::{force, product, sums_reals};
use manyworlds_shaders::dynamics::derivatives::layout::{slope_reals, width, work_reals};
use manyworlds_shaders::dynamics::tree::{JointRecord, Params, param};
use manyworlds_shaders::math::{Quat, quat_normalize};

use crate::contact::Member;
use crate::grid::{Grid, axpy};
use crate::pool::Pooled;
use crate::tree::Forward;

/// `-dF` of the trees of an island, over its dofs and controls; by tau it is h.
pub(crate) struct Momentum {
    /// By q, `[n_v, n_v]`.
    pub(crate) q: Grid,
    /// By v, `[n_v, n_v]`.
    pub(crate) v: Grid,
    /// By ctrl, `[n_v, n_u]`.
    pub(crate) ctrl: Grid,
}

impl Momentum {
    /// `push`: what constraints add to it by q.
    pub(crate) fn new(members: &[Member], push: &Grid, n_u: usize) -> Self {
        let n = push.height();
        let (mut q, mut v, mut ctrl) = (push.clone(), Grid::zeros(n, n), Grid::zeros(n, n_u));
        for member in members {
            let forward = &member.forward;
            let (own, n_u) = (forward.n_v(), forward.tree.actuators.len());
            let [first, control] = member.at;
            let slope = slope(forward, &member.after, &member.fixed);
            for (i, row) in slope.chunks_exact(width(forward.tree.dims)).enumerate() {
                axpy(1.0, &row[..own], &mut q.row_mut(first + i)[first..]);
                v.row_mut(first + i)[first..first + own].copy_from_slice(&row[own..2 * own]);
                ctrl.row_mut(first + i)[control..control + n_u].copy_from_slice(&row[3 * own..]);
            }
        }
        Self { q, v, ctrl }
    }

    /// Adds `weight^T` times it to what stands for q, v and ctrl.
    pub(crate) fn add_back(&self, weight: &[f64], [by_q, by_v, by_ctrl]: [&mut [f64]; 3]) {
        for (part, to) in [(&self.q, by_q), (&self.v, by_v), (&self.ctrl, by_ctrl)] {
            part.add_transposed_times(1.0, weight, to);
        }
    }
}

/// What a tree's derivatives take as velocities: that of a lone body is in its drift.
fn velocity<'f>(forward: &'f Forward) -> &'f [f64] {
    const STILL: [f64; 6] = [0.0; 6];
    if forward.tree.dims.lone == 1 { &STILL } else { forward.v() }
}

/// `-dF` of one tree, [n_v, width] as the kernels have it, without that by tau. `after`: v+; `fixed` [n_body, 6]: impulses on
/// bodies, fixed in the world, (moment, force) at c.
fn slope(forward: &Forward, after: &[f64], fixed: &[f64]) -> Pooled {
    let (tree, params) = (&forward.tree, Params::<f64>::Shared(forward.params));
    let (mut work, mut slope) = (Pooled::zeros(work_reals(tree.dims)), Pooled::zeros(slope_reals(tree.dims)));
    let width = width(tree.dims);
    effort(tree, params, forward.state, &forward.mass, after, &mut work, &mut |row, column, entry| {
        slope[row * width + column] += entry;
    });
    let (pose, motion, h) = (&forward.pose, &forward.motion, forward.h());
    force(tree, params, pose, motion, velocity(forward), fixed, -h, &mut work, &mut slope);
    slope
}

/// Adds `-weight^T dF` of one tree to what stands for q, v `[n_v]` and ctrl `[n_u]`; otherwise as [`slope`].
pub(crate) fn momentum_product(
    forward: &Forward,
    after: &[f64],
    fixed: &[f64],
    weight: &[f64],
    [by_q, by_v, by_ctrl]: [&mut [f64]; 3],
) {
    let (tree, params, n) = (&forward.tree, Params::<f64>::Shared(forward.params), forward.n_v());
    let (mut work, mut sums) = (Pooled::zeros(work_reals(tree.dims)), Pooled::zeros(sums_reals(n)));
    effort(tree, params, forward.state, &forward.mass, after, &mut work, &mut |row, column, entry| {
        let to = match column {
            column if column < n => &mut by_q[column],
            column if column < 2 * n => &mut by_v[column - n],
            column => &mut by_ctrl[column - 3 * n],
        };
        *to = entry.mul_add(weight[row], *to);
    });
    let (pose, motion, h) = (&forward.pose, &forward.motion, forward.h());
    let to = [by_q, by_v];
    product(tree, params, pose, motion, velocity(forward), fixed, -h, &mut work, &mut sums, weight, to);
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
