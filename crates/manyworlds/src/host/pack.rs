//! Packing the contacts of single-tree islands into the tile-ragged slots that the tree kernels read.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::{SLOTS, contact, map};
use manyworlds_shaders::dynamics::tree::NONE;
use rayon::prelude::*;

use super::world::{Place, World};
use crate::lanes::LaneMap;

/// The slots of one tree set of a chunk, ready for upload.
#[derive(Debug)]
pub(crate) struct SlotPack<T> {
    /// Trees of one world in this set, as trees of the model.
    trees: Vec<usize>,
    /// Static blocks that stand before the contacts of a lane.
    n_block: usize,
    width: usize,
    /// `[slots][contact::SIZE]`, tile-ragged.
    pub(crate) contact: Vec<T>,
    /// `[slots][map::SIZE]`, tile-ragged.
    pub(crate) map: Vec<u32>,
    /// First slot and number of slots of each tile, then those of the step before.
    pub(crate) slots: Vec<u32>,
    /// Slots of all tiles.
    pub(crate) n_slot: usize,
}

impl<T: Scalar> SlotPack<T> {
    pub(crate) fn new(trees: Vec<usize>, n_block: usize, width: usize, n_world: usize) -> Self {
        let tiles = (trees.len() * n_world).div_ceil(width);
        Self { trees, n_block, width, contact: Vec::new(), map: Vec::new(), slots: vec![0; SLOTS * tiles], n_slot: 0 }
    }

    /// First slot of a lane.
    pub(crate) fn begin(&self, lane: usize) -> usize {
        self.slots[lane / self.width * SLOTS] as usize
    }

    /// Number of slots of a lane's tile.
    pub(crate) fn count(&self, lane: usize) -> usize {
        self.slots[lane / self.width * SLOTS + 1] as usize
    }

    /// Sets the slots of each lane without packing them, as a checkpoint says they were.
    pub(crate) fn set_counts(&mut self, count: impl Fn(usize) -> usize, n_lane: usize) {
        count_slots(&mut self.slots, &mut self.n_slot, self.width, n_lane, count);
    }

    /// Packs all worlds of a chunk. `shared` are lanes that are no island by themselves: their blocks are solved
    /// elsewhere.
    pub(crate) fn pack(&mut self, worlds: &[World<T>], lanes: &LaneMap, shared: impl Fn(usize, usize) -> bool + Sync) {
        let (width, k, n_block) = (self.width, self.trees.len(), self.n_block);
        let n_lane = k * worlds.len();
        for slots in self.slots.chunks_exact_mut(SLOTS) {
            (slots[2], slots[3]) = (slots[0], slots[1]);
        }
        let tree = self.trees.as_slice();
        count_slots(&mut self.slots, &mut self.n_slot, width, n_lane, |lane| {
            n_block + worlds[lane / k].contacts_of(tree[lane % k]).len()
        });
        self.contact.clear();
        self.contact.resize(self.n_slot * contact::SIZE * width, T::default());
        self.map.clear();
        self.map.resize(self.n_slot * map::SIZE * width, 0);
        let trees = &self.trees;

        // Tiles own disjoint stretches of both arrays.
        let mut all_reals = self.contact.as_mut_slice();
        let mut all_words = self.map.as_mut_slice();
        let tiles = self.slots.chunks_exact(SLOTS).enumerate().map(|(tile, slots)| {
            let n = slots[1] as usize * width;
            let reals;
            let words;
            (reals, all_reals) = std::mem::take(&mut all_reals).split_at_mut(n * contact::SIZE);
            (words, all_words) = std::mem::take(&mut all_words).split_at_mut(n * map::SIZE);
            // Blocks were there in the step before, unless there was none.
            (tile, slots[3] as usize >= n_block, reals, words)
        });
        let fill = |(tile, had_blocks, reals, words): (usize, bool, &mut [T], &mut [u32])| {
            for lane in tile * width..((tile + 1) * width).min(n_lane) {
                let (world, tree) = (lane / k, trees[lane % k]);
                if !shared(world, tree) {
                    let blocks = Blocks { n: n_block, warm: had_blocks };
                    fill_lane(reals, words, width, lane % width, &blocks, &worlds[world], tree, lanes);
                }
            }
        };
        // A chunk of a CPU batch has a tile or a few, and its neighbours keep the threads busy.
        if worlds.len() > 64 {
            tiles.collect::<Vec<_>>().into_par_iter().for_each(fill);
        } else {
            tiles.for_each(fill);
        }
    }
}

/// First slot and number of slots of every tile: as many as its fullest lane has.
fn count_slots(slots: &mut [u32], n_slot: &mut usize, width: usize, n_lane: usize, count: impl Fn(usize) -> usize) {
    *n_slot = 0;
    for (tile, slots) in slots.chunks_exact_mut(SLOTS).enumerate() {
        let most = (tile * width..((tile + 1) * width).min(n_lane)).map(&count).max().unwrap_or(0);
        (slots[0], slots[1]) = (*n_slot as u32, most as u32);
        *n_slot += most;
    }
}

/// Static blocks of a lane, and whether they have impulses of the step before.
struct Blocks {
    n: usize,
    warm: bool,
}

/// Writes one lane's blocks and contacts.
fn fill_lane<T: Scalar>(
    reals: &mut [T],
    words: &mut [u32],
    width: usize,
    lane: usize,
    blocks: &Blocks,
    world: &World<T>,
    tree: usize,
    lanes: &LaneMap,
) {
    let n_block = blocks.n;
    for slot in 0..n_block {
        // Blocks are static: the slot of the step before is the same.
        let warm = if blocks.warm { slot as u32 + 1 } else { 0 };
        for (f, word) in [map::BLOCK, 0, 0, warm].into_iter().enumerate() {
            words[(slot * map::SIZE + f) * width + lane] = word;
        }
    }
    for (slot, &index) in (n_block..).zip(world.contacts_of(tree)) {
        let contact = &world.contacts[index as usize];
        let local = contact.bodies.map(|b| lanes.bodies[b as usize].map_or(NONE, |b| b.local as u32));
        let warm = match world.warm[index as usize] {
            Some(Place::Slot(slot)) => slot + 1,
            _ => 0,
        };
        let at = slot * map::SIZE;
        for (f, word) in [map::CONTACT, local[0], local[1], warm].into_iter().enumerate() {
            words[(at + f) * width + lane] = word;
        }
        let at = slot * contact::SIZE;
        let [px, py, pz] = contact.point;
        let [nx, ny, nz] = contact.normal;
        let fields = [px, py, pz, nx, ny, nz, contact.distance, contact.friction, contact.restitution];
        for (f, x) in fields.into_iter().enumerate() {
            reals[(at + f) * width + lane] = x;
        }
    }
}
