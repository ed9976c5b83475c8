//! The rows of an island's constraints: J, and how their biased velocities change while v+ is held.

use crate::bias::Kink;
use crate::constraint::{Constraint, Law};
use crate::form::Form;
use crate::grid::Grid;
use crate::member::Member;

/// An entry of a matrix: row, column, value.
pub(crate) type Entry = (usize, usize, f64);

/// The rows of an island, `sigma^ = J v+ + e`, and what moves them while v+ is held.
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) constraints: Vec<Constraint>,
    /// Of constraints between bodies: first row, and what they are made of.
    pub(crate) forms: Vec<(usize, Form)>,
    /// Of rows of trees: entries of J, `[rows, n_v]`.
    pub(crate) j: Vec<Entry>,
    /// Of rows of trees: change of `sigma^` by q, `[rows, n_v]`.
    pub(crate) by_q: Vec<Entry>,
    /// What compliance adds to that.
    pub(crate) compliance: Vec<Entry>,
    /// Of rows of trees that are drives: the same by the controls, `[rows, n_u]`.
    pub(crate) by_ctrl: Vec<Entry>,
    /// Of rows of trees: what the motion of `J^T lambda` adds to dF by q, `[n_v, n_v]`.
    pub(crate) push: Vec<Entry>,
}

impl Rows {
    /// How many.
    pub(crate) fn height(&self) -> usize {
        self.constraints.last().map_or(0, |last| last.first + last.law.rows())
    }

    /// Entries of J of a row of a tree.
    pub(crate) fn entries_of(&self, row: usize) -> &[Entry] {
        let from = self.j.partition_point(|entry| entry.0 < row);
        let count = self.j[from..].iter().take_while(|entry| entry.0 == row).count();
        &self.j[from..from + count]
    }

    /// J, `[rows, n_v]`.
    pub(crate) fn jacobian(&self, members: &[Member], n_v: usize) -> Grid {
        let mut j = Grid::zeros(self.height(), n_v);
        self.forms.iter().for_each(|(first, form)| form.add_rows(members, |dof| dof, *first, &mut j));
        self.j.iter().for_each(|&(row, dof, x)| j[(row, dof)] += x);
        j
    }

    /// Says how far the bias of the last constraint is from a kink.
    pub(crate) fn kink(&mut self, kink: Kink) {
        if let Some(last) = self.constraints.last_mut() {
            last.kink = kink;
        }
    }

    /// Says which row of which tree the last constraint is, and its compliance, 1/kg.
    pub(crate) fn is_row(&mut self, tree: usize, index: usize, compliance: f64) {
        if let Some(last) = self.constraints.last_mut() {
            last.row = Some((tree, index));
            last.r[0] = compliance;
        }
    }

    /// Says with which speed along the normal the last constraint is one that bounces.
    pub(crate) fn bounces(&mut self, approach: f64) {
        if let Some(last) = self.constraints.last_mut() {
            last.approach = approach;
        }
    }

    /// Adds a constraint behind the last; gives its first row.
    pub(crate) fn push(&mut self, law: Law, impulse: [f64; 3], bias: [f64; 3], kink: Kink) -> usize {
        let first = self.height();
        self.constraints.push(Constraint {
            first,
            law,
            impulse,
            bias,
            r: [0.0; 3],
            r_slope: [0.0; 3],
            kink,
            row: None,
            approach: 0.0,
        });
        first
    }

    /// Adds one between bodies.
    pub(crate) fn push_form(&mut self, law: Law, impulse: [f64; 3], bias: [f64; 3], kink: Kink, form: Form) {
        let first = self.push(law, impulse, bias, kink);
        self.forms.push((first, form));
    }
}

/// Change of the biased velocities of an island while v+ is held; that by the controls is in [`Rows::by_ctrl`].
pub(crate) struct Slopes {
    /// By q, `[rows, n_v]`.
    pub(crate) by_q: Grid,
    /// By the velocity before (restitution), `[rows, n_v]`; none if nothing bounces.
    pub(crate) by_v: Option<Grid>,
}

impl Slopes {
    pub(crate) fn new(rows: &Rows, members: &[Member], n_v: usize) -> Self {
        let height = rows.height();
        let bounces = rows.forms.iter().any(|(_, form)| form.bounces);
        let (mut by_q, mut by_v) = (Grid::zeros(height, n_v), Grid::zeros(if bounces { height } else { 0 }, n_v));
        for (first, form) in &rows.forms {
            form.add_slopes(members, |dof| dof, *first, &mut by_q, &mut by_v);
        }
        rows.by_q.iter().chain(&rows.compliance).for_each(|&(row, dof, x)| by_q[(row, dof)] += x);
        Self { by_q, by_v: bounces.then_some(by_v) }
    }
}

/// `J A^-1`.
pub(crate) fn responses(members: &[Member], j: &Grid) -> Grid {
    let mut x = j.transposed();
    members.iter().for_each(|member| member.forward.solve_rows(member.at[0], &mut x));
    x.transposed()
}
