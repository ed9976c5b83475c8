//! Newton's method on a whole step at once: forces that are not linear in the velocity, and exact contact.
//!
//! Find v and lambda with `r(v) = J^T lambda`, r the balance of momentum without contact, and
//! `lambda = T(lambda - rho (J v + e))`, T the strict map. With `A = dr/dv`, P the derivative of T and `E = 1 + eps - P`, a step is
//! `(A + J^T E^-1 rho P J) dv = J^T (lambda + E^-1 (T - lambda)) - r`, `d = E^-1 (T - lambda - rho P J dv)`: that of `polish`, about
//! a velocity that need not balance the impulses. From a state near the last one, one step is enough; its matrix is the only
//! one that is factored. Where a contact slides, `E^-1 rho P` is not symmetric: friction grows with the normal impulse. That part
//! is of rank one a contact and is put on top of the symmetric rest (M. Woodbury 1950).

use std::sync::Arc;

use manyworlds_sparse::{Factor, FactorWork, SparseMatrix, Symbolic};
use nalgebra::{DMatrix, DVector};

use super::law::{Cap, Map, impulse};
use super::polish::{invert, times};
use super::system::{Block, Rows};
use crate::problem::{ContactProblem, Law};
use crate::residual::defect_of;

/// Steps at most.
const MOST: usize = 12;
/// Contacts that slide at most; each costs a solve.
const SLIDING: usize = 24;
/// Proximal weight of the first step, what shrinks it, and the least.
const PROXIMAL: [f64; 3] = [1e-3, 0.1, 1e-9];
/// Shares of a step that are tried.
const SHARES: [f64; 3] = [1.0, 0.5, 0.2];

/// What moves, without contact. Degrees of freedom are in an order of its own: first those that any constraint may couple to any
/// other (trees), then those of soft bodies, a node's three together.
pub trait Motion {
    /// Entries of the velocity.
    fn n(&self) -> usize;
    /// How many come first.
    fn n_first(&self) -> usize;
    /// Place in its order of a degree of freedom of the problem.
    fn place(&self, dof: usize) -> usize;
    /// A matrix of its pattern: rows have a column for each of the first, the first for all.
    fn pattern(&self) -> &SparseMatrix;
    /// The order of elimination of that.
    fn symbolic(&self) -> &Arc<Symbolic>;
    /// `r` at a velocity.
    fn balance(&self, v: &[f64], r: &mut [f64]);
    /// The same with its derivative.
    fn slope(&self, v: &[f64], r: &mut [f64], a: &mut SparseMatrix);
    /// Lumped inertia of each degree of freedom, kg.
    fn inertia(&self) -> &[f64];
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// In the order of the motion.
    pub v: Vec<f64>,
    /// `[n_rows]`
    pub lambda: Vec<f64>,
    /// Steps.
    pub iterations: u32,
    /// `|lambda - T(lambda - J v - e)|` over all constraints, N s.
    pub laws: f64,
    /// `max |lambda - T(..)| / rho`, `rho = 3 / trace(J m^-1 J^T)`, m/s.
    pub scaled: f64,
    /// `|r - J^T lambda|`, N s.
    pub momentum: f64,
}

/// A constraint over the motion's degrees of freedom.
struct Touch {
    law: Law,
    e: Rows<f64>,
    /// First row in lambda.
    row: usize,
    /// kg
    rho: f64,
    /// The same by inertia alone.
    mass: f64,
    dofs: Vec<u32>,
    /// `[3, dofs]`
    j: Vec<f64>,
}

/// Solves a step from a velocity, in the motion's order, and impulses. `problem`: constraints alone are looked at; `stored`: what is
/// kept of a velocity, at which the laws are measured, too. `None`: the step asks for more than this.
#[must_use]
pub fn newton(
    problem: &ContactProblem,
    motion: &impl Motion,
    (v, lambda): (Vec<f64>, Vec<f64>),
    tolerance: f64,
    stored: impl Fn(f64) -> f64,
    work: &mut FactorWork,
) -> Option<Found> {
    let n = motion.n();
    let (mut matrix, mut r) = (motion.pattern().clone(), vec![0.0; n]);
    motion.slope(&v, &mut r, &mut matrix);
    let diagonal: Vec<f64> = (0..n).map(|i| matrix.get(i, i).unwrap_or(1.0)).collect();
    let touches = touches(problem, motion, &diagonal)?;
    let padded = touches.iter().flat_map(|touch| {
        let rows = touch.law.rows();
        let own = &lambda[touch.row..touch.row + rows];
        (0..3).map(move |k| own.get(k).copied().unwrap_or(0.0))
    });
    let mut at = Point { lambda: padded.collect(), v, r };
    let mut factor = Factor::empty(Arc::clone(motion.symbolic()));
    let mut proximal = PROXIMAL[0];
    let mut merit = merit(&touches, &at, &diagonal);
    for iteration in 0..MOST {
        if iteration > 0 {
            motion.slope(&at.v, &mut at.r, &mut matrix);
        }
        let (dv, d) = step(&touches, &at, motion.n_first(), &mut matrix, (&mut factor, work), proximal)?;
        let mut taken = None;
        for share in SHARES {
            let mut next = at.moved(share, &dv, &d);
            motion.balance(&next.v, &mut next.r);
            let of_next = self::merit(&touches, &next, &diagonal);
            // Beyond the first step a merit must fall.
            if of_next.is_finite() && (iteration == 0 || of_next < merit) {
                taken = Some((next, of_next));
                break;
            }
        }
        let (next, of_next) = taken?;
        (at, merit) = (next, of_next);
        proximal = (proximal * PROXIMAL[1]).max(PROXIMAL[2]);
        let found = at.measured(&touches, iteration as u32 + 1);
        if found.momentum <= tolerance && found.laws / problem.n_contacts.max(1) as f64 <= tolerance {
            let rounded: Vec<f64> = at.v.iter().map(|&v| stored(v)).collect();
            let [laws, scaled] = at.laws(&touches, &rounded);
            return Some(Found { laws: found.laws.max(laws), scaled: found.scaled.max(scaled), ..found });
        }
    }
    None
}

/// Velocity, impulses, three a constraint, and the balance of momentum without these.
struct Point {
    v: Vec<f64>,
    lambda: Vec<f64>,
    r: Vec<f64>,
}

impl Point {
    fn moved(&self, share: f64, dv: &[f64], d: &[Rows<f64>]) -> Self {
        let v: Vec<f64> = self.v.iter().zip(dv).map(|(v, dv)| v + share * dv).collect();
        let mut lambda = self.lambda.clone();
        let rows = d.iter().flatten();
        lambda.iter_mut().zip(rows).for_each(|(lambda, d)| *lambda += share * d);
        Self { r: vec![0.0; v.len()], v, lambda }
    }

    /// Impulse of a constraint.
    fn own(&self, index: usize) -> Rows<f64> {
        std::array::from_fn(|k| self.lambda[3 * index + k])
    }

    /// `r - J^T lambda`
    fn left(&self, touches: &[Touch]) -> Vec<f64> {
        let mut left = self.r.clone();
        for (index, touch) in touches.iter().enumerate() {
            touch.add_transposed(&self.own(index).map(|x| -x), &mut left);
        }
        left
    }

    fn measured(&self, touches: &[Touch], iterations: u32) -> Found {
        let momentum = self.left(touches).iter().map(|x| x * x).sum::<f64>().sqrt();
        let own =
            touches.iter().enumerate().flat_map(|(index, touch)| self.own(index).into_iter().take(touch.law.rows()));
        let [laws, scaled] = self.laws(touches, &self.v);
        Found { v: self.v.clone(), lambda: own.collect(), iterations, laws, scaled, momentum }
    }

    /// What a velocity leaves of the laws: see [`Found`].
    fn laws(&self, touches: &[Touch], v: &[f64]) -> [f64; 2] {
        let (mut square, mut scaled) = (0.0, 0.0_f64);
        for (index, touch) in touches.iter().enumerate() {
            let (own, sigma) = (self.own(index), touch.relative(v));
            square += defect_of(touch.law, 1.0, own, sigma, touch.e).powi(2);
            if touch.mass > 0.0 {
                scaled = scaled.max(defect_of(touch.law, touch.mass, own, sigma, touch.e) / touch.mass);
            }
        }
        [f64::sqrt(square), scaled]
    }
}

impl Touch {
    fn row(&self, k: usize) -> &[f64] {
        &self.j[k * self.dofs.len()..(k + 1) * self.dofs.len()]
    }

    /// `J v`
    fn relative(&self, v: &[f64]) -> Rows<f64> {
        std::array::from_fn(|k| self.row(k).iter().zip(&self.dofs).map(|(j, &dof)| j * v[dof as usize]).sum())
    }

    /// `out += J^T x`
    fn add_transposed(&self, x: &Rows<f64>, out: &mut [f64]) {
        for (k, x) in x.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            self.row(k).iter().zip(&self.dofs).for_each(|(j, &dof)| out[dof as usize] += j * x);
        }
    }

    /// `out += J^T w J`; rows and columns beyond the first are those of nodes, three together.
    fn add_to(&self, w: &Block<f64>, n_first: usize, out: &mut SparseMatrix) {
        let m = self.dofs.len();
        let weighted: Vec<f64> = (0..3)
            .flat_map(|r| (0..m).map(move |b| (r, b)))
            .map(|(r, b)| (0..3).map(|s| w[r][s] * self.j[s * m + b]).sum())
            .collect();
        for (a, &row) in self.dofs.iter().enumerate() {
            let own: Rows<f64> = std::array::from_fn(|r| self.j[r * m + a]);
            if own == [0.0; 3] {
                continue;
            }
            let begin = out.row_begin(row as usize);
            let mut b = 0;
            while b < m {
                let column = self.dofs[b] as usize;
                // The first degrees of freedom have a column each in every row; nodes' stand in threes.
                let (at, count) = if column < n_first || (row as usize) < n_first {
                    (begin + column, 1)
                } else {
                    match out.position(row as usize, column) {
                        Some(at) => (at, 3),
                        None => return,
                    }
                };
                for k in 0..count {
                    let x: f64 = (0..3).map(|r| own[r] * weighted[r * m + b + k]).sum();
                    out.values_mut()[at + k] += x;
                }
                b += count;
            }
        }
    }
}

/// The constraints in the motion's order; `None` where two nodes that no element joins would be coupled.
fn touches(problem: &ContactProblem, motion: &impl Motion, diagonal: &[f64]) -> Option<Vec<Touch>> {
    let mut out = Vec::with_capacity(problem.constraints.len());
    let n_first = motion.n_first();
    for constraint in &problem.constraints {
        if constraint.cap != f64::INFINITY {
            return None;
        }
        let rows = constraint.law.rows();
        let (mut dofs, mut parts) = (Vec::new(), Vec::new());
        for side in &problem.sides[constraint.sides.clone()] {
            let s = &problem.subsystems[side.subsystem];
            let of = |dof: usize| motion.place(s.begin + dof) as u32;
            let count = if side.dofs.is_empty() {
                dofs.extend((0..s.count).map(of));
                s.count
            } else {
                dofs.extend(problem.touched[side.dofs.clone()].iter().map(|&dof| of(dof as usize)));
                side.dofs.len()
            };
            parts.push((count, &problem.jacobian[side.offset..][..rows * count]));
        }
        let m = dofs.len();
        let mut j = vec![0.0; 3 * m];
        let mut first = 0;
        for (count, part) in parts {
            for (r, row) in part.chunks_exact(count.max(1)).enumerate() {
                j[r * m + first..r * m + first + count].copy_from_slice(row);
            }
            first += count;
        }
        let nodes: Vec<u32> = dofs.iter().copied().filter(|&dof| dof as usize >= n_first).step_by(3).collect();
        let joined = |a: u32, b: u32| motion.pattern().position(a as usize, b as usize).is_some();
        if nodes.iter().any(|&a| nodes.iter().any(|&b| !joined(a, b))) {
            return None;
        }
        let trace = |weights: &[f64]| -> f64 {
            (0..rows * m).map(|k| j[k / m * m + k % m].powi(2) / weights[dofs[k % m] as usize]).sum()
        };
        let of = |trace: f64| if trace > 0.0 { rows as f64 / trace } else { 0.0 };
        let (rho, mass) = (of(trace(diagonal)), of(trace(motion.inertia())));
        let rho = if rho > 0.0 { rho } else { 1.0 };
        out.push(Touch { law: constraint.law, e: constraint.e, row: constraint.row, rho, mass, dofs, j });
    }
    Some(out)
}

fn map(touch: &Touch, lambda: Rows<f64>, sigma: Rows<f64>) -> (Rows<f64>, Block<f64>) {
    let (t, p) = impulse(Map::Strict, touch.law, Cap::Never, [touch.rho; 3], lambda, sigma, touch.e);
    (std::array::from_fn(|r| t[r] - lambda[r]), p)
}

/// Sum of squares of what is left, in the metric of the step, J.
fn merit(touches: &[Touch], at: &Point, diagonal: &[f64]) -> f64 {
    let momentum: f64 = at.left(touches).iter().zip(diagonal).map(|(x, d)| x * x / d).sum();
    let laws = touches.iter().enumerate().map(|(index, touch)| {
        let left = map(touch, at.own(index), touch.relative(&at.v)).0;
        left.iter().map(|x| x * x).sum::<f64>() / touch.rho
    });
    momentum + laws.sum::<f64>()
}

/// A whole step: change of the velocity and of the impulses.
fn step(
    touches: &[Touch],
    at: &Point,
    n_first: usize,
    matrix: &mut SparseMatrix,
    (factor, work): (&mut Factor, &mut FactorWork),
    proximal: f64,
) -> Option<(Vec<f64>, Vec<Rows<f64>>)> {
    let mut right = at.left(touches);
    right.iter_mut().for_each(|x| *x = -*x);
    let mut parts = Vec::with_capacity(touches.len());
    // Of each contact that slides: its number, and how its tangential impulse follows the normal one.
    let mut sliding = Vec::new();
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
        let mut symmetric = w;
        let across = [w[0][2], w[1][2], 0.0];
        if across != [0.0; 3] {
            (symmetric[0][2], symmetric[1][2]) = (0.0, 0.0);
            sliding.push((index, across));
        }
        if symmetric != [[0.0; 3]; 3] {
            touch.add_to(&symmetric, n_first, matrix);
        }
        parts.push((w, pushed));
    }
    if sliding.len() > SLIDING {
        return None;
    }
    factor.refactor(matrix, work).ok()?;
    let mut dv = right;
    factor.solve(&mut dv);
    if !sliding.is_empty() {
        let n = dv.len();
        let mut columns = Vec::with_capacity(sliding.len());
        for (index, across) in &sliding {
            let mut column = vec![0.0; n];
            touches[*index].add_transposed(across, &mut column);
            factor.solve(&mut column);
            columns.push(column);
        }
        let normal = |index: usize, v: &[f64]| touches[index].relative(v)[2];
        let k = sliding.len();
        let small = DMatrix::from_fn(k, k, |i, j| f64::from(i == j) + normal(sliding[i].0, &columns[j]));
        let x = small.lu().solve(&DVector::from_fn(k, |i, _| normal(sliding[i].0, &dv)))?;
        for (column, x) in columns.iter().zip(x.iter()) {
            dv.iter_mut().zip(column).for_each(|(v, c)| *v -= x * c);
        }
    }
    let change = touches.iter().zip(&parts).map(|(touch, (w, pushed))| {
        let back = times(w, &touch.relative(&dv));
        std::array::from_fn(|r| pushed[r] - back[r])
    });
    let change: Vec<Rows<f64>> = change.collect();
    dv.iter().chain(change.iter().flatten()).all(|x| x.is_finite()).then_some((dv, change))
}
