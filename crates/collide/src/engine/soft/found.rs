//! The contacts of one pair of surfaces, or of a surface and a rigid shape, each once.

use std::collections::BTreeMap;

use super::Pair;
use crate::Contact;
use crate::soft::{Side, SoftContact};

/// A vertex of a soft body's surface: the body, and its number there.
type Corner = (u32, u32);

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
    /// [`Self::settle`]. `triangle` tells points inside of triangles apart.
    pub(super) fn push(&mut self, contact: &Contact, second: Side, first: Option<Side>, triangle: u64) {
        let Some(first) = first.or(self.rigid) else { return };
        let place = |side: &Side| match side {
            Side::Rigid { .. } => Some(0),
            Side::Soft { .. } => corner(side).map(|(_, vertex)| u64::from(vertex) + 1),
        };
        let on_vertex = place(&second);
        let key = match (place(&first), on_vertex) {
            (Some(a), Some(b)) => (a << 32 | b, 0),
            // Inside of a triangle or on an edge: by the triangle, and the feature that the shapes' overlap has there.
            _ => (1 << 63 | triangle, contact.feature + 1),
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

    /// Forgets contacts of two surfaces that have a vertex of one deeper in the other than another contact of it is away. The nearest
    /// one says on which side of the other surface the vertex is: a triangle that hangs on one which rests on a face touches that
    /// face as well, and by its own normal it may seem deep within the other body. `slack`: so much is rounding, m.
    pub(super) fn settle(&mut self, slack: f64) {
        let mut away: BTreeMap<Corner, f64> = BTreeMap::new();
        for contact in &self.out[self.begin..] {
            for corner in contact.sides.iter().filter_map(corner) {
                let least = away.entry(corner).or_insert(f64::INFINITY);
                *least = least.min(contact.distance.abs());
            }
        }
        let is_within = |contact: &SoftContact| {
            contact.sides.iter().filter_map(corner).all(|corner| contact.distance >= -away[&corner] - slack)
        };
        let mut kept = self.begin;
        for at in self.begin..self.out.len() {
            if is_within(&self.out[at]) {
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

/// The vertex that a side of a contact lies on.
fn corner(side: &Side) -> Option<Corner> {
    let Side::Soft { soft, vertices, weights } = side else { return None };
    (0..3).find(|&k| weights[k] == 1.0).map(|k| (*soft, vertices[k]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contact(first: [f64; 3], second: [f64; 3], distance: f64) -> SoftContact {
        let side = |soft, weights| Side::Soft { soft, vertices: [4, 5, 6], weights };
        SoftContact {
            sides: [side(0, first), side(1, second)],
            point: [0.0; 3],
            normal: [0.0, 0.0, 1.0],
            distance,
            friction: 0.0,
            restitution: 0.0,
            feature: [0; 3],
        }
    }

    #[test]
    fn the_nearest_contact_of_a_vertex_says_how_deep_it_is() {
        let (inside, vertex, other) = ([0.2, 0.3, 0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
        let all = [
            // One pair's before.
            contact(inside, vertex, -5e-4),
            // A vertex that rests on a face, and is deep by another.
            contact(inside, vertex, 1e-6),
            contact(inside, vertex, -5e-4),
            // One that is deep by both, and open to a third.
            contact(other, inside, -2e-4),
            contact(other, inside, -3e-4),
            contact(other, inside, 1e-3),
            // No vertex.
            contact(inside, inside, -1e-3),
            // As deep as the nearest but for rounding.
            contact(inside, vertex, -1.001e-6),
        ];
        let (mut out, mut seen) = (all.to_vec(), BTreeMap::new());
        let mut found =
            Found { out: &mut out, seen: &mut seen, begin: 1, number: 0, friction: 0.0, restitution: 0.0, rigid: None };
        found.settle(1e-8);
        assert_eq!(out, [0, 1, 3, 5, 6, 7].map(|k| all[k]));
    }
}
