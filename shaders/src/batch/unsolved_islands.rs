//! Which worlds their kernels left unsolved, by the islands of several trees: an invocation a world.

use bytemuck::{Pod, Zeroable};

use super::world::found;
use crate::args::Args;
use crate::contact::island::{IslandRecord, items, part};
use crate::dynamics::names::status;
use crate::real::Real;

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Worlds.
    pub worlds: u32,
    /// Islands, which stand by world.
    pub n_islands: u32,
    /// As [`super::unsolved_lanes::Dims::wanted`].
    pub wanted: u32,
}

/// Buffers: island_index, island_status, unsolved `[worlds]`.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let Dims { n_islands, wanted, .. } = args.dims();
    let [island_index, island_status, unsolved] = args.split();
    let islands: &[IslandRecord] = items(island_index.index(), 0, n_islands);
    let unsolved = unsolved.index_mut();
    for (island, word) in islands.iter().zip(island_status.index()) {
        let is_wanted = word & wanted != 0 || island.part != part::SOLVES;
        if word & status::ITERATION_LIMIT != 0 && is_wanted {
            unsolved[island.world as usize] |= found::UNSOLVED;
        }
    }
}
