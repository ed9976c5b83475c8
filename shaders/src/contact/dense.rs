//! The contact problem of one island with its Delassus operator written out, and how it is solved: semismooth Newton,
//! and a sweep of projected Gauss-Seidel wherever Newton falters.
//!
//! Problem: `sigma = G lambda + g` and every slot and row obeys its law, that is `lambda = T(lambda - rho sigma)` with T
//! the strict map (mathematics section 2) and one `rho = 6 / trace G_ii` a slot, `1 / G_ii` a row.
//!
//! Newton: with P the derivative of T at `y = lambda - rho sigma`, `(1 - P (1 - rho G) + eps) d = T(y) - lambda`, rows
//! that stay open or bounded left out, by elimination. How far a step is taken, when sweeps follow and when steps stay about a
//! centre: `dense_rounds.rs`.
//!
//! In a step that asks for the impossible requests give way: [`Dense::relaxes`] sets the maps of [`super::steps`] in T's place.
//!
//! Rows are numbered in groups of [`LANES`]: the first tangents of all slots, the second tangents, the normals, then the
//! single rows; what pads a group is zero and stays zero.

pub use super::dense_rounds::{Outcome, Progress, RUNAWAY};
use super::dense_shape::Shape;
use super::eliminate::Live;
pub use super::eliminate::{LONGEST, MOST};
use super::local::{inside, project, residual, scaled_residual, solve};
use super::packs::{real, real_mut, take, total};
use super::steps::{Steps, climb, holds};
use super::thin::Thin;
use crate::{LANES, Mask, Real, Scalar};

/// A slot's rho times the trace of its block: in between the one that sees sliding best, 3, and the one that needs fewest
/// steps where many contacts of a limb are pressed (measured on lying humanoids).
pub const SLOT_STEP: f64 = 6.0;

/// A problem and its iterates; slices are of packs of [`LANES`] rows.
#[derive(Debug)]
pub struct Dense<'a, T: Scalar> {
    /// Its size.
    pub shape: Shape,
    /// The sides, where G is not written out.
    pub thin: Option<Thin<'a, T>>,
    /// G, with a soft row's compliance on the diagonal, `[n][n]`, 1/kg.
    pub delassus: &'a mut [T::Pack],
    /// Impulses, `[n]`, N s.
    pub lambda: &'a mut [T::Pack],
    /// `G lambda + g`, `[n]`, m/s.
    pub sigma: &'a mut [T::Pack],
    /// Steps, `[n]`: `SLOT_STEP / trace G_ii` of a slot, `1 / G_ii` of a row; zero where there is none.
    pub rho: &'a mut [T::Pack],
    /// Friction of the slots; below zero: bilateral.
    pub friction: &'a mut [T::Pack],
    /// Regularised inverses of the slots' blocks, six numbers after each other, kg.
    pub inverse: &'a mut [T::Pack],
    /// Smallest impulses of the rows.
    pub lower: &'a mut [T::Pack],
    /// Largest impulses of the rows.
    pub upper: &'a mut [T::Pack],
    /// Compliances of the rows, 1/kg.
    pub compliance: &'a mut [T::Pack],
    /// Whether requests give way; what follows has a meaning only then.
    pub relaxes: bool,
    /// Caps of the slots, then of the rows, N s.
    pub cap: &'a mut [T::Pack],
    /// Speeds that the rows ask for, `[n]`, m/s.
    pub request: &'a mut [T::Pack],
    /// Derivatives of the slots' laws, six numbers after each other.
    pub(super) derivative: &'a mut [T::Pack],
    pub(super) matrix: &'a mut [T::Pack],
    /// The step.
    pub(super) step: &'a mut [T::Pack],
    /// Change of sigma with the whole step.
    pub(super) slope: &'a mut [T::Pack],
    pub(super) rhs: &'a mut [T::Pack],
    /// `s` of a centred step; None for one on the natural map.
    pub(super) stretch: Option<T>,
    /// Impulses about which centred steps stay, `[n]`, N s.
    pub(super) centre: &'a mut [T::Pack],
}

impl<'a, T: Scalar> Dense<'a, T> {
    /// A zero problem in some memory of at least [`Shape::reals`].
    pub fn new(shape: Shape, memory: &'a mut [T::Pack]) -> Self {
        let matrix = shape.groups() * LANES * shape.groups();
        // Of the matrix of a step only rows that were just written are read.
        let (step, rest) = memory[..shape.reals() / LANES].split_at_mut(matrix);
        let (delassus, rest) = rest.split_at_mut(matrix);
        delassus.fill(T::Pack::lit(0.0));
        Self::in_memory(shape, rest, None, [delassus, step])
    }

    /// The same without G, of a lane of so many degrees of freedom, in memory of at least [`problem_reals`](super::thin::problem_reals).
    pub fn thin(shape: Shape, n_v: usize, memory: &'a mut [T::Pack]) -> Self {
        let (vectors, sides) = memory.split_at_mut(shape.vectors() / LANES);
        let sides = Thin::new(n_v, shape, sides);
        Self::in_memory(shape, vectors, Some(sides), [&mut [], &mut []])
    }

    fn in_memory(
        shape: Shape,
        vectors: &'a mut [T::Pack],
        thin: Option<Thin<'a, T>>,
        [delassus, matrix]: [&'a mut [T::Pack]; 2],
    ) -> Self {
        let (n, n_slot, n_row) = (shape.groups(), shape.slots, shape.rows);
        let mut rest = vectors;
        rest.fill(T::Pack::lit(0.0));
        let mut take = |count: usize| take(&mut rest, count);
        Self {
            shape,
            thin,
            delassus,
            matrix,
            lambda: take(n),
            sigma: take(n),
            rho: take(n),
            step: take(n),
            slope: take(n),
            rhs: take(n),
            friction: take(n_slot),
            inverse: take(6 * n_slot),
            derivative: take(6 * n_slot),
            lower: take(n_row),
            upper: take(n_row),
            compliance: take(n_row),
            relaxes: false,
            cap: take(n_slot + n_row),
            request: take(n),
            stretch: None,
            centre: take(n),
        }
    }

    /// Cap and requests of a group of slots.
    #[inline(always)]
    fn slot_caps(&self, k: usize) -> Steps<T::Pack> {
        Steps { cap: self.cap[k], request: Self::group(self.request, self.shape.slots, k) }
    }

    /// Step of a group of rows, `s rho` of a centred one.
    #[inline(always)]
    pub(super) fn rho_of(&self, i: usize) -> T::Pack {
        self.stretch.map_or(self.rho[i], |s| T::Pack::splat(s) * self.rho[i])
    }

    /// The same of one row.
    #[inline(always)]
    pub(super) fn rho_at(&self, i: usize) -> T {
        self.rho_of(i / LANES).lane(i % LANES)
    }

    /// What a group of rows is mapped from when it carries `lambda`, without its velocity.
    #[inline(always)]
    fn origin(&self, i: usize, lambda: T::Pack) -> T::Pack {
        if self.stretch.is_some() { self.centre[i] } else { lambda }
    }

    /// What is left of a group of slots, its rows being numbered `at`, by the map of the step.
    #[inline(always)]
    fn slot_left(&self, k: usize, at: [usize; 3], lambda: &[T::Pack; 3], sigma: &[T::Pack; 3]) -> [T::Pack; 3] {
        let rho = self.rho_of(k);
        if self.stretch.is_none() {
            return self.slot_residual(k, rho, lambda, sigma);
        }
        let y = std::array::from_fn(|r| self.centre[at[r]] - rho * sigma[r]);
        let t = self.slot_mapped(k, rho, &y);
        std::array::from_fn(|r| lambda[r] - t[r])
    }

    /// A group of slots at `y`, mapped with the step `rho`.
    #[inline(always)]
    fn slot_mapped(&self, k: usize, rho: T::Pack, y: &[T::Pack; 3]) -> [T::Pack; 3] {
        if self.relaxes { self.slot_caps(k).project(self.friction[k], rho, y) } else { project(self.friction[k], y) }
    }

    /// The natural residual of a group of slots.
    #[inline(always)]
    fn slot_residual(&self, k: usize, step: T::Pack, lambda: &[T::Pack; 3], sigma: &[T::Pack; 3]) -> [T::Pack; 3] {
        if self.relaxes {
            self.slot_caps(k).residual(self.friction[k], step, lambda, sigma)
        } else {
            residual(self.friction[k], step, lambda, sigma)
        }
    }

    /// A group of single rows at `y`, mapped with the step `rho`.
    #[inline(always)]
    fn bounded(&self, k: usize, rho: T::Pack, y: T::Pack) -> T::Pack {
        let y = if self.relaxes {
            climb(self.cap[self.shape.slots + k], self.request[3 * self.shape.slots + k], rho, y)
        } else {
            y
        };
        y.max(self.lower[k]).min(self.upper[k])
    }

    /// The step from here into `step`, its response into `slope`; returns the merit here.
    #[inline(always)]
    pub(super) fn newton_step(&mut self, proximal: T) -> T {
        if let Some(mut thin) = self.thin.take() {
            self.thin_step(&mut thin, proximal);
            self.thin = Some(thin);
            return self.merit(T::lit(0.0));
        }
        let live = self.linearise(proximal);
        self.eliminate(&live);
        let n = self.shape.groups();
        self.slope.fill(T::Pack::lit(0.0));
        for &k in live.rows() {
            let k = usize::from(k);
            let d = T::Pack::splat(real(self.step)[k]);
            for (slope, &g) in self.slope.iter_mut().zip(&self.delassus[k * n..(k + 1) * n]) {
                *slope = g.mul_add(d, *slope);
            }
        }
        self.merit(T::lit(0.0))
    }

    /// Three rows of a group of slots.
    #[inline(always)]
    fn group(x: &[T::Pack], n_slot: usize, k: usize) -> [T::Pack; 3] {
        [x[k], x[n_slot + k], x[2 * n_slot + k]]
    }

    /// Derivatives and right-hand side of the slots, zero where nothing can change; the others into `live`.
    #[inline(always)]
    pub(super) fn linearise_slots(&mut self, live: &mut Live) {
        let (zero, one) = (T::Pack::lit(0.0), T::Pack::lit(1.0));
        let n_slot = self.shape.slots;
        for k in 0..n_slot {
            let (mu, rho) = (self.friction[k], self.rho_of(k));
            let (lambda, sigma) = (Self::group(self.lambda, n_slot, k), Self::group(self.sigma, n_slot, k));
            let y = std::array::from_fn(|r| self.origin(r * n_slot + k, lambda[r]) - rho * sigma[r]);
            let t = self.slot_mapped(k, rho, &y);
            (0..3).for_each(|r| self.rhs[r * n_slot + k] = t[r] - lambda[r]);
            let carries = lambda[0].abs() + lambda[1].abs() + lambda[2].abs();
            let alive = (zero.lt(carries) | zero.lt(y[2]) | mu.lt(zero)) & zero.lt(rho);
            for lane in 0..LANES {
                if alive.lane(lane) {
                    live.push(k * LANES + lane);
                }
            }
            if self.relaxes {
                let p = self.slot_caps(k).derivative(mu, rho, &y);
                (0..6).for_each(|e| self.derivative[e * n_slot + k] = T::Pack::select(alive, p[e], zero));
                continue;
            }
            let stick = inside(mu, &y);
            let pressed = T::Pack::select(stick | zero.lt(y[2]), one, zero);
            let length = y[0].mul_add(y[0], y[1] * y[1]).sqrt().max(T::Pack::lit(1e-30));
            let (d0, d1) = (y[0] / length, y[1] / length);
            let slips = T::Pack::select(stick, zero, pressed);
            let across = slips * mu * y[2] / length;
            let p = [
                T::Pack::select(stick, one, across * (one - d0 * d0)),
                T::Pack::select(stick, zero, -(across * d0 * d1)),
                slips * mu * d0,
                T::Pack::select(stick, one, across * (one - d1 * d1)),
                slips * mu * d1,
                pressed,
            ];
            for e in 0..6 {
                self.derivative[e * n_slot + k] = T::Pack::select(alive, p[e], zero);
            }
        }
    }

    /// Right-hand side of the single rows; those that can change into `live`.
    #[inline(always)]
    pub(super) fn linearise_rows(&mut self, live: &mut Live) {
        let zero = T::Pack::lit(0.0);
        for k in 0..self.shape.rows {
            let i = 3 * self.shape.slots + k;
            let (lambda, rho) = (self.lambda[i], self.rho_of(i));
            let y = self.origin(i, lambda) - rho * self.sigma[i];
            let change = self.bounded(k, rho, y) - lambda;
            self.rhs[i] = change;
            let free = self.lower[k].lt(y) & y.lt(self.upper[k]);
            let alive = (free | zero.lt(change.abs())) & zero.lt(rho);
            for lane in 0..LANES {
                if alive.lane(lane) {
                    live.push(i * LANES + lane);
                }
            }
        }
    }

    /// Which of a group of single rows follow what they are mapped from; k: the group's number among those.
    #[inline(always)]
    pub(super) fn are_free(&self, k: usize) -> <T::Pack as Real>::Mask {
        let i = 3 * self.shape.slots + k;
        let rho = self.rho_of(i);
        let y = self.origin(i, self.lambda[i]) - rho * self.sigma[i];
        let free = self.lower[k].lt(y) & y.lt(self.upper[k]);
        if self.relaxes { free & !holds(self.cap[self.shape.slots + k], self.request[i], rho, y) } else { free }
    }

    /// Sum of squares of what the map of the step leaves over its rho, J, a share of the step on.
    #[inline(always)]
    pub(super) fn merit(&self, share: T) -> T {
        let zero = T::Pack::lit(0.0);
        let n_slot = self.shape.slots;
        let share = T::Pack::splat(share);
        let lambda = |i: usize| self.step[i].mul_add(share, self.lambda[i]);
        let sigma = |i: usize| self.slope[i].mul_add(share, self.sigma[i]);
        let mut sum = zero;
        for k in 0..n_slot {
            let at = [k, n_slot + k, 2 * n_slot + k];
            let r = self.slot_left(k, at, &at.map(lambda), &at.map(sigma));
            sum += r[0].mul_add(r[0], r[1].mul_add(r[1], r[2] * r[2])) / some(self.rho_of(k));
        }
        for k in 0..self.shape.rows {
            let i = 3 * n_slot + k;
            let (lambda, rho) = (lambda(i), self.rho_of(i));
            let left = lambda - self.bounded(k, rho, self.origin(i, lambda) - rho * sigma(i));
            sum += left * left / some(rho);
        }
        total(sum)
    }

    /// Sum of squares of the natural residual (residual 1 of mathematics section 3), (N s)^2.
    #[inline(always)]
    pub fn natural(&self) -> T {
        let (zero, one) = (T::Pack::lit(0.0), T::Pack::lit(1.0));
        let n_slot = self.shape.slots;
        let mut sum = zero;
        for k in 0..n_slot {
            let (lambda, sigma) = (Self::group(self.lambda, n_slot, k), Self::group(self.sigma, n_slot, k));
            let r = self.slot_residual(k, one, &lambda, &sigma);
            sum += r[0].mul_add(r[0], r[1].mul_add(r[1], r[2] * r[2]));
        }
        for k in 0..self.shape.rows {
            let i = 3 * n_slot + k;
            let (lambda, compliance) = (self.lambda[i], self.compliance[k]);
            let sigma = self.sigma[i] - compliance * lambda;
            let left = lambda - self.bounded(k, one, (lambda - sigma) / (one + compliance));
            sum += left * left;
        }
        total(sum)
    }

    /// Largest scaled residual (mathematics section 3), m/s.
    #[must_use]
    pub fn scaled(&self) -> T {
        let (zero, one) = (T::Pack::lit(0.0), T::Pack::lit(1.0));
        let n_slot = self.shape.slots;
        let mut most = zero;
        let mut worst = |rho: T::Pack, x: T::Pack| {
            let x = T::Pack::select(zero.lt(rho), x, zero);
            // A NaN must not be swallowed.
            most = T::Pack::select(x.le(most), most, x);
        };
        for k in 0..n_slot {
            let (lambda, sigma) = (Self::group(self.lambda, n_slot, k), Self::group(self.sigma, n_slot, k));
            let trace = T::Pack::lit(SLOT_STEP) / some(self.rho[k]);
            let scaled = if self.relaxes {
                self.slot_caps(k).scaled_residual(self.friction[k], trace, &lambda, &sigma)
            } else {
                scaled_residual(self.friction[k], trace, &lambda, &sigma)
            };
            worst(self.rho[k], scaled);
        }
        for k in 0..self.shape.rows {
            let i = 3 * n_slot + k;
            let (lambda, rho) = (self.lambda[i], some(self.rho[i]));
            let left = lambda - self.bounded(k, rho, lambda - rho * self.sigma[i]);
            worst(self.rho[i], left.abs() * (one / rho - self.compliance[k]));
        }
        (0..LANES).map(|lane| most.lane(lane)).fold(T::lit(0.0), |most, x| if x <= most { most } else { x })
    }

    /// Every row, then every slot, solved exactly with the others held.
    #[inline(always)]
    pub(super) fn sweep(&mut self) {
        if let Some(mut thin) = self.thin.take() {
            self.thin_sweep(&mut thin);
            self.thin = Some(thin);
            return;
        }
        let (n, n_slot, zero) = (self.shape.groups(), self.shape.slots * LANES, T::lit(0.0));
        for k in 0..self.shape.rows * LANES {
            let i = self.shape.of_row(k);
            let rho = real(self.rho)[i];
            if rho <= zero {
                continue;
            }
            let lambda = real(self.lambda)[i];
            let next = self.row_next(i, k, lambda - rho * real(self.sigma)[i]);
            if next != lambda {
                real_mut(self.lambda)[i] = next;
                let d = T::Pack::splat(next - lambda);
                for (sigma, &g) in self.sigma.iter_mut().zip(&self.delassus[i * n..(i + 1) * n]) {
                    *sigma = g.mul_add(d, *sigma);
                }
            }
        }
        for slot in 0..n_slot {
            if real(self.rho)[slot] <= zero {
                continue;
            }
            let at: [usize; 3] = std::array::from_fn(|r| self.shape.of_slot(slot, r));
            let (lambda, sigma) = (at.map(|i| real(self.lambda)[i]), at.map(|i| real(self.sigma)[i]));
            let [g0, g1, g2] = at.map(|i| &self.delassus[i * n..(i + 1) * n]);
            let (r0, r1) = (real(g0), real(g1));
            let block = [r0[at[0]], r0[at[1]], r0[at[2]], r1[at[1]], r1[at[2]], real(g2)[at[2]]];
            let next = self.slot_next(slot, &block, &lambda, &sigma);
            let d: [T; 3] = std::array::from_fn(|r| next[r] - lambda[r]);
            if d[0].abs() + d[1].abs() + d[2].abs() == zero {
                continue;
            }
            let impulse = real_mut(self.lambda);
            for r in 0..3 {
                impulse[at[r]] = next[r];
            }
            let [d0, d1, d2] = d.map(T::Pack::splat);
            for j in 0..n {
                self.sigma[j] = g2[j].mul_add(d2, g1[j].mul_add(d1, g0[j].mul_add(d0, self.sigma[j])));
            }
        }
    }
}

impl<T: Scalar> Dense<'_, T> {
    /// What a sweep makes of a single row, number k among those.
    #[inline(always)]
    pub(super) fn row_next(&self, i: usize, k: usize, y: T) -> T {
        let y = if self.relaxes {
            climb(real(self.cap)[self.shape.slots * LANES + k], real(self.request)[i], real(self.rho)[i], y)
        } else {
            y
        };
        y.max(real(self.lower)[k]).min(real(self.upper)[k])
    }

    /// The same of a slot.
    #[inline(always)]
    pub(super) fn slot_next(&self, slot: usize, block: &[T; 6], lambda: &[T; 3], sigma: &[T; 3]) -> [T; 3] {
        let n_slot = self.shape.slots * LANES;
        let inverse = std::array::from_fn(|e| real(self.inverse)[e * n_slot + slot]);
        let mu = real(self.friction)[slot];
        if self.relaxes {
            let request = std::array::from_fn(|r| real(self.request)[self.shape.of_slot(slot, r)]);
            let steps = Steps { cap: real(self.cap)[slot], request };
            return steps.solve(mu, block, &inverse, lambda, sigma);
        }
        solve(mu, block, &inverse, lambda, sigma)
    }
}

/// Rho, or 1 where there is none.
#[inline(always)]
pub(super) fn some<R: Real>(rho: R) -> R {
    R::select(R::lit(0.0).lt(rho), rho, R::lit(1.0))
}
