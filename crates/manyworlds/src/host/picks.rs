//! Which contacts of a world a sensor shows, and what of them is known before they are solved.

use manyworlds_collide::Contact;
use manyworlds_model::{ContactOrder, ContactPick, ExplicitPair, Frame, Model, OfContact, Party, Pose, Vec3, Zone};

/// Contacts that are no further apart than this beyond their margin touch, m: what rests does not do so to the last bit.
const TOUCHING: f64 = 1e-5;

/// Which contacts a sensor shows.
#[derive(Debug, Clone)]
pub(crate) struct Picker {
    between: [Option<Seen>; 2],
    /// In the frame of the ground where its body never moves.
    within: Option<(Frame, Zone)>,
    order: ContactOrder,
    pub(crate) slots: usize,
    /// Of each geom, and of pairs of their own, m.
    margins: Vec<f64>,
    pairs: Vec<([usize; 2], f64)>,
}

/// What must take part.
#[derive(Debug, Clone)]
enum Seen {
    Geom(usize),
    /// By body.
    Bodies(Vec<bool>),
}

/// The contacts that a sensor shows.
#[derive(Debug)]
pub(crate) struct Picked {
    /// How many there are to be shown.
    count: usize,
    /// Those that are, by their number, and whether the sensor sees them from the other side.
    pub(crate) shown: Vec<(usize, bool)>,
}

impl Picker {
    pub(crate) fn new(model: &Model, pick: &ContactPick) -> Self {
        let bodies = |is_seen: &dyn Fn(usize) -> bool| Seen::Bodies((0..model.bodies.len()).map(is_seen).collect());
        let above = |body: usize| std::iter::successors(Some(body), |&at| (at > 0).then(|| model.bodies[at].parent));
        let seen = |party: Party| match party {
            Party::Geom(geom) => Seen::Geom(geom),
            Party::Body(own) => bodies(&|body| body == own),
            Party::Subtree(root) => bodies(&|body| above(body).any(|at| at == root)),
        };
        let pair =
            |pair: &ExplicitPair| ([pair.geoms[0].min(pair.geoms[1]), pair.geoms[0].max(pair.geoms[1])], pair.margin);
        Self {
            between: pick.between.map(|party| party.map(seen)),
            within: pick.within.map(|(frame, zone)| (grounded(model, frame), zone)),
            order: pick.order,
            slots: pick.slots,
            margins: model.geoms.iter().map(|geom| geom.contact.margin).collect(),
            pairs: model.pairs.iter().map(pair).collect(),
        }
    }

    /// `pose`: of a body that moves.
    pub(crate) fn pick(&self, contacts: &[Contact], pose: impl Fn(usize) -> Pose) -> Picked {
        let stands = |frame: &Frame| if frame.body == 0 { frame.pose } else { pose(frame.body) * frame.pose };
        let zone = self.within.as_ref().map(|(frame, zone)| (stands(frame), zone));
        let is_within = |contact: &Contact| {
            let at = |frame: &Pose| frame.inverse_transform_point(&contact.point.into()).coords;
            zone.as_ref().is_none_or(|(frame, zone)| contains(zone, at(frame)))
        };
        let seen = |contact: &Contact| {
            let flipped = self.sides(contact)?;
            (contact.distance < self.margin(contact) + TOUCHING && is_within(contact)).then_some(flipped)
        };
        let mut shown: Vec<_> =
            contacts.iter().enumerate().filter_map(|(number, contact)| Some((number, seen(contact)?))).collect();
        let count = shown.len();
        if self.order == ContactOrder::Deepest {
            shown.sort_by(|a, b| contacts[a.0].distance.total_cmp(&contacts[b.0].distance));
        }
        if self.order != ContactOrder::Net {
            shown.truncate(self.slots);
        }
        Picked { count, shown }
    }

    /// Whether the sensor sees a contact, and then whether from the other side: the normal is to point from the first party to
    /// the second.
    fn sides(&self, contact: &Contact) -> Option<bool> {
        let is = |party: usize, side: usize| match &self.between[party] {
            None => true,
            Some(Seen::Geom(geom)) => contact.geoms[side] as usize == *geom,
            Some(Seen::Bodies(bodies)) => bodies[contact.bodies[side] as usize],
        };
        if is(0, 0) && is(1, 1) { Some(false) } else { (is(0, 1) && is(1, 0)).then_some(true) }
    }

    /// Of a contact's geoms together.
    fn margin(&self, contact: &Contact) -> f64 {
        let geoms = contact.geoms.map(|geom| geom as usize);
        let own = self.pairs.iter().find(|(pair, _)| *pair == geoms);
        own.map_or_else(|| self.margins[geoms[0]].max(self.margins[geoms[1]]), |(_, margin)| *margin)
    }

    /// What a sensor shows, with zeros where forces will stand.
    pub(crate) fn reading(&self, picked: &Picked, what: &[OfContact], contacts: &[Contact]) -> Vec<f64> {
        let mut all = Vec::new();
        for slot in 0..self.slots {
            let shown = picked.shown.get(slot).map(|&(number, flipped)| (&contacts[number], flipped));
            for of in what {
                let begin = all.len();
                all.resize(begin + of.width(), 0.0);
                let Some((contact, flipped)) = shown else { continue };
                let is_net = self.order == ContactOrder::Net;
                let [normal, tangent, _] = if is_net { AXES } else { seen_frame(contact.normal.into(), flipped) };
                match of {
                    OfContact::Count => all[begin] = picked.count as f64,
                    OfContact::Distance if is_net => {}
                    OfContact::Distance => all[begin] = contact.distance,
                    OfContact::Position => all[begin..].copy_from_slice(&contact.point),
                    OfContact::Normal => all[begin..].copy_from_slice(normal.as_slice()),
                    OfContact::Tangent => all[begin..].copy_from_slice(tangent.as_slice()),
                    OfContact::Force | OfContact::Torque => {}
                }
            }
        }
        all
    }

    /// The slot that shows a contact's force, and along which directions, of what acts on its second body.
    pub(crate) fn force(&self, number: usize, contact: &Contact, flipped: bool) -> (usize, [Vec3; 3]) {
        match self.order {
            ContactOrder::Net if flipped => (0, AXES.map(|axis| -axis)),
            ContactOrder::Net => (0, AXES),
            // What acts on the other body is the opposite.
            _ => (number, seen_frame(contact.normal.into(), flipped).map(|axis| if flipped { -axis } else { axis })),
        }
    }
}

/// A frame on a body that never moves as one on the ground.
fn grounded(model: &Model, frame: Frame) -> Frame {
    if !model.stands_still(frame.body) {
        return frame;
    }
    let above = std::iter::successors(Some(frame.body), |&at| (at > 0).then(|| model.bodies[at].parent));
    let pose = above.filter(|&body| body > 0).fold(frame.pose, |pose, body| model.bodies[body].pose * pose);
    Frame { body: 0, pose }
}

/// The axes of the world.
const AXES: [Vec3; 3] = [Vec3::new(1.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.0, 0.0, 1.0)];

/// MuJoCo's frame of a contact, as a sensor sees it: normal and tangents. The second tangent is the same from both sides.
fn seen_frame(normal: Vec3, flipped: bool) -> [Vec3; 3] {
    let beside = if normal.y.abs() < 0.5 { AXES[1] } else { AXES[2] };
    let tangent = (beside - normal * normal.dot(&beside)).normalize();
    let other = normal.cross(&tangent);
    if flipped { [-normal, -tangent, other] } else { [normal, tangent, other] }
}

/// Whether a point is in a zone.
pub(crate) fn contains(zone: &Zone, at: Vec3) -> bool {
    let across = at.x.hypot(at.y);
    match *zone {
        Zone::Sphere(radius) => at.norm() < radius,
        Zone::Capsule(radius, half) => across.hypot((at.z.abs() - half).max(0.0)) < radius,
        Zone::Ellipsoid(radii) => at.component_div(&radii).norm() < 1.0,
        Zone::Cylinder(radius, half) => across < radius && at.z.abs() < half,
        Zone::Box(half) => (0..3).all(|k| at[k].abs() < half[k]),
    }
}
