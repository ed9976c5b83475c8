//! The trees of one set that touch a soft body, to its lanes: see [`super::trees`].

use bytemuck::{Pod, Zeroable};

use crate::args::Args;
use crate::contact::island::items;
use crate::dynamics::tree::{Tree, TreeDims, nth};
use crate::real::Real;
use crate::soft::trees::{MetItem, tree_reals};

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// The tree.
    pub tree: TreeDims,
    /// Trees of this set.
    pub n_items: u32,
    /// First word of their [`MetItem`]s in `touch_words`.
    pub items_at: u32,
    /// Reals of a lane of `beside`; those of trees are the last.
    pub n_beside: u32,
    /// Room for degrees of freedom there.
    pub room: u32,
}

/// A tree's A, b and velocity before the step. `momentum`, `b` and `state` are the tile of its lane, `beside` that of the soft body's.
fn gather<R: Real>(dims: &Dims, tree: &Tree, item: &MetItem, [momentum, b, state]: [&[R]; 3], beside: &mut [R]) {
    let (from, to) = (item.lane as usize % R::N, item.soft as usize % R::N);
    let (room, column) = (dims.room as usize, item.column as usize);
    let first = dims.n_beside as usize - tree_reals(room);
    let mut put = |at: usize, x: R::Scalar| beside[first + at].set_lane(to, x);
    let entry = |i: usize, j: usize| (column + i) * room + column + j;
    // Rows as a whole: other trees stood elsewhere in the step before.
    for at in column * room..(column + tree.dofs.len()) * room {
        put(at, R::lit(0.0).lane(0));
    }
    for (i, dof) in tree.dofs.iter().enumerate() {
        let mut j = i;
        for k in 0..dof.chain as usize {
            let x = momentum[dof.m_begin as usize + k].lane(from);
            put(entry(i, j), x);
            put(entry(j, i), x);
            j = tree.dofs[j].parent as usize;
        }
        put(2 * room * room + column + i, b[i].lane(from));
        put((2 * room + 1) * room + column + i, state[dims.tree.v_at() + i].lane(from));
    }
}

/// Buffers: topology, params, momentum, b, state (of the tree set), touch_words, beside (of the soft body).
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [topology, _, momentum, b, state, words, beside] = args.split();
    let tree = Tree::new(&dims.tree, topology.index());
    let (momentum, b, state, beside) = (momentum.tile(), b.tile(), state.tile(), beside.tile_mut());
    for item in items::<MetItem>(words.index(), dims.items_at, dims.n_items) {
        let t = item.lane as usize / R::N;
        let own =
            [nth(momentum, t, dims.tree.n_m), nth(b, t, dims.tree.n_v), nth(state, t, dims.tree.n_state() as u32)];
        let n = dims.n_beside as usize;
        gather(&dims, &tree, item, own, &mut beside[item.soft as usize / R::N * n..][..n]);
    }
}
