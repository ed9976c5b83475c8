//! How much the rows of convex contact give way ([`ContactModel::Convex`]), and how that changes: `R = weight |W|_F / 3`, W the
//! constraint's own block of `J A^-1 J^T` (one row: W itself), moves with everything that moves J or A.
//!
//! Its slopes are differences of fourth order of the trees' own kernels at changed positions or parameters; no step is
//! solved anew. Only the trees that a constraint touches count.

use manyworlds_shaders::contact::island::UNBOUNDED;
use manyworlds_shaders::dynamics::integrate::integrate;
use manyworlds_shaders::dynamics::tree::{POSE, Params, SPATIAL};
use nalgebra::{Matrix3, Vector3};

use crate::block::{BlockInput, block_error};
use crate::constraint::{Constraint, Law};
use crate::contact::ContactInput;
use crate::differences::DIFFERENCES;
use crate::grid::dot;
use crate::member::{BodyOfTree, Member, vector};
use crate::model::ContactModel;
use crate::pool::Pooled;
use crate::rows::{Entry, Rows};
use crate::tree::Forward;

/// Positions are changed by this, m or rad.
const STEP: f64 = 1e-4;

/// Where a constraint of an island comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'i> {
    /// With its number in the world.
    Contact(usize, &'i ContactInput),
    Block(&'i BlockInput),
    /// A row of a member.
    Row {
        member: usize,
        index: usize,
    },
}

/// Trees of an island as they stand, some of them otherwise.
pub(crate) struct Standing<'s, 'a, P> {
    pub(crate) members: &'s [Member<'a>],
    /// Place of a tree of the world among the members.
    pub(crate) place: &'s P,
    /// Members that stand otherwise.
    pub(crate) others: &'s [(usize, Forward<'s>)],
}

impl<P: Fn(usize) -> usize> Standing<'_, '_, P> {
    fn forward(&self, member: usize) -> &Forward<'_> {
        let other = self.others.iter().find(|other| other.0 == member);
        other.map_or(&self.members[member].forward, |other| &other.1)
    }

    /// Time step of a constraint, s.
    fn h(&self, source: Source) -> f64 {
        let member = match source {
            Source::Contact(_, c) => c.bodies.iter().flatten().next().map_or(0, |body| (self.place)(body.0)),
            Source::Block(_) => 0,
            Source::Row { member, .. } => member,
        };
        self.forward(member).h()
    }

    /// `|W|_F / 3` of a constraint whose point is moved, 1/kg.
    fn size(&self, source: Source, moved: Vector3<f64>) -> f64 {
        match source {
            Source::Contact(_, c) => self.block(c.bodies, Vector3::from(c.point) + moved, false),
            Source::Block(b) => {
                let pose = |(tree, body): BodyOfTree| -> [f64; POSE] {
                    let pose = &self.forward((self.place)(tree)).pose;
                    std::array::from_fn(|k| pose[POSE * body + k])
                };
                self.block(b.bodies, block_error(b, pose).0, b.angular)
            }
            Source::Row { member, index } => self.forward(member).row_block(index),
        }
    }

    /// That of three rows at a point between two bodies. The axes do not matter.
    fn block(&self, bodies: [Option<BodyOfTree>; 2], p: Vector3<f64>, angular: bool) -> f64 {
        let mut w = Matrix3::<f64>::zeros();
        let mut done = None;
        for &(tree, _) in bodies.iter().flatten() {
            if done.replace(tree) == Some(tree) {
                continue;
            }
            let forward = self.forward((self.place)(tree));
            let arm = p - Vector3::from(forward.centre());
            let mut j: [Pooled; 3] = std::array::from_fn(|_| Pooled::zeros(forward.n_v()));
            for (body, sign) in bodies.into_iter().zip([-1.0, 1.0]) {
                let Some((_, body)) = body.filter(|body| body.0 == tree) else { continue };
                for i in forward.tree.movers(body) {
                    let [linear, spin] = motion(forward, i);
                    let along = if angular { spin } else { linear + spin.cross(&arm) };
                    (0..3).for_each(|k| j[k][i] += sign * along[k]);
                }
            }
            for l in 0..3 {
                let mut y = j[l].clone();
                forward.solve(&mut y);
                (0..3).for_each(|k| w[(k, l)] += dot(&j[k], &y));
            }
        }
        w.norm() / 3.0
    }

    /// `R` of a constraint whose point is moved.
    fn r(&self, constraint: &Constraint, source: Source, moved: Vector3<f64>) -> [f64; 3] {
        let mut r = constraint.r_slope;
        if r != [0.0; 3] {
            let size = self.size(source, moved);
            r.iter_mut().for_each(|r| *r *= size);
        }
        if let Source::Contact(_, contact) = source
            && constraint.r_slope[2] == 0.0
        {
            r[2] = contact.give.softness(self.h(source));
        }
        r
    }

    /// Adds `R lambda` of an island's constraints, `weight` times, where their points are moved.
    pub(crate) fn add_given(
        &self,
        rows: &Rows,
        sources: &[Source],
        weight: f64,
        moved: impl Fn(usize) -> Vector3<f64>,
        out: &mut [f64],
    ) {
        for (at, (constraint, &source)) in rows.constraints.iter().zip(sources).enumerate() {
            let r = self.r(constraint, source, moved(at));
            for k in 0..constraint.law.rows() {
                out[constraint.first + k] += weight * r[k] * constraint.impulse[k];
            }
        }
    }
}

/// What a dof does at c: velocity, angular velocity.
fn motion(forward: &Forward, dof: usize) -> [Vector3<f64>; 2] {
    [vector(&forward.motion, SPATIAL * dof + 3), vector(&forward.motion, SPATIAL * dof)]
}

/// Sets how much the rows of an island give way, and what that adds to the change of `sigma^` by q.
pub(crate) fn add_compliance<P: Fn(usize) -> usize>(
    members: &[Member],
    place: &P,
    sources: &[Source],
    model: ContactModel,
    rows: &mut Rows,
) {
    let ContactModel::Convex { near, slip } = model else { return };
    let standing = Standing { members, place, others: &[] };
    for (constraint, &source) in rows.constraints.iter_mut().zip(sources) {
        let size = standing.size(source, Vector3::zeros());
        let weights = match (constraint.law, source) {
            (Law::Contact { .. }, Source::Contact(_, contact)) => {
                let soft = contact.give.softness(standing.h(source));
                [slip, slip, if soft > near * size { 0.0 } else { near }]
            }
            (Law::Row { .. }, _) if constraint.r[0] > 0.0 => continue,
            (Law::Row { lower, upper }, _) if upper < UNBOUNDED || !(lower == 0.0 || lower <= -UNBOUNDED) => {
                [slip, 0.0, 0.0]
            }
            (Law::Row { .. }, _) => [near, 0.0, 0.0],
            _ => [near; 3],
        };
        if size > 0.0 {
            constraint.r_slope = weights;
            constraint.r = standing.r(constraint, source, Vector3::zeros());
        } else {
            // What moves nothing may have any weight.
            constraint.r = weights;
        }
    }
    for m in 0..members.len() {
        add_by_q(members, place, sources, m, &rows.constraints, &mut rows.compliance);
    }
}

/// Adds what the changes of R by the positions of one member do.
fn add_by_q<P: Fn(usize) -> usize>(
    members: &[Member],
    place: &P,
    sources: &[Source],
    m: usize,
    constraints: &[Constraint],
    entries: &mut Vec<Entry>,
) {
    let (forward, first) = (&members[m].forward, members[m].at[0]);
    let of_member = |body: &BodyOfTree| place(body.0) == m;
    let own = |(constraint, source): (&Constraint, &Source)| {
        constraint.r_slope != [0.0; 3]
            && constraint.impulse != [0.0; 3]
            && match source {
                Source::Contact(_, c) => c.bodies.iter().flatten().any(of_member),
                Source::Block(b) => b.bodies.iter().flatten().any(of_member),
                Source::Row { member, .. } => *member == m,
            }
    };
    let touching: Vec<usize> =
        constraints.iter().zip(sources).enumerate().filter(|(_, x)| own(*x)).map(|(at, _)| at).collect();
    if touching.is_empty() {
        return;
    }
    let (mut state, mut velocity) = (Pooled::copy(forward.state), Pooled::zeros(forward.n_v()));
    for dof in 0..forward.n_v() {
        // How the points move.
        let [linear, spin] = motion(forward, dof);
        let point = |source: Source| -> Vector3<f64> {
            let Source::Contact(_, contact) = source else { return Vector3::zeros() };
            let Ok(slope) = &contact.slope else { return Vector3::zeros() };
            let mut sum = Vector3::zeros();
            for (side, body) in contact.bodies.iter().enumerate() {
                let Some((_, body)) = body.filter(of_member) else { continue };
                let record = &forward.tree.dofs[dof];
                if !(record.body..record.subtree_end).contains(&(body as u32)) {
                    continue;
                }
                let v = linear + spin.cross(&(Vector3::from(contact.point) - Vector3::from(forward.centre())));
                sum += vector(&slope.along_one(side, &[v.x, v.y, v.z, spin.x, spin.y, spin.z]), 0);
            }
            sum
        };
        let points: Vec<Vector3<f64>> = touching.iter().map(|&at| point(sources[at])).collect();
        for (times, weight) in DIFFERENCES {
            state.copy_from_slice(forward.state);
            velocity.fill(0.0);
            velocity[dof] = times * STEP / forward.h();
            integrate(&forward.tree, Params::<f64>::Shared(forward.params), &velocity, &mut state, &mut [0]);
            // Which rows could act also depends on the velocity.
            state[forward.tree.dims.v_at()..].copy_from_slice(&forward.state[forward.tree.dims.v_at()..]);
            let others = [(m, Forward::of(forward.tree, forward.params, &state, forward.impulses))];
            let standing = Standing { members, place, others: &others };
            for (&at, point) in touching.iter().zip(&points) {
                let size = standing.size(sources[at], point * (times * STEP));
                let constraint = &constraints[at];
                let (begin, impulse, slope) = (constraint.first, constraint.impulse, constraint.r_slope);
                for k in 0..constraint.law.rows() {
                    entries.push((begin + k, first + dof, weight / STEP * impulse[k] * slope[k] * size));
                }
            }
        }
    }
}
