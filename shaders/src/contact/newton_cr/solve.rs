//! Newton steps on all islands of a chunk.

use super::layout::{Records, ResidualDims, state, term};
use super::rows::{Row, rows_block, rows_single, setting};
use crate::args::Args;
use crate::contact::island::{self, IslandDims, IslandRecord, Islands, SideRecord, con, info, kind, region};
use crate::{Real, Scalar};

/// A full step is taken after one that brought the residual to this share.
const FELL: f64 = 0.5;
/// How a solve says in `info::STOPPED` that it met a number that is not finite: other methods may go on from its best.
const BROKEN: f64 = -1.0;

/// Uniform block.
pub type Dims = ResidualDims;

/// A solve of one island: what it reads, and its parts of what it writes.
pub(super) struct Island<'a, T> {
    pub(super) dims: &'a ResidualDims,
    /// As the functions for islands want them.
    plain: &'a IslandDims,
    all: &'a Islands<'a>,
    pub(super) record: &'a IslandRecord,
    /// Iterations of the linear solver at most.
    pub(super) linear: u32,
    pub(super) jac: &'a [T],
    cons: &'a [T],
    impulse: &'a mut [T],
    /// Regions of `velocity`.
    free: &'a [T],
    v: &'a mut [T],
    pub(super) scratch: &'a mut [T],
    /// By constraint of the chunk.
    terms: &'a mut [T],
    /// [`state`]
    state: &'a mut [T],
}

impl<'a, T: Scalar> Island<'a, T> {
    /// Numbers of the constraints.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.record.constraint_begin as usize..self.record.constraint_end as usize
    }

    pub(super) fn is_block(&self, i: usize) -> bool {
        self.all.constraints[i].kind == kind::BLOCK
    }

    pub(super) fn sides(&self, i: usize) -> &'a [SideRecord] {
        let c = &self.all.constraints[i];
        &self.all.sides[c.side_begin as usize..c.side_end as usize]
    }

    pub(super) fn con(&self, i: usize) -> &'a [T] {
        &self.cons[con::SIZE * i..][..con::SIZE]
    }

    pub(super) fn term_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.terms[term::SIZE * i..][..term::SIZE]
    }

    /// A field of a constraint's term.
    pub(super) fn vector(&self, i: usize, field: usize) -> [T; 3] {
        let at = term::SIZE * i + field;
        [self.terms[at], self.terms[at + 1], self.terms[at + 2]]
    }

    /// The velocity that the impulses give, into region SOLUTION.
    fn velocities(&mut self) {
        island::recompute(self.all, self.record, self.jac, self.impulse, self.free, self.v);
    }

    /// One row of the linear system into the term of its constraint.
    fn store_row(&mut self, i: usize, r: usize, row: Row<T>, g: T) {
        let (zero, shift) = (T::lit(0.0), setting::<T>(self.dims.shift));
        let compliance = if row.solved { shift.mul_add(g, row.c) } else { zero };
        let whole = compliance + g;
        let t = self.term_mut(i);
        t[term::COMPLIANCE + r] = compliance;
        t[term::PRECONDITIONER + r] = if row.solved && zero < whole { T::lit(1.0) / whole } else { zero };
        t[term::X + r] = if row.solved { zero } else { row.x };
        t[term::R + r] = if row.solved { row.x } else { zero };
        t[term::D + r] = zero;
        t[term::MD + r] = zero;
    }

    /// The residuals (number 1 and the scaled one) at the impulses, and the rows of a step from there.
    fn assess(&mut self) -> (T, T) {
        let zero = T::lit(0.0);
        let (mut square, mut scaled) = (zero, zero);
        for i in self.range() {
            let c = self.con(i);
            let lambda = [self.impulse[3 * i], self.impulse[3 * i + 1], self.impulse[3 * i + 2]];
            let none = Row { solved: false, c: zero, x: zero };
            let (own, own_scaled);
            if self.is_block(i) {
                let hat = island::block_sigma(self.sides(i), self.jac, [c[0], c[1], c[2]], self.v);
                (own, own_scaled) = island::constraint_residual(kind::BLOCK, c, lambda, hat);
                let rows = rows_block(self.dims, c, &lambda, &hat);
                let g = [c[con::DELASSUS], c[con::DELASSUS + 3], c[con::DELASSUS + 5]];
                (0..3).for_each(|r| self.store_row(i, r, rows[r], g[r]));
            } else {
                let sigma = island::row_sigma(c, self.sides(i), self.jac, self.v);
                (own, own_scaled) = island::constraint_residual(kind::ROW, c, lambda, [sigma, zero, zero]);
                let row = rows_single(self.dims, c, lambda[0], sigma + c[con::ROW_BIAS]);
                let g = c[con::ROW_DELASSUS];
                self.store_row(i, 0, row, g);
                (1..3).for_each(|r| self.store_row(i, r, none, zero));
            }
            square += own;
            // A NaN must not be swallowed.
            scaled = if own_scaled <= scaled { scaled } else { own_scaled };
        }
        (square.sqrt() / island::contacts(self.record), scaled)
    }

    /// Takes in what a step came to.
    fn note(&mut self, residual: T, first: bool) {
        let fell = !first && residual < T::lit(FELL) * self.state[state::LAST];
        self.state[state::SHARE] = if fell { T::lit(1.0) } else { setting(self.dims.damping) };
        self.state[state::LAST] = residual;
        if first || residual < self.state[state::BEST] {
            self.state[state::BEST] = residual;
            for i in self.range() {
                let at = term::SIZE * i + term::BEST;
                self.terms[at..at + 3].copy_from_slice(&self.impulse[3 * i..3 * i + 3]);
            }
        }
    }

    /// A share of the step into the impulses.
    fn take(&mut self) {
        let share = self.state[state::SHARE];
        for i in self.range() {
            let x = self.vector(i, term::X);
            for r in 0..3 {
                self.impulse[3 * i + r] = share.mul_add(x[r], self.impulse[3 * i + r]);
            }
        }
    }

    /// Back to the best impulses.
    fn restore(&mut self) {
        for i in self.range() {
            let best = self.vector(i, term::BEST);
            self.impulse[3 * i..3 * i + 3].copy_from_slice(&best);
        }
        self.velocities();
    }

    /// The Newton steps of a dispatch: how many, and what `info::STOPPED` is to say.
    fn solve(&mut self, note: &mut impl FnMut(T)) -> (u32, f64) {
        let last = if self.linear > 0 { self.dims.iterations } else { self.dims.done };
        let mut turn = self.dims.done;
        let stopped = loop {
            self.velocities();
            let (residual, scaled) = self.assess();
            if turn > self.dims.done || turn == 0 {
                self.note(residual, turn == 0);
            }
            if !(residual.is_finite() && scaled.is_finite()) {
                break BROKEN;
            }
            if island::solved(self.plain, residual, scaled) {
                break 1.0;
            }
            if turn >= last {
                break 0.0;
            }
            self.residual(&mut *note);
            self.take();
            turn += 1;
        };
        if stopped < 0.0 || (stopped == 0.0 && turn >= self.dims.most) {
            self.restore();
        }
        (turn - self.dims.done, stopped)
    }
}

/// All islands of a chunk that are not solved. `note` is told the squares of the linear residuals of every Newton step, in
/// the preconditioner's norm.
pub fn newton_cr<T: Scalar>(
    dims: &ResidualDims,
    index: &[u32],
    cr_index: &[u32],
    jac: &[T],
    cons: &[T],
    impulse: &mut [T],
    velocity: &mut [T],
    cr: &mut [T],
    infos: &mut [T],
    mut note: impl FnMut(T),
) {
    let plain = dims.of_islands();
    let all = Islands::new(&plain, index);
    let records = Records::new(dims, cr_index);
    let n = dims.n_velocity as usize;
    let (free, rest) = velocity.split_at_mut(n * region::SOLUTION);
    let (v, scratch) = rest.split_at_mut(n);
    let (terms, states) = cr.split_at_mut(term::SIZE * dims.n_constraints as usize);
    for (number, record) in all.islands.iter().enumerate() {
        let own = &mut infos[info::SIZE * number..][..info::SIZE];
        if dims.done > 0 && own[info::STOPPED] != T::lit(0.0) {
            continue;
        }
        let mut island = Island {
            dims,
            plain: &plain,
            all: &all,
            record,
            linear: records.linear[number],
            jac,
            cons,
            impulse,
            free,
            v,
            scratch,
            terms,
            state: &mut states[state::SIZE * number..][..state::SIZE],
        };
        let (steps, stopped) = island.solve(&mut note);
        let before = if dims.done > 0 { own[info::ITERATIONS] } else { T::lit(0.0) };
        own[info::ITERATIONS] = before + T::lit(f64::from(steps));
        own[info::STOPPED] = T::lit(stopped);
    }
}

/// Buffers: island_index, cr_index, island_jac, island_con -> impulse, velocity, cr, island_info.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, cr_index, jac, cons, impulse, velocity, cr, infos] = args.split();
    let (index, cr_index, jac, cons) = (index.index(), cr_index.index(), jac.real(), cons.real());
    let (impulse, velocity) = (impulse.real_mut(), velocity.real_mut());
    newton_cr(&dims, index, cr_index, jac, cons, impulse, velocity, cr.real_mut(), infos.real_mut(), |_| ());
}
