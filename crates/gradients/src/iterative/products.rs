//! Products of the derivative of a large island's step with vectors, and of its transpose.

use super::{Iterative, System};
use crate::equations::Equations;
use crate::form::add_back;
use crate::grid::{axpy, dot};
use crate::integrate::{carried, integrate_along};
use crate::jacobian::Jacobian;
use crate::krylov::{self, Solved};
use crate::mode::Mode;
use crate::residuals::Residuals;
use crate::rules::GradientRules;
use crate::system::{LinearSystem, Place};
use crate::unknown::Unknown;

/// Products of an island's system for one solve at most.
const MOST_PRODUCTS: usize = 20_000;

/// Columns of a Jacobian that are solved at once.
const ABREAST: usize = 16;

/// Right-hand sides that are solved by the step's factor, if it left one, at most: of more the rounds that it takes besides cost more
/// than a factor of the equations' own. Four of `pneunet` take 3.4 ms, by a factor of their own 3.6.
const FEW: usize = 4;

/// What solves both kinds of equations.
pub(super) struct Answer {
    /// Change of the velocity, or the adjoint of the momentum balance.
    pub(super) v: Vec<f64>,
    /// By unknown.
    pub(super) x: Vec<f64>,
    pub(super) solved: Solved,
    /// It needs no other way to be found.
    pub(super) settled: bool,
}

impl<'a> LinearSystem<'a> for Iterative<'a> {
    fn equations(&self) -> &Equations<'a> {
        &self.equations
    }

    /// What is left is known of each solve.
    fn certify(&mut self, _: GradientRules) -> Residuals {
        Residuals::default()
    }

    fn add_row(&self, row: usize, a: f64, to: &mut [f64]) {
        let constraints = &self.equations.rows.constraints;
        let at = constraints.partition_point(|constraint| constraint.first <= row) - 1;
        let link = &self.links[at];
        link.add(&link.j, row - constraints[at].first, a, to);
    }

    fn respond(&self, force: Vec<f64>, rows: &[f64]) -> ([Vec<f64>; 2], Solved) {
        let (dv, solved) = self.velocities(force, rows);
        (self.moved(dv, vec![0.0; self.equations.n_v]), solved)
    }

    fn along(&self, inputs: [&[f64]; 4]) -> ([Vec<f64>; 2], Solved) {
        let [force, rows] = self.changes(inputs);
        let (dv, solved) = self.velocities(force, &rows);
        (self.moved(dv, self.carried(inputs[0])), solved)
    }

    fn back(&self, outputs: [&[f64]; 2], escape: bool) -> ([Vec<f64>; 4], Solved) {
        let [v, by_q] = self.equations.before_integration(outputs);
        let nothing = vec![0.0; self.equations.unknowns.len()];
        let kept = if escape { self.kept(v.clone()) } else { None };
        let other = kept.map(|kept| {
            let Answer { v, x, solved, .. } = self.answer_of_some(true, v.clone(), nothing.clone(), &kept);
            (self.through(by_q.clone(), v, &x), solved)
        });
        let Answer { v, x, solved, .. } = self.answer(true, v, nothing);
        let found = (self.through(by_q, v, &x), solved);
        let size = |([_, v, tau, _], _): &([Vec<f64>; 4], Solved)| dot(v, v) + dot(tau, tau);
        match other {
            Some(other) if size(&other) > size(&found) => other,
            _ => found,
        }
    }

    /// Along a direction without pattern, by q, v and ctrl in equal parts.
    fn contradiction(&self) -> Solved {
        if self.near().or_else(|| self.exact()).is_some_and(|saddle| saddle.regular) {
            return Solved::default();
        }
        let zeros = |n: usize| vec![0.0; n];
        let (n, n_u) = (self.equations.n_v, self.equations.n_u);
        let directions = [
            [noise(n, 1), zeros(n), zeros(n), zeros(n_u)],
            [zeros(n), noise(n, 2), zeros(n), zeros(n_u)],
            [zeros(n), zeros(n), zeros(n), noise(n_u, 3)],
        ];
        let (mut force, mut right) = (zeros(n), zeros(self.equations.unknowns.len()));
        for direction in &directions {
            let [own, rows] = self.changes(direction.each_ref().map(|x| &x[..]));
            let own_right = self.of_unknowns(&rows);
            let mut moved = own.clone();
            if self.whole.is_some() {
                moved = self.roughly_moved(&own);
            } else {
                self.equations.solve(&mut moved);
            }
            let mut along = zeros(right.len());
            self.pull(&moved, false, &mut along);
            axpy(1.0, &own_right, &mut along);
            let size = dot(&along, &along).sqrt();
            if size > 0.0 {
                axpy(1.0 / size, &own, &mut force);
                axpy(1.0 / size, &own_right, &mut right);
            }
        }
        self.answer(false, force, right).solved
    }

    /// Some columns at a time.
    fn write_jacobian(&self, place: &Place, _: bool, wanted: [bool; 4], out: &mut Jacobian) {
        let (n, n_u) = (place.dofs.len(), place.controls.len());
        if wanted == [true; 4] {
            out.free.iter_mut().zip(self.free()).for_each(|(most, own)| *most = most.max(own));
        }
        let counts = [n, n, n, n_u].into_iter().enumerate().filter(|&(which, _)| wanted[which]);
        let all = counts.clone().map(|(_, count)| count).sum();
        for (which, count) in counts {
            let unit = |n: usize, k: usize| {
                let mut out = vec![0.0; n];
                out[k] = 1.0;
                out
            };
            let nothing = [vec![0.0; n], vec![0.0; n_u]];
            for first in (0..count).step_by(ABREAST) {
                let columns = first..count.min(first + ABREAST);
                let sides = columns.clone().map(|k| {
                    let unit = unit(count, k);
                    let input = |of: usize| if of == which { &unit } else { &nothing[usize::from(of == 3)] };
                    let [force, rows] = self.changes([0, 1, 2, 3].map(|of| &input(of)[..]));
                    [force, self.of_unknowns(&rows)]
                });
                let answers = self.answers(false, sides.collect(), all);
                for (k, Answer { v: dv, solved, .. }) in columns.zip(answers) {
                    out.certificate.add_solved(solved);
                    let dq = if which == 0 { self.carried(&unit(n, k)) } else { vec![0.0; n] };
                    let [q, v] = self.moved(dv, dq);
                    let (by_q, by_v, width, column) = match which {
                        0 => (&mut out.dq_dq, &mut out.dv_dq, out.n_v, place.dofs[k]),
                        1 => (&mut out.dq_dv, &mut out.dv_dv, out.n_v, place.dofs[k]),
                        2 => (&mut out.dq_dtau, &mut out.dv_dtau, out.n_v, place.dofs[k]),
                        _ => (&mut out.dq_dctrl, &mut out.dv_dctrl, out.n_u, place.controls[k]),
                    };
                    for ((&row, q), v) in place.dofs.iter().zip(q).zip(v) {
                        (by_q[row * width + column], by_v[row * width + column]) = (q, v);
                    }
                }
            }
        }
    }

    fn is_dense(&self) -> bool {
        false
    }

    /// Its rank is not known.
    fn may_be_redundant(&self) -> bool {
        true
    }
}

impl Iterative<'_> {
    /// What a force, and a control, change velocities by at most without constraints.
    fn free(&self) -> [f64; 2] {
        let mut out = [0.0_f64; 2];
        for (member, momentum) in self.equations.members.iter().zip(&self.momenta) {
            let response = member.inverse().largest();
            out[0] = out[0].max(member.forward.h() * response);
            out[1] = out[1].max(momentum.largest_by_ctrl() * response);
        }
        for body in &self.equations.deformables {
            // The largest entry of the inverse of a positive definite matrix is on its diagonal.
            let mut x = vec![0.0; self.equations.n_v];
            for i in body.dofs() {
                x.fill(0.0);
                x[i] = 1.0;
                self.equations.solve(&mut x);
                out[0] = out[0].max(body.h() * x[i]);
            }
            for by in body.input.by_ctrl {
                x.fill(0.0);
                x[body.dofs()].copy_from_slice(by);
                self.equations.solve(&mut x);
                out[1] = x.iter().fold(out[1], |most, x| most.max(x.abs()));
            }
        }
        out
    }

    /// `A v + J^T R x = f`, `L J v - D x = -g`; transposed with L and R exchanged.
    fn answer(&self, transposed: bool, f: Vec<f64>, g: Vec<f64>) -> Answer {
        self.answers(transposed, vec![[f, g]], 1).swap_remove(0)
    }

    /// The same of several right-hand sides, f and g each: an answer for each; `all`: how many there are to be in the end.
    fn answers(&self, transposed: bool, sides: Vec<[Vec<f64>; 2]>, all: usize) -> Vec<Answer> {
        let near = self.near().filter(|_| all <= FEW);
        let found = near.map(|near| near.solve(self, transposed, sides.clone()));
        if let Some(found) = found.filter(|found| found.iter().all(|answer| answer.settled)) {
            return found;
        }
        let Some(exact) = self.exact() else {
            return sides.into_iter().map(|[f, g]| self.answer_of_some(transposed, f, g, &[])).collect();
        };
        let found = exact.solve(self, transposed, sides.clone());
        let settled = |(answer, [f, g]): (Answer, [Vec<f64>; 2])| {
            if answer.settled { answer } else { self.answer_of_some(transposed, f, g, &[]) }
        };
        found.into_iter().zip(sides).map(settled).collect()
    }

    /// The same by the impulses alone, of the unknowns that `kept` leaves; empty: of all.
    fn answer_of_some(&self, transposed: bool, f: Vec<f64>, g: Vec<f64>, kept: &[bool]) -> Answer {
        let mut v = f.clone();
        self.equations.solve(&mut v);
        let mut x = vec![0.0; g.len()];
        self.pull(&v, transposed, &mut x);
        axpy(1.0, &g, &mut x);
        x.iter_mut().zip(kept).filter(|(_, kept)| !**kept).for_each(|(x, _)| *x = 0.0);
        let solved = self.solve_impulses(&mut x, transposed, kept);
        let minus: Vec<f64> = x.iter().map(|x| -x).collect();
        let mut v = f;
        self.add_push(&minus, transposed, &mut v);
        self.equations.solve(&mut v);
        Answer { v, x, solved, settled: true }
    }

    /// `B x = x`, or `B^T x = x`; of some unknowns alone where `kept` says so.
    fn solve_impulses(&self, x: &mut [f64], transposed: bool, kept: &[bool]) -> Solved {
        krylov::solve(&System { island: self, transposed, kept }, x, MOST_PRODUCTS)
    }

    /// dv+ for a given dF and ds.
    fn velocities(&self, force: Vec<f64>, rows: &[f64]) -> (Vec<f64>, Solved) {
        let Answer { v, solved, .. } = self.answer(false, force, self.of_unknowns(rows));
        (v, solved)
    }

    /// dq+ and dv+ from dv+ and what q adds to dq+ by itself.
    fn moved(&self, dv: Vec<f64>, mut dq: Vec<f64>) -> [Vec<f64>; 2] {
        for member in &self.equations.members {
            let own = member.dofs();
            integrate_along(&member.forward, &member.after, &dv[own.clone()], &mut dq[own]);
        }
        for body in &self.equations.deformables {
            axpy(body.h(), &dv[body.dofs()], &mut dq[body.dofs()]);
        }
        [dq, dv]
    }

    /// What q adds to dq+ by itself.
    fn carried(&self, q: &[f64]) -> Vec<f64> {
        let mut dq = vec![0.0; self.equations.n_v];
        for member in &self.equations.members {
            let own = member.dofs();
            carried(&member.forward, &member.after, &q[own.clone()], &mut dq[own]);
        }
        for body in &self.equations.deformables {
            dq[body.dofs()].copy_from_slice(&q[body.dofs()]);
        }
        dq
    }

    /// dF and ds along a change of q, v, tau and ctrl.
    fn changes(&self, inputs: [&[f64]; 4]) -> [Vec<f64>; 2] {
        let [q, v, tau, ctrl] = inputs;
        let rows = &self.equations.rows;
        let (mut force, mut by_row) = (vec![0.0; self.equations.n_v], vec![0.0; rows.height()]);
        if [q, v].into_iter().flatten().all(|x| *x == 0.0) {
            self.add_acting(tau, ctrl, &mut force);
            rows.by_ctrl.iter().for_each(|&(row, control, x)| by_row[row] += x * ctrl[control]);
            return [force, by_row];
        }
        for (member, momentum) in self.equations.members.iter().zip(&self.momenta) {
            let own = member.dofs();
            for (i, dof) in own.clone().enumerate() {
                force[dof] = dot(momentum.q.row(i), &q[own.clone()]) + dot(momentum.v.row(i), &v[own.clone()]);
            }
        }
        for body in &self.equations.deformables {
            let own = body.dofs();
            let force = &mut force[own.clone()];
            body.input.by_q.add_times(&q[own.clone()], force);
            body.input.by_v.add_times(&v[own], force);
        }
        for (tree, own, carrier) in self.equations.carried() {
            let parts = [tree.clone(), own.clone()];
            let [of_tree, of_own] = parts.map(|dofs| [&q[dofs.clone()], &v[dofs]]);
            let (before, after) = force.split_at_mut(own.start);
            carrier.add_times(of_tree, of_own, [&mut before[tree], &mut after[..own.len()]]);
        }
        for ((link, slopes), (first, _)) in self.slopes().zip(&rows.forms) {
            for r in 0..link.height() {
                by_row[first + r] = link.times(&slopes.by_q, r, q) + link.times(&slopes.by_v, r, v);
            }
            if let Some(push) = &slopes.push {
                link.dofs.iter().enumerate().for_each(|(i, &dof)| force[dof] += link.times(push, i, q));
            }
        }
        rows.by_q.iter().chain(&rows.compliance).for_each(|&(row, dof, x)| by_row[row] += x * q[dof]);
        rows.by_ctrl.iter().for_each(|&(row, control, x)| by_row[row] += x * ctrl[control]);
        rows.push.iter().for_each(|&(to, dof, x)| force[to] += x * q[dof]);
        self.add_acting(tau, ctrl, &mut force);
        [force, by_row]
    }

    /// Adds what forces and controls do to momenta.
    fn add_acting(&self, tau: &[f64], ctrl: &[f64], force: &mut [f64]) {
        for (member, momentum) in self.equations.members.iter().zip(&self.momenta) {
            let own = member.dofs();
            axpy(member.forward.h(), &tau[own.clone()], &mut force[own.clone()]);
            momentum.ctrl.iter().for_each(|&(i, k, x)| force[own.start + i] += x * ctrl[member.at[1] + k]);
        }
        for body in &self.equations.deformables {
            let own = body.dofs();
            axpy(body.h(), &tau[own.clone()], &mut force[own.clone()]);
            body.controls().zip(body.input.by_ctrl).for_each(|(k, by)| axpy(ctrl[k], by, &mut force[own.clone()]));
        }
    }

    /// `L ds`
    fn of_unknowns(&self, rows: &[f64]) -> Vec<f64> {
        let own = |unknown: &Unknown| {
            unknown.parts()[0].iter().zip(&rows[unknown.first()..]).map(|(l, s)| l * s).sum::<f64>()
        };
        self.equations.unknowns.iter().map(own).collect()
    }

    /// Unknowns that are left when contacts let go that hold back a loss, whose gradient by v+ is given.
    fn kept(&self, mut v: Vec<f64>) -> Option<Vec<bool>> {
        self.equations.solve(&mut v);
        let leaves = |at: usize| {
            matches!(self.equations.modes[at], Mode::Sticking | Mode::Sliding)
                && self.links[at].times(&self.links[at].j, 2, &v) < 0.0
        };
        let left: Vec<bool> = (0..self.links.len()).map(leaves).collect();
        left.contains(&true).then(|| self.owners.iter().map(|&owner| !left[owner]).collect())
    }

    /// With the adjoints, v of the momentum balance and z of the constraints: from these to the gradients by what goes in; that by q
    /// so far is given.
    fn through(&self, mut by_q: Vec<f64>, mut v: Vec<f64>, z: &[f64]) -> [Vec<f64>; 4] {
        let rows = &self.equations.rows;
        let [mut by_v, mut by_ctrl] = [vec![0.0; self.equations.n_v], vec![0.0; self.equations.n_u]];
        for (member, momentum) in self.equations.members.iter().zip(&self.momenta) {
            let own = member.dofs();
            let to = [&mut by_q[own.clone()], &mut by_v[own.clone()], &mut by_ctrl[member.controls()]];
            momentum.add_back(&v[own], to);
        }
        for body in &self.equations.deformables {
            let own = body.dofs();
            body.input.by_q.add_transposed_times(&v[own.clone()], &mut by_q[own.clone()]);
            body.input.by_v.add_transposed_times(&v[own.clone()], &mut by_v[own.clone()]);
            body.controls().zip(body.input.by_ctrl).for_each(|(k, by)| by_ctrl[k] += dot(by, &v[own.clone()]));
        }
        for (tree, own, carrier) in self.equations.carried() {
            let weights = [&v[tree.clone()], &v[own.clone()]];
            for (which, by) in [&mut by_q, &mut by_v].into_iter().enumerate() {
                let (before, after) = by.split_at_mut(own.start);
                carrier.add_transposed_times(which, weights, [&mut before[tree.clone()], &mut after[..own.len()]]);
            }
        }
        // `-z^T L` by row.
        let mut y = vec![0.0; rows.height()];
        self.equations.unknowns.iter().zip(z).for_each(|(unknown, z)| unknown.add_parts(-z, &mut y));
        add_back(&self.equations.members, &rows.forms, &y, &v, [&mut by_q, &mut by_v]);
        rows.by_q.iter().chain(&rows.compliance).for_each(|&(row, dof, x)| by_q[dof] += x * y[row]);
        rows.by_ctrl.iter().for_each(|&(row, control, x)| by_ctrl[control] += x * y[row]);
        rows.push.iter().for_each(|&(to, dof, x)| by_q[dof] += v[to] * x);
        self.equations.scale_by_time_steps(&mut v);
        [by_q, by_v, v, by_ctrl]
    }
}

/// Numbers between -1 and 1 without pattern, the same in every run.
fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let next = |_| {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (x >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..n).map(next).collect()
}
