//! Derivative of the end of a step, `q+ = q (+) h v+`, in the tangent spaces at q and q+.

use manyworlds_shaders::dynamics::derivatives::turn::right;
use manyworlds_shaders::dynamics::tree::{JointRecord, joint};
use manyworlds_shaders::math::{Mat3, quat_conjugate, quat_exp, quat_rotate};

use crate::tree::Forward;

/// How the dofs of a joint move its position.
enum Part {
    /// One dof whose speed is the rate of its position.
    Plain(usize),
    /// Three dofs of a rotation, first one; by dv+, and by dq: a turn before the step, seen in the axes after it.
    Turn(usize, Mat3<f64>, Mat3<f64>),
}

/// `after`: v+ of the tree.
fn for_parts(joints: &[JointRecord], h: f64, after: &[f64], mut f: impl FnMut(Part)) {
    let turn = |dof: usize| {
        let w = [after[dof] * h, after[dof + 1] * h, after[dof + 2] * h];
        let back = quat_conjugate(quat_exp(w));
        let mut seen = [0.0; 9];
        for k in 0..3 {
            let mut e = [0.0; 3];
            e[k] = 1.0;
            let column = quat_rotate(back, e);
            (0..3).for_each(|r| seen[3 * r + k] = column[r]);
        }
        Part::Turn(dof, right(w).map(|x| x * h), seen)
    };
    for record in joints {
        let dof = record.dof_begin as usize;
        match record.kind {
            joint::FREE => {
                (0..3).for_each(|k| f(Part::Plain(dof + k)));
                f(turn(dof + 3));
            }
            joint::BALL => f(turn(dof)),
            _ => f(Part::Plain(dof)),
        }
    }
}

/// The rows of one tree of `dq+ = D_q dq + D_v dv+`: from `dv` to `dq`, both [n_v of the tree, width]. `own`: the inputs are q,
/// and the column of the tree's first dof among them. `after`: v+ of the tree; `h`, s.
pub fn integrate_rows(
    joints: &[JointRecord],
    h: f64,
    after: &[f64],
    own: Option<usize>,
    width: usize,
    dv: &[f64],
    dq: &mut [f64],
) {
    let row = |dof: usize| dof * width..(dof + 1) * width;
    for_parts(joints, h, after, |part| match part {
        Part::Plain(dof) => {
            dq[row(dof)].iter_mut().zip(&dv[row(dof)]).for_each(|(to, x)| *to = h * x);
            if let Some(first) = own {
                dq[dof * width + first + dof] += 1.0;
            }
        }
        Part::Turn(dof, slope, seen) => {
            for r in 0..3 {
                let [a, b, c] = [0, 1, 2].map(|k| &dv[row(dof + k)]);
                for (i, to) in dq[row(dof + r)].iter_mut().enumerate() {
                    *to = slope[3 * r + 2].mul_add(c[i], slope[3 * r + 1].mul_add(b[i], slope[3 * r] * a[i]));
                }
                if let Some(first) = own {
                    (0..3).for_each(|k| dq[(dof + r) * width + first + dof + k] += seen[3 * r + k]);
                }
            }
        }
    });
}

/// `D_q x` of one tree, `[n_v]`.
pub(crate) fn carried(forward: &Forward, after: &[f64], x: &[f64], out: &mut [f64]) {
    for_parts(forward.tree.joints, forward.h(), after, |part| match part {
        Part::Plain(dof) => out[dof] += x[dof],
        Part::Turn(dof, _, seen) => {
            (0..9).for_each(|k| out[dof + k / 3] += seen[k] * x[dof + k % 3]);
        }
    });
}

/// dq+ of one tree, `[n_v]`, for a dv+ with q held.
pub(crate) fn integrate_along(forward: &Forward, after: &[f64], dv: &[f64], out: &mut [f64]) {
    let h = forward.h();
    for_parts(forward.tree.joints, forward.h(), after, |part| match part {
        Part::Plain(dof) => out[dof] += h * dv[dof],
        Part::Turn(dof, slope, _) => {
            (0..9).for_each(|k| out[dof + k / 3] += slope[k] * dv[dof + k % 3]);
        }
    });
}

/// The transpose for one tree: with the gradient of a loss by q+, `after_q`, adds that by v+ to `v` and gives that by q to
/// `q`; all `[n_v]` of the tree.
pub fn integrate_back(joints: &[JointRecord], h: f64, after: &[f64], after_q: &[f64], v: &mut [f64], q: &mut [f64]) {
    for_parts(joints, h, after, |part| match part {
        Part::Plain(dof) => {
            v[dof] += h * after_q[dof];
            q[dof] += after_q[dof];
        }
        Part::Turn(dof, slope, seen) => {
            for r in 0..3 {
                for k in 0..3 {
                    v[dof + k] += slope[3 * r + k] * after_q[dof + r];
                    q[dof + k] += seen[3 * r + k] * after_q[dof + r];
                }
            }
        }
    });
}
