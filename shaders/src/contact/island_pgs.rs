//! Projected Gauss-Seidel over the islands (mathematics section 4): each constraint in turn is solved exactly with the
//! others held, colours in order; on the GPU a workgroup owns an island and its lanes share a colour.
//!
//! The velocity is carried along, `v += Y dlambda`. When a sweep looks converged, `v` is recomputed from the impulses
//! and the very residual that is reported decides; a warm start that is good enough costs no sweep at all. A long solve is
//! spread over several dispatches of [`SWEEPS`]: a software adapter (llvmpipe) ends every loop when an invocation has
//! gone round 65535 times in all, without a word, and devices that drive a display end dispatches that take too long.

use super::island::{self, IslandDims, IslandRecord, Islands, con, info, kind, part, region};
use super::local;
use crate::args::Args;
use crate::{Real, Scalar};

/// Sweeps of a dispatch. An invocation goes round its loops some ten times for each constraint it visits.
pub const SWEEPS: u32 = 16;

/// Solves one island in place. `free` and `v` are the regions of the velocity. Returns how many sweeps were done in all,
/// and whether more would change nothing.
pub fn solve<T: Scalar>(
    all: &Islands,
    record: &IslandRecord,
    jac: &[T],
    cons: &[T],
    impulse: &mut [T],
    free: &[T],
    v: &mut [T],
) -> (u32, bool) {
    let dims = all.dims;
    let mut done = dims.done;
    loop {
        island::recompute(all, record, jac, impulse, free, v);
        let (residual, scaled) = island::measure(all, record, jac, cons, impulse, v);
        // What is not finite will not become so.
        let hopeless = !(residual.is_finite() && scaled.is_finite());
        let stopped = island::solved(dims, residual, scaled) || hopeless;
        if stopped || done >= dims.iterations {
            return (done, stopped);
        }
        while done < dims.iterations {
            let (residual, scaled) = sweep(all, record, jac, cons, impulse, v);
            done += 1;
            if island::solved(dims, residual, scaled) {
                break;
            }
        }
    }
}

/// One sweep. Returns the residuals that the constraints had when their turn came.
#[inline(always)]
fn sweep<T: Scalar>(
    all: &Islands,
    record: &IslandRecord,
    jac: &[T],
    cons: &[T],
    impulse: &mut [T],
    v: &mut [T],
) -> (T, T) {
    let one = T::lit(1.0);
    let (mut square, mut scaled) = (T::lit(0.0), T::lit(0.0));
    for i in record.constraint_begin as usize..record.constraint_end as usize {
        let c = &cons[con::SIZE * i..con::SIZE * (i + 1)];
        let constraint = &all.constraints[i];
        let sides = &all.sides[constraint.side_begin as usize..constraint.side_end as usize];
        let own = &mut impulse[3 * i..3 * i + 3];
        let change = if constraint.kind == kind::BLOCK {
            let (mu, g) = (c[con::FRICTION], island::load6(c, con::DELASSUS));
            let lambda = [own[0], own[1], own[2]];
            let sigma = island::block_sigma_by_sums(sides, jac, [c[0], c[1], c[2]], v);
            let r = local::residual(mu, one, &lambda, &sigma);
            square += r[0].mul_add(r[0], r[1].mul_add(r[1], r[2] * r[2]));
            let next = local::solve(mu, &g, &island::load6(c, con::INVERSE), &lambda, &sigma);
            let d = [next[0] - lambda[0], next[1] - lambda[1], next[2] - lambda[2]];
            island::block_apply(sides, jac, d, v);
            own.copy_from_slice(&next);
            let length = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2] * d[2])).sqrt();
            length * (g[0] + g[3] + g[5]) * T::lit(1.0 / 3.0)
        } else if island::row_is_idle(c, own[0]) {
            continue;
        } else {
            let lambda = own[0];
            let sigma = island::row_sigma_by_sums(c, sides, jac, v);
            let r = island::row_residual(c, one, lambda, sigma);
            square += r * r;
            own[0] = island::row_solve(c, lambda, sigma);
            island::row_apply(sides, jac, own[0] - lambda, v);
            (own[0] - lambda).abs() * c[con::ROW_DELASSUS]
        };
        scaled = if change <= scaled { scaled } else { change };
    }
    (square.sqrt() / island::contacts(record), scaled)
}

/// All islands of a chunk. `velocity` holds its regions, `infos` gets the number of sweeps.
pub fn island_pgs<T: Scalar>(
    dims: &IslandDims,
    index: &[u32],
    jac: &[T],
    cons: &[T],
    impulse: &mut [T],
    velocity: &mut [T],
    infos: &mut [T],
) {
    let all = Islands::new(dims, index);
    let n = dims.n_velocity as usize;
    let (free, rest) = velocity.split_at_mut(n * region::SOLUTION);
    for (i, record) in all.islands.iter().enumerate() {
        let own = &mut infos[info::SIZE * i..info::SIZE * (i + 1)];
        if dims.done > 0 && T::lit(0.0) < own[info::STOPPED] {
            continue;
        }
        if record.part != part::SOLVES {
            island::recompute(&all, record, jac, impulse, free, &mut rest[..n]);
            if dims.done == 0 {
                own[info::ITERATIONS] = T::lit(0.0);
                own[info::STOPPED] = T::lit(if record.part == part::NONE { 1.0 } else { 0.0 });
            }
            continue;
        }
        let (done, stopped) = solve(&all, record, jac, cons, impulse, free, &mut rest[..n]);
        // Newton steps may have come between.
        let before = if dims.done > 0 { own[info::ITERATIONS] } else { T::lit(0.0) };
        own[info::ITERATIONS] = before + T::lit(f64::from(done - dims.done));
        own[info::STOPPED] = T::lit(if stopped { 1.0 } else { 0.0 });
    }
}

/// Uniform block.
pub type Dims = IslandDims;

/// Buffers: island_index, island_jac, island_con -> impulse, velocity, island_info.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims: Dims = args.dims();
    let [index, jac, cons, impulse, velocity, infos] = args.split();
    let (velocity, infos) = (velocity.real_mut(), infos.real_mut());
    island_pgs(&dims, index.index(), jac.real(), cons.real(), impulse.real_mut(), velocity, infos);
}
