//! The exact contact problem (NCP) of an island of several trees by Newton steps, its Delassus operator written out: see
//! [`super::dense`] for the problem, its equations and the method.
//!
//! Islands whose last step asked for the impossible have laws whose requests give way ([`super::steps`]) and come here at once.
//! The others are swept first ([`super::island_pgs`]); those that this does not solve, and that are small enough to have a
//! workspace ([`IslandRecord::work`]), are solved here; what is still not solved goes on sweeping. A mirror solves in one dispatch, in a
//! workspace of its thread. On a device a workgroup owns an island, and a solve is spread over dispatches of a round or
//! more: `done` rounds were before this one, `iterations` are done when it ends.

use super::LOOPS;
use super::dense::{Dense, LONGEST, MOST, Progress, SLOT_STEP};
use super::dense_shape::Shape;
use super::group::DEVICE_ROWS;
use super::island::{self, Counts, IslandDims, IslandRecord, Islands, SideRecord, con, info, kind, region};
use super::packs::{real, real_mut};
use super::steps::{gives_way, requests, row_request, speed_of_cap};
use super::thin::{Thin, is_thin, problem_reals};
use super::workspace::with_workspace;
use crate::args::Args;
use crate::dynamics::tree::NONE;
use crate::{LANES, Real, Scalar};

/// Most degrees of freedom of an island whose matrix is over them: of more, a factor that knows which trees touch costs less.
const MOST_DOFS: usize = 96;
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

/// Where islands are solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Room {
    /// No island has a workspace.
    #[default]
    None,
    /// In a device's memory, which holds those of all islands, or by its mirrors in single precision, which solve the same.
    Device,
    /// By threads in double precision, each with one at a time.
    Threads,
}

impl Room {
    /// Of Newton steps by mirrors.
    #[must_use]
    pub fn of_mirrors<T: Scalar>() -> Self {
        if T::NAME == f64::NAME { Self::Threads } else { Self::Device }
    }
}

/// Workspaces of islands, one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Workspaces {
    room: Room,
    /// Reals so far.
    pub reals: usize,
    /// Rows, padded, of the largest island that has one.
    pub rows: usize,
    /// Where those of the world at hand begin.
    world: usize,
}

impl Workspaces {
    /// None yet.
    #[must_use]
    pub fn new(room: Room) -> Self {
        Self { room, ..Self::default() }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::new(self.room);
    }

    /// The islands that follow are of another world.
    pub fn begin_world(&mut self) {
        self.world = self.reals;
    }

    /// Where the workspace of an island of so many degrees of freedom begins; [`NONE`] for one too large, by itself or for what its
    /// world has left.
    pub fn place(&mut self, counts: Counts, n_v: usize) -> u32 {
        let shape = Shape::new(counts.blocks as usize, counts.rows as usize);
        let (begin, n) = (self.reals, shape.groups() * LANES);
        match self.room {
            Room::None => return NONE,
            Room::Device => {}
            Room::Threads => {
                // Written out, such islands as piles cost more than their sweeps.
                let most = if n_v <= MOST_DOFS && is_thin(n_v, n) { LONGEST } else { DEVICE_ROWS };
                // Threads have memory of their own: that there are workspaces is all that is told.
                self.reals = 1;
                return if n > most { NONE } else { 0 };
            }
        }
        // Beside the problem a device keeps which rows are live.
        let end = begin + STATE + shape.reals() + n;
        if n > DEVICE_ROWS || end - self.world > WORLD_REALS {
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
}

impl<T: Scalar> Problem<'_, T> {
    /// Numbers of the constraints.
    fn range(&self) -> std::ops::Range<usize> {
        self.record.constraint_begin as usize..self.record.constraint_end as usize
    }

    fn sides(&self, i: usize) -> &[SideRecord] {
        let c = &self.all.constraints[i];
        &self.all.sides[c.side_begin as usize..c.side_end as usize]
    }

    fn is_block(&self, i: usize) -> bool {
        self.all.constraints[i].kind == kind::BLOCK
    }

    /// Its part of a region of `velocity`.
    fn velocities(&self) -> std::ops::Range<usize> {
        self.record.velocity_begin as usize..self.record.velocity_end as usize
    }

    /// Whether its Delassus operator is not written out: by rows that can act.
    fn is_thin(&self, cons: &[T]) -> bool {
        let acts = |i: usize| {
            if self.is_block(i) { 3 } else { usize::from(!island::row_is_idle(con_of(cons, i), T::lit(0.0))) }
        };
        let rows = self.range().map(acts).sum();
        is_thin(self.velocities().len(), rows)
    }

    /// Packs of its workspace.
    fn packs(&self, cons: &[T]) -> usize {
        let shape = self.shape();
        (if self.is_thin(cons) { problem_reals(self.velocities().len(), shape) } else { shape.reals() }) / LANES
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

    /// Solves from the impulses, `v` their velocity. Returns the rounds, and whether more would change nothing. With requests that
    /// give way, `free` being the velocity without impulses, what is not solved keeps its impulses.
    fn solve(&self, impulse: &mut [T], cons: &mut [T], free: &[T], v: &[T], work: &mut [T::Pack]) -> (u32, bool) {
        let (shape, dims) = (self.shape(), self.all.dims);
        let mut dense = if self.is_thin(cons) {
            Dense::thin(shape, self.velocities().len(), work)
        } else {
            Dense::<T>::new(shape, work)
        };
        for i in self.range() {
            self.gather(&mut dense, cons, i, &impulse[3 * i..3 * i + 3], v);
        }
        let relaxes = self.record.relaxes();
        if relaxes {
            dense.relaxes = true;
            self.range().for_each(|i| self.ask(&mut dense, cons, i, free));
        }
        if let Some(thin) = &mut dense.thin {
            self.gather_sides(shape, thin);
        } else {
            self.gather_delassus(&mut dense, cons);
        }
        let (aim, per_contact) = (T::lit(AIM), T::lit(1.0) / island::contacts(self.record));
        let mut progress = Progress::default();
        let mut rounds = 0;
        let mut solved = false;
        let stopped = loop {
            let residual = dense.natural().sqrt() * per_contact;
            let scaled = dense.scaled();
            // What is not finite will not become so, and what grows without bound has none.
            if !(residual.is_finite() && scaled.is_finite()) || dense.runs_away() {
                break true;
            }
            solved = island::solved(dims, residual / aim, scaled / aim);
            if solved {
                break true;
            }
            if rounds >= dims.iterations {
                break false;
            }
            dense.round(true, &mut progress);
            rounds += 1;
        };
        if relaxes && !solved {
            return (rounds, stopped);
        }
        for i in self.range() {
            if relaxes {
                self.note(&dense, cons, i);
            }
            let (at, count) = self.rows(shape, i);
            for r in 0..count {
                impulse[3 * i + r] = real_mut(dense.lambda)[at[r]];
            }
        }
        (rounds, stopped)
    }

    /// One constraint without its Delassus rows.
    fn gather(&self, dense: &mut Dense<T>, cons: &[T], i: usize, lambda: &[T], v: &[T]) {
        let (c, shape) = (con_of(cons, i), dense.shape);
        let (at, place) = (self.rows(shape, i).0, self.all.constraints[i].place as usize);
        if self.is_block(i) {
            let sigma = island::block_sigma(self.sides(i), self.jac, [c[0], c[1], c[2]], v);
            let rho = step(T::lit(SLOT_STEP), island::trace(c));
            for r in 0..3 {
                real_mut(dense.lambda)[at[r]] = lambda[r];
                real_mut(dense.sigma)[at[r]] = sigma[r];
                real_mut(dense.rho)[at[r]] = rho;
            }
            real_mut(dense.friction)[place] = c[con::FRICTION];
            for e in 0..6 {
                let at = e * shape.slots * LANES + place;
                real_mut(dense.inverse)[at] = c[con::INVERSE + e];
                if let Some(thin) = &mut dense.thin {
                    real_mut(thin.own)[at] = c[con::DELASSUS + e];
                }
            }
        } else {
            let (row, compliance) = (at[0], c[con::ROW_COMPLIANCE]);
            let sigma = island::row_sigma(c, self.sides(i), self.jac, v) + c[con::ROW_BIAS];
            real_mut(dense.lambda)[row] = lambda[0];
            real_mut(dense.sigma)[row] = compliance.mul_add(lambda[0], sigma);
            real_mut(dense.rho)[row] = step(T::lit(1.0), c[con::ROW_DELASSUS] + compliance);
            real_mut(dense.lower)[place] = c[con::ROW_LOWER];
            real_mut(dense.upper)[place] = c[con::ROW_UPPER];
            real_mut(dense.compliance)[place] = compliance;
        }
    }

    /// The sides by degree of freedom of the island.
    fn gather_sides(&self, shape: Shape, thin: &mut Thin<'_, T>) {
        let begin = self.record.velocity_begin;
        for i in self.range() {
            let (rows, n_rows) = self.rows(shape, i);
            rows[..n_rows].iter().for_each(|&row| thin.set_response(row, std::iter::repeat(T::lit(0.0))));
            for side in self.sides(i) {
                let (at, count) = ((side.velocity - begin) as usize, side.count as usize);
                let (j, y) = self.jac[side.jac as usize..][..2 * n_rows * count].split_at(n_rows * count);
                for r in 0..n_rows {
                    let part = r * count..(r + 1) * count;
                    thin.add_jacobian(rows[r], at, j[part.clone()].iter().copied());
                    thin.add_response(rows[r], at, y[part].iter().copied());
                }
            }
        }
    }

    /// What a constraint asks for, and up to which impulse.
    fn ask(&self, dense: &mut Dense<T>, cons: &[T], i: usize, free: &[T]) {
        let (c, shape, zero) = (con_of(cons, i), dense.shape, T::lit(0.0));
        let (at, place) = (self.rows(shape, i).0, self.all.constraints[i].place as usize);
        if self.is_block(i) {
            let asked = requests(c[con::FRICTION], &[c[0], c[1], c[2]]);
            let free = island::block_sigma(self.sides(i), self.jac, [zero; 3], free);
            let speed = (0..3).fold(zero, |most, r| most.max(speed_of_cap(asked[r], free[r])));
            (0..3).for_each(|r| real_mut(dense.request)[at[r]] = asked[r]);
            real_mut(dense.cap)[place] = speed * mass_of(c, true);
        } else {
            let bounds = (c[con::ROW_LOWER], c[con::ROW_UPPER]);
            let asked = row_request(c[con::ROW_BIAS], c[con::ROW_COMPLIANCE], bounds.0, bounds.1);
            let speed = speed_of_cap(asked, island::row_sigma(c, self.sides(i), self.jac, free));
            real_mut(dense.request)[at[0]] = asked;
            real_mut(dense.cap)[shape.slots * LANES + place] = speed * mass_of(c, false);
        }
    }

    /// Takes what gave way of a constraint from what it asks for.
    fn note(&self, dense: &Dense<T>, cons: &mut [T], i: usize) {
        let (shape, tolerance) = (dense.shape, T::lit(f64::from(f32::from_bits(self.all.dims.tolerance))));
        let (at, count) = self.rows(shape, i);
        let place = self.all.constraints[i].place as usize;
        let cap = real(dense.cap)[if self.is_block(i) { place } else { shape.slots * LANES + place }];
        let mass = mass_of(con_of(cons, i), self.is_block(i));
        for r in 0..count {
            let (request, lambda) = (real(dense.request)[at[r]], real(dense.lambda)[at[r]]);
            let by = gives_way(cap, request, mass, tolerance, lambda, real(dense.sigma)[at[r]]);
            cons[con::SIZE * i + con::BIAS + r] += by;
            cons[con::SIZE * i + con::RELAXED + r] = by;
        }
    }

    /// `G = J A^-1 J^T` by pairs of constraints that share a tree, and the compliances.
    fn gather_delassus(&self, dense: &mut Dense<T>, cons: &[T]) {
        let (shape, n) = (dense.shape, dense.shape.groups() * LANES);
        let g = real_mut(dense.delassus);
        let moves = |i: usize| self.is_block(i) || T::lit(0.0) < con_of(cons, i)[con::ROW_DELASSUS];
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
                g[rows[0] * n + rows[0]] += con_of(cons, i)[con::ROW_COMPLIANCE];
            }
        }
    }
}

/// The numbers of a constraint.
fn con_of<T>(cons: &[T], i: usize) -> &[T] {
    &cons[con::SIZE * i..con::SIZE * (i + 1)]
}

/// The mass that a constraint moves, kg.
fn mass_of<T: Scalar>(c: &[T], is_block: bool) -> T {
    if is_block {
        return step(T::lit(3.0), island::trace(c));
    }
    step(T::lit(1.0), c[con::ROW_DELASSUS])
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
    cons: &mut [T],
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
        let problem = Problem { all: &all, record, jac };
        if !problem.is_thin(cons) && problem.shape().groups() * LANES > MOST {
            // Too few of its rows can act.
            continue;
        }
        let packs = problem.packs(cons);
        let (rounds, stopped) =
            with_workspace::<T, _>(packs, |work| problem.solve(impulse, cons, free, v, &mut work[..packs]));
        island::recompute(&all, record, jac, impulse, free, v);
        own[info::ITERATIONS] += T::lit(f64::from(rounds));
        own[info::STOPPED] = T::lit(if stopped { 1.0 } else { 0.0 });
    }
}

/// Uniform block.
pub type Dims = IslandDims;

/// Buffers: island_index, island_jac -> island_con, impulse, velocity, island_info; island_work, a device's alone.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, jac, cons, impulse, velocity, infos, _work] = args.split();
    let (impulse, velocity, infos) = (impulse.real_mut(), velocity.real_mut(), infos.real_mut());
    island_newton(&dims, index.index(), jac.real(), cons.real_mut(), impulse, velocity, infos);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_are_bounded_by_world() {
        let of = |blocks, rows| Counts { blocks, rows };
        let n_v = 100;
        let mut all = Workspaces::new(Room::Device);
        all.begin_world();
        assert_eq!(all.place(of(1, 0), n_v), 0);
        let first = all.reals as u32;
        assert_eq!(all.place(of(1, 0), n_v), first, "behind the one before");
        assert_eq!(all.place(of(43, 0), n_v), NONE, "129 rows, padded to 144");
        assert_eq!(all.place(of(40, 8), n_v), NONE, "the world's share is spent");
        assert_eq!(all.rounds(), ROUNDS);
        let before = all.reals;
        all.begin_world();
        // The largest there is has a world to itself.
        assert_eq!(all.place(of(40, 8), n_v), before as u32);
        assert!(all.reals - before <= WORLD_REALS && all.rows == DEVICE_ROWS && all.rounds() == 1);
    }

    #[test]
    fn threads_take_long_islands_of_few_degrees_of_freedom() {
        let of = |blocks| Counts { blocks, rows: 0 };
        let mut all = Workspaces::new(Room::of_mirrors::<f64>());
        assert_eq!((all.place(of(40), 100), all.place(of(48), 100)), (0, NONE), "120 rows, 144 rows");
        assert_eq!((all.place(of(88), 80), all.place(of(256), 80), all.place(of(264), 80)), (0, 0, NONE));
        assert_eq!((all.place(of(108), 96), all.place(of(108), 97)), (0, NONE));
        assert_eq!(Workspaces::new(Room::None).place(of(1), 100), NONE);
    }
}
