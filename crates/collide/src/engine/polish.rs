//! The last digits of a normal between convex shapes.
//!
//! With the support function h(n) = max n·x of each shape, the shapes are apart along a unit normal n (from A to B) by
//! s(n) = -h_A(n) - h_B(-n), and the contact normal is where s is largest (the highest of its maxima, where they
//! overlap). s is flat there: GJK and EPA, which end when s stops growing by more than their tolerance, leave the normal
//! off by that tolerance's square root, and EPA in f32 leaves s itself short by percents. Here Newton's method on the
//! sphere goes on from their answer. With f = -s, its gradient w = p - q (the support points), and the support functions'
//! Hessians H, a step δ across n solves
//!
//! `(P H P - f) δ = -P w`, with P the projection across n.
//!
//! Straight edges (a cylinder's side, a box's edges) are kinks of h, where n is held across the edge: what is searched
//! then is the circle across it, and across two edges n is their cross product. The edges in question are those that the
//! free step crosses. Every candidate is judged by s, which never overstates: a step can only come nearer.

use super::Vector;
use super::core_shape::Core;
use super::placed::Placed;

/// Most steps; Newton's method takes two to four.
const STEPS: usize = 16;
/// Times a step that worsens the separation is cut, and to what part.
const CUTS: u32 = 3;
const CUT: f64 = 0.125;

/// How far off a normal the points of a maximum may be for it to count as found to rounding, in scaled units.
const EXACT: f64 = 1e-12;

/// By how much a direction leans to one end of an edge across it, that this end be the farthest.
const NUDGE: f64 = 1e-6;

/// Whether two points, in scaled units, are the same to the square root of rounding.
fn are_one(p: Vector, q: Vector) -> bool {
    (p - q).length_squared() < 16.0 * f64::EPSILON
}

/// A core in world axes about the first shape's centre, in units of the smaller shape.
pub(super) struct Scaled<'a> {
    pub(super) core: &'a Core<'a>,
    pub(super) placed: &'a Placed,
    pub(super) offset: Vector,
    pub(super) scale: f64,
}

impl Scaled<'_> {
    /// The point farthest along a direction.
    #[inline]
    pub(super) fn support(&self, direction: Vector) -> Vector {
        let point = self.core.support(self.placed.local(direction));
        (self.offset + self.placed.axes * point) * self.scale
    }

    /// The point of a number.
    #[inline]
    pub(super) fn corner(&self, number: u16) -> Vector {
        (self.offset + self.placed.axes * self.core.corner(number)) * self.scale
    }

    /// The point farthest along a direction, and its number.
    #[inline]
    pub(super) fn farthest(&self, direction: Vector) -> (Vector, u16) {
        if self.core.is_polyhedron() {
            let number = self.core.farthest(self.placed.local(direction));
            (self.corner(number), number)
        } else {
            let point = self.core.support(self.placed.local(direction));
            ((self.offset + self.placed.axes * point) * self.scale, self.core.number(point))
        }
    }

    /// How far a point's foot is inside the rim of the face that looks along a unit direction, and how far some corner of that face
    /// is behind what is farthest along it; in scaled units.
    pub(super) fn inside_face(&self, direction: Vector, point: Vector, all: bool) -> (f64, f64) {
        let axis = self.placed.local(direction);
        let (inside, bottom) = self.core.inside_face(axis, self.placed.local(point / self.scale - self.offset), all);
        (inside * self.scale, (self.core.support(axis).dot(axis) - bottom) * self.scale)
    }

    /// Whether a point is farthest along a unit direction: there, or on the straight edge that is held across it.
    fn has_farthest(&self, direction: Vector, edge: Option<Vector>, point: Vector) -> bool {
        let Some(edge) = edge else { return are_one(self.support(direction), point) };
        let [from, to] = [-NUDGE, NUDGE].map(|nudge| self.support(direction + edge * nudge));
        let along = edge.dot(point - from);
        0.0 <= along && along <= edge.dot(to - from) && are_one(from + edge * along, point)
    }

    /// How deep a point is inside, at least.
    pub(super) fn depth(&self, point: Vector) -> f64 {
        self.core.depth(self.placed.local(point / self.scale - self.offset)) * self.scale
    }

    /// How far the other shape is apart along a unit direction, in scaled units.
    pub(super) fn separation(&self, other: &Self, direction: Vector) -> f64 {
        (other.support(-direction) - self.support(direction)).dot(direction)
    }

    fn bend(&self, direction: Vector, step: Vector) -> Vector {
        self.placed.axes * self.core.bend(self.placed.local(direction), self.placed.local(step)) * self.scale
    }

    /// The first edge that a step from a direction crosses; where it crosses none, the one that most faces it. Unit.
    fn crossed(&self, direction: Vector, mut step: Vector) -> Option<Vector> {
        let mut edge = None;
        if self.core.is_flat() {
            let here = self.support(direction);
            for _ in 0..CUTS {
                let across = self.support(direction + step) - here;
                if across == Vector::ZERO {
                    break;
                }
                edge = across.try_normalize();
                step *= CUT;
            }
        }
        edge.or_else(|| self.core.edge(self.placed.local(direction)).map(|edge| self.placed.axes * edge))
    }
}

/// A normal, and the edges it is held across.
#[derive(Clone, Copy)]
pub(super) struct Normal {
    pub(super) direction: Vector,
    /// How far the shapes are apart along it, in scaled units.
    pub(super) separation: f64,
    pub(super) edges: [Option<Vector>; 2],
}

impl Normal {
    /// The points of the two shapes that are nearest along it, in scaled units.
    pub(super) fn points(&self, first: &Scaled<'_>, second: &Scaled<'_>) -> (Vector, Vector) {
        let (p, q) = (first.support(self.direction), second.support(-self.direction));
        let between = self.direction * self.separation;
        match self.edges {
            // Each is anywhere on its edge: where the two edges pass each other.
            [Some(u), Some(v)] => {
                let across = u.cross(v);
                let p = p + u * ((q - p).cross(v).dot(across) / across.length_squared());
                (p, p + between)
            }
            [Some(_), None] => (q - between, q),
            _ => (p, p + between),
        }
    }
}

impl Normal {
    /// Midway between the points of the two shapes that are nearest along it, if they lie opposite each other, as far apart as it says.
    pub(super) fn opposite(&self, first: &Scaled<'_>, second: &Scaled<'_>) -> Option<Vector> {
        let ((p, q), [of_first, of_second]) = (self.points(first, second), self.edges);
        let are_there =
            first.has_farthest(self.direction, of_first, p) && second.has_farthest(-self.direction, of_second, q);
        are_there.then(|| 0.5 * (p + q))
    }

    /// Whether this is a maximum to rounding: the support points differ along the normal and the edges it is held across.
    pub(super) fn is_exact(&self, first: &Scaled<'_>, second: &Scaled<'_>) -> bool {
        let between = second.support(-self.direction) - first.support(self.direction);
        let mut across = between - self.direction * self.separation;
        match self.edges {
            // Both are across the normal, and so is what is left.
            [Some(_), Some(_)] => across = Vector::ZERO,
            [Some(edge), None] | [None, Some(edge)] => across -= edge * edge.dot(across),
            [None, None] => {}
        }
        let held = self.edges.iter().flatten().all(|edge| edge.dot(self.direction).abs() < EXACT);
        held && across.length_squared() < EXACT * EXACT
    }
}

/// The nearest maximum of the separation to a unit direction from `first` to `second`.
pub(super) fn polish(first: &Scaled<'_>, second: &Scaled<'_>, start: Vector, rounding: f64) -> Normal {
    let at = |direction: Vector, edges| Normal { direction, separation: first.separation(second, direction), edges };
    let mut best = at(start, [None; 2]);
    for _ in 0..STEPS {
        let normal = best.direction;
        let (u, v) = normal.any_orthonormal_pair();
        let free = newton(first, second, normal, [u, v]).unwrap_or(Vector::ZERO);
        let edges = [first.crossed(normal, free), second.crossed(-normal, -free)];
        // What is held by more edges first: of equals, that is the exact one; and the first that is better will do.
        let across = || {
            let across = edges[0]?.cross(edges[1]?).try_normalize()?;
            Some(at(if across.dot(normal) < 0.0 { -across } else { across }, edges))
        };
        let along = |held: [Option<Vector>; 2]| {
            let edge = held[0].or(held[1])?;
            let middle = (normal - edge * edge.dot(normal)).try_normalize()?;
            let step = newton(first, second, middle, [edge.cross(middle), Vector::ZERO])?;
            Some(shorten(at(middle, held), step, rounding, at))
        };
        let mut next: Option<Normal> = None;
        for which in 0..4 {
            let candidate = match which {
                0 => across(),
                1 => along([edges[0], None]),
                2 => along([None, edges[1]]),
                _ => Some(shorten(best, free, rounding, at)),
            };
            let Some(candidate) = candidate else { continue };
            if next.is_none_or(|n| candidate.separation > n.separation + rounding) {
                next = Some(candidate);
            }
            if candidate.separation > best.separation + rounding {
                break;
            }
        }
        let Some(next) = next.filter(|n| n.separation >= best.separation - rounding) else { break };
        let moved = (next.direction - normal).length_squared();
        best = next;
        // What is left after a step is of the order of its square.
        if moved <= f64::EPSILON {
            break;
        }
    }
    best
}

/// Newton's step from a normal along one or two tangents (the second may be zero); at most about half a radian.
fn newton(first: &Scaled<'_>, second: &Scaled<'_>, normal: Vector, [u, v]: [Vector; 2]) -> Option<Vector> {
    let across = first.support(normal) - second.support(-normal);
    let overlap = across.dot(normal);
    let bend = |step: Vector| first.bend(normal, step) + second.bend(-normal, step);
    let bent = [bend(u), bend(v)];
    let (slope_u, slope_v) = (across.dot(u), across.dot(v));
    // Of the circle alone, the second row is that of the identity.
    let alone = v == Vector::ZERO;
    let (a, b) = (u.dot(bent[0]) - overlap, u.dot(bent[1]));
    let c = if alone { 1.0 } else { v.dot(bent[1]) - overlap };
    let determinant = a * c - b * b;
    let (du, dv) = if a > 0.0 && determinant > 0.0 {
        ((b * slope_v - c * slope_u) / determinant, (b * slope_u - a * slope_v) / determinant)
    } else {
        // Not near a maximum: downhill, as far as the curvature says.
        let steep = (a.abs() + b.abs()).max(if alone { 0.0 } else { c.abs() + b.abs() });
        (-slope_u / steep, -slope_v / steep)
    };
    let step = u * du + v * dv;
    // Farther out the second order tells nothing.
    step.is_finite().then(|| step * (0.5 / step.length().max(0.5)))
}

/// What a step leads to, cut short until it does no harm.
fn shorten(
    from: Normal,
    mut step: Vector,
    rounding: f64,
    at: impl Fn(Vector, [Option<Vector>; 2]) -> Normal,
) -> Normal {
    let mut found = from;
    for _ in 0..CUTS {
        let next = at((from.direction + step).normalize(), from.edges);
        if next.separation >= from.separation - rounding {
            return next;
        }
        step *= CUT;
        found = if next.separation > found.separation { next } else { found };
    }
    found
}
