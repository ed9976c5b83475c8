//! Where contact functions put their points.

use super::best::{Room, best_first};
use super::pair::Pair;
use super::place::Geom;
use super::rounding::Rounding;
use super::{Contact, Overrides, Vector};
use crate::pairs::FrictionSource;

/// Cosine between normals of one patch: within 15 degrees.
const ALIKE: f64 = 0.966;

/// Collects the contacts of one pair after another.
pub(super) struct Sink<'a> {
    out: &'a mut Vec<Contact>,
    /// What the contacts of the current pair have in common.
    common: Contact,
    /// Whether the contact function has the pair the other way round.
    flip: bool,
    /// Only points closer than this are contacts, m.
    pub(super) reach: f64,
    /// Tells the parts of a shape apart in the features of its contacts; 0 for a shape without parts.
    pub(super) tag: u32,
    /// Relative, of the poses.
    pose_rounding: f64,
    room: Room,
}

impl<'a> Sink<'a> {
    pub(super) fn new(out: &'a mut Vec<Contact>, pose_rounding: f64) -> Self {
        let common = Contact {
            geoms: [0; 2],
            bodies: [0; 2],
            point: [0.0; 3],
            normal: [0.0; 3],
            distance: 0.0,
            friction: 0.0,
            restitution: 0.0,
            feature: 0,
        };
        Self { out, common, flip: false, reach: 0.0, tag: 0, pose_rounding, room: Room::default() }
    }

    /// Turns to a pair; gives where its contacts begin.
    #[inline]
    pub(super) fn begin(
        &mut self,
        number: u32,
        pair: &Pair,
        geoms: &[Geom],
        reach: f64,
        overrides: &Overrides<'_>,
    ) -> usize {
        let (low, high) = (pair.a.min(pair.b), pair.a.max(pair.b));
        self.flip = pair.a != low;
        self.reach = reach;
        self.common.geoms = [low, high];
        self.common.bodies = [geoms[low as usize].owner, geoms[high as usize].owner];
        let own = |values: &[f64]| (values.get(low as usize).copied(), values.get(high as usize).copied());
        self.common.friction = match (pair.source, own(overrides.friction)) {
            (FrictionSource::Both, (Some(first), Some(second))) => first.max(second),
            (FrictionSource::First, (Some(first), _)) => first,
            (FrictionSource::Second, (_, Some(second))) => second,
            _ => pair.friction,
        };
        self.common.restitution = match own(overrides.restitution) {
            (Some(first), Some(second)) if !pair.explicit => first.max(second),
            _ => pair.restitution,
        };
        self.common.feature = u64::from(number) << 32;
        self.out.len()
    }

    /// Adds a point if it is near enough; the normal is from the contact function's first shape to its second.
    #[inline]
    pub(super) fn push(&mut self, point: Vector, normal: Vector, distance: f64, feature: u32) {
        if distance < self.reach {
            let normal = if self.flip { -normal } else { normal };
            self.out.push(Contact {
                point: point.to_array(),
                normal: normal.to_array(),
                distance,
                feature: self.common.feature | u64::from(feature ^ self.tag),
                ..self.common
            });
        }
    }

    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    /// Of the contacts from `first` on whose normals are alike, keeps those that hold the pair best.
    pub(super) fn thin(&mut self, first: usize) {
        let normal = |c: &Contact| Vector::from_array(c.normal);
        let mut done = first;
        while done < self.out.len() {
            // About the deepest that is left.
            for index in done + 1..self.out.len() {
                if self.out[index].distance < self.out[done].distance {
                    self.out.swap(done, index);
                }
            }
            let axis = normal(&self.out[done]);
            let mut end = done + 1;
            for index in done + 1..self.out.len() {
                if normal(&self.out[index]).dot(axis) > ALIKE {
                    self.out.swap(end, index);
                    end += 1;
                }
            }
            let rounding = Rounding { relative: self.pose_rounding, origin: 0.0 };
            let of = |c: &Contact| (Vector::from_array(c.point), c.distance);
            let kept = done + best_first(&mut self.out[done..end], axis, rounding, &mut self.room, of);
            self.out.drain(kept..end);
            done = kept;
        }
    }

    /// Drops contacts from `first` on that stand within `near` of a deeper one with about the same normal.
    pub(super) fn merge(&mut self, first: usize, near: f64) {
        let mut kept = first;
        for index in first..self.out.len() {
            let contact = self.out[index];
            let (point, normal) = (Vector::from_array(contact.point), Vector::from_array(contact.normal));
            let twin = self.out[first..kept].iter_mut().find(|other| {
                (Vector::from_array(other.point) - point).length_squared() < near * near
                    && Vector::from_array(other.normal).dot(normal) > 0.99
            });
            match twin {
                Some(twin) if contact.distance < twin.distance => *twin = contact,
                Some(_) => {}
                None => {
                    self.out[kept] = contact;
                    kept += 1;
                }
            }
        }
        self.out.truncate(kept);
    }

    /// Ends a pair, whose contacts begin at `first`: orders them by feature and makes their features differ. `reduce`: with those of
    /// them alone that hold it best.
    #[inline]
    pub(super) fn end(&mut self, first: usize, reduce: bool) {
        if reduce {
            self.thin(first);
        }
        let contacts = &mut self.out[first..];
        if contacts.len() < 2 {
            return;
        }
        // Stable, and by insertion for so few: no allocation.
        for i in 1..contacts.len() {
            let mut j = i;
            while j > 0 && contacts[j - 1].feature > contacts[j].feature {
                contacts.swap(j - 1, j);
                j -= 1;
            }
        }
        for i in 1..contacts.len() {
            if contacts[i].feature <= contacts[i - 1].feature {
                contacts[i].feature = contacts[i - 1].feature + 1;
            }
        }
    }
}
