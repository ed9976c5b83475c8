//! Factors of the left sides whose penalty changed: the wide form's lanes over trees.

use super::layout::{Split, SplitDims};
use super::trees;
use crate::args::Args;
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = SplitDims;

/// All trees of all islands that do not rest.
pub fn factor<T: Scalar>(dims: &SplitDims, index: &[u32], impulse: &[T], split: &mut [T]) {
    let all = Split::new(dims, index);
    for (t, tree) in all.trees.iter().enumerate() {
        if !all.rests(tree.island as usize, split) {
            trees::factor(&all, t, impulse, split);
        }
    }
}

/// Buffers: split_index, island_jac (unused), impulse, velocity (unused) -> split.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, _, impulse, _, split] = args.split();
    let (index, impulse) = (index.index(), impulse.real());
    self::factor(&dims, index, impulse, split.real_mut());
}
