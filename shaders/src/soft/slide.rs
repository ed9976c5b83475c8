//! What stands beside the factor in a round: contacts that slide, and trees that touch the body; and what the round does to impulses: see
//! [`super::touch`] and [`super::trees`].
//!
//! With K what [`super::factor`] took apart, the matrix of a round is that of
//!
//! ```text
//! K dv   + B y + U s           = b     nodes:            B = J^T W J_t,     U a column J^T (W_02, W_12, 0) for each that slides
//! B^T dv + C y + U_t s         = r     trees:            C = A + J_t^T W J_t, W here and in B its symmetric part
//! V dv   + V_t y               = s     what slides:      V its normal row
//! ```
//!
//! so that `dv = x - K^-1 (B y + U s)` with `x = K^-1 b` of [`super::factor`] in `b`, and y and s solve a small system, the Schur
//! complement (M. Woodbury 1950): a solve for each of its columns and one more.
//!
//! `beside`, of a lane: x `[n_v]`; the small matrix, column by column, `[n_slide, n_slide]`, and its right-hand side `[n_slide]`, y before
//! s; then what [`super::trees`] says.

use std::ops::Range;

use crate::LANES;
use crate::args::Args;
use crate::contact::workspace::with_workspace;
use crate::dynamics::names::status;
use crate::dynamics::tree::{nth, nth_mut};
use crate::real::{Real, Scalar};
pub use crate::soft::body::SoftDims as Dims;
use crate::soft::body::{BLOCK, all_settled};
use crate::soft::substitute::{Plan, solve, solve_tile};
use crate::soft::touch::{Lane, Touches, work};
use crate::soft::trees::{Trees, beside_reals, symmetric, weighed};

/// A pivot below which the small matrix has no inverse.
const NO_PIVOT: f64 = 1e-30;

/// A lane that contacts touch.
struct Touched {
    lane: Lane,
    own: Range<usize>,
    /// Of those the ones that slide.
    sliding: Vec<usize>,
    /// Degrees of freedom of trees.
    dofs: usize,
}

impl Touched {
    /// Columns of the small matrix.
    #[inline(always)]
    fn columns(&self) -> usize {
        self.dofs + self.sliding.len()
    }
}

/// Where the small matrix stands in `beside`.
#[derive(Clone, Copy)]
struct Small {
    first: usize,
    room: usize,
}

impl Small {
    #[inline(always)]
    fn entry(self, i: usize, j: usize) -> usize {
        self.first + j * self.room + i
    }

    /// Of the right-hand side, and of the solution.
    #[inline(always)]
    fn right(self, i: usize) -> usize {
        self.entry(i, self.room)
    }
}

/// `b`, the correction of the velocity, and the velocity of one tile with what stands beside the factor; its impulses. `first`: the tile's
/// first lane.
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
    let (n_v, trees) = (dims.n_v() as usize, Trees::new(dims));
    let small = Small { first: n_v, room: dims.n_slide as usize };
    let mut touched = Vec::new();
    for (lane, own) in touches.touched_of_tile(first, status) {
        let sliding = own.clone().filter(|&index| slides(touches, index)).collect();
        let of = Touched { lane, own, sliding, dofs: touches.dofs_of(first + lane.own) };
        // Whatever trees touch in other lanes.
        if of.sliding.len() > (dims.n_slide - dims.n_dof) as usize {
            status[lane.own] |= status::ITERATION_LIMIT;
            continue;
        }
        touched.push(of);
    }
    if touched.iter().any(|of| of.columns() > 0) {
        beside[..n_v].copy_from_slice(b);
        fill_small(plan, factor, touches, &touched, (small, trees), b, bytemuck::cast_slice_mut(beside));
        let mut share = R::lit(0.0);
        for of in &touched {
            let all: &mut [R::Scalar] = bytemuck::cast_slice_mut(beside);
            let sound = solve_shares(small, of.columns(), all, of.lane);
            if sound {
                share.set_lane(of.lane.own, R::lit(1.0).lane(0));
            } else {
                status[of.lane.own] |= status::ITERATION_LIMIT;
            }
        }
        b.fill(R::lit(0.0));
        for of in &touched {
            let all: &mut [R::Scalar] = bytemuck::cast_slice_mut(beside);
            push_shares(touches, of, small, all, bytemuck::cast_slice_mut(b));
            move_trees(of, (small, trees), all);
        }
        solve(plan, factor, b);
        let corrected = R::lit(0.5).lt(share);
        for ((b, x), v) in b.iter_mut().zip(&*beside).zip(velocity) {
            *v = R::select(corrected, *v - *b, *v);
            *b = R::select(corrected, *x - *b, *x);
        }
    }
    for Touched { lane, own, .. } in touched.into_iter().filter(|of| status[of.lane.own] & status::SETTLED == 0) {
        for index in own {
            let touch = touches.touch(index);
            let of_nodes = touch.relative(bytemuck::cast_slice(b), lane);
            let of_tree = touch.tree_relative(bytemuck::cast_slice(beside), small.right(0), lane);
            let moved = [0, 1, 2].map(|row| of_nodes[row] + of_tree[row]);
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

/// `(W_02, W_12, 0)`, times a share.
#[inline(always)]
fn across<S: Scalar>(touches: &Touches<'_, S>, index: usize, share: S) -> [S; 3] {
    let work = &touches.work[index];
    [share * work[work::SLOPE + 3], share * work[work::SLOPE + 4], S::lit(0.0)]
}

/// A column of B or U, added to `to`.
fn push_column<S: Scalar>(touches: &Touches<'_, S>, of: &Touched, j: usize, to: &mut [S]) {
    if j >= of.dofs {
        let index = of.sliding[j - of.dofs];
        touches.touch(index).add_pushed(across(touches, index, S::lit(1.0)), of.lane, to);
        return;
    }
    for index in of.own.clone() {
        let touch = touches.touch(index);
        if touch.side.column <= j && j < touch.side.column + touch.side.n() {
            let push = weighed(symmetric(touches, index), touch.side.column_of(j - touch.side.column));
            touch.add_pushed(push, of.lane, to);
        }
    }
}

/// `-B^T x` and `V x` for x in `b`: a column of the small matrix, or its right-hand side.
fn read_column<S: Scalar>(touches: &Touches<'_, S>, of: &Touched, small: Small, j: usize, b: &[S], beside: &mut [S]) {
    for i in 0..of.dofs {
        beside[of.lane.at(small.entry(i, j))] = S::lit(0.0);
    }
    let mut row = of.dofs;
    for index in of.own.clone() {
        let touch = touches.touch(index);
        let moved = touch.relative(b, of.lane);
        let push = weighed(symmetric(touches, index), moved).map(|x| -x);
        touch.add_tree_pushed(push, small.entry(0, j), of.lane, beside);
        if slides(touches, index) {
            beside[of.lane.at(small.entry(row, j))] = moved[2];
            row += 1;
        }
    }
}

/// Adds to a column what is there without nodes: of C, U_t and V_t, and one for s itself.
fn add_direct<S: Scalar>(
    touches: &Touches<'_, S>,
    of: &Touched,
    (small, trees): (Small, Trees),
    j: usize,
    beside: &mut [S],
) {
    if j >= of.dofs {
        let index = of.sliding[j - of.dofs];
        let push = across(touches, index, S::lit(1.0));
        touches.touch(index).add_tree_pushed(push, small.entry(0, j), of.lane, beside);
        beside[of.lane.at(small.entry(j, j))] += S::lit(1.0);
        return;
    }
    for i in 0..of.dofs {
        let entry = beside[of.lane.at(trees.stiffened(i, j))];
        beside[of.lane.at(small.entry(i, j))] += entry;
    }
    for (row, &index) in (of.dofs..).zip(&of.sliding) {
        let side = touches.touch(index).side;
        if side.column <= j && j < side.column + side.n() {
            beside[of.lane.at(small.entry(row, j))] -= side.column_of(j - side.column)[2];
        }
    }
}

/// The small matrix and its right-hand side, of all lanes of a tile.
fn fill_small<R: Real>(
    plan: &Plan,
    factor: &[R],
    touches: &Touches<'_, R::Scalar>,
    touched: &[Touched],
    (small, trees): (Small, Trees),
    b: &mut [R],
    beside: &mut [R::Scalar],
) {
    for of in touched {
        read_column(touches, of, small, small.room, bytemuck::cast_slice(b), beside);
        for i in 0..of.dofs {
            let left = beside[of.lane.at(trees.left() + i)];
            beside[of.lane.at(small.right(i))] += left;
        }
    }
    if let ([of], 1) = (touched, R::N) {
        let factor = bytemuck::cast_slice(factor);
        return fill_columns_of_a_tile(plan, factor, touches, of, (small, trees), bytemuck::cast_slice_mut(b), beside);
    }
    let most = touched.iter().map(Touched::columns).max().unwrap_or_default();
    for j in 0..most {
        b.fill(R::lit(0.0));
        let with = || touched.iter().filter(|of| j < of.columns());
        for of in with() {
            push_column(touches, of, j, bytemuck::cast_slice_mut(b));
        }
        solve(plan, factor, b);
        for of in with() {
            read_column(touches, of, small, j, bytemuck::cast_slice(b), beside);
            add_direct(touches, of, (small, trees), j, beside);
        }
    }
}

/// The small matrix of a world by itself, whose columns are solved side by side.
fn fill_columns_of_a_tile<S: Scalar>(
    plan: &Plan,
    factor: &[S],
    touches: &Touches<'_, S>,
    of: &Touched,
    (small, trees): (Small, Trees),
    b: &mut [S],
    beside: &mut [S],
) {
    with_workspace::<S, _>(b.len(), |x| {
        let x = &mut x[..b.len()];
        for first in (0..of.columns()).step_by(LANES) {
            let columns = first..of.columns().min(first + LANES);
            x.fill(S::Pack::lit(0.0));
            for j in columns.clone() {
                b.fill(S::lit(0.0));
                push_column(touches, of, j, b);
                x.iter_mut().zip(&*b).for_each(|(x, &b)| x.set_lane(j - first, b));
            }
            solve_tile::<S>(plan, factor, x);
            for j in columns {
                b.iter_mut().zip(&*x).for_each(|(b, x)| *b = x.lane(j - first));
                read_column(touches, of, small, j, b, beside);
                add_direct(touches, of, (small, trees), j, beside);
            }
        }
    });
}

/// `B y + U s`, added to `to`.
fn push_shares<S: Scalar>(touches: &Touches<'_, S>, of: &Touched, small: Small, beside: &[S], to: &mut [S]) {
    let mut row = of.dofs;
    for index in of.own.clone() {
        let touch = touches.touch(index);
        let mut push = weighed(symmetric(touches, index), touch.tree_relative(beside, small.right(0), of.lane));
        if slides(touches, index) {
            let [x, y, _] = across(touches, index, beside[of.lane.at(small.right(row))]);
            push = [push[0] + x, push[1] + y, push[2]];
            row += 1;
        }
        touch.add_pushed(push, of.lane, to);
    }
}

/// Trees' velocities, with y.
fn move_trees<S: Scalar>(of: &Touched, (small, trees): (Small, Trees), beside: &mut [S]) {
    for i in 0..of.dofs {
        let y = beside[of.lane.at(small.right(i))];
        beside[of.lane.at(trees.velocity() + i)] += y;
    }
}

/// Solves the small system of a lane by elimination with row pivots; whether it has a solution.
fn solve_shares<S: Scalar>(of: Small, n: usize, small: &mut [S], lane: Lane) -> bool {
    let entry = |i: usize, j: usize| lane.at(of.entry(i, j));
    let right = |i: usize| lane.at(of.right(i));
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
    let n_beside = beside_reals(&dims) as u32;
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
