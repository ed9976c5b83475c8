//! What a step of a world was.

use std::sync::Arc;

use manyworlds_sparse::{Factor, SparseMatrix, Symbolic};

use crate::block::BlockInput;
use crate::contact::ContactInput;
use crate::model::ContactModel;
use crate::sparse::SparseInput;
use crate::tree::TreeInput;

/// What all trees and bodies of a world have in one sparse matrix, and where the step ended: with these no body needs a factor of its own.
#[derive(Debug, Clone, Copy)]
pub struct WholeInput<'a> {
    /// Place in the matrix of each dof of the world: first those of trees, then those of bodies that deform, each one's together and in
    /// their order.
    pub place: &'a [u32],
    /// How many are of trees.
    pub n_first: usize,
    /// A matrix of its pattern: rows have a column for each dof of the trees, those of trees for all.
    pub pattern: &'a SparseMatrix,
    /// The order of elimination of that.
    pub symbolic: &'a Arc<Symbolic>,
    /// v+ by dof of the world, where it is as exact as the impulses are; else it is found from these.
    pub after: Option<&'a [f64]>,
    /// Near the equations' own, where the step left one.
    pub near: Option<NearFactor<'a>>,
}

/// A factor of about `A + J^T R (D + W)^-1 L J` without what is not symmetric: that of a velocity and impulses near those that the step
/// ended with.
#[derive(Debug, Clone, Copy)]
pub struct NearFactor<'a> {
    /// Of the pattern of [`WholeInput`].
    pub factor: &'a Factor,
    /// W, relative to what a constraint's impulse does to its own velocity where all other dofs are held.
    pub weight: f64,
}

/// What a step of a world was: its trees before it, its contacts and blocks with their impulses.
#[derive(Debug, Clone, Default)]
pub struct StepInput<'a> {
    /// First dof of each tree, then of each body that deforms; empty: one behind the other.
    pub first: Vec<usize>,
    /// Trees, in the order of their dofs.
    pub trees: Vec<TreeInput<'a>>,
    /// Bodies that deform.
    pub sparse: Vec<SparseInput<'a>>,
    /// All of them together, where there are bodies that deform; without, or where that does not do, each body is factored by itself.
    pub whole: Option<WholeInput<'a>>,
    /// Contacts.
    pub contacts: &'a [ContactInput],
    /// Bilateral blocks, of one tree or of two.
    pub blocks: &'a [BlockInput],
    /// The contact it was solved with.
    pub model: ContactModel,
    /// It was computed in single precision: switches and closed gaps are told from others by as much less.
    pub single: bool,
    /// How far off the velocities after it may be, m/s: constraints no farther than that from a switch may be on either side.
    pub doubt: f64,
    /// Controls of each tree, by their numbers in the world, `[trees][n_u]`.
    pub controls: Vec<&'a [usize]>,
    /// Activations of each tree, by their numbers in the world, `[trees][n_act]`.
    pub activations: Vec<&'a [usize]>,
}
