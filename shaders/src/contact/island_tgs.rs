//! Temporal Gauss-Seidel over the islands ("small steps", Macklin et al. 2019): the step's free motion is let in by equal
//! parts, each followed by few sweeps of [`super::island_pgs`] from the impulses of the part before.
//!
//! With n parts, part k has `v_k = v_{k-1} + (v_free - v_0) / n + Y mu_k / n`, where `mu_k` is an impulse as it would be if
//! it acted so for all of the step: laws, bounds and compliances are then those of the whole step, on `J v_k + e`. Its
//! sweeps see `G / n`. The impulse of the step is the mean of `mu_k`, with which `v_n` is its velocity.
//!
//! A sweep that is far from solving anything misses by what is let in since the last one: that is an n-th here. What it
//! misses stays in the velocity, where later parts see it; the constraint error e is that of the step's start in every
//! part. (Advancing it by `h / n J v_k` after each part, as engines do that move positions between, integrates a second
//! time what warm impulses integrate already: with one sweep a part, chains of ten bodies ran off.) Gap and geometry are
//! those of the step's start, positions move by `v_n`.
//!
//! What the certificate measures of it is the step's own problem at `mean mu_k` and `v_n`. Where contacts change within the
//! step, one that was hit and left for example, that is not zero however many sweeps there are.

use bytemuck::{Pod, Zeroable};

use super::island::{self, IslandDims, IslandRecord, Islands, con, info, kind, region};
use super::local;
use crate::args::Args;
use crate::{Real, Scalar};

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Islands.
    pub n_islands: u32,
    /// As in [`IslandDims`], like the next two: where records stand in `island_index`.
    pub colours_at: u32,
    /// First word of the constraint records.
    pub constraints_at: u32,
    /// First word of the side records.
    pub sides_at: u32,
    /// Constraints.
    pub n_constraints: u32,
    /// Reals of a region of `velocity`.
    pub n_velocity: u32,
    /// Sweeps after this dispatch.
    pub iterations: u32,
    /// Bits of an f32: the residual (number 1) at which a warm start is good enough.
    pub tolerance: u32,
    /// Bits of an f32: the scaled residual, m/s, at which it is, too.
    pub tolerance_scaled: u32,
    /// Sweeps before this dispatch; 0: a solve begins.
    pub done: u32,
    /// Parts of the step.
    pub substeps: u32,
    /// Sweeps of a part.
    pub sweeps: u32,
}

impl Dims {
    /// For a step in so many parts of so many sweeps; tolerances are those of `islands`.
    #[must_use]
    pub fn new(islands: &IslandDims, substeps: u32, sweeps: u32) -> Self {
        Self {
            n_islands: islands.n_islands,
            colours_at: islands.colours_at,
            constraints_at: islands.constraints_at,
            sides_at: islands.sides_at,
            n_constraints: islands.n_constraints,
            n_velocity: islands.n_velocity,
            iterations: substeps * sweeps,
            tolerance: islands.tolerance,
            tolerance_scaled: islands.tolerance_scaled,
            done: 0,
            substeps,
            sweeps,
        }
    }

    /// What functions for islands want of it.
    fn of_islands(&self) -> IslandDims {
        IslandDims {
            n_islands: self.n_islands,
            colours_at: self.colours_at,
            constraints_at: self.constraints_at,
            sides_at: self.sides_at,
            n_constraints: self.n_constraints,
            n_velocity: self.n_velocity,
            iterations: self.iterations,
            tolerance: self.tolerance,
            tolerance_scaled: self.tolerance_scaled,
            done: self.done,
            ..IslandDims::default()
        }
    }
}

/// One island: what is read, and what is written.
struct Island<'a, T> {
    dims: &'a Dims,
    all: &'a Islands<'a>,
    record: &'a IslandRecord,
    jac: &'a [T],
    cons: &'a [T],
    impulse: &'a mut [T],
    /// Regions of the velocity: free, solution, before the step.
    free: &'a [T],
    v: &'a mut [T],
    before: &'a [T],
    /// Sum of the impulses of the parts that are over, N s, `[n_constraints, 3]`.
    sum: &'a mut [T],
}

impl<T: Scalar> Island<'_, T> {
    /// Inverse of the number of parts.
    fn share(&self) -> T {
        T::lit(1.0) / T::lit(f64::from(self.dims.substeps))
    }

    fn range(&self) -> std::ops::Range<usize> {
        self.record.constraint_begin as usize..self.record.constraint_end as usize
    }

    /// Constraint i moves the velocity by a share of `d`.
    fn push(&mut self, i: usize, d: [T; 3]) {
        let record = &self.all.constraints[i];
        let sides = &self.all.sides[record.side_begin as usize..record.side_end as usize];
        if record.kind == kind::BLOCK {
            island::block_apply(sides, self.jac, d, self.v);
        } else {
            island::row_apply(sides, self.jac, d[0], self.v);
        }
    }

    /// Lets in the next part: free motion, and impulses as they were.
    fn begin_part(&mut self) {
        let share = self.share();
        for k in self.record.velocity_begin as usize..self.record.velocity_end as usize {
            self.v[k] = share.mul_add(self.free[k] - self.before[k], self.v[k]);
        }
        for i in self.range() {
            let d = [0, 1, 2].map(|r| share * self.impulse[3 * i + r]);
            self.push(i, d);
        }
    }

    /// Solves one constraint with the others held.
    fn visit(&mut self, i: usize) {
        let share = self.share();
        let c = &self.cons[con::SIZE * i..con::SIZE * (i + 1)];
        let record = &self.all.constraints[i];
        let sides = &self.all.sides[record.side_begin as usize..record.side_end as usize];
        let lambda = [self.impulse[3 * i], self.impulse[3 * i + 1], self.impulse[3 * i + 2]];
        let next = if record.kind == kind::BLOCK {
            let sigma = island::block_sigma(sides, self.jac, [c[0], c[1], c[2]], self.v);
            let g = island::load6(c, con::DELASSUS).map(|g| share * g);
            let inverse = island::load6(c, con::INVERSE).map(|g| T::lit(f64::from(self.dims.substeps)) * g);
            local::solve(c[con::FRICTION], &g, &inverse, &lambda, &sigma)
        } else {
            let sigma = island::row_sigma(c, sides, self.jac, self.v);
            [island::row_solve_share(c, share, lambda[0], sigma), lambda[1], lambda[2]]
        };
        self.impulse[3 * i..3 * i + 3].copy_from_slice(&next);
        self.push(i, [0, 1, 2].map(|r| share * (next[r] - lambda[r])));
    }

    /// The sweeps of a dispatch. Returns whether there is nothing to do.
    fn solve(&mut self) -> bool {
        let (dims, share) = (self.dims, self.share());
        let span = self.record.velocity_begin as usize..self.record.velocity_end as usize;
        if dims.done == 0 {
            island::recompute(self.all, self.record, self.jac, self.impulse, self.free, self.v);
            let (residual, scaled) = island::measure(self.all, self.record, self.jac, self.cons, self.impulse, self.v);
            if island::solved(self.all.dims, residual, scaled) {
                return true;
            }
            self.v[span.clone()].copy_from_slice(&self.before[span]);
            self.sum[3 * self.record.constraint_begin as usize..3 * self.record.constraint_end as usize]
                .fill(T::lit(0.0));
        }
        for turn in dims.done..dims.iterations {
            if turn % dims.sweeps == 0 {
                self.begin_part();
            }
            for i in self.range() {
                self.visit(i);
            }
            if (turn + 1) % dims.sweeps == 0 {
                for at in 3 * self.record.constraint_begin as usize..3 * self.record.constraint_end as usize {
                    self.sum[at] = share.mul_add(self.impulse[at], self.sum[at]);
                }
            }
        }
        if dims.iterations == dims.substeps * dims.sweeps {
            let own = 3 * self.record.constraint_begin as usize..3 * self.record.constraint_end as usize;
            self.impulse[own.clone()].copy_from_slice(&self.sum[own]);
            island::recompute(self.all, self.record, self.jac, self.impulse, self.free, self.v);
        }
        false
    }
}

/// All islands of a chunk. `velocity` holds its regions, SCRATCH that before the step; `infos` gets the number of sweeps.
pub fn island_tgs<T: Scalar>(
    dims: &Dims,
    index: &[u32],
    jac: &[T],
    cons: &[T],
    impulse: &mut [T],
    velocity: &mut [T],
    sum: &mut [T],
    infos: &mut [T],
) {
    let plain = dims.of_islands();
    let all = &Islands::new(&plain, index);
    let n = dims.n_velocity as usize;
    let (free, rest) = velocity.split_at_mut(n * region::SOLUTION);
    let (v, before) = rest.split_at_mut(n * (region::SCRATCH - region::SOLUTION));
    for (number, record) in all.islands.iter().enumerate() {
        let own = &mut infos[info::SIZE * number..info::SIZE * (number + 1)];
        if dims.done > 0 && T::lit(0.0) < own[info::STOPPED] {
            continue;
        }
        let stopped = Island { dims, all, record, jac, cons, impulse, free, v, before, sum }.solve();
        own[info::ITERATIONS] = T::lit(if stopped { 0.0 } else { f64::from(dims.iterations) });
        own[info::STOPPED] = T::lit(if stopped { 1.0 } else { 0.0 });
    }
}

/// Buffers: island_index, island_jac, island_con -> impulse, velocity, island_work, island_info.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, jac, cons, impulse, velocity, sum, infos] = args.split();
    let (velocity, sum, infos) = (velocity.real_mut(), sum.real_mut(), infos.real_mut());
    island_tgs(&dims, index.index(), jac.real(), cons.real(), impulse.real_mut(), velocity, sum, infos);
}
