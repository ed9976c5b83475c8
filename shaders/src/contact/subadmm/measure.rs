//! Residuals of constraints: the wide form's lanes over constraints.

use super::laws;
use super::layout::{Split, SplitDims};
use crate::Scalar;
use crate::args::Args;

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
pub fn mirror<T: Scalar>(args: &mut Args<T>) {
    let dims: Dims = args.dims();
    let [_, index, jac, cons, impulse, velocity, split] = args.split();
    let (index, jac, cons) = (index.index(), jac.real(), cons.real());
    self::measure(&dims, index, jac, cons, impulse.real_mut(), velocity.real(), split.real_mut());
}
