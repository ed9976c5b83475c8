//! The step of one island, trees that share constraints or one tree alone, linearised at its solution:
//! `A dv+ = dF + J^T R x`, `B x = -L (J A^-1 dF + ds)` with dF and ds linear in what goes in.

use std::cell::OnceCell;

use manyworlds_shaders::contact::tree_layout::row;
use manyworlds_shaders::dynamics::tree::SPATIAL;

use crate::block::{add_block, add_block_impulse};
use crate::compliance::{Source, add_compliance};
use crate::constraint::{Constraint, Rows};
use crate::contact::{Member, Motion, add_contact, add_contact_impulse, opening};
use crate::dense::Dynamics;
use crate::grid::{Grid, dot};
use crate::lu::{Lu, SMALLEST_PIVOT};
use crate::mode::{Local, Mode, local};
use crate::pool::Pooled;
use crate::reduced::{Inverse, Unknown, left_over, unknowns};
use crate::row::{add_row, leaving};
use crate::step::StepInput;
use crate::tree::Forward;

/// Left-overs above this mean that the linear system has no solution.
pub const LARGEST_RESIDUAL: f64 = 1e-6;

/// What an island consists of, by numbers in the world.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) trees: Vec<usize>,
    /// Bodies that deform.
    pub(crate) sparse: Vec<usize>,
    pub(crate) contacts: Vec<usize>,
    pub(crate) blocks: Vec<usize>,
}

/// What is left of the linear system of an island, relative.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LeftOver {
    /// For changes of velocities, forces and controls.
    pub(crate) solution: f64,
    /// For those of q.
    pub(crate) by_q: f64,
    /// Of what different solutions do to the motion.
    pub(crate) motion: f64,
}

impl LeftOver {
    pub(crate) fn largest(self) -> f64 {
        self.solution.max(self.by_q).max(self.motion)
    }

    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            solution: self.solution.max(other.solution),
            by_q: self.by_q.max(other.by_q),
            motion: self.motion.max(other.motion),
        }
    }
}

/// A linearised island; columns are its own dofs (then its controls).
pub(crate) struct Island<'a> {
    pub(crate) members: Vec<Member<'a>>,
    pub(crate) n_v: usize,
    pub(crate) n_u: usize,
    /// What its constraints are made of.
    pub(crate) rows: Rows,
    /// J, `[rows, n_v]`.
    pub(crate) j: Grid,
    /// Where its constraints come from.
    pub(crate) sources: Vec<Source<'a>>,
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
    pub(crate) left: LeftOver,
    /// [`Island::dynamics`], once it was asked for.
    pub(crate) dynamics: OnceCell<Dynamics>,
}

/// Dofs and controls of an island, and its trees with everything at the start of the step.
pub(crate) fn members<'a>(input: &StepInput<'a>, parts: &Parts) -> Vec<Member<'a>> {
    let mut at = [0, 0];
    let mut members = Vec::with_capacity(parts.trees.len());
    let bounces = parts.contacts.iter().any(|&c| input.contacts[c].restitution > 0.0);
    for &tree in &parts.trees {
        let forward = Forward::new(&input.trees[tree], input.single);
        let (n_v, n_u, n_body) = (forward.n_v(), forward.tree.actuators.len(), forward.tree.bodies.len());
        let before = if bounces { Motion::new(&forward, forward.v()) } else { Motion::default() };
        // v+ is known once all impulses are.
        let (motion, after, fixed) = (Motion::default(), Pooled::default(), Pooled::zeros(SPATIAL * n_body));
        members.push(Member { forward, at, after, inverse: OnceCell::new(), motion, before, fixed });
        at = [at[0] + n_v, at[1] + n_u];
    }
    members
}

/// v+ from the impulses: `A v+ = b + J^T lambda`.
pub(crate) fn velocities(members: &mut [Member]) {
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

/// `J A^-1`.
pub(crate) fn responses(members: &[Member], j: &Grid) -> Grid {
    let mut x = j.transposed();
    members.iter().for_each(|member| member.forward.solve_rows(member.at[0], &mut x));
    x.transposed()
}

/// What the constraints of an island are at the solution.
pub(crate) struct Settled {
    pub(crate) locals: Vec<Local>,
    /// Smallest margin, m/s.
    pub(crate) margin: f64,
    /// Constraints that act at a gap just closed.
    pub(crate) closed: usize,
}

/// `sigma`: `J v+`, to which the biases are added; `margin`: of what has no say; `trace`: of the block of `J A^-1 J^T` at some
/// rows, over their number.
pub(crate) fn settle(
    constraints: &[Constraint],
    sigma: &mut [f64],
    margin: f64,
    trace: impl Fn(usize, usize) -> f64,
) -> Settled {
    let mut out = Settled { locals: Vec::with_capacity(constraints.len()), margin, closed: 0 };
    for constraint @ Constraint { first, bias, kink, .. } in constraints {
        let n = constraint.law.rows();
        (0..n).for_each(|k| sigma[first + k] += bias[k]);
        let own = std::array::from_fn(|k| if k < n { sigma[first + k] } else { 0.0 });
        let own = local(constraint, own, trace(*first, n));
        out.locals.push(own);
        out.margin = out.margin.min(own.margin);
        // The bias of a constraint that carries nothing has no say.
        if !matches!(own.mode, Mode::Breaking | Mode::AtBound) {
            out.margin = out.margin.min(kink.margin);
            out.closed += usize::from(kink.closed);
        }
    }
    out
}

/// Constraint of each contact: those that act come first among the constraints, in order. `opening`: speeds of those that have
/// no say.
pub(crate) fn acting(opening: &[Option<f64>]) -> Vec<Option<usize>> {
    let mut count = 0;
    opening
        .iter()
        .map(|speed| {
            let own = speed.is_none().then_some(count);
            count += usize::from(own.is_some());
            own
        })
        .collect()
}

impl<'a> Island<'a> {
    /// `whole`: all of its derivative is wanted, not products alone.
    pub(crate) fn new(input: &StepInput<'a>, parts: &Parts, whole: bool) -> Self {
        let (contacts, blocks, model) = (input.contacts, input.blocks, input.model);
        let mut members = members(input, parts);
        let place = |tree: usize| parts.trees.iter().position(|&t| t == tree).unwrap_or(0);
        for &c in &parts.contacts {
            add_contact_impulse(&mut members, &mut [], place, &contacts[c]);
        }
        for &b in &parts.blocks {
            add_block_impulse(&mut members, place, &blocks[b]);
        }
        velocities(&mut members);

        let n_v: usize = members.iter().map(|m| m.forward.n_v()).sum();
        let n_u: usize = members.iter().map(|m| m.forward.tree.actuators.len()).sum();
        let opening: Vec<_> =
            parts.contacts.iter().map(|&c| opening(&members, &[], place, &contacts[c], model)).collect();
        let mut opening_margin = opening.iter().flatten().fold(f64::INFINITY, |least: f64, &speed| least.min(speed));
        let mut rows = Rows::default();
        let mut sources = Vec::new();
        for (&c, _) in parts.contacts.iter().zip(&opening).filter(|(_, speed)| speed.is_none()) {
            sources.push(Source::Contact(&contacts[c]));
            add_contact(&members, &[], place, (&contacts[c], model), &mut rows);
        }
        for &b in &parts.blocks {
            sources.push(Source::Block(&blocks[b]));
            add_block(&members, place, &blocks[b], &mut rows);
        }
        for (m, member) in members.iter().enumerate() {
            let active = |i: &usize| member.forward.row(*i)[row::ACTIVE] > 0.0;
            for i in (0..member.forward.tree.rows.len()).filter(active) {
                if let Some(speed) = leaving(&member.forward, i, &member.after) {
                    opening_margin = opening_margin.min(speed);
                    continue;
                }
                sources.push(Source::Row { member: m, index: i });
                add_row(&member.forward, i, &member.after, member.at, &mut rows);
            }
        }
        let Rows { constraints, by_q: slopes, .. } = &mut rows;
        add_compliance(&members, &place, &sources, model, constraints, |row, dof, x| slopes.push((row, dof, x)));

        // Modes at the solution.
        let after: Vec<f64> = members.iter().flat_map(|m| m.after.iter().copied()).collect();
        let j = rows.jacobian(&members, n_v);
        let mut sigma: Vec<f64> = (0..j.height()).map(|r| dot(j.row(r), &after)).collect();
        let y = responses(&members, &j);
        let trace =
            |first: usize, n: usize| (first..first + n).map(|r| dot(j.row(r), y.row(r))).sum::<f64>() / n as f64;
        let Settled { locals, margin, closed } = settle(&rows.constraints, &mut sigma, opening_margin, trace);

        let unknowns = unknowns(&rows.constraints, &locals, &sigma);
        let m = unknowns.len();
        let (mut push, mut equations) = (Grid::zeros(n_v, m), Grid::zeros(m, n_v));
        let mut column = Pooled::zeros(n_v);
        for (i, unknown) in unknowns.iter().enumerate() {
            column.fill(0.0);
            unknown.add_direction(&y, &mut column);
            column.iter().enumerate().for_each(|(dof, x)| push[(dof, i)] = *x);
            unknown.add_equation(1.0, &j, equations.row_mut(i));
        }
        let mut product = Grid::zeros(m, m);
        product.add_product(1.0, &equations, &push);
        let mut system = Pooled::zeros(m * m);
        for (i, row) in system.chunks_exact_mut(m.max(1)).enumerate() {
            row.copy_from_slice(product.row(i));
            row[i] += unknowns[i].diagonal;
        }
        let lu = Lu::new(&system, m);
        let acting = acting(&opening);
        let constraint_modes: Vec<Mode> = locals.iter().map(|own| own.mode).collect();
        let modes = acting.iter().map(|at| at.map_or(Mode::Breaking, |at| constraint_modes[at])).collect();
        let rank = lu.rank();
        let mut out = Self {
            members,
            n_v,
            n_u,
            rows,
            j,
            sources,
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
            left: LeftOver::default(),
            dynamics: OnceCell::new(),
        };
        if whole {
            out.dynamics();
        }
        out.certify(&system);
        out
    }

    /// How well the linear system is solved. Where constraints are redundant: whether it has a solution for whatever goes
    /// in, and whether all of them do the same; otherwise the pseudo-inverse takes over.
    fn certify(&mut self, system: &[f64]) {
        let m = self.unknowns.len();
        let Inverse::Factored(lu) = &self.inverse else { return };
        if self.rank == m {
            self.left.solution = left_over(system, lu, m);
            return;
        }
        let largest = |x: &[f64]| x.iter().fold(0.0, |l: f64, x| l.max(x.abs()));
        let mut left = LeftOver::default();
        for z in lu.left_null() {
            // What a combination of equations that says nothing of impulses says of all that goes in, beside what the
            // heaviest of them says alone.
            let heaviest = (0..m).max_by(|&a, &b| z[a].abs().total_cmp(&z[b].abs())).unwrap_or(0);
            let said = self.says(&z);
            let alone = (z.iter().filter(|&&x| x != 0.0).count() > 1).then(|| {
                let mut alone = vec![0.0; m];
                alone[heaviest] = z[heaviest];
                self.says(&alone)
            });
            for (part, (sum, one)) in said.iter().zip(alone.as_ref().unwrap_or(&said)).enumerate() {
                let (sum, one) = (largest(sum), largest(one));
                let most = if part == 0 { &mut left.by_q } else { &mut left.solution };
                if sum > 0.0 {
                    *most = most.max(if one > 0.0 { sum / one } else { f64::INFINITY });
                }
            }
        }
        for x in lu.null() {
            let moved: Vec<f64> = (0..self.n_v).map(|i| dot(self.push.row(i), &x)).collect();
            let all = (self.push.largest() * largest(&x)).max(f64::MIN_POSITIVE);
            left.motion = left.motion.max(largest(&moved) / all);
        }
        self.left = left;
        if left.largest() > LARGEST_RESIDUAL {
            self.inverse = Inverse::pseudo(system, m, SMALLEST_PIVOT);
        }
    }
}
