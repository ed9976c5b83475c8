//! What every kernel of the convex solvers reads: records of islands and of degrees of freedom in `convex_index`, and the
//! state of a solve in `convex`.
//!
//! | part of `convex` | content |
//! |---|---|
//! | by tree, from [`DofRecord::row`] of its first dof | A, dense, `[n, n]` |
//! | by island, from [`PlaceRecord::real`] | [`state`]; gradient, kg m/s, `[n_v]`; in the large form the matrix, packed; in the iterative one [`conjugate`] and blocks as A |
//! | by constraint, from `constraint_real` | [`term`] |
//! | CANAL: by slot, from `mixing_real` | [`mixing`], `[n_constraints]` each |
//!
//! Velocities: those of the minimisation in region SCRATCH of the island's `velocity`, directions in SOLUTION, which at the
//! end of a dispatch holds what the impulses give.

use bytemuck::{Pod, Zeroable};

use crate::contact::island::{IslandDims, items};

/// Uniform of all kernels of the convex solvers.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct ConvexDims {
    /// Islands.
    pub n_islands: u32,
    /// As in `IslandDims`, like the next two: where records stand in `island_index`.
    pub colours_at: u32,
    /// First word of the constraint records of `island_index`.
    pub constraints_at: u32,
    /// First word of the side records of `island_index`.
    pub sides_at: u32,
    /// Constraints.
    pub n_constraints: u32,
    /// Reals of a region of `velocity`.
    pub n_velocity: u32,
    /// Newton steps after this dispatch.
    pub iterations: u32,
    /// Bits of an f32: the residual (number 1) at which CANAL has solved an island.
    pub tolerance: u32,
    /// Bits of an f32: the scaled residual, m/s, at which it has, too.
    pub tolerance_scaled: u32,
    /// Newton steps before this dispatch; 0: a solve begins.
    pub done: u32,
    /// First word of the [`PlaceRecord`]s in `convex_index`.
    pub places_at: u32,
    /// First word of the [`DofRecord`]s.
    pub dofs_at: u32,
    /// First real of the constraints in `convex`.
    pub constraint_real: u32,
    /// First real of the [`mixing`] of shifts in `convex`.
    pub mixing_real: u32,
    /// One of [`method`].
    pub method: u32,
    /// Bits of an f32, like all that follows: square of the share of momentum that is round-off.
    pub floor: u32,
    /// CANAL: penalty to begin with, in effective masses.
    pub penalty: u32,
    /// CANAL: largest penalty.
    pub penalty_most: u32,
    /// CANAL: factor of the penalty.
    pub growth: u32,
    /// CANAL: the penalty grows where the gap did not fall to this share.
    pub decrease: u32,
    /// CANAL: share of the outer error, in sqrt(J), to which an inner problem is solved.
    pub inner_share: u32,
    /// CANAL: Newton steps of an inner problem at most, a plain number.
    pub inner: u32,
    /// CANAL: outer iterations at most, a plain number.
    pub outer: u32,
    /// CANAL: square of the share of a difference of shifts, beside those that are newer, below which it is noise.
    pub noise: u32,
    /// Conjugate residuals: rounds of a turn.
    pub rounds: u32,
    /// SAP: period of the stiffest contact in time steps, beta of Castro 2022, eq. 29.
    pub near_rigid: u32,
    /// SAP: inverse of sigma of eq. 30.
    pub stiction: u32,
    /// SAP: relative tolerance on the gradient, in sqrt(J).
    pub relative: u32,
    /// SAP: absolute tolerance on the gradient, sqrt(J).
    pub absolute: u32,
}

impl ConvexDims {
    /// These sizes with the settings of a method.
    #[must_use]
    pub fn with(&self, settings: &Self) -> Self {
        Self {
            n_islands: self.n_islands,
            colours_at: self.colours_at,
            constraints_at: self.constraints_at,
            sides_at: self.sides_at,
            n_constraints: self.n_constraints,
            n_velocity: self.n_velocity,
            places_at: self.places_at,
            dofs_at: self.dofs_at,
            constraint_real: self.constraint_real,
            mixing_real: self.mixing_real,
            rounds: self.rounds,
            ..*settings
        }
    }

    /// What functions for islands want of it.
    #[must_use]
    pub fn of_islands(&self) -> IslandDims {
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

/// Which of the two solvers it is.
pub mod method {
    /// The augmented Lagrangian of exact contact.
    pub const CANAL: u32 = 0;
    /// Compliant contact.
    pub const SAP: u32 = 1;
}

/// Where the matrix of an island lies.
pub mod form {
    /// Nowhere: the island is left as it is.
    pub const NONE: u32 = 0;
    /// In workgroup memory.
    pub const GROUP: u32 = 1;
    /// In the island's part of `convex`.
    pub const LARGE: u32 = 2;
    /// It is not written out: there are vectors and the trees' own blocks instead.
    pub const ITERATIVE: u32 = 3;
}

/// An island.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct PlaceRecord {
    /// One of [`form`].
    pub form: u32,
    /// First real of its part of `convex`.
    pub real: u32,
}

/// A degree of freedom, by entry of a region of `velocity`. Numbers are those within its island.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct DofRecord {
    /// First column of its row that is not zero in the lower triangle of the matrix: the envelope.
    pub first: u32,
    /// First dof of its tree.
    pub tree: u32,
    /// Dofs of its tree.
    pub count: u32,
    /// First real of its row of A in `convex`; [`crate::dynamics::tree::NONE`] in islands that are left as they are.
    pub row: u32,
    /// Word of `convex_index` where the sides of its tree begin to be listed, by constraint.
    pub sides_begin: u32,
    /// One past the last.
    pub sides_end: u32,
}

/// Offsets in a constraint's part of `convex`.
pub mod term {
    /// Block: weight of the tangential rows, kg.
    pub const BETA_T: usize = 0;
    /// Row: compliance beside the weight, 1/kg.
    pub const ROW_COMPLIANCE: usize = 0;
    /// Weight of the normal row, or of the only one, kg.
    pub const BETA_N: usize = 1;
    /// Impulse where `J v = -bias`, N s, 3.
    pub const BEFORE: usize = 2;
    /// m/s, 3.
    pub const BIAS: usize = 5;
    /// `J v`, m/s, 3.
    pub const SIGMA: usize = 8;
    /// Impulse at `v`, N s, 3.
    pub const LAMBDA: usize = 11;
    /// `-d lambda / d(J v)`, kg: 00 01 02 11 12 22.
    pub const SLOPE: usize = 14;
    /// `J d`, m/s, 3.
    pub const ALONG: usize = 20;
    /// Mean of the diagonal of `G_ii`, 1/kg; 0 where the constraint moves nothing.
    pub const MEAN: usize = 23;
    /// Reals of a constraint.
    pub const SIZE: usize = 24;
}

/// Differences of shifts that are combined at most.
pub const WINDOW: usize = 5;

/// What is known of the shift of each contact, m/s: slots of `n_constraints` reals each, from `mixing_real` on.
pub mod mixing {
    use super::WINDOW;

    /// Where the last shift led, on top of the bias.
    pub const IMAGE: usize = 0;
    /// How far that was from it.
    pub const RESIDUAL: usize = 1;
    /// Differences of subsequent images, `[WINDOW]`.
    pub const IMAGES: usize = 2;
    /// Differences of subsequent residuals, `[WINDOW]`.
    pub const RESIDUALS: usize = IMAGES + WINDOW;
    /// Slots.
    pub const SIZE: usize = RESIDUALS + WINDOW;
}

/// Offsets in an island's part of `convex`: what a device carries from dispatch to dispatch.
pub mod state {
    /// Penalty in effective masses.
    pub const PENALTY: usize = 0;
    /// Largest `|J v - z|` of the last outer iteration, m/s.
    pub const GAP: usize = 1;
    /// Largest change of the shift before the present one, m/s.
    pub const MOVED: usize = 2;
    /// Newton steps of the present inner problem.
    pub const INNER: usize = 3;
    /// Outer iterations so far.
    pub const OUTER: usize = 4;
    /// Stiffest weight in effective masses, at least 1: how much an impulse magnifies round-off in `J v`.
    pub const STIFFEST: usize = 5;
    /// Slot of the last difference that [`super::mixing`] learnt.
    pub const NEWEST: usize = 6;
    /// Differences that it knows.
    pub const LEARNT: usize = 7;
    /// Square of the last change of the shift by itself, (m/s)^2; below 0 before the first.
    pub const DISTANCE: usize = 8;
    /// How much of each difference to take off, `[WINDOW]`.
    pub const GAMMA: usize = 9;
    /// Products of the differences of residuals, `[WINDOW, WINDOW]`.
    pub const GRAM: usize = GAMMA + super::WINDOW;
    /// Conjugate residuals: rounds of the direction that is being looked for; 0: of none.
    pub const ROUNDS: usize = 39;
    /// Conjugate residuals: `z^T H z`, J.
    pub const ENERGY: usize = 40;
    /// Conjugate residuals: square of the residual in the norm of `diag(A)^-1` at which a direction is found, J.
    pub const ENOUGH: usize = 41;
    /// Reals of the state; the gradient follows.
    pub const SIZE: usize = 48;
}

/// Vectors of an island of [`form::ITERATIVE`], `[n_v]` each; the preconditioner's blocks follow.
pub mod conjugate {
    /// The gradient, kg m/s, as in every form.
    pub const GRADIENT: usize = 0;
    /// What the direction d leaves, `-gradient - H d`, kg m/s.
    pub const RESIDUAL: usize = 1;
    /// The residual times the preconditioner, m/s.
    pub const Z: usize = 2;
    /// Where the next round goes, m/s.
    pub const P: usize = 3;
    /// `H z`, kg m/s.
    pub const HZ: usize = 4;
    /// `H p`, kg m/s.
    pub const HP: usize = 5;
    /// That times the preconditioner, m/s.
    pub const MHP: usize = 6;
    /// The direction so far, m/s: region SOLUTION does not outlast a dispatch.
    pub const DIRECTION: usize = 7;
    /// Vectors.
    pub const SIZE: usize = 8;
}

/// Reals of the lower triangle of a matrix of `n` dofs, row by row, and of its right-hand side as a further row.
#[inline(always)]
#[must_use]
pub const fn packed(n: usize) -> usize {
    (n + 1) * (n + 2) / 2
}

/// The records, read in place.
#[derive(Debug, Clone, Copy)]
pub struct Records<'a> {
    /// By island.
    pub places: &'a [PlaceRecord],
    /// By entry of a region of `velocity`.
    pub dofs: &'a [DofRecord],
}

impl<'a> Records<'a> {
    /// Finds the records in `convex_index`.
    #[must_use]
    pub fn new(dims: &ConvexDims, index: &'a [u32]) -> Self {
        Self { places: items(index, dims.places_at, dims.n_islands), dofs: items(index, dims.dofs_at, dims.n_velocity) }
    }
}
