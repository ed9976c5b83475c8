//! Packing the contacts of single-tree islands into the tile-ragged slots that the tree kernels read.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::{SLOTS, contact, map};
use manyworlds_shaders::dynamics::tree::NONE;
use manyworlds_shaders::index::slot_at;
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

    /// Slots of the fullest lane.
    pub(crate) fn most(&self) -> u32 {
        self.slots.chunks_exact(SLOTS).map(|slots| slots[1]).max().unwrap_or(0)
    }

    /// First slot of a lane.
    pub(crate) fn begin(&self, lane: usize) -> usize {
        self.slots[lane / self.width * SLOTS] as usize
    }

    /// Number of slots of a lane's tile.
    pub(crate) fn count(&self, lane: usize) -> usize {
        self.slots[lane / self.width * SLOTS + 1] as usize
    }

    /// First real of the impulse of a slot of a lane; of the other two a tile's width and twice that further.
    pub(crate) fn real_of(&self, lane: usize, slot: usize) -> usize {
        slot_at(self.width, lane, self.begin(lane), slot, 3, 0)
    }

    /// The same for the slots of the step before.
    pub(crate) fn real_before(&self, lane: usize, slot: usize) -> usize {
        slot_at(self.width, lane, self.slots[lane / self.width * SLOTS + 2] as usize, slot, 3, 0)
    }

    /// Sets the slots of each lane without packing them, as a checkpoint says they were.
    pub(crate) fn set_counts(&mut self, count: impl Fn(usize) -> usize + Sync, n_lane: usize) {
        count_slots(&mut self.slots, &mut self.n_slot, self.width, n_lane, count);
    }

    /// Packs all worlds of a chunk. `shared` are trees of a world that are no island by themselves: their blocks are
    /// solved elsewhere. `was_here`: whether a block of a tree of a world was solved by its tree in the step before.
    pub(crate) fn pack(
        &mut self,
        worlds: &[World],
        lanes: &LaneMap,
        shared: impl Fn(usize, usize) -> bool + Sync,
        was_here: impl Fn(usize, usize, usize) -> bool + Sync,
    ) {
        let (width, k, n_block) = (self.width, self.trees.len(), self.n_block);
        let n_lane = k * worlds.len();
        for slots in self.slots.chunks_exact_mut(SLOTS) {
            (slots[2], slots[3]) = (slots[0], slots[1]);
        }
        let tree = self.trees.as_slice();
        count_slots(&mut self.slots, &mut self.n_slot, width, n_lane, |lane| {
            n_block + worlds[lane / k].contacts_of(tree[lane % k]).len()
        });
        self.contact.resize(self.n_slot * contact::SIZE * width, T::default());
        self.map.resize(self.n_slot * map::SIZE * width, 0);
        let trees = &self.trees;

        let fill = |tile: usize, reals: &mut [T], words: &mut [u32]| {
            // What the step before left is cleared here, by as many threads as pack.
            reals.fill(T::default());
            words.fill(0);
            for lane in tile * width..((tile + 1) * width).min(n_lane) {
                let (world, tree) = (lane / k, trees[lane % k]);
                if !shared(world, tree) {
                    fill_blocks(words, width, lane % width, n_block, |block| was_here(world, tree, block));
                    fill_contacts(reals, words, width, lane % width, n_block, &worlds[world], tree, lanes);
                }
            }
        };
        // A chunk of a CPU batch has few worlds, and its neighbours keep the threads busy.
        let task = if worlds.len() > ALONE { TASK } else { usize::MAX };
        for_tiles(0, &self.slots, width, task, &mut self.contact, &mut self.map, &fill);
    }
}

/// Worlds of a chunk that one thread packs.
const ALONE: usize = 64;

/// Tiles that one task packs where there are several.
const TASK: usize = 8;

/// Calls `fill` with every tile's number and own stretches of both arrays; `slots` begins with tile `first`. Runs of
/// more than `task` tiles are shared out among threads.
fn for_tiles<T: Scalar>(
    first: usize,
    slots: &[u32],
    width: usize,
    task: usize,
    reals: &mut [T],
    words: &mut [u32],
    fill: &(impl Fn(usize, &mut [T], &mut [u32]) + Sync),
) {
    let n = slots.len() / SLOTS;
    if n <= 1 {
        if n == 1 {
            fill(first, reals, words);
        }
        return;
    }
    let (low, high) = slots.split_at(n / 2 * SLOTS);
    let own = (high[0] - low[0]) as usize * width;
    let (low_reals, high_reals) = reals.split_at_mut(own * contact::SIZE);
    let (low_words, high_words) = words.split_at_mut(own * map::SIZE);
    let mut below = || for_tiles(first, low, width, task, low_reals, low_words, fill);
    let mut above = || for_tiles(first + n / 2, high, width, task, high_reals, high_words, fill);
    if n > task {
        rayon::join(below, above);
    } else {
        below();
        above();
    }
}

/// First slot and number of slots of every tile: as many as its fullest lane has.
fn count_slots(
    slots: &mut [u32],
    n_slot: &mut usize,
    width: usize,
    n_lane: usize,
    count: impl Fn(usize) -> usize + Sync,
) {
    let most = |(tile, slots): (usize, &mut [u32])| {
        let lanes = tile * width..((tile + 1) * width).min(n_lane);
        slots[1] = lanes.map(&count).max().unwrap_or(0) as u32;
    };
    if slots.len() > SLOTS * TASK {
        slots.par_chunks_exact_mut(SLOTS).with_min_len(TASK).enumerate().for_each(most);
    } else {
        slots.chunks_exact_mut(SLOTS).enumerate().for_each(most);
    }
    *n_slot = 0;
    for slots in slots.chunks_exact_mut(SLOTS) {
        slots[0] = *n_slot as u32;
        *n_slot += slots[1] as usize;
    }
}

/// Writes one lane's blocks; `was_here`: whether a block has an impulse of the step before, in the same slot.
fn fill_blocks(words: &mut [u32], width: usize, lane: usize, n_block: usize, was_here: impl Fn(usize) -> bool) {
    for slot in 0..n_block {
        let warm = if was_here(slot) { slot as u32 + 1 } else { 0 };
        for (f, word) in [map::BLOCK, 0, 0, warm].into_iter().enumerate() {
            words[(slot * map::SIZE + f) * width + lane] = word;
        }
    }
}

/// Writes one lane's contacts, behind its blocks.
fn fill_contacts<T: Scalar>(
    reals: &mut [T],
    words: &mut [u32],
    width: usize,
    lane: usize,
    n_block: usize,
    world: &World,
    tree: usize,
    lanes: &LaneMap,
) {
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
        let drift = world.drift(index as usize).velocity;
        let [distance, friction, restitution] = [contact.distance, contact.friction, contact.restitution];
        let fields = [px, py, pz, nx, ny, nz, distance, friction, restitution, drift.x, drift.y, drift.z];
        for (f, x) in fields.into_iter().enumerate() {
            reals[(at + f) * width + lane] = T::from_f64(x);
        }
    }
}
