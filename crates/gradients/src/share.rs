//! Impulses of redundant contacts, shared out anew.
//!
//! Where more contacts hold a body than it takes, the step has one motion and many impulses that lead to it. A solver gives
//! one of them, and may leave some contacts without impulse though nothing sets them apart: the law of such a contact is at a
//! switch, the step is not. Its derivative is that of the equations of all contacts that stay closed as soon as some of the
//! impulses are inside all cones (strict complementarity). Those are looked for here, by reflections in turns at what makes
//! the same motion, `P x = w`, and at the cones less a margin (J. Douglas and H. Rachford 1956): where there are any inside, a few
//! dozen turns find them, while projections in turns creep along the cones (a table's sixteen corners take them thousands).

use crate::bias::closed_below;
use crate::contact::{ContactInput, add_contact};
use crate::grid::{Grid, axpy, dot};
use crate::island::Island;
use crate::member::Member;
use crate::model::ContactModel;
use crate::rows::{Rows, responses};
use crate::span::span;

/// Margins that are tried, m/s, as long as one after the other is had.
const MARGINS: [f64; 4] = [1e-4, 1e-3, 1e-2, 1e-1];
/// Reflections in turns, until the first margin is had.
const TURNS: usize = 200;
/// The same for each larger one, which a few dozen turns find where there are any.
const MORE_TURNS: usize = 50;
/// Degrees of freedom of an island in which this is done: matrices are dense.
const LARGEST: usize = 1000;
/// What is left of a row beside those before it, relative to the largest, below which it is a combination of them.
const DEPENDENT: f64 = 5e-7;

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
    let same = Same::new(&Grid::from_rows(n_v, &columns), &starts);
    inside(&closed, &same)
        .map(|x| closed.iter().map(|own| (own.contact, own.impulse(&x))).collect())
        .unwrap_or_default()
}

/// Impulses with the same effect as some that are inside all cones, if there are any.
fn inside(closed: &[Closed], same: &Same) -> Option<Vec<f64>> {
    let mut found: Option<Vec<f64>> = None;
    for margin in MARGINS {
        let turns = if found.is_some() { MORE_TURNS } else { TURNS };
        let Some(x) = inside_by(margin, turns, closed, same, found.as_deref().unwrap_or(&same.starts)) else { break };
        found = Some(x);
    }
    found
}

/// Those that are inside by half a margin at least, from some.
fn inside_by(margin: f64, turns: usize, closed: &[Closed], same: &Same, from: &[f64]) -> Option<Vec<f64>> {
    let mut z = from.to_vec();
    let [mut x, mut y] = [(); 2].map(|()| vec![0.0; z.len()]);
    // Of one alone there is nothing to be found by turns.
    for _ in 0..if same.is_one() { 1 } else { turns } {
        x.copy_from_slice(&z);
        closed.iter().for_each(|own| own.project(margin, &mut x));
        y.iter_mut().zip(x.iter().zip(&z)).for_each(|(y, (x, z))| *y = 2.0 * x - z);
        same.project(&mut y);
        if closed.iter().all(|own| own.margin(&y) >= 0.5 * margin) {
            return Some(y);
        }
        z.iter_mut().zip(x.iter().zip(&y)).for_each(|(z, (x, y))| *z += y - x);
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

/// Impulses that all make the same motion as some.
struct Same {
    starts: Vec<f64>,
    /// Orthonormal directions, by row, that change the motion; all others do not.
    changing: Grid,
}

impl Same {
    /// `columns`: of P, each a row.
    fn new(columns: &Grid, starts: &[f64]) -> Self {
        Self { starts: starts.to_vec(), changing: span(columns.transposed(), DEPENDENT) }
    }

    /// Whether there is no other.
    fn is_one(&self) -> bool {
        self.changing.height() == self.starts.len()
    }

    /// The nearest.
    fn project(&self, x: &mut [f64]) {
        x.iter_mut().zip(&self.starts).for_each(|(x, start)| *x -= start);
        let shares: Vec<f64> = (0..self.changing.height()).map(|i| dot(self.changing.row(i), x)).collect();
        x.iter_mut().zip(&self.starts).for_each(|(x, start)| *x += start);
        shares.iter().enumerate().for_each(|(i, share)| axpy(-share, self.changing.row(i), x));
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
        let x = inside(&closed, &Same::new(&columns, &starts)).unwrap();
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
        assert!(inside(&closed, &Same::new(&columns, &starts)).is_none());
    }
}
