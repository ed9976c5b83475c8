//! What contacts that slide add to a round, and what the round does to impulses: see [`super::touch`].
//!
//! The matrix of a round is `S + U V`, S what [`super::factor`] took apart, a column `J^T (W_02, W_12, 0)` of U and the normal row of
//! V for each contact that slides. With `x = S^-1 right` of [`super::factor`] in `b` it is `dv = x - S^-1 U s`,
//! `(1 + V S^-1 U) s = V x` (M. Woodbury 1950), a solve for each such contact and one more.
//!
//! `beside`, of a lane: x `[n_v]`; the small matrix `[n_slide, n_slide]` and its right-hand side `[n_slide]`.

use std::ops::Range;

use crate::args::Args;
use crate::dynamics::names::status;
use crate::dynamics::tree::{nth, nth_mut};
use crate::real::{Real, Scalar};
pub use crate::soft::body::SoftDims as Dims;
use crate::soft::body::{BLOCK, all_settled};
use crate::soft::substitute::{Plan, solve};
use crate::soft::touch::{Lane, Touches, work};

/// A pivot below which the small matrix has no inverse.
const NO_PIVOT: f64 = 1e-30;

/// Reals of a lane of `beside`.
#[inline(always)]
#[must_use]
pub const fn beside_reals(n_v: usize, n_slide: usize) -> usize {
    n_v + n_slide * (n_slide + 1)
}

/// A lane that contacts touch.
struct Touched {
    lane: Lane,
    own: Range<usize>,
    /// Of those the ones that slide.
    sliding: Vec<usize>,
}

/// `b`, the correction of the velocity, and the velocity of one tile with what slides; its impulses. `first`: the tile's first lane.
fn slide<R: Real>(
    dims: &Dims,
    plan: &Plan,
    first: usize,
    factor: &[R],
    touches: &mut Touches<'_, R::Scalar>,
    b: &mut [R],
    beside: &mut [R],
    velocity: &mut [R],
    status: &mut [u32],
) {
    let mut touched = Vec::new();
    for (lane, own) in touches.touched_of_tile(first, status) {
        let sliding: Vec<usize> = own.clone().filter(|&index| slides(touches, index)).collect();
        if sliding.len() > dims.n_slide as usize {
            status[lane.own] |= status::ITERATION_LIMIT;
            continue;
        }
        touched.push(Touched { lane, own, sliding });
    }
    if touched.iter().any(|of| !of.sliding.is_empty()) {
        let (x, small) = beside.split_at_mut(dims.n_v() as usize);
        x.copy_from_slice(b);
        reply(dims, plan, factor, touches, &touched, b, small);
        let mut share = R::lit(0.0);
        for of in &touched {
            let all: &mut [R::Scalar] = bytemuck::cast_slice_mut(small);
            let sound = solve_shares(dims.n_slide as usize, of.sliding.len(), all, of.lane);
            if sound {
                share.set_lane(of.lane.own, R::lit(1.0).lane(0));
            } else {
                status[of.lane.own] |= status::ITERATION_LIMIT;
            }
        }
        b.fill(R::lit(0.0));
        let shares_at = (dims.n_slide * dims.n_slide) as usize;
        for Touched { lane, sliding, .. } in &touched {
            for (j, &index) in sliding.iter().enumerate() {
                let share = bytemuck::cast_slice::<R, R::Scalar>(small)[lane.at(shares_at + j)];
                push_across(touches, index, share, *lane, bytemuck::cast_slice_mut(b));
            }
        }
        solve(plan, factor, b);
        let corrected = R::lit(0.5).lt(share);
        for ((b, x), v) in b.iter_mut().zip(&*x).zip(velocity) {
            *v = R::select(corrected, *v - *b, *v);
            *b = R::select(corrected, *x - *b, *x);
        }
    }
    for Touched { lane, own, .. } in touched.into_iter().filter(|of| status[of.lane.own] & status::SETTLED == 0) {
        for index in own {
            let moved = touches.touch(index).relative(bytemuck::cast_slice(b), lane);
            let [w00, w01, w11, w02, w12, w22, x, y, z] = std::array::from_fn(|k| touches.work[index][work::SLOPE + k]);
            let found = &mut touches.found[index];
            found[0] += x - (w00 * moved[0] + w01 * moved[1] + w02 * moved[2]);
            found[1] += y - (w01 * moved[0] + w11 * moved[1] + w12 * moved[2]);
            found[2] += z - w22 * moved[2];
        }
    }
}

/// Whether the tangential impulse of a contact follows its normal one.
#[inline(always)]
fn slides<S: Scalar>(touches: &Touches<'_, S>, index: usize) -> bool {
    let (work, zero) = (&touches.work[index], S::lit(0.0));
    zero < work[work::SLOPE + 3].abs() || zero < work[work::SLOPE + 4].abs()
}

/// `to += J^T (W_02, W_12, 0) share`
#[inline(always)]
fn push_across<S: Scalar>(touches: &Touches<'_, S>, index: usize, share: S, lane: Lane, to: &mut [S]) {
    let work = &touches.work[index];
    let across = [share * work[work::SLOPE + 3], share * work[work::SLOPE + 4], S::lit(0.0)];
    touches.touch(index).add_pushed(across, lane, to);
}

/// The small matrix and its right-hand side, of all lanes of a tile.
fn reply<R: Real>(
    dims: &Dims,
    plan: &Plan,
    factor: &[R],
    touches: &Touches<'_, R::Scalar>,
    touched: &[Touched],
    b: &mut [R],
    small: &mut [R],
) {
    let n_slide = dims.n_slide as usize;
    let normal = |index: usize, b: &[R], lane: Lane| touches.touch(index).relative(bytemuck::cast_slice(b), lane)[2];
    for Touched { lane, sliding, .. } in touched {
        for (i, &index) in sliding.iter().enumerate() {
            small[n_slide * n_slide + i].set_lane(lane.own, normal(index, b, *lane));
        }
    }
    let most = touched.iter().map(|of| of.sliding.len()).max().unwrap_or_default();
    for j in 0..most {
        b.fill(R::lit(0.0));
        let with = || touched.iter().filter_map(|of| Some((of, *of.sliding.get(j)?)));
        for (of, index) in with() {
            push_across(touches, index, R::lit(1.0).lane(0), of.lane, bytemuck::cast_slice_mut(b));
        }
        solve(plan, factor, b);
        for (of, _) in with() {
            for (i, &index) in of.sliding.iter().enumerate() {
                let one = R::lit(f64::from(u32::from(i == j))).lane(0);
                small[i * n_slide + j].set_lane(of.lane.own, one + normal(index, b, of.lane));
            }
        }
    }
}

/// Solves the small system of a lane by elimination with row pivots; whether it has a solution.
fn solve_shares<S: Scalar>(n_slide: usize, n: usize, small: &mut [S], lane: Lane) -> bool {
    let entry = |i: usize, j: usize| lane.at(i * n_slide + j);
    let right = |i: usize| lane.at(n_slide * n_slide + i);
    let mut sound = true;
    for column in 0..n {
        let mut pivot = column;
        for i in column + 1..n {
            if small[entry(pivot, column)].abs() < small[entry(i, column)].abs() {
                pivot = i;
            }
        }
        if pivot != column {
            for j in column..n {
                small.swap(entry(pivot, j), entry(column, j));
            }
            small.swap(right(pivot), right(column));
        }
        // A NaN is not above it either.
        sound = sound && S::lit(NO_PIVOT) < small[entry(column, column)].abs();
        for i in column + 1..n {
            let share = small[entry(i, column)] / small[entry(column, column)];
            for j in column + 1..n {
                small[entry(i, j)] = (-share).mul_add(small[entry(column, j)], small[entry(i, j)]);
            }
            small[right(i)] = (-share).mul_add(small[right(column)], small[right(i)]);
        }
    }
    for i in (0..n).rev() {
        let mut sum = small[right(i)];
        for j in i + 1..n {
            sum = (-small[entry(i, j)]).mul_add(small[right(j)], sum);
        }
        small[right(i)] = sum / small[entry(i, i)];
    }
    sound
}

/// Buffers: topology, factor, touch_words, touches, b, beside, velocity, status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = args.dims::<Dims>();
    let tiles = args.tiles();
    let [topology, factor, words, touches, b, beside, velocity, status] = args.split();
    let plan = Plan::new(&dims, topology.index());
    let (factor, status) = (factor.tile(), status.index_mut());
    let (b, beside, velocity) = (b.tile_mut(), beside.tile_mut(), velocity.tile_mut());
    let mut touches = Touches::new(dims, words.index(), touches.real_mut());
    let n_beside = beside_reals(dims.n_v() as usize, dims.n_slide as usize) as u32;
    for t in 0..tiles {
        let status = nth_mut(status, t, R::N as u32);
        if all_settled(status) {
            continue;
        }
        slide(
            &dims,
            &plan,
            t * R::N,
            nth(factor, t, dims.n_fill * BLOCK as u32),
            &mut touches,
            nth_mut(b, t, dims.n_v()),
            nth_mut(beside, t, n_beside),
            nth_mut(velocity, t, dims.n_v()),
            status,
        );
    }
}
