//! The half-iteration of a tree, its factor, and the velocity that its impulses give.

use super::layout::{Split, constraint, island, slack};
use crate::Scalar;
use crate::contact::island::region;

/// Pivots below this part of the diagonal they came from count as not positive.
const SMALLEST_PIVOT: f64 = 1e-7;

/// `v = v_free + sum Y lambda` into region SOLUTION. At the start of a solve d is that velocity less the free one.
#[inline(always)]
pub(super) fn velocity<T: Scalar>(all: &Split, t: usize, jac: &[T], impulse: &[T], velocity: &mut [T], start: bool) {
    let tree = &all.trees[t];
    let (n, regions, first) = (tree.n_v as usize, all.dims.n_velocity as usize, tree.velocity as usize);
    let (free, rest) = velocity.split_at_mut(regions * region::SOLUTION);
    let (solution, d) = rest.split_at_mut(regions * (region::SCRATCH - region::SOLUTION));
    let (free, solution, d) = (&free[first..][..n], &mut solution[first..][..n], &mut d[first..][..n]);
    solution.copy_from_slice(free);
    for &number in all.list(tree) {
        let slack = &all.slacks[number as usize];
        if slack.first == 0 {
            continue;
        }
        let rows = slack.rows as usize;
        let y = &jac[slack.jac as usize + rows * n..][..rows * n];
        for (r, y) in y.chunks_exact(n).enumerate() {
            let lambda = impulse[3 * slack.constraint as usize + r];
            for (v, &y) in solution.iter_mut().zip(y) {
                *v = y.mul_add(lambda, *v);
            }
        }
    }
    if start {
        for i in 0..n {
            d[i] = solution[i] - free[i];
        }
    }
}

/// `L^T D L = A + sum beta J^T J` with the present penalties, the inverse of D stored, and what they make of the slacks.
#[inline(always)]
pub(super) fn factor<T: Scalar>(all: &Split, t: usize, impulse: &[T], split: &mut [T]) {
    let tree = &all.trees[t];
    let own = all.island_at(tree.island as usize);
    if split[own + island::REFACTOR] <= T::lit(0.0) {
        return;
    }
    let n = tree.n_v as usize;
    let begins = &all.index[tree.begins as usize..][..=n];
    let n_m = begins[n] as usize;
    let columns = &all.index[tree.columns as usize..][..n_m];
    let (matrix, mass) = (tree.matrix as usize + n_m, tree.matrix as usize);
    split.copy_within(mass..matrix, matrix);
    for &number in all.list(tree) {
        let slack = &all.slacks[number as usize];
        let beta = split[all.constraint_at(slack.constraint as usize) + constraint::PENALTY];
        if beta <= T::lit(0.0) {
            continue;
        }
        let at = all.slack_at(number as usize);
        let rows = slack.rows as usize;
        for r in 0..rows {
            let lambda = impulse[3 * slack.constraint as usize + r];
            split[at + slack::PUSH + r] = beta.mul_add(split[at + slack::Z + r], lambda);
        }
        // Matrices come before all else.
        let (matrices, rest) = split.split_at_mut(all.dims.slack_real as usize);
        let chain = all.chain(slack);
        let j = &rest[slack.packed as usize - matrices.len()..][..rows * chain.len()];
        for (a, &i) in chain.iter().enumerate() {
            let entries = &mut matrices[matrix + begins[i as usize] as usize..][..chain.len() - a];
            let x = &j[rows * a..rows * (a + 1)];
            for (entry, y) in entries.iter_mut().zip(j[rows * a..].chunks_exact(rows)) {
                let product = x.iter().zip(y).fold(T::lit(0.0), |sum, (&x, &y)| x.mul_add(y, sum));
                *entry = beta.mul_add(product, *entry);
            }
        }
    }
    eliminate(begins, columns, mass, matrix, split);
}

/// Factors in place (Featherstone 2008, section 6.5). A pivot that is not positive in this arithmetic is taken as the
/// smallest that counts: the certificate tells how good the impulses of such a tree are.
#[inline(always)]
fn eliminate<T: Scalar>(begins: &[u32], columns: &[u32], mass: usize, matrix: usize, split: &mut [T]) {
    let one = T::lit(1.0);
    for i in (0..begins.len() - 1).rev() {
        let (begin, end) = (begins[i] as usize, begins[i + 1] as usize);
        let least = T::lit(SMALLEST_PIVOT) * split[mass + begin];
        let inverse = one / split[matrix + begin].max(least);
        // Ancestors come before their descendants, and so do their rows.
        let (above, row) = split.split_at_mut(matrix + begin);
        for k in 1..end - begin {
            let ratio = row[k] * inverse;
            let ancestor = &mut above[matrix + begins[columns[begin + k] as usize] as usize..];
            for (entry, &own) in ancestor.iter_mut().zip(&row[k..end - begin]) {
                *entry = (-ratio).mul_add(own, *entry);
            }
            row[k] = ratio;
        }
        row[0] = inverse;
    }
}

/// `d <- (A + sum beta J^T J)^-1 sum J^T (beta z + lambda)` (Lee 2024, eq. 30).
#[inline(always)]
pub(super) fn solve<T: Scalar>(all: &Split, t: usize, velocity: &mut [T], split: &[T]) {
    let tree = &all.trees[t];
    let n = tree.n_v as usize;
    let at = all.dims.n_velocity as usize * region::SCRATCH + tree.velocity as usize;
    let d = &mut velocity[at..][..n];
    d.fill(T::lit(0.0));
    for &number in all.list(tree) {
        let slack = &all.slacks[number as usize];
        if split[all.constraint_at(slack.constraint as usize) + constraint::PENALTY] <= T::lit(0.0) {
            continue;
        }
        let chain = all.chain(slack);
        let push = &split[all.slack_at(number as usize) + slack::PUSH..][..3];
        let j = &split[slack.packed as usize..][..slack.rows as usize * chain.len()];
        if slack.rows == 3 {
            for (&i, j) in chain.iter().zip(j.as_chunks::<3>().0) {
                d[i as usize] += j[0].mul_add(push[0], j[1].mul_add(push[1], j[2] * push[2]));
            }
        } else {
            for (&i, &j) in chain.iter().zip(j) {
                d[i as usize] = j.mul_add(push[0], d[i as usize]);
            }
        }
    }
    let begins = &all.index[tree.begins as usize..][..=n];
    let n_m = begins[n] as usize;
    let columns = &all.index[tree.columns as usize..][..n_m];
    let l = &split[tree.matrix as usize + n_m..][..n_m];
    for i in (0..n).rev() {
        let x = d[i];
        for at in begins[i] as usize + 1..begins[i + 1] as usize {
            let k = columns[at] as usize;
            d[k] = (-l[at]).mul_add(x, d[k]);
        }
    }
    for i in 0..n {
        let begin = begins[i] as usize;
        let mut x = d[i] * l[begin];
        for at in begin + 1..begins[i + 1] as usize {
            x = (-l[at]).mul_add(d[columns[at] as usize], x);
        }
        d[i] = x;
    }
}
