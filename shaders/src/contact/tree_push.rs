//! `b + J^T lambda`: the momentum that the impulses ask for, by themselves, for the certificate.

pub use super::tree_layout::LaneDims as Dims;
use super::tree_layout::{info, row, row_coefficient, row_dof, slot, tile_slots};
use crate::Real;
use crate::args::Args;
use crate::dynamics::tree::nth;

/// One tile; the momentum goes behind the numbers of `info`.
pub fn tree_push<R: Real>(dims: &Dims, b: &[R], constraint: &[R], impulse: &[R], rows: &[R], info_out: &mut [R]) {
    let n_v = dims.n_v as usize;
    let p = &mut info_out[info::SIZE..info::reals(n_v)];
    p.copy_from_slice(&b[..n_v]);
    for (c, lambda) in constraint.chunks_exact(dims.slot()).zip(impulse.chunks_exact(3)) {
        for i in 0..n_v {
            let j = |a: usize| c[slot::J + a * n_v + i];
            p[i] = j(2).mul_add(lambda[2], j(1).mul_add(lambda[1], j(0).mul_add(lambda[0], p[i])));
        }
    }
    for r in rows[..dims.n_row as usize * dims.row()].chunks_exact(dims.row()) {
        for k in 0..dims.row_width as usize {
            let p = &mut p[row_dof(r, k)];
            *p = row_coefficient(r, k).mul_add(r[row::IMPULSE], *p);
        }
    }
}

/// Buffers: slots, b, constraint, impulse, row, info.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let tiles = args.tiles();
    let [slots, b, constraint, impulse, row, info_out] = args.split();
    let (size, n_v) = (dims.slot(), dims.n_v as usize);
    for t in 0..tiles {
        let [begin, count, ..] = tile_slots(slots.index(), t);
        tree_push(
            &dims,
            nth(b.tile(), t, dims.n_v),
            &constraint.tile()[begin * size..(begin + count) * size],
            &impulse.tile()[3 * begin..3 * (begin + count)],
            nth(row.tile(), t, dims.n_row * dims.row() as u32),
            &mut info_out.tile_mut()[t * info::reals(n_v)..(t + 1) * info::reals(n_v)],
        );
    }
}
