//! The modes of all constraints, the unknowns they leave free, and the factor of `B = L J A^-1 J^T R + D` with complete
//! pivoting, which tells the rank. The unknowns of each mode are those of Q. Le Lidec et al. 2024, section III-B.
//!
//! On devices a workgroup has a lane, and its invocations share the work: an elimination is long.
//!
//! Buffers: places, constraint, row, impulse, velocity, shift -> system.

use super::layout::{System, kink, place, row_shift, slot_shift, tile_place, unknown, verdict};
use crate::args::Args;
use crate::contact::tree_layout::{row as row_part, row_dof, row_stride, slot, slot_reals};
use crate::dynamics::tree::{nth, param};
use crate::real::{LANES, Mask, Real, Scalar};

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

/// The list of unknowns of a tile, and what their constraints say of modes.
struct List<'a, R: Real> {
    /// `[most][unknown::SIZE]`
    list: &'a mut [R],
    /// How many each lane has.
    counts: Vec<usize>,
    margin: R,
    closed: R,
}

impl<R: Real> List<'_, R> {
    #[inline(always)]
    fn push(&mut self, lane: usize, first: usize, direction: [f64; 3], equation: [f64; 3], diagonal: f64) {
        let own = &mut self.list[self.counts[lane] * unknown::SIZE..][..unknown::SIZE];
        self.counts[lane] += 1;
        own[unknown::FIRST].set_lane(lane, R::Scalar::from_f64(first as f64));
        for k in 0..3 {
            own[unknown::DIRECTION + k].set_lane(lane, R::Scalar::from_f64(direction[k]));
            own[unknown::EQUATION + k].set_lane(lane, R::Scalar::from_f64(equation[k]));
        }
        own[unknown::DIAGONAL].set_lane(lane, R::Scalar::from_f64(diagonal));
    }

    #[inline(always)]
    fn margin(&mut self, counts: R::Mask, margin: R) {
        self.margin = R::select(counts, self.margin.min(margin), self.margin);
    }
}

const UNIT: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The mode of a contact, and its unknowns.
#[inline(always)]
fn contact<R: Real>(first: usize, own: &[R], kinks: &[R], impulse: &[R], velocity: &[R], out: &mut List<R>) {
    let (n, zero, one) = (velocity.len(), R::lit(0.0), R::lit(1.0));
    let block = &own[slot::BLOCK..];
    let delassus = (block[0] + block[3] + block[5]) * R::lit(1.0 / 3.0);
    let sigma: [R; 3] = std::array::from_fn(|k| {
        let row = &own[slot::J + k * n..][..n];
        row.iter().zip(velocity).fold(own[slot::BIAS + k], |sum, (j, v)| j.mul_add(*v, sum))
    });
    let y: [R; 3] = std::array::from_fn(|k| delassus.mul_add(impulse[k], -sigma[k]));
    let exists = zero.lt(delassus);
    let acts = exists & zero.lt(y[2]) & zero.lt(impulse[2]);
    out.margin(exists & !acts, y[2].abs());
    let mu = own[slot::MU];
    let rough = zero.lt(mu);
    let slip = y[0].mul_add(y[0], y[1] * y[1]).sqrt();
    // Distance to the cone's surface along its normal.
    let inside = mu.mul_add(y[2], -slip) / mu.mul_add(mu, one).sqrt();
    let sticks = acts & rough & zero.le(inside);
    out.margin(acts, y[2].min(kinks[kink::MARGIN]));
    out.margin(acts & rough, inside.abs());
    out.closed += R::select(acts, kinks[kink::CLOSED], zero);
    if !acts.any() {
        return;
    }
    let slip = sigma[0].mul_add(sigma[0], sigma[1] * sigma[1]).sqrt();
    let moving = zero.lt(slip);
    let per = one / R::select(moving, slip, one);
    let drag = [0, 1].map(|k| R::select(moving, -(sigma[k] * per), zero));
    let along = slip / R::select(rough & acts, mu * impulse[2], one);
    for lane in 0..R::N {
        if sticks.lane(lane) {
            UNIT.into_iter().for_each(|unit| out.push(lane, first, unit, unit, 0.0));
        } else if acts.lane(lane) {
            let number = |x: R| x.lane(lane).to_f64();
            let ([x, y], mu) = (drag.map(number), number(mu));
            out.push(lane, first, [mu * x, mu * y, 1.0], UNIT[2], 0.0);
            if mu > 0.0 {
                let across = [-y, x, 0.0];
                out.push(lane, first, across, across, number(along));
            }
        }
    }
}

/// The mode of a row, and its unknown.
#[inline(always)]
fn row<R: Real>(first: usize, own: &[R], shift: &[R], velocity: &[R], out: &mut List<R>) {
    let zero = R::lit(0.0);
    let (lambda, lower, upper) = (own[row_part::IMPULSE], own[row_part::LOWER], own[row_part::UPPER]);
    let sigma = (0..3)
        .fold(own[row_part::BIAS], |sum, k| own[row_part::COEFFICIENT + k].mul_add(velocity[row_dof(own, k)], sum));
    let (delassus, r) = (own[row_part::BLOCK], own[row_part::COMPLIANCE]);
    let active = zero.lt(own[row_part::ACTIVE]);
    // One that leaves its bound of zero without impulse, as a limit that is not reached, has no say.
    let idle = lambda.le(zero) & zero.le(lambda) & lower.le(zero) & zero.le(lower) & zero.le(upper);
    let leaves = active & idle & zero.lt(sigma);
    out.margin(leaves, sigma);
    let acts = active & !leaves;
    // `sigma + r lambda` is what the law holds at zero.
    let y = delassus.mul_add(lambda, -sigma);
    let whole = delassus + r;
    let (below, above) = (y - whole * lower, whole * upper - y);
    let held = acts & zero.lt(below) & zero.lt(above);
    out.margin(acts, below.abs().min(above.abs()));
    out.margin(held, shift[row_shift::MARGIN]);
    out.closed += R::select(held, shift[row_shift::CLOSED], zero);
    for lane in (0..R::N).filter(|&lane| held.lane(lane)) {
        out.push(lane, first, UNIT[0], UNIT[0], r.lane(lane).to_f64());
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

/// Complete pivoting, each lane by itself; the rank of each.
#[inline(always)]
fn eliminate<R: Real>(m: usize, stride: usize, smallest: R, b: &mut [R], row_of: &mut [R], column_of: &mut [R]) -> R {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    for i in 0..m {
        (row_of[i], column_of[i]) = (R::lit(i as f64), R::lit(i as f64));
    }
    let (mut rank, mut least) = (zero, zero);
    for k in 0..m {
        let (mut pivot, mut row, mut column) = (zero, R::lit(k as f64), R::lit(k as f64));
        for i in k..m {
            for j in k..m {
                let x = b[i * stride + j].abs();
                let larger = pivot.lt(x);
                pivot = R::select(larger, x, pivot);
                row = R::select(larger, R::lit(i as f64), row);
                column = R::select(larger, R::lit(j as f64), column);
            }
        }
        if k == 0 {
            least = pivot * smallest;
        }
        let acts = least.lt(pivot);
        rank += R::select(acts, one, zero);
        for lane in (0..R::N).filter(|&lane| acts.lane(lane)) {
            let (i, j) = (row.lane(lane).to_f64() as usize, column.lane(lane).to_f64() as usize);
            let mut swap = |x: usize, y: usize| swap(lane, b, x, y);
            if i != k {
                (0..m).for_each(|c| swap(k * stride + c, i * stride + c));
            }
            if j != k {
                (0..m).for_each(|r| swap(r * stride + k, r * stride + j));
            }
            self::swap(lane, row_of, k, i);
            self::swap(lane, column_of, k, j);
        }
        let per = R::select(acts, one / R::select(acts, b[k * stride + k], one), zero);
        let (above, below) = b.split_at_mut((k + 1) * stride);
        let top = &mut above[k * stride..][..m];
        for row in below.chunks_mut(stride).take(m - k - 1) {
            let times = row[k] * per;
            row[k] = times;
            for c in k + 1..m {
                row[c] = (-times).mul_add(top[c], row[c]);
            }
        }
        top[k] = per;
    }
    rank
}

#[inline(always)]
fn swap<R: Real>(lane: usize, all: &mut [R], i: usize, j: usize) {
    let (x, y) = (all[i].lane(lane), all[j].lane(lane));
    all[i].set_lane(lane, y);
    all[j].set_lane(lane, x);
}

/// `L x = x`, `[m][width]`.
#[inline(always)]
pub(super) fn descend<R: Real>(m: usize, stride: usize, factor: &[R], x: &mut [R], width: usize) {
    for i in 0..m {
        let (known, own) = x.split_at_mut(i * width);
        for k in 0..i {
            let l = -factor[i * stride + k];
            own[..width].iter_mut().zip(&known[k * width..]).for_each(|(x, y)| *x = l.mul_add(*y, *x));
        }
    }
}

/// Solves by the factor, in place, `[m][width]`: what stands from the rank on is what the equations leave of it, and zero
/// afterwards; the largest of that by column into `left`.
#[inline(always)]
pub(super) fn substitute<R: Real>(m: usize, stride: usize, factor: &[R], x: &mut [R], width: usize, left: &mut [R]) {
    let zero = R::lit(0.0);
    left[..width].fill(zero);
    descend(m, stride, factor, x, width);
    for i in (0..m).rev() {
        let (own, known) = x[i * width..].split_at_mut(width);
        for k in i + 1..m {
            let u = -factor[i * stride + k];
            own.iter_mut().zip(&known[(k - i - 1) * width..]).for_each(|(x, y)| *x = u.mul_add(*y, *x));
        }
        let per = factor[i * stride + i];
        // No pivot, no part in the solution.
        let none = per.le(zero) & zero.le(per);
        if none.any() {
            for (left, x) in left.iter_mut().zip(own.iter()) {
                *left = R::select(none, left.max(x.abs()), *left);
            }
        }
        own.iter_mut().for_each(|x| *x = *x * per);
    }
}

/// What the factor leaves of a matrix that it was made of.
struct Check<'a, R: Real> {
    m: usize,
    n: usize,
    stride: usize,
    list: &'a [R],
    factor: &'a [R],
    column_of: &'a [R],
    /// `L J`, by unknown.
    equations: &'a [R],
    /// `(A^-1 J^T R)^T`, by unknown.
    push: &'a [R],
}

impl<R: Real> Check<'_, R> {
    /// Largest entry of `B x - 1` for the solution x, of lanes with so many unknowns.
    fn residual(&self, counts: R) -> R {
        let zero = R::lit(0.0);
        // Nothing of what a lane does not have.
        let one = |u: usize| R::select(R::lit(u as f64).lt(counts), R::lit(1.0), zero);
        let mut solved: Vec<R> = (0..self.m).map(one).collect();
        substitute(self.m, self.stride, self.factor, &mut solved, 1, &mut [zero]);
        let mut x = vec![zero; self.m];
        for (solved, column) in solved.iter().zip(self.column_of) {
            for lane in 0..R::N {
                x[column.lane(lane).to_f64() as usize].set_lane(lane, solved.lane(lane));
            }
        }
        let mut pushed = vec![zero; self.n];
        for (x, push) in x.iter().zip(self.push.chunks_exact(self.n)) {
            pushed.iter_mut().zip(push).for_each(|(to, push)| *to = push.mul_add(*x, *to));
        }
        let mut worst = zero;
        for (u, equation) in self.equations.chunks_exact(self.n).enumerate() {
            let start = self.list[u * unknown::SIZE + unknown::DIAGONAL].mul_add(x[u], -one(u));
            let left = equation.iter().zip(&pushed).fold(start, |sum, (a, b)| a.mul_add(*b, sum));
            worst = worst.max(left.abs());
        }
        worst
    }

    /// How much the combinations of a lane's impulses that its equations leave free change the velocities, relative to what any
    /// of them changes. Nothing, where every equation is along its own direction: B is symmetric there.
    fn freedom(&self, lane: usize, rank: usize, count: usize) -> f64 {
        let number = |x: &R| x.lane(lane).to_f64();
        let own = |u: usize, at: usize| number(&self.list[u * unknown::SIZE + at]);
        let along = |u: usize| (0..3).all(|k| own(u, unknown::DIRECTION + k) == own(u, unknown::EQUATION + k));
        if (0..count).all(along) {
            return 0.0;
        }
        let row = |j: usize| &self.push[number(&self.column_of[j]) as usize * self.n..][..self.n];
        let largest = self.push.iter().fold(0.0, |most: f64, x| most.max(number(x).abs()));
        let mut worst: f64 = 0.0;
        for c in rank..count {
            let mut x = vec![0.0; rank];
            let mut moved: Vec<f64> = row(c).iter().map(number).collect();
            let mut most: f64 = 1.0;
            for i in (0..rank).rev() {
                let entry = |k: usize| number(&self.factor[i * self.stride + k]);
                let known = (i + 1..rank).fold(-entry(c), |sum, k| sum - entry(k) * x[k]);
                x[i] = known * entry(i);
                most = most.max(x[i].abs());
                moved.iter_mut().zip(row(i)).for_each(|(to, push)| *to += x[i] * number(push));
            }
            let change = moved.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            worst = worst.max(change / (largest * most).max(f64::MIN_POSITIVE));
        }
        worst
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
