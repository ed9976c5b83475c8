//! Where the numbers of a field lie.

use std::ops::Range;

use crate::wgpu;

/// Where the numbers of a block are.
///
/// The `i`-th of a world's `trees` lanes is lane `L = (world - worlds.start) * trees + i`, and its number `e` stands at
/// `offset + (L / shape[1]) * strides[0] + (L % shape[1]) * strides[1] + e * strides[2]`. It is entry `column(i, e)` of the
/// world's row. Lanes behind those of the last world are padding.
#[derive(Debug, Clone)]
pub struct Layout<'a> {
    /// Worlds of the batch.
    pub worlds: Range<usize>,
    /// Lanes of a world: trees of the model that are alike.
    pub trees: usize,
    /// Tiles, lanes of a tile, numbers of a lane.
    pub shape: [usize; 3],
    /// Distances along these, in numbers.
    pub strides: [usize; 3],
    /// The first number.
    pub offset: usize,
    /// Entries of a world's row by tree and number, `[trees][pitch]`.
    pub(crate) columns: &'a [u32],
    pub(crate) pitch: usize,
}

/// One run of worlds and the trees in them that are alike: a strided tensor.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// Shape, strides, and what stands where.
    pub layout: Layout<'a>,
    /// The memory that they are about.
    pub numbers: Numbers<'a>,
}

/// [`Block`], to be written.
#[derive(Debug)]
pub struct BlockMut<'a> {
    /// Shape, strides, and what stands where.
    pub layout: Layout<'a>,
    /// The memory that they are about.
    pub numbers: NumbersMut<'a>,
}

/// Memory of a block.
#[derive(Debug, Clone, Copy)]
pub enum Numbers<'a> {
    /// In main memory.
    F32(&'a [f32]),
    /// In main memory.
    F64(&'a [f64]),
    /// On the device, in the batch's precision: a storage buffer that can be copied from and to. What has been submitted to
    /// the same queue comes before what will be. It is another buffer when the batch is another.
    Device(&'a wgpu::Buffer),
}

/// [`Numbers`], to be written.
#[derive(Debug)]
pub enum NumbersMut<'a> {
    /// In main memory.
    F32(&'a mut [f32]),
    /// In main memory.
    F64(&'a mut [f64]),
    /// On the device: write it by work submitted to the batch's queue, before the next step is.
    Device(&'a wgpu::Buffer),
}

impl Layout<'_> {
    /// Where number `e` of the `tree`-th lane of a world stands; `None` if there is no such world, lane or number.
    #[must_use]
    pub fn index(&self, world: usize, tree: usize, e: usize) -> Option<usize> {
        if !self.worlds.contains(&world) || tree >= self.trees || e >= self.shape[2] {
            return None;
        }
        let lane = (world - self.worlds.start) * self.trees + tree;
        let [tiles, lanes, numbers] = self.strides;
        Some(self.offset + lane / self.shape[1] * tiles + lane % self.shape[1] * lanes + e * numbers)
    }

    /// The entry of a world's row that number `e` of its `tree`-th lane is.
    #[must_use]
    pub fn column(&self, tree: usize, e: usize) -> Option<usize> {
        (tree < self.trees && e < self.shape[2]).then(|| self.columns[tree * self.pitch + e] as usize)
    }

    /// Where an entry of a world's row stands, if it is in this block.
    pub(super) fn find(&self, world: usize, column: usize) -> Option<usize> {
        let of_tree = |tree| (0..self.shape[2]).map(move |e| (tree, e));
        let mut all = (0..self.trees).flat_map(of_tree);
        all.find(|&(tree, e)| self.column(tree, e) == Some(column)).and_then(|(tree, e)| self.index(world, tree, e))
    }
}
