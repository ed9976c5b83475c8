//! Newton's method on a whole step at once: forces that are not linear in the velocity, and exact contact.
//!
//! Find v and lambda with `r(v) = J^T lambda`, r the balance of momentum without contact, and
//! `lambda = T(lambda - rho (J v + e))`, T the strict map. With `A = dr/dv`, P the derivative of T and `E = 1 + eps - P`, a step is
//! `(A + J^T E^-1 rho P J) dv = J^T (lambda + E^-1 (T - lambda)) - r`, `d = E^-1 (T - lambda - rho P J dv)`: that of `polish`, about
//! a velocity that need not balance the impulses. From a state near the last one, one step is enough; its matrix is the only
//! one that is factored. Where a contact slides, `E^-1 rho P` is not symmetric: friction grows with the normal impulse. That part
//! is of rank one a contact and is put on top of the symmetric rest.

mod step;
mod touch;

use std::sync::Arc;

use manyworlds_shaders::contact::dense::RUNAWAY;
use manyworlds_sparse::{Factor, FactorWork, SparseMatrix, Symbolic};

use self::step::{Linear, step};
use self::touch::{Touch, touches};
use super::law::{Cap, Map, impulse};
use super::rows::{Block, Rows};
use crate::problem::ContactProblem;
use crate::residual::defect_of;

/// Steps at most.
const MOST: usize = 20;
/// Proximal weight of the first step, and what shrinks it.
const PROXIMAL: [f64; 2] = [1e-3, 0.1];
/// What it grows by where no share of a step comes closer, and where that ends.
const GROWTH: f64 = 100.0;
const MOST_PROXIMAL: f64 = 1.0;
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

/// The factor of the matrix of a step, `A + J^T w J` without what makes tangential impulses follow normal ones.
#[derive(Debug, Clone)]
pub struct StepFactor {
    /// In the order of the motion.
    pub factor: Factor,
    /// The proximal weight eps of that step: a constraint that holds has `w = rho / eps`, `rho = rows / trace(J diag(A)^-1 J^T)`.
    pub proximal: f64,
}

/// Memory that one step after the other is solved in: given back in between, a large matrix would be taken from the system and cleared
/// anew each time.
#[derive(Debug, Default)]
pub struct WholeWork {
    factoring: FactorWork,
    matrix: SparseMatrix,
    factor: Option<Factor>,
}

impl WholeWork {
    /// Takes back a factor that nobody asks for any more.
    pub fn give_back(&mut self, factor: StepFactor) {
        self.factor = Some(factor.factor);
    }
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
    /// That of the last step, where its matrix was factored.
    pub factor: Option<StepFactor>,
}

/// How much a step may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// No more than other ways to solve it.
    Quick,
    /// Matrices without a sparse factor are taken whole, if they are small.
    Thorough,
}

/// Solves a step from a velocity, in the motion's order, and impulses. `problem`: constraints alone are looked at; `stored`: what is
/// kept of a velocity, at which the laws are measured, too. `None`: the step asks for more than this.
#[must_use]
pub fn newton(
    problem: &ContactProblem,
    motion: &impl Motion,
    from: (Vec<f64>, Vec<f64>),
    effort: (f64, Effort),
    stored: impl Fn(f64) -> f64,
    work: &mut WholeWork,
) -> Option<Found> {
    let mut matrix = std::mem::take(&mut work.matrix).reused(motion.pattern());
    let found = within(problem, motion, from, effort, stored, (&mut matrix, work));
    work.matrix = matrix;
    found
}

/// The same in a matrix of the motion's pattern.
fn within(
    problem: &ContactProblem,
    motion: &impl Motion,
    (v, lambda): (Vec<f64>, Vec<f64>),
    (tolerance, effort): (f64, Effort),
    stored: impl Fn(f64) -> f64,
    (matrix, work): (&mut SparseMatrix, &mut WholeWork),
) -> Option<Found> {
    let n = motion.n();
    let mut r = vec![0.0; n];
    motion.slope(&v, &mut r, matrix);
    // Scales alone: a matrix need not be positive definite.
    let diagonal: Vec<f64> = (0..n).map(|i| matrix.get(i, i).map_or(1.0, f64::abs).max(f64::MIN_POSITIVE)).collect();
    let (touches, is_joined) = touches(problem, motion, &diagonal)?;
    if !is_joined && effort == Effort::Quick {
        return None;
    }
    let padded = touches.iter().flat_map(|touch| {
        let rows = touch.law.rows();
        let own = &lambda[touch.row..touch.row + rows];
        (0..3).map(move |k| own.get(k).copied().unwrap_or(0.0))
    });
    let mut at = Point { lambda: padded.collect(), v, r };
    let mut linear = Linear::of(motion, is_joined, work)?;
    let mut proximal = PROXIMAL[0];
    let mut merit = merit(&touches, &at, &diagonal);
    for iteration in 0..MOST {
        if iteration > 0 {
            motion.slope(&at.v, &mut at.r, matrix);
        }
        let mut found = step(&touches, &at, motion.n_first(), matrix, &mut linear, proximal);
        if found.is_none() && effort == Effort::Thorough && linear.take_whole(motion) {
            motion.slope(&at.v, &mut at.r, matrix);
            found = step(&touches, &at, motion.n_first(), matrix, &mut linear, proximal);
        }
        let (dv, d) = found?;
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
        let Some((next, of_next)) = taken else {
            if proximal >= MOST_PROXIMAL {
                return None;
            }
            proximal *= GROWTH;
            continue;
        };
        (at, merit) = (next, of_next);
        let last = proximal;
        proximal = (proximal * PROXIMAL[1]).max(linear.least_proximal());
        let found = at.measured(&touches, iteration as u32 + 1);
        if found.momentum <= tolerance && found.laws / problem.n_contacts.max(1) as f64 <= tolerance {
            if at.runs_away(&touches) {
                return None;
            }
            let rounded: Vec<f64> = at.v.iter().map(|&v| stored(v)).collect();
            let [laws, scaled] = at.laws(&touches, &rounded);
            let factor = linear.into_factor().map(|factor| StepFactor { factor, proximal: last });
            return Some(Found { laws: found.laws.max(laws), scaled: found.scaled.max(scaled), factor, ..found });
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

    /// Whether some impulse is one of those that grow without bound, as biases ask for what no motion gives: see [`RUNAWAY`].
    fn runs_away(&self, touches: &[Touch]) -> bool {
        let all = || touches.iter().enumerate().map(|(index, touch)| (touch, self.own(index)));
        let is_beyond =
            |(touch, own): (&Touch, Rows<f64>)| touch.mass > 0.0 && own.iter().any(|x| x.abs() > RUNAWAY * touch.mass);
        let does_work = |(touch, own): (&Touch, Rows<f64>)| {
            touch.law.requests().any(|r| own[r] * touch.law.request(touch.e[r]) > 0.0)
        };
        all().any(is_beyond) && all().any(does_work)
    }

    fn measured(&self, touches: &[Touch], iterations: u32) -> Found {
        let momentum = self.left(touches).iter().map(|x| x * x).sum::<f64>().sqrt();
        let own =
            touches.iter().enumerate().flat_map(|(index, touch)| self.own(index).into_iter().take(touch.law.rows()));
        let [laws, scaled] = self.laws(touches, &self.v);
        Found { v: self.v.clone(), lambda: own.collect(), iterations, laws, scaled, momentum, factor: None }
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
