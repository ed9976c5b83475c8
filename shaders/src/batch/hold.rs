//! Holds lanes back from moving: an invocation a lane. A world that kernels left unsolved must not move before somebody has
//! solved it; when it is, it moves while all the others, which have moved already, are held.

use bytemuck::{Pod, Zeroable};

use super::world::found;
use crate::args::Args;
use crate::dynamics::names::status;
use crate::real::Real;

/// Which worlds are held.
pub mod whom {
    /// Those that are unsolved.
    pub const UNSOLVED: u32 = 0;
    /// All others.
    pub const OTHERS: u32 = 1;
    /// None.
    pub const NOBODY: u32 = 2;
}

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Lanes.
    pub lanes: u32,
    /// Lanes of a world in this tree set.
    pub k: u32,
    /// One of [`whom`].
    pub whom: u32,
}

/// Whether the lanes of a world are held, by its word in `unsolved`.
fn holds(held: u32, word: u32) -> bool {
    held != whom::NOBODY && (word == found::UNSOLVED) == (held == whom::UNSOLVED)
}

/// Buffers: unsolved `[worlds]`, status `[lanes]`.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { lanes, k, whom } = args.dims();
    let [unsolved, status] = args.split();
    let worlds = status.index_mut()[..lanes as usize].chunks_mut(k as usize);
    for (lanes, &word) in worlds.zip(unsolved.index()) {
        let held = if holds(whom, word) { status::HELD } else { 0 };
        lanes.iter_mut().for_each(|lane| *lane = *lane & !status::HELD | held);
    }
}
