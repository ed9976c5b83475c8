//! Numbers of worlds, row by row, to where they lie in tiles: controls, forces, states of worlds that start afresh.

use bytemuck::{Pod, Zeroable};

use crate::args::Args;
use crate::real::Real;

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub struct Dims {
    /// Lanes.
    pub lanes: u32,
    /// Lanes of a world, one behind the other.
    pub trees: u32,
    /// Elements of a lane in `destination`.
    pub elements: u32,
    /// The first of them that is written.
    pub first: u32,
    /// How many are written.
    pub n: u32,
    /// Numbers of a row of `source`.
    pub width: u32,
    /// Where `columns` begins.
    pub columns_at: u32,
    /// Where `rows` begins.
    pub rows_at: u32,
    /// Where the first row of `source` begins.
    pub source_at: u32,
}

/// Worlds with this row stay as they are.
pub const KEEP: u32 = u32::MAX;

/// Entries `columns` of a row to a lane of `destination`.
#[inline]
pub fn scatter<R: Real>(lane: usize, columns: &[u32], row: impl Fn(usize) -> R::Scalar, destination: &mut [R]) {
    for (to, column) in destination.iter_mut().zip(columns) {
        to.set_lane(lane, row(*column as usize));
    }
}

/// Buffers: columns `[trees, elements]`, rows `[worlds]`, source `[rows, width]`, destination [lanes, elements].
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [columns, rows, source, destination] = args.split();
    let [trees, elements, first, n] = [dims.trees, dims.elements, dims.first, dims.n].map(|n| n as usize);
    let (columns, rows, source) =
        (&columns.index()[dims.columns_at as usize..], &rows.index()[dims.rows_at as usize..], source.real());
    let tiles = destination.tile_mut().chunks_mut(elements);
    for (tile, destination) in tiles.enumerate().take((dims.lanes as usize).div_ceil(R::N)) {
        for lane in tile * R::N..((tile + 1) * R::N).min(dims.lanes as usize) {
            let row = rows[lane / trees];
            if row != KEEP {
                let from = dims.source_at as usize + row as usize * dims.width as usize;
                let columns = &columns[lane % trees * elements + first..][..n];
                scatter(lane % R::N, columns, |column| source[from + column], &mut destination[first..first + n]);
            }
        }
    }
}
