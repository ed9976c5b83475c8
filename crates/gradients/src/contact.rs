//! Derivatives of contacts and of bilateral blocks: constraints on the relative velocity of two bodies at a point.
//!
//! With u the relative velocity at the point p and E the rows of the frame, `sigma = E u`. A step of q changes u because the
//! twists of the bodies change (see `manyworlds_shaders::dynamics::derivatives::transport`) and because p moves, E because
//! the normal turns, and e with the distance. The impulse on the bodies changes with p and E likewise.

use std::borrow::Cow;

use manyworlds_collide::derivatives::ContactSlope;
use manyworlds_shaders::contact::frame::tangents;
use manyworlds_shaders::dynamics::derivatives::transport::transport;
use manyworlds_shaders::dynamics::derivatives::turn::left_inverse;
use manyworlds_shaders::dynamics::tree::{SPATIAL, param};
use manyworlds_shaders::math::{Quat, quat_conjugate, quat_log, quat_mul, quat_rotate};
use nalgebra::{Matrix3, Matrix3xX, Vector3};

use crate::constraint::{Law, Rows};
use crate::correction::{Correction, Kink};
use crate::grid::Grid;
use crate::tree::Forward;

/// A body that moves: tree of the world, body of the tree.
pub type BodyOfTree = (usize, usize);

/// A contact of the step.
#[derive(Debug, Clone)]
pub struct ContactInput {
    /// The two geoms, numbered as whoever asks for derivatives by their parameters numbers them.
    pub geoms: [usize; 2],
    /// The two bodies; `None`: what does not move.
    pub bodies: [Option<BodyOfTree>; 2],
    /// Midway between the surfaces, m.
    pub point: [f64; 3],
    /// From the first body to the second.
    pub normal: [f64; 3],
    /// Signed distance, m.
    pub distance: f64,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Restitution coefficient.
    pub restitution: f64,
    /// Impulse of the step, (t1, t2, n), N s.
    pub impulse: [f64; 3],
    /// How point, normal and distance change with the bodies; why that is not known.
    pub slope: Result<ContactSlope, Cow<'static, str>>,
}

/// A bilateral block of the step: three rows in world axes.
#[derive(Debug, Clone)]
pub struct BlockInput {
    /// The two bodies; `None`: what does not move.
    pub bodies: [Option<BodyOfTree>; 2],
    /// Axes coincide, not origins.
    pub angular: bool,
    /// The two frames (position, quaternion) in their bodies, or in the world.
    pub frames: [[f64; 7]; 2],
    /// Impulse of the step, world axes, N s or N m s.
    pub impulse: [f64; 3],
}

/// Twists and psi of a tree for some joint velocities.
#[derive(Default)]
pub(crate) struct Motion {
    twist: Vec<f64>,
    psi: Vec<f64>,
}

impl Motion {
    pub(crate) fn new(forward: &Forward, velocity: &[f64]) -> Self {
        let mut twist = vec![0.0; SPATIAL * forward.tree.bodies.len()];
        let mut psi = vec![0.0; SPATIAL * forward.n_v()];
        transport(&forward.tree, &forward.motion, velocity, &mut twist, &mut psi);
        Self { twist, psi }
    }
}

/// A tree of an island with its velocities.
pub(crate) struct Member<'a> {
    pub(crate) forward: Forward<'a>,
    /// First dof and first control in the island.
    pub(crate) at: [usize; 2],
    /// v+
    pub(crate) after: Vec<f64>,
    /// Of v+.
    pub(crate) motion: Motion,
    /// Of the velocity before.
    pub(crate) before: Motion,
    /// Impulses on bodies at c, fixed in the world, `[n_body][6]`.
    pub(crate) fixed: Vec<f64>,
}

fn vector(s: &[f64], at: usize) -> Vector3<f64> {
    Vector3::new(s[at], s[at + 1], s[at + 2])
}

/// Everything at a point between two bodies, over the dofs that move either.
struct At {
    /// Dofs of the island.
    dofs: Vec<usize>,
    /// Relative velocity by each dof, `[3, dofs]`: J in world axes.
    linear: Matrix3xX<f64>,
    /// Relative angular velocity by each dof.
    angular: Matrix3xX<f64>,
    /// Velocity of each body's point, and its angular velocity, by each dof: (a, b).
    own: [[Matrix3xX<f64>; 2]; 2],
    /// Change of the relative velocity by q while p is held: of v+, of the velocity before.
    carried: [Matrix3xX<f64>; 2],
    /// Change of the relative angular velocity of v+ by q.
    carried_angular: Matrix3xX<f64>,
    /// Relative velocity and angular velocity: of v+, of the velocity before.
    relative: [[Vector3<f64>; 2]; 2],
}

impl At {
    fn new(
        members: &[Member],
        bodies: [Option<BodyOfTree>; 2],
        place: impl Fn(usize) -> usize,
        p: Vector3<f64>,
    ) -> Self {
        let n_v: usize = members.iter().map(|m| m.forward.n_v()).sum();
        let (mut dofs, mut columns) = (Vec::new(), vec![usize::MAX; n_v]);
        for &(tree, body) in bodies.iter().flatten() {
            let member = &members[place(tree)];
            member.forward.for_dofs(body, |i| {
                let dof = member.at[0] + i;
                if columns[dof] == usize::MAX {
                    columns[dof] = dofs.len();
                    dofs.push(dof);
                }
            });
        }
        let zeros = || Matrix3xX::zeros(dofs.len());
        let mut at = Self {
            linear: zeros(),
            angular: zeros(),
            own: [[zeros(), zeros()], [zeros(), zeros()]],
            carried: [zeros(), zeros()],
            carried_angular: zeros(),
            relative: [[Vector3::zeros(); 2]; 2],
            dofs: Vec::new(),
        };
        for (side, body) in bodies.iter().enumerate() {
            let Some((tree, body)) = *body else { continue };
            let member = &members[place(tree)];
            let sign = if side == 1 { 1.0 } else { -1.0 };
            let arm = p - Vector3::from(member.forward.centre());
            let here = |s: &[f64], k: usize| {
                let angular = vector(s, SPATIAL * k);
                (vector(s, SPATIAL * k + 3) + angular.cross(&arm), angular)
            };
            for (which, motion) in [&member.motion, &member.before].into_iter().enumerate() {
                let (v, w) = here(&motion.twist, body);
                at.relative[which][0] += sign * v;
                at.relative[which][1] += sign * w;
                let twist = [vector(&motion.twist, SPATIAL * body), vector(&motion.twist, SPATIAL * body + 3)];
                member.forward.for_dofs(body, |i| {
                    let column = columns[member.at[0] + i];
                    let s =
                        [vector(&member.forward.motion, SPATIAL * i), vector(&member.forward.motion, SPATIAL * i + 3)];
                    // dV = S x V + psi, then to p.
                    let w = s[0].cross(&twist[0]) + vector(&motion.psi, SPATIAL * i);
                    let v = s[0].cross(&twist[1]) + s[1].cross(&twist[0]) + vector(&motion.psi, SPATIAL * i + 3);
                    let mut to = at.carried[which].column_mut(column);
                    to += sign * (v + w.cross(&arm));
                    if which == 0 {
                        let mut to = at.carried_angular.column_mut(column);
                        to += sign * w;
                    }
                });
            }
            member.forward.for_dofs(body, |i| {
                let column = columns[member.at[0] + i];
                let (v, w) = here(&member.forward.motion, i);
                at.own[side][0].set_column(column, &v);
                at.own[side][1].set_column(column, &w);
                let mut to = at.linear.column_mut(column);
                to += sign * v;
                let mut to = at.angular.column_mut(column);
                to += sign * w;
            });
        }
        at.dofs = dofs;
        at
    }

    /// Puts three rows, by the dofs of the constraint, into a matrix over those of the island.
    fn put(&self, from: &Matrix3xX<f64>, first: usize, to: &mut Grid) {
        for (k, &dof) in self.dofs.iter().enumerate() {
            for r in 0..3 {
                to[(first + r, dof)] += from[(r, k)];
            }
        }
    }

    /// Adds the change of `J^T f` for an impulse f whose change by q is given and whose point moves.
    fn push(&self, f: Vector3<f64>, change: &Matrix3xX<f64>, point: &Matrix3xX<f64>, to: &mut Grid) {
        for (j, &column) in self.dofs.iter().enumerate() {
            let force = change.column(j).into_owned();
            let moment = Vector3::from(point.column(j).into_owned()).cross(&f);
            for (i, &row) in self.dofs.iter().enumerate() {
                to[(row, column)] += self.linear.column(i).dot(&force) + self.angular.column(i).dot(&moment);
            }
        }
    }
}

/// Adds an impulse to the bodies that it acts on; `moment` is free of a point.
fn add_fixed(
    members: &mut [Member],
    bodies: [Option<BodyOfTree>; 2],
    place: impl Fn(usize) -> usize,
    p: Vector3<f64>,
    f: Vector3<f64>,
    moment: Vector3<f64>,
) {
    for (side, body) in bodies.iter().enumerate() {
        let Some((tree, body)) = *body else { continue };
        let member = &mut members[place(tree)];
        let sign = if side == 1 { 1.0 } else { -1.0 };
        let arm = p - Vector3::from(member.forward.centre());
        let turning = sign * (arm.cross(&f) + moment);
        for k in 0..3 {
            member.fixed[SPATIAL * body + k] += turning[k];
            member.fixed[SPATIAL * body + 3 + k] += sign * f[k];
        }
    }
}

/// The frame of a contact as rows, and how its tangents change with the normal: `d t1 = F1 dn`, `d t2 = F2 dn`.
fn frame(n: [f64; 3]) -> (Matrix3<f64>, [Matrix3<f64>; 2]) {
    let [t1, t2] = tangents(n);
    let e = Matrix3::from_rows(&[t1, t2, n].map(|row| Vector3::from(row).transpose()));
    // The branch that `tangents` took: t1 is (1, 0, 0) at n = z, and at n = -z.
    let [x, y, z] = n;
    let s = if z < -0.5 { -1.0 } else { 1.0 };
    let a = -1.0 / (s + z);
    let bend = a * a;
    // Rows: components; columns: x, y, z.
    let (bx, by, bz) = (y * a, x * a, x * y * bend);
    let first = Matrix3::new(2.0 * s * x * a, 0.0, s * x * x * bend, s * bx, s * by, s * bz, -s, 0.0, 0.0);
    let second = Matrix3::new(bx, by, bz, 0.0, 2.0 * y * a, y * y * bend, 0.0, -1.0, 0.0);
    (e, [first, second])
}

/// Adds the impulses of a contact to its bodies.
pub(crate) fn add_contact_impulse(members: &mut [Member], place: impl Fn(usize) -> usize, contact: &ContactInput) {
    let (e, _) = frame(contact.normal);
    let f = e.transpose() * Vector3::from(contact.impulse);
    add_fixed(members, contact.bodies, place, contact.point.into(), f, Vector3::zeros());
}

/// How fast a contact without impulse opens, biased, m/s: above zero, it has no say in the step.
pub(crate) fn opening(members: &[Member], place: impl Fn(usize) -> usize, contact: &ContactInput) -> Option<f64> {
    if contact.impulse != [0.0; 3] {
        return None;
    }
    let tree = contact.bodies.iter().flatten().next()?.0;
    let forward = &members[place(tree)].forward;
    let correction = Correction::of_contacts(forward.params);
    let (p, n) = (Vector3::from(contact.point), Vector3::from(contact.normal));
    let along = |before: bool| {
        let velocity = |side: usize| {
            let (tree, body) = contact.bodies[side]?;
            let member = &members[place(tree)];
            let twist = if before { &member.before.twist } else { &member.motion.twist };
            let arm = p - Vector3::from(member.forward.centre());
            Some(vector(twist, SPATIAL * body + 3) + vector(twist, SPATIAL * body).cross(&arm))
        };
        (velocity(1).unwrap_or_default() - velocity(0).unwrap_or_default()).dot(&n)
    };
    let (after, approach) = (along(false), along(true));
    let threshold = (-forward.params[param::RESTITUTION_THRESHOLD]).min(-(contact.distance * correction.per_step));
    let bias = if contact.restitution > 0.0 && approach < threshold {
        contact.restitution * approach
    } else {
        correction.bias(contact.distance)
    };
    Some(after + bias).filter(|&speed| speed > 0.0)
}

/// Adds a contact to its island; `push` gets what the motion of `J^T lambda` adds to `-dF` by q beside the force that is
/// fixed in the world.
pub(crate) fn add_contact(
    members: &[Member],
    place: impl Fn(usize) -> usize,
    contact: &ContactInput,
    rows: &mut Rows,
    push: &mut Grid,
) {
    let Some(tree) = contact.bodies.iter().flatten().next().map(|body| body.0) else { return };
    let forward = &members[place(tree)].forward;
    let correction = Correction::of_contacts(forward.params);
    let at = At::new(members, contact.bodies, &place, contact.point.into());
    let (e, turned) = frame(contact.normal);
    let n = at.dofs.len();

    // Change of point, normal and distance by each dof.
    let (mut point, mut normal, mut distance) = (Matrix3xX::zeros(n), Matrix3xX::zeros(n), vec![0.0; n]);
    if let Ok(slope) = &contact.slope {
        for k in 0..n {
            let twist: [f64; 12] = std::array::from_fn(|c| at.own[c / 6][c % 6 / 3][(c % 3, k)]);
            let change = slope.along(&twist);
            point.set_column(k, &Vector3::new(change[0], change[1], change[2]));
            normal.set_column(k, &Vector3::new(change[3], change[4], change[5]));
            distance[k] = change[6];
        }
    }
    let tangent = [turned[0] * &normal, turned[1] * &normal];
    // dE u for a vector u.
    let turn = |u: &Vector3<f64>| {
        let mut out = Matrix3xX::zeros(n);
        for k in 0..n {
            out[(0, k)] = tangent[0].column(k).dot(u);
            out[(1, k)] = tangent[1].column(k).dot(u);
            out[(2, k)] = normal.column(k).dot(u);
        }
        out
    };
    // Change of sigma by q: of v+, of the velocity before.
    let changes = [0, 1].map(|which| {
        let [u, w] = &at.relative[which];
        let mut moved = at.carried[which].clone();
        for k in 0..n {
            let along = w.cross(&Vector3::from(point.column(k).into_owned()));
            let mut to = moved.column_mut(k);
            to += along;
        }
        e * moved + turn(u)
    });
    let approach = (e * at.relative[1][0])[2];
    let threshold = forward.params[param::RESTITUTION_THRESHOLD];
    let bounces = contact.restitution > 0.0 && approach < (-threshold).min(-(contact.distance * correction.per_step));
    let bias = if bounces { contact.restitution * approach } else { correction.bias(contact.distance) };
    let mut kink = if bounces { Kink::NONE } else { correction.kink(contact.distance) };
    if contact.restitution > 0.0 {
        // Whether it bounces is a switch as well.
        kink.margin = kink.margin.min((approach - (-threshold).min(-(contact.distance * correction.per_step))).abs());
    }
    let law = Law::Contact { mu: contact.friction.max(0.0) };
    let r = rows.push(law, contact.impulse, [0.0, 0.0, bias], kink);
    if bounces {
        rows.bounces(approach);
    }
    let j = e * &at.linear;
    at.put(&j, r, &mut rows.j);
    let [mut change, before] = changes;
    let slope = correction.slope(contact.distance);
    for k in 0..n {
        change[(2, k)] += if bounces { contact.restitution * before[(2, k)] } else { slope * distance[k] };
        if bounces {
            rows.by_v[(r + 2, at.dofs[k])] += contact.restitution * j[(2, k)];
        }
    }
    at.put(&change, r, &mut rows.by_q);

    let [l1, l2, l3] = contact.impulse;
    let f = e.transpose() * Vector3::from(contact.impulse);
    let force = &tangent[0] * l1 + &tangent[1] * l2 + &normal * l3;
    at.push(f, &force, &point, push);
}

/// A frame of a block in the world.
fn block_frame(
    members: &[Member],
    place: &impl Fn(usize) -> usize,
    body: Option<BodyOfTree>,
    frame: &[f64; 7],
) -> ([f64; 3], Quat<f64>) {
    let (position, turn) = ([frame[0], frame[1], frame[2]], [frame[3], frame[4], frame[5], frame[6]]);
    let Some((tree, body)) = body else { return (position, turn) };
    let pose = &members[place(tree)].forward.pose[7 * body..7 * body + 7];
    let q = [pose[3], pose[4], pose[5], pose[6]];
    let offset = quat_rotate(q, position);
    ([pose[0] + offset[0], pose[1] + offset[1], pose[2] + offset[2]], quat_mul(q, turn))
}

/// Adds the impulses of a block to its bodies.
pub(crate) fn add_block_impulse(members: &mut [Member], place: impl Fn(usize) -> usize, block: &BlockInput) {
    let (p, _) = block_frame(members, &place, block.bodies[1], &block.frames[1]);
    let (f, none) = (Vector3::from(block.impulse), Vector3::zeros());
    let (f, moment) = if block.angular { (none, f) } else { (f, none) };
    add_fixed(members, block.bodies, place, p.into(), f, moment);
}

/// Adds a block to its island.
pub(crate) fn add_block(
    members: &[Member],
    place: impl Fn(usize) -> usize,
    block: &BlockInput,
    rows: &mut Rows,
    push: &mut Grid,
) {
    let Some(tree) = block.bodies.iter().flatten().next().map(|body| body.0) else { return };
    let correction = Correction::of_joints(members[place(tree)].forward.params);
    let [a, b] = [0, 1].map(|side| block_frame(members, &place, block.bodies[side], &block.frames[side]));
    let p = Vector3::from(b.0);
    let at = At::new(members, block.bodies, &place, p);
    let n = at.dofs.len();
    let (error, j, mut change, by_error) = if block.angular {
        let turn = quat_mul(b.1, quat_conjugate(a.1));
        let error = quat_log(turn);
        let back = Matrix3::from_row_slice(&left_inverse(error));
        let mut relative = at.own[1][1].clone();
        for k in 0..n {
            let w: [f64; 3] = at.own[0][1].column(k).into_owned().into();
            let mut to = relative.column_mut(k);
            to -= Vector3::from(quat_rotate(turn, w));
        }
        (Vector3::from(error), at.angular.clone(), at.carried_angular.clone(), back * relative)
    } else {
        // The point is that of body b; that of body a moves by its own offset.
        let mut moved = at.carried[0].clone();
        let mut by_error = at.own[1][0].clone();
        let arm = Vector3::from(a.0) - p;
        for k in 0..n {
            let point = Vector3::from(at.own[1][0].column(k).into_owned());
            let mut to = moved.column_mut(k);
            to += at.relative[0][1].cross(&point);
            let first = at.own[0][0].column(k) + Vector3::from(at.own[0][1].column(k).into_owned()).cross(&arm);
            let mut to = by_error.column_mut(k);
            to -= first;
        }
        (p - Vector3::from(a.0), at.linear.clone(), moved, by_error)
    };
    let bias = error.map(|x| correction.bilateral_bias(x));
    let kinks = error.iter().map(|&x| correction.bilateral_kink(x));
    let kink = kinks.fold(Kink::NONE, |least, kink| if kink.margin < least.margin { kink } else { least });
    let r = rows.push(Law::Bilateral, block.impulse, bias.into(), kink);
    at.put(&j, r, &mut rows.j);
    for row in 0..3 {
        let slope = correction.bilateral_slope(error[row]);
        for k in 0..n {
            change[(row, k)] += slope * by_error[(row, k)];
        }
    }
    at.put(&change, r, &mut rows.by_q);
    if !block.angular {
        at.push(block.impulse.into(), &Matrix3xX::zeros(n), &at.own[1][0], push);
    }
}
