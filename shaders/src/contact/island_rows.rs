//! Static rows of the trees of one set as constraints of their islands, from what `contact/tree_rows` made of them.

use super::island::{RowItem, SetDims, con, items};
use super::tree_layout::{row, row_coefficient, row_dof, row_head, row_stride};
use crate::args::Args;
use crate::{Real, Scalar};

/// Uniform block.
pub type Dims = SetDims;

/// `rows` is a tile buffer of the set.
pub fn island_rows<T: Scalar, R: Real<Scalar = T>>(
    dims: &SetDims,
    index: &[u32],
    rows: &[R],
    jac: &mut [T],
    cons: &mut [T],
) {
    let (n_v, head) = (dims.n_v as usize, row_head(dims.row_width));
    let (zero, stride, width) = (T::lit(0.0), row_stride(n_v, dims.row_width), dims.row_width as usize);
    for item in by_row::<R>(dims, items(index, dims.rows_at, dims.n_rows), stride) {
        let (tile, lane, r) = (item.lane as usize / R::N, item.lane as usize % R::N, item.row as usize);
        let from = &rows[tile * dims.n_row_real as usize + r * stride..][..stride];
        let get = |field: usize| from[field].lane(lane);
        // A row that cannot act is one that carries nothing.
        let active = get(row::ACTIVE);
        let acts = T::lit(0.0) < active;
        let out = &mut cons[con::SIZE * item.constraint as usize..][..con::SIZE];
        out[con::ROW_BIAS] = get(row::BIAS);
        out[con::RELAXED] = T::lit(0.0);
        out[con::ROW_COMPLIANCE] = if acts { get(row::COMPLIANCE) } else { T::lit(0.0) };
        out[con::ROW_LOWER] = if acts { get(row::LOWER) } else { T::lit(0.0) };
        out[con::ROW_UPPER] = if acts { get(row::UPPER) } else { T::lit(0.0) };
        out[con::ROW_DELASSUS] = get(row::BLOCK);
        out[con::ROW_WARM] = get(row::IMPULSE);
        let (j, y) = jac[item.jac as usize..][..2 * n_v].split_at_mut(n_v);
        (out[con::ROW_DOF], out[con::ROW_COEFFICIENT]) = (zero, zero);
        j.fill(zero);
        if !acts {
            y.fill(zero);
            continue;
        }
        y.iter_mut().zip(&from[head..]).for_each(|(y, from)| *y = from.lane(lane));
        let (mut count, mut alone) = (0, (zero, zero));
        for k in 0..width {
            let (dof, coefficient) = (row_dof(from, k), row_coefficient(from, k).lane(lane));
            j[dof] += coefficient;
            if coefficient != zero {
                count += 1;
                alone = (T::lit(dof as f64 + 1.0), coefficient);
            }
        }
        if count == 1 {
            (out[con::ROW_DOF], out[con::ROW_COEFFICIENT]) = alone;
        }
    }
}

/// The items by tile and row: the numbers of a tile's lanes stand side by side, and each comes to the processor once.
fn by_row<'a, R: Real>(dims: &SetDims, items: &'a [RowItem], stride: usize) -> impl Iterator<Item = &'a RowItem> {
    let n_row = dims.n_row_real as usize / stride;
    let tile = |item: &RowItem| item.lane as usize / R::N;
    items.chunk_by(move |a, b| tile(a) == tile(b)).flat_map(move |own| {
        let mut places: Vec<Option<&RowItem>> = vec![None; n_row * R::N];
        for item in own {
            places[item.row as usize * R::N + item.lane as usize % R::N] = Some(item);
        }
        places.into_iter().flatten()
    })
}

/// Buffers: row, island_index -> island_jac, island_con.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [rows, index, jac, cons] = args.split();
    island_rows(&dims, index.index(), rows.tile(), jac.real_mut(), cons.real_mut());
}
