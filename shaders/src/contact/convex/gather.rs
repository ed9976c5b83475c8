//! Momentum matrices of the trees of one set, dense, to where their islands' solver has them.

use bytemuck::{Pod, Zeroable};

use super::layout::DofRecord;
use crate::args::Args;
use crate::contact::island::{TreeItem, items, words};
use crate::dynamics::tree::NONE;
use crate::{Real, Scalar};

/// Uniform block.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Pod, Zeroable)]
pub struct Dims {
    /// Trees of the set in islands.
    pub n_items: u32,
    /// First word of their `TreeItem`s in `island_index`.
    pub items_at: u32,
    /// First word of the records of dofs in `convex_index`.
    pub dofs_at: u32,
    /// Word of `convex_index` from which on stands where each dof's row of the branch-sparse matrix begins, `[n_v + 1]`.
    pub begins_at: u32,
    /// Word from which on stand the dofs of the entries of those rows, `[n_m]`.
    pub columns_at: u32,
    /// Dofs of a tree.
    pub n_v: u32,
    /// Entries of the branch-sparse matrix.
    pub n_m: u32,
}

/// `momentum` is a tile buffer of the set.
pub fn gather<T: Scalar, R: Real<Scalar = T>>(
    dims: &Dims,
    islands: &[u32],
    index: &[u32],
    momentum: &[R],
    convex: &mut [T],
) {
    let [n_v, n_m] = [dims.n_v, dims.n_m].map(|n| n as usize);
    let begins = &index[dims.begins_at as usize..][..=n_v];
    let columns = &index[dims.columns_at as usize..][..n_m];
    for item in items::<TreeItem>(islands, dims.items_at, dims.n_items) {
        let at = dims.dofs_at + item.velocity * words::<DofRecord>() as u32;
        let row = items::<DofRecord>(index, at, 1)[0].row;
        if row == NONE {
            continue;
        }
        let (tile, lane) = (item.lane as usize / R::N, item.lane as usize % R::N);
        let own = &momentum[tile * n_m..][..n_m];
        let a = &mut convex[row as usize..][..n_v * n_v];
        a.fill(T::lit(0.0));
        for i in 0..n_v {
            for k in begins[i] as usize..begins[i + 1] as usize {
                let (j, x) = (columns[k] as usize, own[k].lane(lane));
                a[i * n_v + j] = x;
                a[j * n_v + i] = x;
            }
        }
    }
}

/// Buffers: island_index, convex_index, momentum -> convex.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [islands, index, momentum, convex] = args.split();
    gather(&dims, islands.index(), index.index(), momentum.tile(), convex.real_mut());
}
