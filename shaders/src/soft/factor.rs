//! `A = L L^T` by blocks, as a plan says, and the correction `v += A^-1 b`.
//!
//! The plan, from `plan_at` of `topology` on: for each position in the order of elimination the node there, then the first
//! block of the factor in its column, `[n_node + 1]`; for each block of the factor its row's position, columns one after the
//! other, each from its diagonal down; then for each block where the matrix has it (or [`NO_BLOCK`]), the number of its
//! products, and for each of these the two blocks of the factor whose product `X Y^T` is taken from it.

use crate::args::Args;
use crate::dynamics::names::status;
use crate::dynamics::tree::{nth, nth_mut};
use crate::real::{Mask, Real};
pub use crate::soft::body::SoftDims as Dims;
use crate::soft::body::{BLOCK, NO_BLOCK, all_settled};
use crate::soft::substitute::{Plan, block, solve};

/// Pivots below this part of the diagonal they came from count as not positive.
const SMALLEST_PIVOT: f64 = 1e-14;

/// `matrix` `[n_block, 9]` and `b` `[n_v]` to `factor` `[n_fill, 9]`; corrects `velocity` `[n_v]` of lanes whose rounds are not over,
/// and flags in `status` `[lanes]` those whose matrix is not positive definite as the host's.
pub fn factor<R: Real>(
    plan: &Plan,
    matrix: &[R],
    b: &mut [R],
    factor: &mut [R],
    velocity: &mut [R],
    status: &mut [u32],
) {
    let sound = eliminate(plan, matrix, factor);
    solve(plan, factor, b);
    let mut share = R::lit(1.0);
    for (lane, word) in status.iter_mut().enumerate() {
        if *word & status::SETTLED != 0 {
            share.set_lane(lane, R::lit(0.0).lane(lane));
        } else if !sound.lane(lane) {
            *word |= status::ITERATION_LIMIT;
        }
    }
    let corrected = R::lit(0.5).lt(share);
    for (v, &by) in velocity.iter_mut().zip(&*b) {
        *v = R::select(corrected, *v + by, *v);
    }
}

/// Whether every pivot was positive. One that is not is taken as the diagonal it came from, so that the lane goes on,
/// flagged.
#[inline(always)]
fn eliminate<R: Real>(plan: &Plan, matrix: &[R], factor: &mut [R]) -> R::Mask {
    let mut sound = R::lit(0.0).lt(R::lit(1.0));
    let mut words = plan.products;
    for column in plan.begins.windows(2) {
        let (first, end) = (column[0] as usize, column[1] as usize);
        let mut pivots = [R::lit(0.0); 6];
        for at in first..end {
            let (head, rest) = words.split_at(2);
            let (products, rest) = rest.split_at(2 * head[1] as usize);
            words = rest;
            let (done, own) = factor.split_at_mut(at * BLOCK);
            let own: &mut [R; BLOCK] = (&mut own[..BLOCK]).try_into().expect("a block");
            *own = match head[0] {
                NO_BLOCK => [R::lit(0.0); BLOCK],
                place => *block(matrix, place),
            };
            if at == first {
                let diagonal = [own[0], own[4], own[8]];
                subtract_products(done, products, own);
                let positive = pivot(diagonal, own, &mut pivots);
                sound = sound & positive;
            } else {
                subtract_products(done, products, own);
                divide(&pivots, own);
            }
        }
    }
    sound
}

/// `own -= sum X Y^T`, a row after the other: their sums stay in registers.
#[inline(always)]
fn subtract_products<R: Real>(done: &[R], products: &[u32], own: &mut [R; BLOCK]) {
    if R::N == 1 {
        return subtract_products_of_one(done, products, own);
    }
    for row in 0..3 {
        let mut sums = [own[3 * row], own[3 * row + 1], own[3 * row + 2]];
        for pair in products.chunks_exact(2) {
            let (x, y) = (block(done, pair[0]), block(done, pair[1]));
            for k in 0..3 {
                let minus = -x[3 * row + k];
                for column in 0..3 {
                    sums[column] = minus.mul_add(y[3 * column + k], sums[column]);
                }
            }
        }
        own[3 * row..3 * row + 3].copy_from_slice(&sums);
    }
}

/// The same of one world, all rows at once: sums of a row alone would wait for each other.
#[inline(always)]
fn subtract_products_of_one<R: Real>(done: &[R], products: &[u32], own: &mut [R; BLOCK]) {
    let [mut first, mut second, mut third] = [0, 3, 6].map(|at| [own[at], own[at + 1], own[at + 2]]);
    for pair in products.chunks_exact(2) {
        let (x, y) = (block(done, pair[0]), block(done, pair[1]));
        for k in 0..3 {
            let y = [y[k], y[3 + k], y[6 + k]];
            for (row, sums) in [&mut first, &mut second, &mut third].into_iter().enumerate() {
                let minus = -x[3 * row + k];
                for (sum, y) in sums.iter_mut().zip(y) {
                    *sum = minus.mul_add(y, *sum);
                }
            }
        }
    }
    for (own, sums) in own.chunks_exact_mut(3).zip([first, second, third]) {
        own.copy_from_slice(&sums);
    }
}

/// The Cholesky factor of a block on the diagonal, the inverses of its pivots in their places: into `own` and, as
/// `(00, 11, 22, 10, 20, 21)`, into `pivots`. `diagonal`: what pivots came from.
#[inline(always)]
fn pivot<R: Real>(diagonal: [R; 3], own: &mut [R; BLOCK], pivots: &mut [R; 6]) -> R::Mask {
    let zero = R::lit(0.0);
    let (sound, i0) = inverse_root(diagonal[0], own[0]);
    let l10 = own[3] * i0;
    let l20 = own[6] * i0;
    let (sound1, i1) = inverse_root(diagonal[1], (-l10).mul_add(l10, own[4]));
    let l21 = (-l20).mul_add(l10, own[7]) * i1;
    let (sound2, i2) = inverse_root(diagonal[2], (-l21).mul_add(l21, (-l20).mul_add(l20, own[8])));
    *own = [i0, zero, zero, l10, i1, zero, l20, l21, i2];
    *pivots = [i0, i1, i2, l10, l20, l21];
    sound & sound1 & sound2
}

/// Whether a pivot is positive, and the inverse of its root.
#[inline(always)]
fn inverse_root<R: Real>(diagonal: R, pivot: R) -> (R::Mask, R) {
    let one = R::lit(1.0);
    let positive = (diagonal * R::lit(SMALLEST_PIVOT)).lt(pivot) & R::lit(0.0).lt(diagonal);
    let usable = R::lit(0.0).lt(diagonal);
    (positive, one / R::select(positive, pivot, R::select(usable, diagonal, one)).sqrt())
}

/// `X C^-T` of a block below the diagonal block C.
#[inline(always)]
fn divide<R: Real>(pivots: &[R; 6], own: &mut [R; BLOCK]) {
    let [i0, i1, i2, l10, l20, l21] = *pivots;
    for row in 0..3 {
        let x0 = own[3 * row] * i0;
        let x1 = (-x0).mul_add(l10, own[3 * row + 1]) * i1;
        let x2 = (-x1).mul_add(l21, (-x0).mul_add(l20, own[3 * row + 2])) * i2;
        own[3 * row..3 * row + 3].copy_from_slice(&[x0, x1, x2]);
    }
}

/// Buffers: topology, matrix, b, factor, velocity, status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = args.dims::<Dims>();
    let tiles = args.tiles();
    let [topology, matrix, b, factor, velocity, status] = args.split();
    let plan = Plan::new(&dims, topology.index());
    let (matrix, b, factor) = (matrix.tile(), b.tile_mut(), factor.tile_mut());
    let (velocity, status) = (velocity.tile_mut(), status.index_mut());
    for t in 0..tiles {
        let status = nth_mut(status, t, R::N as u32);
        if all_settled(status) {
            continue;
        }
        self::factor(
            &plan,
            nth(matrix, t, dims.n_block * BLOCK as u32),
            nth_mut(b, t, dims.n_v()),
            nth_mut(factor, t, dims.n_fill * BLOCK as u32),
            nth_mut(velocity, t, dims.n_v()),
            status,
        );
    }
}
