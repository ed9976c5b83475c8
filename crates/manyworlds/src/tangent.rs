//! The tangent space of configurations: `n_v` numbers, orientations by rotation vectors in body axes, rad.

use manyworlds_model::{JointKind, Model};
use manyworlds_shaders::math::{quat_conjugate, quat_exp, quat_log, quat_mul, quat_normalize};

/// Where the parts of a joint stand: (first entry of q, first dof, whether a quaternion), plain ones one by one.
fn parts(model: &Model) -> impl Iterator<Item = (usize, usize, bool)> {
    model.joints.iter().flat_map(|joint| {
        let (q, v) = (joint.q_start, joint.v_start);
        let plain = |n: usize| (0..n).map(move |k| (q + k, v + k, false));
        match joint.kind {
            JointKind::Free => plain(3).chain(Some((q + 3, v + 3, true))),
            JointKind::Ball => plain(0).chain(Some((q, v, true))),
            JointKind::Hinge | JointKind::Slide => plain(1).chain(None),
        }
    })
}

fn quaternion(q: &[f64], at: usize) -> [f64; 4] {
    quat_normalize([q[at], q[at + 1], q[at + 2], q[at + 3]])
}

/// `q (+) d`: q `[n_q]` moved by a tangent vector `[n_v]`.
///
/// # Panics
/// When the lengths are not the model's.
#[must_use]
pub fn moved(model: &Model, q: &[f64], d: &[f64]) -> Vec<f64> {
    assert_eq!((q.len(), d.len()), (model.n_q, model.n_v), "n_q and n_v of the model");
    let mut out = q.to_vec();
    for (at, dof, turns) in parts(model) {
        if turns {
            let turned = quat_mul(quaternion(q, at), quat_exp([d[dof], d[dof + 1], d[dof + 2]]));
            out[at..at + 4].copy_from_slice(&turned);
        } else {
            out[at] += d[dof];
        }
    }
    out
}

/// `b (-) a`: the tangent vector at a `[n_v]` that leads from a to b, both `[n_q]`.
///
/// # Panics
/// When the lengths are not the model's.
#[must_use]
pub fn between(model: &Model, a: &[f64], b: &[f64]) -> Vec<f64> {
    assert_eq!((a.len(), b.len()), (model.n_q, model.n_q), "n_q of the model");
    let mut out = vec![0.0; model.n_v];
    for (at, dof, turns) in parts(model) {
        if turns {
            let turn = quat_log(quat_mul(quat_conjugate(quaternion(a, at)), quaternion(b, at)));
            out[dof..dof + 3].copy_from_slice(&turn);
        } else {
            out[dof] = b[at] - a[at];
        }
    }
    out
}
