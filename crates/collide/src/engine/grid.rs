//! Near pairs among many things with bounding spheres, geoms or triangles, in time about linear in their number.
//!
//! They are sorted by size into levels; level k has cells of edge 2^k, at least the diameter of its bounding spheres
//! (grown by the reach). Each lies in the one cell of its level that holds its centre. Two can only touch if
//! their centres are in the same or adjacent cells of the coarser level of the two. So each looks at the 27 cells
//! about it, on its own level and on every coarser one that is in use.

use super::Vector;

/// Coordinates of cells are kept to 18 bits; beyond, the world wraps round, which costs false neighbours only.
const BITS: u32 = 18;
const MASK: i64 = (1 << BITS) - 1;
/// Level 0 has cells of 2^-LOWEST m.
const LOWEST: i32 = 24;
const LEVELS: usize = 64;
const EMPTY: u32 = u32::MAX;

/// A bounding sphere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ball {
    pub(super) centre: Vector,
    pub(super) radius: f64,
}

/// Memory of the search.
#[derive(Default)]
pub(super) struct Grid {
    /// Pairs found, smaller index first; the search may find one that is not near, never miss one that is.
    pub(super) near: Vec<(u32, u32)>,
    /// (cell, which), sorted.
    entries: Vec<(u64, u32)>,
    /// Open-addressing table from a cell to the first of its entries.
    table: Vec<u32>,
}

/// The level whose cells hold a sphere of this diameter.
fn level_of(diameter: f64) -> usize {
    let exponent = diameter.max(f64::MIN_POSITIVE).log2().ceil() as i32;
    (exponent + LOWEST).clamp(0, LEVELS as i32 - 1) as usize
}

fn edge_of(level: usize) -> f64 {
    2.0_f64.powi(level as i32 - LOWEST)
}

fn cell_of(centre: Vector, level: usize) -> [i64; 3] {
    let edge = edge_of(level);
    // Far beyond any scene, and far from overflow.
    [centre.x, centre.y, centre.z].map(|x| (x / edge).floor().clamp(-1e15, 1e15) as i64)
}

fn key_of(cell: [i64; 3], level: usize) -> u64 {
    let [x, y, z] = cell.map(|c| (c & MASK) as u64);
    (level as u64) << (3 * BITS) | x << (2 * BITS) | y << BITS | z
}

fn slot_of(key: u64, slots: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (slots - 1)
}

impl Grid {
    /// Fills `near` with the pairs whose bounding spheres come within `reach`.
    pub(super) fn find(&mut self, all: impl Iterator<Item = u32>, ball: impl Fn(u32) -> Ball, reach: f64) {
        self.near.clear();
        self.entries.clear();
        let mut in_use = [false; LEVELS];
        for which in all {
            let Ball { centre, radius } = ball(which);
            let level = level_of(2.0 * radius + reach);
            in_use[level] = true;
            self.entries.push((key_of(cell_of(centre, level), level), which));
        }
        self.entries.sort_unstable();
        self.hash();
        for index in 0..self.entries.len() {
            let (key, which) = self.entries[index];
            let own = (key >> (3 * BITS)) as usize;
            for level in (own..LEVELS).filter(|&l| in_use[l]) {
                self.look_about(which, &ball, level, level == own, reach);
            }
        }
    }

    fn hash(&mut self) {
        let slots = (2 * self.entries.len()).next_power_of_two().max(16);
        self.table.clear();
        self.table.resize(slots, EMPTY);
        let mut last = u64::MAX;
        for (index, &(key, _)) in self.entries.iter().enumerate() {
            if key != last {
                last = key;
                let mut slot = slot_of(key, slots);
                while self.table[slot] != EMPTY {
                    slot = (slot + 1) & (slots - 1);
                }
                self.table[slot] = index as u32;
            }
        }
    }

    fn first_in(&self, key: u64) -> Option<usize> {
        let mut slot = slot_of(key, self.table.len());
        loop {
            let index = self.table[slot];
            if index == EMPTY {
                return None;
            }
            if self.entries[index as usize].0 == key {
                return Some(index as usize);
            }
            slot = (slot + 1) & (self.table.len() - 1);
        }
    }

    /// Pairs of one with those of the 27 cells about it on a level; on its own level each pair is met twice.
    fn look_about(&mut self, which: u32, ball: &impl Fn(u32) -> Ball, level: usize, own: bool, reach: f64) {
        let Ball { centre, radius } = ball(which);
        let [x, y, z] = cell_of(centre, level);
        for offset in 0..27 {
            let cell = [x + offset / 9 - 1, y + offset / 3 % 3 - 1, z + offset % 3 - 1];
            let key = key_of(cell, level);
            let Some(first) = self.first_in(key) else { continue };
            for index in first..self.entries.len() {
                let (found, other) = self.entries[index];
                if found != key {
                    break;
                }
                if other == which || (own && other < which) {
                    continue;
                }
                let of_other = ball(other);
                let near = radius + of_other.radius + reach;
                if (of_other.centre - centre).length_squared() < near * near {
                    self.near.push((which.min(other), which.max(other)));
                }
            }
        }
    }
}
