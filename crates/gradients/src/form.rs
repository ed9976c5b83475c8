//! What a constraint between two bodies at a point does, as linear functions of what dofs do.
//!
//! A dof moves a body by S (angular, linear, at c), and while v+ is held its step of q changes the body's twist V by
//! `S x V + psi` (`manyworlds_shaders::dynamics::derivatives::transport`). So of each body J is `P S`, the change of `sigma^`
//! by q `Q S + P psi`, and the constraint's impulse, whose point and axes move along, changes by a force and a moment `F S`.
//! Six columns each, whatever the number of dofs: matrices over the dofs are made of them, or products with vectors, O(n).

use manyworlds_shaders::dynamics::tree::SPATIAL;
use nalgebra::{Matrix3, Vector3};

use crate::corner::Corner;
use crate::grid::{Grid, dot};
use crate::member::{Member, vector};
use crate::pool::Pooled;

/// What a linear function of a motion weighs its angular and its linear part with.
pub(crate) type Weights = [Vector3<f64>; 2];

/// Three linear functions of a motion: its columns, padded to a vector register.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Map([[f64; 4]; SPATIAL]);

impl Map {
    pub(crate) fn of(rows: [Weights; 3]) -> Self {
        let mut out = Self::default();
        for (r, [angular, linear]) in rows.iter().enumerate() {
            for k in 0..3 {
                (out.0[k][r], out.0[3 + k][r]) = (angular[k], linear[k]);
            }
        }
        out
    }

    /// Adds what it makes of a motion.
    fn add(&self, motion: &[f64], sums: &mut [f64; 4]) {
        for (column, x) in self.0.iter().zip(motion) {
            (0..4).for_each(|w| sums[w] = x.mul_add(column[w], sums[w]));
        }
    }

    /// Adds what weighs a motion as `y^T` times this does.
    fn add_back(&self, y: [f64; 3], weights: &mut [f64]) {
        for (column, to) in self.0.iter().zip(weights) {
            *to += column[0] * y[0] + column[1] * y[1] + column[2] * y[2];
        }
    }

    fn column(&self, k: usize) -> Vector3<f64> {
        Vector3::new(self.0[k][0], self.0[k][1], self.0[k][2])
    }
}

/// One of the two bodies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side {
    /// Its tree among the members, and its number there.
    pub(crate) member: usize,
    pub(crate) body: usize,
    /// 1 for the second body, -1 for the first.
    pub(crate) sign: f64,
    /// The point from its tree's c, m.
    pub(crate) arm: Vector3<f64>,
    /// P
    pub(crate) speed: Map,
    /// Q
    pub(crate) turned: Map,
    /// Change of the force on the second body.
    pub(crate) force: Map,
    /// Change of the moment on it about the point that the impulse had.
    pub(crate) moment: Map,
    /// The last row of P times the restitution coefficient, of a contact that bounces: what the velocity before weighs.
    pub(crate) bounce: [f64; SPATIAL],
}

/// One of the nodes that a constraint's point on a body that deforms moves with: its three dofs are motions along axes, without
/// psi.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeSide {
    /// First dof in the island.
    pub(crate) first: usize,
    /// Columns: the axes in the world.
    pub(crate) axes: Matrix3<f64>,
    /// Which of the constraint's sides carries it, if that moves: the axes turn with it.
    pub(crate) carried_by: Option<usize>,
    /// What pushes it, N s.
    pub(crate) pushed: Vector3<f64>,
    /// As of a [`Side`], without what turning has a part in; the sign times its weight.
    pub(crate) sign: f64,
    pub(crate) speed: Matrix3<f64>,
    pub(crate) turned: Matrix3<f64>,
    pub(crate) force: Matrix3<f64>,
    pub(crate) moment: Matrix3<f64>,
    pub(crate) bounce: Vector3<f64>,
}

impl NodeSide {
    /// Its dofs, and the axis of each.
    fn dofs(&self) -> impl Iterator<Item = (usize, Vector3<f64>)> {
        let axes = self.axes;
        (0..3).map(move |k| (self.first + k, axes.column(k).into_owned()))
    }
}

/// A constraint's two bodies, those that do not move left out, and the nodes of what deforms.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) sides: [Option<Box<Side>>; 2],
    pub(crate) nodes: Vec<NodeSide>,
    /// Corners whose weights change.
    pub(crate) corners: Vec<Corner>,
    pub(crate) bounces: bool,
}

fn spatial(all: &[f64], at: usize) -> &[f64] {
    &all[SPATIAL * at..SPATIAL * (at + 1)]
}

impl Form {
    pub(crate) fn sides(&self) -> impl Iterator<Item = &Side> {
        self.sides.iter().flatten().map(|side| &**side)
    }

    /// Its body, if only one moves.
    fn lone(&self) -> Option<&Side> {
        match &self.sides {
            [Some(side), None] | [None, Some(side)] => Some(side),
            _ => None,
        }
    }

    /// The dofs that move its bodies, by the island.
    pub(crate) fn dofs(&self, members: &[Member]) -> Vec<usize> {
        let mut out = Vec::new();
        for side in self.sides() {
            let member = &members[side.member];
            member.forward.tree.movers(side.body).for_each(|i| out.push(member.at[0] + i));
        }
        out.extend(self.nodes.iter().flat_map(NodeSide::dofs).map(|(dof, _)| dof));
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Adds its rows of J from row `first` on; `at`: column of a dof.
    pub(crate) fn add_rows(&self, members: &[Member], at: impl Fn(usize) -> usize, first: usize, j: &mut Grid) {
        for side in self.sides() {
            let member = &members[side.member];
            for i in member.forward.tree.movers(side.body) {
                let mut sums = [0.0; 4];
                side.speed.add(spatial(&member.forward.motion, i), &mut sums);
                let column = at(member.at[0] + i);
                (0..3).for_each(|k| j[(first + k, column)] += sums[k]);
            }
        }
        for node in &self.nodes {
            for (dof, axis) in node.dofs() {
                let speed = node.speed * axis;
                (0..3).for_each(|k| j[(first + k, at(dof))] += speed[k]);
            }
        }
    }

    /// Adds the change of its biased velocities, while v+ is held, by q and, where it bounces, by the velocity before.
    pub(crate) fn add_slopes(
        &self,
        members: &[Member],
        at: impl Fn(usize) -> usize,
        first: usize,
        by_q: &mut Grid,
        by_v: &mut Grid,
    ) {
        for side in self.sides() {
            let member = &members[side.member];
            for i in member.forward.tree.movers(side.body) {
                let (mut sums, s) = ([0.0; 4], spatial(&member.forward.motion, i));
                side.turned.add(s, &mut sums);
                side.speed.add(spatial(&member.motion.psi, i), &mut sums);
                let column = at(member.at[0] + i);
                if self.bounces {
                    sums[2] += dot(&side.bounce, spatial(&member.before.psi, i));
                    by_v[(first + 2, column)] += dot(&side.bounce, s);
                }
                (0..3).for_each(|k| by_q[(first + k, column)] += sums[k]);
            }
        }
        for node in &self.nodes {
            for (dof, axis) in node.dofs() {
                let (turned, column) = (node.turned * axis, at(dof));
                (0..3).for_each(|k| by_q[(first + k, column)] += turned[k]);
                if self.bounces {
                    by_v[(first + 2, column)] += node.bounce.dot(&axis);
                }
            }
        }
    }

    /// Whether a dof of a side's tree moves both bodies: what the impulse does to one then is undone by the other.
    fn is_common(&self, side: &Side, members: &[Member], dof: usize) -> bool {
        let record = &members[side.member].forward.tree.dofs[dof];
        let moves = |other: &Side| (record.body..record.subtree_end).contains(&(other.body as u32));
        self.sides().filter(|other| other.member == side.member && moves(other)).count() == 2
    }

    /// Adds what the motion of its impulse adds to dF by q.
    pub(crate) fn add_push(&self, members: &[Member], at: impl Fn(usize) -> usize, push: &mut Grid) {
        // What a change of force and moment does to all that the constraint acts on.
        let mut act = |column: usize, force: Vector3<f64>, moment: Vector3<f64>| {
            for side in self.sides() {
                let own = &members[side.member];
                let wrench = side.wrench(force, moment);
                for k in own.forward.tree.movers(side.body) {
                    if !self.is_common(side, members, k) {
                        push[(at(own.at[0] + k), column)] += dot(spatial(&own.forward.motion, k), &wrench);
                    }
                }
            }
            for node in &self.nodes {
                let force = force * node.sign;
                node.dofs().for_each(|(dof, axis)| push[(at(dof), column)] += force.dot(&axis));
            }
        };
        for moved in self.sides() {
            let mover = &members[moved.member];
            for i in mover.forward.tree.movers(moved.body) {
                let (mut force, mut moment, s) = ([0.0; 4], [0.0; 4], spatial(&mover.forward.motion, i));
                moved.force.add(s, &mut force);
                moved.moment.add(s, &mut moment);
                let (force, moment) =
                    (Vector3::new(force[0], force[1], force[2]), Vector3::from_row_slice(&moment[..3]));
                act(at(mover.at[0] + i), force, moment);
            }
        }
        for moved in &self.nodes {
            for (dof, axis) in moved.dofs() {
                act(at(dof), moved.force * axis, moved.moment * axis);
            }
        }
        // Corners get another part of it.
        for corner in &self.corners {
            let mut act = |column: usize, weight: f64| {
                for &(place, share) in &corner.nodes {
                    let part = corner.pushed * (share * weight);
                    self.nodes[place].dofs().for_each(|(dof, axis)| push[(at(dof), column)] += part.dot(&axis));
                }
            };
            for (side, by) in self.sides.iter().zip(&corner.by_side) {
                let Some(side) = side else { continue };
                let own = &members[side.member];
                for i in own.forward.tree.movers(side.body) {
                    let s = spatial(&own.forward.motion, i);
                    act(at(own.at[0] + i), by[0].dot(&vector(s, 0)) + by[1].dot(&vector(s, 3)));
                }
            }
            for (node, by) in self.nodes.iter().zip(&corner.by_node) {
                node.dofs().for_each(|(dof, axis)| act(at(dof), by.dot(&axis)));
            }
        }
        // The axes of what is carried turn with the carrier.
        for node in &self.nodes {
            let Some(carrier) = node.carried_by.and_then(|side| self.sides[side].as_deref()) else { continue };
            let own = &members[carrier.member];
            for i in own.forward.tree.movers(carrier.body) {
                let s = spatial(&own.forward.motion, i);
                let turn = Vector3::new(s[0], s[1], s[2]);
                node.dofs().for_each(|(dof, axis)| {
                    push[(at(dof), at(own.at[0] + i))] += turn.cross(&axis).dot(&node.pushed);
                });
            }
        }
    }
}

impl Side {
    /// A force on the second body and a moment about the point, as they act on this one at c.
    fn wrench(&self, force: Vector3<f64>, moment: Vector3<f64>) -> [f64; SPATIAL] {
        let (turning, force) = ((self.arm.cross(&force) + moment) * self.sign, force * self.sign);
        [turning.x, turning.y, turning.z, force.x, force.y, force.z]
    }
}

/// Adds what the motion of the impulses of an island adds to dF by q. Those on one body alone are summed by bodies, then over
/// subtrees, as inertias are.
pub(crate) fn add_pushes(members: &[Member], forms: &[(usize, Form)], push: &mut Grid) {
    for (m, member) in members.iter().enumerate() {
        let (forward, own) = (&member.forward, forms.iter().filter_map(|(_, form)| form.lone()));
        // Of each body, the wrench by each component of a motion.
        const EACH: usize = SPATIAL * SPATIAL;
        let mut sums = Pooled::default();
        for side in own.filter(|side| side.member == m) {
            if sums.is_empty() {
                sums = Pooled::zeros(EACH * forward.tree.bodies.len());
            }
            for (k, to) in sums[EACH * side.body..][..EACH].chunks_exact_mut(SPATIAL).enumerate() {
                let wrench = side.wrench(side.force.column(k), side.moment.column(k));
                to.iter_mut().zip(wrench).for_each(|(to, x)| *to += x);
            }
        }
        if sums.is_empty() {
            continue;
        }
        for (b, body) in forward.tree.bodies.iter().enumerate().skip(1).rev() {
            let (head, tail) = sums.split_at_mut(EACH * b);
            let parent = &mut head[EACH * body.parent as usize..][..EACH];
            parent.iter_mut().zip(&tail[..EACH]).for_each(|(to, x)| *to += x);
        }
        for (i, dof) in forward.tree.dofs.iter().enumerate() {
            let own = &sums[EACH * dof.body as usize..][..EACH];
            if own.iter().all(|&x| x == 0.0) {
                continue;
            }
            let s = spatial(&forward.motion, i);
            let (mut there, mut back) = ([0.0; SPATIAL], [0.0; SPATIAL]);
            for (k, column) in own.chunks_exact(SPATIAL).enumerate() {
                there.iter_mut().zip(column).for_each(|(to, x)| *to = s[k].mul_add(*x, *to));
                back[k] = dot(column, s);
            }
            let at = member.at[0] + i;
            push[(at, at)] += dot(s, &there);
            let before = |&dof: &usize| forward.tree.mover_before(dof);
            for above in std::iter::successors(before(&i), before) {
                let (s, j) = (spatial(&forward.motion, above), member.at[0] + above);
                push[(j, at)] += dot(s, &there);
                push[(at, j)] += dot(s, &back);
            }
        }
    }
    for (_, form) in forms.iter().filter(|(_, form)| form.lone().is_none()) {
        form.add_push(members, |dof| dof, push);
    }
}

/// Adds `y^T ds + x^T dF` by q, and by the velocity before, of constraints of an island: y by row, x and both sums by dof.
/// O(n) and O(1) a constraint.
pub(crate) fn add_back(
    members: &[Member],
    forms: &[(usize, Form)],
    y: &[f64],
    x: &[f64],
    [by_q, by_v]: [&mut [f64]; 2],
) {
    // Of each body: its motion along x, then what weighs S and psi of the dofs that move it.
    const MOVED: usize = 0;
    const BY_MOTION: usize = SPATIAL;
    const BY_PSI: usize = 2 * SPATIAL;
    const EACH: usize = 3 * SPATIAL;
    let starts: Vec<usize> = members
        .iter()
        .scan(0, |at, member| Some(std::mem::replace(at, *at + EACH * member.forward.tree.bodies.len())))
        .collect();
    let total: usize = members.iter().map(|member| EACH * member.forward.tree.bodies.len()).sum();
    let mut sums = Pooled::zeros(total);
    for (member, &start) in members.iter().zip(&starts) {
        let forward = &member.forward;
        for (b, body) in forward.tree.bodies.iter().enumerate() {
            let (head, tail) = sums[start..].split_at_mut(EACH * b);
            let to = &mut tail[MOVED..][..SPATIAL];
            if b > 0 {
                to.copy_from_slice(&head[EACH * body.parent as usize + MOVED..][..SPATIAL]);
            }
            for i in body.dof_begin as usize..(body.dof_begin + body.dof_count) as usize {
                let times = x[member.at[0] + i];
                to.iter_mut().zip(spatial(&forward.motion, i)).for_each(|(to, s)| *to = times.mul_add(*s, *to));
            }
        }
    }
    for (first, form) in forms {
        let y = [y[*first], y[first + 1], y[first + 2]];
        // Relative velocity along x, and angular.
        let (mut velocity, mut angular) = (Vector3::zeros(), Vector3::zeros());
        for side in form.sides() {
            let moved = &sums[starts[side.member] + EACH * side.body + MOVED..][..SPATIAL];
            let (w, v) = (Vector3::from_row_slice(&moved[..3]), Vector3::from_row_slice(&moved[3..]));
            velocity += (v + w.cross(&side.arm)) * side.sign;
            angular += w * side.sign;
        }
        for node in &form.nodes {
            velocity += node.axes * Vector3::from_row_slice(&x[node.first..node.first + 3]) * node.sign;
        }
        for node in &form.nodes {
            let NodeSide { turned, force, moment, bounce, .. } = node;
            let weights = turned.tr_mul(&Vector3::from(y)) + force.tr_mul(&velocity) + moment.tr_mul(&angular);
            let by_axis = node.axes.tr_mul(&weights);
            (0..3).for_each(|k| by_q[node.first + k] += by_axis[k]);
            if form.bounces {
                let by_axis = node.axes.tr_mul(bounce) * y[2];
                (0..3).for_each(|k| by_v[node.first + k] += by_axis[k]);
            }
            // Its axes turn with the carrier, what pushes it does not.
            if let Some(carrier) = node.carried_by.and_then(|side| form.sides[side].as_deref()) {
                let along = node.axes * Vector3::from_row_slice(&x[node.first..node.first + 3]);
                let turning = along.cross(&node.pushed);
                let own = &mut sums[starts[carrier.member] + EACH * carrier.body + BY_MOTION..][..3];
                own.iter_mut().zip(&turning).for_each(|(to, x)| *to += x);
            }
        }
        for corner in &form.corners {
            let along = corner.nodes.iter().map(|&(place, share)| {
                let node = &form.nodes[place];
                (node.axes * vector(x, node.first)).dot(&corner.pushed) * share
            });
            let along: f64 = along.sum();
            for (node, by) in form.nodes.iter().zip(&corner.by_node) {
                let by_axis = node.axes.tr_mul(by) * along;
                (0..3).for_each(|k| by_q[node.first + k] += by_axis[k]);
            }
            for (side, by) in form.sides.iter().zip(&corner.by_side) {
                let Some(side) = side else { continue };
                let own = &mut sums[starts[side.member] + EACH * side.body + BY_MOTION..][..SPATIAL];
                (0..3).for_each(|k| {
                    own[k] += along * by[0][k];
                    own[3 + k] += along * by[1][k];
                });
            }
        }
        for side in form.sides() {
            let own = &mut sums[starts[side.member] + EACH * side.body..][..EACH];
            side.turned.add_back(y, &mut own[BY_MOTION..BY_PSI]);
            side.force.add_back(velocity.into(), &mut own[BY_MOTION..BY_PSI]);
            side.moment.add_back(angular.into(), &mut own[BY_MOTION..BY_PSI]);
            side.speed.add_back(y, &mut own[BY_PSI..]);
            if form.bounces {
                let member = &members[side.member];
                for i in member.forward.tree.movers(side.body) {
                    by_q[member.at[0] + i] += y[2] * dot(&side.bounce, spatial(&member.before.psi, i));
                    by_v[member.at[0] + i] += y[2] * dot(&side.bounce, spatial(&member.forward.motion, i));
                }
            }
        }
    }
    for (member, &start) in members.iter().zip(&starts) {
        let forward = &member.forward;
        for (b, body) in forward.tree.bodies.iter().enumerate().rev() {
            let (head, tail) = sums[start..].split_at_mut(EACH * b);
            let own = &tail[BY_MOTION..EACH];
            for i in body.dof_begin as usize..(body.dof_begin + body.dof_count) as usize {
                let motion = dot(spatial(&forward.motion, i), &own[..SPATIAL]);
                by_q[member.at[0] + i] += motion + dot(spatial(&member.motion.psi, i), &own[SPATIAL..]);
            }
            if b > 0 {
                let parent = &mut head[EACH * body.parent as usize..][BY_MOTION..EACH];
                parent.iter_mut().zip(own).for_each(|(to, x)| *to += x);
            }
        }
    }
}
