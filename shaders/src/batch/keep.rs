//! Keeps the states that a step begins with, for who asks afterwards what it did.

use bytemuck::{Pod, Zeroable};

use crate::args::Args;
use crate::dynamics::tree::{nth, nth_mut};
use crate::real::Real;

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Lanes.
    pub lanes: u32,
    /// Elements a lane.
    pub n: u32,
}

/// Buffers: state [lanes, n], before [lanes, n].
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { n, .. } = args.dims();
    let tiles = args.tiles();
    let [state, before] = args.split();
    let (state, before) = (state.tile(), before.tile_mut());
    for t in 0..tiles {
        nth_mut(before, t, n).copy_from_slice(nth(state, t, n));
    }
}
