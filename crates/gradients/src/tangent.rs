//! Products of the derivative of an island's step with vectors, and of its transpose.

use crate::contact::Member;
use crate::dense::Dynamics;
use crate::form::add_back;
use crate::grid::{Grid, axpy, dot};
use crate::integrate::{integrate_along, integrate_back};
use crate::island::Island;
use crate::lu::Lu;
use crate::momentum::momentum_product;
use crate::pool::Pooled;
use crate::rules::Impact;

/// `A x = x` for one vector of an island.
fn solve(members: &[Member], x: &mut [f64]) {
    for member in members {
        member.forward.solve(&mut x[member.at[0]..member.at[0] + member.forward.n_v()]);
    }
}

impl Island<'_> {
    /// `z^T (L J A^-1 dF + L ds)`, by q, v and ctrl.
    pub(crate) fn says(&self, z: &[f64]) -> [Vec<f64>; 3] {
        let mut force = vec![0.0; self.n_v];
        self.equations.add_transposed_times(1.0, z, &mut force);
        let mut out = [vec![0.0; self.n_v], vec![0.0; self.n_v], vec![0.0; self.n_u]];
        // Rows of zeros, as across the plane of what moves in one, say nothing of dF; of the others more is asked.
        if force.iter().any(|&x| x != 0.0) {
            self.dynamics();
            solve(&self.members, &mut force);
        }
        self.add_back(&force, z, 1.0, out.each_mut().map(Vec::as_mut_slice));
        out
    }

    /// Adds `force^T dF + a z^T L ds` by q, v and ctrl.
    fn add_back(&self, force: &[f64], z: &[f64], a: f64, [by_q, by_v, by_ctrl]: [&mut [f64]; 3]) {
        if let Some(Dynamics { momentum, slopes }) = self.dynamics.get() {
            momentum.add_back(force, [&mut *by_q, &mut *by_v, &mut *by_ctrl]);
            for (rows, to) in [(Some(&slopes.by_q), by_q), (slopes.by_v.as_ref(), by_v)] {
                let Some(rows) = rows else { continue };
                let said = self.unknowns.iter().zip(z).filter(|(_, z)| **z != 0.0);
                said.for_each(|(u, z)| u.add_equation(a * z, rows, to));
            }
            self.add_controls_back(&self.by_row(a, z), by_ctrl);
            return;
        }
        for member in &self.members {
            let (n, n_u) = (member.forward.n_v(), member.forward.tree.actuators.len());
            let (dofs, controls) = (member.at[0]..member.at[0] + n, member.at[1]..member.at[1] + n_u);
            if force[dofs.clone()].iter().all(|&x| x == 0.0) {
                continue;
            }
            let to = [&mut by_q[dofs.clone()], &mut by_v[dofs.clone()], &mut by_ctrl[controls]];
            momentum_product(&member.forward, &member.after, &member.fixed, &force[dofs], to);
        }
        let y = self.by_row(a, z);
        self.rows.by_q.iter().for_each(|&(row, dof, x)| by_q[dof] += y[row] * x);
        self.add_controls_back(&y, by_ctrl);
        self.rows.push.iter().for_each(|&(to, dof, x)| by_q[dof] += force[to] * x);
        if !self.rows.forms.is_empty() {
            add_back(&self.members, &self.rows.forms, &y, force, [by_q, by_v]);
        }
    }

    /// `a z^T L`, by row.
    fn by_row(&self, a: f64, z: &[f64]) -> Pooled {
        let mut y = Pooled::zeros(self.j.height());
        self.unknowns.iter().zip(z).for_each(|(unknown, z)| unknown.add_parts(a * z, &mut y));
        y
    }

    /// Adds `y^T` times ds by ctrl.
    fn add_controls_back(&self, y: &[f64], by_ctrl: &mut [f64]) {
        self.rows.by_ctrl.iter().for_each(|&(row, control, x)| by_ctrl[control] += y[row] * x);
    }

    /// dq+ and dv+ for a given dF, `[n_v]`, and ds, by row.
    pub(crate) fn along(&self, force: Vec<f64>, rows: &[f64]) -> [Vec<f64>; 2] {
        let dv = self.faster(force, rows);
        self.moved(dv, vec![0.0; self.n_v])
    }

    /// dq+ and dv+ from dv+ and what q adds to dq+ by itself.
    fn moved(&self, dv: Vec<f64>, mut dq: Vec<f64>) -> [Vec<f64>; 2] {
        for member in &self.members {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            integrate_along(&member.forward, &member.after, &dv[own.clone()], &mut dq[own]);
        }
        [dq, dv]
    }

    /// dv+ for a given dF and ds.
    fn faster(&self, force: Vec<f64>, rows: &[f64]) -> Vec<f64> {
        let mut dv = force;
        solve(&self.members, &mut dv);
        let m = self.unknowns.len();
        if m > 0 {
            let column = Grid::from_rows(1, rows);
            let mut x = Pooled::zeros(m);
            for (i, unknown) in self.unknowns.iter().enumerate() {
                x[i] = dot(self.equations.row(i), &dv);
                unknown.add_equation(1.0, &column, &mut x[i..=i]);
            }
            self.inverse.solve(&mut x);
            dv.iter_mut().enumerate().for_each(|(i, dv)| *dv -= dot(self.push.row(i), &x));
        }
        dv
    }

    /// dq+ and dv+ along a change of q, v, tau (`[n_v]` each) and ctrl (`[n_u]`).
    pub(crate) fn ahead(&self, [q, v, tau, ctrl]: [&[f64]; 4], impact: Option<&Impact>) -> [Vec<f64>; 2] {
        let Dynamics { momentum, slopes } = self.dynamics();
        let sum = |i: usize, by: [Option<&Grid>; 2]| {
            by.into_iter().zip([q, v]).map(|(by, x)| by.map_or(0.0, |by| dot(by.row(i), x))).sum::<f64>()
        };
        let parts = [&momentum.q, &momentum.v].map(Some);
        let mut force: Vec<f64> = (0..self.n_v).map(|i| sum(i, parts)).collect();
        momentum.ctrl.iter().for_each(|&(dof, control, x)| force[dof] += x * ctrl[control]);
        for member in &self.members {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            axpy(member.forward.h(), &tau[own.clone()], &mut force[own]);
        }
        let parts = [Some(&slopes.by_q), slopes.by_v.as_ref()];
        let mut rows: Vec<f64> = (0..self.j.height()).map(|r| sum(r, parts)).collect();
        self.rows.by_ctrl.iter().for_each(|&(row, control, x)| rows[row] += x * ctrl[control]);
        let (mut dv, mut carried_on) = (self.faster(force, &rows), q.to_vec());
        if let Some(Impact { tau, jump, change }) = impact {
            let late = dot(tau, q);
            axpy(late, change, &mut dv);
            axpy(late, jump, &mut carried_on);
        }
        self.moved(dv, self.carried(&carried_on).to_vec())
    }

    /// From the gradient of a loss by q+ and v+ (`[n_v]` each) to that by q, v, tau (`[n_v]`) and ctrl (`[n_u]`): one
    /// transposed solve. `escape`: as [`crate::GradientRules::escape`] says.
    pub(crate) fn back(
        &self,
        after_q: &[f64],
        after_v: &[f64],
        impact: Option<&Impact>,
        escape: bool,
    ) -> [Vec<f64>; 4] {
        let n = self.n_v;
        let (mut v, mut by_q) = (after_v.to_vec(), vec![0.0; n]);
        for member in &self.members {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            let (after_q, q) = (&after_q[own.clone()], &mut by_q[own.clone()]);
            integrate_back(member.forward.tree.joints, member.forward.h(), &member.after, after_q, &mut v[own], q);
        }
        if let Some(Impact { tau, jump, change }) = impact {
            let late = dot(&v, change) + dot(&by_q, jump);
            axpy(late, tau, &mut by_q);
        }
        let mut z = Pooled::zeros(self.unknowns.len());
        self.push.add_transposed_times(1.0, &v, &mut z);
        let kept = if escape { self.kept(&v) } else { None };
        let other = kept.map(|kept| self.through(by_q.clone(), v.clone(), self.solve_kept(&kept, &z)));
        self.inverse.solve_transposed(&mut z);
        let found = self.through(by_q, v, z);
        let size = |[_, v, tau, _]: &[Vec<f64>; 4]| dot(v, v) + dot(tau, tau);
        match other {
            Some(other) if size(&other) > size(&found) => other,
            _ => found,
        }
    }

    /// `B^T z = x` of some unknowns alone, the others zero.
    fn solve_kept(&self, kept: &[usize], x: &[f64]) -> Pooled {
        let m = kept.len();
        let mut system = vec![0.0; m * m];
        for (i, &row) in kept.iter().enumerate() {
            for (j, &column) in kept.iter().enumerate() {
                let equation = self.equations.row(row);
                system[i * m + j] = (0..self.n_v).map(|dof| equation[dof] * self.push[(dof, column)]).sum();
            }
            system[i * m + i] += self.unknowns[row].diagonal;
        }
        let mut own: Vec<f64> = kept.iter().map(|&i| x[i]).collect();
        Lu::new(&system, m).solve_transposed(&mut own);
        let mut z = Pooled::zeros(self.unknowns.len());
        kept.iter().zip(own).for_each(|(&i, own)| z[i] = own);
        z
    }

    /// With the adjoint z of the impulses' system: from the gradient by v+ to those by what goes in; that by q so far is
    /// given.
    fn through(&self, mut by_q: Vec<f64>, mut v: Vec<f64>, z: Pooled) -> [Vec<f64>; 4] {
        let [mut by_v, mut by_ctrl] = [vec![0.0; self.n_v], vec![0.0; self.n_u]];
        self.equations.add_transposed_times(-1.0, &z, &mut v);
        solve(&self.members, &mut v);
        self.add_back(&v, &z, -1.0, [&mut by_q, &mut by_v, &mut by_ctrl]);
        for member in &self.members {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            v[own].iter_mut().for_each(|x| *x *= member.forward.h());
        }
        [by_q, by_v, v, by_ctrl]
    }
}
