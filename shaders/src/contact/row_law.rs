//! The laws of static rows: limits and dry friction of joints and tendons, force-limited drives, couplings of joints or tendons.

use super::tree_layout::{bias, bilateral_bias};
use crate::Real;
use crate::dynamics::tree::{self, NONE, Params, RowRecord, Tree, param};
use crate::math::quat_log;

/// A limit farther than a step at this speed (rad/s or m/s) beyond twice its own approach is left out of the step.
const REACH: f64 = 1.0;
/// Least gain of a drive that makes a row: below it, 1/gain would overflow f32.
const LEAST_GAIN: f64 = 1e-20;

/// What a row says before its response is known.
pub(super) struct Law<R: Real> {
    pub(super) bias: R,
    pub(super) compliance: R,
    pub(super) lower: R,
    pub(super) upper: R,
    /// Where it can act.
    pub(super) active: R::Mask,
    /// J at the row's dofs; of a tendon's row, what its moment arms and those of its driver are multiplied by.
    pub(super) factors: [R; 3],
}

/// J at one of the dofs of a row.
#[inline(always)]
pub(super) fn coefficient<R: Real>(tree: &Tree, pull: &[R], record: &RowRecord, factors: &[R; 3], k: usize) -> R {
    if record.kind < tree::row::TENDON_LIMIT {
        return factors[k];
    }
    let own = &tree.paths[record.q as usize];
    let count = own.dof_count as usize;
    if k < count {
        factors[0] * pull[own.pull as usize + 1 + k]
    } else {
        factors[1] * pull[tree.paths[record.source as usize].pull as usize + 1 + k - count]
    }
}

/// The law of a row at a state.
#[inline(always)]
pub(super) fn row_law<R: Real>(tree: &Tree, params: &Params<R>, state: &[R], pull: &[R], record: &RowRecord) -> Law<R> {
    let (zero, one, unbounded) = (R::lit(0.0), R::lit(1.0), R::lit(param::UNBOUNDED));
    let h = params.at(param::TIMESTEP);
    let per_step = one / h;
    let fraction = params.at(param::CORRECTION_FRACTION);
    let largest = params.at(param::CORRECTION_MAX);
    let (at, q_at) = (record.param as usize, record.q as usize);
    let v = &state[tree.dims.v_at()..];
    let velocity = |factors: &[R; 3]| {
        tree.row_dofs(record)
            .iter()
            .enumerate()
            .fold(zero, |sum, (k, &dof)| coefficient(tree, pull, record, factors, k).mul_add(v[dof as usize], sum))
    };
    let limit = |distance: R, factors: [R; 3]| {
        let reach = (distance * per_step).min(unbounded) + R::lit(2.0) * velocity(&factors).min(zero) - R::lit(REACH);
        Law {
            bias: bias(distance, per_step, fraction, largest, zero),
            compliance: zero,
            lower: zero,
            upper: unbounded,
            active: reach.lt(zero),
            factors,
        }
    };
    // A tendon has no say where nothing changes its length, as where two sites meet.
    let moved = |factors: &[R; 3]| {
        let square = (0..record.count as usize).fold(zero, |sum, k| {
            let j = coefficient(tree, pull, record, factors, k);
            j.mul_add(j, sum)
        });
        zero.lt(square)
    };
    let length = |path: u32| pull[tree.paths[path as usize].pull as usize];
    match record.kind {
        tree::row::LIMIT => {
            let q = state[q_at];
            let (below, above) = (q - params.at(at + param::JOINT_LOWER), params.at(at + param::JOINT_UPPER) - q);
            let nearer = below.le(above);
            limit(R::select(nearer, below, above), [R::select(nearer, one, -one), zero, zero])
        }
        tree::row::LIMIT_BALL => {
            let turn = rotation(state, q_at);
            let angle = turn[0].mul_add(turn[0], turn[1].mul_add(turn[1], turn[2] * turn[2])).sqrt();
            let shrink = -(one / angle.max(R::lit(1e-12)));
            limit(params.at(at + param::JOINT_UPPER) - angle, turn.map(|x| x * shrink))
        }
        tree::row::FRICTION => {
            let most = h * params.at(at + param::JOINT_FRICTION);
            let factors = [one, zero, zero];
            Law { bias: zero, compliance: zero, lower: -most, upper: most, active: zero.lt(most), factors }
        }
        tree::row::TENDON_LIMIT => {
            let l = length(record.q);
            let (below, above) = (l - params.at(at + param::PATH_LOWER), params.at(at + param::PATH_UPPER) - l);
            let nearer = below.le(above);
            let law = limit(R::select(nearer, below, above), [R::select(nearer, one, -one), zero, zero]);
            Law { active: law.active & moved(&law.factors), ..law }
        }
        tree::row::TENDON_FRICTION => {
            let most = h * params.at(at + param::PATH_FRICTION);
            let factors = [one, zero, zero];
            let active = zero.lt(most) & moved(&factors);
            Law { bias: zero, compliance: zero, lower: -most, upper: most, active, factors }
        }
        tree::row::DRIVE => {
            let gear = params.at3(at + param::ACTUATOR_GEAR);
            let factors: [R; 3] = std::array::from_fn(|k| if k < record.count as usize { gear[k] } else { zero });
            let length = if record.count == 1 {
                gear[0] * state[q_at]
            } else {
                let turn = rotation(state, q_at);
                gear[0].mul_add(turn[0], gear[1].mul_add(turn[1], gear[2] * turn[2]))
            };
            let [constant, position, damping] = params.at3(at + param::ACTUATOR_BIAS);
            let control = state[tree.dims.ctrl_at() + record.source as usize]
                .max(params.at(at + param::ACTUATOR_CONTROL))
                .min(params.at(at + param::ACTUATOR_CONTROL + 1));
            let force = params.at(at + param::ACTUATOR_GAIN).mul_add(control, position.mul_add(length, constant));
            // lambda = h force - b sigma: the soft row of mathematics.md section 2, e there being -h force / b.
            let (force, b) = if tree.dims.integrator == tree::integrator::MIDPOINT {
                // Castro 2022, eqs. 6 and 12: length and speed midway, with the part of the velocity before in the force.
                let half = R::lit(0.5);
                let way = half * h;
                let gain = half * way.mul_add(position, damping);
                (gain.mul_add(velocity(&factors), force), -(h * gain))
            } else {
                (force, -(h * h.mul_add(position, damping)))
            };
            let compliance = one / b.max(R::lit(LEAST_GAIN));
            Law {
                bias: -(h * force * compliance),
                compliance,
                lower: h * params.at(at + param::ACTUATOR_FORCE),
                upper: h * params.at(at + param::ACTUATOR_FORCE + 1),
                active: R::lit(LEAST_GAIN).lt(b),
                factors,
            }
        }
        _ => {
            let of_tendons = record.kind == tree::row::TENDON_COUPLING;
            let value_of = |which: u32| if of_tendons { length(which) } else { state[which as usize] };
            let driver = if record.source == NONE {
                zero
            } else {
                value_of(record.source) - params.at(at + param::COUPLING_DRIVER_REFERENCE)
            };
            let (mut value, mut slope) = (zero, zero);
            for k in (0..5).rev() {
                slope = slope.mul_add(driver, value);
                value = value.mul_add(driver, params.at(at + param::COUPLING_COEFFICIENTS + k));
            }
            let error = value_of(record.q) - params.at(at + param::COUPLING_REFERENCE) - value;
            let factors = [one, if record.source == NONE { zero } else { -slope }, zero];
            Law {
                bias: bilateral_bias(error, per_step, fraction, largest),
                compliance: zero,
                lower: -unbounded,
                upper: unbounded,
                active: if of_tendons { moved(&factors) } else { zero.lt(one) },
                factors,
            }
        }
    }
}

/// Rotation vector of a ball joint.
#[inline(always)]
fn rotation<R: Real>(state: &[R], at: usize) -> [R; 3] {
    quat_log([state[at], state[at + 1], state[at + 2], state[at + 3]])
}
