//! The modes of all constraints, the unknowns they leave free, and the factor of `B = L J A^-1 J^T R + D` with complete
//! pivoting, which tells the rank.
//!
//! On devices a workgroup has a lane, and its invocations share the work: an elimination is long.
//!
//! Buffers: places, constraint, row, impulse, velocity, shift -> system.

use super::check::{Check, contradiction};
use super::eliminate::{eliminate, multiply};
use super::layout::{System, place, row_shift, slot_shift, tile_place, unknown, verdict};
use super::modes::{List, contact, row};
use crate::args::Args;
use crate::contact::tree_layout::{row as row_part, row_coefficient, row_dof, row_head, row_stride, slot, slot_reals};
use crate::dynamics::tree::{nth, param};
use crate::real::{Mask, Real, Scalar};

/// Uniform.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Dims {
    /// Lanes in use.
    pub lanes: u32,
    /// Generalized velocities.
    pub n_v: u32,
    /// Controls and activations.
    pub n_input: u32,
    /// Static rows.
    pub n_row: u32,
    /// Pivots below this part of the largest count as none: the bits of an f32.
    pub smallest: u32,
    /// 1: what goes in is written in the order of the factor, as the Jacobian wants it.
    pub whole: u32,
}
impl Dims {
    fn sizes(&self) -> [u32; 3] {
        [self.n_v, self.n_input, self.n_row]
    }
}

/// What the equations of a tile are made of.
struct Parts<'a, R: Real> {
    n: usize,
    n_input: usize,
    n_row: usize,
    slots: usize,
    constraint: &'a [R],
    rows: &'a [R],
    /// ds of slots, then of rows.
    shift: &'a [R],
}

impl<R: Real> Parts<'_, R> {
    fn slot(&self, s: usize) -> &[R] {
        let size = slot_reals(self.n);
        &self.constraint[s * size..(s + 1) * size]
    }

    fn row(&self, r: usize) -> &[R] {
        let size = row_stride(self.n, row_part::WIDTH);
        &self.rows[r * size..(r + 1) * size]
    }

    fn slot_shift(&self, s: usize) -> &[R] {
        let size = slot_shift(self.n);
        &self.shift[s * size..(s + 1) * size]
    }

    fn row_shift(&self, r: usize) -> &[R] {
        &self.shift[self.slots * slot_shift(self.n) + r * row_shift::SIZE..][..row_shift::SIZE]
    }

    /// Adds one row of J to the numbers of some lanes, times a factor; `first`: row of a lane.
    #[inline(always)]
    fn add_jacobian(&self, lanes: R::Mask, first: usize, factor: R, to: &mut [R]) {
        if let Some((s, r)) = self.of_slot(first) {
            return add(lanes, factor, &self.slot(s)[slot::J + r * self.n..][..self.n], to);
        }
        let numbers = self.row(first);
        (0..3).for_each(|k| add_one(lanes, factor, row_coefficient(numbers, k), &mut to[row_dof(numbers, k)]));
    }

    /// The same of `J A^-1`.
    #[inline(always)]
    fn add_response(&self, lanes: R::Mask, first: usize, factor: R, to: &mut [R]) {
        let from = match self.of_slot(first) {
            Some((s, r)) => &self.slot(s)[slot::J + (3 + r) * self.n..],
            None => &self.row(first)[row_head(row_part::WIDTH)..],
        };
        add(lanes, factor, &from[..self.n], to);
    }

    /// The same of one lane alone.
    #[inline(always)]
    fn add_response_of(&self, lane: usize, first: usize, factor: R::Scalar, to: &mut [R]) {
        let from = match self.of_slot(first) {
            Some((s, r)) => &self.slot(s)[slot::J + (3 + r) * self.n..],
            None => &self.row(first)[row_head(row_part::WIDTH)..],
        };
        add_of(lane, factor, &from[..self.n], to);
    }

    /// The same of ds, by q and ctrl.
    #[inline(always)]
    fn add_shift_of(&self, lane: usize, first: usize, factor: R::Scalar, to: &mut [R]) {
        if let Some((s, r)) = self.of_slot(first) {
            return add_of(lane, factor, &self.slot_shift(s)[r * self.n..][..self.n], to);
        }
        let (numbers, shift) = (self.row(first), self.row_shift(first));
        (0..3).for_each(|k| add_one_of(lane, factor, &shift[row_shift::BY_Q + k], &mut to[row_dof(numbers, k)]));
        if self.n_input > 0 {
            let control = self.n + shift[row_shift::CONTROL].lane(0).to_f64() as usize;
            add_one_of(lane, factor, &shift[row_shift::BY_CTRL], &mut to[control]);
        }
    }

    /// Slot and row of it that a row of the lane is, if it is none of the tree's.
    #[inline(always)]
    fn of_slot(&self, first: usize) -> Option<(usize, usize)> {
        first.checked_sub(self.n_row).map(|row| (row / 3, row % 3))
    }
}

#[inline(always)]
fn add_one<R: Real>(lanes: R::Mask, factor: R, from: R, to: &mut R) {
    *to = R::select(lanes, from.mul_add(factor, *to), *to);
}

#[inline(always)]
fn add<R: Real>(lanes: R::Mask, factor: R, from: &[R], to: &mut [R]) {
    to.iter_mut().zip(from).for_each(|(to, from)| add_one(lanes, factor, *from, to));
}

#[inline(always)]
fn add_one_of<R: Real>(lane: usize, factor: R::Scalar, from: &R, to: &mut R) {
    to.set_lane(lane, from.lane(lane).mul_add(factor, to.lane(lane)));
}

#[inline(always)]
fn add_of<R: Real>(lane: usize, factor: R::Scalar, from: &[R], to: &mut [R]) {
    to.iter_mut().zip(from).for_each(|(to, from)| add_one_of(lane, factor, from, to));
}

/// Calls `f` for each whole number that some lanes have, with those lanes: most have the same.
#[inline(always)]
fn by_number<R: Real>(numbers: R, lanes: R::Mask, mut f: impl FnMut(usize, R::Mask)) {
    let mut left = lanes;
    while let Some(lane) = (0..R::N).find(|&lane| left.lane(lane)) {
        let number = R::splat(numbers.lane(lane));
        // Negated so that even a NaN is taken once.
        let own = left & !(numbers.lt(number) | number.lt(numbers));
        f(number.lane(0).to_f64() as usize, own);
        left = left & !own;
    }
}

/// Writes what L or R (`part`) of the unknowns of a lane makes of something that `f` adds a row of, in another order.
#[inline(always)]
fn write_ordered<R: Real>(
    (list, part): (&[R], usize),
    lane: usize,
    order: &[R],
    (to, width): (&mut [R], usize),
    f: impl Fn(usize, usize, R::Scalar, &mut [R]),
) {
    for (to, order) in to.chunks_exact_mut(width).zip(order) {
        let own = &list[order.lane(lane).to_f64() as usize * unknown::SIZE..][..unknown::SIZE];
        to.iter_mut().for_each(|to| to.set_lane(lane, R::Scalar::default()));
        for k in 0..3 {
            let factor = own[part + k].lane(lane);
            if factor != R::Scalar::default() {
                f(lane, own[unknown::FIRST].lane(lane).to_f64() as usize + k, factor, to);
            }
        }
    }
}

/// One tile: `constraint`, `impulse`, `shift` and `out` are its own.
pub fn system<R: Real>(
    dims: &Dims,
    constraint: &[R],
    rows: &[R],
    impulse: &[R],
    velocity: &[R],
    shift: &[R],
    out: &mut [R],
) {
    let (zero, n) = (R::lit(0.0), dims.n_v as usize);
    let slots = impulse.len() / 3;
    let at = System::new(dims.sizes(), slots);
    let parts = Parts { n, n_input: dims.n_input as usize, n_row: dims.n_row as usize, slots, constraint, rows, shift };
    let (head, rest) = out.split_at_mut(at.order);
    let (head, list) = head.split_at_mut(at.list);
    let mut unknowns = List { list, counts: vec![0; R::N], margin: R::lit(param::UNBOUNDED), closed: zero };
    for s in 0..slots {
        let kinks = &parts.slot_shift(s)[3 * n..];
        contact(parts.n_row + 3 * s, parts.slot(s), kinks, &impulse[3 * s..3 * s + 3], velocity, &mut unknowns);
    }
    for r in 0..dims.n_row as usize {
        row(r, parts.row(r), parts.row_shift(r), velocity, &mut unknowns);
    }
    let List { counts, margin, closed, .. } = unknowns;
    let m = counts.iter().fold(0, |most, &count| most.max(count));
    let (order, rest) = rest.split_at_mut(at.factor - at.order);
    let (factor, rest) = rest.split_at_mut(at.push - at.factor);
    let (push, rest) = rest.split_at_mut(at.response - at.push);
    let (response, shifted) = rest.split_at_mut(at.shift - at.response);
    head.fill(zero);
    (head[verdict::MARGIN], head[verdict::CLOSED]) = (margin, closed);
    for (lane, &count) in counts.iter().enumerate() {
        head[verdict::SIZE_OF].set_lane(lane, R::Scalar::from_f64(count as f64));
    }
    let size = head[verdict::SIZE_OF];
    if m == 0 {
        return;
    }
    let (factor, push, response) = (&mut factor[..m * at.most], &mut push[..m * n], &mut response[..m * n]);
    let width = n + dims.n_input as usize;
    let shifted = &mut shifted[..m * width];
    let (row_of, column_of) = order.split_at_mut(at.most);

    // L J and (A^-1 J^T R)^T, and of them B.
    push.fill(zero);
    response.fill(zero);
    for_parts(list, size, unknown::EQUATION, |u, lanes, row, factor| {
        parts.add_jacobian(lanes, row, factor, &mut response[u * n..(u + 1) * n]);
    });
    for_parts(list, size, unknown::DIRECTION, |u, lanes, row, factor| {
        parts.add_response(lanes, row, factor, &mut push[u * n..(u + 1) * n]);
    });
    for (equation, row) in response.chunks_exact(n).zip(factor.chunks_mut(at.most)) {
        multiply(equation, push, &mut row[..m]);
    }
    for (lane, &count) in counts.iter().enumerate() {
        for u in 0..count {
            let own = &mut factor[u * at.most + u];
            own.set_lane(lane, own.lane(lane) + list[u * unknown::SIZE + unknown::DIAGONAL].lane(lane));
        }
    }
    let rank = eliminate(m, at.most, R::lit(f64::from(f32::from_bits(dims.smallest))), factor, row_of, column_of);
    head[verdict::RANK] = rank;
    let ranks: Vec<usize> = (0..R::N).map(|lane| rank.lane(lane).to_f64() as usize).collect();
    let check = Check { m, n, stride: at.most, list, factor, column_of, equations: response, push };
    let mut left = check.residual(size);
    for (lane, (&rank, &count)) in ranks.iter().zip(&counts).enumerate() {
        if rank < count {
            left.set_lane(lane, R::Scalar::from_f64(check.freedom(lane, rank, count)));
        }
    }

    // What goes in, in the order of the factor.
    let whole = dims.whole == 1;
    if whole {
        shifted.fill(zero);
        push.fill(zero);
    }
    for (lane, (&rank, &count)) in ranks.iter().zip(&counts).enumerate() {
        let (equations, row_of) = ((&*list, unknown::EQUATION), &row_of[..count]);
        if whole || rank < count {
            write_ordered(equations, lane, row_of, (response, n), |lane, row, x, to| {
                parts.add_response_of(lane, row, x, to);
            });
            write_ordered(equations, lane, row_of, (shifted, width), |lane, row, x, to| {
                parts.add_shift_of(lane, row, x, to);
            });
        }
        if whole {
            let directions = (&*list, unknown::DIRECTION);
            write_ordered(directions, lane, &column_of[..rank], (push, n), |lane, row, x, to| {
                parts.add_response_of(lane, row, x, to);
            });
        }
        if rank < count {
            // Columns without a pivot.
            for row in factor.chunks_mut(at.most).take(count) {
                row[rank..count].iter_mut().for_each(|x| x.set_lane(lane, R::Scalar::default()));
            }
            let asked = [(&*response, n), (&*shifted, width)];
            let said = contradiction(lane, (&mut *factor, at.most), [rank, count], asked);
            left.set_lane(lane, R::Scalar::from_f64(said.max(left.lane(lane).to_f64())));
        }
    }
    head[verdict::LEFT] = left;
}

/// Calls `f` for each unknown with a row of its constraint, and what L or R (`part`) has there in some lanes that are not all
/// zero.
#[inline(always)]
fn for_parts<R: Real>(list: &[R], counts: R, part: usize, mut f: impl FnMut(usize, R::Mask, usize, R)) {
    for (u, own) in list.chunks_exact(unknown::SIZE).enumerate() {
        let lanes = R::lit(u as f64).lt(counts);
        if !lanes.any() {
            return;
        }
        by_number(own[unknown::FIRST], lanes, |first, lanes| {
            for k in 0..3 {
                let factor = own[part + k];
                // A NaN is not zero.
                if (lanes & !factor.abs().le(R::lit(0.0))).any() {
                    f(u, lanes, first + k, factor);
                }
            }
        });
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>();
    let tiles = (dims.lanes as usize).div_ceil(R::N);
    let [places, constraint, rows, impulse, velocity, shift, out] = args.split();
    let n_v = dims.n_v as usize;
    let size = slot_reals(n_v);
    for t in 0..tiles {
        let at = tile_place(places.index(), t);
        let (begin, end) = (at[place::BEGIN], at[place::BEGIN] + at[place::COUNT]);
        system(
            dims,
            &constraint.tile()[begin * size..end * size],
            nth(rows.tile(), t, dims.n_row * row_stride(n_v, row_part::WIDTH) as u32),
            &impulse.tile()[3 * begin..3 * end],
            nth(velocity.tile(), t, dims.n_v),
            &shift.tile()[at[place::SHIFT]..],
            &mut out.tile_mut()[at[place::SYSTEM]..][..System::new(dims.sizes(), at[place::COUNT]).reals],
        );
    }
}
