//! Linear systems that are known by their products alone: preconditioned conjugate residuals for symmetric ones (E. Stiefel
//! 1955), GMRES for the others (Y. Saad and M. Schultz 1986), preconditioned from the right.
//!
//! Both make the residual least over the space that the products span, which on a singular but consistent system leads to a
//! solution, and on an inconsistent one shows.

use crate::grid::{axpy, dot};

/// Residuals below this, relative to the right-hand side, are rounding.
const ENOUGH: f64 = 1e-14;
/// Solves of what is left over at most.
const ROUNDS: usize = 2;
/// Vectors that GMRES keeps before it begins anew.
const KEPT: usize = 300;
/// Iterations without a new least residual after which nothing more comes.
const IDLE: usize = 400;

/// A matrix and what stands for its inverse.
pub(crate) trait Operator {
    /// `y = B x`
    fn apply(&self, x: &[f64], y: &mut [f64]);
    /// `y = M x`, M near the inverse; symmetric and positive where B is.
    fn precondition(&self, x: &[f64], y: &mut [f64]);
    /// Whether B is symmetric and not negative.
    fn symmetric(&self) -> bool;
}

/// How a solve went.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Solved {
    /// Iterations: products with B, all but.
    pub(crate) iterations: usize,
    /// Largest entry of what is left over, relative to that of the right-hand side.
    pub(crate) residual: f64,
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |l: f64, x| if x.abs() <= l { l } else { x.abs() })
}

/// `B x = x` in at most so many products.
pub(crate) fn solve(operator: &impl Operator, x: &mut [f64], most: usize) -> Solved {
    let b = x.to_vec();
    let scale = largest(&b);
    x.fill(0.0);
    if scale == 0.0 || b.is_empty() {
        return Solved::default();
    }
    let (mut iterations, mut residual) = (0, 1.0);
    let mut rest = b.clone();
    // What rounding leaves of a round is the next one's right-hand side.
    for _ in 0..ROUNDS {
        let mut trial = vec![0.0; b.len()];
        let most = most.saturating_sub(iterations);
        iterations += if operator.symmetric() {
            conjugate_residuals(operator, &rest, &mut trial, most)
        } else {
            gmres(operator, &rest, &mut trial, most)
        };
        axpy(1.0, x, &mut trial);
        let mut left = vec![0.0; b.len()];
        operator.apply(&trial, &mut left);
        left.iter_mut().zip(&b).for_each(|(left, b)| *left = b - *left);
        let now = largest(&left) / scale;
        if now.is_nan() || now >= residual {
            break;
        }
        x.copy_from_slice(&trial);
        let enough = now <= ENOUGH || now > 0.1 * residual;
        (residual, rest) = (now, left);
        if enough {
            break;
        }
    }
    Solved { iterations, residual }
}

/// For symmetric systems, from zero; the best of its iterates.
fn conjugate_residuals(operator: &impl Operator, b: &[f64], x: &mut [f64], most: usize) -> usize {
    let n = b.len();
    let (mut r, mut z, mut image, mut other) = (b.to_vec(), vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    operator.precondition(&r, &mut z);
    operator.apply(&z, &mut image);
    // Directions and their images.
    let (mut p, mut q) = (z.clone(), image.clone());
    let mut best = (largest(b), x.to_vec(), 0);
    let scale = best.0;
    let mut size = dot(&z, &image);
    for k in 1..=most {
        operator.precondition(&q, &mut other);
        let step = size / dot(&q, &other);
        if !step.is_finite() {
            break;
        }
        axpy(step, &p, x);
        axpy(-step, &q, &mut r);
        axpy(-step, &other, &mut z);
        let left = largest(&r);
        if left < 0.5 * best.0 || left <= ENOUGH * scale {
            best.0 = left;
            best.1.copy_from_slice(x);
            best.2 = k;
        }
        if left <= ENOUGH * scale || k > best.2 + IDLE {
            x.copy_from_slice(&best.1);
            return k;
        }
        operator.apply(&z, &mut image);
        let next = dot(&z, &image);
        let turn = next / size;
        size = next;
        if !turn.is_finite() {
            break;
        }
        p.iter_mut().zip(&z).for_each(|(p, z)| *p = turn.mul_add(*p, *z));
        q.iter_mut().zip(&image).for_each(|(q, image)| *q = turn.mul_add(*q, *image));
    }
    x.copy_from_slice(&best.1);
    best.2
}

/// For any system, from zero.
fn gmres(operator: &impl Operator, b: &[f64], x: &mut [f64], most: usize) -> usize {
    let n = b.len();
    let (scale, mut spent) = (dot(b, b).sqrt(), 0);
    let (mut r, mut z) = (b.to_vec(), vec![0.0; n]);
    let mut before = f64::INFINITY;
    while spent < most {
        let size = dot(&r, &r).sqrt();
        // A round that gained nothing is the last.
        if !(size > ENOUGH * scale && size < 0.5 * before) {
            break;
        }
        before = size;
        let rounds = KEPT.min(most - spent).min(n);
        let mut basis: Vec<Vec<f64>> = vec![r.iter().map(|x| x / size).collect()];
        // Columns of the upper triangle, the rotations that made them so, and the turned right-hand side.
        let mut columns: Vec<Vec<f64>> = Vec::with_capacity(rounds);
        let mut turns: Vec<[f64; 2]> = Vec::with_capacity(rounds);
        let mut right = vec![size];
        for k in 0..rounds {
            operator.precondition(&basis[k], &mut z);
            let mut w = vec![0.0; n];
            operator.apply(&z, &mut w);
            spent += 1;
            let whole = dot(&w, &w).sqrt();
            let mut column = vec![0.0; k + 2];
            // Twice is enough.
            for _ in 0..2 {
                for (own, v) in column.iter_mut().zip(&basis) {
                    let along = dot(&w, v);
                    axpy(-along, v, &mut w);
                    *own += along;
                }
            }
            let rest = dot(&w, &w).sqrt();
            column[k + 1] = rest;
            for (i, [c, s]) in turns.iter().enumerate() {
                let (a, b) = (column[i], column[i + 1]);
                (column[i], column[i + 1]) = (c * a + s * b, c * b - s * a);
            }
            let length = column[k].hypot(column[k + 1]);
            // A product that says nothing new ends the round, also one that is not a number.
            if length.is_nan() || length <= 4.0 * f64::EPSILON * whole {
                break;
            }
            let [c, s] = [column[k] / length, column[k + 1] / length];
            (column[k], column[k + 1]) = (length, 0.0);
            turns.push([c, s]);
            columns.push(column);
            let last = right[k];
            right[k] = c * last;
            right.push(-s * last);
            if right[k + 1].abs() <= ENOUGH * scale || rest == 0.0 {
                break;
            }
            w.iter_mut().for_each(|w| *w /= rest);
            basis.push(w);
        }
        let mut weights = vec![0.0; columns.len()];
        for i in (0..columns.len()).rev() {
            let known: f64 = (i + 1..columns.len()).map(|j| columns[j][i] * weights[j]).sum();
            weights[i] = (right[i] - known) / columns[i][i];
        }
        let mut sum = vec![0.0; n];
        weights.iter().zip(&basis).for_each(|(weight, v)| axpy(*weight, v, &mut sum));
        operator.precondition(&sum, &mut z);
        let mut trial = x.to_vec();
        axpy(1.0, &z, &mut trial);
        operator.apply(&trial, &mut r);
        r.iter_mut().zip(b).for_each(|(r, b)| *r = b - *r);
        let now = dot(&r, &r).sqrt();
        if now.is_nan() || now >= size {
            break;
        }
        x.copy_from_slice(&trial);
    }
    spent
}

#[cfg(test)]
mod tests {
    use super::{Operator, Solved, solve};

    struct Dense {
        n: usize,
        entries: Vec<f64>,
        symmetric: bool,
    }

    impl Operator for Dense {
        fn apply(&self, x: &[f64], y: &mut [f64]) {
            for (i, y) in y.iter_mut().enumerate() {
                *y = (0..self.n).map(|j| self.entries[i * self.n + j] * x[j]).sum();
            }
        }

        fn precondition(&self, x: &[f64], y: &mut [f64]) {
            y.copy_from_slice(x);
            y.iter_mut().enumerate().for_each(|(i, y)| *y /= self.entries[i * self.n + i]);
        }

        fn symmetric(&self) -> bool {
            self.symmetric
        }
    }

    fn noise(n: usize, seed: f64) -> Vec<f64> {
        (0..n).map(|k| ((k as f64 + seed) * 12.9898).sin() * 43758.5453 % 1.0).collect()
    }

    /// `G G^T` with G `[n, rank]`, and with `skew` a part that is not symmetric.
    fn product(n: usize, rank: usize, skew: f64) -> Dense {
        let (left, extra) = (noise(n * rank, 0.3), noise(rank * rank, 0.7));
        let entry = |i: usize, j: usize| -> f64 {
            (0..rank)
                .flat_map(|k| (0..rank).map(move |l| (k, l)))
                .map(|(k, l)| {
                    let middle = if k == l { 1.0 } else { skew * (extra[k * rank + l] - extra[l * rank + k]) };
                    left[i * rank + k] * middle * left[j * rank + l]
                })
                .sum()
        };
        let entries = (0..n * n).map(|at| entry(at / n, at % n)).collect();
        Dense { n, entries, symmetric: skew == 0.0 }
    }

    #[test]
    fn full_and_singular_systems_that_have_a_solution_are_solved() {
        for (n, rank, skew) in [(20, 20, 0.0), (20, 20, 0.3), (24, 15, 0.0), (24, 15, 0.3), (1, 1, 0.0), (1, 1, 0.3)] {
            let b = product(n, rank, skew);
            let mut rhs = vec![0.0; n];
            b.apply(&noise(n, 5.0), &mut rhs);
            let mut x = rhs.clone();
            let Solved { residual, iterations } = solve(&b, &mut x, 1000);
            let mut found = vec![0.0; n];
            b.apply(&x, &mut found);
            let worst = found.iter().zip(&rhs).fold(0.0, |l: f64, (a, b)| l.max((a - b).abs()));
            assert!(worst < 1e-9 && residual < 1e-9, "{n} {rank} {skew}: {worst} {residual} in {iterations}");
        }
    }

    #[test]
    fn what_has_no_solution_shows() {
        for skew in [0.0, 0.3] {
            let mut x = noise(24, 2.0);
            assert!(solve(&product(24, 15, skew), &mut x, 1000).residual > 1e-2);
            assert!(x.iter().all(|x| x.is_finite()));
        }
    }

    #[test]
    fn nothing_has_the_solution_nothing() {
        let mut x = vec![0.0; 5];
        assert_eq!(solve(&product(5, 5, 0.0), &mut x, 10).residual, 0.0);
        assert!(x.iter().all(|&x| x == 0.0));
    }
}
