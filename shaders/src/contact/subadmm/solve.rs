//! The half-iteration of trees: the wide form's lanes over trees.

use super::layout::{Split, SplitDims};
use super::trees;
use crate::args::Args;
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = SplitDims;

/// All trees of all islands that do not rest.
pub fn solve<T: Scalar>(dims: &SplitDims, index: &[u32], velocity: &mut [T], split: &[T]) {
    let all = Split::new(dims, index);
    for (t, tree) in all.trees.iter().enumerate() {
        if !all.rests(tree.island as usize, split) {
            trees::solve(&all, t, velocity, split);
        }
    }
}

/// Buffers: split_index, island_jac (unused), impulse (unused), split -> velocity.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, _, _, velocity, split] = args.split();
    let index = index.index();
    self::solve(&dims, index, velocity.real_mut(), split.real());
}
