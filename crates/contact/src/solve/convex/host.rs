//! The strongly convex problem in velocities that CANAL solves again and again and SAP once.
//!
//! `min 1/2 v^T A v - b^T v + sum_i |lambda_i(v)|^2 / 2` in the metric `diag(1 / beta_i)`, where `lambda_i(v)` is the closed
//! form of the law for `lambda* = before_i - beta_i (J_i v + bias_i)`, a contact's the projection on its cone in that
//! metric. Gradient `A v - b - J^T lambda`; Newton: `(A + J^T P beta J) d = -gradient`, P the closed form's derivative, by a
//! block-sparse factorization over subsystems; then the exact zero of the derivative along d.

use manyworlds_shaders::Scalar;

use super::super::cholesky::Cholesky;
use super::super::law::{Cap, Map, impulse};
use super::super::rows::{Block, Rows};
use super::super::search::root;
use super::super::sparse::BlockMatrix;
use super::super::system::System;
use super::ROUNDOFF;
use crate::problem::Law;

/// What a constraint adds to the objective.
#[derive(Debug, Clone, Copy)]
pub(in crate::solve) struct Term<T> {
    /// The law whose closed form it is.
    pub(in crate::solve) law: Law,
    /// How far its bias is pursued.
    pub(in crate::solve) cap: Cap<T>,
    /// Weight of each row, kg; the tangential ones alike.
    pub(in crate::solve) beta: Rows<T>,
    /// Impulse where `J v = -bias`, N s.
    pub(in crate::solve) before: Rows<T>,
    /// m/s
    pub(in crate::solve) bias: Rows<T>,
}

/// See the module.
pub(in crate::solve) struct Convex<T> {
    pub(in crate::solve) system: System<T>,
    /// Of the system's pattern from the first Newton step on.
    matrix: Cholesky<T>,
    is_shaped: bool,
    /// By constraint of the system.
    pub(in crate::solve) terms: Vec<Term<T>>,
    /// Velocity, `[n_v]`.
    pub(in crate::solve) v: Vec<T>,
    /// `J v`, m/s.
    pub(in crate::solve) sigma: Vec<Rows<T>>,
    /// Impulses at `v`.
    pub(in crate::solve) lambda: Vec<Rows<T>>,
    /// Their derivatives with respect to `lambda*`.
    slopes: Vec<Block<T>>,
    /// Memory of a Newton step: `P beta`, its direction, and `J` times that.
    weights: Vec<Block<T>>,
    direction: Vec<T>,
    along: Vec<Rows<T>>,
    /// Closed form of contacts: convex is the problem with that of the cone alone.
    pub(in crate::solve) map: Map,
    /// `A v - b - J^T lambda`, kg m/s.
    pub(in crate::solve) gradient: Vec<T>,
    /// `A v` and `J^T lambda`, kg m/s.
    momentum: Vec<T>,
    pushed: Vec<T>,
    /// Squared share of momentum that is round-off.
    floor: T,
}

impl<T: Scalar> Default for Convex<T> {
    /// Of no constraints and nothing that they could act on.
    fn default() -> Self {
        let epsilon = if T::NAME == "f64" { f64::EPSILON } else { f64::from(f32::EPSILON) };
        Self {
            system: System::default(),
            matrix: Cholesky::default(),
            is_shaped: false,
            terms: Vec::new(),
            v: Vec::new(),
            sigma: Vec::new(),
            lambda: Vec::new(),
            slopes: Vec::new(),
            weights: Vec::new(),
            direction: Vec::new(),
            along: Vec::new(),
            map: Map::Proximal,
            gradient: Vec::new(),
            momentum: Vec::new(),
            pushed: Vec::new(),
            floor: T::lit((ROUNDOFF * epsilon).powi(2)),
        }
    }
}

impl<T: Scalar> Convex<T> {
    /// Starts from a velocity of the island.
    pub(in crate::solve) fn new(system: System<T>, terms: Vec<Term<T>>, v: Vec<T>) -> Self {
        let mut own = Self { system, terms, v, ..Self::default() };
        own.restart();
        own.system.relative_into(&own.v, &mut own.sigma);
        own.evaluate();
        own
    }

    /// Makes room for another system and other terms.
    pub(in crate::solve) fn restart(&mut self) {
        self.is_shaped = false;
        let n = self.system.free_momentum().len();
        for list in [&mut self.gradient, &mut self.momentum, &mut self.pushed] {
            list.resize(n, T::lit(0.0));
        }
    }

    /// Goes to a velocity of the problem.
    pub(in crate::solve) fn start_from(&mut self, v: &[f64]) {
        self.system.read_velocity(v, &mut self.v);
        self.system.relative_into(&self.v, &mut self.sigma);
        self.evaluate();
    }

    /// Impulses, slopes and gradient at `v`: after a change of the terms.
    pub(in crate::solve) fn evaluate(&mut self) {
        let map = self.map;
        self.lambda.clear();
        self.slopes.clear();
        for (t, &sigma) in self.terms.iter().zip(&self.sigma) {
            let (lambda, slope) = impulse(map, t.law, t.cap, t.beta, t.before, sigma, t.bias);
            self.lambda.push(lambda);
            self.slopes.push(slope);
        }
        self.system.momentum(&self.v, &mut self.momentum);
        self.pushed.fill(T::lit(0.0));
        self.system.add_impulse(&self.lambda, &mut self.pushed);
        let sums = self.momentum.iter().zip(self.system.free_momentum()).zip(&self.pushed);
        self.gradient.iter_mut().zip(sums).for_each(|(g, ((&p, &b), &j))| *g = p - (b + j));
    }

    /// One Newton step: how fast the objective fell along it at first, J, about twice what it was above its least. None
    /// where the matrix is singular in this arithmetic.
    pub(in crate::solve) fn step(&mut self) -> Option<T> {
        if !self.is_shaped {
            self.system.shape(&mut self.matrix);
            self.is_shaped = true;
        }
        let mut weights = std::mem::take(&mut self.weights);
        weights.clear();
        weights.extend(self.weights());
        self.system.assemble_symmetric(&weights, &mut self.matrix);
        let mut d = std::mem::take(&mut self.direction);
        if self.matrix.factor() {
            d.clear();
            d.extend(self.gradient.iter().map(|&g| -g));
            self.matrix.solve(&mut d);
        } else {
            // Of weights as large as this arithmetic has them, pivots may be lost that are there by blocks.
            d = self.direction(&weights, &mut self.system.matrix())?;
        }
        let decrement = self.search(&d);
        self.evaluate();
        (self.weights, self.direction) = (weights, d);
        Some(decrement)
    }

    /// The Newton step at `v`, in a matrix of the system's pattern; None where it is singular in this arithmetic.
    pub(in crate::solve) fn newton(&self, matrix: &mut BlockMatrix<T>) -> Option<Vec<T>> {
        self.direction(&self.weights().collect::<Vec<_>>(), matrix)
    }

    /// `P beta` by constraint.
    fn weights(&self) -> impl Iterator<Item = Block<T>> + '_ {
        let weighted =
            |(slope, term): (&Block<T>, &Term<T>)| slope.map(|row| std::array::from_fn(|c| row[c] * term.beta[c]));
        self.slopes.iter().zip(&self.terms).map(weighted)
    }

    /// `-(A + J^T W J)^-1 gradient`.
    fn direction(&self, w: &[Block<T>], matrix: &mut BlockMatrix<T>) -> Option<Vec<T>> {
        self.system.assemble(w, matrix);
        if !matrix.factor() {
            return None;
        }
        let mut d: Vec<T> = self.gradient.iter().map(|&g| -g).collect();
        matrix.solve(&mut d);
        Some(d)
    }

    /// Moves `v` to the zero of the derivative along `d`.
    fn search(&mut self, d: &[T]) -> T {
        let zero = T::lit(0.0);
        let mut along = std::mem::take(&mut self.along);
        self.system.relative_into(d, &mut along);
        let inner = |a: &[T], b: &[T]| a.iter().zip(b).fold(zero, |sum, (&a, &b)| sum + a * b);
        let start = inner(&self.gradient, d);
        // Evaluation makes it anew.
        self.system.momentum(d, &mut self.momentum);
        let curvature = inner(&self.momentum, d);
        // At the floor of round-off the direction need not descend.
        if !(start < zero && start.is_finite()) {
            self.along = along;
            return zero;
        }
        let t = root(start, |t| {
            let (mut value, mut slope) = (start + t * curvature, curvature);
            for (i, term) in self.terms.iter().enumerate() {
                let a = along[i];
                let sigma = std::array::from_fn(|r| self.sigma[i][r] + t * a[r]);
                let (lambda, p) = impulse(Map::Proximal, term.law, term.cap, term.beta, term.before, sigma, term.bias);
                for r in 0..3 {
                    value -= (lambda[r] - self.lambda[i][r]) * a[r];
                    slope += a[r] * (0..3).fold(zero, |sum, c| sum + p[r][c] * term.beta[c] * a[c]);
                }
            }
            (value, slope)
        });
        self.v.iter_mut().zip(d).for_each(|(v, &d)| *v += t * d);
        self.system.relative_into(&self.v, &mut self.sigma);
        self.along = along;
        -start
    }

    /// What the gradient bounds the error by, J: its square in the norm of `diag(A)^-1`.
    pub(in crate::solve) fn error(&self) -> T {
        self.system.energy(&self.gradient)
    }

    /// The larger of the squares of `A v` and `J^T lambda` in the same norm, J.
    pub(in crate::solve) fn scale(&self) -> T {
        self.system.energy(&self.momentum).max(self.system.energy(&self.pushed))
    }

    /// What round-off leaves of the error at this scale, J: of an impulse, round-off in `J v` leaves beta times as much.
    pub(in crate::solve) fn roundoff(&self, scale: T) -> T {
        let relative = |(c, term): (&crate::solve::system::Constraint<T>, &Term<T>)| {
            let stiffest = term.beta[0].max(term.beta[1]).max(term.beta[2]);
            if T::lit(0.0) < c.mass { stiffest / c.mass } else { T::lit(1.0) }
        };
        let all = self.system.constraints.iter().zip(&self.terms).map(relative);
        self.floor * all.fold(T::lit(1.0), |most, x| most.max(x)) * scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{problem, random};

    /// `1/2 v^T A v - b^T v + sum |lambda_i(v)|^2 / (2 beta_i)`: cones, bilateral and unilateral rows.
    fn objective(state: &Convex<f64>) -> f64 {
        let mut p = vec![0.0; state.v.len()];
        state.system.momentum(&state.v, &mut p);
        let free = state.system.free_momentum();
        let smooth: f64 = p.iter().zip(free).zip(&state.v).map(|((p, f), v)| (0.5 * p - f) * v).sum();
        let square = |(t, l): (&Term<f64>, &Rows<f64>)| (0..3).map(|r| l[r] * l[r] / t.beta[r]).sum::<f64>();
        smooth + 0.5 * state.terms.iter().zip(&state.lambda).map(square).sum::<f64>()
    }

    #[test]
    fn the_gradient_is_the_objectives() {
        for seed in 0..10 {
            let mut input = random(seed, 4, 7, true);
            input.constraints.retain(|c| !matches!(c.law, Law::Soft { .. } | Law::Box { .. }));
            let p = problem(input);
            for island in &p.plan.islands {
                let system = System::<f64>::new(&p, island);
                let before = system.impulses_of(&p.warm_start);
                let term = |(c, &before): (&crate::solve::system::Constraint<f64>, &Rows<f64>)| Term {
                    law: c.law,
                    cap: c.cap,
                    beta: if c.law.rows() == 3 { [9.0, 9.0, 5.0] } else { [5.0; 3] },
                    before,
                    bias: c.e,
                };
                let terms = system.constraints.iter().zip(&before).map(term).collect();
                let v = system.velocity_of(&p.v_free);
                let mut state = Convex::new(system, terms, v);
                assert!(state.step().is_some());
                let exact = state.gradient.clone();
                for k in 0..exact.len() {
                    let mut at = |d: f64| {
                        state.v[k] += d;
                        state.system.relative_into(&state.v, &mut state.sigma);
                        state.evaluate();
                        let value = objective(&state);
                        state.v[k] -= d;
                        value
                    };
                    let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                    assert!((slope - exact[k]).abs() < 1e-6 * (1.0 + slope.abs()), "{seed} {k}: {slope} {}", exact[k]);
                }
            }
        }
    }
}
