//! The problem of one lane of a tile, gathered ([`super::dense`]), solved and put back: the part of [`super::tree_pgs`] that mirrors
//! do lane by lane.

use super::dense::{Dense, LONGEST, MOST, Outcome, SLOT_STEP};
use super::dense_shape::Shape;
use super::packs::{real, real_mut, total};
use super::steps::{gives_way, requests, row_request, speed_of_cap};
use super::thin::{Thin, is_thin};
use super::tree_layout::{LaneDims, load3, row, row_coefficient, row_dof, row_head, row_velocity, slot, trace};
use crate::{LANES, Real, Scalar};

/// A lane of few degrees of freedom may have so many times the rows of one that is written out.
const THIN: usize = 6;

/// The slots and rows of one lane's problem: slots that have a response and act, or all that have one; its active rows.
pub(super) struct Found {
    lane: usize,
    slots: [u16; LONGEST],
    n_slot: usize,
    rows: [u16; LONGEST],
    n_row: usize,
    /// Rows that a step can change, as they are now.
    live: usize,
    /// Whether slots with a response were left out.
    partial: bool,
}

/// Whether a row follows its law's line, or is not where its bounds want it; `sigma`: its `J v + e`.
fn can_change<P: Real>(r: &[P], sigma: P::Scalar, lane: usize) -> bool {
    let own = |field: usize| r[field].lane(lane);
    let (lambda, compliance) = (own(row::IMPULSE), own(row::COMPLIANCE));
    let y = lambda - compliance.mul_add(lambda, sigma) / (own(row::BLOCK) + compliance);
    own(row::LOWER) < y && y < own(row::UPPER) || y.max(own(row::LOWER)).min(own(row::UPPER)) != lambda
}

impl Found {
    /// `sigma`: `J v + e` of the tile's slots and rows. A slot acts that carries or that would be entered.
    pub(super) fn new<P: Real>(
        dims: &LaneDims,
        constraint: &[P],
        impulse: &[P],
        rows: &[P],
        sigma: &[P],
        lane: usize,
        whole: bool,
    ) -> Self {
        let zero = P::Scalar::lit(0.0);
        let mut found =
            Self { lane, slots: [0; LONGEST], n_slot: 0, rows: [0; LONGEST], n_row: 0, live: 0, partial: false };
        for (s, c) in constraint.chunks_exact(dims.slot()).enumerate() {
            if trace(c).lane(lane) <= zero {
                continue;
            }
            let carries = (3 * s..3 * s + 3).any(|i| impulse[i].lane(lane) != zero);
            let open = !carries && zero <= sigma[3 * s + 2].lane(lane) && zero <= c[slot::MU].lane(lane);
            if open && !whole {
                found.partial = true;
            } else if found.n_slot < LONGEST {
                found.slots[found.n_slot] = s as u16;
                found.n_slot += 1;
            }
        }
        found.live = 3 * found.n_slot;
        let rows = rows[..dims.n_row as usize * dims.row()].chunks_exact(dims.row());
        for (i, (r, sigma)) in rows.zip(&sigma[sigma.len() - dims.n_row as usize..]).enumerate() {
            if zero < r[row::ACTIVE].lane(lane) && found.n_row < LONGEST {
                found.rows[found.n_row] = i as u16;
                found.n_row += 1;
                found.live += usize::from(can_change(r, sigma.lane(lane), lane));
            }
        }
        found
    }

    fn shape(&self) -> Shape {
        Shape::new(self.n_slot, self.n_row)
    }

    /// Rows, those that pad groups among them.
    fn padded(&self) -> usize {
        self.shape().groups() * LANES
    }

    /// Whether it has more rows than are written out.
    fn is_long(&self, dims: &LaneDims) -> bool {
        MOST.min(dims.rows as usize) < self.padded()
    }

    /// Whether its Delassus operator is not written out: by the rows that can change, or because it would be too large.
    fn is_thin(&self, dims: &LaneDims) -> bool {
        let n_v = dims.n_v as usize;
        is_thin(n_v, self.live) || self.is_long(dims) && is_thin(n_v, self.padded())
    }

    /// Whether it is too large for Newton steps.
    pub(super) fn is_large(&self, dims: &LaneDims) -> bool {
        if self.is_thin(dims) { LONGEST.min(THIN * dims.rows as usize) < self.padded() } else { self.is_long(dims) }
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
    /// then nothing is put back. `sigma`: `J v + e` of the tile's slots and rows at `v`, the velocity of the impulses. With a
    /// `free` velocity requests give way, and what is not solved is not put back; whether any did.
    pub(super) fn solve<T: Scalar, R: Real<Scalar = T>>(
        &self,
        dims: &LaneDims,
        constraint: &mut [R],
        impulse: &mut [R],
        rows: &mut [R],
        free: Option<&[R]>,
        v: &[R],
        sigma: &[R],
        enough: T,
        work: &mut [T::Pack],
    ) -> Option<(Outcome<T>, bool)> {
        let (shape, lane, n_v) = (self.shape(), self.lane, dims.n_v as usize);
        let (size, stride, n) = (dims.slot(), dims.row(), shape.groups());
        let (mut moved, mut response): (&mut [T::Pack], &mut [T::Pack]) = (&mut [], &mut []);
        let mut problem = if self.is_thin(dims) {
            Dense::thin(shape, n_v, work)
        } else {
            let rest;
            (moved, rest) = work.split_at_mut(n_v.div_ceil(LANES));
            let problem;
            (response, problem) = rest.split_at_mut(n_v * n);
            Dense::new(shape, problem)
        };
        let n_slot = constraint.len() / size;
        for (at, s) in self.slots() {
            let c = &constraint[s * size..(s + 1) * size];
            let rho = T::lit(SLOT_STEP) / trace(c).lane(lane);
            for r in 0..3 {
                let i = shape.of_slot(at, r);
                real_mut(problem.lambda)[i] = impulse[3 * s + r].lane(lane);
                real_mut(problem.sigma)[i] = sigma[3 * s + r].lane(lane);
                real_mut(problem.rho)[i] = rho;
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
        }
        if let Some(thin) = &mut problem.thin {
            self.gather_sides(dims, constraint, rows, thin);
        } else {
            self.write_out(dims, constraint, rows, response, &mut problem);
        }
        if let Some(free) = free {
            problem.relaxes = true;
            self.ask(dims, constraint, rows, free, &mut problem);
        }
        let outcome = problem.solve(dims.newton > 0, dims.sweeps, enough);
        if free.is_some() && !outcome.done {
            return Some((outcome, false));
        }
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
            let moved = if let Some(thin) = &mut problem.thin {
                thin.respond(problem.step)
            } else {
                let moved = real_mut(moved);
                for (d, moved) in moved[..n_v].iter_mut().enumerate() {
                    let y = response[d * n..(d + 1) * n].iter().zip(&*problem.step);
                    *moved = total(y.fold(T::Pack::lit(0.0), |sum, (y, &x)| y.mul_add(x, sum)));
                }
                &mut moved[..n_v]
            };
            for (moved, v) in moved.iter_mut().zip(v) {
                *moved += v.lane(lane);
            }
            if self.left_out_acts(dims, constraint, moved) {
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
        let gave_way = free.is_some() && self.note(dims, constraint, rows, &problem);
        Some((outcome, gave_way))
    }

    /// The sides of the lane's problem.
    fn gather_sides<T: Scalar, R: Real<Scalar = T>>(
        &self,
        dims: &LaneDims,
        constraint: &[R],
        rows: &[R],
        thin: &mut Thin<'_, T>,
    ) {
        let (shape, lane, n_v) = (self.shape(), self.lane, dims.n_v as usize);
        for (at, s) in self.slots() {
            let c = &constraint[s * dims.slot()..(s + 1) * dims.slot()];
            (0..6).for_each(|e| real_mut(thin.own)[e * shape.slots * LANES + at] = c[slot::BLOCK + e].lane(lane));
            let (j, y) = c[slot::J..].split_at(3 * n_v);
            for r in 0..3 {
                let i = shape.of_slot(at, r);
                thin.add_jacobian(i, 0, j[r * n_v..(r + 1) * n_v].iter().map(|x| x.lane(lane)));
                thin.set_response(i, y[r * n_v..(r + 1) * n_v].iter().map(|x| x.lane(lane)));
            }
        }
        for (at, k) in self.rows() {
            let (r, i) = (&rows[k * dims.row()..(k + 1) * dims.row()], shape.of_row(at));
            for d in 0..dims.row_width as usize {
                thin.add_jacobian(i, row_dof(r, d), std::iter::once(row_coefficient(r, d).lane(lane)));
            }
            thin.set_response(i, r[row_head(dims.row_width)..].iter().map(|y| y.lane(lane)));
        }
    }

    /// Writes the Delassus operator out, and the responses by degree of freedom and row.
    fn write_out<T: Scalar, R: Real<Scalar = T>>(
        &self,
        dims: &LaneDims,
        constraint: &[R],
        rows: &[R],
        response: &mut [T::Pack],
        problem: &mut Dense<'_, T>,
    ) {
        let (shape, lane, n_v) = (self.shape(), self.lane, dims.n_v as usize);
        let (size, stride, n) = (dims.slot(), dims.row(), shape.groups());
        response.fill(T::Pack::lit(0.0));
        let y = real_mut(response);
        for (at, s) in self.slots() {
            for r in 0..3 {
                let (i, from) = (shape.of_slot(at, r), &constraint[s * size + slot::J + (3 + r) * n_v..]);
                (0..n_v).for_each(|d| y[d * n * LANES + i] = from[d].lane(lane));
            }
        }
        for (at, k) in self.rows() {
            let (i, from) = (shape.of_row(at), &rows[k * stride + row_head(dims.row_width)..]);
            (0..n_v).for_each(|d| y[d * n * LANES + i] = from[d].lane(lane));
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
    }

    /// Says what the slots and rows ask for, and up to which impulse.
    fn ask<T: Scalar, R: Real<Scalar = T>>(
        &self,
        dims: &LaneDims,
        constraint: &[R],
        rows: &[R],
        free: &[R],
        problem: &mut Dense<T>,
    ) {
        let (shape, lane, n_v) = (self.shape(), self.lane, dims.n_v as usize);
        for (at, s) in self.slots() {
            let c = &constraint[s * dims.slot()..(s + 1) * dims.slot()];
            let asked = requests(c[slot::MU].lane(lane), &load3(c, slot::BIAS).map(|e| e.lane(lane)));
            let mut speed = T::lit(0.0);
            for r in 0..3 {
                let j = &c[slot::J + r * n_v..][..n_v];
                let free = j.iter().zip(free).fold(T::lit(0.0), |sum, (j, v)| j.lane(lane).mul_add(v.lane(lane), sum));
                speed = speed.max(speed_of_cap(asked[r], free));
                real_mut(problem.request)[shape.of_slot(at, r)] = asked[r];
            }
            real_mut(problem.cap)[at] = speed * T::lit(3.0) / trace(c).lane(lane);
        }
        for (at, k) in self.rows() {
            let r = &rows[k * dims.row()..(k + 1) * dims.row()];
            let own = |field: usize| r[field].lane(lane);
            let asked = row_request(own(row::BIAS), own(row::COMPLIANCE), own(row::LOWER), own(row::UPPER));
            let speed = speed_of_cap(asked, row_velocity(dims.row_width, r, free).lane(lane));
            real_mut(problem.request)[shape.of_row(at)] = asked;
            real_mut(problem.cap)[shape.slots * LANES + at] = speed / own(row::BLOCK);
        }
    }

    /// Takes what gave way from what is asked for; whether there was anything.
    fn note<T: Scalar, R: Real<Scalar = T>>(
        &self,
        dims: &LaneDims,
        constraint: &mut [R],
        rows: &mut [R],
        problem: &Dense<T>,
    ) -> bool {
        let (shape, lane, zero, tolerance) = (self.shape(), self.lane, T::lit(0.0), dims.tolerance::<T>());
        let by = |cap: usize, i: usize, mass: T| {
            let (cap, request) = (real(problem.cap)[cap], real(problem.request)[i]);
            gives_way(cap, request, mass, tolerance, real(problem.lambda)[i], real(problem.sigma)[i])
        };
        let mut any = false;
        for (at, s) in self.slots() {
            let c = &mut constraint[s * dims.slot()..(s + 1) * dims.slot()];
            let mass = T::lit(3.0) / trace(c).lane(lane);
            for r in 0..3 {
                let by = by(at, shape.of_slot(at, r), mass);
                if by != zero {
                    c[slot::BIAS + r].set_lane(lane, c[slot::BIAS + r].lane(lane) + by);
                    c[slot::RELAXED + r].set_lane(lane, by);
                    any = true;
                }
            }
        }
        for (at, k) in self.rows() {
            let r = &mut rows[k * dims.row()..(k + 1) * dims.row()];
            let by = by(shape.slots * LANES + at, shape.of_row(at), T::lit(1.0) / r[row::BLOCK].lane(lane));
            if by != zero {
                r[row::BIAS].set_lane(lane, r[row::BIAS].lane(lane) + by);
                r[row::RELAXED].set_lane(lane, by);
                any = true;
            }
        }
        any
    }
}
