//! Numbers of worlds from where they lie in tiles, row by row: what a trainer looks at.

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
    /// Elements of a lane in `source`.
    pub elements: u32,
    /// The first of them that is read.
    pub first: u32,
    /// How many are read.
    pub n: u32,
    /// Numbers of a row of `destination`.
    pub width: u32,
    /// Where `columns` begins.
    pub columns_at: u32,
}

/// A lane of `source` to the entries `columns` of a row.
#[inline]
pub fn gather<R: Real>(lane: usize, columns: &[u32], source: &[R], mut row: impl FnMut(usize, R::Scalar)) {
    for (from, column) in source.iter().zip(columns) {
        row(*column as usize, from.lane(lane));
    }
}

/// Buffers: columns `[trees, elements]`, source [lanes, elements], destination `[worlds, width]`.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [columns, source, destination] = args.split();
    let [trees, elements, first, n] = [dims.trees, dims.elements, dims.first, dims.n].map(|n| n as usize);
    let (columns, destination) = (&columns.index()[dims.columns_at as usize..], destination.real_mut());
    let tiles = source.tile().chunks(elements);
    for (tile, source) in tiles.enumerate().take((dims.lanes as usize).div_ceil(R::N)) {
        for lane in tile * R::N..((tile + 1) * R::N).min(dims.lanes as usize) {
            let to = lane / trees * dims.width as usize;
            let columns = &columns[lane % trees * elements + first..][..n];
            gather(lane % R::N, columns, &source[first..first + n], |column, x| destination[to + column] = x);
        }
    }
}
