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
use super::weigh::add_weighed;
use crate::args::Args;
use crate::contact::tree_layout::{row as row_part, row_coefficient, row_dof, row_head, row_stride, slot, slot_reals};
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

    /// A row of J, unless it has three numbers at dofs of its own; `first`: row of a lane.
    #[inline(always)]
    fn dense_jacobian(&self, first: usize) -> Option<&[R]> {
        let (s, r) = self.of_slot(first)?;
        Some(&self.slot(s)[slot::J + r * self.n..][..self.n])
    }

    /// Adds such a row to the numbers of a lane, times a factor.
    #[inline(always)]
    fn add_jacobian_of(&self, lane: usize, first: usize, factor: R::Scalar, to: &mut [R]) {
        let numbers = self.row(first);
        (0..3).for_each(|k| add_one_of(lane, factor, &row_coefficient(numbers, k), &mut to[row_dof(numbers, k)]));
    }

    /// A row of `J A^-1`.
    #[inline(always)]
    fn response(&self, first: usize) -> &[R] {
        let from = match self.of_slot(first) {
            Some((s, r)) => &self.slot(s)[slot::J + (3 + r) * self.n..],
            None => &self.row(first)[row_head(row_part::WIDTH)..],
        };
        &from[..self.n]
    }

    /// Adds a row of ds, by q and ctrl, likewise.
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
fn add_one_of<R: Real>(lane: usize, factor: R::Scalar, from: &R, to: &mut R) {
    to.set_lane(lane, from.lane(lane).mul_add(factor, to.lane(lane)));
}

#[inline(always)]
fn add_of<R: Real>(lane: usize, factor: R::Scalar, from: &[R], to: &mut [R]) {
    to.iter_mut().zip(from).for_each(|(to, from)| add_one_of(lane, factor, from, to));
}

/// A row of each lane, and what it is weighed with.
struct Term<'p, R: Real> {
    rows: [&'p [R]; LANES],
    factors: R,
    /// One of the rows, and whether no lane has another.
    first: Option<&'p [R]>,
    alike: bool,
}

impl<'p, R: Real> Term<'p, R> {
    #[inline(always)]
    fn new(nothing: &'p [R]) -> Self {
        Self { rows: [nothing; LANES], factors: R::lit(0.0), first: None, alike: true }
    }

    #[inline(always)]
    fn put(&mut self, lane: usize, row: &'p [R], factor: R::Scalar) {
        self.rows[lane] = row;
        self.factors.set_lane(lane, factor);
        self.alike &= std::ptr::eq(*self.first.get_or_insert(row), row);
    }

    #[inline(always)]
    fn add_to(&self, to: &mut [R]) {
        let Some(first) = self.first else { return };
        if self.alike {
            return add_weighed(self.factors, first, to);
        }
        let rows = self.rows.map(|row| &row[..to.len()]);
        for (c, to) in to.iter_mut().enumerate() {
            *to = R::by_lane(|lane| rows[lane][c].lane(lane)).mul_add(self.factors, *to);
        }
    }
}

/// What L or R (`part`) of the unknowns makes of the rows of something, `[m][n]`: of rows that `dense` gives, and of others, which `add`
/// adds.
#[inline(always)]
fn gather_unknowns<'p, R: Real>(
    (list, part): (&[R], usize),
    counts: &[usize],
    n: usize,
    dense: impl Fn(usize) -> Option<&'p [R]>,
    add: impl Fn(usize, usize, R::Scalar, &mut [R]),
    out: &mut [R],
) {
    let nothing = vec![R::lit(0.0); n];
    for (u, (to, own)) in out.chunks_exact_mut(n).zip(list.chunks_exact(unknown::SIZE)).enumerate() {
        to.fill(R::lit(0.0));
        let mut terms: [Term<R>; 3] = std::array::from_fn(|_| Term::new(&nothing));
        for lane in (0..R::N).filter(|&lane| u < counts[lane]) {
            let first = own[unknown::FIRST].lane(lane).to_f64() as usize;
            let mut next = 0;
            for k in 0..3 {
                let (row, factor) = (first + k, own[part + k].lane(lane));
                if factor == R::Scalar::default() {
                    continue;
                }
                if let Some(row) = dense(row) {
                    terms[next].put(lane, row, factor);
                    next += 1;
                } else {
                    add(lane, row, factor, to);
                }
            }
        }
        terms.iter().for_each(|term| term.add_to(to));
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
    let (equations, directions) = ((&*list, unknown::EQUATION), (&*list, unknown::DIRECTION));
    let sparse = |lane, row, x, to: &mut [R]| parts.add_jacobian_of(lane, row, x, to);
    gather_unknowns(equations, &counts, n, |row| parts.dense_jacobian(row), sparse, response);
    gather_unknowns(directions, &counts, n, |row| Some(parts.response(row)), |_, _, _, _| {}, push);
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
    let respond = |lane, row, x, to: &mut [R]| add_of(lane, x, parts.response(row), to);
    let whole = dims.whole == 1;
    if whole {
        shifted.fill(zero);
        push.fill(zero);
    }
    for (lane, (&rank, &count)) in ranks.iter().zip(&counts).enumerate() {
        let row_of = &row_of[..count];
        if whole || rank < count {
            write_ordered(equations, lane, row_of, (response, n), respond);
            write_ordered(equations, lane, row_of, (shifted, width), |lane, row, x, to| {
                parts.add_shift_of(lane, row, x, to);
            });
        }
        if whole {
            write_ordered(directions, lane, &column_of[..rank], (push, n), respond);
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
