//! Which islands are solved, and which penalties are to change: the wide form's workgroup an island.

use super::layout::{Split, SplitDims};
use super::verdict;
use crate::args::Args;
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = SplitDims;

/// All islands that do not rest.
pub fn judge<T: Scalar>(dims: &SplitDims, index: &[u32], split: &mut [T], infos: &mut [T]) {
    let all = Split::new(dims, index);
    for island in 0..all.islands.len() {
        if !all.rests(island, split) {
            verdict::judge(&all, island, split, infos, dims.done);
        }
    }
}

/// Buffers: split_index -> split, island_info.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, split, infos] = args.split();
    judge(&dims, index.index(), split.real_mut(), infos.real_mut());
}
