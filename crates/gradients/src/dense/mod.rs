//! An island whose linear system is factored as a dense matrix.

mod dynamics;
mod impact;
mod inverse;
mod jacobian;
mod lu;
mod products;

use std::cell::OnceCell;

pub use lu::SMALLEST_PIVOT;

use crate::certificate::largest_contradiction;
use crate::equations::{After, Equations, Rectangle};
use crate::grid::{Grid, dot};
use crate::input::StepInput;
use crate::island::Island;
use crate::pool::Pooled;
use crate::residuals::Residuals;
use crate::rows::responses;
use dynamics::Dynamics;
use impact::Impact;
use inverse::{Inverse, left_over};
use lu::Lu;

/// An island with its matrices.
pub(crate) struct Dense<'a> {
    pub(crate) equations: Equations<'a>,
    /// J, `[rows, n_v]`.
    j: Grid,
    /// `J A^-1`, by row.
    responses: Grid,
    /// `A^-1 J^T R`, `[n_v, m]`.
    push: Grid,
    /// `L J`, `[m, n_v]`.
    pull: Grid,
    /// B, until it is certified.
    system: Pooled,
    /// `B^-1`
    inverse: Inverse,
    /// How many of the unknowns are independent.
    pub(crate) rank: usize,
    /// Most by which the others may contradict them.
    contradiction: f64,
    /// [`Dense::dynamics`], once it was asked for.
    dynamics: OnceCell<Dynamics>,
    /// What an impact within the step adds, where that is asked for.
    impact: Option<Impact>,
}

/// J and `J A^-1`.
struct Matrices {
    j: Grid,
    responses: Grid,
}

impl Rectangle for Matrices {
    fn times(&self, v: &[f64]) -> Vec<f64> {
        (0..self.j.height()).map(|r| dot(self.j.row(r), v)).collect()
    }

    fn own_trace(&self, _: usize, first: usize, count: usize) -> f64 {
        (first..first + count).map(|r| dot(self.j.row(r), self.responses.row(r))).sum::<f64>()
    }
}

impl<'a> Dense<'a> {
    /// Before it is certified. `whole`: all of its derivative is wanted, not products alone.
    pub(crate) fn new(input: &StepInput<'a>, island: Island, whole: bool) -> Self {
        let (equations, Matrices { j, responses }) =
            Equations::new(input, island, After::ByParts, |members, _, _, rows| {
                let j = rows.jacobian(members, members.last().map_or(0, |last| last.dofs().end));
                Matrices { responses: responses(members, &j), j }
            });
        let (n_v, m) = (equations.n_v, equations.unknowns.len());
        let (mut push, mut pull) = (Grid::zeros(n_v, m), Grid::zeros(m, n_v));
        let mut column = Pooled::zeros(n_v);
        for (i, unknown) in equations.unknowns.iter().enumerate() {
            column.fill(0.0);
            unknown.add_direction(&responses, &mut column);
            column.iter().enumerate().for_each(|(dof, x)| push[(dof, i)] = *x);
            unknown.add_equation(1.0, &j, pull.row_mut(i));
        }
        let mut product = Grid::zeros(m, m);
        product.add_product(1.0, &pull, &push);
        let mut system = Pooled::zeros(m * m);
        for (i, row) in system.chunks_exact_mut(m.max(1)).enumerate() {
            row.copy_from_slice(product.row(i));
            row[i] += equations.unknowns[i].diagonal;
        }
        let lu = Lu::new(&system, m);
        let out = Self {
            equations,
            j,
            responses,
            push,
            pull,
            rank: lu.rank(),
            contradiction: largest_contradiction(input.single),
            system,
            inverse: Inverse::Factored(lu),
            dynamics: OnceCell::new(),
            impact: None,
        };
        if whole {
            out.dynamics();
        }
        out
    }

    /// How well the linear system is solved. Where constraints are redundant: whether it has a solution for whatever goes
    /// in, and whether all of them do the same; otherwise the pseudo-inverse takes over.
    fn certified(&mut self) -> Residuals {
        let (m, system) = (self.equations.unknowns.len(), std::mem::take(&mut self.system));
        let mut left = Residuals::default();
        let Inverse::Factored(lu) = &self.inverse else { return left };
        if self.rank == m {
            left.solution = left_over(&system, lu, m);
            return left;
        }
        // What combinations of equations that say nothing of impulses say of all that goes in, beside the most that any equation says: no
        // motion gives that, and the derivative of what is nearest is off by as much.
        let null = lu.left_null();
        let mut sums = Grid::zeros(null.len(), m);
        null.iter().enumerate().for_each(|(k, z)| sums.row_mut(k).copy_from_slice(z));
        // Rows of zeros, as across the plane of what moves in one, say nothing of dF: of these alone less is asked.
        let mut moved = Grid::zeros(null.len(), self.equations.n_v);
        moved.add_product(1.0, &sums, &self.pull);
        let asked = if moved.is_zero() { self.asked_of_rows(&self.slopes()) } else { self.asked() };
        for (part, asked) in asked.iter().enumerate() {
            let mut said = Grid::zeros(null.len(), asked.width());
            said.add_product(1.0, &sums, asked);
            let (all, most) = (asked.largest(), if part == 0 { &mut left.by_q } else { &mut left.solution });
            for (k, z) in null.iter().enumerate().filter(|_| all > 0.0) {
                *most = most.max(largest(said.row(k)) / (dot(z, z).sqrt() * all));
            }
        }
        let most = self.push.largest();
        for x in lu.null() {
            let moved: Vec<f64> = (0..self.equations.n_v).map(|i| dot(self.push.row(i), &x)).collect();
            let all = (most * largest(&x)).max(f64::MIN_POSITIVE);
            left.motion = left.motion.max(largest(&moved) / all);
        }
        if left.largest() > self.contradiction {
            self.inverse.make_pseudo(&system);
        }
        left
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |l: f64, x| l.max(x.abs()))
}
