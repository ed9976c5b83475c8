//! The step of one island, trees that share constraints or one tree alone, linearised at its solution:
//! `A dv+ = dF + J^T R x`, `B x = -L (J A^-1 dF + ds)` with dF and ds linear in what goes in.

use std::cell::OnceCell;

use manyworlds_shaders::contact::tree_layout::row;
use manyworlds_shaders::dynamics::tree::SPATIAL;

use crate::compliance::{Source, add_compliance};
use crate::constraint::{Constraint, Rows};
use crate::contact::{
    Columns, Member, Motion, add_block, add_block_impulse, add_contact, add_contact_impulse, opening,
};
use crate::grid::{Grid, axpy, dot};
use crate::integrate::{integrate, integrate_along, integrate_back};
use crate::lu::{Lu, SMALLEST_PIVOT};
use crate::mode::{Local, Mode, local};
use crate::momentum::{Momentum, momentum_product};
use crate::pool::Pooled;
use crate::reduced::{Inverse, Unknown, left_over, unknowns};
use crate::row::add_row;
use crate::rules::Impact;
use crate::step::StepInput;
use crate::tree::{Forward, TreeInput};

/// Left-overs above this mean that the linear system has no solution.
pub(crate) const LARGEST_RESIDUAL: f64 = 1e-6;

/// What an island consists of, by numbers in the world.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) trees: Vec<usize>,
    pub(crate) contacts: Vec<usize>,
    pub(crate) blocks: Vec<usize>,
}

/// A linearised island; columns are its own dofs (then its controls).
pub(crate) struct Island<'a> {
    pub(crate) members: Vec<Member<'a>>,
    pub(crate) n_v: usize,
    pub(crate) n_u: usize,
    /// ds, by its parts.
    pub(crate) rows: Rows,
    /// Where its constraints come from.
    pub(crate) sources: Vec<Source<'a>>,
    /// What the motion of `J^T lambda` adds to dF by q beside forces fixed in the world, with the impulses held.
    pub(crate) pushed: Grid,
    pub(crate) unknowns: Vec<Unknown>,
    /// `A^-1 J^T R`, `[n_v, m]`.
    pub(crate) push: Grid,
    /// `J A^-1`, by row.
    pub(crate) responses: Grid,
    /// `L J`, `[m, n_v]`.
    pub(crate) equations: Grid,
    pub(crate) inverse: Inverse,
    /// Modes of its contacts, in the order of [`Parts::contacts`].
    pub(crate) modes: Vec<Mode>,
    /// Constraint of each of its contacts; `None` for one that has no say.
    pub(crate) acting: Vec<Option<usize>>,
    /// Modes of all constraints, what drags along the tangents of those that slide, and the biased velocities of their rows.
    pub(crate) constraint_modes: Vec<Mode>,
    pub(crate) drag: Vec<[f64; 2]>,
    pub(crate) sigma: Vec<f64>,
    /// Smallest margin, m/s.
    pub(crate) margin: f64,
    /// Constraints that act at a gap just closed.
    pub(crate) closed: usize,
    /// How many of the unknowns are independent.
    pub(crate) rank: usize,
    /// Left-over of the linear system, relative.
    pub(crate) residual: f64,
    /// [`Island::momentum`], once it was asked for.
    pub(crate) momentum: OnceCell<Momentum>,
}

/// Dofs and controls of an island, and its trees with everything at the start of the step.
fn members<'a>(trees: &[TreeInput<'a>], parts: &Parts) -> Vec<Member<'a>> {
    let mut at = [0, 0];
    let mut members = Vec::with_capacity(parts.trees.len());
    for &tree in &parts.trees {
        let forward = Forward::new(&trees[tree]);
        let (n_v, n_u, n_body) = (forward.n_v(), forward.tree.actuators.len(), forward.tree.bodies.len());
        let before = Motion::new(&forward, forward.v());
        // v+ is known once all impulses are.
        let (motion, after, fixed) = (Motion::default(), Pooled::default(), Pooled::zeros(SPATIAL * n_body));
        let inverse = forward.inverse();
        members.push(Member { forward, at, after, inverse, motion, before, fixed });
        at = [at[0] + n_v, at[1] + n_u];
    }
    members
}

/// v+ from the impulses: `A v+ = b + J^T lambda`.
fn velocities(members: &mut [Member]) {
    for member in members {
        let forward = &member.forward;
        let mut after = forward.b.clone();
        for b in 0..forward.tree.bodies.len() {
            let f = &member.fixed[SPATIAL * b..SPATIAL * (b + 1)];
            if f.iter().all(|&x| x == 0.0) {
                continue;
            }
            forward.for_dofs(b, |i| after[i] += dot(&forward.motion[SPATIAL * i..SPATIAL * (i + 1)], f));
        }
        for (index, record) in forward.tree.rows.iter().enumerate() {
            let numbers = forward.row(index);
            for k in 0..record.count as usize {
                after[record.dofs[k] as usize] += numbers[row::COEFFICIENT + k] * forward.impulses[index];
            }
        }
        forward.solve(&mut after);
        member.motion = Motion::new(forward, &after);
        member.after = after;
    }
}

/// `A x = x` for one vector of an island.
fn solve(members: &[Member], x: &mut [f64]) {
    for member in members {
        let own = &mut x[member.at[0]..member.at[0] + member.forward.n_v()];
        let mut solved = Pooled::zeros(own.len());
        // A^-1 is symmetric.
        member.inverse.add_transposed_times(1.0, own, &mut solved);
        own.copy_from_slice(&solved);
    }
}

/// `J A^-1`.
fn responses(members: &[Member], j: &Grid) -> Grid {
    let mut out = Grid::zeros(j.height(), j.width());
    for r in 0..j.height() {
        for member in members {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            let (from, to) = (&j.row(r)[own.clone()], &mut out.row_mut(r)[own]);
            member.inverse.add_transposed_times(1.0, from, to);
        }
    }
    out
}

impl<'a> Island<'a> {
    pub(crate) fn new(input: &StepInput<'a>, parts: &Parts) -> Self {
        let (contacts, blocks, model) = (input.contacts, input.blocks, input.model);
        let mut members = members(&input.trees, parts);
        let place = |tree: usize| parts.trees.iter().position(|&t| t == tree).unwrap_or(0);
        for &c in &parts.contacts {
            add_contact_impulse(&mut members, place, &contacts[c]);
        }
        for &b in &parts.blocks {
            add_block_impulse(&mut members, place, &blocks[b]);
        }
        velocities(&mut members);

        let n_v: usize = members.iter().map(|m| m.forward.n_v()).sum();
        let n_u: usize = members.iter().map(|m| m.forward.tree.actuators.len()).sum();
        let active = |m: &Member, i: usize| m.forward.row(i)[row::ACTIVE] > 0.0;
        let n_row: usize =
            members.iter().map(|m| (0..m.forward.tree.rows.len()).filter(|&i| active(m, i)).count()).sum();
        let opening: Vec<_> = parts.contacts.iter().map(|&c| opening(&members, place, &contacts[c], model)).collect();
        let n_closed = opening.iter().filter(|speed| speed.is_none()).count();
        let mut columns = Columns::default();
        let mut rows = Rows::new(3 * (n_closed + parts.blocks.len()) + n_row, n_v, n_u);
        let mut pushed = Grid::zeros(n_v, n_v);
        let mut sources = Vec::new();
        for (&c, _) in parts.contacts.iter().zip(&opening).filter(|(_, speed)| speed.is_none()) {
            sources.push(Source::Contact(&contacts[c]));
            add_contact(&members, place, (&contacts[c], model), &mut columns, &mut rows, &mut pushed);
        }
        for &b in &parts.blocks {
            sources.push(Source::Block(&blocks[b]));
            add_block(&members, place, &blocks[b], &mut columns, &mut rows, &mut pushed);
        }
        for (m, member) in members.iter().enumerate() {
            for i in (0..member.forward.tree.rows.len()).filter(|&i| active(member, i)) {
                sources.push(Source::Row { member: m, index: i });
                add_row(&member.forward, i, &member.after, member.at, &mut rows, &mut pushed);
            }
        }

        add_compliance(&members, &place, &sources, model, &mut rows);

        // Modes at the solution.
        let after: Vec<f64> = members.iter().flat_map(|m| m.after.iter().copied()).collect();
        let mut sigma: Vec<f64> = (0..rows.j.height()).map(|r| dot(rows.j.row(r), &after)).collect();
        let y = responses(&members, &rows.j);
        let mut locals: Vec<Local> = Vec::with_capacity(rows.constraints.len());
        let mut closed = 0;
        let mut margin = opening.iter().flatten().fold(f64::INFINITY, |least: f64, &speed| least.min(speed));
        for constraint @ Constraint { first, bias, kink, .. } in &rows.constraints {
            let n = constraint.law.rows();
            (0..n).for_each(|k| sigma[first + k] += bias[k]);
            let trace: f64 = (0..n).map(|k| dot(rows.j.row(first + k), y.row(first + k))).sum();
            let own = std::array::from_fn(|k| if k < n { sigma[first + k] } else { 0.0 });
            let own = local(constraint, own, trace / n as f64);
            locals.push(own);
            margin = margin.min(own.margin);
            // The bias of a constraint that carries nothing has no say.
            if !matches!(own.mode, Mode::Breaking | Mode::AtBound) {
                margin = margin.min(kink.margin);
                closed += usize::from(kink.closed);
            }
        }

        let unknowns = unknowns(&rows, &locals, &sigma);
        let m = unknowns.len();
        let (mut push, mut equations) = (Grid::zeros(n_v, m), Grid::zeros(m, n_v));
        let mut column = Pooled::zeros(n_v);
        for (i, unknown) in unknowns.iter().enumerate() {
            column.fill(0.0);
            unknown.add_direction(&y, &mut column);
            column.iter().enumerate().for_each(|(dof, x)| push[(dof, i)] = *x);
            unknown.add_equation(1.0, &rows.j, equations.row_mut(i));
        }
        let mut product = Grid::zeros(m, m);
        product.add_product(1.0, &equations, &push);
        let mut system = Pooled::zeros(m * m);
        for (i, row) in system.chunks_exact_mut(m.max(1)).enumerate() {
            row.copy_from_slice(product.row(i));
            row[i] += unknowns[i].diagonal;
        }
        let lu = Lu::new(&system, m);
        // Contacts that act come first among the constraints, in order.
        let mut count = 0;
        let acting: Vec<Option<usize>> = opening
            .iter()
            .map(|speed| {
                let own = speed.is_none().then_some(count);
                count += usize::from(own.is_some());
                own
            })
            .collect();
        let constraint_modes: Vec<Mode> = locals.iter().map(|own| own.mode).collect();
        let modes = acting.iter().map(|at| at.map_or(Mode::Breaking, |at| constraint_modes[at])).collect();
        let rank = lu.rank();
        let mut out = Self {
            members,
            n_v,
            n_u,
            rows,
            sources,
            pushed,
            unknowns,
            push,
            responses: y,
            equations,
            inverse: Inverse::Factored(lu),
            modes,
            acting,
            constraint_modes,
            drag: locals.iter().map(|own| own.drag).collect(),
            sigma,
            margin,
            closed,
            rank,
            residual: 0.0,
            momentum: OnceCell::new(),
        };
        out.certify(&system);
        out
    }

    /// How well the linear system is solved. Where constraints are redundant: whether it has a solution for whatever goes
    /// in, and whether all of them do the same; otherwise the pseudo-inverse takes over.
    fn certify(&mut self, system: &[f64]) {
        let m = self.unknowns.len();
        let Inverse::Factored(lu) = &self.inverse else { return };
        if self.rank == m {
            self.residual = left_over(system, lu, m);
            return;
        }
        let largest = |x: &[f64]| x.iter().fold(0.0, |l: f64, x| l.max(x.abs()));
        let mut residual: f64 = 0.0;
        for z in lu.left_null() {
            // What a combination of equations that says nothing of impulses says of all that goes in, beside what the
            // heaviest of them says alone.
            let heaviest = (0..m).max_by(|&a, &b| z[a].abs().total_cmp(&z[b].abs())).unwrap_or(0);
            let mut alone = vec![0.0; m];
            alone[heaviest] = z[heaviest];
            for (sum, one) in self.says(&z).iter().zip(&self.says(&alone)) {
                let (sum, one) = (largest(sum), largest(one));
                if sum > 0.0 {
                    residual = residual.max(if one > 0.0 { sum / one } else { f64::INFINITY });
                }
            }
        }
        for x in lu.null() {
            let moved: Vec<f64> = (0..self.n_v).map(|i| dot(self.push.row(i), &x)).collect();
            residual = residual.max(largest(&moved) / (self.push.largest() * largest(&x)).max(f64::MIN_POSITIVE));
        }
        self.residual = residual;
        if residual > LARGEST_RESIDUAL || residual.is_nan() {
            self.inverse = Inverse::pseudo(system, m, SMALLEST_PIVOT);
        }
    }

    /// `z^T (L J A^-1 dF + L ds)`, by q, v and ctrl.
    fn says(&self, z: &[f64]) -> [Vec<f64>; 3] {
        let mut force = vec![0.0; self.n_v];
        self.equations.add_transposed_times(1.0, z, &mut force);
        let mut out = [vec![0.0; self.n_v], vec![0.0; self.n_v], vec![0.0; self.n_u]];
        // What is asked once is asked again: for more combinations, and in the end for all of the derivative.
        solve(&self.members, &mut force);
        self.momentum().add_back(&force, out.each_mut().map(Vec::as_mut_slice));
        let parts = [&self.rows.by_q, &self.rows.by_v, &self.rows.by_ctrl];
        parts.into_iter().zip(&mut out).for_each(|(rows, to)| self.add_rows_back(1.0, z, rows, to));
        out
    }

    /// Adds `force^T dF + a z^T L ds` by q, v and ctrl.
    fn add_back(&self, force: &[f64], z: &[f64], a: f64, [by_q, by_v, by_ctrl]: [&mut [f64]; 3]) {
        if let Some(momentum) = self.momentum.get() {
            momentum.add_back(force, [&mut *by_q, &mut *by_v, &mut *by_ctrl]);
        } else {
            for member in &self.members {
                let (n, n_u) = (member.forward.n_v(), member.forward.tree.actuators.len());
                let (dofs, controls) = (member.at[0]..member.at[0] + n, member.at[1]..member.at[1] + n_u);
                let to = [&mut by_q[dofs.clone()], &mut by_v[dofs.clone()], &mut by_ctrl[controls]];
                momentum_product(&member.forward, &member.after, &member.fixed, &force[dofs], to);
            }
            self.pushed.add_transposed_times(1.0, force, by_q);
        }
        for (rows, to) in [(&self.rows.by_q, by_q), (&self.rows.by_v, by_v), (&self.rows.by_ctrl, by_ctrl)] {
            self.add_rows_back(a, z, rows, to);
        }
    }

    /// dF by q, by v and by ctrl, with v+ and the impulses held; by tau it is h.
    pub(crate) fn momentum(&self) -> &Momentum {
        self.momentum.get_or_init(|| Momentum::new(&self.members, &self.pushed, self.n_u))
    }

    /// `to += a z^T L M` for a part of ds.
    fn add_rows_back(&self, a: f64, z: &[f64], m: &Grid, to: &mut [f64]) {
        self.unknowns.iter().zip(z).filter(|(_, z)| **z != 0.0).for_each(|(u, z)| u.add_equation(a * z, m, to));
    }

    /// dv+ by q, v, tau and ctrl. With `K = A^-1 - P B^-1 L J A^-1`, P the push, `dv+ = K dF - P B^-1 L ds`. And the largest
    /// change of a velocity by a force, and a bound on that by a control, without constraints.
    pub(crate) fn dense(&self) -> ([Grid; 4], [f64; 2]) {
        let response = self.members.iter().map(|m| m.inverse.largest()).fold(0.0, f64::max);
        let h = self.members.iter().map(|m| m.forward.h()).fold(0.0, f64::max);
        let dynamics = self.momentum();
        let k = self.mobility();
        let parts =
            [(&dynamics.q, &self.rows.by_q), (&dynamics.v, &self.rows.by_v), (&dynamics.ctrl, &self.rows.by_ctrl)];
        let [q, v, ctrl] = parts.map(|(momentum, rows)| {
            let mut dv = Grid::zeros(self.n_v, momentum.width());
            dv.add_product(1.0, &k, momentum);
            if !self.unknowns.is_empty() && !rows.is_zero() {
                self.hold_back(rows, Grid::zeros(self.unknowns.len(), momentum.width()), &mut dv);
            }
            dv
        });
        let tau = self.by_tau(k);
        ([q, v, tau, ctrl], [h * response, dynamics.ctrl.largest() * response])
    }

    /// `A^-1 - P B^-1 L J A^-1`
    fn mobility(&self) -> Grid {
        let (n, m) = (self.n_v, self.unknowns.len());
        let mut k = Grid::zeros(n, n);
        for member in &self.members {
            let (first, n) = (member.at[0], member.forward.n_v());
            (0..n).for_each(|i| k.row_mut(first + i)[first..first + n].copy_from_slice(member.inverse.row(i)));
        }
        if m > 0 {
            self.hold_back(&self.responses, Grid::zeros(m, n), &mut k);
        }
        k
    }

    /// Adds `-P B^-1 (L rows + rest)` to dv+.
    fn hold_back(&self, rows: &Grid, rest: Grid, dv: &mut Grid) {
        let mut x = rest;
        self.unknowns.iter().enumerate().for_each(|(i, u)| u.add_equation(1.0, rows, x.row_mut(i)));
        self.inverse.solve_all(&mut x);
        dv.add_product(-1.0, &self.push, &x);
    }

    /// From what forces do, times h of their trees.
    fn by_tau(&self, mut k: Grid) -> Grid {
        for member in &self.members {
            let (first, h) = (member.at[0], member.forward.h());
            for i in 0..self.n_v {
                k.row_mut(i)[first..first + member.forward.n_v()].iter_mut().for_each(|x| *x *= h);
            }
        }
        k
    }

    /// dq+ of the island by an input, from dv+ by it; `own`: the input is q.
    pub(crate) fn integrated(&self, dv: &Grid, own: bool) -> Grid {
        let mut dq = Grid::zeros(self.n_v, dv.width());
        for member in &self.members {
            integrate(&member.forward, &member.after, member.at[0], dv, own, &mut dq);
        }
        dq
    }

    /// dq+ and dv+ for a given dF, `[n_v]`, and ds, by row.
    pub(crate) fn along(&self, force: Vec<f64>, rows: &[f64]) -> [Vec<f64>; 2] {
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
        let mut dq = vec![0.0; self.n_v];
        for member in &self.members {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            integrate_along(&member.forward, &member.after, &dv[own.clone()], &mut dq[own]);
        }
        [dq, dv]
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
            integrate_back(&member.forward, &member.after, after_q, &mut v[own], q);
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
