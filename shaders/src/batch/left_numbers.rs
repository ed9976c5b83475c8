//! Numbers of the worlds that are left, out of the tiles of all worlds and back: a workgroup a lane, or a slot of it.
//!
//! A host has its part in few of many worlds, and every tile has one of them: the numbers of these alone lie close together.

use bytemuck::{Pod, Zeroable};

use crate::args::Args;
use crate::contact::tree_layout::SLOTS;
use crate::index::{slot_at, tile_at};
use crate::real::Real;

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Worlds that there is room for: of more, the first.
    pub room: u32,
    /// Lanes of a world in this tree set.
    pub k: u32,
    /// Slots that there is room for in a lane; 1 where numbers are not by slot.
    pub slots: u32,
    /// Numbers of a lane, or of a slot.
    pub n: u32,
    /// 1: numbers are by slot.
    pub by_slot: u32,
    /// Where they begin in `numbers`.
    pub at: u32,
    /// 0: out of the tiles; 1: back.
    pub back: u32,
}

/// Where the numbers of an item begin in the tiles: of lane `item / slots` of the worlds that are left, slot `item % slots`.
fn place(dims: &Dims, left: &[u32], slots: &[u32], item: u32, tile: usize) -> Option<usize> {
    let (number, slot) = (item / dims.slots, item % dims.slots);
    if number / dims.k >= left[0] {
        return None;
    }
    let lane = (left[1 + (number / dims.k) as usize] * dims.k + number % dims.k) as usize;
    if dims.by_slot == 0 {
        return Some(tile_at(tile, lane, dims.n as usize, 0));
    }
    let [begin, count] = [0, 1].map(|word| slots[lane / tile * SLOTS + word]);
    (slot < count).then(|| slot_at(tile, lane, begin as usize, slot as usize, dims.n as usize, 0))
}

/// Buffers: left as `left_worlds` writes it, slots, lanes in tiles, numbers `[worlds, k, slots, n]`.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [left, slots, lanes, numbers] = args.split();
    let (lanes, numbers) = (lanes.scalars_mut(), numbers.scalars_mut());
    for item in 0..dims.room * dims.k * dims.slots {
        let Some(begin) = place(&dims, left.index(), slots.index(), item, R::N) else { continue };
        let own = &mut numbers[(dims.at + item * dims.n) as usize..][..dims.n as usize];
        for (own, lane) in own.iter_mut().zip(lanes[begin..].iter_mut().step_by(R::N)) {
            if dims.back == 0 { *own = *lane } else { *lane = *own }
        }
    }
}
