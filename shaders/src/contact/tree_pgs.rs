//! The exact contact problem (NCP) of one tree: Newton steps and sweeps of projected Gauss-Seidel.
//!
//! Problem: with `v = v_free + A^-1 J^T lambda`, every slot and row obeys its law (mathematics of [`super::local`] and
//! of [`super::tree_layout::row`]); lambda is zero of the natural map `lambda - T(lambda - J v - e)`, whose norm over all rows
//! divided by the number of contacts is what the certificate reports and what a lane stops at.
//!
//! Lanes differ in what touches what, and in how long they take: each is solved by itself, its Delassus operator written
//! out ([`super::dense`], `tree_lane.rs`). A lane of more rows than the workspace holds is left to sweeps on the velocity, which need no
//! such operator: a sweep visits rows, then slots, each solved exactly with the others held, v updated at once.
//!
//! After the first sweeps a third of a lying humanoid's contacts are open, and nineteen times in twenty all of them stay
//! so. The mirror leaves these out: while they stay open they take no part in any step, and where one does not, its lane
//! is solved again with all of them.
//!
//! A lane whose last step asked for the impossible has laws whose requests give way ([`super::steps`]), and Newton steps from the
//! impulses of that step; the biases that are left stand where the others stood, and by how much they gave way. What they do not
//! solve keeps its impulses and is the host's. So is a relaxed step now and then ([`status::UNTIL_ASKED`]), with the impulses found.
//!
//! Buffers: slots, row -> constraint, impulse, velocity (starts as v_free), info, status; work. A mirror solves in one
//! dispatch; on a device a solve may be spread over several ([`LaneDims::phases`]). There a lane's problem is written out
//! first and its first sweeps use that, which differs from the mirror's by rounding only: each lane has its own memory.

use bytemuck::cast_slice_mut;

use super::dense::Outcome;
use super::dense_shape::Shape;
use super::local::{ABSURD, FLINGS, is_costly, is_sensible, is_sensible_row, residual, solve};
use super::thin::problem_reals;
use super::tree_lane::Found;
pub use super::tree_layout::LaneDims as Dims;
use super::tree_layout::{LaneDims, info, load3, load6, none, row, row_head, row_velocity, slot, tile_slots, trace};
use super::workspace::with_workspace;
use crate::args::Args;
use crate::dynamics::names::part;
use crate::dynamics::tree::status;
use crate::math::is_zero;
use crate::{LANES, Mask, Real, Scalar};

/// Sweeps of all lanes together before any is solved by itself: where contacts are few that is all it takes.
const FIRST: u32 = 4;

/// Packs of workspace of a tile: velocity and `J v + e` at the warm start; one lane's velocity, its A^-1 J^T by dof, and
/// its problem.
#[must_use]
pub fn work_packs(dims: &LaneDims, n_slot: usize) -> usize {
    let shape = Shape::new(n_slot, dims.n_row as usize);
    let n_v = dims.n_v as usize;
    let written_out = n_v.div_ceil(LANES) + n_v * shape.groups() + shape.reals() / LANES;
    let lane = written_out.max(problem_reals(n_v, shape) / LANES);
    n_v + 3 * n_slot + dims.n_row as usize + lane
}

/// What a lane is to do, of [`part`], by its status and whether Newton steps are taken.
#[must_use]
pub fn part_of(word: u32, newton: bool) -> u32 {
    if word & status::APART != 0 {
        return part::NONE;
    }
    if word & status::GAVE_WAY == 0 {
        return part::SOLVES;
    }
    if newton { part::RELAXES } else { part::NONE }
}

/// Which lanes of a tile are solved, and of which of them biases gave way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Lanes that have converged.
    pub converged: [bool; LANES],
    /// Lanes whose problem has a solution with less asked for.
    pub relaxed: [bool; LANES],
    /// Lanes that are not, as their solution flings bodies about.
    pub flung: [bool; LANES],
}

/// One tile.
pub fn tree_pgs<T: Scalar, R: Real<Scalar = T>>(
    dims: &LaneDims,
    parts: [u32; LANES],
    constraint: &mut [R],
    impulse: &mut [R],
    rows: &mut [R],
    velocity: &mut [R],
    info_out: &mut [R],
    work: &mut [T::Pack],
) -> Ends {
    let n_v = dims.n_v as usize;
    let n_sigma = constraint.len() / dims.slot() * 3 + dims.n_row as usize;
    let (own, rest) = work.split_at_mut(n_v + n_sigma);
    let (v, sigma) = cast_slice_mut::<T::Pack, R>(own)[..n_v + n_sigma].split_at_mut(n_v);
    v.copy_from_slice(&velocity[..n_v]);
    start(dims, constraint, impulse, rows, v);
    let contacts: R = contacts(dims, constraint);
    info_out[info::SWEEPS] = R::lit(0.0);
    let first = FIRST.min(dims.sweeps);
    let solves = live::<R>(parts);
    let swept = sweeps(dims, first, solves, contacts, constraint, impulse, rows, v, info_out);
    biased(dims, constraint, rows, v, sigma);
    // A sweep sees each row before those after it change.
    let left = natural(dims, constraint, impulse, rows, sigma) / contacts.max(R::lit(1.0));
    let solved = swept & left.le(dims.tolerance());
    let mut converged = flags(|lane| solved.lane(lane), R::N);
    let mut relaxed = [false; LANES];
    let mut large = R::lit(0.0);
    for lane in 0..R::N {
        if parts[lane] == part::NONE || converged[lane] {
            continue;
        }
        let relaxes = parts[lane] == part::RELAXES;
        let enough = dims.tolerance::<T>() * contacts.lane(lane).max(T::lit(1.0));
        for whole in [false, true] {
            let found = Found::new(dims, constraint, impulse, rows, sigma, lane, whole);
            if found.is_large(dims) {
                large.set_lane(lane, T::lit(if relaxes { 0.0 } else { 1.0 }));
                break;
            }
            let free = relaxes.then_some(&*velocity);
            if let Some((outcome, gave_way)) =
                found.solve(dims, constraint, impulse, rows, free, v, sigma, enough, rest)
            {
                (converged[lane], relaxed[lane]) = (outcome.done, gave_way);
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
    let (hopeless, flings) = (hopeless(dims, impulse, rows), flings(dims, constraint, impulse, rows));
    let flung = flags(|lane| converged[lane] && flings.lane(lane), R::N);
    let converged = flags(|lane| converged[lane] && !hopeless.lane(lane) && !flung[lane], R::N);
    Ends { converged, relaxed, flung }
}

/// One for each of the first `n` lanes; there are no others.
fn flags(of: impl Fn(usize) -> bool, n: usize) -> [bool; LANES] {
    std::array::from_fn(|lane| lane < n && of(lane))
}

/// The lanes that are solved as they are.
fn live<P: Real>(parts: [u32; LANES]) -> P::Mask {
    let mut runs = P::lit(0.0);
    for (lane, own) in parts.into_iter().enumerate().take(P::N) {
        runs.set_lane(lane, P::Scalar::lit(if own == part::SOLVES { 1.0 } else { 0.0 }));
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
        if none(live) {
            break;
        }
        let before = sweep(dims, constraint, impulse, rows, velocity, live).sqrt() * per_contact;
        error = R::select(live, before, error);
        count += R::select(live, one, zero);
        live = live & !before.le(tolerance);
    }
    info_out[info::SWEEPS] += count;
    info_out[info::NEWTON] = R::select(all, zero, info_out[info::NEWTON]);
    info_out[info::STOPPED_AT] = R::select(all, error, info_out[info::STOPPED_AT]);
    all & !live
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
        if !is_zero(r[row::IMPULSE]) {
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
        if !is_zero(change) {
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
        if !is_zero(change[0].abs() + change[1].abs() + change[2].abs()) {
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

/// Lanes whose solution flings bodies about for the sake of a contact that hardly parts, see [`FLINGS`].
fn flings<R: Real>(dims: &LaneDims, constraint: &[R], impulse: &[R], rows: &[R]) -> R::Mask {
    let (zero, n_v) = (R::lit(0.0), dims.n_v as usize);
    let mut flings = zero.lt(zero);
    for (c, lambda) in constraint.chunks_exact(dims.slot()).zip(impulse.chunks_exact(3)) {
        let costly = is_costly(c[slot::MU], trace(c), lambda[2], c[slot::BIAS + 2]);
        if none(costly) {
            continue;
        }
        let mut slides = [zero; 2];
        for d in 0..n_v {
            let by = moved(dims, constraint, impulse, rows, d);
            (0..2).for_each(|t| slides[t] = c[slot::J + t * n_v + d].mul_add(by, slides[t]));
        }
        flings = flings | costly & R::lit(FLINGS).lt(slides[0].mul_add(slides[0], slides[1] * slides[1]));
    }
    flings
}

/// What all impulses change the velocity of a degree of freedom by.
fn moved<R: Real>(dims: &LaneDims, constraint: &[R], impulse: &[R], rows: &[R], d: usize) -> R {
    let n_v = dims.n_v as usize;
    let mut by = R::lit(0.0);
    for (c, lambda) in constraint.chunks_exact(dims.slot()).zip(impulse.chunks_exact(3)) {
        (0..3).for_each(|r| by = c[slot::J + (3 + r) * n_v + d].mul_add(lambda[r], by));
    }
    for r in rows[..dims.n_row as usize * dims.row()].chunks_exact(dims.row()) {
        if !is_zero(r[row::IMPULSE]) {
            by = r[row_head(dims.row_width) + d].mul_add(r[row::IMPULSE], by);
        }
    }
    by
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
        let mut parts = [part::NONE; LANES];
        parts.iter_mut().zip(&*words).for_each(|(own, &word)| *own = part_of(word, dims.newton > 0));
        let Ends { converged, relaxed, flung } = with_workspace::<R::Scalar, _>(work_packs(&dims, count), |work| {
            tree_pgs(
                &dims,
                parts,
                &mut constraint.tile_mut()[begin * dims.slot()..(begin + count) * dims.slot()],
                &mut impulse.tile_mut()[3 * begin..3 * (begin + count)],
                &mut row.tile_mut()[t * n_row_real..(t + 1) * n_row_real],
                &mut velocity.tile_mut()[t * n_v..(t + 1) * n_v],
                &mut info.tile_mut()[t * info::reals(n_v)..(t + 1) * info::reals(n_v)],
                work,
            )
        });
        let is_open = |lane: usize| !converged[lane] && parts[lane] == part::SOLVES;
        let sensible = (0..R::N).any(is_open).then(|| {
            let slots = begin..begin + count;
            sensible(
                &dims,
                &constraint.tile()[slots.start * dims.slot()..slots.end * dims.slot()],
                &impulse.tile()[3 * slots.start..3 * slots.end],
                &row.tile()[t * n_row_real..(t + 1) * n_row_real],
            )
        });
        for (lane, word) in words.iter_mut().enumerate() {
            let doubtful = sensible.is_some_and(|sensible| is_open(lane) && (flung[lane] || !sensible.lane(lane)));
            *word = ended(*word, parts[lane], (converged[lane], relaxed[lane], doubtful));
        }
    }
}

/// A lane's status after its part.
fn ended(word: u32, own: u32, (converged, relaxed, doubtful): (bool, bool, bool)) -> u32 {
    let mut outcome = if converged { status::CONVERGED } else { status::ITERATION_LIMIT };
    if doubtful {
        outcome |= status::DOUBTFUL;
    }
    let mut kept = word & !(status::CONVERGED | status::ITERATION_LIMIT | status::DOUBTFUL);
    if converged && own == part::RELAXES {
        let asking = kept & status::ASKING;
        if relaxed && asking & status::UNTIL_ASKED == 0 {
            return kept | status::ITERATION_LIMIT;
        }
        kept &= !(status::GAVE_WAY | status::ASKING);
        if relaxed {
            outcome |= status::RELAXED | status::GAVE_WAY | (asking - status::UNTIL_ASKED_ONE);
        }
    }
    kept | outcome
}
