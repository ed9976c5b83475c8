//! What every island kernel reads: the records of islands, constraints and sides in `island_index`, the law of a single
//! row, and the passes over one island that solver and certificate share.
//!
//! An island is several trees coupled by constraints. All islands of a chunk lie one after the other in flat arrays:
//!
//! | buffer | content |
//! |---|---|
//! | `island_index` | records: islands (from word 0), colours, constraints, sides, then the items of each tree set |
//! | `island_jac` | by side: J `[rows][count]`, then Y = A^-1 J^T likewise |
//! | `island_contact` | by constraint, [`contact`]: what the host knows of it |
//! | `island_con` | by constraint, [`con`]: bias, friction, Delassus block and its inverse; or the numbers of a row |
//! | `impulse` | by constraint 3: (t1, t2, n), or a row's impulse and two zeros, N s |
//! | `velocity` | three regions of `n_velocity`: free velocity; solution; scratch (velocity before the step, check) |
//! | `island_info` | by island, [`info`] |
//! | `island_work` | by island that has one: a device's workspace for [`super::island_newton`] |
//!
//! Constraints stand by island, then by colour; those of one colour touch disjoint velocities.

use bytemuck::{Pod, Zeroable};

use super::local::{self, TINY};
use crate::Scalar;
pub use crate::dynamics::names::{UNBOUNDED, part};
use crate::dynamics::tree::NONE;

/// Kinds of constraints.
pub mod kind {
    /// Three rows: a contact, or with friction below zero a bilateral block.
    pub const BLOCK: u32 = 0;
    /// One row between bounds: `J v + e + c lambda = 0` as far as they allow; hard with compliance c = 0.
    pub const ROW: u32 = 1;
}

/// Offsets in a constraint's part of `island_con`.
pub mod con {
    /// Block: bias e, m/s, 3.
    pub const BIAS: usize = 0;
    /// Block: friction; below zero: bilateral.
    pub const FRICTION: usize = 3;
    /// Block: G_ii, 00 01 02 11 12 22.
    pub const DELASSUS: usize = 4;
    /// Block: its regularised inverse, likewise.
    pub const INVERSE: usize = 10;
    /// Row: bias e.
    pub const ROW_BIAS: usize = 0;
    /// Row: compliance c, 1/kg. A soft row `lambda = -k e - b J v` has c = 1/b and bias k e / b.
    pub const ROW_COMPLIANCE: usize = 1;
    /// Row: smallest impulse.
    pub const ROW_LOWER: usize = 2;
    /// Row: largest impulse.
    pub const ROW_UPPER: usize = 3;
    /// Row: G_ii.
    pub const ROW_DELASSUS: usize = 4;
    /// Row: the impulse to start from.
    pub const ROW_WARM: usize = 5;
    /// Row: the degree of freedom of its one side that it acts on alone, plus one; else 0.
    pub const ROW_DOF: usize = 6;
    /// Row: J there.
    pub const ROW_COEFFICIENT: usize = 7;
    /// By how much the biases gave way, in them already, m/s, 3; of a row the first.
    pub const RELAXED: usize = 16;
    /// Reals of a constraint.
    pub const SIZE: usize = 19;
}

/// Offsets in an island's part of `island_info`.
pub mod info {
    /// Number 1 of the residuals: `|lambda - T(lambda - sigma^)| / max(contacts, 1)`.
    pub const RESIDUAL: usize = 0;
    /// Scaled residual, m/s.
    pub const SCALED: usize = 1;
    /// Sweeps done.
    pub const ITERATIONS: usize = 2;
    /// Deepest penetration, m.
    pub const PENETRATION: usize = 3;
    /// Contacts.
    pub const CONTACTS: usize = 4;
    /// 1 when the solver needs no further sweep, 2 when it cannot make one, else 0.
    pub const STOPPED: usize = 5;
    /// Contacts that are left out, as nothing moves their bodies apart.
    pub const LEFT_OUT: usize = 6;
    /// Reals of an island.
    pub const SIZE: usize = 8;
}

/// Regions of `velocity`.
pub mod region {
    /// A^-1 b.
    pub const FREE: usize = 0;
    /// The solver's.
    pub const SOLUTION: usize = 1;
    /// Velocity before the step until the bias is known; then the certificate's own.
    pub const SCRATCH: usize = 2;
    /// How many there are.
    pub const COUNT: usize = 3;
}

/// Offsets in `island_contact`: what the host knows of a constraint when a step is packed.
pub mod contact {
    /// Point, m, world, 3.
    pub const POINT: usize = 0;
    /// Contact: unit normal, 3. Bilateral block: error in world axes, m or rad, 3.
    pub const NORMAL: usize = 3;
    /// Contact: signed distance, m.
    pub const DISTANCE: usize = 6;
    /// Friction; below zero: bilateral block.
    pub const FRICTION: usize = 7;
    /// Contact: restitution.
    pub const RESTITUTION: usize = 8;
    /// Time step, s; this and what follows: of the constraint's first tree.
    pub const TIMESTEP: usize = 9;
    /// Fraction of a penetration that one step removes.
    pub const CORRECTION_FRACTION: usize = 10;
    /// Largest speed of that correction, m/s.
    pub const CORRECTION_MAX: usize = 11;
    /// Contact: approaching faster than this bounces, m/s.
    pub const RESTITUTION_THRESHOLD: usize = 12;
    /// Contact: depth up to which a penetration is left as it is, m.
    pub const CORRECTION_SLOP: usize = 13;
    /// Contact: how it gives way, for solvers of compliant contact: normal regularisation
    /// `R_n = 1 / (h k (h + tau_d))`, 1/kg (Castro 2022, eq. 29); below zero: by its bias alone, as stiff as can be.
    pub const COMPLIANCE: usize = 14;
    /// Contact: normal velocity at which it then carries nothing, `v_hat = -phi / (h + tau_d)`, m/s.
    pub const SEPARATION: usize = 15;
    /// Contact: velocity of the second body's surface relative to the first's that no tree has: of mocap bodies, world, m/s, 3.
    pub const DRIFT: usize = 16;
    /// Reals of a constraint.
    pub const SIZE: usize = 19;
}

/// Sizes of the ragged arrays.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct IslandDims {
    /// Islands.
    pub n_islands: u32,
    /// First word of the colours in `island_index`: where each ends, as a constraint.
    pub colours_at: u32,
    /// First word of the constraint records.
    pub constraints_at: u32,
    /// First word of the side records.
    pub sides_at: u32,
    /// Constraints.
    pub n_constraints: u32,
    /// Reals of a region of `velocity`.
    pub n_velocity: u32,
    /// Most sweeps of the solver, `done` included.
    pub iterations: u32,
    /// Bits of an f32: the residual (number 1) at which an island is solved.
    pub tolerance: u32,
    /// Bits of an f32: the scaled residual, m/s, at which it is solved too.
    pub tolerance_scaled: u32,
    /// Sweeps of the dispatches before this one: a solve may be spread over several. 0: a solve begins.
    pub done: u32,
    /// 1: an island is solved where its solver says so ([`info::STOPPED`]), one of other contact than the residuals'.
    pub by_solver: u32,
}

/// An island.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct IslandRecord {
    /// First constraint.
    pub constraint_begin: u32,
    /// One past the last.
    pub constraint_end: u32,
    /// First colour.
    pub colour_begin: u32,
    /// One past the last.
    pub colour_end: u32,
    /// First entry in a region of `velocity`.
    pub velocity_begin: u32,
    /// One past the last.
    pub velocity_end: u32,
    /// Contacts among the constraints.
    pub n_contacts: u32,
    /// World of the chunk.
    pub world: u32,
    /// First real of its workspace in `island_work`, or [`NONE`].
    pub work: u32,
    /// What is to be done with it, of [`part`]. Where that is not to solve it, no kernel but [`super::island_newton`] changes
    /// its impulses.
    pub part: u32,
}

impl IslandRecord {
    /// Whether its requests give way.
    #[must_use]
    pub fn relaxes(&self) -> bool {
        matches!(self.part, part::RELAXES | part::ASKS)
    }

    /// Whether its Delassus operator is written out if sweeps do not solve it.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.work != NONE
    }
}

/// A constraint.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct ConstraintRecord {
    /// One of [`kind`].
    pub kind: u32,
    /// First side.
    pub side_begin: u32,
    /// One past the last.
    pub side_end: u32,
    /// The same constraint in the previous step's impulses, plus one; 0: new.
    pub previous: u32,
    /// Its number among the island's constraints of its kind.
    pub place: u32,
}

/// How many constraints of either kind an island has: gives each its place as they are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Of [`kind::BLOCK`].
    pub blocks: u32,
    /// Of [`kind::ROW`].
    pub rows: u32,
}

impl Counts {
    /// Place of the next constraint of a kind.
    pub fn next(&mut self, kind: u32) -> u32 {
        let count = if kind == kind::BLOCK { &mut self.blocks } else { &mut self.rows };
        *count += 1;
        *count - 1
    }
}

/// A constraint's share of one tree.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SideRecord {
    /// First entry in a region of `velocity`.
    pub velocity: u32,
    /// Number of entries.
    pub count: u32,
    /// First real in `island_jac`.
    pub jac: u32,
    /// The constraint.
    pub constraint: u32,
}

/// A tree in an island: what gather and scatter move.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct TreeItem {
    /// Lane of its set.
    pub lane: u32,
    /// First entry in a region of `velocity`.
    pub velocity: u32,
}

/// A static row of a tree in an island.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct RowItem {
    /// Lane of its set.
    pub lane: u32,
    /// Row of the tree.
    pub row: u32,
    /// The constraint it is here.
    pub constraint: u32,
    /// First real in `island_jac`.
    pub jac: u32,
}

/// A side of a contact or bilateral block, to be assembled by its tree.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SideItem {
    /// Lane of its set.
    pub lane: u32,
    /// Body of the tree that counts as the first, or [`crate::dynamics::tree::NONE`].
    pub body_a: u32,
    /// Body that counts as the second, or none; J is that of b less that of a.
    pub body_b: u32,
    /// 0: velocity of a point; 1: angular velocity.
    pub angular: u32,
    /// The constraint.
    pub constraint: u32,
    /// First real in `island_jac`.
    pub jac: u32,
}

/// Uniform of the kernels that move numbers between a tree set and the islands.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SetDims {
    /// Trees of this set in islands.
    pub n_trees: u32,
    /// First word of their [`TreeItem`]s in `island_index`.
    pub trees_at: u32,
    /// Static rows of those trees.
    pub n_rows: u32,
    /// First word of their [`RowItem`]s.
    pub rows_at: u32,
    /// Reals of a region of the islands' `velocity`.
    pub n_velocity: u32,
    /// Dofs of a tree.
    pub n_v: u32,
    /// First velocity in a lane of `state`.
    pub v_at: u32,
    /// Reals of a lane of `state`.
    pub n_state: u32,
    /// Reals of a lane of `row`.
    pub n_row_real: u32,
    /// Terms of a static row.
    pub row_width: u32,
}

/// `count` records from word `at` of `island_index`.
#[must_use]
pub fn items<T: Pod>(index: &[u32], at: u32, count: u32) -> &[T] {
    bytemuck::cast_slice(&index[at as usize..at as usize + count as usize * words::<T>()])
}

/// Words of a record.
#[must_use]
pub const fn words<T>() -> usize {
    size_of::<T>() / size_of::<u32>()
}

/// The records of all islands, read in place.
#[derive(Debug, Clone, Copy)]
pub struct Islands<'a> {
    /// Sizes.
    pub dims: &'a IslandDims,
    /// `[n_islands]`
    pub islands: &'a [IslandRecord],
    /// End of each colour.
    pub colours: &'a [u32],
    /// `[n_constraints]`
    pub constraints: &'a [ConstraintRecord],
    /// Sides by constraint.
    pub sides: &'a [SideRecord],
}

impl<'a> Islands<'a> {
    /// Finds the records in `island_index`.
    #[must_use]
    pub fn new(dims: &'a IslandDims, index: &'a [u32]) -> Self {
        let constraints: &[ConstraintRecord] = items(index, dims.constraints_at, dims.n_constraints);
        let n_sides = constraints.last().map_or(0, |c| c.side_end);
        Self {
            dims,
            islands: items(index, 0, dims.n_islands),
            colours: &index[dims.colours_at as usize..dims.constraints_at as usize],
            constraints,
            sides: items(index, dims.sides_at, n_sides),
        }
    }
}

/// Sums of a row side by side: one alone would wait for each of its terms.
const SUMS: usize = 4;
/// Rows so short, as those of free bodies, are summed in order.
const SHORT: usize = 6;

/// `y += J x` for the rows of one side, each summed in order.
#[inline(always)]
fn add_rows<T: Scalar, const R: usize>(y: &mut [T; R], j: &[T], x: &[T]) {
    let n = x.len();
    for (y, row) in y.iter_mut().zip(j.chunks_exact(n.max(1))) {
        let mut sum = *y;
        for k in 0..n {
            sum = row[k].mul_add(x[k], sum);
        }
        *y = sum;
    }
}

/// The same by several sums a row, which rounds otherwise.
#[inline(always)]
pub(super) fn add_rows_by_sums<T: Scalar, const R: usize>(y: &mut [T; R], j: &[T], x: &[T]) {
    let n = x.len();
    if n <= SHORT {
        return add_rows(y, j, x);
    }
    let rows: [&[T]; R] = std::array::from_fn(|r| &j[r * n..(r + 1) * n]);
    let mut sums = [[T::lit(0.0); SUMS]; R];
    let whole = n - n % SUMS;
    for k in (0..whole).step_by(SUMS) {
        for (sums, row) in sums.iter_mut().zip(rows) {
            let (row, x) = (&row[k..k + SUMS], &x[k..k + SUMS]);
            (0..SUMS).for_each(|i| sums[i] = row[i].mul_add(x[i], sums[i]));
        }
    }
    for (y, (sums, row)) in y.iter_mut().zip(sums.iter().zip(rows)) {
        let mut sum = *y + ((sums[0] + sums[2]) + (sums[1] + sums[3]));
        for k in whole..n {
            sum = row[k].mul_add(x[k], sum);
        }
        *y = sum;
    }
}

/// `x += Y d` for three rows of one side.
#[inline(always)]
fn add_columns<T: Scalar>(x: &mut [T], y: &[T], d: [T; 3]) {
    let n = x.len();
    let (y0, rest) = y.split_at(n);
    let (y1, rest) = rest.split_at(n);
    let y2 = &rest[..n];
    for k in 0..n {
        x[k] = y0[k].mul_add(d[0], y1[k].mul_add(d[1], y2[k].mul_add(d[2], x[k])));
    }
}

/// Trace of a block's own part of the Delassus operator, from a constraint's numbers.
#[inline(always)]
pub fn trace<T: Scalar>(con: &[T]) -> T {
    con[con::DELASSUS] + con[con::DELASSUS + 3] + con[con::DELASSUS + 5]
}

/// `e + J v` of a block.
#[inline(always)]
pub fn block_sigma<T: Scalar>(sides: &[SideRecord], jac: &[T], e: [T; 3], v: &[T]) -> [T; 3] {
    let mut sigma = e;
    for side in sides {
        let (j, x) = side_of::<T, 3>(side, jac, v);
        // A free body: lengths known to the compiler.
        match (<&[T; 18]>::try_from(j), <&[T; 6]>::try_from(x)) {
            (Ok(j), Ok(x)) => add_rows(&mut sigma, j, x),
            _ => add_rows(&mut sigma, j, x),
        }
    }
    sigma
}

/// The same for sweeps, which take most of a step: by several sums a row. What CANAL and certificates measure stays in order: at
/// 1e-10 N s CANAL ends at the limits of double precision, and of 138 recorded problems it solves one fewer by these.
#[inline(always)]
pub(super) fn block_sigma_by_sums<T: Scalar>(sides: &[SideRecord], jac: &[T], e: [T; 3], v: &[T]) -> [T; 3] {
    let mut sigma = e;
    for side in sides {
        let (j, x) = side_of::<T, 3>(side, jac, v);
        match (<&[T; 18]>::try_from(j), <&[T; 6]>::try_from(x)) {
            (Ok(j), Ok(x)) => add_rows(&mut sigma, j, x),
            _ => add_rows_by_sums(&mut sigma, j, x),
        }
    }
    sigma
}

/// J of a side of so many rows, and its part of a velocity.
#[inline(always)]
fn side_of<'a, T, const R: usize>(side: &SideRecord, jac: &'a [T], v: &'a [T]) -> (&'a [T], &'a [T]) {
    let (at, n) = (side.jac as usize, side.count as usize);
    (&jac[at..at + R * n], &v[side.velocity as usize..][..n])
}

/// `v += Y d` of a block.
#[inline(always)]
pub fn block_apply<T: Scalar>(sides: &[SideRecord], jac: &[T], d: [T; 3], v: &mut [T]) {
    // Most of what does not act now did not before.
    if d == [T::lit(0.0); 3] {
        return;
    }
    for side in sides {
        let (at, n) = (side.jac as usize, side.count as usize);
        let y = &jac[at + 3 * n..at + 6 * n];
        let x = &mut v[side.velocity as usize..][..n];
        match (<&[T; 18]>::try_from(y), <&mut [T; 6]>::try_from(&mut *x)) {
            (Ok(y), Ok(x)) => add_columns(x, y, d),
            _ => add_columns(x, y, d),
        }
    }
}

/// `J v` of a row that acts on one degree of freedom; its numbers are `c`.
#[inline(always)]
fn row_alone<T: Scalar>(c: &[T], sides: &[SideRecord], v: &[T]) -> Option<T> {
    let dof = (c[con::ROW_DOF].to_f64() as usize).checked_sub(1)?;
    let x = v.get(sides.first()?.velocity as usize + dof)?;
    Some(c[con::ROW_COEFFICIENT].mul_add(*x, T::lit(0.0)))
}

/// `J v` of a row, whose numbers are `c`.
#[inline(always)]
pub fn row_sigma<T: Scalar>(c: &[T], sides: &[SideRecord], jac: &[T], v: &[T]) -> T {
    if let Some(sigma) = row_alone(c, sides, v) {
        return sigma;
    }
    let mut sigma = [T::lit(0.0)];
    for side in sides {
        let (j, x) = side_of::<T, 1>(side, jac, v);
        add_rows(&mut sigma, j, x);
    }
    sigma[0]
}

/// The same for sweeps: see [`block_sigma_by_sums`].
#[inline(always)]
pub(super) fn row_sigma_by_sums<T: Scalar>(c: &[T], sides: &[SideRecord], jac: &[T], v: &[T]) -> T {
    if let Some(sigma) = row_alone(c, sides, v) {
        return sigma;
    }
    let mut sigma = [T::lit(0.0)];
    for side in sides {
        let (j, x) = side_of::<T, 1>(side, jac, v);
        add_rows_by_sums(&mut sigma, j, x);
    }
    sigma[0]
}

/// `v += Y d` of a row.
#[inline(always)]
pub fn row_apply<T: Scalar>(sides: &[SideRecord], jac: &[T], d: T, v: &mut [T]) {
    if d == T::lit(0.0) {
        return;
    }
    for side in sides {
        let n = side.count as usize;
        let y = &jac[side.jac as usize + n..][..n];
        let v = &mut v[side.velocity as usize..][..n];
        v.iter_mut().zip(y).for_each(|(v, &y)| *v = y.mul_add(d, *v));
    }
}

/// Whether a row cannot act in this step, and carries nothing.
#[inline(always)]
pub(super) fn row_is_idle<T: Scalar>(c: &[T], lambda: T) -> bool {
    let zero = T::lit(0.0);
    c[con::ROW_LOWER] == zero && c[con::ROW_UPPER] == zero && lambda == zero
}

/// Clamp to a row's bounds.
#[inline(always)]
fn bounded<T: Scalar>(c: &[T], x: T) -> T {
    x.max(c[con::ROW_LOWER]).min(c[con::ROW_UPPER])
}

/// Impulse that solves a row, the others held: `sigma + e + G (x - lambda) + c x = 0` between the bounds.
#[inline(always)]
pub fn row_solve<T: Scalar>(c: &[T], lambda: T, sigma: T) -> T {
    let compliance = c[con::ROW_COMPLIANCE];
    let whole = (c[con::ROW_DELASSUS] + compliance).max(T::lit(TINY));
    bounded(c, lambda - compliance.mul_add(lambda, sigma + c[con::ROW_BIAS]) / whole)
}

/// The same with a share of G: `sigma + e + share G (x - lambda) + c x = 0` between the bounds.
#[inline(always)]
pub(super) fn row_solve_share<T: Scalar>(c: &[T], share: T, lambda: T, sigma: T) -> T {
    let compliance = c[con::ROW_COMPLIANCE];
    let whole = share.mul_add(c[con::ROW_DELASSUS], compliance).max(T::lit(TINY));
    bounded(c, lambda - compliance.mul_add(lambda, sigma + c[con::ROW_BIAS]) / whole)
}

/// Natural residual `lambda - T(..)` of a row for `beta = step` (Lee 2024, eqs. 15-17), N s.
#[inline(always)]
pub fn row_residual<T: Scalar>(c: &[T], step: T, lambda: T, sigma: T) -> T {
    let compliance = c[con::ROW_COMPLIANCE];
    let fault = compliance.mul_add(lambda, sigma + c[con::ROW_BIAS]);
    let moved = step * fault / step.mul_add(compliance, T::lit(1.0));
    let y = lambda - moved;
    // Between the bounds the residual is free of the rounding of the impulse.
    if c[con::ROW_LOWER] <= y && y <= c[con::ROW_UPPER] { moved } else { lambda - bounded(c, y) }
}

/// Six numbers of a constraint.
#[inline(always)]
pub fn load6<T: Scalar>(c: &[T], at: usize) -> [T; 6] {
    [c[at], c[at + 1], c[at + 2], c[at + 3], c[at + 4], c[at + 5]]
}

/// Velocity that the impulses give: `v = v_free + sum Y lambda`, into `v` (a region), colour by colour.
#[inline(always)]
pub fn recompute<T: Scalar>(all: &Islands, island: &IslandRecord, jac: &[T], impulse: &[T], free: &[T], v: &mut [T]) {
    let span = island.velocity_begin as usize..island.velocity_end as usize;
    v[span.clone()].copy_from_slice(&free[span]);
    for i in island.constraint_begin as usize..island.constraint_end as usize {
        let c = &all.constraints[i];
        let sides = &all.sides[c.side_begin as usize..c.side_end as usize];
        let lambda = [impulse[3 * i], impulse[3 * i + 1], impulse[3 * i + 2]];
        if c.kind == kind::BLOCK {
            block_apply(sides, jac, lambda, v);
        } else {
            row_apply(sides, jac, lambda[0], v);
        }
    }
}

/// Sum of squares of the natural residual (step 1) and the largest scaled residual, of one constraint.
#[inline(always)]
pub fn constraint_residual<T: Scalar>(kind: u32, c: &[T], lambda: [T; 3], sigma: [T; 3]) -> (T, T) {
    let one = T::lit(1.0);
    if kind == kind::BLOCK {
        let mu = c[con::FRICTION];
        let r = local::residual(mu, one, &lambda, &sigma);
        let square = r[0].mul_add(r[0], r[1].mul_add(r[1], r[2] * r[2]));
        (square, local::scaled_residual(mu, trace(c), &lambda, &sigma))
    } else {
        let r = row_residual(c, one, lambda[0], sigma[0]);
        let g = c[con::ROW_DELASSUS];
        let rho = if T::lit(TINY) < g { one / g } else { one };
        (r * r, row_residual(c, rho, lambda[0], sigma[0]).abs() / rho)
    }
}

/// Residual (number 1) and scaled residual of an island at velocity `v`.
#[inline(always)]
pub fn measure<T: Scalar>(
    all: &Islands,
    island: &IslandRecord,
    jac: &[T],
    cons: &[T],
    impulse: &[T],
    v: &[T],
) -> (T, T) {
    let (mut square, mut scaled) = (T::lit(0.0), T::lit(0.0));
    for i in island.constraint_begin as usize..island.constraint_end as usize {
        let c = &cons[con::SIZE * i..con::SIZE * (i + 1)];
        let record = &all.constraints[i];
        let sides = &all.sides[record.side_begin as usize..record.side_end as usize];
        let lambda = [impulse[3 * i], impulse[3 * i + 1], impulse[3 * i + 2]];
        let sigma = if record.kind == kind::BLOCK {
            block_sigma(sides, jac, [c[0], c[1], c[2]], v)
        } else if row_is_idle(c, lambda[0]) {
            continue;
        } else {
            [row_sigma(c, sides, jac, v), T::lit(0.0), T::lit(0.0)]
        };
        let (own, own_scaled) = constraint_residual(record.kind, c, lambda, sigma);
        square += own;
        // A NaN must not be swallowed.
        scaled = if own_scaled <= scaled { scaled } else { own_scaled };
    }
    (square.sqrt() / contacts(island), scaled)
}

/// What number 1 of the residuals is divided by.
#[inline(always)]
pub fn contacts<T: Scalar>(island: &IslandRecord) -> T {
    T::lit(f64::from(island.n_contacts.max(1)))
}

/// Whether an island counts as solved.
#[inline(always)]
pub fn solved<T: Scalar>(dims: &IslandDims, residual: T, scaled: T) -> bool {
    residual <= T::lit(f64::from(f32::from_bits(dims.tolerance)))
        || scaled <= T::lit(f64::from(f32::from_bits(dims.tolerance_scaled)))
}
