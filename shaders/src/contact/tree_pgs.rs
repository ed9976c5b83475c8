//! The exact contact problem (NCP) of one tree: Newton steps and sweeps of projected Gauss-Seidel.
//!
//! Problem: with `v = v_free + A^-1 J^T lambda`, every slot and row obeys its law (mathematics of [`super::local`] and
//! of [`super::tree_layout::row`]); lambda is zero of the natural map `lambda - T(lambda - J v - e)`, whose norm over all rows
//! divided by the number of contacts is what the certificate reports and what a lane stops at.
//!
//! Lanes differ in what touches what, and in how long they take: each is solved by itself, its Delassus operator written
//! out ([`super::dense`]). A lane of more rows than the workspace holds is left to sweeps on the velocity, which need no
//! such operator: a sweep visits rows, then slots, each solved exactly with the others held, v updated at once.
//!
//! After the first sweeps a third of a lying humanoid's contacts are open, and nineteen times in twenty all of them stay
//! so. The mirror leaves these out: while they stay open they take no part in any step, and where one does not, its lane
//! is solved again with all of them.
//!
//! Buffers: slots, constraint, row -> impulse, velocity (starts as v_free), info, status; work. A mirror solves in one
//! dispatch; on a device a solve may be spread over several ([`LaneDims::phases`]). There a lane's problem is written out
//! first and its first sweeps use that, which differs from the mirror's by rounding only: each lane has its own memory.

use bytemuck::cast_slice_mut;

use super::dense::{Dense, MOST, Outcome, SLOT_STEP, Shape};
use super::local::{ABSURD, is_sensible, is_sensible_row, residual, solve};
use super::packs::{real_mut, total};
pub use super::tree_layout::LaneDims as Dims;
use super::tree_layout::{
    LaneDims, info, load3, load6, none, row, row_coefficient, row_dof, row_head, slot, tile_slots,
};
use super::workspace::with_workspace;
use crate::args::Args;
use crate::dynamics::tree::status;
use crate::{LANES, Mask, Real, Scalar};

/// Sweeps of all lanes together before any is solved by itself: where contacts are few that is all it takes.
const FIRST: u32 = 4;

/// Packs of workspace of a tile: velocity and `J v + e` at the warm start; one lane's velocity, its A^-1 J^T by dof, and
/// its problem.
#[must_use]
pub fn work_packs(dims: &LaneDims, n_slot: usize) -> usize {
    let shape = Shape::new(n_slot, dims.n_row as usize);
    let n_v = dims.n_v as usize;
    let lane = n_v.div_ceil(LANES) + n_v * shape.groups() + shape.reals() / LANES;
    n_v + 3 * n_slot + dims.n_row as usize + lane
}

/// One tile. `stopped`: lanes that take no part. Returns which lanes have converged.
pub fn tree_pgs<T: Scalar, R: Real<Scalar = T>>(
    dims: &LaneDims,
    stopped: [bool; LANES],
    constraint: &[R],
    impulse: &mut [R],
    rows: &mut [R],
    velocity: &mut [R],
    info_out: &mut [R],
    work: &mut [T::Pack],
) -> [bool; LANES] {
    let n_v = dims.n_v as usize;
    let n_sigma = constraint.len() / dims.slot() * 3 + dims.n_row as usize;
    let (own, rest) = work.split_at_mut(n_v + n_sigma);
    let (v, sigma) = cast_slice_mut::<T::Pack, R>(own)[..n_v + n_sigma].split_at_mut(n_v);
    v.copy_from_slice(&velocity[..n_v]);
    start(dims, constraint, impulse, rows, v);
    let contacts: R = contacts(dims, constraint);
    info_out[info::SWEEPS] = R::lit(0.0);
    let first = FIRST.min(dims.sweeps);
    let swept = sweeps(dims, first, live::<R>(stopped), contacts, constraint, impulse, rows, v, info_out);
    biased(dims, constraint, rows, v, sigma);
    // A sweep sees each row before those after it change.
    let left = natural(dims, constraint, impulse, rows, sigma) / contacts.max(R::lit(1.0));
    let solved = swept & left.le(dims.tolerance());
    let mut converged = flags(|lane| solved.lane(lane), R::N);
    let mut large = R::lit(0.0);
    for lane in 0..R::N {
        if stopped[lane] || converged[lane] {
            continue;
        }
        let enough = dims.tolerance::<T>() * contacts.lane(lane).max(T::lit(1.0));
        for whole in [false, true] {
            let found = Found::new(dims, constraint, impulse, rows, sigma, lane, whole);
            if found.shape().groups() * LANES > MOST.min(dims.rows as usize) {
                large.set_lane(lane, T::lit(1.0));
                break;
            }
            if let Some(outcome) = found.solve(dims, constraint, impulse, rows, v, sigma, enough, rest) {
                converged[lane] = outcome.done;
                report(info_out, lane, &outcome, contacts.lane(lane));
                break;
            }
        }
    }
    start(dims, constraint, impulse, rows, velocity);
    let large = R::lit(0.5).lt(large);
    if large.any() {
        let swept = sweeps(dims, dims.sweeps, large, contacts, constraint, impulse, rows, velocity, info_out);
        for lane in 0..R::N {
            converged[lane] |= swept.lane(lane);
        }
    }
    let hopeless = hopeless(dims, impulse, rows);
    flags(|lane| converged[lane] && !hopeless.lane(lane), R::N)
}

/// One for each of the first `n` lanes; there are no others.
fn flags(of: impl Fn(usize) -> bool, n: usize) -> [bool; LANES] {
    std::array::from_fn(|lane| lane < n && of(lane))
}

/// The lanes that take part.
fn live<P: Real>(stopped: [bool; LANES]) -> P::Mask {
    let mut runs = P::lit(0.0);
    for (lane, stopped) in stopped.into_iter().enumerate().take(P::N) {
        runs.set_lane(lane, P::Scalar::lit(if stopped { 0.0 } else { 1.0 }));
    }
    P::lit(0.5).lt(runs)
}

/// What a lane's solve came to.
fn report<P: Real>(info_out: &mut [P], lane: usize, outcome: &Outcome<P::Scalar>, contacts: P::Scalar) {
    let one = P::Scalar::lit(1.0);
    let sweeps = info_out[info::SWEEPS].lane(lane) + P::Scalar::lit(f64::from(outcome.sweeps));
    info_out[info::SWEEPS].set_lane(lane, sweeps);
    info_out[info::NEWTON].set_lane(lane, P::Scalar::lit(f64::from(outcome.steps)));
    info_out[info::STOPPED_AT].set_lane(lane, outcome.error / contacts.max(one));
}

/// At most so many sweeps for the lanes of `live`. Returns which of them have converged.
fn sweeps<R: Real>(
    dims: &LaneDims,
    most: u32,
    mut live: R::Mask,
    contacts: R,
    constraint: &[R],
    impulse: &mut [R],
    rows: &mut [R],
    velocity: &mut [R],
    info_out: &mut [R],
) -> R::Mask {
    let (zero, one, all) = (R::lit(0.0), R::lit(1.0), live);
    let per_contact = one / contacts.max(one);
    let tolerance: R = dims.tolerance();
    let (mut error, mut count) = (info_out[info::STOPPED_AT], zero);
    for _ in 0..most {
        let before = sweep(dims, constraint, impulse, rows, velocity, live).sqrt() * per_contact;
        error = R::select(live, before, error);
        count += R::select(live, one, zero);
        live = live & !before.le(tolerance);
        if none(live) {
            break;
        }
    }
    info_out[info::SWEEPS] += count;
    info_out[info::NEWTON] = R::select(all, zero, info_out[info::NEWTON]);
    info_out[info::STOPPED_AT] = R::select(all, error, info_out[info::STOPPED_AT]);
    all & !live
}

/// The slots and rows of one lane's problem: slots that have a response and act, or all that have one; its active rows.
struct Found {
    lane: usize,
    slots: [u16; MOST],
    n_slot: usize,
    rows: [u16; MOST],
    n_row: usize,
    /// Whether slots with a response were left out.
    partial: bool,
}

impl Found {
    /// `sigma`: `J v + e` of the tile's slots. A slot acts that carries or that would be entered.
    fn new<P: Real>(
        dims: &LaneDims,
        constraint: &[P],
        impulse: &[P],
        rows: &[P],
        sigma: &[P],
        lane: usize,
        whole: bool,
    ) -> Self {
        let zero = P::Scalar::lit(0.0);
        let mut found = Self { lane, slots: [0; MOST], n_slot: 0, rows: [0; MOST], n_row: 0, partial: false };
        for (s, c) in constraint.chunks_exact(dims.slot()).enumerate() {
            if trace(c).lane(lane) <= zero {
                continue;
            }
            let carries = (3 * s..3 * s + 3).any(|i| impulse[i].lane(lane) != zero);
            let open = !carries && zero <= sigma[3 * s + 2].lane(lane) && zero <= c[slot::MU].lane(lane);
            if open && !whole {
                found.partial = true;
            } else if found.n_slot < MOST {
                found.slots[found.n_slot] = s as u16;
                found.n_slot += 1;
            }
        }
        for (i, r) in rows[..dims.n_row as usize * dims.row()].chunks_exact(dims.row()).enumerate() {
            if zero < r[row::ACTIVE].lane(lane) && found.n_row < MOST {
                found.rows[found.n_row] = i as u16;
                found.n_row += 1;
            }
        }
        found
    }

    fn shape(&self) -> Shape {
        Shape::new(self.n_slot, self.n_row)
    }

    fn slots(&self) -> impl Iterator<Item = (usize, usize)> {
        self.slots[..self.n_slot].iter().map(|&s| usize::from(s)).enumerate()
    }

    fn rows(&self) -> impl Iterator<Item = (usize, usize)> {
        self.rows[..self.n_row].iter().map(|&i| usize::from(i)).enumerate()
    }

    /// Whether a slot that was left out would be entered at a velocity.
    fn left_out_acts<P: Real>(&self, dims: &LaneDims, constraint: &[P], v: &[P::Scalar]) -> bool {
        let (zero, n_v) = (P::Scalar::lit(0.0), dims.n_v as usize);
        let mut kept = self.slots[..self.n_slot].iter().map(|&s| usize::from(s)).peekable();
        self.partial
            && constraint.chunks_exact(dims.slot()).enumerate().any(|(s, c)| {
                if kept.next_if_eq(&s).is_some() || trace(c).lane(self.lane) <= zero {
                    return false;
                }
                let j = &c[slot::J + 2 * n_v..][..n_v];
                let bias = c[slot::BIAS + 2].lane(self.lane);
                j.iter().zip(v).fold(bias, |sum, (j, &v)| j.lane(self.lane).mul_add(v, sum)) < zero
            })
    }

    /// Gathers the lane's problem, solves it and puts its impulses back; none where a slot that was left out acts, and
    /// then nothing is put back. `sigma`: `J v + e` of the tile's slots and rows at `v`, the velocity of the impulses.
    fn solve<T: Scalar, R: Real<Scalar = T>>(
        &self,
        dims: &LaneDims,
        constraint: &[R],
        impulse: &mut [R],
        rows: &mut [R],
        v: &[R],
        sigma: &[R],
        enough: T,
        work: &mut [T::Pack],
    ) -> Option<Outcome<T>> {
        let (shape, lane, n_v) = (self.shape(), self.lane, dims.n_v as usize);
        let (size, stride, n) = (dims.slot(), dims.row(), shape.groups());
        let (moved, rest) = work.split_at_mut(n_v.div_ceil(LANES));
        let (response, rest) = rest.split_at_mut(n_v * n);
        response.fill(T::Pack::lit(0.0));
        let mut problem = Dense::<T>::new(shape, rest);
        let n_slot = constraint.len() / size;
        let y = real_mut(response);
        for (at, s) in self.slots() {
            let c = &constraint[s * size..(s + 1) * size];
            let rho = T::lit(SLOT_STEP) / trace(c).lane(lane);
            for r in 0..3 {
                let i = shape.of_slot(at, r);
                real_mut(problem.lambda)[i] = impulse[3 * s + r].lane(lane);
                real_mut(problem.sigma)[i] = sigma[3 * s + r].lane(lane);
                real_mut(problem.rho)[i] = rho;
                for d in 0..n_v {
                    y[d * n * LANES + i] = c[slot::J + (3 + r) * n_v + d].lane(lane);
                }
            }
            real_mut(problem.friction)[at] = c[slot::MU].lane(lane);
            for e in 0..6 {
                real_mut(problem.inverse)[e * shape.slots * LANES + at] = c[slot::INVERSE + e].lane(lane);
            }
        }
        for (at, k) in self.rows() {
            let r = &rows[k * stride..(k + 1) * stride];
            let i = shape.of_row(at);
            let (lambda, compliance) = (r[row::IMPULSE].lane(lane), r[row::COMPLIANCE].lane(lane));
            real_mut(problem.lambda)[i] = lambda;
            real_mut(problem.sigma)[i] = compliance.mul_add(lambda, sigma[3 * n_slot + k].lane(lane));
            real_mut(problem.rho)[i] = T::lit(1.0) / (r[row::BLOCK].lane(lane) + compliance);
            real_mut(problem.lower)[at] = r[row::LOWER].lane(lane);
            real_mut(problem.upper)[at] = r[row::UPPER].lane(lane);
            real_mut(problem.compliance)[at] = compliance;
            for d in 0..n_v {
                y[d * n * LANES + i] = r[row_head(dims.row_width) + d].lane(lane);
            }
        }
        // G = J Y: a dof that does not move a slot adds nothing.
        let mut add = |i: usize, d: usize, j: T| {
            if j != T::lit(0.0) {
                let j = T::Pack::splat(j);
                for (g, &y) in problem.delassus[i * n..(i + 1) * n].iter_mut().zip(&response[d * n..(d + 1) * n]) {
                    *g = j.mul_add(y, *g);
                }
            }
        };
        for (at, s) in self.slots() {
            let c = &constraint[s * size + slot::J..(s + 1) * size];
            for r in 0..3 {
                for d in 0..n_v {
                    add(shape.of_slot(at, r), d, c[r * n_v + d].lane(lane));
                }
            }
        }
        for (at, k) in self.rows() {
            let r = &rows[k * stride..(k + 1) * stride];
            for d in 0..dims.row_width as usize {
                add(shape.of_row(at), row_dof(r, d), row_coefficient(r, d).lane(lane));
            }
        }
        for (at, _) in self.rows() {
            let i = shape.of_row(at);
            let compliance = problem.compliance[at / LANES].lane(at % LANES);
            real_mut(problem.delassus)[i * n * LANES + i] += compliance;
        }
        let outcome = problem.solve(dims.newton > 0, dims.sweeps, enough);
        if self.partial {
            // The velocity, from the changes of the impulses.
            problem.step.copy_from_slice(problem.lambda);
            let change = real_mut(problem.step);
            for (at, s) in self.slots() {
                (0..3).for_each(|r| change[shape.of_slot(at, r)] -= impulse[3 * s + r].lane(lane));
            }
            for (at, k) in self.rows() {
                change[shape.of_row(at)] -= rows[k * stride + row::IMPULSE].lane(lane);
            }
            let moved = real_mut(moved);
            for d in 0..n_v {
                let y = response[d * n..(d + 1) * n].iter().zip(&*problem.step);
                moved[d] = v[d].lane(lane) + total(y.fold(T::Pack::lit(0.0), |sum, (y, &x)| y.mul_add(x, sum)));
            }
            if self.left_out_acts(dims, constraint, &moved[..n_v]) {
                return None;
            }
        }
        for (at, s) in self.slots() {
            for r in 0..3 {
                let i = shape.of_slot(at, r);
                impulse[3 * s + r].set_lane(lane, problem.lambda[i / LANES].lane(i % LANES));
            }
        }
        for (at, k) in self.rows() {
            let i = shape.of_row(at);
            rows[k * stride + row::IMPULSE].set_lane(lane, problem.lambda[i / LANES].lane(i % LANES));
        }
        Some(outcome)
    }
}

/// `J v + e` of every slot, then of every row.
#[inline(always)]
fn biased<R: Real>(dims: &LaneDims, constraint: &[R], rows: &[R], v: &[R], sigma: &mut [R]) {
    let (slots, singles) = sigma.split_at_mut(3 * (constraint.len() / dims.slot()));
    for (c, sigma) in constraint.chunks_exact(dims.slot()).zip(slots.chunks_exact_mut(3)) {
        sigma.copy_from_slice(&slot_velocity(c, v));
    }
    let rows = rows[..dims.n_row as usize * dims.row()].chunks_exact(dims.row());
    for (r, sigma) in rows.zip(singles) {
        *sigma = row_velocity(dims.row_width, r, v) + r[row::BIAS];
    }
}

/// Norm of the natural residual; `sigma`: `J v + e` of slots and rows.
#[inline(always)]
fn natural<R: Real>(dims: &LaneDims, constraint: &[R], impulse: &[R], rows: &[R], sigma: &[R]) -> R {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let (slots, singles) = sigma.split_at(3 * (constraint.len() / dims.slot()));
    let mut square = zero;
    for (c, (lambda, sigma)) in
        constraint.chunks_exact(dims.slot()).zip(impulse.chunks_exact(3).zip(slots.chunks_exact(3)))
    {
        let left = residual(c[slot::MU], one, &load3(lambda, 0), &load3(sigma, 0));
        let own = left[0].mul_add(left[0], left[1].mul_add(left[1], left[2] * left[2]));
        square += R::select(zero.lt(trace(c)), own, zero);
    }
    let rows = rows[..dims.n_row as usize * dims.row()].chunks_exact(dims.row());
    for (r, &sigma) in rows.zip(singles) {
        let left = row_residual(r, sigma);
        square += R::select(zero.lt(r[row::ACTIVE]), left * left, zero);
    }
    square.sqrt()
}

/// What is left of a row's law at its `J v + e`, N s.
#[inline(always)]
pub(super) fn row_residual<R: Real>(r: &[R], sigma: R) -> R {
    let (lambda, one) = (r[row::IMPULSE], R::lit(1.0));
    lambda - ((lambda - sigma) / (one + r[row::COMPLIANCE])).max(r[row::LOWER]).min(r[row::UPPER])
}

/// Number of contacts of a lane: slots with a response, blocks left out.
#[inline(always)]
pub(super) fn contacts<R: Real>(dims: &LaneDims, constraint: &[R]) -> R {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    constraint.chunks_exact(dims.slot()).fold(zero, |count, c| {
        let counts = zero.lt(trace(c)) & zero.le(c[slot::MU]);
        count + R::select(counts, one, zero)
    })
}

/// Trace of a slot's block.
#[inline(always)]
pub(super) fn trace<R: Real>(constraint: &[R]) -> R {
    constraint[slot::BLOCK] + constraint[slot::BLOCK + 3] + constraint[slot::BLOCK + 5]
}

/// `v = v_free + Y lambda` of the warm start.
#[inline(always)]
fn start<R: Real>(dims: &LaneDims, constraint: &[R], impulse: &[R], rows: &[R], velocity: &mut [R]) {
    let n_v = dims.n_v as usize;
    let velocity = &mut velocity[..n_v];
    for v in velocity.iter_mut() {
        // Turns -0 into 0: later additions of nothing, which a neighbour may cause, then change no bit.
        *v += R::lit(0.0);
    }
    for (c, lambda) in constraint.chunks_exact(dims.slot()).zip(impulse.chunks_exact(3)) {
        push3(&c[slot::J + 3 * n_v..], &load3(lambda, 0), velocity);
    }
    for r in rows[..dims.n_row as usize * dims.row()].chunks_exact(dims.row()) {
        if nonzero(r[row::IMPULSE]) {
            push(&r[row_head(dims.row_width)..], r[row::IMPULSE], velocity);
        }
    }
}

/// One sweep; the sum of squares of the natural residual as each row and slot was met.
#[inline(always)]
fn sweep<R: Real>(
    dims: &LaneDims,
    constraint: &[R],
    impulse: &mut [R],
    rows: &mut [R],
    velocity: &mut [R],
    live: R::Mask,
) -> R {
    let n_v = dims.n_v as usize;
    let velocity = &mut velocity[..n_v];
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let mut square = zero;
    for r in rows[..dims.n_row as usize * dims.row()].chunks_exact_mut(dims.row()) {
        let active = zero.lt(r[row::ACTIVE]) & live;
        if none(active) {
            continue;
        }
        let sigma = row_velocity(dims.row_width, r, velocity) + r[row::BIAS];
        let (lambda, compliance) = (r[row::IMPULSE], r[row::COMPLIANCE]);
        let bound = |x: R| x.max(r[row::LOWER]).min(r[row::UPPER]);
        let left = row_residual(r, sigma);
        square += R::select(active, left * left, zero);
        let next = bound(lambda - compliance.mul_add(lambda, sigma) / (r[row::BLOCK] + compliance));
        let change = R::select(active, next - lambda, zero);
        if nonzero(change) {
            r[row::IMPULSE] = R::select(active, next, lambda);
            push(&r[row_head(dims.row_width)..], change, velocity);
        }
    }
    for (c, lambda) in constraint.chunks_exact(dims.slot()).zip(impulse.chunks_exact_mut(3)) {
        // A slot without a response cannot be solved: its impulses stay.
        let live = live & zero.lt(trace(c));
        let sigma = slot_velocity(c, velocity);
        let now = load3(lambda, 0);
        let left = residual(c[slot::MU], one, &now, &sigma);
        square += R::select(live, left[0].mul_add(left[0], left[1].mul_add(left[1], left[2] * left[2])), zero);
        let next = solve(c[slot::MU], &load6(c, slot::BLOCK), &load6(c, slot::INVERSE), &now, &sigma);
        let change: [R; 3] = std::array::from_fn(|k| R::select(live, next[k] - now[k], zero));
        if nonzero(change[0].abs() + change[1].abs() + change[2].abs()) {
            for k in 0..3 {
                lambda[k] = R::select(live, next[k], now[k]);
            }
            push3(&c[slot::J + 3 * n_v..], &change, velocity);
        }
    }
    square
}

/// Lanes of which no sweep can say that they are solved: with an absurd impulse.
fn hopeless<R: Real>(dims: &LaneDims, impulse: &[R], rows: &[R]) -> R::Mask {
    let (mut largest, most) = (R::lit(0.0), R::lit(ABSURD));
    for lambda in impulse {
        largest = largest.max(lambda.abs());
    }
    for r in rows[..dims.n_row as usize * dims.row()].chunks_exact(dims.row()) {
        largest = largest.max(r[row::IMPULSE].abs());
    }
    most.lt(largest)
}

/// Lanes whose impulses make sense.
fn sensible<R: Real>(dims: &LaneDims, constraint: &[R], impulse: &[R], rows: &[R]) -> R::Mask {
    let zero = R::lit(0.0);
    let mut sensible = zero.le(zero);
    for (c, lambda) in constraint.chunks_exact(dims.slot()).zip(impulse.chunks_exact(3)) {
        sensible = sensible & is_sensible(c[slot::MU], trace(c), &load3(lambda, 0), &load3(c, slot::BIAS));
    }
    for r in rows[..dims.n_row as usize * dims.row()].chunks_exact(dims.row()) {
        let is_hard = zero.lt(r[row::ACTIVE]) & r[row::COMPLIANCE].le(zero);
        sensible = sensible & (!is_hard | is_sensible_row(r[row::BLOCK], r[row::IMPULSE], r[row::BIAS]));
    }
    sensible
}

/// Whether any lane is not zero (or is a NaN).
#[inline(always)]
fn nonzero<R: Real>(x: R) -> bool {
    (!x.abs().le(R::lit(0.0))).any()
}

/// `J v` of a row, by its few dofs.
#[inline(always)]
pub(super) fn row_velocity<R: Real>(width: u32, r: &[R], v: &[R]) -> R {
    (0..width as usize).fold(R::lit(0.0), |sum, k| row_coefficient(r, k).mul_add(v[row_dof(r, k)], sum))
}

/// `J v` of a slot.
#[inline(always)]
pub(super) fn slot_product<R: Real>(c: &[R], v: &[R]) -> [R; 3] {
    let n_v = v.len();
    let (j, mut sigma) = (&c[slot::J..slot::J + 3 * n_v], [R::lit(0.0); 3]);
    let (j0, rest) = j.split_at(n_v);
    let (j1, j2) = rest.split_at(n_v);
    for i in 0..n_v {
        sigma[0] = j0[i].mul_add(v[i], sigma[0]);
        sigma[1] = j1[i].mul_add(v[i], sigma[1]);
        sigma[2] = j2[i].mul_add(v[i], sigma[2]);
    }
    sigma
}

/// `J v + e` of a slot.
#[inline(always)]
pub(super) fn slot_velocity<R: Real>(c: &[R], v: &[R]) -> [R; 3] {
    let sigma = slot_product(c, v);
    [sigma[0] + c[slot::BIAS], sigma[1] + c[slot::BIAS + 1], sigma[2] + c[slot::BIAS + 2]]
}

/// `v += y x`.
#[inline(always)]
pub(super) fn push<R: Real>(y: &[R], x: R, v: &mut [R]) {
    for (v, &y) in v.iter_mut().zip(y) {
        *v = y.mul_add(x, *v);
    }
}

/// `v += Y^T x` for the three rows of a slot.
#[inline(always)]
pub(super) fn push3<R: Real>(y: &[R], x: &[R; 3], v: &mut [R]) {
    let n_v = v.len();
    let (y0, rest) = y[..3 * n_v].split_at(n_v);
    let (y1, y2) = rest.split_at(n_v);
    for i in 0..n_v {
        v[i] = y2[i].mul_add(x[2], y1[i].mul_add(x[1], y0[i].mul_add(x[0], v[i])));
    }
}

/// Buffers: slots, constraint, row, impulse, velocity, info, status, work. On the CPU the workspace is the thread's own:
/// it is needed once a thread, not once a lane.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: LaneDims = args.dims();
    let tiles = args.tiles();
    let [slots, constraint, row, impulse, velocity, info, status, _work] = args.split();
    let (n_v, n_row_real) = (dims.n_v as usize, dims.n_row as usize * dims.row());
    for t in 0..tiles {
        let [begin, count, ..] = tile_slots(slots.index(), t);
        let words = &mut status.index_mut()[t * R::N..(t + 1) * R::N];
        let stopped = flags(|lane| words[lane] & status::KEPT != 0, R::N);
        let converged = with_workspace::<R::Scalar, _>(work_packs(&dims, count), |work| {
            tree_pgs(
                &dims,
                stopped,
                &constraint.tile()[begin * dims.slot()..(begin + count) * dims.slot()],
                &mut impulse.tile_mut()[3 * begin..3 * (begin + count)],
                &mut row.tile_mut()[t * n_row_real..(t + 1) * n_row_real],
                &mut velocity.tile_mut()[t * n_v..(t + 1) * n_v],
                &mut info.tile_mut()[t * info::reals(n_v)..(t + 1) * info::reals(n_v)],
                work,
            )
        });
        let sensible = (0..R::N).any(|lane| !converged[lane] && !stopped[lane]).then(|| {
            let slots = begin..begin + count;
            sensible(
                &dims,
                &constraint.tile()[slots.start * dims.slot()..slots.end * dims.slot()],
                &impulse.tile()[3 * slots.start..3 * slots.end],
                &row.tile()[t * n_row_real..(t + 1) * n_row_real],
            )
        });
        for (lane, word) in words.iter_mut().enumerate() {
            let doubtful = sensible.is_some_and(|sensible| !stopped[lane] && !sensible.lane(lane));
            let outcome = match (converged[lane], doubtful) {
                (true, _) => status::CONVERGED,
                (false, true) => status::ITERATION_LIMIT | status::DOUBTFUL,
                (false, false) => status::ITERATION_LIMIT,
            };
            *word = *word & !(status::CONVERGED | status::ITERATION_LIMIT | status::DOUBTFUL) | outcome;
        }
    }
}
