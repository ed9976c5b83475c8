//! The linear system of the impulses' derivatives (Le Lidec 2024, section III-B): constraints by their modes, with what is
//! free to change of each impulse as unknowns.
//!
//! With `s = sigma^ + r lambda`, r what each row gives way, zero for exact contact: breaking none; sticking, bilateral all
//! three, `ds = 0`; a row inside its bounds `ds = 0`. Sliding with slip direction u: along `(-mu u, 1)` and along
//! `w = e_z x u`; `d sigma^_n = 0` and `w . d sigma^ + alpha w . d lambda = 0`, `alpha = |sigma^_t| / (mu lambda_n)`, over
//! `1 + alpha / W` with W the size of the contact's Delassus block; frictionless along e_z alone. Sliding in a pyramid: along e_z with what it drags along at the tangents' bounds,
//! `d sigma^_n = 0`, and along each tangent inside its bounds (Werling 2021, section 4: clamping rows are unknowns, those
//! at their upper bound follow them). Sliding of convex contact: along `d = (-mu u, 1)` with `d . ds = 0` (the normal of
//! the cone in the metric r), and along w as above. With R the directions, L the equations and D the diagonal,
//! `d lambda = -R (L G R + D)^-1 L rhs`.

use crate::constraint::{Constraint, Law};
use crate::grid::{Grid, axpy};
use crate::mode::{Local, Mode};
use crate::model::ContactModel;

/// Sine of the angle between an equation and a direction below which they are along each other.
const PARALLEL: f64 = 1e-12;

/// One unknown and its equation, over at most three rows.
#[derive(Debug, Clone)]
pub(crate) struct Unknown {
    /// First of the rows.
    first: usize,
    /// How many.
    count: usize,
    /// Column of R.
    direction: [f64; 3],
    /// Row of L.
    equation: [f64; 3],
    /// Entry of D.
    pub(crate) diagonal: f64,
}

impl Unknown {
    /// First of its rows.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// Its entries of L over its rows; of R.
    pub(crate) fn parts(&self) -> [&[f64]; 2] {
        [&self.equation[..self.count], &self.direction[..self.count]]
    }

    /// Whether its equation is along its direction.
    pub(crate) fn is_symmetric(&self) -> bool {
        let [[l0, l1, l2], [r0, r1, r2]] = [self.equation, self.direction];
        let across = [l1 * r2 - l2 * r1, l2 * r0 - l0 * r2, l0 * r1 - l1 * r0];
        let square = |x: [f64; 3]| x.iter().map(|x| x * x).sum::<f64>();
        square(across) <= PARALLEL * PARALLEL * square(self.equation) * square(self.direction)
    }

    /// Its row of L, times `a`, added by row.
    pub(crate) fn add_parts(&self, a: f64, to: &mut [f64]) {
        (0..self.count).for_each(|k| to[self.first + k] += a * self.equation[k]);
    }

    /// Its row of `L M`, added to `to` `a` times.
    pub(crate) fn add_equation(&self, a: f64, m: &Grid, to: &mut [f64]) {
        (0..self.count).for_each(|k| axpy(a * self.equation[k], m.row(self.first + k), to));
    }

    /// Its row of `R^T M`, added to `to`.
    pub(crate) fn add_direction(&self, m: &Grid, to: &mut [f64]) {
        (0..self.count).for_each(|k| axpy(self.direction[k], m.row(self.first + k), to));
    }
}

/// Unknowns of an island; `sigma`: biased velocities of all rows.
pub(crate) fn unknowns(constraints: &[Constraint], locals: &[Local], sigma: &[f64]) -> Vec<Unknown> {
    let mut out = Vec::with_capacity(sigma.len());
    let unit = |k: usize| std::array::from_fn(|i| if i == k { 1.0 } else { 0.0 });
    for (constraint, local) in constraints.iter().zip(locals) {
        let (first, count, r) = (constraint.first, constraint.law.rows(), constraint.r);
        let mut push = |direction, equation, diagonal| {
            out.push(Unknown { first, count, direction, equation, diagonal });
        };
        match (constraint.law, local.mode) {
            (_, Mode::Breaking | Mode::AtBound) => {}
            (Law::Contact { mu, model }, Mode::Sliding) => {
                let [x, y] = local.drag;
                let direction = [mu * x, mu * y, 1.0];
                match model {
                    ContactModel::Convex { .. } => push(direction, direction, r[2] + mu * mu * r[0]),
                    ContactModel::Exact | ContactModel::Pyramid => push(direction, unit(2), 0.0),
                }
                if mu == 0.0 {
                    continue;
                }
                if model == ContactModel::Pyramid {
                    (0..2).filter(|&k| local.drag[k] == 0.0).for_each(|k| push(unit(k), unit(k), 0.0));
                } else {
                    let (across, slip) = ([-y, x, 0.0], sigma[first].hypot(sigma[first + 1]));
                    let alpha = slip / (mu * constraint.impulse[2]);
                    // Small impulses must not make the other equations look like rounding.
                    let whole = local.delassus + alpha;
                    let scale = if local.delassus > 0.0 { local.delassus / whole } else { 1.0 };
                    push(across, across.map(|x| scale * x), scale * alpha);
                }
            }
            _ => (0..count).for_each(|k| push(unit(k), unit(k), r[k])),
        }
    }
    out
}
