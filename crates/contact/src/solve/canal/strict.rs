//! Newton steps on the inner problem by the strict map: the De Saxce shift follows the velocity instead of being frozen.
//!
//! With the slack `z` of the impulse at hand instead of that of the last outer iteration, the proximal problem of one
//! contact is Signorini-Coulomb itself with Delassus block `1 / beta`, whose closed form is the strict map (mathematics:
//! normal part first, then the disc it allows). So `A v = b + J^T T(before - beta (J v + e))`, derivative
//! `A + J^T P beta J`: not symmetric, and of no function to minimize, so that steps are held against the norm of what is
//! left, and where none helps the frozen problem has to do. Where they do, an outer iteration leaves no error of the
//! shift behind.

use manyworlds_shaders::Scalar;

use super::super::convex::Convex;
use super::super::law::Map;
use super::super::rows::Rows;
use super::super::sparse::BlockMatrix;

/// Shares of a step that are tried.
const SHARES: [f64; 5] = [1.0, 0.5, 0.25, 0.1, 0.03];
/// A step must take this part of its share off what is left.
const ENOUGH: f64 = 1e-3;
/// Steps of an inner problem after which it is given up.
const MOST: u32 = 20;

/// The steps of one inner problem.
pub(super) struct Strict<T> {
    /// Velocity and `J v` to go back to.
    begin: (Vec<T>, Vec<Rows<T>>),
    steps: u32,
}

impl<T: Scalar> Strict<T> {
    /// Goes over to the strict map.
    pub(super) fn new(convex: &mut Convex<T>) -> Self {
        for (c, term) in convex.system.constraints.iter().zip(&mut convex.terms) {
            term.bias = c.e;
        }
        convex.map = Map::Strict;
        convex.evaluate();
        Self { begin: (convex.v.clone(), convex.sigma.clone()), steps: 0 }
    }

    /// One step; `matrix` has the system's pattern, for values that are not symmetric. False where it is time to give up.
    #[must_use]
    pub(super) fn step(&mut self, convex: &mut Convex<T>, matrix: &mut BlockMatrix<T>) -> bool {
        self.steps += 1;
        let Some(d) = convex.newton(matrix).filter(|_| self.steps <= MOST) else { return false };
        let along = convex.system.relative(&d);
        let before = convex.error();
        let (v, sigma) = (convex.v.clone(), convex.sigma.clone());
        SHARES.into_iter().any(|share| {
            let s = T::lit(share);
            let ahead = v.iter().zip(&d).map(|(&v, &d)| v + s * d);
            convex.v.iter_mut().zip(ahead).for_each(|(to, v)| *to = v);
            let ahead = sigma.iter().zip(&along).map(|(x, a)| std::array::from_fn(|r| x[r] + s * a[r]));
            convex.sigma.iter_mut().zip(ahead).for_each(|(to, x)| *to = x);
            convex.evaluate();
            convex.error() < before * T::lit(1.0 - ENOUGH * share)
        })
    }

    /// Back to where it began, and to the frozen problem's map; its shifts are the caller's to set.
    pub(super) fn give_up(self, convex: &mut Convex<T>) {
        (convex.v, convex.sigma) = self.begin;
        convex.map = Map::Proximal;
    }
}
