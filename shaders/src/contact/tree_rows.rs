//! Static rows: limits and dry friction of joints and tendons, force-limited drives, couplings of joints or tendons.
//!
//! Buffers: topology, params, state, factor, pull -> row (in place: the impulse of the step before is the warm start).

use super::row_law::{coefficient, row_law};
use super::tree_layout::{none, row, row_coefficient, row_head, row_stride};
use crate::Real;
use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{self, NONE, Params, RowRecord, Tree, nth, nth_mut, solve, tile_params};

/// One tile; `rows` is `[n_row][row_stride]`.
pub fn tree_rows<R: Real>(tree: &Tree, params: &Params<R>, state: &[R], factor: &[R], pull: &[R], rows: &mut [R]) {
    let (n_v, width) = (tree.dofs.len(), tree.dims.row_width);
    let zero = R::lit(0.0);
    let stride = row_stride(n_v, width);
    for (k, record) in tree.rows.iter().enumerate() {
        let (before, out) = rows.split_at_mut(k * stride);
        let (head, y) = out[..stride].split_at_mut(row_head(width));
        if none(write_law(tree, params, state, pull, record, head)) {
            continue;
        }
        if record.count == 1 {
            let like = (record.like != NONE).then(|| &before[record.like as usize * stride..][..stride]);
            respond_alone(tree, factor, record, like, head, y);
        } else {
            y.fill(zero);
            for (k, &dof) in tree.row_dofs(record).iter().enumerate() {
                y[dof as usize] += row_coefficient(head, k);
            }
            solve(tree, factor, y);
        }
        for (k, &dof) in tree.row_dofs(record).iter().enumerate() {
            head[row::BLOCK] = row_coefficient(head, k).mul_add(y[dof as usize], head[row::BLOCK]);
        }
    }
}

/// What the rows say before their responses are known: `rows` is [n_row, [`row_head`]]. For hosts; it has no kernel.
pub fn row_laws<R: Real>(tree: &Tree, params: &Params<R>, state: &[R], pull: &[R], rows: &mut [R]) {
    for (record, head) in tree.rows.iter().zip(rows.chunks_exact_mut(row_head(tree.dims.row_width))) {
        write_law(tree, params, state, pull, record, head);
    }
}

/// Writes all of a row but its response; whether it can act.
#[inline(always)]
fn write_law<R: Real>(
    tree: &Tree,
    params: &Params<R>,
    state: &[R],
    pull: &[R],
    record: &RowRecord,
    head: &mut [R],
) -> R::Mask {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let law = row_law(tree, params, state, pull, record);
    let active = law.active;
    let count = record.count as usize;
    // A limit that changed sides starts anew.
    let mut keeps = active;
    if matches!(record.kind, tree::row::LIMIT | tree::row::TENDON_LIMIT) {
        let along = (0..count).fold(zero, |sum, k| {
            coefficient(tree, pull, record, &law.factors, k).mul_add(row_coefficient(head, k), sum)
        });
        keeps = keeps & zero.lt(along);
    }
    let warm = head[row::IMPULSE].max(law.lower).min(law.upper);
    head[row::IMPULSE] = R::select(keeps & crate::math::finite(warm), warm, zero);
    head[row::BIAS] = R::select(active, law.bias, zero);
    head[row::RELAXED] = zero;
    head[row::COMPLIANCE] = law.compliance;
    head[row::LOWER] = law.lower;
    head[row::UPPER] = law.upper;
    head[row::ACTIVE] = R::select(active, one, zero);
    for k in 0..tree.dims.row_width as usize {
        let (mut j, mut dof) = (zero, 0);
        if k < count {
            j = R::select(active, coefficient(tree, pull, record, &law.factors, k), zero);
            dof = tree.row_dofs(record)[k];
        }
        head[row::COEFFICIENT + row::TERM * k] = j;
        head[row::DOF + row::TERM * k] = R::lit(f64::from(dof));
    }
    head[row::BLOCK] = zero;
    active
}

/// Y of a row of one dof: the response to a unit of it, which a row before this may have, times J.
#[inline(always)]
fn respond_alone<R: Real>(tree: &Tree, factor: &[R], record: &RowRecord, like: Option<&[R]>, head: &[R], y: &mut [R]) {
    let (one, j) = (R::lit(1.0), row_coefficient(head, 0));
    let acts = |head: &[R]| R::lit(0.0).lt(head[row::ACTIVE]);
    match like.filter(|like| none(acts(head) & !acts(like))) {
        Some(like) => y.copy_from_slice(&like[like.len() - y.len()..]),
        None => {
            y.fill(R::lit(0.0));
            y[tree.row_dofs(record)[0] as usize] = one;
            solve(tree, factor, y);
        }
    }
    y.iter_mut().for_each(|y| *y = *y * j);
}

/// Buffers: topology, params, state, factor, pull, row.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, params, state, factor, pull, row] = args.split();
    let tree = Tree::new(dims, topology.index());
    for t in 0..tiles {
        tree_rows(
            &tree,
            &tile_params(dims, params, t),
            nth(state.tile(), t, dims.n_state() as u32),
            nth(factor.tile(), t, dims.n_m),
            nth(pull.tile(), t, dims.n_pull),
            nth_mut(row.tile_mut(), t, dims.n_row * row_stride(dims.n_v as usize, dims.row_width) as u32),
        );
    }
}
