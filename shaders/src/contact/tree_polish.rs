//! A few Newton steps on the natural map, between sweeps of projected Gauss-Seidel.
//!
//! With one scale a slot or row (`rho = 3 / trace G_ii`; `1 / (G_ii + c)` for a row) and P the derivative of the strict
//! map T at `y = lambda - rho sigma`, the step solves `(1 - P (1 - rho G) + eps) d = T(y) - lambda` by elimination; eps
//! makes it a proximal step where contacts are redundant. A step is taken in full, halves or quarters, whichever first
//! lowers the sum of squares of the residual in units of energy (`|.|^2 / rho`), or not at all: sweeps then go on.
//!
//! eps follows success, as in Levenberg and Marquardt: a full step shrinks it (so that steps end quadratic even where
//! light limbs make the matrix badly conditioned), a refused one lets it grow.

use super::local::{inside, project, residual};
use super::tree_layout::{LaneDims, load3, none, polish_reals, row, slot};
use super::tree_pgs::{push, push3, row_velocity, slot_product, slot_velocity, trace};
use crate::{Mask, Real};

/// Proximal weight of the first step, in units of the scaled matrix.
const PROXIMAL: f64 = 1e-3;
/// By this a full step shrinks the weight, and a refused one lets it grow.
const TRUST: f64 = 0.1;
/// Smallest weight: well above the round-off of single precision.
const LEAST_PROXIMAL: f64 = 1e-6;
/// Newton steps a polish.
const STEPS: usize = 8;
/// Shares of a step that are tried.
const SHARES: [f64; 3] = [1.0, 0.5, 0.25];
/// A pivot is kept this far from zero.
const LEAST_PIVOT: f64 = 1e-12;

/// What a polish did.
pub(super) struct Polished<R: Real> {
    /// Norm of the natural residual where it ended.
    pub(super) error: R,
    /// Steps taken.
    pub(super) steps: R,
    /// Lanes that met the tolerance.
    pub(super) done: R::Mask,
}

/// The rows that take part, slots first, and the memory.
pub(super) struct Workspace<'a, R: Real> {
    on: R::Mask,

    matrix: &'a mut [R],
    /// Right-hand side, then the step.
    step: &'a mut [R],
    /// `J v + e + c lambda`
    sigma: &'a mut [R],
    /// Its change with the step.
    slope: &'a mut [R],
    /// Change of v with the step.
    change: &'a mut [R],
}

/// Rows that a tile's polish takes: what its workspace must hold ([`polish_reals`]).
#[must_use]
pub fn polish_rows<R: Real>(dims: &LaneDims, n_slot: usize, rows: &[R]) -> usize {
    3 * n_slot + active(dims, rows, 0).count()
}

impl<'a, R: Real> Workspace<'a, R> {
    /// Lanes with more than `dims.polish` rows of their own are left to the sweeps.
    pub(super) fn new(dims: &LaneDims, constraint: &[R], rows: &[R], live: R::Mask, work: &'a mut [R]) -> Self {
        let (n_v, zero) = (dims.n_v as usize, R::lit(0.0));
        let mut own = zero;
        for (s, c) in constraint.chunks_exact(dims.slot()).enumerate() {
            own = R::select(zero.lt(trace(c)), R::lit(3.0 * (s + 1) as f64), own);
        }
        for (_, r) in active(dims, rows, 0) {
            own += r[row::ACTIVE];
        }
        let n = polish_rows(dims, constraint.len() / dims.slot(), rows);
        let (matrix, rest) = work[..polish_reals(n, n_v)].split_at_mut(n * n);
        let (step, rest) = rest.split_at_mut(n);
        let (sigma, rest) = rest.split_at_mut(n);
        let (slope, change) = rest.split_at_mut(n);
        let few = constraint.len() / dims.slot() <= MOST && dims.n_row as usize <= MOST;
        let most = R::lit(if few { f64::from(dims.polish) } else { -1.0 });
        Self { on: live & own.le(most), matrix, step, sigma, slope, change }
    }
}

/// Rows of the tile that some lane needs, with their numbers in the workspace from `first` on.
#[inline(always)]
fn active<'a, R: Real>(dims: &LaneDims, rows: &'a [R], first: usize) -> impl Iterator<Item = (usize, &'a [R])> {
    let rows = rows[..dims.n_row as usize * dims.row()].chunks_exact(dims.row());
    (first..).zip(rows.filter(|r| R::lit(0.0).lt(r[row::ACTIVE]).any()))
}

/// Polishes the lanes of the workspace; `enough` is the norm of the residual at which one is done.
pub(super) fn polish<R: Real>(
    dims: &LaneDims,
    constraint: &[R],
    impulse: &mut [R],
    rows: &mut [R],
    velocity: &mut [R],
    enough: R,
    w: &mut Workspace<R>,
) -> Polished<R> {
    let (zero, one, n_v) = (R::lit(0.0), R::lit(1.0), dims.n_v as usize);
    let size = dims.slot();
    let n_slot = constraint.len() / size;
    let velocity = &mut velocity[..n_v];
    let (mut steps, mut error, mut done) = (zero, zero, zero.lt(zero));
    let mut on = w.on;
    let least = R::lit(LEAST_PROXIMAL);
    let mut proximal = R::lit(PROXIMAL);
    for k in 0..STEPS {
        if none(on) {
            break;
        }
        for (s, c) in constraint.chunks_exact(size).enumerate() {
            w.sigma[3 * s..3 * s + 3].copy_from_slice(&slot_velocity(c, velocity));
        }
        for (i, r) in active(dims, rows, 3 * n_slot) {
            let sigma = row_velocity(r, velocity) + r[row::BIAS];
            w.sigma[i] = r[row::COMPLIANCE].mul_add(r[row::IMPULSE], sigma);
        }
        let live = Live::find(dims, constraint, impulse, rows, n_slot, w);
        delassus(dims, constraint, rows, &live, w);
        linearise(dims, constraint, impulse, rows, &live, proximal, w);
        eliminate(live.n(), w.matrix, w.slope);
        w.step.fill(zero);
        for (i, at) in live.places(n_slot).enumerate() {
            w.step[at] = R::select(on, w.slope[i], zero);
        }
        respond(dims, constraint, rows, n_slot, w);

        let before = merit(dims, constraint, impulse, rows, zero, w);
        let mut share = zero;
        for trial in SHARES {
            let trial = R::lit(trial);
            let better = merit(dims, constraint, impulse, rows, trial, w).lt(before) & share.le(zero) & on;
            share = R::select(better, trial, share);
            if none(on & share.le(zero)) {
                break;
            }
        }
        let taken = on & zero.lt(share);
        take(dims, impulse, rows, share, taken, n_slot, w);
        for (v, &d) in velocity.iter_mut().zip(w.change.iter()) {
            *v = R::select(taken, share.mul_add(d, *v), *v);
        }
        let now = natural(dims, constraint, impulse, rows, share, n_slot, w).sqrt();
        error = R::select(if k == 0 { w.on } else { on }, now, error);
        steps += R::select(on, one, zero);
        done = done | (on & now.le(enough));
        on = on & !now.le(enough);
        let shrunk = (proximal * R::lit(TRUST)).max(least);
        let grown = (proximal / R::lit(TRUST)).min(one);
        proximal = R::select(one.le(share), shrunk, R::select(taken, proximal, grown));
    }
    Polished { error, steps, done }
}

/// Slots and rows that can change in some lane: not those that are open or bounded in all of them and stay so. The
/// others' rows of the step's matrix are those of the identity and their right-hand sides zero, so leaving them out
/// changes no bit.
struct Live {
    slots: [u16; MOST],
    n_slot: usize,
    /// Numbers among the tile's active rows.
    rows: [u16; MOST],
    n_row: usize,
}

/// Slots, and rows, of a tile that a polish takes on.
const MOST: usize = 128;

impl Live {
    #[inline(always)]
    fn find<R: Real>(
        dims: &LaneDims,
        constraint: &[R],
        impulse: &[R],
        rows: &[R],
        n_slot: usize,
        w: &Workspace<R>,
    ) -> Self {
        let zero = R::lit(0.0);
        let mut live = Self { slots: [0; MOST], n_slot: 0, rows: [0; MOST], n_row: 0 };
        for (s, c) in constraint.chunks_exact(dims.slot()).enumerate() {
            let lambda = load3(impulse, 3 * s);
            let carries = lambda[0].abs() + lambda[1].abs() + lambda[2].abs();
            let pressed = zero.lt(lambda[2] - slot_scale(c) * w.sigma[3 * s + 2]);
            if (zero.lt(carries) | pressed | c[slot::MU].lt(zero)).any() {
                live.slots[live.n_slot] = s as u16;
                live.n_slot += 1;
            }
        }
        for (i, r) in active(dims, rows, 0) {
            let lambda = r[row::IMPULSE];
            let y = lambda - row_scale(r) * w.sigma[3 * n_slot + i];
            let bound = y.max(r[row::LOWER]).min(r[row::UPPER]);
            let free = r[row::LOWER].lt(y) & y.lt(r[row::UPPER]);
            if (zero.lt(r[row::ACTIVE]) & (free | zero.lt((bound - lambda).abs()))).any() {
                live.rows[live.n_row] = i as u16;
                live.n_row += 1;
            }
        }
        live
    }

    /// Rows of the step's matrix.
    fn n(&self) -> usize {
        3 * self.n_slot + self.n_row
    }

    fn slots(&self) -> impl Iterator<Item = (usize, usize)> {
        self.slots[..self.n_slot].iter().map(|&s| usize::from(s)).enumerate()
    }

    /// Number in the matrix and record of every live row.
    fn rows<'a, R: Real>(&self, dims: &LaneDims, rows: &'a [R]) -> impl Iterator<Item = (usize, usize, &'a [R])> {
        let first = 3 * self.n_slot;
        let mut wanted = self.rows[..self.n_row].iter().map(|&i| usize::from(i)).enumerate().peekable();
        active(dims, rows, 0).filter_map(move |(i, r)| {
            let (at, _) = wanted.next_if(|&(_, w)| w == i)?;
            Some((first + at, i, r))
        })
    }

    /// Where each row of the matrix stands among all rows of the tile.
    fn places(&self, n_slot: usize) -> impl Iterator<Item = usize> {
        let slots = self.slots[..self.n_slot].iter().flat_map(|&s| (0..3).map(move |k| 3 * usize::from(s) + k));
        slots.chain(self.rows[..self.n_row].iter().map(move |&i| 3 * n_slot + usize::from(i)))
    }
}

/// `G = J A^-1 J^T` of the live rows.
#[inline(always)]
fn delassus<R: Real>(dims: &LaneDims, constraint: &[R], rows: &[R], live: &Live, w: &mut Workspace<R>) {
    let (n_v, n, zero) = (dims.n_v as usize, live.n(), R::lit(0.0));
    let size = dims.slot();
    let slot_of = |s: usize| &constraint[s * size..(s + 1) * size];
    for (at, s) in live.slots() {
        let c = slot_of(s);
        for (to, t) in live.slots().take(at + 1) {
            let y = &slot_of(t)[slot::J + 3 * n_v..];
            for a in 0..3 {
                let j = &c[slot::J + a * n_v..slot::J + (a + 1) * n_v];
                let (y0, y1, y2) = (&y[..n_v], &y[n_v..2 * n_v], &y[2 * n_v..3 * n_v]);
                let mut g = [zero; 3];
                for i in 0..n_v {
                    g[0] = j[i].mul_add(y0[i], g[0]);
                    g[1] = j[i].mul_add(y1[i], g[1]);
                    g[2] = j[i].mul_add(y2[i], g[2]);
                }
                for b in 0..3 {
                    w.matrix[(3 * at + a) * n + 3 * to + b] = g[b];
                    w.matrix[(3 * to + b) * n + 3 * at + a] = g[b];
                }
            }
        }
    }
    for (i, _, r) in live.rows(dims, rows) {
        for (at, s) in live.slots() {
            for b in 0..3 {
                let g = row_velocity(r, &slot_of(s)[slot::J + (3 + b) * n_v..]);
                w.matrix[i * n + 3 * at + b] = g;
                w.matrix[(3 * at + b) * n + i] = g;
            }
        }
        for (j, _, other) in live.rows(dims, rows) {
            w.matrix[i * n + j] = row_velocity(r, &other[row::Y..]);
        }
    }
}

/// Turns G into the matrix of the step, and writes its right-hand side.
#[inline(always)]
fn linearise<R: Real>(
    dims: &LaneDims,
    constraint: &[R],
    impulse: &[R],
    rows: &[R],
    live: &Live,
    eps: R,
    w: &mut Workspace<R>,
) {
    let (n, zero, one) = (live.n(), R::lit(0.0), R::lit(1.0));
    let size = dims.slot();
    let n_slot = constraint.len() / size;
    for (place, s) in live.slots() {
        let c = &constraint[s * size..(s + 1) * size];
        let (mu, rho, lambda) = (c[slot::MU], slot_scale(c), load3(impulse, 3 * s));
        let y: [R; 3] = std::array::from_fn(|k| lambda[k] - rho * w.sigma[3 * s + k]);
        let t = project(mu, &y);
        for k in 0..3 {
            w.slope[3 * place + k] = t[k] - lambda[k];
        }
        let stick = inside(mu, &y);
        let pressed = R::select(stick | zero.lt(y[2]), one, zero);
        let length = y[0].mul_add(y[0], y[1] * y[1]).sqrt().max(R::lit(1e-30));
        let (d0, d1) = (y[0] / length, y[1] / length);
        let slips = R::select(stick, zero, pressed);
        let across = slips * mu * y[2] / length;
        let p00 = R::select(stick, one, across * (one - d0 * d0));
        let p11 = R::select(stick, one, across * (one - d1 * d1));
        let p01 = R::select(stick, zero, -(across * d0 * d1));
        let (p02, p12) = (slips * mu * d0, slips * mu * d1);
        let block = &mut w.matrix[3 * place * n..(3 * place + 3) * n];
        let (m0, rest) = block.split_at_mut(n);
        let (m1, m2) = rest.split_at_mut(n);
        for j in 0..n {
            let g = [rho * m0[j], rho * m1[j], rho * m2[j]];
            m0[j] = p00.mul_add(g[0], p01.mul_add(g[1], p02 * g[2]));
            m1[j] = p01.mul_add(g[0], p11.mul_add(g[1], p12 * g[2]));
            m2[j] = pressed * g[2];
        }
        let at = 3 * place;
        m0[at] += one - p00 + eps;
        m0[at + 1] -= p01;
        m0[at + 2] -= p02;
        m1[at] -= p01;
        m1[at + 1] += one - p11 + eps;
        m1[at + 2] -= p12;
        m2[at + 2] += one - pressed + eps;
    }
    for (i, number, r) in live.rows(dims, rows) {
        let (lambda, scale) = (r[row::IMPULSE], row_scale(r));
        let y = lambda - scale * w.sigma[3 * n_slot + number];
        let bound = y.max(r[row::LOWER]).min(r[row::UPPER]);
        let acts = zero.lt(r[row::ACTIVE]);
        w.slope[i] = R::select(acts, bound - lambda, zero);
        let free = acts & r[row::LOWER].lt(y) & y.lt(r[row::UPPER]);
        let kept = R::select(free, scale, zero);
        let m = &mut w.matrix[i * n..(i + 1) * n];
        for m in m.iter_mut() {
            *m = kept * *m;
        }
        m[i] += kept.mul_add(r[row::COMPLIANCE], R::select(free, zero, one) + eps);
    }
}

/// Solves `m x = x` in place, rows in order: the diagonal is kept away from zero by the proximal weight.
#[inline(always)]
fn eliminate<R: Real>(n: usize, m: &mut [R], x: &mut [R]) {
    let (one, least) = (R::lit(1.0), R::lit(LEAST_PIVOT));
    for k in 0..n {
        let (top, below) = m.split_at_mut((k + 1) * n);
        let pivot = &mut top[k * n + k..];
        pivot[0] = one / R::select(pivot[0].abs().lt(least), least, pivot[0]);
        let xk = x[k];
        // A row that is the identity in every lane (open, bounded) only moves its column to the right-hand side.
        let alone = !pivot[1..].iter().any(|x| (!x.abs().le(R::lit(0.0))).any());
        for (r, x) in below.chunks_exact_mut(n).zip(&mut x[k + 1..]) {
            if !(!r[k].abs().le(R::lit(0.0))).any() {
                continue;
            }
            let factor = -(r[k] * pivot[0]);
            *x = factor.mul_add(xk, *x);
            if alone {
                continue;
            }
            for (to, &from) in r[k + 1..].iter_mut().zip(&pivot[1..]) {
                *to = factor.mul_add(from, *to);
            }
        }
    }
    for k in (0..n).rev() {
        let mut sum = x[k];
        for j in k + 1..n {
            sum = (-m[k * n + j]).mul_add(x[j], sum);
        }
        x[k] = sum * m[k * n + k];
    }
}

/// What the whole step changes: v, and every row's velocity.
#[inline(always)]
fn respond<R: Real>(dims: &LaneDims, constraint: &[R], rows: &[R], n_slot: usize, w: &mut Workspace<R>) {
    let n_v = dims.n_v as usize;
    let size = dims.slot();
    w.change.fill(R::lit(0.0));
    for (s, c) in constraint.chunks_exact(size).enumerate() {
        push3(&c[slot::J + 3 * n_v..], &load3(w.step, 3 * s), w.change);
    }
    for (i, r) in active(dims, rows, 3 * n_slot) {
        push(&r[row::Y..], w.step[i], w.change);
    }
    for (s, c) in constraint.chunks_exact(size).enumerate() {
        w.slope[3 * s..3 * s + 3].copy_from_slice(&slot_product(c, w.change));
    }
    for (i, r) in active(dims, rows, 3 * n_slot) {
        w.slope[i] = r[row::COMPLIANCE].mul_add(w.step[i], row_velocity(r, w.change));
    }
}

/// `rho` of a slot, 1 for an empty one.
#[inline(always)]
fn slot_scale<R: Real>(c: &[R]) -> R {
    let trace = trace(c);
    R::lit(3.0) / R::select(R::lit(0.0).lt(trace), trace, R::lit(3.0))
}

/// `1 / (G + c)` of a row, 1 where it is not active.
#[inline(always)]
fn row_scale<R: Real>(r: &[R]) -> R {
    let one = R::lit(1.0);
    one / R::select(R::lit(0.0).lt(r[row::ACTIVE]), r[row::BLOCK] + r[row::COMPLIANCE], one)
}

/// Sum of squares of the scaled natural map, in J, a share of the step on.
#[inline(always)]
fn merit<R: Real>(dims: &LaneDims, constraint: &[R], impulse: &[R], rows: &[R], share: R, w: &Workspace<R>) -> R {
    let size = dims.slot();
    let n_slot = constraint.len() / size;
    let mut sum = R::lit(0.0);
    let at = |i: usize, x: R| share.mul_add(w.step[i], x);
    let sigma = |i: usize| share.mul_add(w.slope[i], w.sigma[i]);
    for (s, c) in constraint.chunks_exact(size).enumerate() {
        let i = 3 * s;
        let lambda = [at(i, impulse[i]), at(i + 1, impulse[i + 1]), at(i + 2, impulse[i + 2])];
        let rho = slot_scale(c);
        let r = residual(c[slot::MU], rho, &lambda, &[sigma(i), sigma(i + 1), sigma(i + 2)]);
        sum += r[0].mul_add(r[0], r[1].mul_add(r[1], r[2] * r[2])) / rho;
    }
    for (i, r) in active(dims, rows, 3 * n_slot) {
        let (lambda, scale) = (at(i, r[row::IMPULSE]), row_scale(r));
        let left = lambda - (lambda - scale * sigma(i)).max(r[row::LOWER]).min(r[row::UPPER]);
        sum += R::select(R::lit(0.0).lt(r[row::ACTIVE]), left * left / scale, R::lit(0.0));
    }
    sum
}

/// Adds the share of the step to the impulses.
#[inline(always)]
fn take<R: Real>(
    dims: &LaneDims,
    impulse: &mut [R],
    rows: &mut [R],
    share: R,
    taken: R::Mask,
    n_slot: usize,
    w: &Workspace<R>,
) {
    for i in 0..3 * n_slot {
        impulse[i] = R::select(taken, share.mul_add(w.step[i], impulse[i]), impulse[i]);
    }
    let stride = dims.row();
    let needed = |r: &&mut [R]| R::lit(0.0).lt(r[row::ACTIVE]).any();
    let rows = rows[..dims.n_row as usize * stride].chunks_exact_mut(stride).filter(needed);
    for (i, r) in (3 * n_slot..).zip(rows) {
        let taken = taken & R::lit(0.0).lt(r[row::ACTIVE]);
        r[row::IMPULSE] = R::select(taken, share.mul_add(w.step[i], r[row::IMPULSE]), r[row::IMPULSE]);
    }
}

/// Sum of squares of the natural residual where the share of the step has led.
#[inline(always)]
fn natural<R: Real>(
    dims: &LaneDims,
    constraint: &[R],
    impulse: &[R],
    rows: &[R],
    share: R,
    n_slot: usize,
    w: &Workspace<R>,
) -> R {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let sigma = |i: usize| share.mul_add(w.slope[i], w.sigma[i]);
    let mut sum = zero;
    for (s, c) in constraint.chunks_exact(dims.slot()).enumerate() {
        let i = 3 * s;
        let r = residual(c[slot::MU], one, &load3(impulse, i), &[sigma(i), sigma(i + 1), sigma(i + 2)]);
        sum += r[0].mul_add(r[0], r[1].mul_add(r[1], r[2] * r[2]));
    }
    for (i, r) in active(dims, rows, 3 * n_slot) {
        let (lambda, compliance) = (r[row::IMPULSE], r[row::COMPLIANCE]);
        let sigma = sigma(i) - compliance * lambda;
        let left = lambda - ((lambda - sigma) / (one + compliance)).max(r[row::LOWER]).min(r[row::UPPER]);
        sum += R::select(zero.lt(r[row::ACTIVE]), left * left, zero);
    }
    sum
}
