//! Where the elements of a lane lie: the twin of index.wgsl, and its inverse for hosts that pack and unpack.
//!
//! * Tile layout: element e of lane l, n elements a lane, at `(l / tile) n tile + e tile + l % tile`: loads of
//!   neighbouring lanes coalesce, and a tile of [`LANES`](crate::LANES) lanes is a slice of n packs.
//! * Tile-ragged: tile t has the slots `begin[t] ..`; field f of slot s of lane l, n fields a slot, at
//!   `((begin[t] + s) n + f) tile + l % tile`.

/// Element `e` of a lane, `n` elements a lane, in tiles of `tile` lanes.
#[inline]
#[must_use]
pub const fn tile_at(tile: usize, lane: usize, n: usize, e: usize) -> usize {
    (lane / tile) * n * tile + e * tile + lane % tile
}

/// Numbers of a tile-layout buffer: whole tiles.
#[inline]
#[must_use]
pub const fn tile_len(tile: usize, lanes: usize, n: usize) -> usize {
    lanes.div_ceil(tile) * tile * n
}

/// Field `f` of slot `slot` of a lane, `n` fields a slot; `begin`: the first slot of the lane's tile.
#[inline]
#[must_use]
pub const fn slot_at(tile: usize, lane: usize, begin: usize, slot: usize, n: usize, f: usize) -> usize {
    ((begin + slot) * n + f) * tile + lane % tile
}

/// Writes one lane's elements, `values[e]`, into a tile-layout buffer.
#[inline]
pub fn scatter<T: Copy>(tile: usize, lane: usize, values: &[T], buffer: &mut [T]) {
    let n = values.len();
    for (e, value) in values.iter().enumerate() {
        buffer[tile_at(tile, lane, n, e)] = *value;
    }
}

/// Reads one lane's elements from a tile-layout buffer.
#[inline]
pub fn gather<T: Copy>(tile: usize, lane: usize, buffer: &[T], values: &mut [T]) {
    let n = values.len();
    for (e, value) in values.iter_mut().enumerate() {
        *value = buffer[tile_at(tile, lane, n, e)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_fill_the_buffer_once() {
        for (tile, lanes, n) in [(8, 16, 5), (32, 64, 3), (8, 8, 1)] {
            let mut seen = vec![0; tile_len(tile, lanes, n)];
            for lane in 0..lanes {
                for e in 0..n {
                    seen[tile_at(tile, lane, n, e)] += 1;
                }
            }
            assert!(seen.iter().all(|times| *times == 1));
        }
        assert_eq!(tile_len(8, 9, 2), 32);
    }

    #[test]
    fn gather_undoes_scatter() {
        let mut buffer = vec![0; tile_len(8, 12, 3)];
        for lane in 0..12 {
            scatter(8, lane, &[lane * 10, lane * 10 + 1, lane * 10 + 2], &mut buffer);
        }
        let mut back = [0; 3];
        gather(8, 11, &buffer, &mut back);
        assert_eq!(back, [110, 111, 112]);
        assert_eq!(buffer[tile_at(8, 9, 3, 2)], 92);
    }

    #[test]
    fn slots_of_a_tile_follow_each_other() {
        assert_eq!(slot_at(8, 0, 0, 1, 12, 0), slot_at(8, 7, 0, 0, 12, 11) + 1);
        assert_eq!(slot_at(8, 8, 3, 0, 12, 0), 3 * 12 * 8);
    }
}
