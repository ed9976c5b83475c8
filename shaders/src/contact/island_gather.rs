//! Velocities of the trees of one set into the islands they are in: the free velocity, and that before the step.

use super::island::{SetDims, TreeItem, items, region};
use crate::args::Args;
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = SetDims;

/// `state` and `v_free` are tile buffers of the set.
pub fn island_gather<T: Scalar, R: Real<Scalar = T>>(
    dims: &SetDims,
    index: &[u32],
    state: &[R],
    v_free: &[R],
    velocity: &mut [T],
) {
    let (n, n_v, n_state) = (dims.n_velocity as usize, dims.n_v as usize, dims.n_state as usize);
    for item in items::<TreeItem>(index, dims.trees_at, dims.n_trees) {
        let (tile, lane, at) = (item.lane as usize / R::N, item.lane as usize % R::N, item.velocity as usize);
        let before = &state[tile * n_state + dims.v_at as usize..][..n_v];
        for (i, free) in v_free[tile * n_v..][..n_v].iter().enumerate() {
            velocity[n * region::FREE + at + i] = free.lane(lane);
            velocity[n * region::SCRATCH + at + i] = before[i].lane(lane);
        }
    }
}

/// Buffers: island_index, state, v_free -> velocity.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, state, v_free, velocity] = args.split();
    island_gather(&dims, index.index(), state.tile(), v_free.tile(), velocity.real_mut());
}
