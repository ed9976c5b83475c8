//! What the kernel reads beside the islands' own records: its settings, what touches each degree of freedom in `cr_index`,
//! and the numbers of a solve in `cr`.
//!
//! | part of `cr` | content |
//! |---|---|
//! | by constraint, from 0 | [`term`] |
//! | by island, behind them | [`state`] |
//!
//! Region SOLUTION of the islands' `velocity` holds what the impulses give, region SCRATCH `Y x` of a product `G x`.

use bytemuck::{Pod, Zeroable};

use crate::contact::island::{IslandDims, items};

/// Uniform of the kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct ResidualDims {
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
    /// Bits of an f32: the residual (number 1) at which an island is solved.
    pub tolerance: u32,
    /// Bits of an f32: the scaled residual, m/s, at which it is, too.
    pub tolerance_scaled: u32,
    /// Newton steps before this dispatch; 0: a solve begins.
    pub done: u32,
    /// Newton steps of a solve at most: an island that is unsolved after them is left with its best impulses.
    pub most: u32,
    /// First word of the [`DofRecord`]s in `cr_index`; islands' iterations of the linear solver stand before them.
    pub dofs_at: u32,
    /// First word of the [`ItemRecord`]s.
    pub items_at: u32,
    /// One of [`function`].
    pub function: u32,
    /// Bits of an f32, like all that follows: scaling of impulses beside velocities, 1/kg; 0: the diagonal of G.
    pub scale: u32,
    /// Share of a Newton step that is taken.
    pub damping: u32,
    /// The linear solver stops at this share of its first residual.
    pub share: u32,
    /// Added to the diagonal of the linear system, relative to that of G.
    pub shift: u32,
}

impl ResidualDims {
    /// These sizes with the settings of a method.
    #[must_use]
    pub fn with(&self, settings: &Self) -> Self {
        Self {
            function: settings.function,
            scale: settings.scale,
            damping: settings.damping,
            share: settings.share,
            shift: settings.shift,
            ..*self
        }
    }

    /// As the functions for islands want them.
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

/// Which function's zeros are complementary pairs.
pub mod function {
    /// `min(a, b)`
    pub const MINIMUM_MAP: u32 = 0;
    /// `a + b - sqrt(a^2 + b^2)`
    pub const FISCHER_BURMEISTER: u32 = 1;
}

/// A degree of freedom, by entry of a region of `velocity`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct DofRecord {
    /// First of the items of its tree.
    pub begin: u32,
    /// One past the last.
    pub end: u32,
    /// Its number in its tree.
    pub place: u32,
    /// Dofs of its tree.
    pub count: u32,
}

/// A side of a constraint, by tree, in the order of the constraints.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct ItemRecord {
    /// First real of its Y in `island_jac`.
    pub response: u32,
    /// Twice the constraint's number; plus one where it is a single row.
    pub constraint: u32,
}

/// Offsets in a constraint's part of `cr`, three reals each.
pub mod term {
    /// Compliance of the rows, shift included, 1/kg.
    pub const COMPLIANCE: usize = 0;
    /// Inverse of the diagonal of `G + C`, kg; 0: the row is no part of the linear system.
    pub const PRECONDITIONER: usize = 3;
    /// Change of the impulse, N s: of fixed rows from the start.
    pub const X: usize = 6;
    /// What the rows lack, m/s.
    pub const R: usize = 9;
    /// The same times the preconditioner, N s.
    pub const Z: usize = 12;
    /// Direction, N s.
    pub const D: usize = 15;
    /// `(G + C) d`, m/s.
    pub const MD: usize = 18;
    /// `(G + C) z`, m/s.
    pub const MZ: usize = 21;
    /// Best impulse so far, N s.
    pub const BEST: usize = 24;
    /// Reals of a constraint.
    pub const SIZE: usize = 27;
}

/// Offsets in an island's part of `cr`: what a device carries from dispatch to dispatch.
pub mod state {
    /// Least residual (number 1) so far, N s.
    pub const BEST: usize = 0;
    /// Residual of the last step, N s.
    pub const LAST: usize = 1;
    /// Share of the next step that is taken.
    pub const SHARE: usize = 2;
    /// Reals of an island.
    pub const SIZE: usize = 3;
}

/// The records, read in place.
#[derive(Debug, Clone, Copy)]
pub struct Records<'a> {
    /// By island: iterations of the linear solver in a Newton step at most; 0: the island is left as it is.
    pub linear: &'a [u32],
}

impl<'a> Records<'a> {
    /// Finds the records in `cr_index`.
    #[must_use]
    pub fn new(dims: &ResidualDims, index: &'a [u32]) -> Self {
        Self { linear: items(index, 0, dims.n_islands) }
    }
}
