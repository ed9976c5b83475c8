//! Derivative of the end of a step, `q+ = q (+) h v+`, in the tangent spaces at q and q+.

use manyworlds_shaders::dynamics::derivatives::turn::right;
use manyworlds_shaders::dynamics::tree::joint;
use manyworlds_shaders::math::{quat_conjugate, quat_exp, quat_rotate};
use nalgebra::{DMatrix, Matrix3, Vector3};

use crate::tree::Forward;

/// Rows of one tree of `dq+ = D_q dq + D_v dv+`: `dv` holds dv+ by any inputs `[n_v, inputs]`; with `own` given, the first of
/// the inputs that are the tree's own dq. Rows from `first` on of `out` get dq+.
pub(crate) fn integrate(
    forward: &Forward,
    after: &[f64],
    first: usize,
    dv: &DMatrix<f64>,
    own: Option<usize>,
    out: &mut DMatrix<f64>,
) {
    let h = forward.h();
    let n = dv.ncols();
    let plain = |dof: usize, out: &mut DMatrix<f64>| {
        for j in 0..n {
            out[(first + dof, j)] = h * dv[(first + dof, j)];
        }
        if let Some(own) = own {
            out[(first + dof, own + dof)] += 1.0;
        }
    };
    let turn = |dof: usize, out: &mut DMatrix<f64>| {
        let w = [after[dof] * h, after[dof + 1] * h, after[dof + 2] * h];
        let slope = Matrix3::from_row_slice(&right(w)) * h;
        for j in 0..n {
            let along = Vector3::new(dv[(first + dof, j)], dv[(first + dof + 1, j)], dv[(first + dof + 2, j)]);
            let turned = slope * along;
            (0..3).for_each(|k| out[(first + dof + k, j)] = turned[k]);
        }
        if let Some(own) = own {
            // A turn before the step, seen in the axes after it.
            let back = quat_conjugate(quat_exp(w));
            for k in 0..3 {
                let mut e = [0.0; 3];
                e[k] = 1.0;
                let seen = quat_rotate(back, e);
                (0..3).for_each(|r| out[(first + dof + r, own + dof + k)] += seen[r]);
            }
        }
    };
    for record in forward.tree.joints {
        let dof = record.dof_begin as usize;
        match record.kind {
            joint::FREE => {
                (0..3).for_each(|k| plain(dof + k, out));
                turn(dof + 3, out);
            }
            joint::BALL => turn(dof, out),
            _ => plain(dof, out),
        }
    }
}
