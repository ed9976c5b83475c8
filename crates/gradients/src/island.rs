//! An island of a step: trees that share constraints, or one tree alone.

/// What an island consists of, by numbers in the world, each list ascending.
#[derive(Debug, Clone, Default)]
pub(crate) struct Island {
    pub(crate) trees: Vec<usize>,
    pub(crate) contacts: Vec<usize>,
    pub(crate) blocks: Vec<usize>,
}

impl Island {
    /// Where a tree of the world stands among those of the island.
    pub(crate) fn member_of(&self, tree: usize) -> usize {
        self.trees.binary_search(&tree).unwrap_or_default()
    }
}
