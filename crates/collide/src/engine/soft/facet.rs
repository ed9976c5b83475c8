//! A triangle of a soft body's surface where it is, and which way another pushes it inwards.

use super::{Ball, Matrix, Nearest, Placed, Vector};

/// A triangle takes a push along directions within this of its inward normal: cosine of the angle.
const INWARD: f64 = 0.2;

/// The way between triangles behind each other is along the normals of both: cosine of the angle.
const FLAT: f64 = 0.99;

/// Triangles nearer than this, of the smaller one's radius, may be within each other: which way out is the nearest says nothing.
pub(super) const CLOSED: f64 = 1e-6;

/// Weights below this, of one, count as none: the point lies on an edge or a vertex.
const SNAP: f64 = 1e-6;

/// A triangle where it is: its corners about their middle, that, and its outward normal.
pub(super) struct Facet {
    pub(super) about: [Vector; 3],
    pub(super) placed: Placed,
    pub(super) normal: Vector,
}

impl Facet {
    /// None where it has no area; `outward`: 1, or -1 where its body is inside out.
    pub(super) fn new(vertices: [u32; 3], at: &[[f64; 3]], ball: &Ball, outward: f64) -> Option<Self> {
        let about = vertices.map(|vertex| Vector::from_array(at[vertex as usize]) - ball.centre);
        let normal = outward * (about[1] - about[0]).cross(about[2] - about[0]).try_normalize()?;
        let placed = Placed { centre: ball.centre, axes: Matrix::IDENTITY, radius: ball.radius, ..Placed::default() };
        Some(Self { about, placed, normal })
    }

    /// Whether a part of another triangle is on the outer side of this one's plane, or behind it by less than so much.
    pub(super) fn is_before(&self, other: &Self, behind: f64) -> bool {
        let offset = other.placed.centre - self.placed.centre - self.about[0];
        let highest = other.about.iter().map(|corner| (offset + *corner).dot(self.normal));
        highest.fold(f64::NEG_INFINITY, f64::max) > -behind
    }

    /// Whether a push along a direction is inwards.
    pub(super) fn takes(&self, push: Vector) -> bool {
        -push.dot(self.normal) >= INWARD
    }

    /// Whether a normal from this triangle to another pushes both inwards.
    fn is_inward(&self, other: &Self, normal: Vector) -> bool {
        self.takes(-normal) && other.takes(normal)
    }

    /// What pushes this triangle and another inwards, no farther apart than `reach` and no deeper than `deepest`: the nearest way,
    /// or where they cross the better of the two faces' normals.
    pub(super) fn facing(&self, other: &Self, nearest: &Nearest, [reach, deepest]: [f64; 2]) -> Option<Nearest> {
        if self.is_inward(other, nearest.normal) {
            return (nearest.distance < reach).then_some(*nearest);
        }
        let size = self.placed.radius.min(other.placed.radius);
        if nearest.distance > CLOSED * size {
            return None;
        }
        let offset = other.placed.centre - self.placed.centre;
        let by = |normal: Vector, of_other: bool| {
            let along = |a: &Vector, b: &Vector| a.dot(normal).total_cmp(&b.dot(normal));
            let top = self.about.into_iter().max_by(along)?;
            let bottom = offset + other.about.into_iter().min_by(along)?;
            let distance = (bottom - top).dot(normal);
            // The corner of the other one is the point, and the face is where it is.
            let middle = if of_other { top + normal * (0.5 * distance) } else { bottom - normal * (0.5 * distance) };
            Some(Nearest { normal, distance, middle })
        };
        let both = [by(self.normal, false), by(-other.normal, true)].into_iter().flatten();
        both.filter(|found| self.is_inward(other, found.normal) && found.distance > -deepest)
            .max_by(|a, b| a.distance.total_cmp(&b.distance))
    }

    /// What pushes this triangle and another inwards that do not cross, each behind the other by less than `deepest`: the nearest
    /// way turned round, which must be along the normals of both faces; else they are beside each other.
    pub(super) fn behind(&self, other: &Self, nearest: &Nearest, deepest: f64) -> Option<Nearest> {
        let within = Nearest { normal: -nearest.normal, distance: -nearest.distance, middle: nearest.middle };
        let flat = |of: Vector| of.dot(nearest.normal).abs() > FLAT;
        let is_within = nearest.distance > CLOSED * self.placed.radius.min(other.placed.radius)
            && nearest.distance < deepest
            && flat(self.normal)
            && flat(other.normal)
            && self.is_inward(other, within.normal);
        is_within.then_some(within)
    }

    /// Weights of the corners at a point of the triangle's plane, brought into the triangle; those that are next to none
    /// are none.
    pub(super) fn weights(&self, point: Vector) -> [f64; 3] {
        let [a, b, c] = self.about;
        let point = point - self.placed.centre;
        let area = (b - a).cross(c - a).dot(self.normal);
        let part = |from: Vector, to: Vector| (to - from).cross(point - from).dot(self.normal) / area;
        let mut weights = [part(b, c), part(c, a), part(a, b)].map(|w| if w < SNAP { 0.0 } else { w });
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|w| *w /= sum);
        // What is all but one is one.
        if let Some(corner) = weights.iter().position(|&w| w > 1.0 - 2.0 * SNAP) {
            weights = [0.0; 3];
            weights[corner] = 1.0;
        }
        weights
    }
}
