//! Packing the contacts of single-tree islands into the tile-ragged slots that the tree kernels read.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::{SLOTS, contact, map};
use manyworlds_shaders::dynamics::tree::NONE;
use manyworlds_shaders::index::slot_at;

use super::world::{Place, World};
use crate::lanes::LaneMap;

/// The slots of one tile, ready for upload.
#[derive(Debug, Default)]
pub(crate) struct TilePack<T> {
    /// Slots of its fullest lane.
    pub(super) slots: u32,
    /// `[slots][contact::SIZE]` of the tile's lanes.
    pub(crate) contact: Vec<T>,
    /// `[slots][map::SIZE]` of the tile's lanes.
    pub(crate) map: Vec<u32>,
}

/// Where the slots of one tree set of a chunk are.
#[derive(Debug)]
pub(crate) struct SlotPack {
    /// Trees of one world in this set, as trees of the model.
    trees: Vec<usize>,
    /// Static blocks that stand before the contacts of a lane.
    n_block: usize,
    width: usize,
    /// First slot and number of slots of each tile, then those of the step before.
    pub(crate) slots: Vec<u32>,
    /// Slots of all tiles.
    pub(crate) n_slot: usize,
}

impl SlotPack {
    pub(crate) fn new(trees: Vec<usize>, n_block: usize, width: usize, n_world: usize) -> Self {
        let tiles = (trees.len() * n_world).div_ceil(width);
        Self { trees, n_block, width, slots: vec![0; SLOTS * tiles], n_slot: 0 }
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
    pub(crate) fn set_counts(&mut self, count: impl Fn(usize) -> usize, n_lane: usize) {
        let width = self.width;
        let most = |tile: usize| (tile * width..((tile + 1) * width).min(n_lane)).map(&count).max().unwrap_or(0) as u32;
        self.set_slots((0..n_lane.div_ceil(width)).map(most));
    }

    /// Takes in how many slots each tile has in this step.
    pub(super) fn set_slots(&mut self, counts: impl Iterator<Item = u32>) {
        self.n_slot = 0;
        for (slots, count) in self.slots.chunks_exact_mut(SLOTS).zip(counts) {
            (slots[2], slots[3]) = (slots[0], slots[1]);
            (slots[0], slots[1]) = (self.n_slot as u32, count);
            self.n_slot += count as usize;
        }
    }

    /// Packs some worlds, which begin with a tile. `shared` are trees of a world that are no island by themselves: their blocks are
    /// solved elsewhere. `was_here`: whether a block of a tree of a world was solved by its tree in the step before. Worlds are counted
    /// from the first of these.
    pub(super) fn pack<T: Scalar>(
        &self,
        worlds: &[World],
        lanes: &LaneMap,
        shared: impl Fn(usize, usize) -> bool,
        was_here: impl Fn(usize, usize, usize) -> bool,
        tiles: &mut Vec<TilePack<T>>,
    ) {
        let (width, k, n_block, trees) = (self.width, self.trees.len(), self.n_block, &self.trees);
        let n_lane = k * worlds.len();
        tiles.resize_with(n_lane.div_ceil(width), TilePack::default);
        for (number, TilePack { slots, contact: reals, map: words }) in tiles.iter_mut().enumerate() {
            let own = number * width..((number + 1) * width).min(n_lane);
            let count = |lane: usize| n_block + worlds[lane / k].contacts_of(trees[lane % k]).len();
            let most = own.clone().map(count).max().unwrap_or(0);
            *slots = most as u32;
            reals.clear();
            reals.resize(most * contact::SIZE * width, T::default());
            words.clear();
            words.resize(most * map::SIZE * width, 0);
            for lane in own {
                let (world, tree) = (lane / k, trees[lane % k]);
                if !shared(world, tree) {
                    fill_blocks(words, width, lane % width, n_block, |block| was_here(world, tree, block));
                    fill_contacts(reals, words, width, lane % width, n_block, &worlds[world], tree, lanes);
                }
            }
        }
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
