//! One step of Newton's method on a whole step, and the linear system that it asks for.

use std::sync::Arc;

use manyworlds_sparse::{Added, Factor, FactorWork, Iterated, SparseMatrix, Until};
use nalgebra::{DMatrix, DVector};

use super::touch::Touch;
use super::{Motion, Point, WholeWork, map};
use crate::solve::rows::{Block, Rows};

/// Degrees of freedom at most whose matrix is factored. Bars of linear tetrahedra on a ball, ms a step by a factor and by conjugate
/// gradients: of 1,200 2.2 and 3.2, of 2,475 6.4 and 6.7, of 7,203 36 and 17; of stiffer ones these take more rounds.
const FACTORED: usize = 4000;
/// Contacts that slide at most where it is; each costs a solve.
const SLIDING: usize = 24;
/// Degrees of freedom at most whose matrix is taken whole where no factor of it will do.
const DENSE: usize = 1000;
/// How exactly conjugate gradients solve: what they leave is what the next step begins with.
const UNTIL: Until = Until { share: 1e-4, rounds: 1000 };

/// How linear systems are solved.
pub(super) enum Linear<'a> {
    Factored {
        factor: Factor,
        work: &'a mut FactorWork,
    },
    Iterated(Iterated),
    /// By elimination with pivots, whatever the matrix and whichever nodes contacts couple.
    Dense,
}

/// A contact that slides: its number, and how its tangential impulse follows the normal one.
type Sliding = (usize, Rows<f64>);

impl<'a> Linear<'a> {
    /// `None`: a matrix of that pattern does not hold what contacts couple, and is too large to be taken whole.
    pub(super) fn of(motion: &impl Motion, is_joined: bool, work: &'a mut WholeWork) -> Option<Self> {
        if !is_joined {
            return (motion.n() <= DENSE).then_some(Self::Dense);
        }
        if motion.n() > FACTORED {
            return Some(Self::Iterated(Iterated::default()));
        }
        let symbolic = Arc::clone(motion.symbolic());
        let factor = match work.factor.take() {
            Some(factor) => factor.reused(symbolic),
            None => Factor::empty(symbolic),
        };
        Some(Self::Factored { factor, work: &mut work.factoring })
    }

    /// Takes matrices whole from now on, if it did not already.
    pub(super) fn take_whole(&mut self, motion: &impl Motion) -> bool {
        let better = matches!(self, Self::Factored { .. }) && motion.n() <= DENSE;
        if better {
            *self = Self::Dense;
        }
        better
    }

    /// The factor of the last matrix, where there is one.
    pub(super) fn into_factor(self) -> Option<Factor> {
        match self {
            Self::Factored { factor, .. } => Some(factor),
            Self::Iterated(_) | Self::Dense => None,
        }
    }

    /// Least proximal weight: conjugate gradients take more rounds the stiffer contacts are.
    pub(super) fn least_proximal(&self) -> f64 {
        match self {
            Self::Factored { .. } | Self::Dense => 1e-9,
            Self::Iterated(_) => 1e-3,
        }
    }

    /// `(matrix + sum J^T w J) x = right`, w by contact.
    fn solve(
        &mut self,
        matrix: &mut SparseMatrix,
        right: Vec<f64>,
        touches: &[Touch],
        weights: &[Block<f64>],
        n_first: usize,
    ) -> Option<Vec<f64>> {
        match self {
            Self::Dense => by_elimination(matrix, right, touches, weights),
            Self::Factored { factor, work } => {
                let sliding = add_symmetric(matrix, touches, weights, n_first);
                if sliding.len() > SLIDING {
                    return None;
                }
                factor.refactor(matrix, work).ok()?;
                beside_sliding(factor, right, touches, &sliding)
            }
            Self::Iterated(own) => {
                let sliding = add_symmetric(matrix, touches, weights, n_first);
                if !own.refill(matrix, n_first) {
                    return None;
                }
                let columns = sliding.iter().map(|(index, across)| {
                    let touch = &touches[*index];
                    let column = |k: usize| across[0] * touch.row(0)[k] + across[1] * touch.row(1)[k];
                    (touch, (0..touch.dofs.len()).map(column).collect())
                });
                let columns: Vec<(&Touch, Vec<f64>)> = columns.collect();
                let added =
                    columns.iter().map(|(touch, column)| Added { dofs: &touch.dofs, column, row: touch.row(2) });
                own.solve(&right, &added.collect::<Vec<_>>(), UNTIL).map(|(x, _)| x)
            }
        }
    }
}

/// `matrix += sum J^T w J` without what makes tangential impulses follow normal ones; the contacts that have such.
fn add_symmetric(matrix: &mut SparseMatrix, touches: &[Touch], weights: &[Block<f64>], n_first: usize) -> Vec<Sliding> {
    let mut sliding = Vec::new();
    for (index, (touch, w)) in touches.iter().zip(weights).enumerate() {
        let mut symmetric = *w;
        let across = [w[0][2], w[1][2], 0.0];
        if across != [0.0; 3] {
            (symmetric[0][2], symmetric[1][2]) = (0.0, 0.0);
            sliding.push((index, across));
        }
        if symmetric != [[0.0; 3]; 3] {
            touch.add_to(&symmetric, n_first, matrix);
        }
    }
    sliding
}

/// See [`Linear::Dense`].
fn by_elimination(
    matrix: &SparseMatrix,
    right: Vec<f64>,
    touches: &[Touch],
    weights: &[Block<f64>],
) -> Option<Vec<f64>> {
    let n = matrix.n();
    let mut all = DMatrix::zeros(n, n);
    for (i, j, x) in matrix.entries() {
        all[(i, j)] += x;
    }
    for (touch, w) in touches.iter().zip(weights).filter(|(_, w)| **w != [[0.0; 3]; 3]) {
        touch.each_of(w, |i, j, x| all[(i, j)] += x);
    }
    Some(all.lu().solve(&DVector::from_vec(right))?.data.into())
}

/// By the factor of the symmetric part (M. Woodbury 1950).
fn beside_sliding(factor: &Factor, right: Vec<f64>, touches: &[Touch], sliding: &[Sliding]) -> Option<Vec<f64>> {
    let mut x = right;
    factor.solve(&mut x);
    if sliding.is_empty() {
        return Some(x);
    }
    let n = x.len();
    let mut columns = Vec::with_capacity(sliding.len());
    for (index, across) in sliding {
        let mut column = vec![0.0; n];
        touches[*index].add_transposed(across, &mut column);
        factor.solve(&mut column);
        columns.push(column);
    }
    let normal = |index: usize, v: &[f64]| touches[index].relative(v)[2];
    let k = sliding.len();
    let small = DMatrix::from_fn(k, k, |i, j| f64::from(i == j) + normal(sliding[i].0, &columns[j]));
    let shares = small.lu().solve(&DVector::from_fn(k, |i, _| normal(sliding[i].0, &x)))?;
    for (column, share) in columns.iter().zip(shares.iter()) {
        x.iter_mut().zip(column).for_each(|(x, c)| *x -= share * c);
    }
    Some(x)
}

/// A whole step: change of the velocity and of the impulses.
pub(super) fn step(
    touches: &[Touch],
    at: &Point,
    n_first: usize,
    matrix: &mut SparseMatrix,
    linear: &mut Linear,
    proximal: f64,
) -> Option<(Vec<f64>, Vec<Rows<f64>>)> {
    let mut right = at.left(touches);
    right.iter_mut().for_each(|x| *x = -*x);
    let (mut weights, mut pushes) = (Vec::with_capacity(touches.len()), Vec::with_capacity(touches.len()));
    for (index, touch) in touches.iter().enumerate() {
        let (left, p) = map(touch, at.own(index), touch.relative(&at.v));
        let e: Block<f64> =
            std::array::from_fn(|r| std::array::from_fn(|s| f64::from(r == s) * (1.0 + proximal) - p[r][s]));
        let e = invert(&e);
        let w: Block<f64> = std::array::from_fn(|r| {
            std::array::from_fn(|s| touch.rho * (0..3).map(|k| e[r][k] * p[k][s]).sum::<f64>())
        });
        let pushed = times(&e, &left);
        touch.add_transposed(&pushed, &mut right);
        weights.push(w);
        pushes.push(pushed);
    }
    let dv = linear.solve(matrix, right, touches, &weights, n_first)?;
    let change = touches.iter().zip(weights.iter().zip(&pushes)).map(|(touch, (w, pushed))| {
        let back = times(w, &touch.relative(&dv));
        std::array::from_fn(|r| pushed[r] - back[r])
    });
    let change: Vec<Rows<f64>> = change.collect();
    dv.iter().chain(change.iter().flatten()).all(|x| x.is_finite()).then_some((dv, change))
}

/// `m x`
fn times(m: &Block<f64>, x: &Rows<f64>) -> Rows<f64> {
    std::array::from_fn(|r| m[r][0] * x[0] + m[r][1] * x[1] + m[r][2] * x[2])
}

/// Inverse of `1 + eps - P`: its last row has the diagonal alone, since no tangential impulse moves a strict normal one.
fn invert(e: &Block<f64>) -> Block<f64> {
    let scale = 1.0 / (e[0][0] * e[1][1] - e[0][1] * e[1][0]);
    let normal = 1.0 / e[2][2];
    let t = [[e[1][1] * scale, -(e[0][1] * scale)], [-(e[1][0] * scale), e[0][0] * scale]];
    let last = |r: usize| -((t[r][0] * e[0][2] + t[r][1] * e[1][2]) * normal);
    [[t[0][0], t[0][1], last(0)], [t[1][0], t[1][1], last(1)], [0.0, 0.0, normal]]
}
