//! Velocity that the impulses give: the wide form's lanes over trees.

use super::layout::{Split, SplitDims};
use super::trees;
use crate::args::Args;
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = SplitDims;

/// All trees of all islands that do not rest.
pub fn velocity<T: Scalar>(dims: &SplitDims, index: &[u32], jac: &[T], impulse: &[T], velocity: &mut [T], split: &[T]) {
    let all = Split::new(dims, index);
    for (t, tree) in all.trees.iter().enumerate() {
        if !all.rests(tree.island as usize, split) {
            trees::velocity(&all, t, jac, impulse, velocity, dims.done == 0);
        }
    }
}

/// Buffers: split_index, island_jac, impulse, split -> velocity.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, jac, impulse, velocity, split] = args.split();
    let (index, jac, impulse) = (index.index(), jac.real(), impulse.real());
    self::velocity(&dims, index, jac, impulse, velocity.real_mut(), split.real());
}
