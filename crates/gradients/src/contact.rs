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
use nalgebra::{Matrix3, Vector3};

use crate::constraint::{Kink, Law, Rows, bias_kink, bias_slope, bilateral_kink, bilateral_slope};
use crate::grid::Grid;
use crate::model::{ContactModel, Give};
use crate::pool::Pooled;
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
    /// How it gives way; [`Give::Bias`] unless the model is convex.
    pub give: Give,
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
    twist: Pooled,
    psi: Pooled,
}

impl Motion {
    pub(crate) fn new(forward: &Forward, velocity: &[f64]) -> Self {
        let mut twist = Pooled::zeros(SPATIAL * forward.tree.bodies.len());
        let mut psi = Pooled::zeros(SPATIAL * forward.n_v());
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
    pub(crate) after: Pooled,
    /// `A^-1`
    pub(crate) inverse: Grid,
    /// Of v+.
    pub(crate) motion: Motion,
    /// Of the velocity before.
    pub(crate) before: Motion,
    /// Impulses on bodies at c, fixed in the world, `[n_body][6]`.
    pub(crate) fixed: Pooled,
}

pub(crate) fn vector(s: &[f64], at: usize) -> Vector3<f64> {
    Vector3::new(s[at], s[at + 1], s[at + 2])
}

/// What a dof does at a point between two bodies.
#[derive(Debug, Clone, Copy)]
struct Column {
    /// Of the island.
    dof: usize,
    /// Where it stands in what is filled.
    at: usize,
    /// Velocity of each body's point, and its angular velocity.
    own: [[Vector3<f64>; 2]; 2],
    /// Relative velocity: J in world axes.
    linear: Vector3<f64>,
    /// Relative angular velocity.
    angular: Vector3<f64>,
    /// Change of the relative velocity by q while p is held: of v+, of the velocity before.
    carried: [Vector3<f64>; 2],
    /// Change of the relative angular velocity of v+ by q.
    carried_angular: Vector3<f64>,
    /// Which of the bodies it moves.
    moves: [bool; 2],
}

/// Memory of [`Columns::fill`], used again by each constraint of an island.
#[derive(Default)]
pub(crate) struct Columns {
    all: Vec<Column>,
    /// By dof: its column, plus one.
    of_dof: Vec<u32>,
    /// Each constraint has a matrix of its own, over its own columns alone.
    own: bool,
}

/// Everything at a point between two bodies, over the dofs that move either.
struct At<'c> {
    columns: &'c [Column],
    /// Relative velocity and angular velocity: of v+, of the velocity before.
    relative: [[Vector3<f64>; 2]; 2],
}

impl Columns {
    /// Those of constraints that each have matrices of their own.
    pub(crate) fn of_each() -> Self {
        Self { own: true, ..Self::default() }
    }

    /// Dof of each column of the last constraint.
    pub(crate) fn dofs(&self) -> Vec<usize> {
        self.all.iter().map(|column| column.dof).collect()
    }

    /// The column of a dof; a new one if it has none yet.
    fn column(&mut self, dof: usize) -> &mut Column {
        if self.of_dof.len() <= dof {
            self.of_dof.resize(dof + 1, 0);
        }
        if self.of_dof[dof] == 0 {
            let (zero, none) = (Vector3::zeros(), [Vector3::zeros(); 2]);
            let at = if self.own { self.all.len() } else { dof };
            self.all.push(Column {
                dof,
                at,
                own: [none; 2],
                linear: zero,
                angular: zero,
                carried: none,
                carried_angular: zero,
                moves: [false; 2],
            });
            self.of_dof[dof] = self.all.len() as u32;
        }
        let at = self.of_dof[dof] as usize - 1;
        &mut self.all[at]
    }

    fn fill(
        &mut self,
        members: &[Member],
        bodies: [Option<BodyOfTree>; 2],
        place: impl Fn(usize) -> usize,
        p: Vector3<f64>,
    ) -> At<'_> {
        for column in self.all.drain(..) {
            self.of_dof[column.dof] = 0;
        }
        let mut relative = [[Vector3::zeros(); 2]; 2];
        for (side, body) in bodies.iter().enumerate() {
            let Some((tree, body)) = *body else { continue };
            let member = &members[place(tree)];
            let sign = if side == 1 { 1.0 } else { -1.0 };
            let arm = p - Vector3::from(member.forward.centre());
            let here = |s: &[f64], k: usize| {
                let angular = vector(s, SPATIAL * k);
                (vector(s, SPATIAL * k + 3) + angular.cross(&arm), angular)
            };
            let motions = [&member.motion, &member.before];
            let twists = motions.map(|m| [vector(&m.twist, SPATIAL * body), vector(&m.twist, SPATIAL * body + 3)]);
            for (which, motion) in motions.into_iter().enumerate() {
                let (v, w) = here(&motion.twist, body);
                relative[which][0] += sign * v;
                relative[which][1] += sign * w;
            }
            member.forward.for_dofs(body, |i| {
                let column = self.column(member.at[0] + i);
                let s = [vector(&member.forward.motion, SPATIAL * i), vector(&member.forward.motion, SPATIAL * i + 3)];
                for (which, motion) in motions.into_iter().enumerate() {
                    // dV = S x V + psi, then to p.
                    let twist = &twists[which];
                    let w = s[0].cross(&twist[0]) + vector(&motion.psi, SPATIAL * i);
                    let v = s[0].cross(&twist[1]) + s[1].cross(&twist[0]) + vector(&motion.psi, SPATIAL * i + 3);
                    column.carried[which] += sign * (v + w.cross(&arm));
                    if which == 0 {
                        column.carried_angular += sign * w;
                    }
                }
                let (v, w) = (s[1] + s[0].cross(&arm), s[0]);
                column.own[side] = [v, w];
                column.moves[side] = true;
                column.linear += sign * v;
                column.angular += sign * w;
            });
        }
        At { columns: &self.all, relative }
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

/// Settings of constraints in a tree's parameters: 1/h, fraction, largest speed.
fn settings(forward: &Forward) -> [f64; 3] {
    let p = forward.params;
    [1.0 / p[param::TIMESTEP], p[param::CORRECTION_FRACTION], p[param::CORRECTION_MAX]]
}

/// Adds the impulses of a contact to its bodies.
pub(crate) fn add_contact_impulse(members: &mut [Member], place: impl Fn(usize) -> usize, contact: &ContactInput) {
    let (e, _) = frame(contact.normal);
    let f = e.transpose() * Vector3::from(contact.impulse);
    add_fixed(members, contact.bodies, place, contact.point.into(), f, Vector3::zeros());
}

/// What a contact's biased velocity has beside its velocity.
struct Bias {
    /// m/s
    value: f64,
    /// By the distance, 1/s.
    slope: f64,
    /// Whether it bounces.
    bounces: bool,
    kink: Kink,
}

/// That of a contact whose speed along the normal before the step is `approach`.
fn bias(forward: &Forward, contact: &ContactInput, approach: f64) -> Bias {
    let own @ [per_step, fraction, largest] = settings(forward);
    if let Some(span) = contact.give.span(forward.h()) {
        return Bias { value: contact.distance / span, slope: 1.0 / span, bounces: false, kink: Kink::NONE };
    }
    let threshold = (-forward.params[param::RESTITUTION_THRESHOLD]).min(-(contact.distance * per_step));
    let bounces = contact.restitution > 0.0 && approach < threshold;
    let value = if bounces {
        contact.restitution * approach
    } else {
        manyworlds_shaders::contact::tree_layout::bias(contact.distance, per_step, fraction, largest, 0.0)
    };
    let mut kink = if bounces { Kink::NONE } else { bias_kink(contact.distance, own, forward.closed) };
    if contact.restitution > 0.0 {
        // Whether it bounces is a switch as well.
        kink.margin = kink.margin.min((approach - threshold).abs());
    }
    let slope = if bounces { 0.0 } else { bias_slope(contact.distance, own, forward.closed) };
    Bias { value, slope, bounces, kink }
}

/// How fast a contact without impulse opens, biased, m/s: above zero, it has no say in the step.
pub(crate) fn opening(
    members: &[Member],
    place: impl Fn(usize) -> usize,
    contact: &ContactInput,
    model: ContactModel,
) -> Option<f64> {
    if contact.impulse != [0.0; 3] {
        return None;
    }
    let tree = contact.bodies.iter().flatten().next()?.0;
    let forward = &members[place(tree)].forward;
    let (p, n) = (Vector3::from(contact.point), Vector3::from(contact.normal));
    let relative = |before: bool| {
        let velocity = |side: usize| {
            let (tree, body) = contact.bodies[side]?;
            let member = &members[place(tree)];
            let twist = if before { &member.before.twist } else { &member.motion.twist };
            let arm = p - Vector3::from(member.forward.centre());
            Some(vector(twist, SPATIAL * body + 3) + vector(twist, SPATIAL * body).cross(&arm))
        };
        velocity(1).unwrap_or_default() - velocity(0).unwrap_or_default()
    };
    let (after, approach) = (relative(false), relative(true).dot(&n));
    let opening = after.dot(&n) + bias(forward, contact, approach).value;
    let opening = match model {
        ContactModel::Exact | ContactModel::Pyramid => opening,
        // Slip lifts it.
        ContactModel::Convex { .. } => {
            let mu = contact.friction.max(0.0);
            (opening - mu * (after - n * after.dot(&n)).norm()) / mu.hypot(1.0)
        }
    };
    Some(opening).filter(|&speed| speed > 0.0)
}

/// Adds a contact to its island; `push` gets what the motion of `J^T lambda` adds to `-dF` by q beside the force that is
/// fixed in the world.
pub(crate) fn add_contact(
    members: &[Member],
    place: impl Fn(usize) -> usize,
    (contact, model): (&ContactInput, ContactModel),
    columns: &mut Columns,
    rows: &mut Rows,
    push: &mut Grid,
) {
    let Some(tree) = contact.bodies.iter().flatten().next().map(|body| body.0) else { return };
    let forward = &members[place(tree)].forward;
    let at = columns.fill(members, contact.bodies, &place, contact.point.into());
    let (e, turned) = frame(contact.normal);

    let approach = (e * at.relative[1][0])[2];
    let Bias { value, slope, bounces, kink } = bias(forward, contact, approach);
    let law = Law::Contact { mu: contact.friction.max(0.0), model };
    let r = rows.push(law, contact.impulse, [0.0, 0.0, value], kink);
    if bounces {
        rows.bounces(approach);
    }
    let impulse = Vector3::from(contact.impulse);
    let f = e.transpose() * impulse;
    for moved in at.columns {
        // Change of point, normal and distance by the dof.
        let change = contact.slope.as_ref().map_or([0.0; 7], |slope| {
            let mut change = [0.0; 7];
            for side in (0..2).filter(|&side| moved.moves[side]) {
                let [v, w] = &moved.own[side];
                let own = slope.along_one(side, &[v.x, v.y, v.z, w.x, w.y, w.z]);
                change.iter_mut().zip(own).for_each(|(sum, x)| *sum += x);
            }
            change
        });
        let (point, normal) = (vector(&change, 0), vector(&change, 3));
        let tangent = [turned[0] * normal, turned[1] * normal];
        // Change of sigma by q: dE u + E du, of v+ and of the velocity before.
        let of = |which: usize| {
            let [u, w] = &at.relative[which];
            let turn = Vector3::new(tangent[0].dot(u), tangent[1].dot(u), normal.dot(u));
            e * (moved.carried[which] + w.cross(&point)) + turn
        };
        let j = e * moved.linear;
        let mut sigma = of(0);
        sigma.z += slope * change[6];
        if bounces {
            sigma.z += contact.restitution * of(1).z;
            rows.by_v[(r + 2, moved.at)] += contact.restitution * j.z;
        }
        for k in 0..3 {
            rows.j[(r + k, moved.at)] += j[k];
            rows.by_q[(r + k, moved.at)] += sigma[k];
        }
        let force = tangent[0] * impulse.x + tangent[1] * impulse.y + normal * impulse.z;
        let moment = point.cross(&f);
        for column in at.columns {
            push[(column.at, moved.at)] += column.linear.dot(&force) + column.angular.dot(&moment);
        }
    }
}

/// A frame of a block in the world, by the pose of its body.
fn frame_of(pose: Option<[f64; 7]>, frame: &[f64; 7]) -> ([f64; 3], Quat<f64>) {
    let (position, turn) = ([frame[0], frame[1], frame[2]], [frame[3], frame[4], frame[5], frame[6]]);
    let Some([x, y, z, w, i, j, k]) = pose else { return (position, turn) };
    let q = [w, i, j, k];
    let offset = quat_rotate(q, position);
    ([x + offset[0], y + offset[1], z + offset[2]], quat_mul(q, turn))
}

/// The point of a block and how far its frames are apart.
pub(crate) fn block_error(block: &BlockInput, pose: impl Fn(BodyOfTree) -> [f64; 7]) -> (Vector3<f64>, Vector3<f64>) {
    let [a, b] = [0, 1].map(|side| frame_of(block.bodies[side].map(&pose), &block.frames[side]));
    let p = Vector3::from(b.0);
    let error = if block.angular {
        Vector3::from(quat_log(quat_mul(b.1, quat_conjugate(a.1))))
    } else {
        p - Vector3::from(a.0)
    };
    (p, error)
}

/// A frame of a block in the world.
fn block_frame(
    members: &[Member],
    place: &impl Fn(usize) -> usize,
    body: Option<BodyOfTree>,
    frame: &[f64; 7],
) -> ([f64; 3], Quat<f64>) {
    let pose = |(tree, body): BodyOfTree| {
        let pose = &members[place(tree)].forward.pose[7 * body..7 * body + 7];
        std::array::from_fn(|k| pose[k])
    };
    frame_of(body.map(pose), frame)
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
    columns: &mut Columns,
    rows: &mut Rows,
    push: &mut Grid,
) {
    let Some(tree) = block.bodies.iter().flatten().next().map(|body| body.0) else { return };
    let [per_step, fraction, largest] = settings(&members[place(tree)].forward);
    let [a, b] = [0, 1].map(|side| block_frame(members, &place, block.bodies[side], &block.frames[side]));
    let p = Vector3::from(b.0);
    let at = columns.fill(members, block.bodies, &place, p);
    let turn = quat_mul(b.1, quat_conjugate(a.1));
    let (arm, angular_error) = (Vector3::from(a.0) - p, quat_log(turn));
    let back = Matrix3::from_row_slice(&left_inverse(angular_error));
    let error = if block.angular { Vector3::from(angular_error) } else { -arm };
    let bias = error.map(|x| manyworlds_shaders::contact::tree_layout::bilateral_bias(x, per_step, fraction, largest));
    let kinks = error.iter().map(|&x| bilateral_kink(x, per_step, fraction, largest));
    let kink = kinks.fold(Kink::NONE, |least, kink| if kink.margin < least.margin { kink } else { least });
    let r = rows.push(Law::Bilateral, block.impulse, bias.into(), kink);
    let slopes = error.map(|x| bilateral_slope(x, per_step, fraction, largest));
    for moved in at.columns {
        let [first, second] = &moved.own;
        let (j, change, by_error) = if block.angular {
            let seen = Vector3::from(quat_rotate(turn, first[1].into()));
            (moved.angular, moved.carried_angular, back * (second[1] - seen))
        } else {
            // The point is that of body b; that of body a moves by its own offset.
            let by_error = second[0] - first[0] - first[1].cross(&arm);
            (moved.linear, moved.carried[0] + at.relative[0][1].cross(&second[0]), by_error)
        };
        let change = change + slopes.component_mul(&by_error);
        for k in 0..3 {
            rows.j[(r + k, moved.at)] += j[k];
            rows.by_q[(r + k, moved.at)] += change[k];
        }
    }
    if !block.angular {
        let f = Vector3::from(block.impulse);
        for moved in at.columns {
            let moment = moved.own[1][0].cross(&f);
            for column in at.columns {
                push[(column.at, moved.at)] += column.angular.dot(&moment);
            }
        }
    }
}
