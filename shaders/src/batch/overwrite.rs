//! Overwrites the lanes that are marked, n elements each, and leaves the others as they are: a masked reset.

use bytemuck::{Pod, Zeroable};

use crate::args::Args;
use crate::real::Real;

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub struct Dims {
    /// Lanes.
    pub lanes: u32,
    /// Elements a lane.
    pub n: u32,
}
/// `source` to `destination`, `[n]` each, in the lanes of a tile that `marked` [lanes of a pack] marks.
pub fn overwrite<R: Real>(marked: &[u32], source: &[R], destination: &mut [R]) {
    for (to, from) in destination.iter_mut().zip(source) {
        for (lane, mark) in marked.iter().enumerate() {
            if *mark != 0 {
                to.set_lane(lane, from.lane(lane));
            }
        }
    }
}

/// Buffers: marked `[lanes]`, source [lanes, n], destination [lanes, n].
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { lanes, n } = args.dims();
    let [marked, source, destination] = args.split();
    let tiles = (lanes as usize).div_ceil(R::N);
    let marked = marked.index()[..lanes as usize].chunks(R::N);
    let source = source.tile().chunks(n as usize);
    let destination = destination.tile_mut().chunks_mut(n as usize);
    for ((marked, source), destination) in marked.zip(source).zip(destination).take(tiles) {
        overwrite(marked, source, destination);
    }
}
