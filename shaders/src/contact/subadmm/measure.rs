//! Residuals of constraints: the wide form's lanes over constraints.

use super::laws;
use super::layout::{Split, SplitDims};
use crate::args::Args;
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = SplitDims;

/// All constraints of all islands that do not rest.
pub fn measure<T: Scalar>(
    dims: &SplitDims,
    index: &[u32],
    jac: &[T],
    cons: &[T],
    impulse: &mut [T],
    velocity: &[T],
    split: &mut [T],
) {
    let all = Split::new(dims, index);
    for (i, record) in all.constraints.iter().enumerate() {
        if !all.rests(record.island as usize, split) {
            laws::measure(&all, i, jac, cons, impulse, velocity, split, dims.done);
        }
    }
}

/// Buffers: island_index (unused), split_index, island_jac, island_con, impulse, velocity, split.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [_, index, jac, cons, impulse, velocity, split] = args.split();
    let (index, jac, cons) = (index.index(), jac.real(), cons.real());
    self::measure(&dims, index, jac, cons, impulse.real_mut(), velocity.real(), split.real_mut());
}
