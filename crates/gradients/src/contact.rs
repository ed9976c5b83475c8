//! Derivatives of contacts: constraints on the relative velocity of two bodies at a point.
//!
//! With u the relative velocity at the point p and E the rows of the frame, `sigma = E u`. A step of q changes u because the
//! twists of the bodies change (see `manyworlds_shaders::dynamics::derivatives::transport`) and because p moves, E because
//! the normal turns, and e with the distance. The impulse on the bodies changes with p and E likewise.

use std::borrow::Cow;

use manyworlds_collide::derivatives::{SlidingChange, Slope};
use manyworlds_shaders::contact::frame::{tangent_slopes, tangents};
use manyworlds_shaders::dynamics::tree::SPATIAL;
use nalgebra::{Matrix3, Vector3};

use crate::bias::{Kink, bias_kink, bias_slope};
use crate::carrier::{Carrier, add_fixed, add_weights, relative as relative_of};
use crate::constraint::Law;
use crate::corner::{self, Corner};
use crate::form::{Form, Map, NodeSide, Side};
use crate::member::{BodyOfTree, Member, vector};
use crate::model::{ContactModel, Give};
use crate::rows::Rows;
use crate::sparse::{ContactSettings, Deformable, Node, PointInput, nodes};

/// A contact of the step.
#[derive(Debug, Clone)]
pub struct ContactInput {
    /// The two geoms, numbered as whoever asks for derivatives by their parameters numbers them.
    pub geoms: [usize; 2],
    /// The two bodies; `None`: what does not move.
    pub bodies: [Option<BodyOfTree>; 2],
    /// What deforms of the two: the point that touches. Its body is what carries it, if that moves.
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
    /// What the second body's surface does relative to the first's beside what trees make it do, world axes: its velocity at the
    /// point, m/s, and its spin, rad/s.
    pub drift: [[f64; 3]; 2],
    /// Impulse of the step, (t1, t2, n), N s.
    pub impulse: [f64; 3],
    /// How it gives way; [`Give::Bias`] unless the model is convex.
    pub give: Give,
    /// How it changes with what its two sides do; why that is not known.
    pub slope: Result<Slope, Cow<'static, str>>,
}

/// The frame of a contact as rows, and how its tangents change with the normal: `d t1 = F1 dn`, `d t2 = F2 dn`.
fn frame(n: [f64; 3]) -> (Matrix3<f64>, [Matrix3<f64>; 2]) {
    let [t1, t2] = tangents(n);
    let e = Matrix3::from_rows(&[t1, t2, n].map(|row| Vector3::from(row).transpose()));
    (e, tangent_slopes(n).map(|rows| Matrix3::from_row_slice(rows.as_flattened())))
}

/// The settings that a contact goes by, and below which speed a gap is closed; none where nothing of it moves.
fn settings_of(
    members: &[Member],
    deformables: &[Deformable],
    place: impl Fn(usize) -> usize,
    contact: &ContactInput,
) -> Option<(ContactSettings, f64)> {
    if let Some(point) = contact.points.iter().flatten().next() {
        let body = deformables.iter().find(|body| body.number == point.body)?;
        return Some((body.input.settings, body.closed));
    }
    let (tree, _) = contact.bodies.iter().flatten().next()?;
    let forward = &members[place(*tree)].forward;
    Some((ContactSettings::of(forward), forward.closed))
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
    deformables.iter_mut().for_each(|body| body.add_impulse(&contact.points, f));
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
    let nodes: Vec<Carrier> = nodes(deformables, &contact.points).iter().map(Carrier::of_node).collect();
    let relative = |before: bool| relative_of(carriers.iter().flatten().chain(&nodes), before)[0];
    let drift = Vector3::from(contact.drift[0]);
    let (after, approach) = (relative(false) + drift, (relative(true) + drift).dot(&n));
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
    let nodes = nodes(deformables, &contact.points);
    let of_nodes: Vec<Carrier> = nodes.iter().map(Carrier::of_node).collect();
    let drift = contact.drift.map(Vector3::from);
    let relative = |before: bool| {
        let [u, w] = relative_of(carriers.iter().flatten().chain(&of_nodes), before);
        [u + drift[0], w + drift[1]]
    };
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
    let restitution = if bounces { contact.restitution } else { 0.0 };
    // `dE u + E (w x dp)`: what weighs the change of the point, and that of the normal.
    let mut levers = axes.map(|axis| axis.cross(&w));
    levers[2] += axes[2].cross(&w_before) * restitution;
    let mut turns = by_normal;
    turns[2] += u_before * restitution;
    let moved: Vec<SlidingChange<3>> = match &contact.slope {
        Ok(slope) => nodes.iter().map(|node| slope.by_node(node.side, &node.weights, &node.shares)).collect(),
        Err(_) => vec![SlidingChange::<3>::zeros(); nodes.len()],
    };
    let corners = match &contact.slope {
        Ok(Slope::Sliding(slope)) => corner::corners(slope, (&nodes, &moved), &carriers, f),
        _ => Vec::new(),
    };
    // How the velocities change with the weight of a corner.
    let by_weight = |corner: &Corner| {
        let [after, before] = corner.velocity;
        e * after + Vector3::z() * (restitution * axes[2].dot(&before))
    };
    // `carried`: how the nodes that the body carries move in it, after the step and before it.
    let side = |carrier: &Carrier, index: usize, carried: [Vector3<f64>; 2]| {
        let speed = axes.map(|axis| carrier.here([axis * carrier.sign, Vector3::zeros()]));
        let mut change = speed.map(|row| carrier.swept(row, false));
        let (mut force, mut moment, mut bounce) =
            ([[Vector3::zeros(); 2]; 3], [[Vector3::zeros(); 2]; 3], [0.0; SPATIAL]);
        if bounces {
            add_weights(restitution, &carrier.swept(speed[2], true), &mut change[2]);
            (0..3).for_each(|k| {
                (bounce[k], bounce[3 + k]) = (restitution * speed[2][0][k], restitution * speed[2][1][k])
            });
        }
        // What moves along the carrier's axes turns with them: `ds x u`.
        let [carried, carried_before] = carried;
        for k in 0..3 {
            change[k][0] += carried.cross(&axes[k]);
        }
        change[2][0] += carried_before.cross(&axes[2]) * restitution;
        if let Ok(slope_of) = &contact.slope {
            // Change of point, normal and distance by what the body does.
            let of_twist = slope_of.side(index).map(|row| [vector(&row, 0), vector(&row, 3)]);
            let moved = of_twist.map(|weights| carrier.here(weights));
            let (point, normal, distance) = (&moved[..3], &moved[3..6], &moved[6]);
            add_weights(slope, distance, &mut change[2]);
            for k in 0..3 {
                for j in 0..3 {
                    add_weights(levers[k][j], &point[j], &mut change[k]);
                    add_weights(turns[k][j], &normal[j], &mut change[k]);
                    add_weights(bent[(k, j)], &normal[j], &mut force[k]);
                }
                // dp x f
                let (next, last) = ((k + 1) % 3, (k + 2) % 3);
                add_weights(f[last], &point[next], &mut moment[k]);
                add_weights(-f[next], &point[last], &mut moment[k]);
            }
        }
        for corner in &corners {
            let by_weight = by_weight(corner);
            (0..3).for_each(|k| add_weights(by_weight[k], &corner.by_side[index], &mut change[k]));
        }
        let [speed, turned, force, moment] = [speed, change, force, moment].map(Map::of);
        let ((member, body), Carrier { sign, arm, .. }) = (carrier.place, *carrier);
        Side { member, body, sign, arm, speed, turned, force, moment, bounce }
    };
    let sides = std::array::from_fn(|index| {
        let own: Vec<&Carrier> =
            nodes.iter().zip(&of_nodes).filter(|(node, _)| node.side == index).map(|(_, c)| c).collect();
        let carried = [false, true].map(|before| relative_of(own.iter().copied(), before)[0]);
        carriers[index].as_ref().map(|carrier| Box::new(side(carrier, index, carried)))
    });
    let as_rows = |of: &[Vector3<f64>; 3]| Matrix3::from_columns(of).transpose();
    let node = |(place, node): (usize, &Node)| {
        let (change, sign) = (&moved[place], node.pushed());
        let (point, normal) = (change.fixed_rows::<3>(0), change.fixed_rows::<3>(3));
        let mut turned = as_rows(&levers) * point + as_rows(&turns) * normal;
        turned.set_row(2, &(turned.row(2) + slope * change.row(6)));
        corners.iter().for_each(|corner| turned += by_weight(corner) * corner.by_node[place].transpose());
        NodeSide {
            first: node.first,
            axes: node.axes,
            carried_by: carriers[node.side].as_ref().map(|_| node.side),
            pushed: f * sign,
            sign,
            speed: e * sign,
            turned,
            force: bent * normal,
            // dp x f
            moment: -f.cross_matrix() * point,
            bounce: restitution * sign * axes[2],
        }
    };
    let nodes = nodes.iter().enumerate().map(node).collect();
    let e = [axes[0].dot(&drift[0]), axes[1].dot(&drift[0]), axes[2].dot(&drift[0]) + value];
    rows.push_form(law, contact.impulse, e, kink, Form { sides, nodes, corners, bounces });
    if bounces {
        rows.bounces(approach);
    }
}
