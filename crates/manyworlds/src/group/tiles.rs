//! The tiles of lanes in which some worlds of a chunk lie: of buffers on a device the host reads and writes no more, where it has a
//! part in the step of a few.

use std::ops::Range;

use manyworlds_gpu::BufferId;
use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::tree_layout::SLOTS;

use super::chunk::Chunk;

/// Tiles of each set, in order.
pub(super) struct Tiles {
    sets: Vec<Vec<Range<usize>>>,
}

impl Tiles {
    /// All of them.
    pub(super) fn all<T: Scalar>(chunk: &Chunk<T>) -> Self {
        let all = |index: usize| std::iter::once(0..chunk.tiles(index)).collect();
        Self { sets: (0..chunk.sets.len()).map(all).collect() }
    }

    /// Those of some worlds, which are in order; all of what lies with the host, where there is nothing to save and a buffer may be
    /// longer than its tiles.
    pub(super) fn of<T: Scalar>(chunk: &Chunk<T>, worlds: &[usize]) -> Self {
        let lies_here = chunk.sets.iter().any(|set| chunk.store.numbers(set.step.buffers.state).is_some());
        if lies_here {
            return Self::all(chunk);
        }
        let width = chunk.store.tile();
        let tiles = |k: usize| {
            let mut tiles: Vec<Range<usize>> = Vec::new();
            for world in worlds {
                let own = world * k / width..((world + 1) * k).div_ceil(width);
                match tiles.last_mut().filter(|last| own.start <= last.end) {
                    Some(last) => last.end = own.end,
                    None => tiles.push(own),
                }
            }
            tiles
        };
        Self { sets: chunk.sets.iter().map(|set| tiles(set.k)).collect() }
    }

    /// The elements of a buffer of a set that lie in these tiles.
    pub(super) fn of_buffer<T: Scalar>(&self, chunk: &Chunk<T>, index: usize, buffer: BufferId) -> Vec<Range<usize>> {
        let (len, set, pack) = (chunk.store.len(buffer), &chunk.sets[index], &chunk.host.packs[index]);
        let by_slot = [set.step.buffers.constraint, set.step.impulses.now].contains(&buffer);
        // Where a tile begins, in slots or tiles, and how many elements each of these has.
        let begin = |tile: usize| match pack.slots.get(tile * SLOTS) {
            Some(&slot) if by_slot => slot as usize,
            None if by_slot => pack.n_slot,
            _ => tile,
        };
        let each = if buffer == set.step.buffers.momentum {
            // It has more room than its numbers take.
            set.step.dims.n_m as usize * chunk.store.tile()
        } else {
            len.checked_div(if by_slot { pack.n_slot } else { chunk.tiles(index) }).unwrap_or(0)
        };
        self.sets[index].iter().map(|own| begin(own.start) * each..begin(own.end) * each).collect()
    }
}

impl<T: Scalar> Chunk<T> {
    /// Tiles of a set.
    fn tiles(&self, index: usize) -> usize {
        (self.sets[index].k * self.n_world).div_ceil(self.store.tile())
    }
}
