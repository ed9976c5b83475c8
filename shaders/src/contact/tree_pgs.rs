//! Projected Gauss-Seidel for the exact contact problem (NCP) of one tree, with a Newton polish between sweeps.
//!
//! Problem: with `v = v_free + A^-1 J^T lambda`, every slot and row obeys its law (mathematics of [`super::local`] and
//! of [`super::tree_layout::row`]); lambda is zero of the natural map `lambda - T(lambda - J v - e)`, whose norm over all rows
//! divided by the number of contacts is what the certificate reports and what a lane stops at.
//!
//! A sweep visits rows, then slots, each solved exactly with the others held, v updated at once. Sweeps alone need a
//! hundred and more on a humanoid, whose feet and limits fight over one light-footed tree; two sweeps settle most of the
//! active set, and a few regularised Newton steps ([`super::tree_polish`]) then do the rest.
//!
//! Buffers: slots, constraint, row -> impulse, velocity (starts as v_free), info, status; work. Lanes that have
//! converged are frozen by masks, so that no lane's bits depend on its neighbours.

use super::local::{residual, solve};
pub use super::tree_layout::LaneDims as Dims;
use super::tree_layout::{LaneDims, info, load3, load6, none, polish_reals, row, row_dof, slot, tile_slots};
use super::tree_polish::{Workspace, polish, polish_rows};
use crate::args::Args;
use crate::dynamics::tree::status;
use crate::{LANES, Scalar};
use crate::{Mask, Real};

/// Sweeps before the first polish.
const FIRST_POLISH: u32 = 4;

/// One tile. `stopped`: lanes that take no part. Returns which lanes have converged.
pub fn tree_pgs<R: Real>(
    dims: &LaneDims,
    stopped: R::Mask,
    constraint: &[R],
    impulse: &mut [R],
    rows: &mut [R],
    velocity: &mut [R],
    info_out: &mut [R],
    work: &mut [R],
) -> R::Mask {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let contacts = contacts(dims, constraint);
    let per_contact = one / contacts.max(one);
    let tolerance: R = dims.tolerance();
    start(dims, constraint, impulse, rows, velocity);
    let mut live = !stopped;
    let (mut error, mut sweeps, mut steps) = (zero, zero, zero);
    for k in 1..=dims.sweeps {
        let before = sweep(dims, constraint, impulse, rows, velocity, live).sqrt() * per_contact;
        error = R::select(live, before, error);
        sweeps += R::select(live, one, zero);
        live = live & !before.le(tolerance);
        if none(live) {
            break;
        }
        // After 4, 8, 16, ... sweeps: where steps do not help soon, sweeps are what is left, and cheap.
        if dims.polish > 0 && k % FIRST_POLISH == 0 && (k / FIRST_POLISH).is_power_of_two() {
            let mut workspace = Workspace::new(dims, constraint, rows, live, work);
            let polished = polish(dims, constraint, impulse, rows, velocity, tolerance / per_contact, &mut workspace);
            error = R::select(live, polished.error * per_contact, error);
            steps += polished.steps;
            live = live & !(polished.done & live);
            if none(live) {
                break;
            }
        }
    }
    info_out[info::SWEEPS] = sweeps;
    info_out[info::POLISH] = steps;
    info_out[info::STOPPED_AT] = error;
    !stopped & !live
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
            push(&r[row::Y..], r[row::IMPULSE], velocity);
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
        let sigma = row_velocity(r, velocity) + r[row::BIAS];
        let (lambda, compliance) = (r[row::IMPULSE], r[row::COMPLIANCE]);
        let bound = |x: R| x.max(r[row::LOWER]).min(r[row::UPPER]);
        let left = lambda - bound((lambda - sigma) / (one + compliance));
        square += R::select(active, left * left, zero);
        let next = bound(lambda - compliance.mul_add(lambda, sigma) / (r[row::BLOCK] + compliance));
        let change = R::select(active, next - lambda, zero);
        if nonzero(change) {
            r[row::IMPULSE] = R::select(active, next, lambda);
            push(&r[row::Y..], change, velocity);
        }
    }
    for (c, lambda) in constraint.chunks_exact(dims.slot()).zip(impulse.chunks_exact_mut(3)) {
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

/// Whether any lane is not zero (or is a NaN).
#[inline(always)]
fn nonzero<R: Real>(x: R) -> bool {
    (!x.abs().le(R::lit(0.0))).any()
}

/// `J v` of a row, by its few dofs.
#[inline(always)]
pub(super) fn row_velocity<R: Real>(r: &[R], v: &[R]) -> R {
    (0..3).fold(R::lit(0.0), |sum, k| r[row::COEFFICIENT + k].mul_add(v[row_dof(r, k)], sum))
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
pub fn mirror<T: Scalar>(args: &mut Args<T>) {
    let dims: LaneDims = args.dims();
    let tiles = args.tiles();
    let [slots, constraint, row, impulse, velocity, info, status, _work] = args.split();
    let (n_v, n_row_real) = (dims.n_v as usize, dims.n_row as usize * dims.row());
    for t in 0..tiles {
        let [begin, count, ..] = tile_slots(slots.index(), t);
        let constraint = &constraint.tile()[begin * dims.slot()..(begin + count) * dims.slot()];
        let rows = &mut row.tile_mut()[t * n_row_real..(t + 1) * n_row_real];
        let words = &mut status.index_mut()[t * LANES..(t + 1) * LANES];
        let mut stopped = T::Pack::lit(0.0);
        for (lane, word) in words.iter().enumerate() {
            stopped.set_lane(lane, T::from_f64(if word & status::KEPT == 0 { 0.0 } else { 1.0 }));
        }
        let converged = with_workspace::<T, _>(polish_reals(polish_rows(&dims, count, rows), n_v), |work| {
            tree_pgs(
                &dims,
                T::Pack::lit(0.5).lt(stopped),
                constraint,
                &mut impulse.tile_mut()[3 * begin..3 * (begin + count)],
                rows,
                &mut velocity.tile_mut()[t * n_v..(t + 1) * n_v],
                &mut info.tile_mut()[t * info::reals(n_v)..(t + 1) * info::reals(n_v)],
                work,
            )
        });
        for (lane, word) in words.iter_mut().enumerate() {
            let outcome = if converged.lane(lane) { status::CONVERGED } else { status::ITERATION_LIMIT };
            *word = *word & !(status::CONVERGED | status::ITERATION_LIMIT) | outcome;
        }
    }
}

/// Calls `f` with this thread's workspace of at least `reals` packs, grown when a larger one is asked for.
fn with_workspace<T: Scalar, O>(reals: usize, f: impl FnOnce(&mut [T::Pack]) -> O) -> O {
    use std::cell::RefCell;
    thread_local! {
        static WORK: RefCell<Vec<crate::F64x8>> = const { RefCell::new(Vec::new()) };
    }
    WORK.with_borrow_mut(|work| {
        if work.len() < reals {
            work.resize(reals, crate::F64x8::lit(0.0));
        }
        f(bytemuck::cast_slice_mut(work))
    })
}
