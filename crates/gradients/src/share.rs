//! Impulses of redundant contacts, shared out anew.
//!
//! Where more contacts hold a body than it takes, the step has one motion and many impulses that lead to it. A solver gives
//! one of them, and may leave some contacts without impulse though nothing sets them apart: the law of such a contact is at a
//! switch, the step is not. Its derivative is that of the equations of all contacts that stay closed as soon as some of the
//! impulses are inside all cones (strict complementarity). Those are looked for here, by projections in turns on what makes
//! the same motion, `P x = w`, and on the cones less a margin.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use crate::constraint::{Rows, closed_below};
use crate::contact::{ContactInput, Member, add_contact};
use crate::grid::{Grid, dot};
use crate::island::{Parts, responses};
use crate::model::ContactModel;

/// Margins that are tried, m/s.
const MARGINS: [f64; 4] = [1e-1, 1e-2, 1e-3, 1e-4];
/// Projections in turns, of each.
const TURNS: usize = 100;
/// Degrees of freedom of an island in which this is done: matrices are dense.
const LARGEST: usize = 1000;
/// What is added to the diagonal of a singular matrix, relative to its largest entry; corrected by solving again.
const RIDGE: f64 = 1e-12;
/// Times that it is solved.
const SOLVES: usize = 3;

/// A contact that stays closed.
struct Closed {
    /// Its number in the world.
    contact: usize,
    /// First of its coordinates.
    first: usize,
    /// Its impulses: all of a cone, or along one direction, (t1, t2, n).
    set: Set,
    /// Impulse that changes its velocity by one, kg.
    mass: f64,
}

enum Set {
    /// Three coordinates; friction coefficient.
    Cone(f64),
    /// One.
    Ray([f64; 3]),
}

/// Impulses of the contacts of an island that stay closed, inside their cones as far as may be, by number in the world; none
/// where there are none, and in islands that are too large.
pub(crate) fn shared(
    members: &[Member],
    parts: &Parts,
    contacts: &[ContactInput],
    single: bool,
) -> Vec<(usize, [f64; 3])> {
    let n_v = members.iter().map(|m| m.forward.n_v()).sum();
    if n_v > LARGEST {
        return Vec::new();
    }
    let zero = closed_below(single);
    let place = |tree: usize| parts.trees.iter().position(|&t| t == tree).unwrap_or(0);
    let mut rows = Rows::default();
    for &c in &parts.contacts {
        add_contact(members, place, (&contacts[c], ContactModel::Exact), &mut rows);
    }
    let after: Vec<f64> = members.iter().flat_map(|m| m.after.iter().copied()).collect();
    let j = rows.jacobian(members, n_v);
    let y = responses(members, &j);
    let (mut closed, mut starts, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for (constraint, &contact) in rows.constraints.iter().zip(&parts.contacts) {
        let first = constraint.first;
        let sigma: [f64; 3] = std::array::from_fn(|k| dot(j.row(first + k), &after) + constraint.bias[k]);
        let delassus = (first..first + 3).map(|r| dot(j.row(r), y.row(r))).sum::<f64>() / 3.0;
        if sigma[2].abs() > zero || delassus <= 0.0 {
            continue;
        }
        let (mu, slip) = (contacts[contact].friction.max(0.0), sigma[0].hypot(sigma[1]));
        let own = Closed { contact, first: starts.len(), set: Set::Cone(mu), mass: delassus.recip() };
        let impulse = contacts[contact].impulse;
        if mu > 0.0 && slip <= zero {
            closed.push(own);
            starts.extend(impulse);
            (0..3).for_each(|k| columns.extend_from_slice(j.row(first + k)));
        } else {
            let drag = if mu > 0.0 { mu / slip } else { 0.0 };
            let ray = [-drag * sigma[0], -drag * sigma[1], 1.0];
            closed.push(Closed { set: Set::Ray(ray), ..own });
            starts.push(impulse[2]);
            columns.extend((0..n_v).map(|dof| (0..3).map(|k| ray[k] * j[(first + k, dof)]).sum::<f64>()));
        }
    }
    let columns = Grid::from_rows(n_v, &columns);
    let Some(same) = Same::new(&columns, &starts) else { return Vec::new() };
    for margin in MARGINS {
        let mut x = starts.clone();
        for _ in 0..TURNS {
            closed.iter().for_each(|own| own.project(margin, &mut x));
            same.project(&mut x);
            if closed.iter().all(|own| own.margin(&x) >= 0.5 * margin) {
                return closed.iter().map(|own| (own.contact, own.impulse(&x))).collect();
            }
        }
    }
    Vec::new()
}

impl Closed {
    /// On its cone, of which a margin is left out, m/s.
    fn project(&self, margin: f64, x: &mut [f64]) {
        let least = margin * self.mass;
        let x = &mut x[self.first..];
        match self.set {
            Set::Ray(_) => x[0] = x[0].max(least),
            Set::Cone(mu) => {
                // The cone from where it is so far inside.
                let apex = least * (mu.hypot(1.0) / mu).max(1.0);
                let (slip, n) = (x[0].hypot(x[1]), x[2] - apex);
                if slip <= mu * n {
                    return;
                }
                let along = ((mu * slip + n) / (mu * mu + 1.0)).max(0.0);
                let shrunk = if slip > 0.0 { mu * along / slip } else { 0.0 };
                (x[0], x[1], x[2]) = (shrunk * x[0], shrunk * x[1], apex + along);
            }
        }
    }

    /// How far inside, m/s.
    fn margin(&self, x: &[f64]) -> f64 {
        let x = &x[self.first..];
        let inside = match self.set {
            Set::Ray(_) => x[0],
            Set::Cone(mu) => ((mu * x[2] - x[0].hypot(x[1])) / mu.hypot(1.0)).min(x[2]),
        };
        inside / self.mass
    }

    fn impulse(&self, x: &[f64]) -> [f64; 3] {
        let x = &x[self.first..];
        match self.set {
            Set::Cone(_) => [x[0], x[1], x[2]],
            Set::Ray(ray) => ray.map(|part| part * x[0]),
        }
    }
}

/// Impulses that all make the same motion.
struct Same {
    columns: DMatrix<f64>,
    /// `P P^T`, and with something on its diagonal, factored.
    gram: DMatrix<f64>,
    factor: Cholesky<f64, Dyn>,
    /// w
    sum: DVector<f64>,
}

impl Same {
    /// Those of some impulses; `columns`: of P, each a row.
    fn new(columns: &Grid, x: &[f64]) -> Option<Self> {
        let columns = DMatrix::from_fn(columns.width(), columns.height(), |dof, i| columns[(i, dof)]);
        let gram = &columns * columns.transpose();
        let mut ridged = gram.clone();
        let ridge = RIDGE * gram.diagonal().amax();
        (0..gram.nrows()).for_each(|i| ridged[(i, i)] += ridge);
        let factor = Cholesky::new(ridged)?;
        let sum = &columns * DVector::from_column_slice(x);
        Some(Self { columns, gram, factor, sum })
    }

    /// The nearest.
    fn project(&self, x: &mut [f64]) {
        let short = &self.sum - &self.columns * DVector::from_column_slice(x);
        let mut y = DVector::zeros(short.len());
        for _ in 0..SOLVES {
            y += self.factor.solve(&(&short - &self.gram * &y));
        }
        let change = self.columns.tr_mul(&y);
        x.iter_mut().zip(change.iter()).for_each(|(x, change)| *x += change);
    }
}
