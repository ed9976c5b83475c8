//! Y = A^-1 J^T, the diagonal blocks and restitution of every slot; a contact that nothing moves apart is left out.
//!
//! Buffers: topology, params, factor, state, slots -> constraint (what `tree_jacobian` left).

use super::local::{invert, parted};
use super::tree_layout::{slot, slot_reals, tile_slots};
use crate::Real;
use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Tree, nth, row};
use crate::math::is_zero;

/// Y in place of J, as [`crate::dynamics::tree::solve`] does it, but with a load of the factor for all three rows.
#[inline(always)]
fn respond<R: Real>(tree: &Tree, factor: &[R], y: &mut [R]) {
    let n = tree.dofs.len();
    let (y0, rest) = y[..3 * n].split_at_mut(n);
    let (y1, y2) = rest.split_at_mut(n);
    for (i, dof) in tree.dofs.iter().enumerate().rev() {
        let (a, b, c) = (y0[i], y1[i], y2[i]);
        if is_zero(a.abs() + b.abs() + c.abs()) {
            continue;
        }
        let mut j = dof.parent as usize;
        for &l in &row(factor, dof)[1..] {
            y0[j] = (-l).mul_add(a, y0[j]);
            y1[j] = (-l).mul_add(b, y1[j]);
            y2[j] = (-l).mul_add(c, y2[j]);
            j = tree.dofs[j].parent as usize;
        }
    }
    for (i, dof) in tree.dofs.iter().enumerate() {
        let row = row(factor, dof);
        let (mut a, mut b, mut c) = (y0[i] * row[0], y1[i] * row[0], y2[i] * row[0]);
        let mut j = dof.parent as usize;
        for &l in &row[1..] {
            a = (-l).mul_add(y0[j], a);
            b = (-l).mul_add(y1[j], b);
            c = (-l).mul_add(y2[j], c);
            j = tree.dofs[j].parent as usize;
        }
        (y0[i], y1[i], y2[i]) = (a, b, c);
    }
}

/// One tile; `constraint` is its own slots.
pub fn tree_assemble<R: Real>(tree: &Tree, factor: &[R], state: &[R], constraint: &mut [R]) {
    let n_v = tree.dofs.len();
    let v = &state[tree.dims.v_at()..][..n_v];
    let (zero, size) = (R::lit(0.0), slot_reals(n_v));
    for out in constraint.chunks_exact_mut(size) {
        let (head, rows) = out.split_at_mut(slot::J);
        let (j, y) = rows.split_at_mut(3 * n_v);
        y.copy_from_slice(j);
        respond(tree, factor, y);
        let mut g = [zero; 6];
        let (mut normal, mut reach) = (zero, zero);
        for i in 0..n_v {
            let a = [j[i], j[n_v + i], j[2 * n_v + i]];
            if is_zero(a[0].abs() + a[1].abs() + a[2].abs()) {
                continue;
            }
            let b = [y[i], y[n_v + i], y[2 * n_v + i]];
            g[0] = a[0].mul_add(b[0], g[0]);
            g[1] = a[0].mul_add(b[1], g[1]);
            g[2] = a[0].mul_add(b[2], g[2]);
            g[3] = a[1].mul_add(b[1], g[3]);
            g[4] = a[1].mul_add(b[2], g[4]);
            g[5] = a[2].mul_add(b[2], g[5]);
            normal = a[2].mul_add(v[i], normal);
            reach = reach.max(a[2].abs());
        }
        let drift = head[slot::DRIFT];
        head[slot::BLOCK..slot::BLOCK + 6].copy_from_slice(&g);
        head[slot::INVERSE..slot::INVERSE + 6].copy_from_slice(&invert(&g));
        let rho = head[slot::RESTITUTION];
        let speed = normal + drift;
        let bounces = zero.lt(rho) & speed.lt(head[slot::BOUNCE]);
        let asked = drift + R::select(bounces, rho * speed, head[slot::BIAS + 2]);
        head[slot::BIAS + 2] = parted(head[slot::MU], &g, reach, asked);
    }
}

/// Buffers: topology, params, factor, state, slots, constraint.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, _params, factor, state, slots, constraint] = args.split();
    let tree = Tree::new(dims, topology.index());
    let size = slot_reals(dims.n_v as usize);
    for t in 0..tiles {
        let [begin, count, ..] = tile_slots(slots.index(), t);
        tree_assemble(
            &tree,
            nth(factor.tile(), t, dims.n_m),
            nth(state.tile(), t, dims.n_state() as u32),
            &mut constraint.tile_mut()[begin * size..(begin + count) * size],
        );
    }
}
