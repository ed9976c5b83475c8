//! Products of the derivative of an island's step with vectors, and of its transpose.

use super::Dense;
use super::dynamics::Dynamics;
use super::impact::Impact;
use super::lu::Lu;
use crate::equations::Equations;
use crate::form::add_back;
use crate::grid::{Grid, axpy, dot};
use crate::integrate::integrate_along;
use crate::jacobian::Jacobian;
use crate::krylov::Solved;
use crate::momentum::momentum_product;
use crate::pool::Pooled;
use crate::residuals::Residuals;
use crate::rules::{Bounces, GradientRules};
use crate::system::{LinearSystem, Place};

impl<'a> LinearSystem<'a> for Dense<'a> {
    fn equations(&self) -> &Equations<'a> {
        &self.equations
    }

    fn add_row(&self, row: usize, a: f64, to: &mut [f64]) {
        axpy(a, self.j.row(row), to);
    }

    fn respond(&self, force: Vec<f64>, rows: &[f64]) -> ([Vec<f64>; 2], Solved) {
        let (dv, residual) = self.velocities(force, rows);
        (self.moved(dv, vec![0.0; self.equations.n_v]), Solved { residual, ..Solved::default() })
    }

    fn along(&self, [q, v, tau, ctrl]: [&[f64]; 4]) -> ([Vec<f64>; 2], Solved) {
        let Dynamics { momentum, slopes } = self.dynamics();
        let sum = |i: usize, by: [Option<&Grid>; 2]| {
            by.into_iter().zip([q, v]).map(|(by, x)| by.map_or(0.0, |by| dot(by.row(i), x))).sum::<f64>()
        };
        let parts = [&momentum.q, &momentum.v].map(Some);
        let mut force: Vec<f64> = (0..self.equations.n_v).map(|i| sum(i, parts)).collect();
        momentum.ctrl.iter().for_each(|&(dof, control, x)| force[dof] += x * ctrl[control]);
        for member in &self.equations.members {
            axpy(member.forward.h(), &tau[member.dofs()], &mut force[member.dofs()]);
        }
        let parts = [Some(&slopes.by_q), slopes.by_v.as_ref()];
        let mut rows: Vec<f64> = (0..self.j.height()).map(|r| sum(r, parts)).collect();
        self.equations.rows.by_ctrl.iter().for_each(|&(row, control, x)| rows[row] += x * ctrl[control]);
        let ((mut dv, _), mut carried_on) = (self.velocities(force, &rows), q.to_vec());
        if let Some(Impact { tau, jump, change }) = &self.impact {
            let late = dot(tau, q);
            axpy(late, change, &mut dv);
            axpy(late, jump, &mut carried_on);
        }
        (self.moved(dv, self.carried(&carried_on).to_vec()), Solved::default())
    }

    fn back(&self, outputs: [&[f64]; 2], escape: bool) -> ([Vec<f64>; 4], Solved) {
        let [v, mut by_q] = self.equations.before_integration(outputs);
        if let Some(Impact { tau, jump, change }) = &self.impact {
            let late = dot(&v, change) + dot(&by_q, jump);
            axpy(late, tau, &mut by_q);
        }
        let mut z = Pooled::zeros(self.equations.unknowns.len());
        self.push.add_transposed_times(1.0, &v, &mut z);
        let kept = if escape { self.kept(&v) } else { None };
        let other = kept.map(|kept| self.through(by_q.clone(), v.clone(), self.solve_kept(&kept, &z)));
        self.inverse.solve_transposed(&mut z);
        let found = self.through(by_q, v, z);
        let size = |[_, v, tau, _]: &[Vec<f64>; 4]| dot(v, v) + dot(tau, tau);
        let found = match other {
            Some(other) if size(&other) > size(&found) => other,
            _ => found,
        };
        (found, Solved::default())
    }

    fn certify(&mut self, rules: GradientRules) -> Residuals {
        let left = self.certified();
        if rules.bounces == Bounces::AtImpact {
            self.impact = self.impact();
        }
        left
    }

    /// Its rank is known.
    fn contradiction(&self) -> Solved {
        Solved::default()
    }

    fn write_jacobian(&self, place: &Place, empty: bool, wanted: [bool; 4], out: &mut Jacobian) {
        self.write_blocks(place, empty, wanted, out);
    }

    fn is_dense(&self) -> bool {
        true
    }

    fn may_be_redundant(&self) -> bool {
        self.rank < self.equations.unknowns.len()
    }
}

impl Dense<'_> {
    /// Adds `force^T dF + a z^T L ds` by q, v and ctrl.
    fn add_back(&self, force: &[f64], z: &[f64], a: f64, [by_q, by_v, by_ctrl]: [&mut [f64]; 3]) {
        let Equations { members, rows, unknowns, .. } = &self.equations;
        if let Some(Dynamics { momentum, slopes }) = self.dynamics.get() {
            momentum.add_back(force, [&mut *by_q, &mut *by_v, &mut *by_ctrl]);
            for (slopes, to) in [(Some(&slopes.by_q), by_q), (slopes.by_v.as_ref(), by_v)] {
                let Some(slopes) = slopes else { continue };
                let used = unknowns.iter().zip(z).filter(|(_, z)| **z != 0.0);
                used.for_each(|(u, z)| u.add_equation(a * z, slopes, to));
            }
            self.add_controls_back(&self.by_row(a, z), by_ctrl);
            return;
        }
        for member in members {
            let dofs = member.dofs();
            if force[dofs.clone()].iter().all(|&x| x == 0.0) {
                continue;
            }
            let to = [&mut by_q[dofs.clone()], &mut by_v[dofs.clone()], &mut by_ctrl[member.controls()]];
            momentum_product(&member.forward, &member.after, &member.fixed, &force[dofs], to);
        }
        let y = self.by_row(a, z);
        rows.by_q.iter().chain(&rows.compliance).for_each(|&(row, dof, x)| by_q[dof] += y[row] * x);
        self.add_controls_back(&y, by_ctrl);
        rows.push.iter().for_each(|&(to, dof, x)| by_q[dof] += force[to] * x);
        if !rows.forms.is_empty() {
            add_back(members, &rows.forms, &y, force, [by_q, by_v]);
        }
    }

    /// `a z^T L`, by row.
    fn by_row(&self, a: f64, z: &[f64]) -> Pooled {
        let mut y = Pooled::zeros(self.j.height());
        self.equations.unknowns.iter().zip(z).for_each(|(unknown, z)| unknown.add_parts(a * z, &mut y));
        y
    }

    /// Adds `y^T` times ds by ctrl.
    fn add_controls_back(&self, y: &[f64], by_ctrl: &mut [f64]) {
        self.equations.rows.by_ctrl.iter().for_each(|&(row, control, x)| by_ctrl[control] += y[row] * x);
    }

    /// dq+ and dv+ from dv+ and what q adds to dq+ by itself.
    fn moved(&self, dv: Vec<f64>, mut dq: Vec<f64>) -> [Vec<f64>; 2] {
        for member in &self.equations.members {
            let own = member.dofs();
            integrate_along(&member.forward, &member.after, &dv[own.clone()], &mut dq[own]);
        }
        [dq, dv]
    }

    /// dv+ for a given dF and ds; and, where constraints are redundant, what that leaves of the equations, relative to the largest
    /// of their terms: they may contradict each other.
    pub(super) fn velocities(&self, force: Vec<f64>, rows: &[f64]) -> (Vec<f64>, f64) {
        let mut dv = force;
        self.equations.solve(&mut dv);
        let unknowns = &self.equations.unknowns;
        if unknowns.is_empty() {
            return (dv, 0.0);
        }
        let column = Grid::from_rows(1, rows);
        let [mut shift, mut x] = [(); 2].map(|()| Pooled::zeros(unknowns.len()));
        let mut terms = 0.0_f64;
        for (i, unknown) in unknowns.iter().enumerate() {
            unknown.add_equation(1.0, &column, &mut shift[i..=i]);
            x[i] = dot(self.pull.row(i), &dv) + shift[i];
            if self.may_be_redundant() {
                let own = self.pull.row(i).iter().zip(&dv).map(|(pull, dv)| (pull * dv).abs()).sum::<f64>();
                terms = terms.max(own + shift[i].abs());
            }
        }
        self.inverse.solve(&mut x);
        dv.iter_mut().enumerate().for_each(|(i, dv)| *dv -= dot(self.push.row(i), &x));
        if terms == 0.0 {
            return (dv, 0.0);
        }
        let left = |i: usize| dot(self.pull.row(i), &dv) + shift[i] - unknowns[i].diagonal * x[i];
        let most = (0..unknowns.len()).map(|i| left(i).abs()).fold(0.0, f64::max);
        (dv, most / terms)
    }

    /// `B^T z = x` of some unknowns alone, the others zero.
    fn solve_kept(&self, kept: &[usize], x: &[f64]) -> Pooled {
        let m = kept.len();
        let mut system = vec![0.0; m * m];
        for (i, &row) in kept.iter().enumerate() {
            for (j, &column) in kept.iter().enumerate() {
                let equation = self.pull.row(row);
                system[i * m + j] = (0..self.equations.n_v).map(|dof| equation[dof] * self.push[(dof, column)]).sum();
            }
            system[i * m + i] += self.equations.unknowns[row].diagonal;
        }
        let mut own: Vec<f64> = kept.iter().map(|&i| x[i]).collect();
        Lu::new(&system, m).solve_transposed(&mut own);
        let mut z = Pooled::zeros(self.equations.unknowns.len());
        kept.iter().zip(own).for_each(|(&i, own)| z[i] = own);
        z
    }

    /// With the adjoint z of the impulses' system: from the gradient by v+ to those by what goes in; that by q so far is
    /// given.
    fn through(&self, mut by_q: Vec<f64>, mut v: Vec<f64>, z: Pooled) -> [Vec<f64>; 4] {
        let [mut by_v, mut by_ctrl] = [vec![0.0; self.equations.n_v], vec![0.0; self.equations.n_u]];
        self.pull.add_transposed_times(-1.0, &z, &mut v);
        self.equations.solve(&mut v);
        self.add_back(&v, &z, -1.0, [&mut by_q, &mut by_v, &mut by_ctrl]);
        self.equations.scale_by_time_steps(&mut v);
        [by_q, by_v, v, by_ctrl]
    }
}
