//! The worlds that kernels left unsolved, one after the other in their order: one workgroup looks at all worlds.

use bytemuck::{Pod, Zeroable};

use super::world::found;
use crate::args::Args;
use crate::real::Real;

/// Invocations, which share the worlds.
pub const LISTERS: u32 = 256;

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Worlds.
    pub worlds: u32,
}

/// Buffers: unsolved `[worlds]`, left `[1 + worlds]`: how many are left, then which.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { worlds } = args.dims();
    let [unsolved, left] = args.split();
    let left = left.index_mut();
    let mut count = 0;
    for (world, &word) in (0..worlds).zip(unsolved.index()) {
        if word == found::UNSOLVED {
            count += 1;
            left[count] = world;
        }
    }
    left[0] = count as u32;
}
