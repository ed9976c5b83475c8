//! The whole derivative of an island's step, as matrices.

use super::Dense;
use super::dynamics::Dynamics;
use super::impact::Impact;
use crate::grid::{Grid, axpy};
use crate::integrate::integrate_rows;
use crate::jacobian::Jacobian;
use crate::system::Place;

impl Dense<'_> {
    /// dv+ by q, v, tau and ctrl. With `K = A^-1 - P B^-1 L J A^-1`, P the push, `dv+ = K dF - P B^-1 L ds`. And the largest
    /// change of a velocity by a force, and a bound on that by a control, without constraints.
    fn dense(&self) -> ([Grid; 4], [f64; 2]) {
        let response = self.equations.members.iter().map(|m| m.inverse().largest()).fold(0.0, f64::max);
        let h = self.equations.members.iter().map(|m| m.forward.h()).fold(0.0, f64::max);
        let Dynamics { momentum, slopes } = self.dynamics();
        let k = self.mobility();
        let parts = [(&momentum.q, Some(&slopes.by_q)), (&momentum.v, slopes.by_v.as_ref())];
        let [q, v] = parts.map(|(momentum, rows)| {
            let mut dv = Grid::zeros(self.equations.n_v, momentum.width());
            dv.add_product(1.0, &k, momentum);
            if let Some(rows) = rows {
                self.hold_back(rows, &mut dv);
            }
            dv
        });
        let mut ctrl = Grid::zeros(self.equations.n_v, self.equations.n_u);
        for i in 0..self.equations.n_v {
            let (k, to) = (k.row(i), ctrl.row_mut(i));
            momentum.ctrl.iter().for_each(|&(dof, control, x)| to[control] = x.mul_add(k[dof], to[control]));
        }
        self.rows_by_ctrl().iter().for_each(|rows| self.hold_back(rows, &mut ctrl));
        let tau = self.by_tau(k);
        ([q, v, tau, ctrl], [h * response, momentum.largest_by_ctrl() * response])
    }

    /// `A^-1 - P B^-1 L J A^-1`
    fn mobility(&self) -> Grid {
        let n = self.equations.n_v;
        let mut k = Grid::zeros(n, n);
        for member in &self.equations.members {
            let (first, n) = (member.at[0], member.forward.n_v());
            (0..n).for_each(|i| k.row_mut(first + i)[first..first + n].copy_from_slice(member.inverse().row(i)));
        }
        self.hold_back(&self.responses, &mut k);
        k
    }

    /// Adds `-P B^-1 L rows` to dv+.
    fn hold_back(&self, rows: &Grid, dv: &mut Grid) {
        if self.equations.unknowns.is_empty() {
            return;
        }
        let mut x = Grid::zeros(self.equations.unknowns.len(), rows.width());
        self.add_equations(rows, &mut x);
        self.inverse.solve_all(&mut x);
        dv.add_product(-1.0, &self.push, &x);
    }

    /// From what forces do, times h of their trees.
    fn by_tau(&self, mut k: Grid) -> Grid {
        for member in &self.equations.members {
            let (first, h) = (member.at[0], member.forward.h());
            for i in 0..self.equations.n_v {
                k.row_mut(i)[first..first + member.forward.n_v()].iter_mut().for_each(|x| *x *= h);
            }
        }
        k
    }

    /// Writes the island's part of the Jacobian of a world, as [`crate::system::LinearSystem::write_jacobian`] says.
    pub(super) fn write_blocks(&self, place: &Place, empty: bool, wanted: [bool; 4], out: &mut Jacobian) {
        let (dense, free) = self.dense();
        out.free.iter_mut().zip(free).for_each(|(most, own)| *most = most.max(own));
        let (n_v, n_u) = (out.n_v, out.n_u);
        let blocks = [
            (&mut out.dq_dq, &mut out.dv_dq, &place.dofs),
            (&mut out.dq_dv, &mut out.dv_dv, &place.dofs),
            (&mut out.dq_dtau, &mut out.dv_dtau, &place.dofs),
            (&mut out.dq_dctrl, &mut out.dv_dctrl, &place.controls),
        ];
        for (which, (mut dv, (to_q, to_v, columns))) in dense.into_iter().zip(blocks).enumerate() {
            if !wanted[which] {
                continue;
            }
            let width = if which == 3 { n_u } else { n_v };
            let impact = self.impact.as_ref().filter(|_| which == 0);
            if let Some(Impact { tau, change, .. }) = impact {
                change.iter().enumerate().for_each(|(i, x)| axpy(*x, tau, dv.row_mut(i)));
            }
            let mut dq = self.integrated(&dv, which == 0);
            if let Some(Impact { tau, jump, .. }) = impact {
                let jump = self.carried(jump);
                jump.iter().enumerate().for_each(|(i, x)| axpy(*x, tau, dq.row_mut(i)));
            }
            for (from, to) in [(&dq, to_q), (&dv, to_v)] {
                if empty {
                    *to = from.to_vec();
                    continue;
                }
                for (i, &row) in place.dofs.iter().enumerate() {
                    let to = &mut to[row * width..(row + 1) * width];
                    columns.iter().zip(from.row(i)).for_each(|(&column, x)| to[column] = *x);
                }
            }
        }
    }

    /// dq+ of the island by an input, from dv+ by it; `own`: the input is q.
    fn integrated(&self, dv: &Grid, own: bool) -> Grid {
        let mut dq = Grid::zeros(self.equations.n_v, dv.width());
        for member in &self.equations.members {
            let (forward, first) = (&member.forward, member.at[0]);
            let (joints, width) = (forward.tree.joints, dv.stride());
            let own = own.then_some(first);
            let rows = first..first + forward.n_v();
            integrate_rows(joints, forward.h(), &member.after, own, width, dv.rows(rows.clone()), dq.rows_mut(rows));
        }
        dq
    }
}
