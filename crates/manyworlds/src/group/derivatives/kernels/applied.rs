//! What applied forces are by, which the host finds: their paths bend around bodies, and kernels begin with what stands there.

use manyworlds_gradients::slopes_of_applied_forces;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::dynamics::derivatives::layout::{slope_reals, width};
use manyworlds_shaders::dynamics::tree::TreeDims;
use manyworlds_shaders::index::tile_at;

use super::LanesBefore;
use super::blocks::Stretch;
use crate::group::chunk::Chunk;

/// Reals of a lane that the host writes.
pub(super) fn applied_reals(dims: &TreeDims) -> usize {
    if dims.n_force == 0 { 0 } else { slope_reals(dims) }
}

impl<T: Scalar> Chunk<T> {
    /// Writes those of a world.
    pub(super) fn write_applied(&self, before: &[LanesBefore<T>], world: usize, slopes: &mut [Stretch<T>]) {
        let tile = self.store.tile();
        for place in &self.shared.host.lanes.trees {
            let set = &self.sets[place.set];
            let (dims, lane, to) = (set.dims(), set.lane(world, place.index), &mut slopes[place.set]);
            let reals = applied_reals(dims);
            if reals == 0 {
                continue;
            }
            let n = dims.n_v as usize;
            let after: Vec<f64> = self.lane_of(&before[place.set].velocity, lane, n).some(0, n).collect();
            let entries = self.found_again(before, world, place, |tree, params, state, frames| {
                slopes_of_applied_forces(*tree, params, state, frames, &after)
            });
            let mut own = vec![0.0; reals];
            entries.into_iter().for_each(|(row, column, x)| own[row * width(dims) + column] += x);
            let at = tile_at(tile, lane - to.first, reals, 0);
            own.into_iter().enumerate().for_each(|(e, x)| to.reals[at + e * tile] = T::from_f64(x));
        }
    }
}
