//! The step of an island too large for dense matrices, or with bodies that deform, linearised at its solution: each
//! constraint has its rows over the dofs it touches, subsystems their own derivatives, and the system of the impulses is known by its products with vectors,
//! through their factors. The equations are those of [`crate::island`].

use manyworlds_shaders::contact::tree_layout::row;
use nalgebra::Matrix3;

use crate::block::{add_block, add_block_impulse};
use crate::compliance::{Source, add_compliance};
use crate::constraint::{Constraint, Entry, Rows};
use crate::contact::{Member, add_contact, add_contact_impulse, opening};
use crate::grid::{Grid, axpy, dot};
use crate::integrate::{carried, integrate_along, integrate_back};
use crate::island::{Parts, Settled, acting, members, settle, velocities};
use crate::krylov::{self, Left, Operator};
use crate::mode::Mode;
use crate::momentum::Momentum;
use crate::reduced::{Unknown, unknowns};
use crate::row::{add_row, leaving};
use crate::sparse::Deformable;
use crate::step::StepInput;

/// Products of an island's system for one solve at most.
const MOST_PRODUCTS: usize = 20_000;

/// A constraint's rows over its dofs.
struct Link {
    /// Of the island; as many columns as there are of them count.
    dofs: Vec<usize>,
    /// `[rows, dofs]`
    j: Grid,
    /// Change of `sigma^` while v+ is held: by q, by the velocity before.
    by_q: Grid,
    by_v: Grid,
    /// First control of its tree, and the change by its controls; none for what is no row.
    by_ctrl: Option<(usize, Grid)>,
    /// What the motion of `J^T lambda` adds to dF by q, `[dofs, dofs]`; none if nothing.
    push: Option<Grid>,
}

impl Link {
    /// Of a constraint between bodies, the only one of `rows`.
    fn of_bodies(members: &[Member], rows: &Rows) -> Option<Self> {
        let (_, form) = rows.forms.first()?;
        let dofs = form.dofs(members);
        let (n, height) = (dofs.len(), rows.height());
        let at = |dof: usize| dofs.binary_search(&dof).unwrap_or_default();
        let zeros = || Grid::zeros(height, n);
        let (mut j, mut by_q, mut by_v, mut push) = (zeros(), zeros(), zeros(), Grid::zeros(n, n));
        form.add_rows(members, at, 0, &mut j);
        form.add_slopes(members, at, 0, &mut by_q, &mut by_v);
        form.add_push(members, at, &mut push);
        Some(Self { dofs, j, by_q, by_v, by_ctrl: None, push: (!push.is_zero()).then_some(push) })
    }

    /// Of a row of a tree, the only one of `rows`, over the tree's own dofs.
    fn of_row(member: &Member, rows: &Rows) -> Self {
        let (n, n_u) = (member.forward.n_v(), member.forward.tree.actuators.len());
        let filled = |height: usize, width: usize, entries: &[Entry]| {
            let mut out = Grid::zeros(height, width);
            entries.iter().for_each(|&(row, column, x)| out[(row, column)] += x);
            out
        };
        Self {
            dofs: (member.at[0]..member.at[0] + n).collect(),
            j: filled(1, n, &rows.j),
            by_q: filled(1, n, &rows.by_q),
            by_v: Grid::zeros(1, n),
            by_ctrl: (!rows.by_ctrl.is_empty()).then(|| (member.at[1], filled(1, n_u, &rows.by_ctrl))),
            push: (!rows.push.is_empty()).then(|| filled(n, n, &rows.push)),
        }
    }

    /// Row of a matrix times a vector of the island.
    fn times(&self, m: &Grid, r: usize, x: &[f64]) -> f64 {
        self.dofs.iter().zip(m.row(r)).map(|(&dof, m)| m * x[dof]).sum()
    }

    /// Adds a row of a matrix, times a number, to a vector of the island.
    fn add(&self, m: &Grid, r: usize, a: f64, to: &mut [f64]) {
        self.dofs.iter().zip(m.row(r)).for_each(|(&dof, m)| to[dof] += a * m);
    }
}

/// A large island; columns are its own dofs (then its controls).
pub(crate) struct Large<'a> {
    pub(crate) members: Vec<Member<'a>>,
    /// Their dofs follow those of the trees.
    deformables: Vec<Deformable<'a>>,
    pub(crate) n_v: usize,
    n_u: usize,
    /// dF of each tree by its own q, v and ctrl, with v+ and the impulses held.
    free: Vec<Momentum>,
    constraints: Vec<Constraint>,
    /// By constraint.
    links: Vec<Link>,
    /// What compliance adds to `sigma^` by q: row, dof, value.
    given: Vec<(usize, usize, f64)>,
    pub(crate) unknowns: Vec<Unknown>,
    /// Constraint of each unknown.
    owners: Vec<usize>,
    /// By constraint: its first unknown, and the inverse of its own block of the system.
    blocks: Vec<(usize, usize, Matrix3<f64>)>,
    /// Whether every equation is along its own direction.
    symmetric: bool,
    n_row: usize,
    /// Modes of its contacts, in the order of [`Parts::contacts`].
    pub(crate) modes: Vec<Mode>,
    constraint_modes: Vec<Mode>,
    /// Smallest margin, m/s.
    pub(crate) margin: f64,
    /// Constraints that act at a gap just closed.
    pub(crate) closed: usize,
    /// Whether something bounces.
    pub(crate) bounces: bool,
}

/// The system of an island, or its transpose; of all unknowns or of some.
struct System<'s, 'a> {
    island: &'s Large<'a>,
    transposed: bool,
    /// Which unknowns count; empty: all.
    kept: &'s [bool],
}

impl System<'_, '_> {
    fn counts(&self, i: usize) -> bool {
        self.kept.get(i).copied().unwrap_or(true)
    }
}

impl Operator for System<'_, '_> {
    fn apply(&self, x: &[f64], y: &mut [f64]) {
        let island = self.island;
        let mut f = vec![0.0; island.n_v];
        island.pushed(x, self.transposed, &mut f);
        island.respond(&mut f);
        island.said(&f, self.transposed, y);
        for (i, (y, x)) in y.iter_mut().zip(x).enumerate() {
            *y = if self.counts(i) { *y + island.unknowns[i].diagonal * x } else { 0.0 };
        }
    }

    fn precondition(&self, x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        for (first, count, inverse) in &self.island.blocks {
            for r in 0..*count {
                for c in 0..*count {
                    let entry = if self.transposed { inverse[(c, r)] } else { inverse[(r, c)] };
                    y[first + r] += entry * x[first + c];
                }
            }
        }
        (0..y.len()).filter(|&i| !self.counts(i)).for_each(|i| y[i] = 0.0);
    }

    fn symmetric(&self) -> bool {
        self.island.symmetric
    }
}

impl<'a> Large<'a> {
    pub(crate) fn new(input: &StepInput<'a>, parts: &Parts) -> Self {
        let (contacts, blocks, model) = (input.contacts, input.blocks, input.model);
        let mut members = members(input, parts);
        let mut index = vec![0; input.trees.len()];
        parts.trees.iter().enumerate().for_each(|(member, &tree)| index[tree] = member);
        let place = |tree: usize| index[tree];
        let mut n_v: usize = members.iter().map(|m| m.forward.n_v()).sum();
        let mut deformables = Vec::with_capacity(parts.sparse.len());
        for &number in &parts.sparse {
            deformables.push(Deformable::new(input.sparse[number], number, n_v, input.single));
            n_v += input.sparse[number].b.len();
        }
        for &c in &parts.contacts {
            add_contact_impulse(&mut members, &mut deformables, place, &contacts[c]);
        }
        for &b in &parts.blocks {
            add_block_impulse(&mut members, place, &blocks[b]);
        }
        velocities(&mut members);
        deformables.iter_mut().for_each(Deformable::settle);
        let opening = |&c: &usize| opening(&members, &deformables, place, &contacts[c], model);
        let opening: Vec<_> = parts.contacts.iter().map(opening).collect();

        let (mut links, mut constraints, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        let mut margin = opening.iter().flatten().fold(f64::INFINITY, |least: f64, &speed| least.min(speed));
        let mut n_row = 0;
        let mut take = |mut rows: Rows, link: Option<Link>| {
            let (Some(mut constraint), Some(link)) = (rows.constraints.pop(), link) else { return };
            constraint.first = n_row;
            n_row += constraint.law.rows();
            constraints.push(constraint);
            links.push(link);
        };
        for (&c, _) in parts.contacts.iter().zip(&opening).filter(|(_, speed)| speed.is_none()) {
            let mut rows = Rows::default();
            add_contact(&members, &deformables, place, (&contacts[c], model), &mut rows);
            sources.push(Source::Contact(&contacts[c]));
            let link = Link::of_bodies(&members, &rows);
            take(rows, link);
        }
        for &b in &parts.blocks {
            let mut rows = Rows::default();
            add_block(&members, place, &blocks[b], &mut rows);
            sources.push(Source::Block(&blocks[b]));
            let link = Link::of_bodies(&members, &rows);
            take(rows, link);
        }
        let mut free = Vec::with_capacity(members.len());
        for (m, member) in members.iter().enumerate() {
            free.push(Momentum::of_tree(member));
            for i in (0..member.forward.tree.rows.len()).filter(|&i| member.forward.row(i)[row::ACTIVE] > 0.0) {
                if let Some(speed) = leaving(&member.forward, i, &member.after) {
                    margin = margin.min(speed);
                    continue;
                }
                let mut rows = Rows::default();
                add_row(&member.forward, i, &member.after, [0, 0], &mut rows);
                sources.push(Source::Row { member: m, index: i });
                let link = Link::of_row(member, &rows);
                take(rows, Some(link));
            }
        }
        let mut given = Vec::new();
        // How compliance follows a body that deforms is not known; the certificate says so.
        if deformables.is_empty() {
            add_compliance(&members, &place, &sources, model, &mut constraints, |row, dof, x| {
                given.push((row, dof, x))
            });
        }

        let n_u: usize = members.iter().map(|m| m.forward.tree.actuators.len()).sum();
        let of_trees = members.iter().flat_map(|m| m.after.iter().copied());
        let after: Vec<f64> = of_trees.chain(deformables.iter().flat_map(|body| body.after.iter().copied())).collect();
        let mut sigma = Vec::with_capacity(n_row);
        for (link, constraint) in links.iter().zip(&constraints) {
            sigma.extend((0..constraint.law.rows()).map(|r| link.times(&link.j, r, &after)));
        }
        let owner_of_dof: Vec<usize> =
            members.iter().enumerate().flat_map(|(m, member)| vec![m; member.forward.n_v()]).collect();
        let own = |link: &Link| delassus(link, &members, &deformables, &owner_of_dof);
        let own: Vec<Matrix3<f64>> = links.iter().map(own).collect();
        let starts: Vec<usize> = constraints.iter().map(|constraint| constraint.first).collect();
        let trace = |first: usize, n: usize| starts.binary_search(&first).map_or(0.0, |at| own[at].trace()) / n as f64;
        let Settled { locals, margin, closed } = settle(&constraints, &mut sigma, margin, trace);
        let unknowns = unknowns(&constraints, &locals, &sigma);
        let owners: Vec<usize> =
            unknowns.iter().map(|u| starts.binary_search(&u.first()).unwrap_or_default()).collect();
        let symmetric = unknowns.iter().all(|u| u.parts()[0] == u.parts()[1]);
        let blocks = blocks_of(&unknowns, &owners, &own);
        let constraint_modes: Vec<Mode> = locals.iter().map(|own| own.mode).collect();
        let modes = acting(&opening).iter().map(|at| at.map_or(Mode::Breaking, |at| constraint_modes[at])).collect();
        let bounces = constraints.iter().zip(&constraint_modes).any(|(c, m)| c.approach != 0.0 && *m != Mode::Breaking);
        Self {
            members,
            deformables,
            n_v,
            n_u,
            free,
            constraints,
            links,
            given,
            unknowns,
            owners,
            blocks,
            symmetric,
            n_row,
            modes,
            constraint_modes,
            margin,
            closed,
            bounces,
        }
    }

    /// What a force, and a control, change velocities by at most without constraints, as [`crate::island::Island::dense`] says.
    pub(crate) fn free(&self) -> [f64; 2] {
        let mut out = [0.0_f64; 2];
        for (member, free) in self.members.iter().zip(&self.free) {
            let response = member.inverse().largest();
            out[0] = out[0].max(member.forward.h() * response);
            out[1] = out[1].max(free.largest_by_ctrl() * response);
        }
        for body in &self.deformables {
            // The largest entry of the inverse of a positive definite matrix is on its diagonal.
            let mut x = vec![0.0; body.n_v()];
            for i in 0..x.len() {
                x.fill(0.0);
                x[i] = 1.0;
                body.input.operator.factor().solve(&mut x);
                out[0] = out[0].max(body.h() * x[i]);
            }
        }
        out
    }

    /// `A x = x`.
    fn solve(&self, x: &mut [f64]) {
        for member in &self.members {
            let own = &mut x[member.at[0]..member.at[0] + member.forward.n_v()];
            if own.iter().any(|&x| x != 0.0) {
                member.forward.solve(own);
            }
        }
        for body in &self.deformables {
            body.input.operator.factor().solve(&mut x[body.own()]);
        }
    }

    /// The same where constraints alone act and nobody looks at what they do not touch.
    fn respond(&self, x: &mut [f64]) {
        for member in &self.members {
            let own = &mut x[member.at[0]..member.at[0] + member.forward.n_v()];
            if own.iter().any(|&x| x != 0.0) {
                member.forward.solve(own);
            }
        }
        for body in &self.deformables {
            let (operator, own) = (body.input.operator, &mut x[body.own()]);
            let mut touched: Vec<f64> = operator.touched().iter().map(|&dof| own[dof as usize]).collect();
            operator.factor().solve_reduced(&mut touched);
            operator.touched().iter().zip(touched).for_each(|(&dof, x)| own[dof as usize] = x);
        }
    }

    /// `f += J^T R x`, or `J^T L^T x`.
    fn pushed(&self, x: &[f64], transposed: bool, f: &mut [f64]) {
        for ((unknown, &owner), &x) in self.unknowns.iter().zip(&self.owners).zip(x) {
            let link = &self.links[owner];
            let part = unknown.parts()[usize::from(!transposed)];
            part.iter().enumerate().filter(|p| *p.1 != 0.0).for_each(|(r, p)| link.add(&link.j, r, x * p, f));
        }
    }

    /// `y = L J v`, or `R^T J v`.
    fn said(&self, v: &[f64], transposed: bool, y: &mut [f64]) {
        for ((unknown, &owner), y) in self.unknowns.iter().zip(&self.owners).zip(y) {
            let link = &self.links[owner];
            let part = unknown.parts()[usize::from(transposed)];
            *y = part.iter().enumerate().filter(|p| *p.1 != 0.0).map(|(r, p)| p * link.times(&link.j, r, v)).sum();
        }
    }

    /// `B x = x`, or `B^T x = x`; of some unknowns alone where `kept` says so.
    fn impulses(&self, x: &mut [f64], transposed: bool, kept: &[bool]) -> Left {
        krylov::solve(&System { island: self, transposed, kept }, x, MOST_PRODUCTS)
    }

    /// dF and ds along a change of q, v, tau (`[n_v]` each) and ctrl (`[n_u]`).
    fn changes(&self, [q, v, tau, ctrl]: [&[f64]; 4]) -> [Vec<f64>; 2] {
        let (mut force, mut rows) = (vec![0.0; self.n_v], vec![0.0; self.n_row]);
        for (member, free) in self.members.iter().zip(&self.free) {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            for (i, dof) in own.clone().enumerate() {
                force[dof] = dot(free.q.row(i), &q[own.clone()])
                    + dot(free.v.row(i), &v[own.clone()])
                    + member.forward.h() * tau[dof];
            }
            free.ctrl.iter().for_each(|&(i, k, x)| force[own.start + i] += x * ctrl[member.at[1] + k]);
        }
        for body in &self.deformables {
            let own = body.own();
            let force = &mut force[own.clone()];
            body.input.by_q.add_times(&q[own.clone()], force);
            body.input.by_v.add_times(&v[own.clone()], force);
            axpy(body.h(), &tau[own], force);
        }
        for (link, constraint) in self.links.iter().zip(&self.constraints) {
            for r in 0..constraint.law.rows() {
                let mut sum = link.times(&link.by_q, r, q) + link.times(&link.by_v, r, v);
                if let Some((first, by_ctrl)) = &link.by_ctrl {
                    sum += dot(by_ctrl.row(r), &ctrl[*first..first + by_ctrl.width()]);
                }
                rows[constraint.first + r] = sum;
            }
            if let Some(push) = &link.push {
                link.dofs.iter().enumerate().for_each(|(i, &dof)| force[dof] += link.times(push, i, q));
            }
        }
        self.given.iter().for_each(|&(row, dof, x)| rows[row] += x * q[dof]);
        [force, rows]
    }

    /// `L (J A^-1 dF + ds)`, with `A^-1 dF` given.
    fn right_hand_side(&self, dv: &[f64], rows: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.unknowns.len()];
        self.said(dv, false, &mut x);
        for (x, (unknown, &owner)) in x.iter_mut().zip(self.unknowns.iter().zip(&self.owners)) {
            let first = self.constraints[owner].first;
            *x += unknown.parts()[0].iter().zip(&rows[first..]).map(|(l, s)| l * s).sum::<f64>();
        }
        x
    }

    /// dq+ and dv+ along a change of q, v, tau and ctrl, and what the iterations left.
    pub(crate) fn ahead(&self, inputs: [&[f64]; 4]) -> ([Vec<f64>; 2], Left) {
        let [mut dv, rows] = self.changes(inputs);
        self.solve(&mut dv);
        let mut x = self.right_hand_side(&dv, &rows);
        let left = self.impulses(&mut x, false, &[]);
        let mut pushed = vec![0.0; self.n_v];
        self.pushed(&x, false, &mut pushed);
        self.solve(&mut pushed);
        dv.iter_mut().zip(pushed).for_each(|(dv, x)| *dv -= x);
        let mut dq = vec![0.0; self.n_v];
        for member in &self.members {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            carried(&member.forward, &member.after, &inputs[0][own.clone()], &mut dq[own.clone()]);
            integrate_along(&member.forward, &member.after, &dv[own.clone()], &mut dq[own]);
        }
        for body in &self.deformables {
            let own = body.own();
            dq[own.clone()].copy_from_slice(&inputs[0][own.clone()]);
            axpy(body.h(), &dv[own.clone()], &mut dq[own]);
        }
        ([dq, dv], left)
    }

    /// From the gradient of a loss by q+ and v+ (`[n_v]` each) to that by q, v, tau (`[n_v]`) and ctrl (`[n_u]`), and what
    /// the iterations left. `escape`: as [`crate::GradientRules::escape`] says.
    pub(crate) fn back(&self, after_q: &[f64], after_v: &[f64], escape: bool) -> ([Vec<f64>; 4], Left) {
        let (mut v, mut by_q) = (after_v.to_vec(), vec![0.0; self.n_v]);
        for member in &self.members {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            let (after_q, q) = (&after_q[own.clone()], &mut by_q[own.clone()]);
            integrate_back(member.forward.tree.joints, member.forward.h(), &member.after, after_q, &mut v[own], q);
        }
        for body in &self.deformables {
            let own = body.own();
            by_q[own.clone()].copy_from_slice(&after_q[own.clone()]);
            axpy(body.h(), &after_q[own.clone()], &mut v[own]);
        }
        let mut response = v.clone();
        self.solve(&mut response);
        let mut z = vec![0.0; self.unknowns.len()];
        self.said(&response, true, &mut z);
        let kept = if escape { self.kept(&response) } else { None };
        let other = kept.map(|kept| {
            let mut z: Vec<f64> = z.iter().zip(&kept).map(|(z, kept)| if *kept { *z } else { 0.0 }).collect();
            let left = self.impulses(&mut z, true, &kept);
            (self.through(by_q.clone(), v.clone(), &z), left)
        });
        let left = self.impulses(&mut z, true, &[]);
        let found = (self.through(by_q, v, &z), left);
        let size = |([_, v, tau, _], _): &([Vec<f64>; 4], Left)| dot(v, v) + dot(tau, tau);
        match other {
            Some(other) if size(&other) > size(&found) => other,
            _ => found,
        }
    }

    /// Unknowns that are left when contacts let go that hold back a loss, whose gradient by v+, solved by A, is given.
    fn kept(&self, response: &[f64]) -> Option<Vec<bool>> {
        let leaves = |at: usize| {
            matches!(self.constraint_modes[at], Mode::Sticking | Mode::Sliding)
                && self.links[at].times(&self.links[at].j, 2, response) < 0.0
        };
        let left: Vec<bool> = (0..self.constraints.len()).map(leaves).collect();
        left.contains(&true).then(|| self.owners.iter().map(|&owner| !left[owner]).collect())
    }

    /// With the adjoint z of the impulses' system: from the gradient by v+ to those by what goes in; that by q so far is
    /// given.
    fn through(&self, mut by_q: Vec<f64>, mut v: Vec<f64>, z: &[f64]) -> [Vec<f64>; 4] {
        let [mut by_v, mut by_ctrl] = [vec![0.0; self.n_v], vec![0.0; self.n_u]];
        let minus: Vec<f64> = z.iter().map(|z| -z).collect();
        self.pushed(&minus, true, &mut v);
        self.solve(&mut v);
        for (member, free) in self.members.iter().zip(&self.free) {
            let (n, n_u) = (member.forward.n_v(), member.forward.tree.actuators.len());
            let (own, controls) = (member.at[0]..member.at[0] + n, member.at[1]..member.at[1] + n_u);
            let x = &v[own.clone()];
            free.add_back(x, [&mut by_q[own.clone()], &mut by_v[own], &mut by_ctrl[controls]]);
        }
        for body in &self.deformables {
            let own = body.own();
            body.input.by_q.add_transposed_times(&v[own.clone()], &mut by_q[own.clone()]);
            body.input.by_v.add_transposed_times(&v[own.clone()], &mut by_v[own]);
        }
        // `-z^T L` by row.
        let mut rows = vec![0.0; self.n_row];
        for ((unknown, &owner), z) in self.unknowns.iter().zip(&self.owners).zip(&minus) {
            let first = self.constraints[owner].first;
            unknown.parts()[0].iter().enumerate().for_each(|(r, l)| rows[first + r] += z * l);
        }
        for (link, constraint) in self.links.iter().zip(&self.constraints) {
            for r in 0..constraint.law.rows() {
                let own = rows[constraint.first + r];
                if own == 0.0 {
                    continue;
                }
                link.add(&link.by_q, r, own, &mut by_q);
                link.add(&link.by_v, r, own, &mut by_v);
                if let Some((first, grid)) = &link.by_ctrl {
                    grid.row(r).iter().enumerate().for_each(|(k, x)| by_ctrl[first + k] += own * x);
                }
            }
            if let Some(push) = &link.push {
                link.dofs.iter().enumerate().for_each(|(i, &dof)| link.add(push, i, v[dof], &mut by_q));
            }
        }
        self.given.iter().for_each(|&(row, dof, x)| by_q[dof] += x * rows[row]);
        for member in &self.members {
            let own = member.at[0]..member.at[0] + member.forward.n_v();
            v[own].iter_mut().for_each(|x| *x *= member.forward.h());
        }
        for body in &self.deformables {
            v[body.own()].iter_mut().for_each(|x| *x *= body.h());
        }
        [by_q, by_v, v, by_ctrl]
    }

    /// Whether the constraints contradict each other: what is left over of the system for a change of everything that goes in,
    /// in a direction without pattern, by q, v and ctrl in equal parts.
    pub(crate) fn contradiction(&self) -> Left {
        let (noise, zeros) = (|n: usize, seed: u64| noise(n, seed), |n: usize| vec![0.0; n]);
        let (n, n_u) = (self.n_v, self.n_u);
        let directions = [
            [noise(n, 1), zeros(n), zeros(n), zeros(n_u)],
            [zeros(n), noise(n, 2), zeros(n), zeros(n_u)],
            [zeros(n), zeros(n), zeros(n), noise(n_u, 3)],
        ];
        let mut sum = zeros(self.unknowns.len());
        for [q, v, tau, ctrl] in &directions {
            let [mut dv, rows] = self.changes([q, v, tau, ctrl]);
            self.solve(&mut dv);
            let own = self.right_hand_side(&dv, &rows);
            let size = dot(&own, &own).sqrt();
            if size > 0.0 {
                sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own / size);
            }
        }
        self.impulses(&mut sum, false, &[])
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

/// A constraint's own block of `J A^-1 J^T`; of one row alone the first entry.
fn delassus(link: &Link, members: &[Member], deformables: &[Deformable], owner: &[usize]) -> Matrix3<f64> {
    let mut out = Matrix3::zeros();
    for body in deformables {
        let columns: Vec<usize> = (0..link.dofs.len()).filter(|&a| body.own().contains(&link.dofs[a])).collect();
        if columns.is_empty() {
            continue;
        }
        let dofs: Vec<u32> = columns.iter().map(|&a| (link.dofs[a] - body.at) as u32).collect();
        let height = link.j.height();
        let rows: Vec<f64> = (0..height).flat_map(|r| columns.iter().map(move |&a| link.j[(r, a)])).collect();
        let own = body.input.operator.compliance(&dofs, &rows);
        own.iter().enumerate().for_each(|(k, x)| out[(k / height, k % height)] += x);
    }
    for (a, &i) in link.dofs.iter().enumerate().filter(|(_, i)| **i < owner.len()) {
        let member = &members[owner[i]];
        let inverse = member.inverse().row(i - member.at[0]);
        for (b, &j) in link.dofs.iter().enumerate().filter(|(_, j)| owner.get(**j) == Some(&owner[i])) {
            let x = inverse[j - member.at[0]];
            for r in 0..link.j.height() {
                for c in 0..link.j.height() {
                    out[(r, c)] += link.j[(r, a)] * x * link.j[(c, b)];
                }
            }
        }
    }
    out
}

/// The inverses of the blocks of the system that belong to one constraint each: first unknown, how many, inverse.
fn blocks_of(unknowns: &[Unknown], owners: &[usize], own: &[Matrix3<f64>]) -> Vec<(usize, usize, Matrix3<f64>)> {
    let mut out = Vec::new();
    let mut first = 0;
    while first < unknowns.len() {
        let count = owners[first..].iter().take_while(|&&owner| owner == owners[first]).count().min(3);
        let w = &own[owners[first]];
        let mut block = Matrix3::identity();
        for r in 0..count {
            for c in 0..count {
                let [l, d] = [unknowns[first + r].parts()[0], unknowns[first + c].parts()[1]];
                let mut sum = if r == c { unknowns[first + r].diagonal } else { 0.0 };
                for (i, l) in l.iter().enumerate() {
                    for (j, d) in d.iter().enumerate() {
                        sum += l * w[(i, j)] * d;
                    }
                }
                block[(r, c)] = sum;
            }
        }
        // One that is singular is taken by its diagonal.
        let inverse =
            block.try_inverse().filter(|inverse| inverse.iter().all(|x| x.is_finite())).unwrap_or_else(|| {
                Matrix3::from_diagonal(&block.diagonal().map(|x| if x.abs() > 0.0 { 1.0 / x } else { 1.0 }))
            });
        out.push((first, count, inverse));
        first += count;
    }
    out
}
