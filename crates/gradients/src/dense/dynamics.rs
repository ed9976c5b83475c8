//! What goes into the linear system of an island, as matrices.

use super::Dense;
use crate::equations::Equations;
use crate::form::add_pushes;
use crate::grid::Grid;
use crate::momentum::Momentum;
use crate::rows::Slopes;

/// dF and ds by what goes into the step.
pub(super) struct Dynamics {
    /// dF by q, by v and by ctrl, with v+ and the impulses held; by tau it is h.
    pub(super) momentum: Momentum,
    /// ds by the same.
    pub(super) slopes: Slopes,
}

impl Dense<'_> {
    /// Made when it is first asked for.
    pub(super) fn dynamics(&self) -> &Dynamics {
        self.dynamics.get_or_init(|| {
            let mut pushed = Grid::zeros(self.equations.n_v, self.equations.n_v);
            add_pushes(&self.equations.members, &self.equations.rows.forms, &mut pushed);
            self.equations.rows.push.iter().for_each(|&(row, dof, x)| pushed[(row, dof)] += x);
            let momentum = Momentum::new(&self.equations.members, pushed);
            Dynamics { momentum, slopes: self.slopes() }
        })
    }

    /// ds by q and by v.
    pub(super) fn slopes(&self) -> Slopes {
        Slopes::new(&self.equations.rows, &self.equations.members, self.equations.n_v)
    }

    /// `L (J A^-1 dF + ds)` by q, by v and by ctrl: what the equations have on their right.
    pub(super) fn asked(&self) -> [Grid; 3] {
        let Dynamics { momentum, slopes } = self.dynamics();
        let [mut q, mut v, mut ctrl] = self.asked_of_rows(slopes);
        let mut response = Grid::zeros(q.height(), self.equations.n_v);
        self.add_equations(&self.responses, &mut response);
        q.add_product(1.0, &response, &momentum.q);
        v.add_product(1.0, &response, &momentum.v);
        for &(dof, control, x) in &momentum.ctrl {
            (0..ctrl.height()).for_each(|i| ctrl[(i, control)] += x * response[(i, dof)]);
        }
        [q, v, ctrl]
    }

    /// `L ds` by the same.
    pub(super) fn asked_of_rows(&self, slopes: &Slopes) -> [Grid; 3] {
        let Equations { unknowns, n_v, n_u, .. } = &self.equations;
        let mut out = [*n_v, *n_v, *n_u].map(|width| Grid::zeros(unknowns.len(), width));
        self.add_equations(&slopes.by_q, &mut out[0]);
        slopes.by_v.iter().for_each(|by_v| self.add_equations(by_v, &mut out[1]));
        self.rows_by_ctrl().iter().for_each(|by_ctrl| self.add_equations(by_ctrl, &mut out[2]));
        out
    }

    /// ds by ctrl, where rows hang on it.
    pub(super) fn rows_by_ctrl(&self) -> Option<Grid> {
        let Equations { rows, n_u, .. } = &self.equations;
        let mut out = (!rows.by_ctrl.is_empty()).then(|| Grid::zeros(self.j.height(), *n_u))?;
        rows.by_ctrl.iter().for_each(|&(row, control, x)| out[(row, control)] += x);
        Some(out)
    }

    /// `to += L from`
    pub(super) fn add_equations(&self, from: &Grid, to: &mut Grid) {
        let unknowns = self.equations.unknowns.iter().enumerate();
        unknowns.for_each(|(i, unknown)| unknown.add_equation(1.0, from, to.row_mut(i)));
    }
}
