//! Large symmetric matrices by conjugate gradients: without a factor, which grows faster than they do.
//!
//! With D the blocks of the diagonal, three rows each, L those below and `C = D + L`, the system is solved in `z = C^T x`, where its
//! matrix is `C^-1 A C^-T` and `D^-1` preconditions: symmetric Gauss-Seidel. Since `A = C + C^T - D`, a product with that matrix is
//! one solve by `C^T` and one by C, `t + C^-1 (z - D t)` with `t = C^-T z`: no more than a product with A (S. Eisenstat 1981). What is
//! added to A and is not symmetric goes by stabilised biconjugate gradients (H. van der Vorst 1992).

use crate::factor::dot;
use crate::matrix::SparseMatrix;
use crate::product::mul_add;

/// Rows of a block.
const B: usize = 3;

/// Three rows by three columns, row by row.
type Block = [f64; B * B];

/// A matrix by blocks: those of the diagonal, and those below it by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Iterated {
    /// Rows of the matrix, and how many come before the nodes.
    n: usize,
    first: usize,
    begins: Vec<usize>,
    columns: Vec<u32>,
    lower: Vec<Block>,
    diagonal: Vec<Block>,
    inverse: Vec<Block>,
}

/// `column row^T`, over some degrees of freedom, added to a matrix.
#[derive(Debug, Clone, Copy)]
pub struct Added<'a> {
    /// Which; both have an entry for each.
    pub dofs: &'a [u32],
    /// What it acts on.
    pub column: &'a [f64],
    /// What it sees.
    pub row: &'a [f64],
}

/// How exactly to solve.
#[derive(Debug, Clone, Copy)]
pub struct Until {
    /// What is left, by what there was, in the norm of the preconditioner.
    pub share: f64,
    /// Rounds at most.
    pub rounds: usize,
}

impl Iterated {
    /// Takes the numbers of a symmetric matrix in the memory of another. `first` of its rows come before those of nodes, which are
    /// three each. `false`: these are not, or a block of the diagonal is not positive definite.
    #[must_use]
    pub fn refill(&mut self, matrix: &SparseMatrix, first: usize) -> bool {
        let n = matrix.n();
        if !n.saturating_sub(first).is_multiple_of(B) {
            return false;
        }
        (self.n, self.first) = (n, first);
        let blocks = self.padded() / B;
        let Self { begins, columns, lower, diagonal, inverse, .. } = self;
        begins.clear();
        columns.clear();
        lower.clear();
        // Of what only fills up a block of the first rows the diagonal is one.
        diagonal.clear();
        diagonal.resize(blocks, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
        begins.push(0);
        let mut slots = vec![usize::MAX; blocks];
        for (own, diagonal) in diagonal.iter_mut().enumerate() {
            let begin = columns.len();
            for r in 0..B {
                let Some(i) = row_at(B * own + r, first) else { continue };
                let (entries, values) = matrix.row(i);
                for (&j, &x) in entries.iter().zip(values) {
                    let at = place(j as usize, first);
                    let (block, c) = (at / B, at % B);
                    if block == own {
                        diagonal[B * r + c] = x;
                    } else if block < own && x != 0.0 {
                        if slots[block] == usize::MAX {
                            slots[block] = columns.len();
                            columns.push(block as u32);
                            lower.push([0.0; B * B]);
                        }
                        lower[slots[block]][B * r + c] = x;
                    }
                }
            }
            columns[begin..].iter().for_each(|&block| slots[block as usize] = usize::MAX);
            begins.push(columns.len());
        }
        inverse.clear();
        inverse.extend(diagonal.iter().map_while(inverted));
        inverse.len() == blocks
    }

    /// `(A + sum of added) x = right`, x of the size of the matrix. `None`: the matrix is seen not to be positive definite, numbers are not
    /// finite, or that many rounds were not enough. With the rounds that it took.
    #[must_use]
    pub fn solve(&self, right: &[f64], added: &[Added], until: Until) -> Option<(Vec<f64>, usize)> {
        let mut r = vec![0.0; self.padded()];
        right.iter().enumerate().for_each(|(i, x)| r[place(i, self.first)] = *x);
        self.forward(&mut r);
        let (z, rounds) = if added.is_empty() { self.symmetric(r, until) } else { self.biconjugate(r, added, until) }?;
        let x = self.backward(&z);
        let x: Vec<f64> = (0..self.n).map(|i| x[place(i, self.first)]).collect();
        x.iter().all(|x| x.is_finite()).then_some((x, rounds))
    }

    /// Conjugate gradients in z.
    fn symmetric(&self, mut r: Vec<f64>, until: Until) -> Option<(Vec<f64>, usize)> {
        let mut z = vec![0.0; r.len()];
        let mut p = self.scaled(&r);
        let mut square = dot(&r, &p);
        let bar = square * until.share * until.share;
        for round in 0..until.rounds {
            if square <= bar {
                return Some((z, round));
            }
            let q = self.product(&p, &[]);
            let curvature = dot(&p, &q);
            if curvature.is_nan() || curvature <= 0.0 {
                return None;
            }
            let step = square / curvature;
            axpy(step, &p, &mut z);
            axpy(-step, &q, &mut r);
            let y = self.scaled(&r);
            let next = dot(&r, &y);
            let kept = next / square;
            p.iter_mut().zip(&y).for_each(|(p, y)| *p = mul_add(kept, *p, *y));
            square = next;
        }
        None
    }

    /// Stabilised biconjugate gradients in z.
    fn biconjugate(&self, mut r: Vec<f64>, added: &[Added], until: Until) -> Option<(Vec<f64>, usize)> {
        let (mut z, shadow, mut p) = (vec![0.0; r.len()], r.clone(), r.clone());
        let bar = dot(&r, &self.scaled(&r)) * until.share * until.share;
        let mut along = dot(&shadow, &r);
        for round in 0..until.rounds {
            if dot(&r, &self.scaled(&r)) <= bar {
                return Some((z, round));
            }
            let y = self.scaled(&p);
            let v = self.product(&y, added);
            let step = along / dot(&shadow, &v);
            axpy(-step, &v, &mut r);
            let u = self.scaled(&r);
            let t = self.product(&u, added);
            let turn = dot(&t, &r) / dot(&t, &t).max(f64::MIN_POSITIVE);
            axpy(step, &y, &mut z);
            axpy(turn, &u, &mut z);
            axpy(-turn, &t, &mut r);
            let next = dot(&shadow, &r);
            let kept = next / along * (step / turn);
            if !kept.is_finite() {
                // Nothing is left, or nothing of it is seen from where this began.
                return (dot(&r, &self.scaled(&r)) <= bar).then_some((z, round + 1));
            }
            for ((p, r), v) in p.iter_mut().zip(&r).zip(&v) {
                *p = mul_add(kept, *p - turn * v, *r);
            }
            along = next;
        }
        None
    }

    /// Rows with those that fill up blocks.
    fn padded(&self) -> usize {
        place(self.n, self.first)
    }

    /// `C^-1 A C^-T z`
    fn product(&self, z: &[f64], added: &[Added]) -> Vec<f64> {
        let mut t = self.backward(z);
        let mut w = self.scaled(&t);
        w.iter_mut().zip(z).for_each(|(w, z)| *w = z - *w);
        for Added { dofs, column, row } in added {
            let places = || dofs.iter().map(|&dof| place(dof as usize, self.first));
            let seen: f64 = places().zip(*row).map(|(at, x)| x * t[at]).sum();
            places().zip(*column).for_each(|(at, x)| w[at] = mul_add(seen, *x, w[at]));
        }
        self.forward(&mut w);
        axpy(1.0, &w, &mut t);
        t
    }

    /// `D x`
    fn scaled(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; x.len()];
        let blocks = x.as_chunks::<B>().0.iter().zip(&self.diagonal);
        out.as_chunks_mut::<B>().0.iter_mut().zip(blocks).for_each(|(out, (x, d))| *out = times(d, x));
        out
    }

    /// `C x = x`
    fn forward(&self, x: &mut [f64]) {
        let x = x.as_chunks_mut::<B>().0;
        for (i, inverse) in self.inverse.iter().enumerate() {
            let own = self.begins[i]..self.begins[i + 1];
            let mut sum = x[i];
            for (&j, l) in self.columns[own.clone()].iter().zip(&self.lower[own]) {
                let y = &x[j as usize];
                for r in 0..B {
                    for c in 0..B {
                        sum[r] = mul_add(-l[B * r + c], y[c], sum[r]);
                    }
                }
            }
            x[i] = times(inverse, &sum);
        }
    }

    /// `C^T t = z`
    fn backward(&self, z: &[f64]) -> Vec<f64> {
        let mut out = z.to_vec();
        let t = out.as_chunks_mut::<B>().0;
        for (i, inverse) in self.inverse.iter().enumerate().rev() {
            let own = self.begins[i]..self.begins[i + 1];
            let x = times(inverse, &t[i]);
            t[i] = x;
            for (&j, l) in self.columns[own.clone()].iter().zip(&self.lower[own]) {
                let y = &mut t[j as usize];
                for r in 0..B {
                    for c in 0..B {
                        y[c] = mul_add(-l[B * r + c], x[r], y[c]);
                    }
                }
            }
        }
        out
    }
}

/// Where a row stands among those that are filled up to blocks.
fn place(i: usize, first: usize) -> usize {
    if i < first { i } else { first.next_multiple_of(B) + i - first }
}

/// The row that stands there; none where it only fills up a block.
fn row_at(at: usize, first: usize) -> Option<usize> {
    if at < first { Some(at) } else { at.checked_sub(first.next_multiple_of(B)).map(|i| first + i) }
}

fn times(m: &Block, x: &[f64; B]) -> [f64; B] {
    std::array::from_fn(|r| mul_add(m[B * r], x[0], mul_add(m[B * r + 1], x[1], m[B * r + 2] * x[2])))
}

/// `y += a x`
fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = mul_add(a, *x, *y));
}

/// Of a block that is symmetric and positive definite.
fn inverted(m: &Block) -> Option<Block> {
    let cofactor = |i: usize, j: usize| {
        let at = |r: usize, c: usize| m[B * ((i + r) % B) + (j + c) % B];
        at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)
    };
    let determinant = m[0] * cofactor(0, 0) + m[1] * cofactor(0, 1) + m[2] * cofactor(0, 2);
    let positive = m[0] > 0.0 && cofactor(2, 2) > 0.0 && determinant > 0.0 && determinant.is_finite();
    positive.then(|| std::array::from_fn(|at| cofactor(at % B, at / B) / determinant))
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::{Added, Iterated, Until};
    use crate::SparseMatrix;

    const UNTIL: Until = Until { share: 1e-13, rounds: 500 };

    /// A chain of nodes, each held to the next two by blocks at random, and some degrees of freedom that all of them see.
    fn chain(first: usize, nodes: usize, seed: u64) -> (SparseMatrix, DMatrix<f64>) {
        let (mut rng, n) = (ChaCha8Rng::seed_from_u64(seed), first + 3 * nodes);
        let mut dense = DMatrix::zeros(n, n);
        let couple = |dofs: &[usize], dense: &mut DMatrix<f64>, rng: &mut ChaCha8Rng| {
            let x = DVector::from_fn(dofs.len(), |_, _| rng.random_range(-1.0..1.0));
            for (a, &i) in dofs.iter().enumerate() {
                dofs.iter().enumerate().for_each(|(b, &j)| dense[(i, j)] += x[a] * x[b]);
            }
        };
        for k in 0..nodes {
            let begin = first + 3 * k;
            let end = (begin + 9).min(n);
            (0..6).for_each(|_| couple(&(begin..end).collect::<Vec<_>>(), &mut dense, &mut rng));
            couple(&(0..first).chain(begin..begin + 3).collect::<Vec<_>>(), &mut dense, &mut rng);
        }
        (0..n).for_each(|i| dense[(i, i)] += 0.05);
        let entries = (0..n * n).map(|at| (at / n, at % n)).filter(|&at| dense[at] != 0.0);
        let triplets: Vec<_> = entries.map(|(i, j)| (i, j, dense[(i, j)])).collect();
        (SparseMatrix::from_triplets(n, &triplets).unwrap(), dense)
    }

    #[test]
    fn solves_what_a_dense_factor_solves() {
        let mut own = Iterated::default();
        for (first, nodes, seed) in [(0, 1, 0), (0, 30, 1), (3, 20, 2), (4, 25, 3), (7, 1, 4), (2, 0, 5), (0, 0, 6)] {
            let (matrix, dense) = chain(first, nodes, seed);
            assert!(own.refill(&matrix, first));
            let n = matrix.n();
            let right = DVector::from_fn(n, |i, _| (i as f64 * 1.7).sin());
            let (x, rounds) = own.solve(right.as_slice(), &[], UNTIL).unwrap();
            let left = (&dense * DVector::from_vec(x) - &right).norm();
            assert!(left < 1e-10 * (1.0 + right.norm()), "{first} {nodes}: {left} after {rounds}");
        }
    }

    #[test]
    fn what_is_added_need_not_be_symmetric() {
        let mut own = Iterated::default();
        for (first, nodes, seed) in [(0, 30, 1), (4, 25, 3)] {
            let (matrix, mut dense) = chain(first, nodes, seed);
            assert!(own.refill(&matrix, first));
            let n = matrix.n();
            let dofs = [[1_u32, 5, 11], [n as u32 - 2, 0, 8]];
            let [column, row] = [[0.5, -0.3, 0.2], [0.4, 0.7, -0.1]];
            let added = dofs.each_ref().map(|dofs| Added { dofs, column: &column, row: &row });
            for own in &dofs {
                for (a, i) in own.map(|i| i as usize).into_iter().enumerate() {
                    for (b, j) in own.map(|j| j as usize).into_iter().enumerate() {
                        dense[(i, j)] += column[a] * row[b];
                    }
                }
            }
            let right = DVector::from_fn(n, |i, _| (i as f64 * 1.7).sin());
            let (x, rounds) = own.solve(right.as_slice(), &added, UNTIL).unwrap();
            let left = (&dense * DVector::from_vec(x) - &right).norm();
            assert!(left < 1e-10 * right.norm(), "{first}: {left} after {rounds}");
        }
    }

    #[test]
    fn what_is_not_positive_definite_has_no_answer() {
        let mut own = Iterated::default();
        // Its diagonal is.
        let entries =
            [(0, 0, 1.0), (1, 1, 1.0), (2, 2, 1.0), (0, 3, 2.0), (3, 0, 2.0), (3, 3, 1.0), (4, 4, 1.0), (5, 5, 1.0)];
        let matrix = SparseMatrix::from_triplets(6, &entries).unwrap();
        assert!(own.refill(&matrix, 0));
        assert!(own.solve(&[1.0, 0.0, 0.0, -1.0, 0.0, 0.0], &[], UNTIL).is_none());
        let mut flat = matrix.clone();
        flat.add_diagonal(4, -1.0);
        assert!(!own.refill(&flat, 0));
        // Four rows of nodes.
        assert!(!own.refill(&matrix, 2));
    }
}
