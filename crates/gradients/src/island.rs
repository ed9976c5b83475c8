//! Derivatives of the step of one island: trees that share constraints, or one tree alone.

use nalgebra::{DMatrix, DVector};

use crate::constraint::{Constraint, Rows};
use crate::contact::{
    BlockInput, ContactInput, Member, Motion, add_block, add_block_impulse, add_contact, add_contact_impulse, opening,
};
use crate::integrate::integrate;
use crate::mode::{Mode, mode};
use crate::momentum::momentum_derivative;
use crate::reduced::{Inverse, Reduced};
use crate::row::add_row;
use crate::tree::{Forward, TreeInput};
use manyworlds_shaders::contact::tree_layout::row;
use manyworlds_shaders::dynamics::tree::SPATIAL;

/// What an island consists of, by numbers in the world.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) trees: Vec<usize>,
    pub(crate) contacts: Vec<usize>,
    pub(crate) blocks: Vec<usize>,
}

/// Derivatives of an island; columns are its own dofs (then its controls).
pub(crate) struct IslandStep {
    /// By q, v, tau: dq+ and dv+.
    pub(crate) dq: [DMatrix<f64>; 3],
    pub(crate) dv: [DMatrix<f64>; 3],
    /// By ctrl.
    pub(crate) dq_dctrl: DMatrix<f64>,
    pub(crate) dv_dctrl: DMatrix<f64>,
    /// Modes of its contacts, in the order of [`Parts::contacts`].
    pub(crate) modes: Vec<Mode>,
    /// Smallest margin, m/s.
    pub(crate) margin: f64,
    /// Unknown impulses, and how many of them are independent.
    pub(crate) size: usize,
    pub(crate) rank: usize,
    /// Largest left-over of the linear system, relative.
    pub(crate) residual: f64,
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
        let motion = Motion::new(&forward, &vec![0.0; n_v]);
        members.push(Member { forward, at, after: vec![0.0; n_v], motion, before, fixed: vec![0.0; SPATIAL * n_body] });
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
            forward.for_dofs(b, |i| {
                let s = &forward.motion[SPATIAL * i..SPATIAL * (i + 1)];
                after[i] += s.iter().zip(f).map(|(s, f)| s * f).sum::<f64>();
            });
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

/// `A X = X` for an island, column by column.
fn solve(members: &[Member], x: &mut DMatrix<f64>) {
    let n = x.nrows();
    for column in x.as_mut_slice().chunks_exact_mut(n.max(1)) {
        for member in members {
            member.forward.solve(&mut column[member.at[0]..member.at[0] + member.forward.n_v()]);
        }
    }
}

/// Derivatives of one island.
pub(crate) fn island_step(
    trees: &[TreeInput],
    contacts: &[ContactInput],
    blocks: &[BlockInput],
    parts: &Parts,
) -> IslandStep {
    let mut members = members(trees, parts);
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
    let n_row: usize = members.iter().map(|m| (0..m.forward.tree.rows.len()).filter(|&i| active(m, i)).count()).sum();
    let opening: Vec<_> = parts.contacts.iter().map(|&c| opening(&members, place, &contacts[c])).collect();
    let n_closed = opening.iter().filter(|speed| speed.is_none()).count();
    let mut rows = Rows::new(3 * (n_closed + parts.blocks.len()) + n_row, n_v, n_u);
    let (mut by_q, mut by_v) = (DMatrix::zeros(n_v, n_v), DMatrix::zeros(n_v, n_v));
    let mut by_ctrl = DMatrix::zeros(n_v, n_u);
    for (&c, _) in parts.contacts.iter().zip(&opening).filter(|(_, speed)| speed.is_none()) {
        add_contact(&members, place, &contacts[c], &mut rows, &mut by_q);
    }
    for &b in &parts.blocks {
        add_block(&members, place, &blocks[b], &mut rows, &mut by_q);
    }
    for member in &members {
        let [first, control] = member.at;
        let n = member.forward.n_v();
        let own = momentum_derivative(&member.forward, &member.after, &member.fixed);
        let mut view = by_q.view_mut((first, first), (n, n));
        view += own.q;
        by_v.view_mut((first, first), (n, n)).copy_from(&own.v);
        by_ctrl.view_mut((first, control), own.ctrl.shape()).copy_from(&own.ctrl);
        for i in (0..member.forward.tree.rows.len()).filter(|&i| active(member, i)) {
            add_row(&member.forward, i, &member.after, member.at, &mut rows, &mut by_q);
        }
    }

    // Modes at the solution.
    let after = DVector::from_iterator(n_v, members.iter().flat_map(|m| m.after.iter().copied()));
    let mut sigma = &rows.j * &after;
    let mut y = rows.j.transpose();
    solve(&members, &mut y);
    let mut modes = Vec::with_capacity(rows.constraints.len());
    let mut margin = opening.iter().flatten().fold(f64::INFINITY, |least: f64, &speed| least.min(speed));
    for Constraint { first, law, impulse, bias, smooth } in &rows.constraints {
        let n = law.rows();
        (0..n).for_each(|k| sigma[first + k] += bias[k]);
        let trace: f64 = (0..n).map(|k| rows.j.row(first + k).transpose().dot(&y.column(first + k))).sum();
        let own = std::array::from_fn(|k| if k < n { sigma[first + k] } else { 0.0 });
        let (mode, distance) = mode(*law, *impulse, own, trace / n as f64);
        modes.push(mode);
        margin = margin.min(distance);
        // The bias of a constraint that carries nothing has no say.
        if !matches!(mode, Mode::Breaking | Mode::AtBound) {
            margin = margin.min(*smooth);
        }
    }

    // dv+ = T r - U s with U = A^-1 J^T R B^-1 L and T = A^-1 - U J A^-1.
    let reduced = Reduced::new(&rows, &modes, &sigma);
    let y = y * &reduced.directions;
    let equations = &reduced.equations * &rows.j;
    let mut b = &equations * &y;
    (0..b.nrows()).for_each(|i| b[(i, i)] += reduced.diagonal[i]);
    let mut t = DMatrix::identity(n_v, n_v);
    solve(&members, &mut t);
    let (inverse, rank) = Inverse::new(b.clone());
    let mut residual: f64 = 0.0;
    // What the impulses along R do to dv+, for a right-hand side of the linear system.
    let mut impulses = |rhs: DMatrix<f64>| {
        let mut x = rhs.clone();
        inverse.solve(&mut x);
        residual = residual.max((&b * &x - &rhs).amax() / rhs.amax().max(f64::MIN_POSITIVE));
        &y * x
    };
    let mut dv = if b.nrows() == 0 {
        [&t * by_q, &t * by_v, t.clone()]
    } else {
        t -= impulses(&equations * &t);
        let mut through = |r: DMatrix<f64>, s: &DMatrix<f64>| {
            let mut dv = &t * r;
            if s.iter().any(|&x| x != 0.0) {
                dv -= impulses(&reduced.equations * s);
            }
            dv
        };
        [through(by_q, &rows.by_q), through(by_v, &rows.by_v), t.clone()]
    };
    let mut dv_dctrl = &t * by_ctrl;
    if b.nrows() > 0 && rows.by_ctrl.iter().any(|&x| x != 0.0) {
        dv_dctrl -= impulses(&reduced.equations * &rows.by_ctrl);
    }
    for member in &members {
        dv[2].columns_mut(member.at[0], member.forward.n_v()).scale_mut(member.forward.h());
    }
    let end = |dv: &DMatrix<f64>, own: bool| {
        let mut out = DMatrix::zeros(dv.nrows(), dv.ncols());
        for m in &members {
            integrate(&m.forward, &m.after, m.at[0], dv, own.then_some(m.at[0]), &mut out);
        }
        out
    };
    // Contacts that act come first among the constraints, in order.
    let mut closed = modes.into_iter();
    let modes = opening.iter().map(|speed| match speed {
        Some(_) => Mode::Breaking,
        None => closed.next().unwrap_or(Mode::Breaking),
    });
    let modes = modes.collect();
    IslandStep {
        dq: [end(&dv[0], true), end(&dv[1], false), end(&dv[2], false)],
        dq_dctrl: end(&dv_dctrl, false),
        dv,
        dv_dctrl,
        modes,
        margin,
        size: b.nrows(),
        rank,
        residual,
    }
}
