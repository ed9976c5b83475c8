//! Newton steps on the inner problem with the De Saxce shift of the velocity at hand instead of a frozen one.
//!
//! `A v = b + J^T lambda(v)`, a contact's impulse the projection of `before - beta (J v + e + mu |J_t v + e_t| n)`. With t the
//! direction of slip the derivative is `A + J^T P beta (1 + mu n t^T) J`: neither symmetric nor that of a function to be
//! minimized, so that steps are held against the norm of what is left, and may be refused. Where they are not, an outer
//! iteration leaves no error of the shift behind.

use manyworlds_shaders::Scalar;

use super::super::convex::{Convex, Term};
use super::super::law::Map;
use super::super::sparse::BlockMatrix;
use super::super::system::Block;

/// Shares of a step that are tried.
const SHARES: [f64; 5] = [1.0, 0.5, 0.25, 0.1, 0.03];
/// A step must take this part of its share off what is left.
const ENOUGH: f64 = 1e-3;

/// See the module.
pub(super) struct Live<T>(BlockMatrix<T>, pub(super) u32, pub(super) Vec<T>);

impl<T: Scalar> Live<T> {
    pub(super) fn new(convex: &Convex<T>) -> Self {
        Self(convex.system.matrix(false), 0, Vec::new())
    }

    /// Thaws the shifts: those of the velocity at hand.
    pub(super) fn begin(convex: &mut Convex<T>) {
        for (c, term) in convex.system.constraints.iter().zip(&mut convex.terms) {
            term.bias = c.e;
        }
        convex.map = Map::Strict;
        convex.evaluate();
    }

    /// One step; false where no share of it is better than nothing, and nothing changed.
    #[must_use]
    pub(super) fn step(&mut self, convex: &mut Convex<T>) -> bool {
        let Some(d) = self.direction(convex) else { return false };
        let along = convex.system.relative(&d);
        let mem: usize = std::env::var("MEM").map(|x| x.parse().unwrap()).unwrap_or(1);
        if self.2.is_empty() { self.2.push(convex.error()); }
        let bar = self.2.iter().rev().take(mem).fold(T::lit(0.0), |m, &x| m.max(x));
        let (v, sigma) = (convex.v.clone(), convex.sigma.clone());
        for share in SHARES {
            let s = T::lit(share);
            for (to, (v, d)) in convex.v.iter_mut().zip(v.iter().zip(&d)) {
                *to = *v + s * *d;
            }
            for (to, (sigma, a)) in convex.sigma.iter_mut().zip(sigma.iter().zip(&along)) {
                *to = std::array::from_fn(|r| sigma[r] + s * a[r]);
            }
            Self::begin(convex);
            if convex.error() < bar * T::lit(1.0 - ENOUGH * share) {
                self.2.push(convex.error());
                return true;
            }
        }
        let most: u32 = std::env::var("DOGS").map(|x| x.parse().unwrap()).unwrap_or(0);
        let s = T::lit(if self.1 < most { 1.0 } else { 0.0 });
        for (to, (v, d)) in convex.v.iter_mut().zip(v.iter().zip(&d)) {
            *to = *v + s * *d;
        }
        for (to, (sigma, a)) in convex.sigma.iter_mut().zip(sigma.iter().zip(&along)) {
            *to = std::array::from_fn(|r| sigma[r] + s * a[r]);
        }
        self.1 += 1;
        Self::begin(convex);
        self.1 <= most
    }

    /// The Newton step.
    fn direction(&mut self, convex: &Convex<T>) -> Option<Vec<T>> {
        let weight = |(slope, term): (&Block<T>, &Term<T>)| slope.map(|row| std::array::from_fn(|c| row[c] * term.beta[c]));
        let w: Vec<Block<T>> = convex.slopes.iter().zip(&convex.terms).map(weight).collect();
        convex.system.assemble(&w, &mut self.0);
        if !self.0.factor() {
            return None;
        }
        let mut d: Vec<T> = convex.gradient.iter().map(|&g| -g).collect();
        self.0.solve(&mut d);
        d.iter().all(|x| x.is_finite()).then_some(d)
    }
}
