//! Derivatives of the static rows of a tree: limits, dry friction, drives with a force limit, couplings; and of those of
//! tendons.
//!
//! Mirrors the laws of `manyworlds_shaders::contact::tree_rows`.

use manyworlds_shaders::contact::tree_layout::row;
use manyworlds_shaders::dynamics::derivatives::turn::right_inverse;
use manyworlds_shaders::dynamics::tree::{self, NONE, RowRecord, param};
use manyworlds_shaders::math::quat_log;
use nalgebra::{Matrix3, Vector3};

use crate::bias::{Kink, bias_kink, bias_slope, bilateral_kink, bilateral_slope};
use crate::constraint::Law;
use crate::momentum::{counts, length_slope, orientation};
use crate::rows::Rows;
use crate::tree::Forward;

/// How fast an active row without impulse leaves its bound of zero, biased, m/s (rad/s): above zero, as of a limit that is not
/// reached, it has no say in the step.
pub(crate) fn leaving(forward: &Forward, index: usize, after: &[f64]) -> Option<f64> {
    let numbers = forward.row(index);
    if forward.impulses[index] != 0.0 || numbers[row::LOWER] != 0.0 || numbers[row::UPPER] < 0.0 {
        return None;
    }
    let speed = numbers[row::BIAS] + forward.row_terms(index).map(|(dof, x)| x * after[dof]).sum::<f64>();
    Some(speed).filter(|&speed| speed > 0.0)
}

/// Adds an active row of a tree to its island. `at`: first dof and first control of the tree in the island.
pub(crate) fn add_row(forward: &Forward, index: usize, after: &[f64], at: [usize; 2], rows: &mut Rows) {
    let record = &forward.tree.rows[index];
    let numbers = forward.row(index);
    let lambda = forward.impulses[index];
    let law = Law::Row { lower: numbers[row::LOWER], upper: numbers[row::UPPER] };
    let r = rows.push(law, [lambda, 0.0, 0.0], [numbers[row::BIAS], 0.0, 0.0], Kink::NONE);
    let [first, first_control] = at;
    rows.is_row(first, index, numbers[row::COMPLIANCE]);
    let dofs = forward.tree.row_dofs(record);
    rows.j.extend(forward.row_terms(index).map(|(dof, j)| (r, first + dof, j)));
    let h = forward.h();
    let settings = [1.0 / h, forward.params[param::CORRECTION_FRACTION], forward.params[param::CORRECTION_MAX]];
    let own = &forward.params[record.param as usize..];
    match record.kind {
        tree::row::LIMIT => {
            let (dof, side) = (dofs[0] as usize, numbers[row::COEFFICIENT]);
            let q = forward.state[record.q as usize];
            let gap = if side > 0.0 { q - own[param::JOINT_LOWER] } else { own[param::JOINT_UPPER] - q };
            rows.by_q.push((r, first + dof, side * bias_slope(gap, settings, forward.closed)));
            rows.kink(bias_kink(gap, settings, forward.closed));
        }
        tree::row::LIMIT_BALL => {
            let turn = Vector3::from(quat_log(orientation(forward.state, record.q as usize)));
            let angle = turn.norm().max(1e-12);
            let axis = turn / angle;
            let gap = own[param::JOINT_UPPER] - angle;
            let slope = bias_slope(gap, settings, forward.closed);
            rows.kink(bias_kink(gap, settings, forward.closed));
            // J = -axis^T, of which the derivative turns with the logarithm.
            let change = -(Matrix3::identity() - axis * axis.transpose()) / angle
                * Matrix3::from_row_slice(&right_inverse(turn.into()));
            let spin = Vector3::from_iterator(dofs.iter().map(|&dof| after[dof as usize]));
            let moved = change.transpose() * spin;
            for (k, &dof) in dofs.iter().enumerate() {
                let column = first + dof as usize;
                rows.by_q.push((r, column, moved[k] - slope * axis[k]));
                for (l, &other) in dofs.iter().enumerate() {
                    rows.push.push((first + other as usize, column, lambda * change[(l, k)]));
                }
            }
        }
        tree::row::DRIVE => {
            let per_force = -h * numbers[row::COMPLIANCE];
            let joint = &forward.tree.joints[forward.tree.dofs[dofs[0] as usize].joint as usize];
            let length = length_slope(forward, joint, record.param as usize);
            let position = own[param::ACTUATOR_BIAS + 1];
            for (k, &dof) in dofs.iter().enumerate() {
                rows.by_q.push((r, first + dof as usize, per_force * position * length[k]));
            }
            let index = record.source as usize;
            let control = forward.state[forward.tree.dims.ctrl_at() + index];
            if counts(forward, control, record.param as usize) {
                rows.by_ctrl.push((r, first_control + index, per_force * own[param::ACTUATOR_GAIN]));
            }
        }
        tree::row::COUPLING => coupling(forward, record, after, first, r, lambda, rows),
        tree::row::TENDON_LIMIT => {
            let length = forward.length(record.q);
            let (below, above) = (length - own[param::PATH_LOWER], own[param::PATH_UPPER] - length);
            let (gap, side) = if below <= above { (below, 1.0) } else { (above, -1.0) };
            let slope = bias_slope(gap, settings, forward.closed);
            rows.by_q.extend(forward.row_terms(index).map(|(dof, j)| (r, first + dof, slope * j)));
            rows.kink(bias_kink(gap, settings, forward.closed));
            Place { first, r, lambda }.turn(forward, record.q, side, after, rows);
        }
        tree::row::TENDON_FRICTION => Place { first, r, lambda }.turn(forward, record.q, 1.0, after, rows),
        tree::row::TENDON_COUPLING => tendon_coupling(forward, index, after, Place { first, r, lambda }, rows),
        // Dry friction depends on nothing.
        _ => {}
    }
}

/// `q1 - ref1 = p(q2 - ref2)`, J = (1, -p').
fn coupling(
    forward: &Forward,
    record: &RowRecord,
    after: &[f64],
    first: usize,
    r: usize,
    lambda: f64,
    rows: &mut Rows,
) {
    let own = &forward.params[record.param as usize..];
    let driver = if record.source == NONE {
        0.0
    } else {
        forward.state[record.source as usize] - own[param::COUPLING_DRIVER_REFERENCE]
    };
    let [value, slope, bend] = polynomial(own, driver);
    let error = forward.state[record.q as usize] - own[param::COUPLING_REFERENCE] - value;
    let [per_step, fraction, largest] =
        [1.0 / forward.h(), forward.params[param::CORRECTION_FRACTION], forward.params[param::CORRECTION_MAX]];
    let pull = bilateral_slope(error, per_step, fraction, largest);
    rows.kink(bilateral_kink(error, per_step, fraction, largest));
    let dofs = forward.tree.row_dofs(record);
    rows.by_q.push((r, first + dofs[0] as usize, pull));
    if record.source != NONE {
        let dof = dofs[1] as usize;
        rows.by_q.push((r, first + dof, -slope * pull - bend * after[dof]));
        rows.push.push((first + dof, first + dof, -lambda * bend));
    }
}

/// The polynomial of a coupling with these parameters, its slope and how that changes.
fn polynomial(own: &[f64], driver: f64) -> [f64; 3] {
    let (mut value, mut slope, mut bend) = (0.0, 0.0, 0.0);
    for k in (0..5).rev() {
        bend = bend * driver + 2.0 * slope;
        slope = slope * driver + value;
        value = value * driver + own[param::COUPLING_COEFFICIENTS + k];
    }
    [value, slope, bend]
}

/// `l1 - ref1 = p(l2 - ref2)` of two lengths with moment arms g1 and g2, `J = g1 - p' g2`.
fn tendon_coupling(forward: &Forward, index: usize, after: &[f64], place: Place, rows: &mut Rows) {
    let record = &forward.tree.rows[index];
    let own = &forward.params[record.param as usize..];
    let driven = record.source != NONE;
    let driver = if driven { forward.length(record.source) - own[param::COUPLING_DRIVER_REFERENCE] } else { 0.0 };
    let [value, slope, bend] = polynomial(own, driver);
    let error = forward.length(record.q) - own[param::COUPLING_REFERENCE] - value;
    let [per_step, fraction, largest] =
        [1.0 / forward.h(), forward.params[param::CORRECTION_FRACTION], forward.params[param::CORRECTION_MAX]];
    let pull = bilateral_slope(error, per_step, fraction, largest);
    rows.kink(bilateral_kink(error, per_step, fraction, largest));
    let Place { first, r, lambda } = place;
    rows.by_q.extend(forward.row_terms(index).map(|(dof, j)| (r, first + dof, pull * j)));
    place.turn(forward, record.q, 1.0, after, rows);
    if driven {
        place.turn(forward, record.source, -slope, after, rows);
        // -p'' g2 g2^T is what else moves J.
        let arms: Vec<(usize, f64)> = forward.arms(record.source).collect();
        let speed: f64 = arms.iter().map(|&(dof, arm)| arm * after[dof]).sum();
        for &(dof, arm) in &arms {
            rows.by_q.push((r, first + dof, -bend * speed * arm));
            let pushed =
                |&(other, of_other): &(usize, f64)| (first + other, first + dof, -lambda * bend * of_other * arm);
            rows.push.extend(arms.iter().map(pushed));
        }
    }
}

/// First dof of a tree in its island, row of the island, and impulse.
#[derive(Clone, Copy)]
struct Place {
    first: usize,
    r: usize,
    lambda: f64,
}

impl Place {
    /// What the turn of a path's moment arms, times a factor, does to a row.
    fn turn(self, forward: &Forward, path: u32, factor: f64, after: &[f64], rows: &mut Rows) {
        let Self { first, r, lambda } = self;
        let slopes = forward.arm_slopes(path);
        let dofs: Vec<usize> = forward.arms(path).map(|(dof, _)| dof).collect();
        for (i, &dof) in dofs.iter().enumerate() {
            let moved: f64 = dofs.iter().enumerate().map(|(k, &other)| slopes[(k, i)] * after[other]).sum();
            rows.by_q.push((r, first + dof, factor * moved));
            let pushed = |(k, &other): (usize, &usize)| (first + other, first + dof, lambda * factor * slopes[(k, i)]);
            rows.push.extend(dofs.iter().enumerate().map(pushed));
        }
    }
}
