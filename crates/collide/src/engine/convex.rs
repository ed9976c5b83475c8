//! Convex shapes without a closed form: parry's GJK and EPA for the normal, the features that face each other for the
//! points.

use super::clip::{Candidate, Points};
use super::core_shape::{Core, Feature, Polyhedron};
use super::parry::math::Pose;
use super::parry::query::epa::EPA;
use super::parry::query::gjk::{self, CsoPoint, GJKResult, VoronoiSimplex};
use super::parry::shape::SupportMap;
use super::place::Placed;
use super::polish::{Normal, Scaled, polish};
use super::{Real, Sink, Vector};

/// How far apart shapes that touch are held to find the direction between them, in units of the smaller one.
const PARTED: Real = 0.03;

/// Memory of the algorithms.
pub(super) struct Workspace {
    simplex: VoronoiSimplex,
    epa: EPA,
    pub(super) points: Points,
}

impl Default for Workspace {
    fn default() -> Self {
        Self { simplex: VoronoiSimplex::new(), epa: EPA::new(), points: Points::default() }
    }
}

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

/// The nearest points of two cores, or those deepest in each other.
pub(super) struct Nearest {
    /// Unit, from the first to the second.
    pub(super) normal: Vector,
    /// Signed, of the cores, m.
    pub(super) distance: Real,
    /// Midway between the two, about the first shape's centre, m.
    pub(super) middle: Vector,
}

/// The features of two cores that face each other along a normal, about the first one's centre.
pub(super) fn facing(
    core_a: &Core<'_>,
    a: &Placed,
    core_b: &Core<'_>,
    b: &Placed,
    normal: Vector,
) -> (Feature, Feature) {
    let mut on_a = core_a.feature(a.local(normal));
    let mut on_b = core_b.feature(b.local(-normal));
    for point in &mut on_a.points[..on_a.len] {
        *point = a.axes * *point;
    }
    let offset = b.centre - a.centre;
    for point in &mut on_b.points[..on_b.len] {
        *point = offset + b.axes * *point;
    }
    (on_a, on_b)
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

/// The face that parts the shapes as far as a normal does, to rounding: iteration ends near a flat contact's normal, and
/// the face's own is exact.
fn snap(first: &Scaled<'_>, second: &Scaled<'_>, near: Normal, rounding: Real) -> Option<(Vector, Real)> {
    let mut found = None;
    let mut best = near.separation - rounding;
    for (shape, sign) in [(first, 1.0), (second, -1.0)] {
        let Some(axis) = shape.core.face_normal(shape.placed.local(near.direction * sign)) else { continue };
        let direction = shape.placed.axes * axis * sign;
        let apart = first.separation(second, direction);
        if apart >= best {
            (best, found) = (apart - rounding, Some((direction, apart)));
        }
    }
    found
}

/// The nearest points of two cores within a distance.
pub(super) fn nearest(
    core_a: &Core<'_>,
    a: &Placed,
    core_b: &Core<'_>,
    b: &Placed,
    within: Real,
    workspace: &mut Workspace,
) -> Option<Nearest> {
    let offset = b.centre - a.centre;
    let scale = a.radius.min(b.radius).max(Real::MIN_POSITIVE.sqrt()).recip();
    let first = Scaled { core: core_a, placed: a, offset: Vector::ZERO, scale };
    let second = Scaled { core: core_b, placed: b, offset, scale };
    let start = offset.try_normalize().unwrap_or(Vector::Z);
    let Workspace { simplex, epa, points } = workspace;
    simplex.reset(CsoPoint::from_shapes(&Pose::IDENTITY, &first, &second, start));
    let found = match gjk::closest_points(&Pose::IDENTITY, &first, &second, within * scale, true, simplex) {
        GJKResult::ClosestPoints(p, q, normal) => Some((p, q, normal)),
        GJKResult::NoIntersection(_) => return None,
        GJKResult::Intersection | GJKResult::Proximity(_) => {
            epa.closest_points(&Pose::IDENTITY, &first, &second, simplex)
        }
    };
    // Where EPA gives up (touching within rounding), the best of the shapes' own axes is left.
    let found = found.filter(|(p, q, n)| p.is_finite() && q.is_finite() && (n.length_squared() - 1.0).abs() < 1e-3);
    let (mut p, mut q, mut normal) = found.unwrap_or((Vector::ZERO, offset * scale, start));
    let mut best = first.separation(&second, normal);
    if best < 0.0 {
        // EPA can end on a face on the far side of deep overlaps: faces that look all ways must not do better.
        for (core, placed, sign) in [(core_a, a, 1.0), (core_b, b, -1.0)] {
            for axis in [start, Vector::X, Vector::Y, Vector::Z, -Vector::X, -Vector::Y, -Vector::Z] {
                let Some(face) = core.face_normal(if axis == start { placed.local(start * sign) } else { axis }) else {
                    break;
                };
                let direction = placed.axes * face * sign;
                let apart = first.separation(&second, direction);
                if apart > best + 1e-3 {
                    (best, normal) = (apart, direction);
                    (p, q) = (first.support(direction), second.support(-direction));
                }
            }
        }
    }
    let rounding = 8.0 * Real::EPSILON * (2.0 + offset.length() * scale);
    let mut polished = polish(&first, &second, normal, rounding);
    let mut face = snap(&first, &second, polished, rounding);
    if polished.separation.abs() < PARTED && !polished.is_smooth(&first, &second) {
        // GJK and EPA are at their worst where shapes just touch, and can leave Newton's method at a kink, or at a face that
        // nothing lies over: GJK is asked again, of the shapes held apart.
        let holds = |(normal, separation): (Vector, Real)| {
            let face = Nearest { normal, distance: separation / scale, middle: Vector::ZERO };
            facing_points(core_a, a, core_b, b, [0.0; 2], &face, Real::INFINITY, points)
        };
        if !face.is_some_and(holds)
            && let Some(normal) = held_apart(&first, &second, polished.direction, simplex)
        {
            let again = polish(&first, &second, normal, rounding);
            if again.separation > polished.separation {
                polished = again;
                face = snap(&first, &second, polished, rounding);
            }
        }
    }
    if core_a.is_curved() || core_b.is_curved() || polished.separation > best + 1e-5 {
        (p, q) = polished.points(&first, &second);
    }
    (normal, best) = face.unwrap_or((polished.direction, polished.separation));
    // A strictly convex surface has one support point, which is nearer the truth than what the iteration ended with.
    if core_a.is_strict() {
        p = first.support(normal);
        q = p + normal * best;
    } else if core_b.is_strict() {
        q = second.support(-normal);
        p = q - normal * best;
    }
    Some(Nearest { normal, distance: best / scale, middle: 0.5 * (p + q) / scale })
}

/// Contacts of two convex shapes by their cores.
pub(super) fn convex_convex(
    core_a: Core<'_>,
    a: &Placed,
    rounding: [Real; 2],
    core_b: Core<'_>,
    b: &Placed,
    workspace: &mut Workspace,
    sink: &mut Sink<'_>,
) {
    let within = sink.reach + rounding[0] + rounding[1];
    let Some(nearest) = nearest(&core_a, a, &core_b, b, within, workspace) else { return };
    touch(&core_a, a, &core_b, b, rounding, &nearest, workspace, sink);
}

/// The points of contact along a normal: where the features that face each other overlap, and the nearest points
/// themselves where that has nothing as deep.
pub(super) fn touch(
    core_a: &Core<'_>,
    a: &Placed,
    core_b: &Core<'_>,
    b: &Placed,
    rounding: [Real; 2],
    nearest: &Nearest,
    workspace: &mut Workspace,
    sink: &mut Sink<'_>,
) {
    if nearest.distance - rounding[0] - rounding[1] < sink.reach {
        let held = facing_points(core_a, a, core_b, b, rounding, nearest, sink.reach, &mut workspace.points);
        emit(a, b, nearest, rounding, !held, workspace, sink);
    }
}

/// Gathers where the features that face each other along a normal overlap; whether that is as deep as the normal says.
pub(super) fn facing_points(
    core_a: &Core<'_>,
    a: &Placed,
    core_b: &Core<'_>,
    b: &Placed,
    rounding: [Real; 2],
    nearest: &Nearest,
    reach: Real,
    points: &mut Points,
) -> bool {
    points.clear();
    let (on_a, on_b) = facing(core_a, a, core_b, b, nearest.normal);
    points.overlap(&on_a, &on_b, nearest.normal, rounding, reach);
    points.closest() <= nearest.distance - rounding[0] - rounding[1] + 1e-5 * a.radius.min(b.radius)
}

/// Gives what was gathered to the sink, and the nearest points themselves where asked for.
pub(super) fn emit(
    a: &Placed,
    b: &Placed,
    nearest: &Nearest,
    rounding: [Real; 2],
    with_nearest: bool,
    workspace: &mut Workspace,
    sink: &mut Sink<'_>,
) {
    if with_nearest {
        let point = nearest.middle + nearest.normal * (0.5 * (rounding[0] - rounding[1]));
        let distance = nearest.distance - rounding[0] - rounding[1];
        workspace.points.push(Candidate { point, distance, feature: 0 });
    }
    workspace.points.emit(nearest.normal, a.centre, a.radius.min(b.radius), sink);
}

/// The lowest vertices of a hull over a plane.
pub(super) fn plane_mesh(a: &Placed, b: &Placed, mesh: &Polyhedron, workspace: &mut Workspace, sink: &mut Sink<'_>) {
    let normal = a.axis();
    let down = b.local(normal);
    let height = (b.centre - a.centre).dot(normal);
    let points = &mut workspace.points;
    points.clear();
    for (index, vertex) in mesh.vertices.iter().enumerate() {
        let distance = height + vertex.dot(down);
        if distance < sink.reach {
            points.make_room(normal);
            let point = b.axes * *vertex - normal * (0.5 * distance);
            points.push(Candidate { point, distance, feature: index as u32 });
        }
    }
    points.emit(normal, b.centre, b.radius, sink);
}
