//! Where the trees and bodies of a model stand among the lanes of its tree sets.

use manyworlds_dynamics::TreeSet;
use manyworlds_model::Model;

/// A tree instance of a world: the `index`-th of `set`'s trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreePlace {
    /// Tree set.
    pub(crate) set: usize,
    /// Position among the trees of one world in that set.
    pub(crate) index: usize,
}

/// A body's place in its tree, `None` for the ground and what is welded to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyPlace {
    /// Tree of the model.
    pub(crate) tree: usize,
    /// Body within the tree.
    pub(crate) local: usize,
}

/// The places of one model.
#[derive(Debug)]
pub(crate) struct LaneMap {
    /// Of each tree of the model.
    pub(crate) trees: Vec<TreePlace>,
    /// Of each body of the model.
    pub(crate) bodies: Vec<Option<BodyPlace>>,
}

impl LaneMap {
    /// From a model and the tree sets compiled from it.
    pub(crate) fn new(model: &Model, sets: &[TreeSet]) -> Self {
        let mut trees = vec![TreePlace { set: 0, index: 0 }; model.trees.len()];
        for (set, tree_set) in sets.iter().enumerate() {
            for (index, &tree) in tree_set.trees.iter().enumerate() {
                trees[tree] = TreePlace { set, index };
            }
        }
        let bodies = model
            .bodies
            .iter()
            .enumerate()
            .map(|(body, b)| b.tree.map(|tree| BodyPlace { tree, local: body - model.trees[tree].bodies.start }))
            .collect();
        Self { trees, bodies }
    }
}
