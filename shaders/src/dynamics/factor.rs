//! The branch-sparse factor `A = L^T D L` of the momentum matrix, and the free velocity `A v_free = b`.
//!
//! Source: Featherstone 2008, section 6.5: dofs from the leaves to the root, each eliminated from its ancestors.

use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Tree, nth, nth_mut, solve, status};
use crate::real::{Mask, Real};

/// Pivots below this part of the diagonal they came from count as not positive.
const SMALLEST_PIVOT: f64 = 1e-14;

/// `momentum` `[n_m]` and `b` `[n_v]` to `factor` `[n_m]`, `v_free` `[n_v]`, `velocity` `[n_v]` and `status` `[lanes]` of one tile.
/// Starts the status word of the step.
pub fn factor<R: Real>(
    tree: &Tree,
    momentum: &[R],
    b: &[R],
    factor: &mut [R],
    v_free: &mut [R],
    velocity: &mut [R],
    status: &mut [u32],
) {
    factor.copy_from_slice(momentum);
    let sound = eliminate(tree, momentum, factor);
    v_free.copy_from_slice(b);
    solve(tree, factor, v_free);
    velocity.copy_from_slice(v_free);
    for (lane, word) in status.iter_mut().enumerate() {
        *word = (*word & status::KEPT) | if sound.lane(lane) { 0 } else { status::BREAKDOWN };
    }
}

/// Factors in place; whether every pivot was positive. A pivot that is not is taken as the diagonal it came from, so
/// that the lane goes on, flagged.
#[inline(always)]
fn eliminate<R: Real>(tree: &Tree, momentum: &[R], factor: &mut [R]) -> R::Mask {
    let one = R::lit(1.0);
    let mut sound = R::lit(0.0).lt(one);
    for i in (0..tree.dofs.len()).rev() {
        let dof = &tree.dofs[i];
        let (at, chain) = (dof.m_begin as usize, dof.chain as usize);
        let positive = (momentum[at] * R::lit(SMALLEST_PIVOT)).lt(factor[at]);
        sound = sound & positive;
        let usable = R::lit(0.0).lt(momentum[at]);
        let pivot = R::select(positive, factor[at], R::select(usable, momentum[at], one));
        let inverse = one / pivot;
        // Ancestors come before their descendants, and so do their rows.
        let (above, row) = factor.split_at_mut(at);
        let row = &mut row[..chain];
        let mut j = dof.parent as usize;
        for k in 1..chain {
            let ratio = row[k] * inverse;
            let ancestor = &tree.dofs[j];
            // The ancestor's row, from its diagonal to the root, less `ratio` times ours.
            for (entry, &own) in above[ancestor.m_begin as usize..].iter_mut().zip(&row[k..]) {
                *entry = (-ratio).mul_add(own, *entry);
            }
            row[k] = ratio;
            j = ancestor.parent as usize;
        }
        row[0] = inverse;
    }
    sound
}

/// Buffers: topology, params (unused), momentum, b, factor, v_free, velocity, status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, _params, momentum, b, factor, v_free, velocity, status] = args.split();
    let tree = Tree::new(dims, topology.index());
    let momentum = momentum.tile();
    let b = b.tile();
    let factor = factor.tile_mut();
    let v_free = v_free.tile_mut();
    let velocity = velocity.tile_mut();
    let status = status.index_mut();
    for t in 0..tiles {
        self::factor(
            &tree,
            nth(momentum, t, dims.n_m),
            nth(b, t, dims.n_v),
            nth_mut(factor, t, dims.n_m),
            nth_mut(v_free, t, dims.n_v),
            nth_mut(velocity, t, dims.n_v),
            nth_mut(status, t, R::N as u32),
        );
    }
}
