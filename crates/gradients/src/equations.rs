//! The equations of an island at the solution of its step, whoever solves them: what its constraints are there, and which
//! impulses are free to change.
//!
//! With v+ the velocity after the step, dF the change of the momentum balance and ds that of the constraints' biased
//! velocities while v+ and the impulses are held, both linear in what goes in:
//! `A dv+ = dF + J^T R x` and `B x = -L (J A^-1 dF + ds)`, `B = L J A^-1 J^T R + D` (see [`crate::unknown`]).

use std::cell::OnceCell;
use std::ops::Range;

use manyworlds_shaders::contact::tree_layout::row;
use manyworlds_shaders::dynamics::tree::SPATIAL;

use crate::block::{add_block, add_block_impulse};
use crate::compliance::{Source, add_compliance};
use crate::contact::{add_contact, add_contact_impulse, opening};
use crate::grid::{axpy, dot};
use crate::input::StepInput;
use crate::integrate::integrate_back;
use crate::island::Island;
use crate::joined::{self, Joined};
use crate::member::{Member, Motion};
use crate::mode::{Mode, local};
use crate::model::ContactModel;
use crate::pool::Pooled;
use crate::row::{add_row, leaving};
use crate::rows::Rows;
use crate::sparse::{CarrierInput, Deformable};
use crate::unknown::{Unknown, unknowns};

/// The equations of an island; columns are its own dofs (then its controls).
pub(crate) struct Equations<'a> {
    pub(crate) island: Island,
    pub(crate) model: ContactModel,
    pub(crate) members: Vec<Member<'a>>,
    /// Bodies that deform; their dofs follow those of the members.
    pub(crate) deformables: Vec<Deformable<'a>>,
    /// [`Equations::joined`], once it was asked for.
    joined: OnceCell<Vec<Joined>>,
    pub(crate) n_v: usize,
    pub(crate) n_u: usize,
    /// The constraints that have a say: contacts, blocks, then rows of trees.
    pub(crate) rows: Rows,
    /// Where each of them comes from.
    pub(crate) sources: Vec<Source<'a>>,
    /// Mode of each, and of a sliding contact what drags along its tangents.
    pub(crate) modes: Vec<Mode>,
    pub(crate) drag: Vec<[f64; 2]>,
    /// `J v+ + e`, by row.
    pub(crate) sigma: Vec<f64>,
    pub(crate) unknowns: Vec<Unknown>,
    /// Smallest margin, m/s.
    pub(crate) margin: f64,
    /// Constraints that act at a gap just closed.
    pub(crate) closed: usize,
}

/// Solves `A x = x` of everything that moves, or tells that it cannot.
type SolveAll<'s> = dyn Fn(&[Member], &[Deformable], &mut [f64]) -> bool + 's;

/// Where v+ of an island comes from.
#[derive(Clone, Copy)]
pub(crate) enum After<'s> {
    /// It is this.
    Known(&'s [f64]),
    /// From the impulses, by this.
    Whole(&'s SolveAll<'s>),
    /// From the impulses, subsystem by subsystem.
    ByParts,
}

/// J of an island, as its solver holds it.
pub(crate) trait Rectangle {
    /// `J v`, by row.
    fn times(&self, v: &[f64]) -> Vec<f64>;
    /// Trace of the block of `J A^-1 J^T` of a constraint of `count` rows from `first` on, 1/kg.
    fn own_trace(&self, constraint: usize, first: usize, count: usize) -> f64;
}

impl<'a> Equations<'a> {
    /// `rectangle` makes J of what moves, what carries some of it, and its rows.
    pub(crate) fn new<J: Rectangle>(
        input: &StepInput<'a>,
        island: Island,
        after: After,
        rectangle: impl FnOnce(&[Member<'a>], &[Deformable<'a>], &[Joined], &Rows) -> J,
    ) -> (Self, J) {
        let (contacts, blocks, model) = (input.contacts, input.blocks, input.model);
        let place = |tree: usize| island.member_of(tree);
        let mut members = members(input, &island);
        let mut deformables = deformables(input, &island, &members);
        for &c in &island.contacts {
            add_contact_impulse(&mut members, &mut deformables, place, &contacts[c]);
        }
        for &b in &island.blocks {
            add_block_impulse(&mut members, place, &blocks[b]);
        }
        let joined = OnceCell::new();
        let velocity = if let After::Known(after) = after {
            after.to_vec()
        } else {
            let mut x = momenta(&members, &deformables, place);
            let is_solved = matches!(after, After::Whole(solve) if solve(&members, &deformables, &mut x));
            if !is_solved {
                let own = joined.get_or_init(|| joined::joined(&members, &deformables, place));
                joined::solve(&members, &deformables, own, &mut x);
            }
            x
        };
        set_velocities(&mut members, &mut deformables, &velocity);

        // Constraints, less those that open or leave their bounds: these have no say, and how fast they do is a margin.
        let (mut rows, mut sources, mut margin) = (Rows::default(), Vec::new(), f64::INFINITY);
        rows.forms.reserve(island.contacts.len() + island.blocks.len());
        for &c in &island.contacts {
            if let Some(speed) = opening(&members, &deformables, place, &contacts[c], model) {
                margin = margin.min(speed);
                continue;
            }
            sources.push(Source::Contact(c, &contacts[c]));
            add_contact(&members, &deformables, place, (&contacts[c], model), &mut rows);
        }
        for &b in &island.blocks {
            sources.push(Source::Block(&blocks[b]));
            add_block(&members, place, &blocks[b], &mut rows);
        }
        for (m, member) in members.iter().enumerate() {
            let active = |i: &usize| member.forward.row(*i)[row::ACTIVE] > 0.0;
            for i in (0..member.forward.tree.rows.len()).filter(active) {
                if let Some(speed) = leaving(&member.forward, i, &member.after) {
                    margin = margin.min(speed);
                    continue;
                }
                sources.push(Source::Row { member: m, index: i });
                add_row(&member.forward, i, &member.after, member.at, &mut rows);
            }
        }
        // How contacts with what deforms give way is not known; the certificate says so.
        if deformables.is_empty() {
            add_compliance(&members, &place, &sources, model, &mut rows);
        }

        // Modes at the solution.
        let jacobian = rectangle(&members, &deformables, joined.get().map_or(&[], Vec::as_slice), &rows);
        let of_trees = members.iter().flat_map(|m| m.after.iter());
        let after: Vec<f64> = of_trees.chain(deformables.iter().flat_map(|body| &body.after)).copied().collect();
        let mut sigma = jacobian.times(&after);
        let mut locals = Vec::with_capacity(rows.constraints.len());
        let mut closed = 0;
        for (index, constraint) in rows.constraints.iter().enumerate() {
            let (first, count) = (constraint.first, constraint.law.rows());
            (0..count).for_each(|k| sigma[first + k] += constraint.bias[k]);
            let own = std::array::from_fn(|k| if k < count { sigma[first + k] } else { 0.0 });
            let own = local(constraint, own, jacobian.own_trace(index, first, count) / count as f64);
            margin = margin.min(own.margin);
            // The bias of a constraint that carries nothing has no say.
            if !matches!(own.mode, Mode::Breaking | Mode::AtBound) {
                margin = margin.min(constraint.kink.margin);
                closed += usize::from(constraint.kink.closed);
            }
            locals.push(own);
        }
        let out = Self {
            island,
            model,
            n_v: after.len(),
            n_u: members.iter().map(|m| m.controls().len()).sum::<usize>()
                + deformables.iter().map(|body| body.controls().len()).sum::<usize>(),
            members,
            deformables,
            joined,
            unknowns: unknowns(&rows.constraints, &locals, &sigma),
            rows,
            sources,
            modes: locals.iter().map(|own| own.mode).collect(),
            drag: locals.iter().map(|own| own.drag).collect(),
            sigma,
            margin,
            closed,
        };
        (out, jacobian)
    }

    /// Writes the modes of its contacts to where those of the world stand.
    pub(crate) fn note_modes(&self, modes: &mut [Mode]) {
        self.island.contacts.iter().for_each(|&contact| modes[contact] = Mode::Breaking);
        for (source, &mode) in self.sources.iter().zip(&self.modes) {
            if let Source::Contact(contact, _) = source {
                modes[*contact] = mode;
            }
        }
    }

    /// Whether something bounces.
    pub(crate) fn bounces(&self) -> bool {
        let mut constraints = self.rows.constraints.iter().zip(&self.modes);
        constraints.any(|(constraint, mode)| constraint.approach != 0.0 && *mode != Mode::Breaking)
    }

    /// Members that carry some of the bodies that deform, with these solved.
    pub(crate) fn joined(&self) -> &[Joined] {
        let place = |tree: usize| self.island.member_of(tree);
        self.joined.get_or_init(|| joined::joined(&self.members, &self.deformables, place))
    }

    /// `A x = x`
    pub(crate) fn solve(&self, x: &mut [f64]) {
        joined::solve(&self.members, &self.deformables, self.joined(), x);
    }

    /// What carries a body that deforms and moves: dofs of the tree, of the body, and what is between them.
    pub(crate) fn carried(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>, &CarrierInput<'a>)> {
        carried(&self.members, &self.deformables, |tree| self.island.member_of(tree))
    }

    /// The same where constraints alone act and nobody looks at what they do not touch.
    pub(crate) fn solve_touched(&self, x: &mut [f64]) {
        joined::solve_touched(&self.members, &self.deformables, self.joined(), x);
    }

    /// Through the end of the step, `q+ = q (+) h v+`: from the gradient of a loss by q+ and v+ to that by v+ and by q.
    pub(crate) fn before_integration(&self, [after_q, after_v]: [&[f64]; 2]) -> [Vec<f64>; 2] {
        let (mut v, mut by_q) = (after_v.to_vec(), vec![0.0; self.n_v]);
        for member in &self.members {
            let (own, forward) = (member.dofs(), &member.forward);
            let (after_q, q) = (&after_q[own.clone()], &mut by_q[own.clone()]);
            integrate_back(forward.tree.joints, forward.h(), &member.after, after_q, &mut v[own], q);
        }
        for body in &self.deformables {
            let own = body.dofs();
            by_q[own.clone()].copy_from_slice(&after_q[own.clone()]);
            axpy(body.h(), &after_q[own.clone()], &mut v[own]);
        }
        [v, by_q]
    }

    /// From the gradient by momenta to that by forces.
    pub(crate) fn scale_by_time_steps(&self, x: &mut [f64]) {
        for member in &self.members {
            x[member.dofs()].iter_mut().for_each(|x| *x *= member.forward.h());
        }
        for body in &self.deformables {
            x[body.dofs()].iter_mut().for_each(|x| *x *= body.h());
        }
    }

    /// v+ by dof.
    pub(crate) fn after(&self) -> impl Iterator<Item = &f64> {
        let of_trees = self.members.iter().flat_map(|member| member.after.iter());
        of_trees.chain(self.deformables.iter().flat_map(|body| &body.after))
    }
}

/// See [`Equations::carried`].
pub(crate) fn carried<'s, 'a>(
    members: &'s [Member<'a>],
    deformables: &'s [Deformable<'a>],
    place: impl Fn(usize) -> usize,
) -> impl Iterator<Item = (Range<usize>, Range<usize>, &'s CarrierInput<'a>)> {
    deformables.iter().filter_map(move |body| {
        let carrier = body.input.carrier.as_ref()?;
        Some((members[place(carrier.tree)].dofs(), body.dofs(), carrier))
    })
}

/// The trees of an island with everything at the start of the step.
fn members<'a>(input: &StepInput<'a>, island: &Island) -> Vec<Member<'a>> {
    let mut at = [0, 0];
    let mut members = Vec::with_capacity(island.trees.len());
    let bounces = island.contacts.iter().any(|&c| input.contacts[c].restitution > 0.0);
    for &tree in &island.trees {
        let member = Member::new(&input.trees[tree], at, input.single, bounces);
        at = [member.dofs().end, member.controls().end];
        members.push(member);
    }
    members
}

/// The bodies of an island that deform.
fn deformables<'a>(input: &StepInput<'a>, island: &Island, members: &[Member]) -> Vec<Deformable<'a>> {
    let mut at = members.last().map_or([0, 0], |member| [member.dofs().end, member.controls().end]);
    let mut out = Vec::with_capacity(island.sparse.len());
    for &number in &island.sparse {
        let body = Deformable::new(input.sparse[number], number, at, input.single);
        at = [body.dofs().end, body.controls().end];
        out.push(body);
    }
    out
}

/// `b + J^T lambda`
fn momenta(members: &[Member], deformables: &[Deformable], place: impl Fn(usize) -> usize) -> Vec<f64> {
    let mut all = Vec::new();
    for member in members {
        let forward = &member.forward;
        let mut after = forward.b.clone();
        for b in 0..forward.tree.bodies.len() {
            let f = &member.fixed[SPATIAL * b..SPATIAL * (b + 1)];
            if f.iter().all(|&x| x == 0.0) {
                continue;
            }
            forward.tree.movers(b).for_each(|i| after[i] += dot(&forward.motion[SPATIAL * i..SPATIAL * (i + 1)], f));
        }
        for (index, impulse) in forward.impulses.iter().enumerate() {
            forward.row_terms(index).for_each(|(dof, j)| after[dof] += j * impulse);
        }
        all.extend_from_slice(&after);
    }
    for body in deformables {
        all.extend_from_slice(&body.after);
        if let Some(carrier) = &body.input.carrier {
            axpy(1.0, carrier.b, &mut all[members[place(carrier.tree)].dofs()]);
        }
    }
    all
}

fn set_velocities(members: &mut [Member], deformables: &mut [Deformable], all: &[f64]) {
    for member in members {
        let after = Pooled::copy(&all[member.dofs()]);
        member.motion = Motion::new(&member.forward, &after);
        member.after = after;
    }
    for body in deformables {
        let own = body.dofs();
        body.after.copy_from_slice(&all[own]);
    }
}
