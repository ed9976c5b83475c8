//! Convex shapes without a closed form: parry's GJK and EPA for the normal, the features that face each other for the
//! points.

use super::clip::{Candidate, Points};
use super::core_shape::Core;
use super::couple::{APART, Couple, PARTED, Parted, Quick, SHALLOW};
use super::expand::Polytope;
use super::facing::{Nearest, facing_points};
use super::hints::{Found, Hint};
use super::placed::Placed;
use super::polyhedron::Polyhedron;
use super::{Sink, Vector};
use parry3d_f64::math::Pose;
use parry3d_f64::query::epa::EPA;
use parry3d_f64::query::gjk::{self, CsoPoint, GJKResult, VoronoiSimplex};

/// Memory of the algorithms.
pub(super) struct Workspace {
    simplex: VoronoiSimplex,
    epa: EPA,
    pub(super) polytope: Polytope,
    pub(super) points: Points,
    /// Of a hull, near a plane.
    lowest: Vec<Candidate>,
}

impl Default for Workspace {
    fn default() -> Self {
        Self {
            simplex: VoronoiSimplex::new(),
            epa: EPA::new(),
            polytope: Polytope::default(),
            points: Points::default(),
            lowest: Vec::new(),
        }
    }
}

/// The nearest points of two cores within a distance.
pub(super) fn nearest(
    core_a: &Core<'_>,
    a: &Placed,
    core_b: &Core<'_>,
    b: &Placed,
    within: f64,
    workspace: &mut Workspace,
) -> Result<Nearest, Parted> {
    nearest_by(core_a, a, core_b, b, within, None, workspace).map(|(nearest, _)| nearest)
}

/// The same, and whether what the step before found of them proved it; `hint`: that, if there is anything.
fn nearest_by(
    core_a: &Core<'_>,
    a: &Placed,
    core_b: &Core<'_>,
    b: &Placed,
    within: f64,
    hint: Option<Hint<'_>>,
    workspace: &mut Workspace,
) -> Result<(Nearest, bool), Parted> {
    let couple = Couple::new(core_a, a, core_b, b, workspace.points.rounding);
    let Couple { first, second, .. } = &couple;
    let scale = first.scale;
    let Workspace { simplex, epa, polytope, points, .. } = workspace;
    polytope.clear();
    let start = second.offset.try_normalize().unwrap_or(Vector::Z);
    let in_metres = |nearest| couple.in_metres(nearest);
    let polyhedra = couple.are_polyhedra();
    match hint {
        Some(Hint::Parted(along)) if first.separation(second, along) > within * scale => return Err(Parted { along }),
        // GJK would only say that they overlap.
        Some(Hint::Deep(_)) if polyhedra => {
            if let Some(nearest) = couple.overlap(start, None, polytope).filter(|nearest| nearest.distance < -APART) {
                return Ok((in_metres(nearest), false));
            }
        }
        _ => {}
    }
    let again = match hint {
        Some(Hint::Deep(Some(kept))) if !polyhedra => couple.face_again(kept, polytope),
        _ => None,
    };
    if let Some(again) = again.as_ref().filter(|again| again.separation() < -PARTED) {
        return Ok((in_metres(couple.answer(again)), true));
    }
    // Most that are near each other are parted by the direction between their middles.
    let between = first.separation(second, start);
    if between > within * scale {
        return Err(Parted { along: start });
    }
    if polyhedra {
        let apart = match couple.quick(start, within * scale, simplex) {
            Quick::Beyond(parted) => return Err(parted),
            Quick::Apart(nearest) => return Ok((in_metres(nearest), false)),
            Quick::About(length, direction) => {
                // Of shapes that are apart, what is the best near a direction is the best.
                let answer = couple.refine(direction, simplex, points);
                if answer.certain && answer.separation() > 0.0 {
                    return Ok((in_metres(couple.answer(&answer)), false));
                }
                Some(length)
            }
            Quick::Unknown(apart) => apart,
        };
        if let Some(nearest) = couple.overlap(start, apart, polytope) {
            return Ok((in_metres(nearest), false));
        }
    }
    let (apart, guess) = couple.guess((between, start), within * scale)?;
    // What is near a deep guess is seldom the way out: only a proof of it is taken, and of meshes it takes long to find.
    let is_near = apart > -PARTED;
    let has_mesh = matches!(core_a, Core::Mesh(_)) || matches!(core_b, Core::Mesh(_));
    let near = (is_near || !polyhedra && !has_mesh).then(|| couple.refine(guess, simplex, points));
    if let Some(near) = near.as_ref().filter(|near| !polyhedra && couple.is_proven(near)) {
        return Ok((in_metres(couple.answer(near)), false));
    }
    let near = near.filter(|_| is_near);
    let proven = again.is_some();
    // Of what is as deep as it was, GJK would only say that it overlaps.
    let deep = again.or_else(|| match hint {
        Some(Hint::Deep(_)) if !polyhedra && near.is_none() => {
            couple.search(guess, polytope, simplex, points).filter(|deep| deep.separation() < -PARTED)
        }
        _ => None,
    });
    let other = match &near {
        Some(near)
            if near.separation() < -SHALLOW
                && let Some(highest) = couple.highest() =>
        {
            Some(couple.refine(highest, simplex, points))
        }
        Some(near) if near.certain => None,
        _ if deep.is_some() => deep,
        _ => {
            simplex.reset(CsoPoint::from_shapes(&Pose::IDENTITY, first, second, start));
            let normal = match gjk::closest_points(&Pose::IDENTITY, first, second, within * scale, true, simplex) {
                GJKResult::NoIntersection(along) if first.separation(second, along) > within * scale => {
                    return Err(Parted { along });
                }
                GJKResult::ClosestPoints(_, _, normal) | GJKResult::NoIntersection(normal) => Some(normal),
                GJKResult::Intersection | GJKResult::Proximity(_) => None,
            };
            let normal = normal.filter(|n| (n.length_squared() - 1.0).abs() < 1e-3);
            let apart = normal.map(|normal| couple.refine(normal, simplex, points));
            apart.or_else(|| couple.search(guess, polytope, simplex, points)).or_else(|| {
                let (_, _, normal) = epa.closest_points(&Pose::IDENTITY, first, second, simplex)?;
                let normal = Some(normal).filter(|n| (n.length_squared() - 1.0).abs() < 1e-3)?;
                Some(couple.refine(normal, simplex, points))
            })
        }
    };
    let answer = match (near, other) {
        (Some(near), Some(other)) if near.separation() >= other.separation() => near,
        (_, Some(other)) => other,
        (near, None) => near.unwrap_or_else(|| couple.refine(guess, simplex, points)),
    };
    if !polyhedra && !answer.is_face() {
        // No polytope proves where else a search ends.
        polytope.clear();
    }
    Ok((in_metres(couple.answer(&answer)), proven))
}

/// Contacts of two convex shapes by their cores, and what was found of them.
pub(super) fn convex_convex(
    core_a: Core<'_>,
    a: &Placed,
    rounding: [f64; 2],
    core_b: Core<'_>,
    b: &Placed,
    hint: Option<Hint<'_>>,
    workspace: &mut Workspace,
    sink: &mut Sink<'_>,
) -> Option<Found> {
    let polyhedra = core_a.is_polyhedron() && core_b.is_polyhedron();
    if let Some(Hint::Touching(normal)) = hint {
        let couple = Couple::new(&core_a, a, &core_b, b, workspace.points.rounding);
        if let Some(nearest) = couple.over_face(normal, rounding, sink.reach, &mut workspace.points) {
            emit(a, b, &nearest, rounding, false, workspace, sink);
            return Some(Found::Touching { normal: nearest.normal, proven: true });
        }
    }
    if let Some(Hint::Deep(Some(kept))) = hint
        && polyhedra
    {
        let couple = Couple::new(&core_a, a, &core_b, b, workspace.points.rounding);
        if let Some((nearest, with_middle)) = couple.overlap_again(kept, &mut workspace.polytope) {
            let nearest = couple.in_metres(nearest);
            let held = facing_points(&core_a, a, &core_b, b, rounding, &nearest, sink.reach, &mut workspace.points);
            if held || with_middle {
                emit(a, b, &nearest, rounding, !held, workspace, sink);
                return Some(Found::Deep { proven: true });
            }
        }
    }
    let within = sink.reach + rounding[0] + rounding[1];
    match nearest_by(&core_a, a, &core_b, b, within, hint, workspace) {
        Ok((nearest, proven)) => {
            touch(&core_a, a, &core_b, b, rounding, &nearest, workspace, sink);
            let deep = if polyhedra { APART } else { SHALLOW };
            if nearest.distance < -deep * a.radius.min(b.radius) {
                (core_a.is_numbered() && core_b.is_numbered()).then_some(Found::Deep { proven })
            } else {
                polyhedra.then_some(Found::Touching { normal: nearest.normal, proven: false })
            }
        }
        Err(Parted { along }) => Some(Found::Parted(along)),
    }
}

/// The points of contact along a normal: where the features that face each other overlap, and the nearest points
/// themselves where that has nothing as deep.
pub(super) fn touch(
    core_a: &Core<'_>,
    a: &Placed,
    core_b: &Core<'_>,
    b: &Placed,
    rounding: [f64; 2],
    nearest: &Nearest,
    workspace: &mut Workspace,
    sink: &mut Sink<'_>,
) {
    if nearest.distance - rounding[0] - rounding[1] < sink.reach {
        let held = facing_points(core_a, a, core_b, b, rounding, nearest, sink.reach, &mut workspace.points);
        emit(a, b, nearest, rounding, !held, workspace, sink);
    }
}

/// Gives what was gathered to the sink, and the nearest points themselves where asked for.
pub(super) fn emit(
    a: &Placed,
    b: &Placed,
    nearest: &Nearest,
    rounding: [f64; 2],
    with_nearest: bool,
    workspace: &mut Workspace,
    sink: &mut Sink<'_>,
) {
    let points = &mut workspace.points;
    if with_nearest {
        let point = nearest.middle + nearest.normal * (0.5 * (rounding[0] - rounding[1]));
        let distance = nearest.distance - rounding[0] - rounding[1];
        points.push(Candidate { point, distance, feature: 0 });
    }
    points.emit(nearest.normal, a.centre, a.radius.min(b.radius), sink);
}

/// The lowest vertices of a hull over a plane.
pub(super) fn plane_mesh(a: &Placed, b: &Placed, mesh: &Polyhedron, workspace: &mut Workspace, sink: &mut Sink<'_>) {
    let normal = a.axis();
    let down = b.local(normal);
    let height = (b.centre - a.centre).dot(normal);
    if height + mesh.farthest(-down).dot(down) >= sink.reach {
        return;
    }
    let Workspace { points, lowest, .. } = workspace;
    lowest.clear();
    for (index, vertex) in mesh.vertices.iter().enumerate() {
        let distance = height + vertex.dot(down);
        if distance < sink.reach {
            let point = *vertex - down * (0.5 * distance);
            lowest.push(Candidate { point, distance, feature: index as u32 });
        }
    }
    points.take(lowest, down, &b.axes);
    points.emit(normal, b.centre, b.radius, sink);
}
