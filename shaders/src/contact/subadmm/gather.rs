//! Momentum matrices of the trees of one set to where their islands' solver has them.

use bytemuck::{Pod, Zeroable};

use super::layout::SplitTree;
use crate::args::Args;
use crate::contact::island::{items, words};
use crate::{Real, Scalar};

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Trees of the set in islands.
    pub n_items: u32,
    /// First word of their numbers in `split_index`.
    pub items_at: u32,
    /// First word of the tree records.
    pub trees_at: u32,
    /// Entries of the branch-sparse matrix.
    pub n_m: u32,
}

/// `momentum` is a tile buffer of the set.
pub fn gather<T: Scalar, R: Real<Scalar = T>>(dims: &Dims, index: &[u32], momentum: &[R], split: &mut [T]) {
    let n_m = dims.n_m as usize;
    for &tree in items::<u32>(index, dims.items_at, dims.n_items) {
        let at = dims.trees_at + tree * words::<SplitTree>() as u32;
        let record = &items::<SplitTree>(index, at, 1)[0];
        let (tile, lane) = (record.lane as usize / R::N, record.lane as usize % R::N);
        let to = &mut split[record.matrix as usize..][..n_m];
        for (to, from) in to.iter_mut().zip(&momentum[tile * n_m..][..n_m]) {
            *to = from.lane(lane);
        }
    }
}

/// Buffers: split_index, momentum -> split.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, momentum, split] = args.split();
    gather(&dims, index.index(), momentum.tile(), split.real_mut());
}
