//! The exact contact problem (NCP) of an island of several trees by Newton steps, its Delassus operator written out: see
//! [`super::dense`] for the problem, its equations and the method.
//!
//! Islands are swept first ([`super::island_pgs`]); those that this does not solve, and that are small enough to have a
//! workspace ([`IslandRecord::work`]), are solved here; what is still not solved goes on sweeping. A mirror solves in one dispatch, in a
//! workspace of its thread. On a device a workgroup owns an island, and a solve is spread over dispatches of a round or
//! more: `done` rounds were before this one, `iterations` are done when it ends.

use super::LOOPS;
use super::dense::{Dense, Progress, SLOT_STEP, Shape};
use super::island::{self, Counts, IslandDims, IslandRecord, Islands, SideRecord, con, info, kind, region};
use super::packs::real_mut;
use super::workspace::with_workspace;
use crate::args::Args;
use crate::dynamics::tree::NONE;
use crate::{LANES, Real, Scalar};

/// Most rows, padded, of an island with a workspace: its memory grows with the square, its time with the cube.
pub const MOST_ROWS: usize = 128;
/// Sweeps of every island before those that are not solved are written out: a whole dispatch, so that a world is swept in
/// the same portions whether a neighbour has Newton steps between them or not.
pub const FIRST: u32 = super::island_pgs::SWEEPS;
/// Rounds that are worth their time: what is not solved by then hardly ever is.
pub const ROUNDS: u32 = 40;
/// Share of the tolerance that is aimed at: the certificate rounds otherwise than this solver.
const AIM: f64 = 0.5;
/// Reals of the state that a device carries from dispatch to dispatch.
const STATE: usize = 16;

/// Reals of a world's workspaces at most: one for its largest island, or many for small ones. What a device has to hold
/// is bounded by this, and no world depends on what others need.
pub const WORLD_REALS: usize = 36_000;

/// Workspaces of islands, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Workspaces {
    /// Reals so far.
    pub reals: usize,
    /// Rows, padded, of the largest island that has one.
    pub rows: usize,
    /// Where those of the world at hand begin.
    world: usize,
}

impl Workspaces {
    /// The islands that follow are of another world.
    pub fn begin_world(&mut self) {
        self.world = self.reals;
    }

    /// Where the workspace of an island begins; [`NONE`] for one too large, by itself or for what its world has left.
    pub fn place(&mut self, counts: Counts) -> u32 {
        let shape = Shape::new(counts.blocks as usize, counts.rows as usize);
        let (begin, n) = (self.reals, shape.groups() * LANES);
        // Beside the problem a device keeps which rows are live.
        let end = begin + STATE + shape.reals() + n;
        if n > MOST_ROWS || end - self.world > WORLD_REALS {
            return NONE;
        }
        self.reals = end;
        self.rows = self.rows.max(n);
        begin as u32
    }

    /// Rounds that a device can do in one dispatch, at least one.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        let n = self.rows;
        // Elimination and sweeps, as counted in the shader for a workgroup of 32.
        let loops = n * n * n / 64 + 30 * n;
        (LOOPS as usize / loops.max(1)).clamp(1, ROUNDS as usize) as u32
    }
}

/// One island being solved.
struct Problem<'a, T> {
    all: &'a Islands<'a>,
    record: &'a IslandRecord,
    jac: &'a [T],
    cons: &'a [T],
}

impl<T: Scalar> Problem<'_, T> {
    /// Numbers of the constraints.
    fn range(&self) -> std::ops::Range<usize> {
        self.record.constraint_begin as usize..self.record.constraint_end as usize
    }

    fn con(&self, i: usize) -> &[T] {
        &self.cons[con::SIZE * i..con::SIZE * (i + 1)]
    }

    fn sides(&self, i: usize) -> &[SideRecord] {
        let c = &self.all.constraints[i];
        &self.all.sides[c.side_begin as usize..c.side_end as usize]
    }

    fn is_block(&self, i: usize) -> bool {
        self.all.constraints[i].kind == kind::BLOCK
    }

    fn shape(&self) -> Shape {
        let blocks = self.range().filter(|&i| self.is_block(i)).count();
        Shape::new(blocks, self.range().len() - blocks)
    }

    /// Rows of a constraint in the dense problem, three or one.
    fn rows(&self, shape: Shape, i: usize) -> ([usize; 3], usize) {
        let place = self.all.constraints[i].place as usize;
        if self.is_block(i) {
            (std::array::from_fn(|r| shape.of_slot(place, r)), 3)
        } else {
            ([shape.of_row(place); 3], 1)
        }
    }

    /// Solves from the impulses, `v` their velocity. Returns the rounds, and whether more would change nothing.
    fn solve(&self, impulse: &mut [T], v: &[T], work: &mut [T::Pack]) -> (u32, bool) {
        let (shape, dims) = (self.shape(), self.all.dims);
        let mut dense = Dense::<T>::new(shape, work);
        for i in self.range() {
            self.gather(&mut dense, i, &impulse[3 * i..3 * i + 3], v);
        }
        self.gather_delassus(&mut dense);
        let (aim, per_contact) = (T::lit(AIM), T::lit(1.0) / island::contacts(self.record));
        let mut progress = Progress::default();
        let mut rounds = 0;
        let stopped = loop {
            let residual = dense.natural().sqrt() * per_contact;
            let scaled = dense.scaled();
            // What is not finite will not become so, and what grows without bound has none.
            if !(residual.is_finite() && scaled.is_finite()) || dense.runs_away() {
                break true;
            }
            if island::solved(dims, residual / aim, scaled / aim) {
                break true;
            }
            if rounds >= dims.iterations {
                break false;
            }
            dense.round(true, &mut progress);
            rounds += 1;
        };
        for i in self.range() {
            let (at, count) = self.rows(shape, i);
            for r in 0..count {
                impulse[3 * i + r] = real_mut(dense.lambda)[at[r]];
            }
        }
        (rounds, stopped)
    }

    /// One constraint without its Delassus rows.
    fn gather(&self, dense: &mut Dense<T>, i: usize, lambda: &[T], v: &[T]) {
        let (c, shape) = (self.con(i), dense.shape);
        let (at, place) = (self.rows(shape, i).0, self.all.constraints[i].place as usize);
        if self.is_block(i) {
            let sigma = island::block_sigma(self.sides(i), self.jac, [c[0], c[1], c[2]], v);
            let trace = c[con::DELASSUS] + c[con::DELASSUS + 3] + c[con::DELASSUS + 5];
            let rho = step(T::lit(SLOT_STEP), trace);
            for r in 0..3 {
                real_mut(dense.lambda)[at[r]] = lambda[r];
                real_mut(dense.sigma)[at[r]] = sigma[r];
                real_mut(dense.rho)[at[r]] = rho;
            }
            real_mut(dense.friction)[place] = c[con::FRICTION];
            for e in 0..6 {
                real_mut(dense.inverse)[e * shape.slots * LANES + place] = c[con::INVERSE + e];
            }
        } else {
            let (row, compliance) = (at[0], c[con::ROW_COMPLIANCE]);
            let sigma = island::row_sigma(self.sides(i), self.jac, v) + c[con::ROW_BIAS];
            real_mut(dense.lambda)[row] = lambda[0];
            real_mut(dense.sigma)[row] = compliance.mul_add(lambda[0], sigma);
            real_mut(dense.rho)[row] = step(T::lit(1.0), c[con::ROW_DELASSUS] + compliance);
            real_mut(dense.lower)[place] = c[con::ROW_LOWER];
            real_mut(dense.upper)[place] = c[con::ROW_UPPER];
            real_mut(dense.compliance)[place] = compliance;
        }
    }

    /// `G = J A^-1 J^T` by pairs of constraints that share a tree, and the compliances.
    fn gather_delassus(&self, dense: &mut Dense<T>) {
        let (shape, n) = (dense.shape, dense.shape.groups() * LANES);
        let g = real_mut(dense.delassus);
        let moves = |i: usize| self.is_block(i) || T::lit(0.0) < self.con(i)[con::ROW_DELASSUS];
        for i in self.range() {
            let (rows, n_rows) = self.rows(shape, i);
            for k in (i..self.record.constraint_end as usize).filter(|&k| moves(i) && moves(k)) {
                let (columns, n_columns) = self.rows(shape, k);
                for (a, b) in shared(self.sides(i), self.sides(k)) {
                    let count = a.count as usize;
                    for r in 0..n_rows {
                        let j = &self.jac[a.jac as usize + r * count..][..count];
                        for c in 0..n_columns {
                            let y = &self.jac[b.jac as usize + (n_columns + c) * count..][..count];
                            let mut x = [T::lit(0.0)];
                            island::add_rows_by_sums(&mut x, j, y);
                            let [x] = x;
                            g[rows[r] * n + columns[c]] += x;
                            if k > i {
                                g[columns[c] * n + rows[r]] += x;
                            }
                        }
                    }
                }
            }
            if n_rows == 1 {
                g[rows[0] * n + rows[0]] += self.con(i)[con::ROW_COMPLIANCE];
            }
        }
    }
}

/// `share / response`, or none for a constraint that moves nothing.
fn step<T: Scalar>(share: T, response: T) -> T {
    if T::lit(0.0) < response { share / response } else { T::lit(0.0) }
}

/// Sides of two constraints on the same tree.
fn shared<'a>(a: &'a [SideRecord], b: &'a [SideRecord]) -> impl Iterator<Item = (&'a SideRecord, &'a SideRecord)> + 'a {
    a.iter().flat_map(move |a| b.iter().filter(move |b| b.velocity == a.velocity).map(move |b| (a, b)))
}

/// All islands of a chunk that have a workspace and are not solved.
pub fn island_newton<T: Scalar>(
    dims: &IslandDims,
    index: &[u32],
    jac: &[T],
    cons: &[T],
    impulse: &mut [T],
    velocity: &mut [T],
    infos: &mut [T],
) {
    let all = Islands::new(dims, index);
    let n = dims.n_velocity as usize;
    let (free, rest) = velocity.split_at_mut(n * region::SOLUTION);
    let v = &mut rest[..n];
    for (record, own) in all.islands.iter().zip(infos.chunks_exact_mut(info::SIZE)) {
        if !record.has_work() || T::lit(0.0) < own[info::STOPPED] {
            continue;
        }
        island::recompute(&all, record, jac, impulse, free, v);
        let problem = Problem { all: &all, record, jac, cons };
        let packs = problem.shape().reals() / LANES;
        let (rounds, stopped) = with_workspace::<T, _>(packs, |work| problem.solve(impulse, v, &mut work[..packs]));
        island::recompute(&all, record, jac, impulse, free, v);
        own[info::ITERATIONS] += T::lit(f64::from(rounds));
        own[info::STOPPED] = T::lit(if stopped { 1.0 } else { 0.0 });
    }
}

/// Uniform block.
pub type Dims = IslandDims;

/// Buffers: island_index, island_jac, island_con -> impulse, velocity, island_info; island_work, a device's alone.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, jac, cons, impulse, velocity, infos, _work] = args.split();
    let (impulse, velocity, infos) = (impulse.real_mut(), velocity.real_mut(), infos.real_mut());
    island_newton(&dims, index.index(), jac.real(), cons.real(), impulse, velocity, infos);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_are_bounded_by_world() {
        let of = |blocks, rows| Counts { blocks, rows };
        let mut all = Workspaces::default();
        all.begin_world();
        assert_eq!(all.place(of(1, 0)), 0);
        let first = all.reals as u32;
        assert_eq!(all.place(of(1, 0)), first, "behind the one before");
        assert_eq!(all.place(of(43, 0)), NONE, "129 rows, padded to 144");
        assert_eq!(all.place(of(40, 8)), NONE, "the world's share is spent");
        assert_eq!(all.rounds(), ROUNDS);
        let before = all.reals;
        all.begin_world();
        // The largest there is has a world to itself.
        assert_eq!(all.place(of(40, 8)), before as u32);
        assert!(all.reals - before <= WORLD_REALS && all.rows == MOST_ROWS && all.rounds() == 1);
    }
}
