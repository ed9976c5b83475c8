//! Two cores in one frame: their nearest points, or the shortest way out of each other, by parry's GJK and by what makes its answers
//! exact.

use super::Vector;
use super::clip::Points;
use super::core_shape::Core;
use super::expand::{Corner, Polytope, Way};
use super::facet::{Facets, Parting, Settled, snap, snap_as_flat};
use super::facing::{Nearest, facing_points};
use super::kept::Kept;
use super::placed::Placed;
use super::polish::{Normal, Scaled, polish};
use super::rounding::Rounding;
use parry3d_f64::math::Pose;
use parry3d_f64::query::gjk::{self, CsoPoint, GJKResult, VoronoiSimplex};
use parry3d_f64::shape::SupportMap;

/// How far apart shapes that touch are held to find the direction between them, in units of the smaller one.
pub(super) const PARTED: f64 = 0.03;

/// From how far apart the direction between the nearest points of two shapes is as good as the points, in units of the
/// smaller one.
pub(super) const APART: f64 = 0.01;

/// From how deep an overlap a normal that is the best near it need not be the best, in units of the smaller one: where
/// something comes close to an edge, another face can be the way out.
pub(super) const SHALLOW: f64 = 1e-3;

/// To what the way out of an overlap is looked for among all ways before it is made exact, in units of the smaller shape.
const ROUGHLY: f64 = 1e-6;
/// The same where Newton's method does not end at a smooth maximum or at a face: a kink is found from near it alone.
const CLOSELY: f64 = 1e-12;

/// Points of contact are as deep as the deepest if they are no more than this behind it, in units of the smaller shape.
const SLACK: f64 = 1e-10;

/// Directions that are tried one by one, at most.
const DIRECTIONS: usize = 512;

/// Corners that bring nearest points nearer after GJK has ended, at most.
const CORNERS: usize = 8;

/// parry's tolerances are absolute and meant for sizes about one (in f32 it takes points a millimetre apart for the
/// same), hence the scaled units.
impl SupportMap for Scaled<'_> {
    #[inline]
    fn local_support_point(&self, direction: Vector) -> Vector {
        self.support(direction)
    }

    /// Both shapes are in one frame, so the pose that parry passes is the identity.
    #[inline]
    fn support_point(&self, _: &Pose, direction: Vector) -> Vector {
        self.support(direction)
    }
}

/// The direction between two shapes that stand [`PARTED`] farther apart along a direction than they do.
fn held_apart(first: &Scaled<'_>, second: &Scaled<'_>, along: Vector, simplex: &mut VoronoiSimplex) -> Option<Vector> {
    let parted = Scaled { offset: second.offset + along * (PARTED / second.scale), ..*second };
    simplex.reset(CsoPoint::from_shapes(&Pose::IDENTITY, first, &parted, along));
    match gjk::closest_points(&Pose::IDENTITY, first, &parted, 4.0 * PARTED, true, simplex) {
        GJKResult::ClosestPoints(_, _, normal) if (normal.length_squared() - 1.0).abs() < 1e-3 => Some(normal),
        _ => None,
    }
}

/// What is known of a pair: a normal, the face it belongs to if one parts the shapes as far, and whether it is certain.
pub(super) struct Answer {
    polished: Normal,
    face: Option<Parting>,
    /// Midway between points of the two that lie opposite each other along it, as far apart as it says, if there are any; in scaled
    /// units.
    opposite: Option<Vector>,
    pub(super) certain: bool,
}

impl Answer {
    pub(super) fn is_face(&self) -> bool {
        self.face.is_some()
    }

    pub(super) fn separation(&self) -> f64 {
        self.along().1
    }

    /// The normal and how far the shapes are apart along it.
    fn along(&self) -> (Vector, f64) {
        let polished = (self.polished.direction, self.polished.separation);
        self.face.map_or(polished, |face| (face.normal, face.separation))
    }
}

/// Two cores in one frame, in units of the smaller one.
pub(super) struct Couple<'a> {
    pub(super) first: Scaled<'a>,
    pub(super) second: Scaled<'a>,
    /// Separations are good to this.
    rounding: f64,
    /// The poses that they are of, to this.
    pose_rounding: f64,
}

/// Two shapes farther apart than was asked about.
pub(super) struct Parted {
    /// A direction that shows it: unit, from the first to the second.
    pub(super) along: Vector,
}

/// What GJK says of two polyhedra.
pub(super) enum Quick {
    /// Farther apart than was asked about.
    Beyond(Parted),
    /// Exact.
    Apart(Nearest),
    /// This far, about along this direction: the algorithm ends early where shapes have many corners in about one plane.
    About(f64, Vector),
    /// They overlap, or nearly: then points of the two are no farther apart than this.
    Unknown(Option<f64>),
}

impl<'a> Couple<'a> {
    pub(super) fn new(
        core_a: &'a Core<'a>,
        a: &'a Placed,
        core_b: &'a Core<'a>,
        b: &'a Placed,
        rounding: Rounding,
    ) -> Self {
        let offset = b.centre - a.centre;
        let scale = a.radius.min(b.radius).max(f64::MIN_POSITIVE.sqrt()).recip();
        let size = 2.0 + offset.length() * scale;
        Self {
            first: Scaled { core: core_a, placed: a, offset: Vector::ZERO, scale },
            second: Scaled { core: core_b, placed: b, offset, scale },
            rounding: 8.0 * f64::EPSILON * size,
            pose_rounding: 8.0 * rounding.relative * (size + rounding.origin * scale),
        }
    }

    /// Whether both are hulls of finitely many points.
    pub(super) fn are_polyhedra(&self) -> bool {
        self.first.core.is_polyhedron() && self.second.core.is_polyhedron()
    }

    pub(super) fn in_metres(&self, Nearest { normal, distance, middle }: Nearest) -> Nearest {
        let scale = self.first.scale;
        Nearest { normal, distance: distance / scale, middle: middle / scale }
    }

    /// Between polyhedra apart GJK ends at the features that are nearest, and is exact then: no direction parts the two
    /// by more than their nearest points are apart.
    pub(super) fn quick(&self, start: Vector, within: f64, simplex: &mut VoronoiSimplex) -> Quick {
        let Self { first, second, rounding, pose_rounding } = self;
        simplex.reset(CsoPoint::from_shapes(&Pose::IDENTITY, first, second, start));
        match gjk::closest_points(&Pose::IDENTITY, first, second, within, true, simplex) {
            GJKResult::ClosestPoints(p, q, _) => {
                if (q - p).length() < APART {
                    return Quick::Unknown(Some((q - p).length()));
                }
                let (p, q) = self.closer((p, q), simplex);
                let length = (q - p).length();
                let direction = (q - p) / length;
                let near = Normal { direction, separation: first.separation(second, direction), edges: [None; 2] };
                if near.separation < length - rounding {
                    return Quick::About(length, direction);
                }
                let (normal, distance) = snap(first, second, near, *pose_rounding)
                    .map_or((direction, length), |face| (face.normal, face.separation));
                Quick::Apart(Nearest { normal, distance, middle: 0.5 * (p + q) })
            }
            GJKResult::NoIntersection(along) if first.separation(second, along) > within => {
                Quick::Beyond(Parted { along })
            }
            _ => Quick::Unknown(None),
        }
    }

    /// The nearest points of two polyhedra apart, from those where GJK ended: it ends where the next corner would bring them nearer by
    /// less than a share of 5e-8.
    fn closer(&self, (mut p, mut q): (Vector, Vector), simplex: &mut VoronoiSimplex) -> (Vector, Vector) {
        let Self { first, second, rounding, .. } = self;
        // GJK may have ended in a tetrahedron, with the points of the triangle before: there is no place for another corner.
        let is_full = |simplex: &VoronoiSimplex| simplex.dimension() == 3;
        for _ in 0..CORNERS {
            if is_full(simplex) {
                break;
            }
            let length = (q - p).length();
            let corner = CsoPoint::from_shapes(&Pose::IDENTITY, first, second, (q - p) / length);
            let separation = -corner.point.dot(q - p) / length;
            if separation >= length - rounding || !simplex.add_point(corner) {
                break;
            }
            simplex.project_origin_and_reduce();
            if is_full(simplex) {
                break;
            }
            let mut points = (Vector::ZERO, Vector::ZERO);
            for i in 0..=simplex.dimension() {
                let (share, corner) = (simplex.proj_coord(i), simplex.point(i));
                points.0 += corner.orig1 * share;
                points.1 += corner.orig2 * share;
            }
            if (points.1 - points.0).length() >= length {
                break;
            }
            (p, q) = points;
        }
        (p, q)
    }

    /// The shortest way out of the overlap of two polyhedra, or the face between two of which points were found that are
    /// hardly apart.
    pub(super) fn overlap(&self, start: Vector, apart: Option<f64>, polytope: &mut Polytope) -> Option<Nearest> {
        let rounding = self.rounding;
        let Way { normal, separation, middle, of } = self.way_out(start, self.tolerance(), polytope)?;
        // Else they are nearest at corners or edges, along which no face looks.
        if apart.is_some_and(|apart| separation < apart - rounding) {
            return None;
        }
        let near = Normal { direction: normal, separation, edges: [None; 2] };
        let settled = self.facets(self.tolerance()).settle(near, of);
        let middle = settled.middle.unwrap_or(middle);
        Some(Nearest { normal: settled.normal, distance: settled.separation, middle })
    }

    /// What [`Couple::overlap`] finds of two polyhedra deep in each other, where a polytope of the step before still proves
    /// it; and whether the middle is known too.
    pub(super) fn overlap_again(&self, kept: Kept<'_>, polytope: &mut Polytope) -> Option<(Nearest, bool)> {
        let lowest = polytope.resume(self.corner(), self.numbered(), kept, self.tolerance())?;
        let Settled { normal, separation, middle } = self.facets(self.tolerance()).settle_surely(polytope, &lowest)?;
        let nearest = Nearest { normal, distance: separation, middle: middle.unwrap_or_default() };
        (lowest.height > APART && separation < -APART).then_some((nearest, middle.is_some()))
    }

    /// What [`Couple::search`] finds of two shapes in each other, of which one is no polyhedron, where a polytope of the step before still
    /// proves that it ends at a face.
    pub(super) fn face_again(&self, kept: Kept<'_>, polytope: &mut Polytope) -> Option<Answer> {
        let found = polytope.resume(self.corner(), self.numbered(), kept, ROUGHLY);
        let deep = found.filter(|lowest| lowest.height > SHALLOW);
        let face = deep.and_then(|lowest| self.facets(ROUGHLY).face_surely(polytope, &lowest, self.corner()));
        let Some(face) = face else {
            // It may not be closed.
            polytope.clear();
            return None;
        };
        let polished = Normal { direction: face.normal, separation: face.separation, edges: [None; 2] };
        Some(Answer { polished, face: Some(face), opposite: None, certain: false })
    }

    /// The nearest points of two polyhedra that touch or are near each other, but for the points themselves, where a face that looks
    /// about along this normal leaves no doubt of it; what faces each other is gathered then.
    pub(super) fn over_face(
        &self,
        near: Vector,
        rounding: [f64; 2],
        reach: f64,
        points: &mut Points,
    ) -> Option<Nearest> {
        let Self { first, second, pose_rounding, .. } = self;
        let near = Normal { direction: near, separation: f64::NEG_INFINITY, edges: [None; 2] };
        let face = snap(first, second, near, *pose_rounding)?;
        let Parting { normal, separation, .. } = face;
        let nearest = self.in_metres(Nearest { normal, distance: separation, middle: Vector::ZERO });
        let is_near = nearest.distance - rounding[0] - rounding[1] < reach;
        let (a, b) = (first.placed, second.placed);
        if !is_near || !facing_points(first.core, a, second.core, b, rounding, &nearest, reach, points) {
            return None;
        }
        let facets = self.facets(self.tolerance());
        let foot = points.deepest(SLACK / first.scale) * first.scale;
        // What was gathered is of faces that may have been thinned out, and need not have the corner that is nearest.
        (facets.is_best(face, Some(foot), SLACK) || facets.is_best(face, None, 0.0)).then_some(nearest)
    }

    fn facets(&self, tolerance: f64) -> Facets<'_> {
        let Self { first, second, pose_rounding, .. } = self;
        Facets { first, second, pose_rounding: *pose_rounding, tolerance }
    }

    /// To what the way out of an overlap is found exactly.
    fn tolerance(&self) -> f64 {
        4.0 * self.rounding
    }

    /// The corner of the difference of the two that is farthest along a direction.
    fn corner(&self) -> impl Fn(Vector) -> Corner {
        |direction| Corner::new(self.first.farthest(direction), self.second.farthest(-direction))
    }

    /// The corner of two numbers.
    fn numbered(&self) -> impl Fn([u16; 2]) -> Corner {
        |[i, j]| Corner::new((self.first.corner(i), i), (self.second.corner(j), j))
    }

    /// The shortest way out of the overlap, to a tolerance.
    fn way_out(&self, start: Vector, tolerance: f64, polytope: &mut Polytope) -> Option<Way> {
        // Rounding can spoil a polytope; from somewhere else it is another one.
        let mut from = |start: Vector| polytope.way_out(self.corner(), start, tolerance);
        from(start).or_else(|| from(start.any_orthonormal_vector()))
    }

    /// The best normal near the shortest way out of the overlap.
    pub(super) fn search(
        &self,
        start: Vector,
        polytope: &mut Polytope,
        simplex: &mut VoronoiSimplex,
        points: &mut Points,
    ) -> Option<Answer> {
        let rough = self.refine(self.way_out(start, ROUGHLY, polytope)?.normal, simplex, points);
        if rough.face.is_some() || rough.polished.is_exact(&self.first, &self.second) {
            return Some(rough);
        }
        let Some(way) = polytope.farther(self.corner(), CLOSELY) else { return Some(rough) };
        let close = self.refine(way.normal, simplex, points);
        Some(if rough.separation() > close.separation() { rough } else { close })
    }

    /// The best of the directions that cost nothing to find: `start`, along which they are so far apart, and of faces that look
    /// all ways.
    pub(super) fn guess(&self, start: (f64, Vector), within: f64) -> Result<(f64, Vector), Parted> {
        let (mut best, (_, start)) = (start, start);
        for (shape, sign) in [(&self.first, 1.0), (&self.second, -1.0)] {
            let ahead = shape.placed.local(start * sign);
            for face in std::iter::once(shape.core.face_normal(ahead)).chain(shape.core.sides()) {
                let Some(face) = face else { break };
                let direction = shape.placed.axes * face * sign;
                let apart = self.first.separation(&self.second, direction);
                if apart > within {
                    return Err(Parted { along: direction });
                }
                if apart > best.0 + 1e-3 {
                    best = (apart, direction);
                }
            }
        }
        Ok(best)
    }

    /// The direction that parts the two the most, of small polyhedra: it is normal to a face of one, or to an edge of each.
    pub(super) fn highest(&self) -> Option<Vector> {
        let (first, second) = (self.first.placed, self.second.placed);
        let ((faces_a, edges_a), (faces_b, edges_b)) =
            self.first.core.faces_and_edges().zip(self.second.core.faces_and_edges())?;
        if faces_a.len() + faces_b.len() + 2 * edges_a.len() * edges_b.len() > DIRECTIONS {
            return None;
        }
        let across = |a: &Vector, b: &Vector| (first.axes * *a).cross(second.axes * *b).try_normalize();
        let crossing = edges_a.iter().flat_map(|a| edges_b.iter().filter_map(move |b| across(a, b)));
        let faces = faces_a.iter().map(|n| first.axes * *n).chain(faces_b.iter().map(|n| -(second.axes * *n)));
        let mut best = (f64::NEG_INFINITY, None);
        for direction in faces.chain(crossing.flat_map(|n| [n, -n])) {
            let apart = self.first.separation(&self.second, direction);
            if apart > best.0 {
                best = (apart, Some(direction));
            }
        }
        best.1
    }

    /// Whether no way out of the overlap is shorter than that of an answer: a point of one shape is as deep as that inside the other,
    /// whichever way it leaves it, but for the rounding of points that lie opposite each other.
    pub(super) fn is_proven(&self, answer: &Answer) -> bool {
        let Self { first, second, rounding, .. } = self;
        let (normal, separation) = answer.along();
        let (half, deep) = (0.5 * separation * normal, -separation - rounding);
        let is_inside = |middle: Vector| first.depth(middle + half) >= deep || second.depth(middle - half) >= deep;
        separation < 0.0 && answer.opposite.is_some_and(is_inside)
    }

    /// What an answer says.
    pub(super) fn answer(&self, answer: &Answer) -> Nearest {
        let Self { first, second, .. } = self;
        let (normal, distance) = answer.along();
        // A strictly convex surface has one support point, and what touches a face is the other shape's.
        let of_first = answer.face.map(|face| face.of_first);
        let middle = if first.core.is_strict() || (of_first == Some(false) && !second.core.is_strict()) {
            first.support(normal) + normal * (0.5 * distance)
        } else if second.core.is_strict() || of_first == Some(true) {
            second.support(-normal) - normal * (0.5 * distance)
        } else {
            let (p, q) = answer.polished.points(first, second);
            0.5 * (p + q)
        };
        Nearest { normal, distance, middle }
    }

    /// The best normal near a direction.
    ///
    /// It is certain where points of the two shapes lie opposite each other along it, as far apart as it says.
    pub(super) fn refine(&self, direction: Vector, simplex: &mut VoronoiSimplex, points: &mut Points) -> Answer {
        let Self { first, second, rounding, pose_rounding } = self;
        let (a, b) = (first.placed, second.placed);
        let mut over_face = |face: Option<Parting>| {
            let Parting { normal, separation, .. } = face?;
            let face = Nearest { normal, distance: separation / first.scale, middle: Vector::ZERO };
            facing_points(first.core, a, second.core, b, [0.0; 2], &face, f64::INFINITY, points)
                .then(|| points.deepest(SLACK / first.scale) * first.scale)
        };
        let separation = first.separation(second, direction);
        let mut polished = Normal { direction, separation, edges: [None; 2] };
        let snap = if self.are_polyhedra() { snap } else { snap_as_flat };
        let mut face = snap(first, second, polished, *pose_rounding);
        let mut opposite = over_face(face);
        if opposite.is_none() {
            polished = polish(first, second, direction, *rounding);
            face = snap(first, second, polished, *pose_rounding);
            opposite = polished.opposite(first, second).or_else(|| over_face(face));
        }
        if opposite.is_none() && polished.separation.abs() < PARTED {
            // Newton's method can stop at a kink, or at a face that nothing lies over.
            if let Some(normal) = held_apart(first, second, polished.direction, simplex) {
                let again = polish(first, second, normal, *rounding);
                if again.separation > polished.separation {
                    polished = again;
                    face = snap(first, second, polished, *pose_rounding);
                }
            }
        }
        // Another way out is more often shorter than one across an edge.
        let is_across_edge = face.is_none() && polished.edges != [None; 2];
        let most = if is_across_edge { SHALLOW } else { PARTED };
        Answer { polished, face, opposite, certain: opposite.is_some() && polished.separation > -most }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Matrix;
    use super::*;

    /// Where GJK ended in a tetrahedron its points stand, though others are nearer.
    #[test]
    fn a_full_simplex_takes_no_other_corner() {
        let core = Core::Box(Vector::splat(0.5));
        let at =
            |x: f64| Placed { centre: Vector::new(x, 0.0, 0.0), axes: Matrix::IDENTITY, radius: 1.0, size: [0.5; 3] };
        let (a, b) = (at(0.0), at(3.0));
        let couple = Couple::new(&core, &a, &core, &b, Rounding { relative: f64::EPSILON, origin: 0.0 });
        let corner = |x: f64, y: f64, z: f64| {
            CsoPoint::from_shapes(&Pose::IDENTITY, &couple.first, &couple.second, Vector::new(x, y, z))
        };
        let mut simplex = VoronoiSimplex::new();
        simplex.reset(corner(1.0, 1.0, 1.0));
        for [x, y, z] in [[1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]] {
            assert!(simplex.add_point(corner(x, y, z)));
        }
        let apart = (Vector::new(0.4, 0.0, 0.0), Vector::new(2.6, 0.0, 0.0));
        assert_eq!(couple.closer(apart, &mut simplex), apart);
    }

    /// Of two cylinders that cross each other a point of one inside the other proves the way out, unless it is beyond the axis.
    #[test]
    fn a_point_inside_proves_the_way_out() {
        let core = Core::Cylinder(0.5, 2.0);
        let at = |centre: Vector, axes: Matrix| Placed { centre, axes, radius: 1.0, size: [0.5, 2.0, 0.0] };
        let lying = Matrix::from_cols(Vector::Y, Vector::Z, Vector::X);
        let first = at(Vector::ZERO, Matrix::IDENTITY);
        for (offset, proven) in [(0.8, true), (0.51, true), (0.3, false)] {
            let second = at(Vector::new(0.1, offset, -0.2), lying);
            let couple = Couple::new(&core, &first, &core, &second, Rounding { relative: f64::EPSILON, origin: 0.0 });
            let (mut simplex, mut points) = (VoronoiSimplex::new(), Points::default());
            let answer = couple.refine(Vector::new(0.1, 1.0, 0.1).normalize(), &mut simplex, &mut points);
            let (normal, separation) = answer.along();
            assert!((normal - Vector::Y).length() < 1e-9 && (separation - (offset - 1.0)).abs() < 1e-12);
            assert_eq!(couple.is_proven(&answer), proven, "{offset}");
        }
    }
}
