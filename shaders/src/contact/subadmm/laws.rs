//! The half-iteration of a constraint, and how far the impulses are from its law.

use super::layout::{Split, SplitSlack, constraint, island, slack};
use crate::Scalar;
use crate::contact::island::{con, constraint_residual, kind, load6, region};
use crate::contact::local::{self, TINY};

/// Largest factor of one adaptation: residuals early on say little.
const LAWS_LARGEST_ADAPTATION: f64 = 10.0;
/// Residuals below this part of the impulse, and of the momentum that the constraint's free velocity stands for, say
/// nothing: in single precision they are rounding.
const LAWS_NOISE: f64 = 1e-6;
/// Least penalty, in effective masses.
const LAWS_LEAST: f64 = 1e-2;
/// Largest penalty, in effective masses.
const LAWS_LARGEST: f64 = 1e4;

/// `J x` of one slack.
#[inline(always)]
fn times<T: Scalar>(all: &Split, slack: &SplitSlack, split: &[T], x: &[T]) -> [T; 3] {
    let mut y = [T::lit(0.0); 3];
    let j = &split[slack.packed as usize..][..slack.rows as usize * slack.length as usize];
    let x = &x[slack.velocity as usize..][..slack.count as usize];
    let chain = all.chain(slack);
    if slack.rows == 3 {
        for (&k, j) in chain.iter().zip(j.as_chunks::<3>().0) {
            let x = x[k as usize];
            y[0] = j[0].mul_add(x, y[0]);
            y[1] = j[1].mul_add(x, y[1]);
            y[2] = j[2].mul_add(x, y[2]);
        }
    } else {
        for (&k, &j) in chain.iter().zip(j) {
            y[0] = j.mul_add(x[k as usize], y[0]);
        }
    }
    y
}

/// J along the chain of a slack, to where an iteration reads it.
#[inline(always)]
fn pack<T: Scalar>(all: &Split, slack: &SplitSlack, jac: &[T], split: &mut [T]) {
    let (n, rows) = (slack.count as usize, slack.rows as usize);
    let j = &jac[slack.jac as usize..][..rows * n];
    let packed = split[slack.packed as usize..].chunks_exact_mut(rows);
    for (&k, packed) in all.chain(slack).iter().zip(packed) {
        for (r, x) in packed.iter_mut().enumerate() {
            *x = j[r * n + k as usize];
        }
    }
}

/// Region of `velocity`.
#[inline(always)]
fn part<'a, T>(all: &Split, velocity: &'a [T], region: usize) -> &'a [T] {
    &velocity[region * all.dims.n_velocity as usize..]
}

/// Residuals of a constraint: of its law, at the velocity that the impulses give, and of its slacks, by which its penalty
/// is adapted when it is time. At the start of a solve its penalty and free velocity are set, and the slacks to where d is,
/// and its J is packed.
#[inline(always)]
pub(super) fn measure<T: Scalar>(
    all: &Split,
    i: usize,
    jac: &[T],
    cons: &[T],
    impulse: &[T],
    velocity: &[T],
    split: &mut [T],
    done: u32,
) {
    let start = done == 0;
    let record = &all.constraints[i];
    let zero = T::lit(0.0);
    let c = &cons[con::SIZE * i..][..con::SIZE];
    let (begin, slacks) = all.slacks_of(record);
    let block = record.rows == 3;
    let bias = if block { [c[0], c[1], c[2]] } else { [zero; 3] };
    let own = all.constraint_at(i);
    let (solution, d) = (part(all, velocity, region::SOLUTION), part(all, velocity, region::SCRATCH));
    if start {
        split[own + constraint::PENALTY] = effective_mass(block, c);
        let mut free = if block { bias } else { [c[con::ROW_BIAS], zero, zero] };
        for (s, slack) in slacks.iter().enumerate() {
            pack(all, slack, jac, split);
            add(&mut free, times(all, slack, split, part(all, velocity, region::FREE)));
            let z = times(all, slack, split, d);
            split[all.slack_at(begin + s) + slack::Z..][..3].copy_from_slice(&z);
        }
        split[own + constraint::FREE..][..3].copy_from_slice(&free);
    }
    let (mut sigma, mut gap) = (bias, zero);
    let due = !start && split[all.island_at(record.island as usize) + island::NEXT] <= T::lit(f64::from(done));
    for (s, slack) in slacks.iter().enumerate() {
        add(&mut sigma, times(all, slack, split, solution));
        if !due {
            continue;
        }
        let (jd, z) = (times(all, slack, split, d), all.slack_at(begin + s) + slack::Z);
        for r in 0..3 {
            let x = if r < record.rows as usize { jd[r] - split[z + r] } else { zero };
            gap = x.mul_add(x, gap);
        }
    }
    let lambda = [impulse[3 * i], impulse[3 * i + 1], impulse[3 * i + 2]];
    let (square, scaled) = constraint_residual(if block { kind::BLOCK } else { kind::ROW }, c, lambda, sigma);
    split[own + constraint::SQUARE] = square;
    split[own + constraint::SCALED] = scaled;
    if due {
        let (mass, beta, change) =
            (effective_mass(block, c), split[own + constraint::PENALTY], split[own + constraint::CHANGE]);
        let free = &split[own + constraint::FREE..][..3];
        let (mut speed, mut size) = (zero, zero);
        for r in 0..record.rows as usize {
            speed = free[r].mul_add(free[r], speed);
            size = lambda[r].mul_add(lambda[r], size);
        }
        let noise = T::lit(LAWS_NOISE * LAWS_NOISE) * (mass * mass).mul_add(speed, size);
        let residuals = [(mass * mass).mul_add(gap, noise), change + noise];
        split[own + constraint::PENALTY] = adapted(Split::number(all.dims.imbalance), mass, beta, residuals);
    }
}

/// `beta sqrt(theta_p / theta_d)` (Lee 2024, eq. 43, of one constraint) where the squares of primal and dual residual,
/// N^2 s^2, are out of balance.
#[inline(always)]
fn adapted<T: Scalar>(imbalance: T, mass: T, beta: T, [primal, dual]: [T; 2]) -> T {
    let square = imbalance * imbalance;
    if primal <= square * dual && dual <= square * primal {
        return beta;
    }
    let most = T::lit(LAWS_LARGEST_ADAPTATION);
    let least = T::lit(1.0) / most;
    // The quotient of what is out of balance by nothing, which need not be finite.
    let far = most * most * (most * most);
    let factor = if far * dual <= primal {
        most
    } else if far * primal <= dual {
        least
    } else {
        (primal / dual).sqrt().sqrt()
    };
    (beta * factor).max(T::lit(LAWS_LEAST) * mass).min(T::lit(LAWS_LARGEST) * mass)
}

#[inline(always)]
fn add<T: Scalar>(a: &mut [T; 3], b: [T; 3]) {
    for r in 0..3 {
        a[r] += b[r];
    }
}

/// Effective mass of a constraint; zero for one that moves nothing, and for a row that carries nothing.
#[inline(always)]
fn effective_mass<T: Scalar>(block: bool, c: &[T]) -> T {
    let (zero, tiny) = (T::lit(0.0), T::lit(TINY));
    let mean = if block {
        let g = load6(c, con::DELASSUS);
        (g[0] + g[3] + g[5]) / T::lit(3.0)
    } else if c[con::ROW_LOWER] < c[con::ROW_UPPER] {
        c[con::ROW_DELASSUS]
    } else {
        zero
    };
    if tiny < mean { T::lit(1.0) / mean } else { zero }
}

/// `y = beta z~ - lambda`, `lambda` by the closed form of the law, `z = (y + lambda) / beta` (Lee 2024, eqs. 40, 41).
#[inline(always)]
pub(super) fn project<T: Scalar>(
    all: &Split,
    i: usize,
    cons: &[T],
    impulse: &mut [T],
    velocity: &[T],
    split: &mut [T],
) {
    let record = &all.constraints[i];
    let own = all.constraint_at(i);
    let beta = split[own + constraint::PENALTY];
    if beta <= T::lit(0.0) {
        return;
    }
    let relaxation = Split::number::<T>(all.dims.relaxation);
    let kept = T::lit(1.0) - relaxation;
    let (begin, slacks) = all.slacks_of(record);
    let rows = record.rows as usize;
    let before = [impulse[3 * i], impulse[3 * i + 1], impulse[3 * i + 2]];
    let d = part(all, velocity, region::SCRATCH);
    let mut sum = [T::lit(0.0); 3];
    for (s, slack) in slacks.iter().enumerate() {
        let (jd, at) = (times(all, slack, split, d), all.slack_at(begin + s));
        for r in 0..rows {
            let was = split[at + slack::Z + r];
            let z = relaxation.mul_add(jd[r], kept * was);
            split[at + slack::Z + r] = z;
            split[at + slack::PUSH + r] = z - was;
            sum[r] += beta.mul_add(z, -before[r]);
        }
    }
    let free = &split[own + constraint::FREE..][..3];
    let free = [free[0], free[1], free[2]];
    let c = &cons[con::SIZE * i..][..con::SIZE];
    let next = closed_form(rows == 3, c, beta, T::lit(slacks.len() as f64), sum, free);
    let (mut change, inverse) = (T::lit(0.0), T::lit(1.0) / beta);
    for s in 0..slacks.len() {
        let at = all.slack_at(begin + s);
        for r in 0..rows {
            let moved = next[r] - before[r];
            let z = moved.mul_add(inverse, split[at + slack::Z + r]);
            let x = beta.mul_add(split[at + slack::PUSH + r], moved);
            change = x.mul_add(x, change);
            split[at + slack::Z + r] = z;
            split[at + slack::PUSH + r] = beta.mul_add(z, next[r]);
        }
    }
    split[own + constraint::CHANGE] = change;
    impulse[3 * i..3 * i + rows].copy_from_slice(&next[..rows]);
}

/// Impulse of a law from `sum y` over `count` slacks (Lee 2024, eqs. 14-18 and 41); `free` is the bias there.
#[inline(always)]
fn closed_form<T: Scalar>(block: bool, c: &[T], beta: T, count: T, sum: [T; 3], free: [T; 3]) -> [T; 3] {
    if block {
        let star = [0, 1, 2].map(|r| -beta.mul_add(free[r], sum[r]) / count);
        return local::project(c[con::FRICTION], &star);
    }
    let star = -beta.mul_add(free[0], sum[0]) / beta.mul_add(c[con::ROW_COMPLIANCE], count);
    [star.max(c[con::ROW_LOWER]).min(c[con::ROW_UPPER]), T::lit(0.0), T::lit(0.0)]
}
