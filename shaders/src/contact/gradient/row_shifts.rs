//! ds of the rows of a tree by q and ctrl, kinks of their biases, and what the motion of their impulses adds to dF: the
//! derivatives of the laws of [`crate::contact::tree_rows`].
//!
//! Buffers: topology, params, state, row, velocity, places, shift, slope.

use super::kink::{bilateral, kink, slope as bias_slope};
use super::layout::{place, row_shift, shift_reals, slot_shift, tile_place};
pub use super::sides::Dims;
use crate::args::Args;
use crate::contact::tree_layout::{row as part, row_head, row_stride};
use crate::dynamics::derivatives::effort::length_slope;
use crate::dynamics::derivatives::layout::{slope_reals, width};
use crate::dynamics::derivatives::turn::right_inverse;
use crate::dynamics::effort::orientation;
use crate::dynamics::tree::{NONE, Params, RowRecord, Tree, nth, nth_mut, param, row, tile_params};
use crate::math::{dot, quat_log, scale};
use crate::real::Real;

/// A row as its derivative needs it.
struct Own<'a, R: Real> {
    record: &'a RowRecord,
    params: Params<'a, R>,
    state: &'a [R],
    /// Its numbers.
    numbers: &'a [R],
    /// v+.
    after: &'a [R],
    /// 1/h, fraction, largest speed.
    settings: [R; 3],
    closed: R,
}

/// One tile: `rows` `[n_row][row_stride]`, `shift` [n_row, [`row_shift`]]. Adds to the columns of q of `slope`.
pub fn row_shifts<R: Real>(
    tree: &Tree,
    params: Params<R>,
    closed: R,
    state: &[R],
    rows: &[R],
    after: &[R],
    shift: &mut [R],
    slope: &mut [R],
) {
    let h = params.at(param::TIMESTEP);
    let settings = [R::lit(1.0) / h, params.at(param::CORRECTION_FRACTION), params.at(param::CORRECTION_MAX)];
    let width = width(tree.dims);
    for (index, (record, out)) in tree.rows.iter().zip(shift.chunks_exact_mut(row_shift::SIZE)).enumerate() {
        let numbers = &rows[index * row_stride(tree.dofs.len(), part::WIDTH)..][..row_head(part::WIDTH)];
        let own = Own { record, params, state, numbers, after, settings, closed };
        out.fill(R::lit(0.0));
        out[row_shift::MARGIN] = R::lit(param::UNBOUNDED);
        match record.kind {
            row::LIMIT => own.limit(out),
            row::LIMIT_BALL => own.ball(tree, width, out, slope),
            row::DRIVE => own.drive(tree, h, out),
            row::COUPLING => own.coupling(tree, width, out, slope),
            // Dry friction depends on nothing.
            _ => {}
        }
    }
}

impl<R: Real> Own<'_, R> {
    #[inline(always)]
    fn at(&self, parameter: usize) -> R {
        self.params.at(self.record.param as usize + parameter)
    }

    #[inline(always)]
    fn kink(&self, gap: R, out: &mut [R]) {
        let [margin, closed] = kink(gap, self.settings, self.closed);
        (out[row_shift::MARGIN], out[row_shift::CLOSED]) = (margin, closed);
    }

    #[inline(always)]
    fn limit(&self, out: &mut [R]) {
        let (side, q) = (self.numbers[part::COEFFICIENT], self.state[self.record.q as usize]);
        let lower = R::lit(0.0).lt(side);
        let gap = R::select(lower, q - self.at(param::JOINT_LOWER), self.at(param::JOINT_UPPER) - q);
        out[row_shift::BY_Q] = side * bias_slope(gap, self.settings, self.closed);
        self.kink(gap, out);
    }

    /// J = -axis^T, of which the derivative turns with the logarithm.
    #[inline(always)]
    fn ball(&self, tree: &Tree, width: usize, out: &mut [R], slope: &mut [R]) {
        let (one, zero) = (R::lit(1.0), R::lit(0.0));
        let turn = quat_log(orientation(self.state, self.record.q as usize));
        let angle = dot(turn, turn).sqrt().max(R::lit(1e-12));
        let axis = scale(turn, one / angle);
        let gap = self.at(param::JOINT_UPPER) - angle;
        let gap_slope = bias_slope(gap, self.settings, self.closed);
        self.kink(gap, out);
        let inverse = right_inverse(turn);
        let along = [0, 1, 2].map(|k| dot(axis, [inverse[k], inverse[3 + k], inverse[6 + k]]));
        let dofs = tree.row_dofs(self.record);
        for k in 0..3 {
            let mut moved = zero;
            for l in 0..3 {
                let change = (axis[l] * along[k] - inverse[3 * l + k]) / angle;
                moved = change.mul_add(self.after[dofs[l] as usize], moved);
                let to = &mut slope[dofs[l] as usize * width + dofs[k] as usize];
                *to = self.numbers[part::IMPULSE].mul_add(change, *to);
            }
            out[row_shift::BY_Q + k] = moved - gap_slope * axis[k];
        }
    }

    #[inline(always)]
    fn drive(&self, tree: &Tree, h: R, out: &mut [R]) {
        let zero = R::lit(0.0);
        let per_force = -(h * self.numbers[part::COMPLIANCE]);
        let joint = &tree.joints[tree.dofs[tree.row_dofs(self.record)[0] as usize].joint as usize];
        let length = length_slope(self.params, joint, self.record.param as usize, self.state);
        let pull = per_force * self.at(param::ACTUATOR_BIAS + 1);
        for k in 0..self.record.count as usize {
            out[row_shift::BY_Q + k] = pull * length[k];
        }
        let control = self.state[tree.dims.ctrl_at() + self.record.source as usize];
        let [low, high] = [0, 1].map(|k| self.at(param::ACTUATOR_CONTROL + k));
        let counts = low.le(control) & control.le(high);
        out[row_shift::CONTROL] = R::lit(f64::from(self.record.source));
        out[row_shift::BY_CTRL] = R::select(counts, per_force * self.at(param::ACTUATOR_GAIN), zero);
    }

    /// `q1 - ref1 = p(q2 - ref2)`, J = (1, -p').
    #[inline(always)]
    fn coupling(&self, tree: &Tree, width: usize, out: &mut [R], slope: &mut [R]) {
        let (zero, two) = (R::lit(0.0), R::lit(2.0));
        let driven = self.record.source != NONE;
        let driver = if driven {
            self.state[self.record.source as usize] - self.at(param::COUPLING_DRIVER_REFERENCE)
        } else {
            zero
        };
        let (mut value, mut first, mut bend) = (zero, zero, zero);
        for k in (0..5).rev() {
            bend = bend.mul_add(driver, two * first);
            first = first.mul_add(driver, value);
            value = value.mul_add(driver, self.at(param::COUPLING_COEFFICIENTS + k));
        }
        let error = self.state[self.record.q as usize] - self.at(param::COUPLING_REFERENCE) - value;
        let [pull, margin] = bilateral(error, self.settings);
        (out[row_shift::BY_Q], out[row_shift::MARGIN]) = (pull, margin);
        if driven {
            let dof = tree.row_dofs(self.record)[1] as usize;
            out[row_shift::BY_Q + 1] = -(first * pull) - bend * self.after[dof];
            slope[dof * width + dof] -= self.numbers[part::IMPULSE] * bend;
        }
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { tree: dims, closed } = &args.dims::<Dims>();
    let closed = R::lit(f64::from(f32::from_bits(*closed)));
    let tiles = args.tiles();
    let [topology, params, state, rows, velocity, places, shift, slope] = args.split();
    let tree = Tree::new(dims, topology.index());
    let n_v = dims.n_v as usize;
    for t in 0..tiles {
        let at = tile_place(places.index(), t);
        let shift = &mut shift.tile_mut()[at[place::SHIFT]..][..shift_reals(dims, at[place::COUNT])];
        row_shifts(
            &tree,
            tile_params(dims, params, t),
            closed,
            nth(state.tile(), t, dims.n_state() as u32),
            nth(rows.tile(), t, dims.n_row * row_stride(n_v, part::WIDTH) as u32),
            nth(velocity.tile(), t, dims.n_v),
            &mut shift[at[place::COUNT] * slot_shift(n_v)..],
            nth_mut(slope.tile_mut(), t, slope_reals(dims) as u32),
        );
    }
}
