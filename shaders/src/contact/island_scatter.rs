//! Solved velocities back to the trees of one set, and the impulses of their static rows.

use super::island::{RowItem, SetDims, TreeItem, items, region};
use super::tree_layout::{row, row_stride};
use crate::args::Args;
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = SetDims;

/// `velocity` and `rows` are tile buffers of the set, `solved` and `impulse` those of the islands.
pub fn island_scatter<T: Scalar, R: Real<Scalar = T>>(
    dims: &SetDims,
    index: &[u32],
    solved: &[T],
    impulse: &[T],
    velocity: &mut [R],
    rows: &mut [R],
) {
    let n_v = dims.n_v as usize;
    let solved = &solved[dims.n_velocity as usize * region::SOLUTION..];
    for item in items::<TreeItem>(index, dims.trees_at, dims.n_trees) {
        let (tile, lane) = (item.lane as usize / R::N, item.lane as usize % R::N);
        for i in 0..n_v {
            velocity[tile * n_v + i].set_lane(lane, solved[item.velocity as usize + i]);
        }
    }
    for item in items::<RowItem>(index, dims.rows_at, dims.n_rows) {
        let (tile, lane) = (item.lane as usize / R::N, item.lane as usize % R::N);
        let at = tile * dims.n_row_real as usize + item.row as usize * row_stride(n_v, dims.row_width) + row::IMPULSE;
        rows[at].set_lane(lane, impulse[3 * item.constraint as usize]);
    }
}

/// Buffers: island_index, velocity, impulse (of the islands) -> velocity, row (of the set).
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, solved, impulse, velocity, rows] = args.split();
    island_scatter(&dims, index.index(), solved.real(), impulse.real(), velocity.tile_mut(), rows.tile_mut());
}
