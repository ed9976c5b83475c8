//! What every SubADMM kernel reads: records of trees, constraints, slacks and islands in `split_index`, and the state of
//! a solve in `split`.
//!
//! | part of `split` | content |
//! |---|---|
//! | by tree, from [`SplitTree::matrix`] | A, then the factor of `A + sum beta J^T J`, each `[n_m]`, branch-sparse |
//! | by slack, from `slack_real`, [`slack`] | z and what the tree's right-hand side takes over |
//! | by slack, from [`SplitSlack::packed`] | J along its chain |
//! | by constraint, from `constraint_real`, [`constraint`] | penalty, free velocity, residuals |
//! | by island, from `island_real`, [`island`] | when penalties are adapted next, outcome |
//!
//! Velocities: the island's `velocity`, whose region SCRATCH holds d.

use bytemuck::{Pod, Zeroable};

use crate::Scalar;
use crate::contact::island::items;

/// Uniform of all SubADMM kernels.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SplitDims {
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
    /// Iterations after this dispatch.
    pub iterations: u32,
    /// Bits of an f32: the residual (number 1) at which an island is solved.
    pub tolerance: u32,
    /// Bits of an f32: the scaled residual, m/s, at which it is solved too.
    pub tolerance_scaled: u32,
    /// Iterations before this dispatch; 0: a solve begins.
    pub done: u32,
    /// Trees in islands.
    pub n_trees: u32,
    /// First word of the [`SplitTree`]s in `split_index`.
    pub trees_at: u32,
    /// First word of the [`SplitConstraint`]s.
    pub splits_at: u32,
    /// First word of the [`SplitSlack`]s.
    pub slacks_at: u32,
    /// Slacks.
    pub n_slacks: u32,
    /// First word of the [`SplitIsland`]s.
    pub islands_at: u32,
    /// First real of the slacks in `split`.
    pub slack_real: u32,
    /// First real of the constraints.
    pub constraint_real: u32,
    /// First real of the islands.
    pub island_real: u32,
    /// Bits of an f32: over-relaxation, in (0, 2).
    pub relaxation: u32,
    /// Bits of an f32: a penalty is adapted when primal and dual residual differ by more than this factor.
    pub imbalance: u32,
    /// Iterations before the penalties are first adapted; each wait is longer by a quarter than the one before.
    pub adapt_after: u32,
    /// 1: a dispatch of the wide form, which leaves alone the islands that a workgroup solves; 0: of both.
    pub wide: u32,
}

/// A tree in an island. Trees stand by island.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SplitTree {
    /// Its island.
    pub island: u32,
    /// First entry in a region of `velocity`.
    pub velocity: u32,
    /// Dofs.
    pub n_v: u32,
    /// Word of `split_index` from which on stands where each dof's row of the matrix begins, `[n_v + 1]`.
    pub begins: u32,
    /// Word from which on stand the dofs of the entries of those rows: the dof itself, its parent and so on, `[n_m]`.
    pub columns: u32,
    /// First real of its matrices in `split`.
    pub matrix: u32,
    /// First word of the numbers of the slacks that act on it.
    pub list_begin: u32,
    /// One past the last.
    pub list_end: u32,
    /// Lane of its tree set.
    pub lane: u32,
}

/// A constraint: its slacks.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SplitConstraint {
    /// First slack.
    pub slack_begin: u32,
    /// One past the last.
    pub slack_end: u32,
    /// Its island.
    pub island: u32,
    /// 3, or 1.
    pub rows: u32,
}

/// A constraint's share of a chain of dofs. Slacks stand by constraint.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SplitSlack {
    /// The constraint.
    pub constraint: u32,
    /// First entry of its tree in a region of `velocity`.
    pub velocity: u32,
    /// First real of its side in `island_jac`.
    pub jac: u32,
    /// Dofs of the tree.
    pub count: u32,
    /// Word of `split_index` from which on stand the dofs of the chain, from the tip to the root.
    pub chain: u32,
    /// How many of them.
    pub length: u32,
    /// 3, or 1.
    pub rows: u32,
    /// 1 for the first slack of its side, else 0.
    pub first: u32,
    /// First real in `split` of J along the chain, `[length][rows]`.
    pub packed: u32,
}

/// An island.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct SplitIsland {
    /// First tree.
    pub tree_begin: u32,
    /// One past the last.
    pub tree_end: u32,
    /// First constraint.
    pub constraint_begin: u32,
    /// One past the last.
    pub constraint_end: u32,
    /// Contacts among the constraints.
    pub n_contacts: u32,
    /// 1: solved by dispatches over all trees and constraints; 0: by a workgroup.
    pub wide: u32,
    /// What is to be done with it, of [`part`](crate::dynamics::names::part): its impulses stay as they are but where it is solved.
    pub part: u32,
}

/// Offsets in a slack's part of `split`.
pub mod slack {
    /// z, m/s, 3.
    pub const Z: usize = 0;
    /// `beta z + lambda`, N s, 3.
    pub const PUSH: usize = 3;
    /// Reals of a slack.
    pub const SIZE: usize = 6;
}

/// Offsets in a constraint's part of `split`.
pub mod constraint {
    /// beta, kg; 0: it moves nothing or carries nothing, and is left out.
    pub const PENALTY: usize = 0;
    /// `J v_free + e`, m/s, 3.
    pub const FREE: usize = 1;
    /// `|beta (z - z before)|^2`, N^2 s^2.
    pub const CHANGE: usize = 4;
    /// Square of the natural residual.
    pub const SQUARE: usize = 5;
    /// Scaled residual, m/s.
    pub const SCALED: usize = 6;
    /// Reals of a constraint.
    pub const SIZE: usize = 8;
}

/// Offsets in an island's part of `split`.
pub mod island {
    /// Iterations done at which the penalties are next adapted.
    pub const NEXT: usize = 0;
    /// Iterations from then to the time after.
    pub const WAIT: usize = 1;
    /// 1: its trees are to be factored anew.
    pub const REFACTOR: usize = 2;
    /// 1: nothing is left to do.
    pub const STOPPED: usize = 3;
    /// Reals of an island.
    pub const SIZE: usize = 4;
}

/// The records, read in place.
#[derive(Debug, Clone, Copy)]
pub struct Split<'a> {
    /// Sizes.
    pub dims: &'a SplitDims,
    /// All of `split_index`.
    pub index: &'a [u32],
    /// `[n_trees]`
    pub trees: &'a [SplitTree],
    /// `[n_constraints]`
    pub constraints: &'a [SplitConstraint],
    /// `[n_slacks]`
    pub slacks: &'a [SplitSlack],
    /// `[n_islands]`
    pub islands: &'a [SplitIsland],
}

impl<'a> Split<'a> {
    /// Finds the records in `split_index`.
    #[must_use]
    pub fn new(dims: &'a SplitDims, index: &'a [u32]) -> Self {
        Self {
            dims,
            index,
            trees: items(index, dims.trees_at, dims.n_trees),
            constraints: items(index, dims.splits_at, dims.n_constraints),
            slacks: items(index, dims.slacks_at, dims.n_slacks),
            islands: items(index, dims.islands_at, dims.n_islands),
        }
    }

    /// Slacks of a constraint, and the number of the first.
    #[inline(always)]
    #[must_use]
    pub fn slacks_of(&self, constraint: &SplitConstraint) -> (usize, &'a [SplitSlack]) {
        let begin = constraint.slack_begin as usize;
        (begin, &self.slacks[begin..constraint.slack_end as usize])
    }

    /// Numbers of the slacks that act on a tree.
    #[inline(always)]
    #[must_use]
    pub fn list(&self, tree: &SplitTree) -> &'a [u32] {
        &self.index[tree.list_begin as usize..tree.list_end as usize]
    }

    /// Dofs of a slack's chain, tip first.
    #[inline(always)]
    #[must_use]
    pub fn chain(&self, slack: &SplitSlack) -> &'a [u32] {
        &self.index[slack.chain as usize..][..slack.length as usize]
    }

    /// First real of a slack in `split`.
    #[inline(always)]
    #[must_use]
    pub fn slack_at(&self, number: usize) -> usize {
        self.dims.slack_real as usize + slack::SIZE * number
    }

    /// First real of a constraint in `split`.
    #[inline(always)]
    #[must_use]
    pub fn constraint_at(&self, number: usize) -> usize {
        self.dims.constraint_real as usize + constraint::SIZE * number
    }

    /// First real of an island in `split`.
    #[inline(always)]
    #[must_use]
    pub fn island_at(&self, number: usize) -> usize {
        self.dims.island_real as usize + island::SIZE * number
    }

    /// Whether a dispatch is to leave an island alone.
    #[inline(always)]
    #[must_use]
    pub fn rests<T: Scalar>(&self, number: usize, split: &[T]) -> bool {
        let of_others = self.dims.wide == 1 && self.islands[number].wide == 0;
        of_others || self.dims.done > 0 && self.has_stopped(number, split)
    }

    /// Whether nothing is left to do in an island whose solve has begun.
    #[inline(always)]
    #[must_use]
    pub fn has_stopped<T: Scalar>(&self, number: usize, split: &[T]) -> bool {
        T::lit(0.0) < split[self.island_at(number) + island::STOPPED]
    }

    /// An f32 of the uniform.
    #[inline(always)]
    #[must_use]
    pub fn number<T: Scalar>(bits: u32) -> T {
        T::lit(f64::from(f32::from_bits(bits)))
    }
}
