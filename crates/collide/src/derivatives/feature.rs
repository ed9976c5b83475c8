//! Where on a shape a contact is: face, edge or corner, and what the normal has to do with it.

use manyworlds_model::HeightField;
use nalgebra::{Matrix3, Vector3};

use super::few::Few;
use super::ground;
use super::local::{Local, SAME, plane_of};
use crate::hull::Hull;

/// A shape with its sizes, m.
#[derive(Debug, Clone, Copy)]
pub(super) enum Solid<'a> {
    /// z = 0.
    Plane,
    /// Radius: a point with a rounding.
    Sphere(f64),
    /// Radius, half length along z: a segment with a rounding.
    Capsule(f64, f64),
    /// Radius, half length along z.
    Cylinder(f64, f64),
    /// Half edges.
    Box(Vector3<f64>),
    /// Semi-axes.
    Ellipsoid(Vector3<f64>),
    /// Convex polyhedron.
    Hull(&'a Hull),
    /// The ground under a sheet of triangles.
    Ground(&'a HeightField),
}

impl Solid<'_> {
    /// What the surface stands off the core, m.
    pub(super) fn rounding(&self) -> f64 {
        match *self {
            Self::Sphere(radius) | Self::Capsule(radius, _) => radius,
            _ => 0.0,
        }
    }

    /// Largest extent, m.
    fn size(&self) -> f64 {
        match *self {
            Self::Plane => 1.0,
            Self::Sphere(radius) => radius,
            Self::Capsule(radius, half) | Self::Cylinder(radius, half) => radius + half,
            Self::Box(half) => half.norm(),
            Self::Ellipsoid(radii) => radii.amax(),
            Self::Hull(hull) => hull.vertices.iter().fold(0.0, |size: f64, v| size.max(v.norm())),
            Self::Ground(field) => ground::size(field),
        }
    }

    /// The feature of the core at a point whose outward direction is `out` (unit), both in the shape's frame; why there is
    /// none.
    pub(super) fn feature(&self, point: Vector3<f64>, out: Vector3<f64>) -> Result<Local, &'static str> {
        let near = SAME * self.size();
        match *self {
            Self::Plane => Ok(Local { on_face: true, slides: [Vector3::x(), Vector3::y()].into(), ..Local::default() }),
            Self::Sphere(_) => Ok(Local::default()),
            Self::Capsule(_, half) => {
                if (point.z.abs() - half).abs() <= near {
                    return Ok(Local::default());
                }
                let along = Few::from([Vector3::z()]);
                Ok(Local { slides: along, holds: along, ..Local::default() })
            }
            Self::Cylinder(radius, half) => cylinder(radius, half, point, out, near),
            Self::Box(half) => {
                let at = |k: usize| (point[k].abs() - half[k]).abs() <= near;
                let axis = |k: usize| Vector3::from_fn(|i, _| if i == k { 1.0 } else { 0.0 });
                let slides: Few = (0..3).filter(|&k| !at(k)).map(axis).collect();
                if slides.len() == 3 {
                    return Err("a point that is not on the box's surface");
                }
                let on_face = out.amax() >= 1.0 - SAME * SAME;
                Ok(Local { on_face, holds: slides, slides, ..Local::default() })
            }
            Self::Ellipsoid(radii) => {
                // h = |R n|: H = R^2 / h - (R^2 n)(R^2 n)^T / h^3.
                let squared = radii.component_mul(&radii);
                let height = radii.component_mul(&out).norm();
                let along = squared.component_mul(&out) / height;
                if (along - point).norm() > near.max(1e-6 * radii.amax()) {
                    return Err("a point that the ellipsoid's normal does not support");
                }
                let bend = (Matrix3::from_diagonal(&squared) - along * along.transpose()) / height;
                Ok(Local { bend, ..Local::default() })
            }
            Self::Hull(hull) => polyhedron(hull, point, out, near),
            Self::Ground(field) => ground::feature(field, point, out),
        }
    }
}

impl Solid<'_> {
    /// Directions of the straight edges that are farthest along a direction, in the shape's frame; of the ground those at
    /// the point.
    pub(super) fn edges_across(&self, point: Vector3<f64>, out: Vector3<f64>) -> Few {
        let axis = |k: usize| Vector3::from_fn(|i, _| if i == k { 1.0 } else { 0.0 });
        match *self {
            Self::Plane | Self::Sphere(_) | Self::Ellipsoid(_) => Few::default(),
            Self::Capsule(..) | Self::Cylinder(..) => {
                if out.z.abs() <= SAME {
                    [axis(2)].into()
                } else {
                    Few::default()
                }
            }
            Self::Box(_) => (0..3).filter(|&k| out[k].abs() <= SAME).map(axis).collect(),
            Self::Hull(hull) => {
                let height = |corner: u32| hull.vertices[corner as usize].dot(&out);
                let most = hull.vertices.iter().map(|v| v.dot(&out)).fold(f64::NEG_INFINITY, f64::max);
                let near = most - SAME * self.size();
                let mut found = Few::default();
                for face in &hull.faces {
                    for (i, &from) in face.corners.iter().enumerate() {
                        let to = face.corners[(i + 1) % face.corners.len()];
                        // Every edge is on two faces, once each way.
                        if from < to && height(from) >= near && height(to) >= near {
                            let along = hull.vertices[to as usize] - hull.vertices[from as usize];
                            along.try_normalize(0.0).into_iter().for_each(|edge| found.push(edge));
                        }
                    }
                }
                found
            }
            Self::Ground(field) => ground::edges_across(field, point, out),
        }
    }

    /// How the core's point and the rounding grow with each of the shape's sizes while the normal is held, in the shape's
    /// frame; `None` for a shape without sizes.
    pub(super) fn growth(&self, point: Vector3<f64>, out: Vector3<f64>) -> Option<[(Vector3<f64>, f64); 3]> {
        let none = (Vector3::zeros(), 0.0);
        let end = Vector3::z() * point.z.signum();
        let axis = |k: usize| Vector3::from_fn(|i, _| if i == k { point[k].signum() } else { 0.0 });
        let near = SAME * self.size();
        match *self {
            Self::Sphere(_) => Some([(Vector3::zeros(), 1.0), none, none]),
            Self::Capsule(_, half) => {
                let at_end = (point.z.abs() - half).abs() <= near;
                Some([(Vector3::zeros(), 1.0), if at_end { (end, 0.0) } else { none }, none])
            }
            Self::Cylinder(radius, half) => {
                let across = point.x.hypot(point.y);
                let radial = Vector3::new(point.x, point.y, 0.0) / across.max(f64::MIN_POSITIVE);
                let rim = if (across - radius).abs() <= near { (radial, 0.0) } else { none };
                let face = if (point.z.abs() - half).abs() <= near { (end, 0.0) } else { none };
                Some([rim, face, none])
            }
            Self::Box(half) => {
                Some(std::array::from_fn(
                    |k| {
                        if (point[k].abs() - half[k]).abs() <= near { (axis(k), 0.0) } else { none }
                    },
                ))
            }
            Self::Ellipsoid(radii) => {
                // a = R^2 n / |R n|.
                let height = radii.component_mul(&out).norm();
                Some(std::array::from_fn(|k| {
                    let mut moved = -point * (radii[k] * out[k] * out[k] / (height * height));
                    moved[k] += 2.0 * radii[k] * out[k] / height;
                    (moved, 0.0)
                }))
            }
            Self::Plane | Self::Hull(_) | Self::Ground(_) => None,
        }
    }
}

/// The four points of a cylinder's end turn with the direction; its side is a straight line, its rim bends.
fn cylinder(radius: f64, half: f64, point: Vector3<f64>, out: Vector3<f64>, near: f64) -> Result<Local, &'static str> {
    let across = out.x.hypot(out.y);
    let mut local = Local { on_face: across <= SAME, ..Local::default() };
    let end = (point.z.abs() - half).abs() <= near;
    let rim = (point.x.hypot(point.y) - radius).abs() <= near;
    if !end {
        local.slides.push(Vector3::z());
        local.holds.push(Vector3::z());
    }
    if !rim {
        if !end {
            return Err("a point that is not on the cylinder's surface");
        }
        local.slides = [Vector3::x(), Vector3::y()].into();
        return Ok(local);
    }
    if local.on_face {
        // Its own face has the normal: the rim's points are fixed in it.
        return Ok(local);
    }
    if across <= 1e-5 {
        return Err("a cylinder that stands upright, whose rim has no lowest point");
    }
    // The point is the lowest one of the rim, turned by quarters.
    let (radial, turned) = (Vector3::new(out.x, out.y, 0.0) / across, Vector3::new(-out.y, out.x, 0.0) / across);
    let here = Vector3::new(point.x, point.y, 0.0) / radius;
    let quarters = [(radial, turned), (turned, -radial), (-radial, -turned), (-turned, radial)];
    let Some((_, moved)) = quarters.into_iter().find(|(r, _)| (r - here).norm() <= 1e-6) else {
        return Err("a point of a cylinder's rim where edges cross");
    };
    local.bend = moved * turned.transpose() * (radius / across);
    Ok(local)
}

fn polyhedron(hull: &Hull, point: Vector3<f64>, out: Vector3<f64>, near: f64) -> Result<Local, &'static str> {
    let on_face = hull.faces.iter().any(|face| (face.normal - out).norm() <= SAME);
    if hull.vertices.iter().any(|v| (v - point).norm() <= near) {
        return Ok(Local { on_face, ..Local::default() });
    }
    for face in &hull.faces {
        for (i, &from) in face.corners.iter().enumerate() {
            let to = face.corners[(i + 1) % face.corners.len()];
            let (p, q) = (hull.vertices[from as usize], hull.vertices[to as usize]);
            let Some(edge) = (q - p).try_normalize(0.0) else { continue };
            let along = (point - p).dot(&edge);
            let off = (point - p - edge * along).norm();
            if off <= near && along > 0.0 && along < (q - p).norm() {
                let along = Few::from([edge]);
                return Ok(Local { on_face, slides: along, holds: along, ..Local::default() });
            }
        }
    }
    for face in &hull.faces {
        let corner = hull.vertices[face.corners[0] as usize];
        if (point - corner).dot(&face.normal).abs() <= near {
            let slides = plane_of(face.normal);
            return Ok(Local { on_face, holds: slides, slides, ..Local::default() });
        }
    }
    Err("a point that is not on the hull's surface")
}
