//! Contact points between two flat features: their overlap as seen along the normal.

use super::best::{Room, best_first};
use super::feature::{CORNERS, Feature};
use super::rounding::Rounding;
use super::{Matrix, Sink, Vector};

/// The overlap of two features has at most the corners of both.
const MOST: usize = 2 * CORNERS + 2;

/// Which features of the two shapes a point belongs to, in the low 32 bits of a contact's feature.
const CORNER_OF_A: u32 = 1 << 30;
const CORNER_OF_B: u32 = 2 << 30;
const CROSSING: u32 = 3 << 30;
/// Marks an edge of the overlap as one of A's.
const FROM_A: u32 = 1 << 16;

/// A point that may become a contact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
    pub(super) point: Vector,
    pub(super) distance: f64,
    pub(super) feature: u32,
}

impl Candidate {
    fn place(&self) -> (Vector, f64) {
        (self.point, self.distance)
    }
}

/// The points of one pair before the best are kept.
#[derive(Debug)]
pub(super) struct Points {
    items: [Candidate; MOST],
    len: usize,
    /// Of the poses: what differs by no more is the same.
    pub(super) rounding: Rounding,
    room: Room,
}

impl Default for Points {
    fn default() -> Self {
        Self {
            items: [Candidate { point: Vector::ZERO, distance: 0.0, feature: 0 }; MOST],
            len: 0,
            rounding: Rounding { relative: f64::EPSILON, origin: 0.0 },
            room: Room::default(),
        }
    }
}

/// A corner of the overlap in the plane across the normal.
#[derive(Debug, Clone, Copy, Default)]
struct Corner {
    u: f64,
    v: f64,
    feature: u32,
    /// The edge to the next corner: B's number, or A's with `FROM_A`.
    edge: u32,
}

type Ring = ([Corner; MOST], usize);

/// The plane across the normal.
struct Frame {
    normal: Vector,
    u: Vector,
    v: Vector,
}

/// Height of a feature along the normal over the plane: `offset + u x + v y`.
struct Height {
    offset: f64,
    u: f64,
    v: f64,
}

impl Frame {
    fn new(normal: Vector) -> Self {
        let (u, v) = normal.any_orthonormal_pair();
        Self { normal, u, v }
    }

    fn flat(&self, point: Vector) -> (f64, f64) {
        (point.dot(self.u), point.dot(self.v))
    }

    /// The height of a polygon's plane; none when the normal lies nearly in it.
    fn plane(&self, feature: &Feature) -> Option<Height> {
        let first = feature.points[0];
        let mut across = Vector::ZERO;
        for i in 2..feature.len {
            across += (feature.points[i - 1] - first).cross(feature.points[i] - first);
        }
        let along = across.dot(self.normal);
        if along.abs() <= 1e-3 * across.length() {
            return None;
        }
        let slope = |axis: Vector| -across.dot(axis) / along;
        Some(Height { offset: across.dot(first) / along, u: slope(self.u), v: slope(self.v) })
    }

    /// The height of a segment at its own points, level across it.
    fn line(&self, feature: &Feature) -> Height {
        let (first, edge) = (feature.points[0], feature.points[1] - feature.points[0]);
        let (u, v) = self.flat(edge);
        let squared = (u * u + v * v).max(f64::MIN_POSITIVE);
        let slope = edge.dot(self.normal) / squared;
        let (u0, v0) = self.flat(first);
        Height { offset: first.dot(self.normal) - slope * (u * u0 + v * v0), u: slope * u, v: slope * v }
    }

    fn height(&self, feature: &Feature) -> Option<Height> {
        if feature.len > 2 { self.plane(feature) } else { Some(self.line(feature)) }
    }
}

impl Height {
    fn at(&self, u: f64, v: f64) -> f64 {
        self.offset + self.u * u + self.v * v
    }
}

impl Points {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// The smallest distance among the points.
    pub(super) fn closest(&self) -> f64 {
        self.items[..self.len].iter().fold(f64::INFINITY, |least, c| least.min(c.distance))
    }

    /// The middle of the deepest of the points.
    pub(super) fn deepest(&self, slack: f64) -> Vector {
        let least = self.closest() + slack;
        let level = self.items[..self.len].iter().filter(|c| c.distance <= least);
        let (sum, count) = level.fold((Vector::ZERO, 0.0), |(sum, count), c| (sum + c.point, count + 1.0));
        sum / count
    }

    pub(super) fn push(&mut self, candidate: Candidate) {
        if self.len < MOST {
            self.items[self.len] = candidate;
            self.len += 1;
        }
    }

    /// Adds the corners of the overlap of two features, seen along the unit normal from A to B.
    ///
    /// Features are given in one frame, in which the points come out. The rounding is what each surface stands off
    /// its feature.
    pub(super) fn overlap(&mut self, a: &Feature, b: &Feature, normal: Vector, rounding: [f64; 2], reach: f64) {
        let frame = Frame::new(normal);
        if a.len < 2 || b.len < 2 {
            return;
        }
        let (Some(on_a), Some(on_b)) = (frame.height(a), frame.height(b)) else { return };
        let ring = match (a.len, b.len) {
            (2, 2) => segments(a, b, &frame),
            (2, _) => segment_on_face(b, a, &frame, self.rounding, true),
            (_, 2) => segment_on_face(a, b, &frame, self.rounding, false),
            _ => faces(a, b, &frame, self.rounding),
        };
        for corner in &ring.0[..ring.1] {
            let low = on_a.at(corner.u, corner.v) + rounding[0];
            let high = on_b.at(corner.u, corner.v) - rounding[1];
            if high - low < reach {
                let point = frame.u * corner.u + frame.v * corner.v + normal * (0.5 * (low + high));
                self.push(Candidate { point, distance: high - low, feature: corner.feature });
            }
        }
    }

    /// Takes some points in place of its own, only the best where there is no room for all. They and their normal are given in
    /// the frame of these axes.
    pub(super) fn take(&mut self, from: &mut [Candidate], normal: Vector, axes: &Matrix) {
        self.len = from.len();
        if self.len > MOST {
            self.len = best_first(from, normal, self.rounding, &mut self.room, Candidate::place);
        }
        for (own, from) in self.items.iter_mut().zip(&from[..self.len]) {
            *own = Candidate { point: axes * from.point, ..*from };
        }
    }

    /// Gives the points that hold the pair best to the sink. `size` is a length of the shapes, m.
    pub(super) fn emit(&mut self, normal: Vector, origin: Vector, size: f64, sink: &mut Sink<'_>) {
        self.merge(size);
        // Of parts of a patch, the best are kept when all are there.
        if sink.tag == 0 {
            self.keep_best(normal);
        }
        for c in &self.items[..self.len] {
            sink.push(origin + c.point, normal, c.distance, c.feature);
        }
    }

    fn keep_best(&mut self, normal: Vector) {
        let items = &mut self.items[..self.len];
        self.len = best_first(items, normal, self.rounding, &mut self.room, Candidate::place);
    }

    /// Drops points that stand where an earlier one does.
    fn merge(&mut self, size: f64) {
        let near = 1e-3 * size;
        let mut kept = 0;
        for i in 0..self.len {
            let candidate = self.items[i];
            let twin =
                self.items[..kept].iter().position(|k| (k.point - candidate.point).length_squared() < near * near);
            match twin {
                // The deeper of the two, by the name of the one that has a corner's or an edge's.
                Some(twin) => {
                    let other = self.items[twin];
                    let deeper = if candidate.distance < other.distance { candidate } else { other };
                    let names = [candidate.feature, other.feature];
                    let feature = names.into_iter().filter(|&f| f != 0).min().unwrap_or(0);
                    self.items[twin] = Candidate { feature, ..deeper };
                }
                None => {
                    self.items[kept] = candidate;
                    kept += 1;
                }
            }
        }
        self.len = kept;
    }
}

/// The corner where edge `edge` of A meets an edge of the overlap.
fn crossing(a: &Feature, edge: usize, other: u32) -> u32 {
    if other & FROM_A == 0 {
        return CROSSING | u32::from(a.edges[edge] & 0x7fff) << 15 | other & 0x7fff;
    }
    // Two edges of A, in the order of clipping: they meet at the later one's start, but for the last and the first.
    let earlier = (other & !FROM_A) as usize;
    let corner = if earlier == 0 && edge + 1 == a.len && a.len > 2 { 0 } else { edge };
    CORNER_OF_A | u32::from(a.corners[corner])
}

/// Twice the signed area of a feature in the plane: positive when it runs counter-clockwise.
fn turn(feature: &Feature, frame: &Frame) -> f64 {
    let mut area = 0.0;
    for i in 0..feature.len {
        let (u0, v0) = frame.flat(feature.points[i]);
        let (u1, v1) = frame.flat(feature.points[(i + 1) % feature.len]);
        area += u0 * v1 - u1 * v0;
    }
    area
}

/// What lies on an edge must not fall off it by rounding: what is added to the area by which a point is inside.
fn slack(edge: [f64; 4], rounding: Rounding) -> f64 {
    let size = edge.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
    rounding.blur(size) * size
}

/// B clipped by the edges of A (Sutherland and Hodgman, Reentrant Polygon Clipping).
fn faces(a: &Feature, b: &Feature, frame: &Frame, rounding: Rounding) -> Ring {
    // Rings take turns: to fill and copy them for each edge would be most of the work.
    let mut rings: [Ring; 2] = [([Corner::default(); MOST], 0); 2];
    let [ring, next] = &mut rings;
    let (mut ring, mut next) = (ring, next);
    let mut inside_by = [0.0; MOST];
    ring.1 = b.len;
    for i in 0..b.len {
        let (u, v) = frame.flat(b.points[i]);
        let feature = CORNER_OF_B | u32::from(b.corners[i]);
        ring.0[i] = Corner { u, v, feature, edge: u32::from(b.edges[i] & 0x7fff) };
    }
    let inward = turn(a, frame).signum();
    for edge in 0..a.len {
        let (u0, v0) = frame.flat(a.points[edge]);
        let (u1, v1) = frame.flat(a.points[(edge + 1) % a.len]);
        let slack = slack([u0, v0, u1, v1], rounding);
        let inside = |c: &Corner| inward * ((u1 - u0) * (c.v - v0) - (v1 - v0) * (c.u - u0)) + slack;
        let count = ring.1;
        for (inside_by, corner) in inside_by.iter_mut().zip(&ring.0[..count]) {
            *inside_by = inside(corner);
        }
        // Most edges cut nothing off.
        if inside_by[..count].iter().all(|&d| d >= 0.0) {
            continue;
        }
        next.1 = 0;
        let mut push = |corner: Corner| {
            if next.1 < MOST {
                next.0[next.1] = corner;
                next.1 += 1;
            }
        };
        for i in 0..count {
            let after = if i + 1 == count { 0 } else { i + 1 };
            let (from, to) = (ring.0[i], ring.0[after]);
            let (d0, d1) = (inside_by[i], inside_by[after]);
            if d0 >= 0.0 {
                push(from);
            }
            if (d0 >= 0.0) != (d1 >= 0.0) {
                let t = d0 / (d0 - d1);
                let feature = crossing(a, edge, from.edge);
                let follows = if d0 >= 0.0 { FROM_A | edge as u32 } else { from.edge };
                let (u, v) = (from.u + t * (to.u - from.u), from.v + t * (to.v - from.v));
                push(Corner { u, v, feature, edge: follows });
            }
        }
        std::mem::swap(&mut ring, &mut next);
        if ring.1 == 0 {
            break;
        }
    }
    *ring
}

/// The part of a segment over a face; `swapped` when the segment is A's.
fn segment_on_face(face: &Feature, segment: &Feature, frame: &Frame, rounding: Rounding, swapped: bool) -> Ring {
    let ((u0, v0), (u1, v1)) = (frame.flat(segment.points[0]), frame.flat(segment.points[1]));
    let corner = if swapped { CORNER_OF_A } else { CORNER_OF_B };
    let mut ends = [(0.0, corner | u32::from(segment.corners[0])), (1.0, corner | u32::from(segment.corners[1]))];
    let inward = turn(face, frame).signum();
    for edge in 0..face.len {
        let (p, q) = frame.flat(face.points[edge]);
        let (r, s) = frame.flat(face.points[(edge + 1) % face.len]);
        let slack = slack([p, q, r, s], rounding);
        let inside = |u: f64, v: f64| inward * ((r - p) * (v - q) - (s - q) * (u - p)) + slack;
        let (d0, d1) = (inside(u0, v0), inside(u1, v1));
        if d0 < 0.0 && d1 < 0.0 {
            return ([Corner::default(); MOST], 0);
        }
        if (d0 < 0.0) != (d1 < 0.0) {
            let t = d0 / (d0 - d1);
            let (of_face, of_segment) = (u32::from(face.edges[edge] & 0x7fff), u32::from(segment.edges[0] & 0x7fff));
            let (first, second) = if swapped { (of_segment, of_face) } else { (of_face, of_segment) };
            let feature = CROSSING | first << 15 | second;
            if d0 < 0.0 && t > ends[0].0 {
                ends[0] = (t, feature);
            } else if d1 < 0.0 && t < ends[1].0 {
                ends[1] = (t, feature);
            }
        }
    }
    let mut ring: Ring = ([Corner::default(); MOST], 0);
    if ends[0].0 <= ends[1].0 {
        for (t, feature) in ends {
            ring.0[ring.1] = Corner { u: u0 + t * (u1 - u0), v: v0 + t * (v1 - v0), feature, edge: 0 };
            ring.1 += 1;
        }
    }
    ring
}

/// The common stretch of two parallel segments; nothing when they cross, which the nearest points tell better.
fn segments(a: &Feature, b: &Feature, frame: &Frame) -> Ring {
    let ((u0, v0), (u1, v1)) = (frame.flat(a.points[0]), frame.flat(a.points[1]));
    let ((p0, q0), (p1, q1)) = (frame.flat(b.points[0]), frame.flat(b.points[1]));
    let mut ring: Ring = ([Corner::default(); MOST], 0);
    let (du, dv, dp, dq) = (u1 - u0, v1 - v0, p1 - p0, q1 - q0);
    let (squared, other) = (du * du + dv * dv, dp * dp + dq * dq);
    let sine = du * dq - dv * dp;
    // Within about two degrees, as for capsules.
    if sine * sine > 1e-3 * squared * other || squared <= f64::MIN_POSITIVE {
        return ring;
    }
    let along = |p: f64, q: f64| ((p - u0) * du + (q - v0) * dv) / squared;
    let (mut first, mut second) = ((along(p0, q0), b.corners[0]), (along(p1, q1), b.corners[1]));
    if first.0 > second.0 {
        (first, second) = (second, first);
    }
    let low = if first.0 > 0.0 {
        (first.0, CORNER_OF_B | u32::from(first.1))
    } else {
        (0.0, CORNER_OF_A | u32::from(a.corners[0]))
    };
    let high = if second.0 < 1.0 {
        (second.0, CORNER_OF_B | u32::from(second.1))
    } else {
        (1.0, CORNER_OF_A | u32::from(a.corners[1]))
    };
    if low.0 <= high.0 {
        for (t, feature) in [low, high] {
            ring.0[ring.1] = Corner { u: u0 + t * du, v: v0 + t * dv, feature, edge: 0 };
            ring.1 += 1;
        }
    }
    ring
}
