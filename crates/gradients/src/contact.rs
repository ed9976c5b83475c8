//! Derivatives of contacts: constraints on the relative velocity of two bodies at a point.
//!
//! With u the relative velocity at the point p and E the rows of the frame, `sigma = E u`. A step of q changes u because the
//! twists of the bodies change (see `manyworlds_shaders::dynamics::derivatives::transport`) and because p moves, E because
//! the normal turns, and e with the distance. The impulse on the bodies changes with p and E likewise.

use std::borrow::Cow;
use std::cell::OnceCell;

use manyworlds_collide::derivatives::ContactSlope;
use manyworlds_shaders::contact::frame::{tangent_slopes, tangents};
use manyworlds_shaders::dynamics::derivatives::transport::transport;
use manyworlds_shaders::dynamics::tree::{SPATIAL, param};
use nalgebra::{Matrix3, Vector3};

use crate::constraint::{Kink, Law, Rows, bias_kink, bias_slope};
use crate::form::{Form, Map, NodeSide, Side, Weights};
use crate::grid::Grid;
use crate::model::{ContactModel, Give};
use crate::pool::Pooled;
use crate::sparse::{ContactSettings, Deformable, Node, PointInput, nodes};
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
    /// What deforms of the two, instead of a body: the point that touches.
    pub points: [Option<PointInput>; 2],
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
    /// How point, normal and distance change with the bodies; why that is not known. Of a point that deforms only its
    /// linear part counts.
    pub slope: Result<ContactSlope, Cow<'static, str>>,
}

/// Twists and psi of a tree for some joint velocities.
#[derive(Default)]
pub(crate) struct Motion {
    /// `[n_body][6]`
    pub(crate) twist: Pooled,
    /// `[n_v][6]`
    pub(crate) psi: Pooled,
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
    /// [`Member::inverse`], once it was asked for.
    pub(crate) inverse: OnceCell<Grid>,
    /// Of v+.
    pub(crate) motion: Motion,
    /// Of the velocity before; empty where nothing asks for it, as what bounces does.
    pub(crate) before: Motion,
    /// Impulses on bodies at c, fixed in the world, `[n_body][6]`.
    pub(crate) fixed: Pooled,
}

impl Member<'_> {
    /// `A^-1`
    pub(crate) fn inverse(&self) -> &Grid {
        self.inverse.get_or_init(|| self.forward.inverse())
    }
}

pub(crate) fn vector(s: &[f64], at: usize) -> Vector3<f64> {
    Vector3::new(s[at], s[at + 1], s[at + 2])
}

/// A body, or a node, between which and another a constraint is: how it moves, and where the point is.
#[derive(Clone, Copy)]
pub(crate) struct Carrier {
    /// Its tree among the members, and its number there; of a node nothing.
    pub(crate) place: (usize, usize),
    /// 1 for the second body, -1 for the first; of a node times its weight.
    pub(crate) sign: f64,
    /// The point from c, m.
    pub(crate) arm: Vector3<f64>,
    /// Its twist (angular, linear at c) of v+, and of the velocity before where that is known.
    twists: [Weights; 2],
}

impl Carrier {
    /// Those of two bodies that move.
    pub(crate) fn of(
        members: &[Member],
        bodies: [Option<BodyOfTree>; 2],
        place: impl Fn(usize) -> usize,
        p: Vector3<f64>,
    ) -> [Option<Self>; 2] {
        std::array::from_fn(|side| {
            let (tree, body) = bodies[side]?;
            let index = place(tree);
            let member = &members[index];
            let arm = p - Vector3::from(member.forward.centre());
            let twists = [&member.motion, &member.before].map(|motion| {
                let at = SPATIAL * body;
                if motion.twist.is_empty() {
                    return [Vector3::zeros(); 2];
                }
                [vector(&motion.twist, at), vector(&motion.twist, at + 3)]
            });
            Some(Self { place: (index, body), sign: sign(side), arm, twists })
        })
    }

    /// A node moves with the point, without turning.
    fn of_node(node: &Node) -> Self {
        let twists = node.velocity.map(|v| [Vector3::zeros(), v]);
        Self { place: (0, 0), sign: node.weight * sign(node.side), arm: Vector3::zeros(), twists }
    }

    /// Its twist (angular, linear at c): of v+, or of the velocity before where that is known.
    fn twist(&self, before: bool) -> Weights {
        self.twists[usize::from(before)]
    }

    /// What weighs a motion as `weights` do the velocity at the point and the angular velocity.
    pub(crate) fn here(&self, [linear, angular]: Weights) -> Weights {
        [self.arm.cross(&linear) + angular, linear]
    }

    /// What weighs S as `weights` do `S x V`.
    pub(crate) fn swept(&self, [angular, linear]: Weights, before: bool) -> Weights {
        let [w, v] = self.twist(before);
        [w.cross(&angular) + v.cross(&linear), w.cross(&linear)]
    }
}

/// 1 for the second body, -1 for the first.
fn sign(side: usize) -> f64 {
    if side == 1 { 1.0 } else { -1.0 }
}

/// Relative velocity of two bodies at a point, and angular velocity: of v+, or of the velocity before.
pub(crate) fn relative<'c>(carriers: impl IntoIterator<Item = &'c Carrier>, before: bool) -> Weights {
    let mut sum = [Vector3::zeros(); 2];
    for carrier in carriers {
        let [w, v] = carrier.twist(before);
        sum[0] += (v + w.cross(&carrier.arm)) * carrier.sign;
        sum[1] += w * carrier.sign;
    }
    sum
}

/// `a` times weights, added to `to`.
pub(crate) fn add_weights(a: f64, from: &Weights, to: &mut Weights) {
    (0..2).for_each(|k| to[k] += from[k] * a);
}

/// Adds an impulse to the bodies that it acts on; `moment` is free of a point.
pub(crate) fn add_fixed(
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
        let sign = sign(side);
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
    (e, tangent_slopes(n).map(|rows| Matrix3::from_row_slice(rows.as_flattened())))
}

/// Settings of constraints in a tree's parameters: 1/h, fraction, largest speed.
pub(crate) fn settings(forward: &Forward) -> [f64; 3] {
    let p = forward.params;
    [1.0 / p[param::TIMESTEP], p[param::CORRECTION_FRACTION], p[param::CORRECTION_MAX]]
}

/// The settings that a contact goes by, and below which speed a gap is closed; none where nothing of it moves.
fn settings_of(
    members: &[Member],
    deformables: &[Deformable],
    place: impl Fn(usize) -> usize,
    contact: &ContactInput,
) -> Option<(ContactSettings, f64)> {
    if let Some((tree, _)) = contact.bodies.iter().flatten().next() {
        let forward = &members[place(*tree)].forward;
        return Some((ContactSettings::of(forward), forward.closed));
    }
    let point = contact.points.iter().flatten().next()?;
    let body = deformables.iter().find(|body| body.number == point.body)?;
    Some((body.input.settings, body.closed))
}

/// Adds the impulses of a contact to its bodies.
pub(crate) fn add_contact_impulse(
    members: &mut [Member],
    deformables: &mut [Deformable],
    place: impl Fn(usize) -> usize,
    contact: &ContactInput,
) {
    let (e, _) = frame(contact.normal);
    let f = e.transpose() * Vector3::from(contact.impulse);
    deformables.iter_mut().for_each(|body| body.add_impulse(contact, f));
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
fn bias((settings, closed): (ContactSettings, f64), contact: &ContactInput, approach: f64) -> Bias {
    let own @ [per_step, fraction, largest] = settings.correction();
    if let Some(span) = contact.give.span(settings.timestep) {
        return Bias { value: contact.distance / span, slope: 1.0 / span, bounces: false, kink: Kink::NONE };
    }
    let threshold = (-settings.restitution_threshold).min(-(contact.distance * per_step));
    let bounces = contact.restitution > 0.0 && approach < threshold;
    let value = if bounces {
        contact.restitution * approach
    } else {
        manyworlds_shaders::contact::tree_layout::bias(contact.distance, per_step, fraction, largest, 0.0)
    };
    let mut kink = if bounces { Kink::NONE } else { bias_kink(contact.distance, own, closed) };
    if contact.restitution > 0.0 {
        // Whether it bounces is a switch as well.
        kink.margin = kink.margin.min((approach - threshold).abs());
    }
    let slope = if bounces { 0.0 } else { bias_slope(contact.distance, own, closed) };
    Bias { value, slope, bounces, kink }
}

/// How fast a contact without impulse opens, biased, m/s: above zero, it has no say in the step.
pub(crate) fn opening(
    members: &[Member],
    deformables: &[Deformable],
    place: impl Fn(usize) -> usize,
    contact: &ContactInput,
    model: ContactModel,
) -> Option<f64> {
    if contact.impulse != [0.0; 3] {
        return None;
    }
    let settings = settings_of(members, deformables, &place, contact)?;
    let n = Vector3::from(contact.normal);
    let carriers = Carrier::of(members, contact.bodies, &place, contact.point.into());
    let nodes: Vec<Carrier> = nodes(deformables, contact).iter().map(Carrier::of_node).collect();
    let relative = |before: bool| relative(carriers.iter().flatten().chain(&nodes), before)[0];
    let (after, approach) = (relative(false), relative(true).dot(&n));
    let opening = after.dot(&n) + bias(settings, contact, approach).value;
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

/// Adds a contact to an island.
pub(crate) fn add_contact(
    members: &[Member],
    deformables: &[Deformable],
    place: impl Fn(usize) -> usize,
    (contact, model): (&ContactInput, ContactModel),
    rows: &mut Rows,
) {
    let Some(settings) = settings_of(members, deformables, &place, contact) else { return };
    let carriers = Carrier::of(members, contact.bodies, &place, contact.point.into());
    let nodes = nodes(deformables, contact);
    let of_nodes: Vec<Carrier> = nodes.iter().map(Carrier::of_node).collect();
    let relative = |before: bool| relative(carriers.iter().flatten().chain(&of_nodes), before);
    let (e, turned) = frame(contact.normal);
    let axes: [Vector3<f64>; 3] = std::array::from_fn(|k| e.row(k).transpose());
    let [u, w] = relative(false);
    let [u_before, w_before] = relative(true);

    let approach = axes[2].dot(&u_before);
    let Bias { value, slope, bounces, kink } = bias(settings, contact, approach);
    let law = Law::Contact { mu: contact.friction.max(0.0), model };
    let impulse = Vector3::from(contact.impulse);
    let f = e.transpose() * impulse;
    // Force by a change of the normal, the axes being its functions; and how fast the tangents' speeds change by it.
    let bent = turned[0] * impulse.x + turned[1] * impulse.y + Matrix3::identity() * impulse.z;
    let by_normal = [turned[0].transpose() * u, turned[1].transpose() * u, u];
    // `weight`: what of its motion the contact's point has.
    let side = |carrier: &Carrier, index: usize, weight: f64| {
        let speed = axes.map(|axis| carrier.here([axis * carrier.sign, Vector3::zeros()]));
        let mut change = speed.map(|row| carrier.swept(row, false));
        let (mut force, mut moment, mut bounce) =
            ([[Vector3::zeros(); 2]; 3], [[Vector3::zeros(); 2]; 3], [0.0; SPATIAL]);
        let restitution = if bounces { contact.restitution } else { 0.0 };
        if bounces {
            add_weights(restitution, &carrier.swept(speed[2], true), &mut change[2]);
            (0..3).for_each(|k| {
                (bounce[k], bounce[3 + k]) = (restitution * speed[2][0][k], restitution * speed[2][1][k])
            });
        }
        if let Ok(slope_of) = &contact.slope {
            // Change of point, normal and distance by what the body does.
            let moved =
                slope_of.side(index).map(|row| carrier.here([vector(&row, 0) * weight, vector(&row, 3) * weight]));
            let (point, normal, distance) = (&moved[..3], &moved[3..6], &moved[6]);
            for k in 0..3 {
                // `dE u + E (w x dp)`.
                let mut lever = axes[k].cross(&w);
                let mut turn = by_normal[k];
                if k == 2 {
                    lever += axes[2].cross(&w_before) * restitution;
                    turn += u_before * restitution;
                    add_weights(slope, distance, &mut change[2]);
                }
                for j in 0..3 {
                    add_weights(lever[j], &point[j], &mut change[k]);
                    add_weights(turn[j], &normal[j], &mut change[k]);
                    add_weights(bent[(k, j)], &normal[j], &mut force[k]);
                }
                // dp x f
                let (next, last) = ((k + 1) % 3, (k + 2) % 3);
                add_weights(f[last], &point[next], &mut moment[k]);
                add_weights(-f[next], &point[last], &mut moment[k]);
            }
        }
        let [speed, turned, force, moment] = [speed, change, force, moment].map(Map::of);
        let ((member, body), Carrier { sign, arm, .. }) = (carrier.place, *carrier);
        Side { member, body, sign, arm, speed, turned, force, moment, bounce }
    };
    let sides = std::array::from_fn(|index| carriers[index].as_ref().map(|carrier| side(carrier, index, 1.0)));
    let node = |(node, carrier): (&Node, &Carrier)| {
        let first = node.first;
        NodeSide { first, side: side(carrier, node.side, node.weight) }
    };
    let nodes = nodes.iter().zip(&of_nodes).map(node).collect();
    rows.push_form(law, contact.impulse, [0.0, 0.0, value], kink, Form { sides, nodes, bounces });
    if bounces {
        rows.bounces(approach);
    }
}
