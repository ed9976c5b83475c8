//! How good the impulses of a step are, from themselves: residuals 1 and scaled ([`super::tree_layout::info`]), and the
//! deepest penetration.
//!
//! Buffers: topology, params, slots, factor, constraint, impulse, row -> info. The velocity is not the solver's but
//! `A^-1 (b + J^T lambda)`: `tree_push` left the momentum behind the numbers of `info`, where it becomes the velocity.

use super::local::{APART, residual, scaled_residual};
use super::tree_layout::{info, load3, none, row, row_stride, row_velocity, slot, slot_reals, tile_slots, trace};
use super::tree_pgs::{row_residual, slot_velocity};
use crate::Real;
use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Tree, nth, solve};

/// One tile.
pub fn tree_certify<R: Real>(
    tree: &Tree,
    factor: &[R],
    constraint: &[R],
    impulse: &[R],
    rows: &[R],
    info_out: &mut [R],
) {
    let (zero, one, n_v) = (R::lit(0.0), R::lit(1.0), tree.dofs.len());
    let (size, stride) = (slot_reals(n_v), row_stride(n_v, tree.dims.row_width));
    let (info_out, v) = info_out.split_at_mut(info::SIZE);
    let v = &mut v[..n_v];
    solve(tree, factor, v);

    let (mut square, mut scaled, mut depth) = (zero, zero, zero);
    let (mut contacts, mut active_rows, mut left_out) = (zero, zero, zero);
    for (c, lambda) in constraint.chunks_exact(size).zip(impulse.chunks_exact(3)) {
        let (mu, lambda, sigma) = (c[slot::MU], load3(lambda, 0), slot_velocity(c, v));
        let r = residual(mu, one, &lambda, &sigma);
        square += r[0].mul_add(r[0], r[1].mul_add(r[1], r[2] * r[2]));
        scaled = scaled.max(scaled_residual(mu, trace(c), &lambda, &sigma));
        depth = depth.max(-c[slot::DISTANCE]);
        contacts += R::select(zero.lt(trace(c)) & zero.le(mu), one, zero);
        left_out += R::select(R::lit(APART).le(c[slot::BIAS + 2]), one, zero);
    }
    for r in rows.chunks_exact(stride).take(tree.rows.len()) {
        let active = zero.lt(r[row::ACTIVE]);
        active_rows += r[row::ACTIVE];
        if none(active) {
            continue;
        }
        let sigma = row_velocity(tree.dims.row_width, r, v) + r[row::BIAS];
        let (lambda, compliance) = (r[row::IMPULSE], r[row::COMPLIANCE]);
        let bound = |x: R| x.max(r[row::LOWER]).min(r[row::UPPER]);
        let left = row_residual(r, sigma);
        square += R::select(active, left * left, zero);
        let whole = r[row::BLOCK] + compliance;
        let left = lambda - bound(lambda - compliance.mul_add(lambda, sigma) / whole);
        scaled = scaled.max(R::select(active, left.abs() * whole, zero));
    }
    info_out[info::RESIDUAL] = square.sqrt() / contacts.max(one);
    info_out[info::SCALED] = scaled;
    info_out[info::PENETRATION] = depth;
    info_out[info::CONTACTS] = contacts;
    info_out[info::ROWS] = active_rows;
    info_out[info::LEFT_OUT] = left_out;
}

/// Buffers: topology, params, slots, factor, constraint, impulse, row, info.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, _params, slots, factor, constraint, impulse, row, info_out] = args.split();
    let tree = Tree::new(dims, topology.index());
    let n_v = dims.n_v as usize;
    let (size, reals) = (slot_reals(n_v), info::reals(n_v));
    for t in 0..tiles {
        let [begin, count, ..] = tile_slots(slots.index(), t);
        tree_certify(
            &tree,
            nth(factor.tile(), t, dims.n_m),
            &constraint.tile()[begin * size..(begin + count) * size],
            &impulse.tile()[3 * begin..3 * (begin + count)],
            nth(row.tile(), t, dims.n_row * row_stride(n_v, dims.row_width) as u32),
            &mut info_out.tile_mut()[t * reals..(t + 1) * reals],
        );
    }
}
