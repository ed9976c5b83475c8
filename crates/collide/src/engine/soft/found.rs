//! The contacts of one pair of surfaces, or of a surface and a rigid shape, each once.

use std::collections::BTreeMap;

use super::{Pair, Vector};
use crate::Contact;
use crate::soft::{Side, SoftContact};

/// Where the contacts of one pair go.
pub(super) struct Found<'a> {
    out: &'a mut Vec<SoftContact>,
    seen: &'a mut BTreeMap<(u64, u64), usize>,
    /// Where the pair's begin.
    begin: usize,
    number: u64,
    friction: f64,
    restitution: f64,
    /// The first side, where it is a rigid geom.
    rigid: Option<Side>,
}

impl<'a> Found<'a> {
    pub(super) fn new(
        out: &'a mut Vec<SoftContact>,
        seen: &'a mut BTreeMap<(u64, u64), usize>,
        (number, pair): (u64, &Pair),
        friction: f64,
        rigid: Option<Side>,
    ) -> Self {
        seen.clear();
        let begin = out.len();
        Self { out, seen, begin, number, friction, restitution: pair.restitution, rigid }
    }

    /// Adds a contact, the normal into `second`. A point on a vertex or an edge is found from every triangle about it and is
    /// one contact: in a rigid shape, which is convex, the deepest; in another surface the one that is nearest to it, see
    /// [`Self::settle`]. `triangles` tell points inside of triangles apart: of the first side, where it is soft, and of the second.
    pub(super) fn push(&mut self, contact: &Contact, second: Side, first: Option<Side>, triangles: [u32; 2]) {
        let Some(first) = first.or(self.rigid) else { return };
        let vertex = |side: &Side| match side {
            Side::Rigid { .. } => None,
            Side::Soft { vertices, weights, .. } => {
                (0..3).find(|&k| weights[k] == 1.0).map(|corner| u64::from(vertices[corner]) + 1)
            }
        };
        let [on_first, on_second] = triangles.map(u64::from);
        let key = match (vertex(&first), vertex(&second)) {
            (Some(a), Some(b)) => (a << 32 | b, 0),
            (None, Some(b)) if self.rigid.is_some() => (b, 0),
            // One vertex and one triangle.
            (Some(a), None) => (1 << 62 | a << 32 | on_second, 0),
            (None, Some(b)) => (1 << 62 | b << 32 | on_first, 1),
            // Inside of a triangle or on an edge: by the triangles, and the feature that the shapes' overlap has there.
            (None, None) => (1 << 63 | on_first << 32 | on_second, contact.feature + 1),
        };
        let found = SoftContact {
            sides: [first, second],
            point: contact.point,
            normal: contact.normal,
            distance: contact.distance,
            friction: self.friction,
            restitution: self.restitution,
            feature: [self.number, key.0, key.1],
        };
        if let Some(at) = self.seen.get(&key).copied().or_else(|| self.near_on_an_edge(&found)) {
            let (old, new) = (self.out[at].distance, found.distance);
            let is_better = if self.rigid.is_some() { new < old } else { new.abs() < old.abs() };
            if is_better {
                self.out[at] = found;
            }
            return;
        }
        self.seen.insert(key, self.out.len());
        self.out.push(found);
    }

    /// Forgets contacts of two surfaces that have a point deeper in one of them than it can be: than the way from it to another
    /// contact's point, and from there to that surface. What rests on a face beside an edge touches the next face as well, and may seem
    /// deep by the normal of that. `slack`: so much is rounding, m.
    pub(super) fn settle(&mut self, slack: f64) {
        let ends = |contact: &SoftContact| {
            let (point, normal) = (Vector::from_array(contact.point), Vector::from_array(contact.normal));
            [-0.5, 0.5].map(|half| point + normal * (half * contact.distance))
        };
        let own = &self.out[self.begin..];
        if own.iter().all(|contact| contact.distance >= -slack) {
            return;
        }
        let all: Vec<([Vector; 2], f64)> = own.iter().map(|own| (ends(own), own.distance.abs())).collect();
        let is_within = |&(points, depth): &([Vector; 2], f64)| {
            let bounds = |&(others, away): &([Vector; 2], f64)| {
                (0..2).all(|side| depth <= away + (points[side] - others[side]).length() + slack)
            };
            all.iter().all(bounds)
        };
        let mut kept = self.begin;
        for (at, ends) in (self.begin..).zip(&all) {
            if self.out[at].distance >= -slack || is_within(ends) {
                self.out.swap(kept, at);
                kept += 1;
            }
        }
        self.out.truncate(kept);
    }

    /// One that was found from a neighbouring triangle at the same point.
    fn near_on_an_edge(&self, found: &SoftContact) -> Option<usize> {
        let Side::Soft { weights, vertices, .. } = &found.sides[1] else { return None };
        let on_edge = weights.contains(&0.0);
        if !on_edge {
            return None;
        }
        let same = |other: &SoftContact| {
            let Side::Soft { vertices: others, weights: theirs, .. } = &other.sides[1] else { return false };
            let weight_of = |vertex: u32| (0..3).find(|&k| others[k] == vertex).map_or(0.0, |k| theirs[k]);
            let alike = (0..3).all(|k| (weights[k] - weight_of(vertices[k])).abs() < 1e-3);
            let gap = |k: usize| other.normal[k] * found.normal[k];
            alike && gap(0) + gap(1) + gap(2) > 0.99
        };
        (self.begin..self.out.len()).find(|&at| same(&self.out[at]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a point of the first surface at x, so far from the second.
    fn contact(x: f64, distance: f64) -> SoftContact {
        let side = |soft| Side::Soft { soft, vertices: [4, 5, 6], weights: [0.2, 0.3, 0.5] };
        SoftContact {
            sides: [side(0), side(1)],
            point: [x, 0.0, 0.5 * distance],
            normal: [0.0, 0.0, 1.0],
            distance,
            friction: 0.0,
            restitution: 0.0,
            feature: [0; 3],
        }
    }

    #[test]
    fn no_point_is_deeper_than_its_way_to_the_surface() {
        let all = [
            // Another pair's.
            contact(0.0, 0.0),
            // One that touches, one deep at the same place, and one as far from both as it is deep.
            contact(0.0, 1e-6),
            contact(0.0, -5e-4),
            contact(5.1e-4, -5e-4),
            // One too deep for how far away these are, and one that is not.
            contact(1e-2, -1.2e-2),
            contact(-1e-2, -0.9e-2),
            // Open ones may be anywhere.
            contact(0.0, 1e-2),
        ];
        let (mut out, mut seen) = (all.to_vec(), BTreeMap::new());
        let mut found =
            Found { out: &mut out, seen: &mut seen, begin: 1, number: 0, friction: 0.0, restitution: 0.0, rigid: None };
        found.settle(1e-8);
        assert_eq!(out, [0, 1, 3, 5, 6].map(|k| all[k]));
    }
}
