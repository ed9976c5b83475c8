//! What goes into the linear system of an island, as matrices.

use super::Dense;
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
            Dynamics {
                momentum,
                slopes: Slopes::new(&self.equations.rows, &self.equations.members, self.equations.n_v),
            }
        })
    }
}
