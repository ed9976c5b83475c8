//! The one door to the numbers of a batch: what they are, their shape and strides, and where they lie.
//!
//! A field of a group has a row a world: its shape is `[worlds, ..]`. The kernels keep it in blocks of lanes side by side, and
//! [`Field`] shows these in place: slices on the CPU, buffers on a GPU. [`Batch::read`](crate::Batch::read) and
//! [`Batch::write`](crate::Batch::write) copy rows out and in.

pub(crate) mod block;
pub(crate) mod id;
pub(crate) mod rows;

use std::ops::Range;

pub use self::block::{Block, BlockMut, Layout, Numbers, NumbersMut};
pub use self::id::FieldId;
pub use self::rows::Number;
use crate::Precision;
use crate::group::worlds::Worlds;

/// A field of all worlds of a group, where it lies.
pub struct Field<'a> {
    pub(crate) group: &'a dyn Worlds,
    pub(crate) id: FieldId,
    /// First world of the group.
    pub(crate) first: usize,
}

/// A field of all worlds of a group, where it lies, to be written.
pub struct FieldMut<'a> {
    pub(crate) group: &'a mut dyn Worlds,
    pub(crate) id: FieldId,
    /// First world of the group.
    pub(crate) first: usize,
}

impl<'a> Field<'a> {
    /// Which field it is.
    #[must_use]
    pub fn id(&self) -> FieldId {
        self.id
    }

    /// Worlds, then the shape of a world's row.
    #[must_use]
    pub fn shape(&self) -> Vec<usize> {
        std::iter::once(self.group.len()).chain(self.group.row_shape(self.id)).collect()
    }

    /// Worlds of the batch.
    #[must_use]
    pub fn worlds(&self) -> Range<usize> {
        self.first..self.first + self.group.len()
    }

    /// The number type.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.group.precision()
    }

    /// The blocks that hold it, in order of worlds; some numbers of a row may be in none: those of bodies that never move.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let (group, id, first) = (self.group, self.id, self.first);
        (0..group.n_blocks(id)).map(move |at| group.block(id, first, at))
    }

    /// One number of a world's row. `None` on a device, and for what is in no block. A search: for looks at a few numbers.
    #[must_use]
    pub fn get(&self, world: usize, column: usize) -> Option<f64> {
        self.blocks().find_map(|block| {
            let index = block.layout.find(world, column)?;
            match block.numbers {
                Numbers::F32(numbers) => numbers.get(index).map(|&x| x.into()),
                Numbers::F64(numbers) => numbers.get(index).copied(),
                Numbers::Device(_) => None,
            }
        })
    }
}

impl FieldMut<'_> {
    /// Which field it is.
    #[must_use]
    pub fn id(&self) -> FieldId {
        self.id
    }

    /// Calls with each block that holds it, in order of worlds.
    pub fn for_each_block(&mut self, mut f: impl FnMut(BlockMut<'_>)) {
        self.group.for_each_block_mut(self.id, self.first, &mut f);
    }
}
