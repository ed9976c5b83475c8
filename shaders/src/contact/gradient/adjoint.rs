//! From the gradient of a loss by v+ to that by impulses on the dofs, `K^T`, without that matrix: with z the adjoint of the equations,
//! `B^T z = R^T J A^-1 g`, it is `A^-1 (g - J^T L^T z)`. What each row of the lane weighs, `L^T z`, is for [`super::back`].
//!
//! Buffers: topology, params (unused), factor, places, constraint, row, system, adjoint.

use super::layout::{Adjoint, System, place, sizes, tile_place, unknown, verdict};
use super::mobility::most_unknowns;
use super::weigh::{add_weighed, weighs};
use crate::args::Args;
use crate::contact::tree_layout::{row as row_part, row_coefficient, row_dof, row_stride, slot, slot_reals};
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{Tree, nth, nth_mut, solve};
use crate::real::{Mask, Real, Scalar};

/// `L^T z` for `B^T z = push given`, into `system`, which is the tile's own.
#[inline(always)]
fn react<R: Real>(at: &System, system: &mut [R], given: &[R]) {
    let (n, zero, m) = (given.len(), R::lit(0.0), most_unknowns(system));
    let (known, rest) = system.split_at_mut(at.reaction);
    let (reaction, z) = rest.split_at_mut(at.scratch - at.reaction);
    let factor = |i: usize, j: usize| known[at.factor + i * at.most + j];
    // By unknown.
    for (push, x) in known[at.push..at.response].chunks_exact(n).zip(&mut *reaction).take(m) {
        *x = push.iter().zip(given).fold(zero, |sum, (push, x)| push.mul_add(*x, sum));
    }
    let order = &known[at.order..at.factor];
    for k in 0..m {
        let mut sum = zero;
        for lane in 0..R::N {
            let u = order[at.most + k].lane(lane).to_f64() as usize;
            sum.set_lane(lane, reaction[u].lane(lane));
        }
        let sum = (0..k).fold(sum, |sum, c| (-factor(c, k)).mul_add(z[c], sum));
        // 1/U, or zero from the rank on.
        z[k] = sum * factor(k, k);
    }
    for k in (0..m).rev() {
        z[k] = (k + 1..m).fold(z[k], |sum, i| (-factor(i, k)).mul_add(z[i], sum));
    }
    reaction.fill(zero);
    for lane in 0..R::N {
        let count = known[verdict::SIZE_OF].lane(lane).to_f64() as usize;
        for (row_of, z) in order.iter().zip(z.iter()).take(count) {
            let own = &known[at.list + row_of.lane(lane).to_f64() as usize * unknown::SIZE..][..unknown::SIZE];
            let first = own[unknown::FIRST].lane(lane).to_f64() as usize;
            for k in 0..3 {
                let weight = own[unknown::EQUATION + k].lane(lane);
                if weight != R::Scalar::default() {
                    let to = &mut reaction[first + k];
                    to.set_lane(lane, weight.mul_add(z.lane(lane), to.lane(lane)));
                }
            }
        }
    }
}

/// One tile: `constraint` and `system` are its own. `given` and `impulse` `[n_v]`.
pub fn adjoint<R: Real>(
    tree: &Tree,
    factor: &[R],
    constraint: &[R],
    rows: &[R],
    at: &System,
    system: &mut [R],
    given: &[R],
    impulse: &mut [R],
) {
    let (n, n_row) = (tree.dofs.len(), tree.rows.len());
    react(at, system, given);
    impulse.copy_from_slice(given);
    let reaction = &system[at.reaction..at.scratch];
    for (weights, own) in reaction[n_row..].chunks_exact(3).zip(constraint.chunks_exact(slot_reals(n))) {
        for (&weight, j) in weights.iter().zip(own[slot::J..].chunks_exact(n)) {
            add_weighed(-weight, j, impulse);
        }
    }
    for (&weight, own) in reaction.iter().zip(rows.chunks_exact(row_stride(n, row_part::WIDTH))) {
        if weighs(weight).any() {
            for k in 0..3 {
                let to = &mut impulse[row_dof(own, k)];
                *to = (-weight).mul_add(row_coefficient(own, k), *to);
            }
        }
    }
    solve(tree, factor, impulse);
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [topology, _params, factor, places, constraint, rows, system, out] = args.split();
    let (part, tree, n) = (Adjoint::new(dims), Tree::new(dims, topology.index()), dims.n_v as usize);
    let size = slot_reals(n);
    for t in 0..tiles {
        let own = tile_place(places.index(), t);
        let at = System::new(sizes(dims), own[place::COUNT]);
        let system = &mut system.tile_mut()[own[place::SYSTEM]..][..at.reals];
        let (begin, end) = (own[place::BEGIN], own[place::BEGIN] + own[place::COUNT]);
        let out = nth_mut(out.tile_mut(), t, part.reals as u32);
        let (given, rest) = out.split_at_mut(part.impulse);
        adjoint(
            &tree,
            nth(factor.tile(), t, dims.n_m),
            &constraint.tile()[begin * size..end * size],
            nth(rows.tile(), t, dims.n_row * row_stride(n, row_part::WIDTH) as u32),
            &at,
            system,
            given,
            &mut rest[..n],
        );
        out[part.verdict..].copy_from_slice(&system[..verdict::SIZE]);
    }
}
