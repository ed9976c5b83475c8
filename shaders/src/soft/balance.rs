//! Whether what momentum and contacts lack after a round is little enough, and whether another round may make it so; if so, what
//! contacts add to the system of that: see [`super::touch`].
//!
//! Where it is only looked at, a lane that is not there yet stays as it is: the same is asked again with a matrix. Most steps want one
//! round, and what that leaves needs none.
//!
//! A lane goes on for some rounds whatever they leave, and then while each brings it closer. It ends as
//! converged or, flagged as at its iteration limit, as the host's: its matrix may want a line search, or positive elements, and its
//! contacts may contradict each other.

use crate::args::Args;
use crate::contact::tree_layout::info;
use crate::dynamics::names::status;
use crate::dynamics::tree::{nth, nth_mut};
use crate::math::finite;
use crate::real::{Mask, Real, Scalar};
pub use crate::soft::body::SoftDims as Dims;
use crate::soft::body::{BLOCK, all_settled, soft_info};
use crate::soft::touch::{Lane, Touch, Touches, work};
use crate::soft::trees::{Trees, beside_reals, symmetric};

/// A size below which an entry on the diagonal of the matrix says nothing.
const NO_DIAGONAL: f64 = 1e-30;

/// Rounds that may lead away: which contacts push and which slide is found out on the way.
const FREE_ROUNDS: u32 = 8;

/// T, and P: 00, 01, 11 of the tangents, 02 and 12 of tangents by the normal, 22.
struct Mapped<S> {
    t: [S; 3],
    p: [S; 6],
}

/// What contacts of a lane lack.
struct Lack<S> {
    /// Sum of squares of `lambda - T(lambda - J v - e)`, (N s)^2.
    laws: S,
    /// The largest in m/s.
    scaled: S,
    /// Sum of squares of `T - lambda` of the round, (N s)^2.
    round: S,
}

/// `matrix` and `b` of one tile to what its `info` and `status` say and, of lanes that go on, to the system of the next round.
/// `first`: the tile's first lane.
pub fn balance<R: Real>(
    dims: &Dims,
    first: usize,
    velocity: &[R],
    touches: &mut Touches<'_, R::Scalar>,
    matrix: &mut [R],
    b: &mut [R],
    info: &mut [R],
    beside: &mut [R],
    status: &mut [u32],
) {
    let (trees, touched) = (Trees::new(dims), touches.touched_of_tile(first, status));
    let beside: &mut [R::Scalar] = bytemuck::cast_slice_mut(beside);
    for (lane, own) in &touched {
        trees.lack_momentum(touches.dofs_of(first + lane.own), *lane, beside);
        for index in own.clone() {
            let touch = touches.touch(index);
            if dims.round == 0 {
                touches.work[index][work::RHO] = weigh(&touch, bytemuck::cast_slice(matrix), *lane);
            }
            touch.add_pushed(touches.found[index], *lane, bytemuck::cast_slice_mut(b));
            touch.add_tree_pushed(touches.found[index], trees.left(), *lane, beside);
        }
    }
    let mut square = R::lit(0.0);
    for &x in &*b {
        square = x.mul_add(x, square);
    }
    for (lane, _) in &touched {
        let of_trees = trees.square_left(touches.dofs_of(first + lane.own), *lane, beside);
        square.set_lane(lane.own, square.lane(lane.own) + of_trees);
    }
    let (mut laws, mut round, mut scaled, mut count) = (R::lit(0.0), square, R::lit(0.0), R::lit(1.0));
    for (lane, own) in &touched {
        let lack = lack(touches, own.clone(), bytemuck::cast_slice(velocity), (trees, beside), *lane);
        laws.set_lane(lane.own, lack.laws.sqrt());
        scaled.set_lane(lane.own, lack.scaled);
        round.set_lane(lane.own, square.lane(lane.own) + lack.round);
        count.set_lane(lane.own, R::lit(own.len() as f64).lane(0));
    }
    let (left, round) = (square.sqrt(), round.sqrt());
    let tolerance = R::lit(f64::from(f32::from_bits(dims.tolerance)));
    let little = left.le(tolerance) & laws.le(tolerance * count);
    let closer = round.lt(info[soft_info::ROUND]);
    let sound = finite(round);
    for (lane, word) in status.iter_mut().enumerate().filter(|(_, word)| **word & status::SETTLED == 0) {
        let done = dims.round > 0 && little.lane(lane);
        if dims.check == 1 && !done {
            continue;
        }
        let falls = dims.round < FREE_ROUNDS || closer.lane(lane);
        if done {
            *word |= status::CONVERGED;
        } else if dims.last == 1 || !falls || !sound.lane(lane) {
            *word |= status::ITERATION_LIMIT;
        }
        let rounds = R::lit(f64::from(dims.round));
        for (at, x) in [
            (soft_info::MOMENTUM, left),
            (soft_info::LAWS, laws),
            (soft_info::SCALED, scaled),
            (soft_info::ROUND, round),
            (soft_info::ROUNDS, rounds),
        ] {
            info[at].set_lane(lane, x.lane(lane));
        }
    }
    let goes_on = |lane: &Lane| dims.check == 0 && status[lane.own] & status::SETTLED == 0;
    for (lane, own) in touched.into_iter().filter(|(lane, _)| goes_on(lane)) {
        trees.begin_stiffened(touches.dofs_of(first + lane.own), lane, beside);
        for index in own {
            let touch = touches.touch(index);
            let sigma = relative(&touch, bytemuck::cast_slice(velocity), (trees, beside), lane);
            let push = stiffen(dims, &touch, touches, index, sigma, bytemuck::cast_slice_mut(matrix), lane);
            let touch = touches.touch(index);
            trees.stiffen_trees(&touch, symmetric(touches, index), lane, beside);
            touch.add_pushed(push, lane, bytemuck::cast_slice_mut(b));
            touch.add_tree_pushed(push, trees.left(), lane, beside);
        }
    }
}

/// `J v`, of nodes and the tree.
#[inline(always)]
fn relative<S: Scalar>(touch: &Touch<S>, velocity: &[S], (trees, beside): (Trees, &[S]), lane: Lane) -> [S; 3] {
    let (soft, tree) = (touch.relative(velocity, lane), touch.tree_relative(beside, trees.velocity(), lane));
    [0, 1, 2].map(|row| soft[row] + tree[row])
}

/// `3 / trace(J diag(A)^-1 J^T)`, of a tree A itself.
#[inline(always)]
fn weigh<S: Scalar>(touch: &Touch<S>, matrix: &[S], lane: Lane) -> S {
    let mut trace = touch.side.mobility;
    for (i, &weight) in touch.weights.iter().enumerate() {
        let block = BLOCK * touch.places[i * (i + 1) / 2 + i] as usize;
        let mut sum = S::lit(0.0);
        for k in 0..3 {
            sum += S::lit(1.0) / matrix[lane.at(block + 4 * k)].abs().max(S::lit(NO_DIAGONAL));
        }
        trace = (weight * weight).mul_add(sum, trace);
    }
    S::lit(3.0) / trace
}

/// The impulse that the laws make of another, for a weight.
#[inline(always)]
fn mapped<S: Scalar>(touch: &Touch<S>, rho: S, impulse: [S; 3], sigma: [S; 3]) -> Mapped<S> {
    let y: [S; 3] = std::array::from_fn(|k| (-rho).mul_add(sigma[k] + touch.bias[k], impulse[k]));
    let (zero, one) = (S::lit(0.0), S::lit(1.0));
    if y[2] <= zero {
        return Mapped { t: [zero; 3], p: [zero; 6] };
    }
    let (length, radius) = (y[1].mul_add(y[1], y[0] * y[0]).sqrt(), touch.friction * y[2]);
    if length <= radius {
        return Mapped { t: y, p: [one, zero, one, zero, zero, one] };
    }
    let (d0, d1, across) = (y[0] / length, y[1] / length, radius / length);
    let (along0, along1) = (touch.friction * d0, touch.friction * d1);
    let p = [across * (one - d0 * d0), -(across * (d0 * d1)), across * (one - d1 * d1), along0, along1, one];
    Mapped { t: [radius * d0, radius * d1, y[2]], p }
}

/// `|T - lambda|^2`
fn squared<S: Scalar>(t: [S; 3], impulse: [S; 3]) -> S {
    let [x, y, z]: [S; 3] = std::array::from_fn(|k| t[k] - impulse[k]);
    z.mul_add(z, y.mul_add(y, x * x))
}

/// Over the contacts of a lane.
fn lack<S: Scalar>(
    touches: &Touches<'_, S>,
    own: std::ops::Range<usize>,
    velocity: &[S],
    trees: (Trees, &[S]),
    lane: Lane,
) -> Lack<S> {
    let mut out = Lack { laws: S::lit(0.0), scaled: S::lit(0.0), round: S::lit(0.0) };
    for index in own {
        let (touch, impulse) = (touches.touch(index), touches.found[index]);
        let sigma = relative(&touch, velocity, trees, lane);
        out.laws += squared(mapped(&touch, S::lit(1.0), impulse, sigma).t, impulse);
        let mass = S::lit(3.0) / (S::lit(3.0) / touch.mass + touch.side.mobility);
        let by_mass = squared(mapped(&touch, mass, impulse, sigma).t, impulse).sqrt() / mass;
        out.scaled = out.scaled.max(by_mass);
        out.round += squared(mapped(&touch, touches.work[index][work::RHO], impulse, sigma).t, impulse);
    }
    out
}

/// Adds the symmetric part of `J^T W J` to the matrix; `E^-1 (T - lambda)`.
fn stiffen<S: Scalar>(
    dims: &Dims,
    touch: &Touch<S>,
    touches: &mut Touches<'_, S>,
    index: usize,
    sigma: [S; 3],
    matrix: &mut [S],
    lane: Lane,
) -> [S; 3] {
    let (impulse, work) = (touches.found[index], &mut touches.work[index]);
    let rho = work[work::RHO];
    let Mapped { t, p } = mapped(touch, rho, impulse, sigma);
    let (one, proximal) = (S::lit(1.0), S::lit(f64::from(f32::from_bits(dims.proximal))));
    // E and its inverse, of the same form as P.
    let (e00, e11, e22) = ((one - p[0]) + proximal, (one - p[2]) + proximal, (one - p[5]) + proximal);
    let scale = one / (e00 * e11 - p[1] * p[1]);
    let (i00, i01, i11, i22) = (e11 * scale, p[1] * scale, e00 * scale, one / e22);
    let (i02, i12) = ((i00 * p[3] + i01 * p[4]) * i22, (i01 * p[3] + i11 * p[4]) * i22);
    let w = [
        rho * (i00 * p[0] + i01 * p[1]),
        rho * (i00 * p[1] + i01 * p[2]),
        rho * (i01 * p[1] + i11 * p[2]),
        rho * (i00 * p[3] + i01 * p[4] + i02 * p[5]),
        rho * (i01 * p[3] + i11 * p[4] + i12 * p[5]),
        rho * (i22 * p[5]),
    ];
    let left: [S; 3] = std::array::from_fn(|k| t[k] - impulse[k]);
    let push =
        [i00 * left[0] + i01 * left[1] + i02 * left[2], i01 * left[0] + i11 * left[1] + i12 * left[2], i22 * left[2]];
    work[work::SLOPE..work::PUSH].copy_from_slice(&w);
    work[work::PUSH..].copy_from_slice(&push);
    let [t1, t2, n] = touch.axes;
    let block: [[S; 3]; 3] = std::array::from_fn(|row| {
        std::array::from_fn(|column| {
            let (a, b) = (w[0] * t1[column] + w[1] * t2[column], w[1] * t1[column] + w[2] * t2[column]);
            n[row].mul_add(w[5] * n[column], t2[row].mul_add(b, t1[row] * a))
        })
    });
    let mut place = 0;
    for i in 0..touch.nodes.len() {
        for j in 0..=i {
            let to = BLOCK * touch.places[place] as usize;
            place += 1;
            let both = touch.weights[i] * touch.weights[j];
            for row in 0..3 {
                for column in 0..3 {
                    let entry = &mut matrix[lane.at(to + 3 * row + column)];
                    *entry = both.mul_add(block[row][column], *entry);
                }
            }
        }
    }
    push
}

/// Buffers: velocity, touch_words, touches, matrix, b, info, beside, status.
pub fn mirror<R: Real>(args: &mut Args<R>) {
    let dims = args.dims::<Dims>();
    let tiles = args.tiles();
    let [velocity, words, touches, matrix, b, info, beside, status] = args.split();
    let (velocity, status) = (velocity.tile(), status.index_mut());
    let (matrix, b, info, beside) = (matrix.tile_mut(), b.tile_mut(), info.tile_mut(), beside.tile_mut());
    let mut touches = Touches::new(dims, words.index(), touches.real_mut());
    // Of no use where no tree touches anything.
    let n_beside = if dims.n_dof == 0 { 0 } else { beside_reals(&dims) as u32 };
    for t in 0..tiles {
        let status = nth_mut(status, t, R::N as u32);
        if all_settled(status) {
            continue;
        }
        balance(
            &dims,
            t * R::N,
            nth(velocity, t, dims.n_v()),
            &mut touches,
            nth_mut(matrix, t, dims.n_block * BLOCK as u32),
            nth_mut(b, t, dims.n_v()),
            nth_mut(info, t, info::reals(dims.n_v() as usize) as u32),
            nth_mut(beside, t, n_beside),
            status,
        );
    }
}
