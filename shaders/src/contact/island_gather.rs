//! Velocities of the trees of one set into the islands they are in: the free velocity, and that before the step.

use super::island::{SetDims, TreeItem, items, region};
use crate::args::Args;
use crate::{LANES, Real, Scalar};

/// Uniform block.
pub type Dims = SetDims;

/// `state` and `v_free` are tile buffers of the set.
pub fn island_gather<T: Scalar>(
    dims: &SetDims,
    index: &[u32],
    state: &[T::Pack],
    v_free: &[T::Pack],
    velocity: &mut [T],
) {
    let (n, n_v, n_state) = (dims.n_velocity as usize, dims.n_v as usize, dims.n_state as usize);
    for item in items::<TreeItem>(index, dims.trees_at, dims.n_trees) {
        let (tile, lane, at) = (item.lane as usize / LANES, item.lane as usize % LANES, item.velocity as usize);
        let before = &state[tile * n_state + dims.v_at as usize..][..n_v];
        for (i, free) in v_free[tile * n_v..][..n_v].iter().enumerate() {
            velocity[n * region::FREE + at + i] = free.lane(lane);
            velocity[n * region::SCRATCH + at + i] = before[i].lane(lane);
        }
    }
}

/// Buffers: island_index, state, v_free -> velocity.
pub fn mirror<T: Scalar>(args: &mut Args<T>) {
    let dims: Dims = args.dims();
    let [index, state, v_free, velocity] = args.split();
    island_gather(&dims, index.index(), state.tile(), v_free.tile(), velocity.real_mut());
}
