//! Impulses of redundant contacts, shared out anew.
//!
//! Where more contacts hold a body than it takes, the step has one motion and many impulses that lead to it. A solver gives
//! one of them, and may leave some contacts without impulse though nothing sets them apart: the law of such a contact is at a
//! switch, the step is not. Its derivative is that of the equations of all contacts that stay closed as soon as some of the
//! impulses are inside all cones (strict complementarity). Those are looked for here, by reflections in turns at what makes
//! the same motion, `P x = w`, and at the cones less a margin (J. Douglas and H. Rachford 1956): where there are any inside, a few
//! dozen turns find them, while projections in turns creep along the cones (a table's sixteen corners take them thousands).

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

use crate::bias::closed_below;
use crate::contact::{ContactInput, add_contact};
use crate::grid::{Grid, dot};
use crate::island::Island;
use crate::member::Member;
use crate::model::ContactModel;
use crate::rows::{Rows, responses};

/// Margins that are tried, m/s.
const MARGINS: [f64; 4] = [1e-1, 1e-2, 1e-3, 1e-4];
/// Reflections in turns, of each.
const TURNS: usize = 200;
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
    island: &Island,
    contacts: &[ContactInput],
    single: bool,
) -> Vec<(usize, [f64; 3])> {
    let n_v = members.iter().map(|m| m.forward.n_v()).sum();
    if n_v > LARGEST {
        return Vec::new();
    }
    let zero = closed_below(single);
    let place = |tree: usize| island.member_of(tree);
    let mut rows = Rows::default();
    for &c in &island.contacts {
        add_contact(members, &[], place, (&contacts[c], ContactModel::Exact), &mut rows);
    }
    let after: Vec<f64> = members.iter().flat_map(|m| m.after.iter().copied()).collect();
    let j = rows.jacobian(members, n_v);
    let y = responses(members, &j);
    let (mut closed, mut starts, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for (constraint, &contact) in rows.constraints.iter().zip(&island.contacts) {
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
            // Impulse and slip are along each other: where one is small, and little but rounding, the other says in which direction.
            let drawn: [f64; 2] = std::array::from_fn(|k| delassus * impulse[k] - sigma[k]);
            let length = drawn[0].hypot(drawn[1]);
            let drag = if length > 0.0 { mu / length } else { 0.0 };
            let ray = [drag * drawn[0], drag * drawn[1], 1.0];
            closed.push(Closed { set: Set::Ray(ray), ..own });
            starts.push(impulse[2]);
            columns.extend((0..n_v).map(|dof| (0..3).map(|k| ray[k] * j[(first + k, dof)]).sum::<f64>()));
        }
    }
    let columns = Grid::from_rows(n_v, &columns);
    let Some(same) = Same::new(&columns, &starts) else { return Vec::new() };
    inside(&closed, &same, &starts)
        .map(|x| closed.iter().map(|own| (own.contact, own.impulse(&x))).collect())
        .unwrap_or_default()
}

/// Impulses with the same effect as some that are inside all cones, if there are any.
fn inside(closed: &[Closed], same: &Same, starts: &[f64]) -> Option<Vec<f64>> {
    for margin in MARGINS {
        let mut z = starts.to_vec();
        for _ in 0..TURNS {
            let mut x = z.clone();
            closed.iter().for_each(|own| own.project(margin, &mut x));
            let mut y: Vec<f64> = x.iter().zip(&z).map(|(x, z)| 2.0 * x - z).collect();
            same.project(&mut y);
            if closed.iter().all(|own| own.margin(&y) >= 0.5 * margin) {
                return Some(y);
            }
            z.iter_mut().zip(x.iter().zip(&y)).for_each(|(z, (x, y))| *z += y - x);
        }
    }
    None
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

#[cfg(test)]
mod tests {
    use super::{Closed, Same, Set, inside};
    use crate::grid::Grid;

    /// A table of one kilogram on the sixteen corners of four legs, 4 cm wide and at (0.27, 0.17) from its middle; columns by
    /// force and moments.
    fn table() -> (Vec<Closed>, Grid) {
        let (mut closed, mut columns) = (Vec::new(), Vec::new());
        for corner in 0..16 {
            let side = |bit: usize| if corner >> bit & 1 == 0 { 1.0 } else { -1.0 };
            let (x, y) = (0.27 * side(0) + 0.02 * side(2), 0.17 * side(1) + 0.02 * side(3));
            closed.push(Closed { contact: corner, first: 3 * corner, set: Set::Cone(0.7), mass: 0.2 });
            columns.extend([1.0, 0.0, 0.0, 0.0, 0.0, -y]);
            columns.extend([0.0, 1.0, 0.0, 0.0, 0.0, x]);
            columns.extend([0.0, 0.0, 1.0, y, -x, 0.0]);
        }
        (closed, Grid::from_rows(6, &columns))
    }

    #[test]
    fn a_table_that_a_solver_leaves_on_a_few_of_its_corners_stands_on_all() {
        let (closed, columns) = table();
        // Three corners carry it, a side push on one of them brings that to its cone.
        let mut starts = vec![0.0; 48];
        for (corner, impulse) in [(0, [0.021, 0.0, 0.03]), (5, [0.0, 0.0, 0.02]), (14, [0.0, 0.0, 0.031])] {
            starts[3 * corner..3 * corner + 3].copy_from_slice(&impulse);
        }
        let same = Same::new(&columns, &starts).unwrap();
        let x = inside(&closed, &same, &starts).unwrap();
        assert!(closed.iter().all(|own| own.margin(&x) >= 5e-5));
        let effect =
            |x: &[f64]| -> Vec<f64> { (0..6).map(|dof| (0..48).map(|i| columns[(i, dof)] * x[i]).sum()).collect() };
        for (found, wanted) in effect(&x).iter().zip(effect(&starts)) {
            assert!((found - wanted).abs() < 1e-12);
        }
    }

    #[test]
    fn what_tips_over_an_edge_has_no_impulses_at_the_other() {
        let (closed, columns) = table();
        // On the two outermost corners of one side alone.
        let mut starts = vec![0.0; 48];
        for corner in [0, 2] {
            starts[3 * corner + 2] = 0.03;
        }
        let same = Same::new(&columns, &starts).unwrap();
        assert!(inside(&closed, &same, &starts).is_none());
    }
}
