//! From the gradient of a loss by v+ to that by impulses on the dofs, `K^T`, and to the adjoint of the equations, `U^-T P^T`:
//! their factor is `L U`, and [`super::back`] has the other half.
//!
//! Buffers: topology, params (unused), places, mobility, system, adjoint.

use super::layout::{Adjoint, System, mobility_reals, place, sizes, tile_place};
use super::mobility::most_unknowns;
use crate::args::Args;
pub use crate::dynamics::tree::TreeOnly as Dims;
use crate::dynamics::tree::{nth, nth_mut};
use crate::real::Real;

/// One tile: `system` is its own. `given` and `impulse` `[n_v]`.
pub fn adjoint<R: Real>(mobility: &[R], at: &System, system: &mut [R], given: &[R], impulse: &mut [R]) {
    let (n, zero) = (given.len(), R::lit(0.0));
    impulse.fill(zero);
    for (given, row) in given.iter().zip(mobility.chunks_exact(n)) {
        impulse.iter_mut().zip(row).for_each(|(to, k)| *to = k.mul_add(*given, *to));
    }
    let m = most_unknowns(system);
    let (known, y) = system.split_at_mut(at.adjoint);
    let factor = |i: usize, j: usize| known[at.factor + i * at.most + j];
    for k in 0..m {
        let push = &known[at.push + k * n..][..n];
        let mut sum = push.iter().zip(given).fold(zero, |sum, (p, x)| p.mul_add(*x, sum));
        for (c, y) in y[..k].iter().enumerate() {
            sum = (-factor(c, k)).mul_add(*y, sum);
        }
        // 1/U, or zero from the rank on.
        y[k] = sum * factor(k, k);
    }
}

/// See the module.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = &args.dims::<Dims>().tree;
    let tiles = args.tiles();
    let [_topology, _params, places, mobility, system, out] = args.split();
    let part = Adjoint::new(dims);
    for t in 0..tiles {
        let own = tile_place(places.index(), t);
        let at = System::new(sizes(dims), own[place::COUNT]);
        let (given, rest) = nth_mut(out.tile_mut(), t, part.reals as u32).split_at_mut(part.impulse);
        let n_v = dims.n_v as usize;
        adjoint(
            &nth(mobility.tile(), t, mobility_reals(dims) as u32)[..n_v * n_v],
            &at,
            &mut system.tile_mut()[own[place::SYSTEM]..][..at.reals],
            given,
            &mut rest[..n_v],
        );
    }
}
