//! What a step of a world was.

use crate::block::BlockInput;
use crate::contact::ContactInput;
use crate::model::ContactModel;
use crate::sparse::SparseInput;
use crate::tree::TreeInput;

/// What a step of a world was: its trees before it, its contacts and blocks with their impulses.
#[derive(Debug, Clone, Default)]
pub struct StepInput<'a> {
    /// First dof of each tree, then of each body that deforms; empty: one behind the other.
    pub first: Vec<usize>,
    /// Trees, in the order of their dofs.
    pub trees: Vec<TreeInput<'a>>,
    /// Bodies that deform.
    pub sparse: Vec<SparseInput<'a>>,
    /// Contacts.
    pub contacts: &'a [ContactInput],
    /// Bilateral blocks, of one tree or of two.
    pub blocks: &'a [BlockInput],
    /// The contact it was solved with.
    pub model: ContactModel,
    /// It was computed in single precision: switches and closed gaps are told from others by as much less.
    pub single: bool,
    /// Controls of each tree, by their numbers in the world, `[trees][n_u]`.
    pub controls: Vec<&'a [usize]>,
}
