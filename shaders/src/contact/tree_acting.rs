//! Which static rows of a tree can act in a step from the state that it begins with: the host leaves the others out of islands of
//! several trees.
//!
//! Buffers: topology, params, state, pull -> acting, a bit a row in [`words`] words a lane, tile layout.

use super::row_law::row_law;
use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Params, Tree, nth, nth_mut, tile_params};
use crate::index::tile_at;
use crate::{Mask, Real};

/// Rows of a word.
const BITS: u32 = 32;

/// Words of a lane with so many rows.
#[inline(always)]
#[must_use]
pub const fn words(n_row: usize) -> usize {
    n_row.div_ceil(BITS as usize)
}

/// Word and bit of a row among those of its lane.
#[inline(always)]
const fn place(row: usize) -> (usize, u32) {
    (row / BITS as usize, row as u32 % BITS)
}

/// Whether a row of a lane can act, by the words of a set whose trees have so many rows, in tiles of so many lanes.
#[inline(always)]
#[must_use]
pub fn acts(acting: &[u32], tile: usize, n_row: usize, lane: usize, row: usize) -> bool {
    let (word, bit) = place(row);
    acting[tile_at(tile, lane, words(n_row), word)] >> bit & 1 == 1
}

/// One tile.
pub fn tree_acting<R: Real>(tree: &Tree, params: &Params<R>, state: &[R], pull: &[R], acting: &mut [u32]) {
    acting.fill(0);
    for (k, record) in tree.rows.iter().enumerate() {
        let active = row_law(tree, params, state, pull, record).active;
        let (word, bit) = place(k);
        for (lane, own) in acting[word * R::N..(word + 1) * R::N].iter_mut().enumerate() {
            *own |= u32::from(active.lane(lane)) << bit;
        }
    }
}

/// Buffers: topology, params, state, pull, acting.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, pull, acting] = args.split();
    let tree = Tree::new(dims, topology.index());
    let n = (R::N * words(dims.n_row as usize)) as u32;
    for t in 0..tiles {
        tree_acting(
            &tree,
            &tile_params(dims, params, t),
            nth(state.tile(), t, dims.n_state() as u32),
            nth(pull.tile(), t, dims.n_pull),
            nth_mut(acting.index_mut(), t, n),
        );
    }
}
