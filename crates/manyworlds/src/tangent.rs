//! The tangent space of configurations: `n_v` numbers, orientations by rotation vectors in body axes, rad.

use manyworlds_model::{JointKind, Model};
use manyworlds_shaders::math::{quat_conjugate, quat_exp, quat_log, quat_mul, quat_normalize};

/// Where the parts of a joint stand: (first entry of q, first dof, whether a quaternion), plain ones one by one.
fn parts(model: &Model) -> impl Iterator<Item = (usize, usize, bool)> {
    let soft = model.soft.iter().flat_map(|soft| soft.q.clone().zip(soft.v.clone()).map(|(q, v)| (q, v, false)));
    let joints = model.joints.iter().flat_map(|joint| {
        let (q, v) = (joint.q_start, joint.v_start);
        let plain = |n: usize| (0..n).map(move |k| (q + k, v + k, false));
        match joint.kind {
            JointKind::Free => plain(3).chain(Some((q + 3, v + 3, true))),
            JointKind::Ball => plain(0).chain(Some((q, v, true))),
            JointKind::Hinge | JointKind::Slide => plain(1).chain(None),
        }
    });
    joints.chain(soft)
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

/// The gradient of a loss by a tangent vector at q, `[n_v]`, from its gradient by the coordinates of q, `[n_q]`: a quaternion q
/// goes with a turn d in body axes to `q (1, d / 2)`.
///
/// # Panics
/// When the lengths are not the model's.
#[must_use]
pub fn gradient(model: &Model, q: &[f64], by_coordinates: &[f64]) -> Vec<f64> {
    assert_eq!((q.len(), by_coordinates.len()), (model.n_q, model.n_q), "n_q of the model");
    let mut out = vec![0.0; model.n_v];
    for (at, dof, turns) in parts(model) {
        if turns {
            let by = [0, 1, 2, 3].map(|k| by_coordinates[at + k]);
            let [_, x, y, z] = quat_mul(quat_conjugate(quaternion(q, at)), by);
            out[dof..dof + 3].copy_from_slice(&[0.5 * x, 0.5 * y, 0.5 * z]);
        } else {
            out[dof] = by_coordinates[at];
        }
    }
    out
}

/// The gradient of a loss by the coordinates of q, `[n_q]`, from its gradient by a tangent vector there, `[n_v]`. Quaternions
/// count as normalized before they are used: the gradient is at right angles to them.
///
/// # Panics
/// When the lengths are not the model's.
#[must_use]
pub fn coordinate_gradient(model: &Model, q: &[f64], by_tangent: &[f64]) -> Vec<f64> {
    assert_eq!((q.len(), by_tangent.len()), (model.n_q, model.n_v), "n_q and n_v of the model");
    let mut out = vec![0.0; model.n_q];
    for (at, dof, turns) in parts(model) {
        if turns {
            let length = q[at..at + 4].iter().map(|x| x * x).sum::<f64>().sqrt();
            let by = quat_mul(quaternion(q, at), [0.0, by_tangent[dof], by_tangent[dof + 1], by_tangent[dof + 2]]);
            out[at..at + 4].copy_from_slice(&by.map(|x| 2.0 * x / length));
        } else {
            out[at] = by_tangent[dof];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{between, coordinate_gradient, gradient, moved};

    /// Of a loss of a free body's configuration, beside central differences; the quaternion is not of unit length.
    #[test]
    fn gradients_are_those_of_differences() {
        let model = crate::load("free-box", &crate::ImportOptions::default()).unwrap().model;
        let q = [0.1, -0.2, 0.3, 0.9, 0.4, -0.3, 0.5];
        let unit = moved(&model, &q, &[0.0; 6]);
        let weights = [0.3, -1.0, 0.7, 0.2, 0.9, -0.4, 0.6];
        let loss = |q: &[f64]| q.iter().zip(weights).map(|(x, w)| w * x).sum::<f64>();
        let h = 1e-6;
        let by_tangent = gradient(&model, &unit, &weights);
        for dof in 0..6 {
            let change =
                |h: f64| moved(&model, &unit, &std::array::from_fn::<_, 6, _>(|k| if k == dof { h } else { 0.0 }));
            let difference = (loss(&change(h)) - loss(&change(-h))) / (2.0 * h);
            assert!((by_tangent[dof] - difference).abs() < 1e-8, "dof {dof}: {} {difference}", by_tangent[dof]);
        }
        // The tangent vector from a fixed configuration to that of these coordinates.
        let weights = [0.5, -0.3, 0.8, 1.0, -0.6, 0.4];
        let loss = |q: &[f64]| between(&model, &unit, q).iter().zip(weights).map(|(x, w)| w * x).sum::<f64>();
        let by_coordinates = coordinate_gradient(&model, &q, &weights);
        for k in 0..7 {
            let change = |h: f64| -> [f64; 7] { std::array::from_fn(|i| q[i] + if i == k { h } else { 0.0 }) };
            let difference = (loss(&change(h)) - loss(&change(-h))) / (2.0 * h);
            assert!((by_coordinates[k] - difference).abs() < 1e-8, "{k}: {} {difference}", by_coordinates[k]);
        }
    }
}
