//! A constraint's rows over the dofs that it touches.

use nalgebra::Matrix3;

use crate::form::Form;
use crate::grid::Grid;
use crate::joined::Joined;
use crate::member::Member;
use crate::rows::Rows;
use crate::sparse::Deformable;

/// A constraint's rows; columns are its dofs.
pub(super) struct Link {
    /// Of the island.
    pub(super) dofs: Vec<usize>,
    /// `[rows, dofs]`
    pub(super) j: Grid,
}

/// What moves a constraint between bodies; columns are its dofs.
pub(super) struct Slopes {
    /// Change of `sigma^` while v+ is held: by q, by the velocity before, `[rows, dofs]`.
    pub(super) by_q: Grid,
    pub(super) by_v: Grid,
    /// What the motion of `J^T lambda` adds to dF by q, `[dofs, dofs]`; none if nothing.
    pub(super) push: Option<Grid>,
}

/// Those of all constraints of an island.
pub(super) fn links(members: &[Member], rows: &Rows) -> Vec<Link> {
    let mut forms = rows.forms.iter().peekable();
    let own = |first: usize| match forms.next_if(|(row, _)| *row == first) {
        Some((_, form)) => Link::of_bodies(members, form),
        None => Link::of_row(rows, first),
    };
    rows.constraints.iter().map(|constraint| constraint.first).map(own).collect()
}

impl Slopes {
    /// `link`: that of the constraint.
    pub(super) fn new(members: &[Member], form: &Form, link: &Link) -> Self {
        let n = link.dofs.len();
        let at = |dof: usize| link.dofs.binary_search(&dof).unwrap_or_default();
        let (mut by_q, mut by_v, mut push) = (Grid::zeros(3, n), Grid::zeros(3, n), Grid::zeros(n, n));
        form.add_slopes(members, at, 0, &mut by_q, &mut by_v);
        form.add_push(members, at, &mut push);
        Self { by_q, by_v, push: (!push.is_zero()).then_some(push) }
    }
}

impl Link {
    fn of_bodies(members: &[Member], form: &Form) -> Self {
        let dofs = form.dofs(members);
        let at = |dof: usize| dofs.binary_search(&dof).unwrap_or_default();
        let mut j = Grid::zeros(3, dofs.len());
        form.add_rows(members, at, 0, &mut j);
        Self { j, dofs }
    }

    /// Of a row of a tree.
    fn of_row(rows: &Rows, row: usize) -> Self {
        let entries = rows.entries_of(row);
        let coefficients: Vec<f64> = entries.iter().map(|entry| entry.2).collect();
        Self { dofs: entries.iter().map(|entry| entry.1).collect(), j: Grid::from_rows(entries.len(), &coefficients) }
    }

    /// How many rows.
    pub(super) fn height(&self) -> usize {
        self.j.height()
    }

    /// Row of a matrix times a vector of the island.
    pub(super) fn times(&self, m: &Grid, r: usize, x: &[f64]) -> f64 {
        self.dofs.iter().zip(m.row(r)).map(|(&dof, m)| m * x[dof]).sum()
    }

    /// Adds a row of a matrix, times a number, to a vector of the island.
    pub(super) fn add(&self, m: &Grid, r: usize, a: f64, to: &mut [f64]) {
        self.dofs.iter().zip(m.row(r)).for_each(|(&dof, m)| to[dof] += a * m);
    }

    /// About its own block of `J A^-1 J^T`, by how each dof of the island gives way where all others are held.
    pub(super) fn roughly(&self, mobilities: &[f64]) -> Matrix3<f64> {
        let height = self.height();
        let entry = |r: usize, c: usize| {
            let terms = self.dofs.iter().enumerate().map(|(a, &dof)| self.j[(r, a)] * mobilities[dof] * self.j[(c, a)]);
            terms.sum()
        };
        Matrix3::from_fn(|r, c| if r < height && c < height { entry(r, c) } else { 0.0 })
    }

    /// Its own block of `J A^-1 J^T`; of one row alone the first entry. `owner`: member of each dof of a tree. Where A is not positive
    /// definite that is no measure of anything: then it is that of what has a factor, and of trees without what they carry.
    pub(super) fn delassus(
        &self,
        members: &[Member],
        deformables: &[Deformable],
        joined: &[Joined],
        owner: &[usize],
    ) -> Matrix3<f64> {
        let mut out = Matrix3::zeros();
        let height = self.height();
        let joined = if deformables.iter().all(Deformable::is_definite) { joined } else { &[] };
        for body in deformables {
            let columns: Vec<usize> = (0..self.dofs.len()).filter(|&a| body.dofs().contains(&self.dofs[a])).collect();
            if columns.is_empty() {
                continue;
            }
            let dofs: Vec<u32> = columns.iter().map(|&a| (self.dofs[a] - body.at[0]) as u32).collect();
            let rows: Vec<f64> = (0..height).flat_map(|r| columns.iter().map(move |&a| self.j[(r, a)])).collect();
            let own = body.compliance(&dofs, &rows);
            own.iter().enumerate().for_each(|(k, x)| out[(k / height, k % height)] += x);
        }
        for joined in joined {
            let j = |row, at| self.j[(row, at)];
            joined.add_compliance(members, deformables, (height, &self.dofs), j, |r, c, x| out[(r, c)] += x);
        }
        let alone = |i: &usize| *i < owner.len() && joined.iter().all(|joined| joined.member != owner[*i]);
        for (a, &i) in self.dofs.iter().enumerate().filter(|(_, i)| alone(i)) {
            let member = &members[owner[i]];
            let inverse = member.inverse().row(i - member.at[0]);
            for (b, &j) in self.dofs.iter().enumerate().filter(|(_, j)| owner.get(**j) == Some(&owner[i])) {
                let x = inverse[j - member.at[0]];
                for r in 0..height {
                    for c in 0..height {
                        out[(r, c)] += self.j[(r, a)] * x * self.j[(c, b)];
                    }
                }
            }
        }
        out
    }
}
