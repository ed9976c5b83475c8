//! The islands of a chunk of worlds as the records that the host makes of them.

use manyworlds_shaders::contact::island::{
    ConstraintRecord, IslandDims, IslandRecord, RowItem, SetDims, SideItem, SideRecord, TreeItem,
};

/// The islands of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct Islands<'a> {
    /// Sizes.
    pub dims: &'a IslandDims,
    /// By island.
    pub islands: &'a [IslandRecord],
    /// By constraint.
    pub constraints: &'a [ConstraintRecord],
    /// By constraint.
    pub sides: &'a [SideRecord],
}

/// What of one tree set is in islands.
#[derive(Debug, Clone, Copy)]
pub struct SetItems<'a> {
    /// Sizes.
    pub dims: &'a SetDims,
    /// Its trees.
    pub trees: &'a [TreeItem],
    /// Their static rows, in the order in which constraints have them as sides.
    pub rows: &'a [RowItem],
    /// Their sides of contacts and blocks, in the order of the constraints.
    pub sides: &'a [SideItem],
}
