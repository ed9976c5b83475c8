//! The modes of all constraints, the unknowns they leave free, and the factor of `B = L J A^-1 J^T R + D` with complete
//! pivoting, which tells the rank.
//!
//! On devices a workgroup has a lane, and its invocations share the work: an elimination is long.
//!
//! Buffers: places, constraint, row, impulse, velocity, shift -> system.

use super::check::Check;
use super::eliminate::eliminate;
use super::layout::{System, place, row_shift, slot_shift, tile_place, unknown, verdict};
use super::modes::{List, contact, row};
use crate::args::Args;
use crate::contact::tree_layout::{row as row_part, row_dof, row_stride, slot, slot_reals};
use crate::dynamics::tree::{nth, param};
use crate::real::{LANES, Real, Scalar};

/// Uniform.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Dims {
    /// Lanes in use.
    pub lanes: u32,
    /// Generalized velocities.
    pub n_v: u32,
    /// Actuators.
    pub n_u: u32,
    /// Static rows.
    pub n_row: u32,
    /// Pivots below this part of the largest count as none: the bits of an f32.
    pub smallest: u32,
}
crate::dims!(Dims { lanes, n_v, n_u, n_row, smallest });

impl Dims {
    fn sizes(&self) -> [u32; 3] {
        [self.n_v, self.n_u, self.n_row]
    }
}

/// What the equations of a tile are made of.
struct Parts<'a, R: Real> {
    n: usize,
    n_u: usize,
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
        let size = row_stride(self.n);
        &self.rows[r * size..(r + 1) * size]
    }

    fn slot_shift(&self, s: usize) -> &[R] {
        let size = slot_shift(self.n);
        &self.shift[s * size..(s + 1) * size]
    }

    fn row_shift(&self, r: usize) -> &[R] {
        &self.shift[self.slots * slot_shift(self.n) + r * row_shift::SIZE..][..row_shift::SIZE]
    }

    /// Adds one row of J to a lane's numbers, times a factor; `first`: row of the lane.
    #[inline(always)]
    fn add_jacobian(&self, lane: usize, first: usize, factor: R::Scalar, to: &mut [R]) {
        let Some((s, r)) = self.of_slot(first) else {
            let numbers = self.row(first);
            for k in 0..3 {
                let to = &mut to[row_dof(numbers, k)];
                to.set_lane(lane, numbers[row_part::COEFFICIENT + k].lane(lane).mul_add(factor, to.lane(lane)));
            }
            return;
        };
        self.add(lane, factor, &self.slot(s)[slot::J + r * self.n..][..self.n], to);
    }

    /// The same of `J A^-1`.
    #[inline(always)]
    fn add_response(&self, lane: usize, first: usize, factor: R::Scalar, to: &mut [R]) {
        let from = match self.of_slot(first) {
            Some((s, r)) => &self.slot(s)[slot::J + (3 + r) * self.n..],
            None => &self.row(first)[row_part::Y..],
        };
        self.add(lane, factor, &from[..self.n], to);
    }

    /// The same of ds, by q and ctrl.
    #[inline(always)]
    fn add_shift(&self, lane: usize, first: usize, factor: R::Scalar, to: &mut [R]) {
        if let Some((s, r)) = self.of_slot(first) {
            return self.add(lane, factor, &self.slot_shift(s)[r * self.n..][..self.n], to);
        }
        let (numbers, shift) = (self.row(first), self.row_shift(first));
        for k in 0..3 {
            let to = &mut to[row_dof(numbers, k)];
            to.set_lane(lane, shift[row_shift::BY_Q + k].lane(lane).mul_add(factor, to.lane(lane)));
        }
        if self.n_u > 0 {
            let to = &mut to[self.n + shift[row_shift::CONTROL].lane(lane).to_f64() as usize];
            to.set_lane(lane, shift[row_shift::BY_CTRL].lane(lane).mul_add(factor, to.lane(lane)));
        }
    }

    /// Slot and row of it that a row of the lane is, if it is none of the tree's.
    #[inline(always)]
    fn of_slot(&self, first: usize) -> Option<(usize, usize)> {
        first.checked_sub(self.n_row).map(|row| (row / 3, row % 3))
    }

    #[inline(always)]
    fn add(&self, lane: usize, factor: R::Scalar, from: &[R], to: &mut [R]) {
        for (to, from) in to.iter_mut().zip(from) {
            to.set_lane(lane, from.lane(lane).mul_add(factor, to.lane(lane)));
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
    let parts = Parts { n, n_u: dims.n_u as usize, n_row: dims.n_row as usize, slots, constraint, rows, shift };
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
    if m == 0 {
        return;
    }
    let (factor, push, response) = (&mut factor[..m * at.most], &mut push[..m * n], &mut response[..m * n]);
    let width = n + dims.n_u as usize;
    let shifted = &mut shifted[..m * width];
    let (row_of, column_of) = order.split_at_mut(at.most);

    // L J and (A^-1 J^T R)^T, and of them B.
    push.fill(zero);
    response.fill(zero);
    gather(list, &counts, |lane, u, first, [equation, direction]| {
        for k in 0..3 {
            if let Some(factor) = equation[k] {
                parts.add_jacobian(lane, first + k, factor, &mut response[u * n..(u + 1) * n]);
            }
            if let Some(factor) = direction[k] {
                parts.add_response(lane, first + k, factor, &mut push[u * n..(u + 1) * n]);
            }
        }
    });
    for i in 0..m {
        let equation = &response[i * n..(i + 1) * n];
        for j in 0..m {
            let direction = &push[j * n..(j + 1) * n];
            factor[i * at.most + j] = equation.iter().zip(direction).fold(zero, |sum, (a, b)| a.mul_add(*b, sum));
        }
    }
    for (lane, &count) in counts.iter().enumerate() {
        for u in 0..count {
            let own = &mut factor[u * at.most + u];
            own.set_lane(lane, own.lane(lane) + list[u * unknown::SIZE + unknown::DIAGONAL].lane(lane));
        }
    }
    let rank = eliminate(m, at.most, R::lit(f64::from(f32::from_bits(dims.smallest))), factor, row_of, column_of);
    head[verdict::RANK] = rank;
    let check = Check { m, n, stride: at.most, list, factor, column_of, equations: response, push };
    let mut left = check.residual(head[verdict::SIZE_OF]);
    for (lane, &count) in counts.iter().enumerate() {
        let rank = rank.lane(lane).to_f64() as usize;
        if rank < count {
            left.set_lane(lane, R::Scalar::from_f64(check.freedom(lane, rank, count)));
        }
    }
    head[verdict::LEFT] = left;
    // Columns without a pivot.
    for (lane, &count) in counts.iter().enumerate() {
        for c in rank.lane(lane).to_f64() as usize..count {
            (0..count).for_each(|i| factor[i * at.most + c].set_lane(lane, R::Scalar::default()));
        }
    }

    // What goes in, in the order of the factor.
    let zeros = |x: &mut [R]| x.fill(zero);
    [&mut *response, &mut *push, &mut *shifted].into_iter().for_each(zeros);
    for (lane, &count) in counts.iter().enumerate() {
        for i in 0..count {
            let number = |at: &R| at.lane(lane).to_f64() as usize;
            let own = &list[number(&row_of[i]) * unknown::SIZE..][..unknown::SIZE];
            let first = number(&own[unknown::FIRST]);
            for k in 0..3 {
                let equation = own[unknown::EQUATION + k].lane(lane);
                if equation != R::Scalar::default() {
                    parts.add_response(lane, first + k, equation, &mut response[i * n..(i + 1) * n]);
                    parts.add_shift(lane, first + k, equation, &mut shifted[i * width..(i + 1) * width]);
                }
            }
            if (i as f64) < rank.lane(lane).to_f64() {
                let own = &list[number(&column_of[i]) * unknown::SIZE..][..unknown::SIZE];
                let first = number(&own[unknown::FIRST]);
                for k in 0..3 {
                    let direction = own[unknown::DIRECTION + k].lane(lane);
                    if direction != R::Scalar::default() {
                        parts.add_response(lane, first + k, direction, &mut push[i * n..(i + 1) * n]);
                    }
                }
            }
        }
    }
    let largest = |x: &[R]| x.iter().fold(zero, |most, x| most.max(x.abs()));
    head[verdict::LARGEST] = largest(response);
    head[verdict::LARGEST_SHIFT] = largest(shifted);
}

/// Calls `f` with lane, unknown, first row, and what is not zero of its parts of L and of R.
#[inline(always)]
fn gather<R: Real>(list: &[R], counts: &[usize], mut f: impl FnMut(usize, usize, usize, [[Option<R::Scalar>; 3]; 2])) {
    for (lane, &count) in counts.iter().enumerate() {
        for u in 0..count {
            let own = &list[u * unknown::SIZE..][..unknown::SIZE];
            let parts = [unknown::EQUATION, unknown::DIRECTION]
                .map(|at| std::array::from_fn(|k| Some(own[at + k].lane(lane)).filter(|&x| x != R::Scalar::default())));
            f(lane, u, own[unknown::FIRST].lane(lane).to_f64() as usize, parts);
        }
    }
}

/// See the module.
pub fn mirror<T: Scalar>(args: &mut Args<T>) {
    let dims = &args.dims::<Dims>();
    let tiles = (dims.lanes as usize).div_ceil(LANES);
    let [places, constraint, rows, impulse, velocity, shift, out] = args.split();
    let n_v = dims.n_v as usize;
    let size = slot_reals(n_v);
    for t in 0..tiles {
        let at = tile_place(places.index(), t);
        let (begin, end) = (at[place::BEGIN], at[place::BEGIN] + at[place::COUNT]);
        system(
            dims,
            &constraint.tile()[begin * size..end * size],
            nth(rows.tile(), t, dims.n_row * row_stride(n_v) as u32),
            &impulse.tile()[3 * begin..3 * end],
            nth(velocity.tile(), t, dims.n_v),
            &shift.tile()[at[place::SHIFT]..],
            &mut out.tile_mut()[at[place::SYSTEM]..][..System::new(dims.sizes(), at[place::COUNT]).reals],
        );
    }
}
