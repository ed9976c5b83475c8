//! How good the impulses of a step are, from themselves: residuals 1 and scaled ([`super::tree_layout::info`]), and the
//! deepest penetration.
//!
//! Buffers: topology, slots, factor, b, constraint, impulse, row -> info. The velocity is not the solver's but
//! `A^-1 (b + J^T lambda)` by the factor; it stays behind the numbers of `info`.

use super::local::{residual, scaled_residual};
use super::tree_layout::{info, load3, none, row, row_stride, slot, slot_reals};
use super::tree_pgs::{row_velocity, slot_velocity, trace};
use crate::Real;
use crate::dynamics::tree::{Tree, solve};

/// One tile.
pub fn tree_certify<R: Real>(
    tree: &Tree,
    factor: &[R],
    b: &[R],
    constraint: &[R],
    impulse: &[R],
    rows: &[R],
    info_out: &mut [R],
) {
    let (zero, one, n_v) = (R::lit(0.0), R::lit(1.0), tree.dofs.len());
    let (size, stride) = (slot_reals(n_v), row_stride(n_v));
    let (info_out, v) = info_out.split_at_mut(info::SIZE);
    let v = &mut v[..n_v];
    v.copy_from_slice(&b[..n_v]);
    for (c, lambda) in constraint.chunks_exact(size).zip(impulse.chunks_exact(3)) {
        for i in 0..n_v {
            let j = |a: usize| c[slot::J + a * n_v + i];
            v[i] = j(2).mul_add(lambda[2], j(1).mul_add(lambda[1], j(0).mul_add(lambda[0], v[i])));
        }
    }
    for (record, r) in tree.rows.iter().zip(rows.chunks_exact(stride)) {
        for k in 0..record.count as usize {
            let v = &mut v[record.dofs[k] as usize];
            *v = r[row::COEFFICIENT + k].mul_add(r[row::IMPULSE], *v);
        }
    }
    solve(tree, factor, v);

    let (mut square, mut scaled, mut depth) = (zero, zero, zero);
    let (mut contacts, mut active_rows) = (zero, zero);
    for (c, lambda) in constraint.chunks_exact(size).zip(impulse.chunks_exact(3)) {
        let (mu, lambda, sigma) = (c[slot::MU], load3(lambda, 0), slot_velocity(c, v));
        let r = residual(mu, one, &lambda, &sigma);
        square += r[0].mul_add(r[0], r[1].mul_add(r[1], r[2] * r[2]));
        scaled = scaled.max(scaled_residual(mu, trace(c), &lambda, &sigma));
        depth = depth.max(-c[slot::DISTANCE]);
        contacts += R::select(zero.lt(trace(c)) & zero.le(mu), one, zero);
    }
    for (record, r) in tree.rows.iter().zip(rows.chunks_exact(stride)) {
        let active = zero.lt(r[row::ACTIVE]);
        active_rows += r[row::ACTIVE];
        if none(active) {
            continue;
        }
        let sigma = row_velocity(record.count, &record.dofs, r, v) + r[row::BIAS];
        let (lambda, compliance) = (r[row::IMPULSE], r[row::COMPLIANCE]);
        let bound = |x: R| x.max(r[row::LOWER]).min(r[row::UPPER]);
        let left = lambda - bound((lambda - sigma) / (one + compliance));
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
}
