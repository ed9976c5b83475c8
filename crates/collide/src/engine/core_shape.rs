//! Convex shapes as a core and a rounding radius about it: support points, and the corner, edge or face that faces a
//! direction.

#[cfg(doc)]
use super::extremes::TIE;
use super::feature::{ALONE, CORNERS, Feature, Flat};
use super::placed::Placed;
use super::polyhedron::{AXES, Polyhedron};
use super::{Kind, Vector, rim};

/// The core of a convex shape, in its own frame.
#[derive(Clone, Copy)]
pub(super) enum Core<'a> {
    Point,
    /// Along z, from minus to plus this.
    Segment(f64),
    /// Half edges.
    Box(Vector),
    /// Radius and half length, along z.
    Cylinder(f64, f64),
    /// Semi-axes.
    Ellipsoid(Vector),
    Mesh(&'a Polyhedron),
    Triangle([Vector; 3]),
}

impl<'a> Core<'a> {
    /// The core of a placed shape; a point for those that have none.
    pub(super) fn of(kind: Kind, placed: &Placed, mesh: Option<&'a Polyhedron>) -> Self {
        match (kind, mesh) {
            (Kind::Capsule, _) => Self::Segment(placed.size[1]),
            (Kind::Cylinder, _) => Self::Cylinder(placed.size[0], placed.size[1]),
            (Kind::Box, _) => Self::Box(Vector::from_array(placed.size)),
            (Kind::Ellipsoid, _) => Self::Ellipsoid(Vector::from_array(placed.size)),
            (Kind::Mesh, Some(mesh)) => Self::Mesh(mesh),
            _ => Self::Point,
        }
    }

    /// What the surface stands off the core: the radius of spheres and capsules.
    pub(super) fn rounding(kind: Kind, placed: &Placed) -> f64 {
        if matches!(kind, Kind::Sphere | Kind::Capsule) { placed.size[0] } else { 0.0 }
    }

    /// Half edges of the box about the origin and along the axes that holds it.
    pub(super) fn bounds(&self) -> Vector {
        match *self {
            Self::Point => Vector::ZERO,
            Self::Segment(half) => Vector::new(0.0, 0.0, half),
            Self::Box(half) => half,
            Self::Cylinder(radius, half) => Vector::new(radius, radius, half),
            Self::Ellipsoid(radii) => radii,
            Self::Mesh(mesh) => mesh.bounds,
            Self::Triangle([a, b, c]) => a.abs().max(b.abs()).max(c.abs()),
        }
    }

    /// The outward normal of the flat face that looks most along a direction.
    pub(super) fn face_normal(&self, direction: Vector) -> Option<Vector> {
        match *self {
            Self::Point | Self::Segment(_) | Self::Ellipsoid(_) => None,
            Self::Box(_) => {
                let axis = AXES[leading_axis(direction)];
                Some(if axis.dot(direction) < 0.0 { -axis } else { axis })
            }
            Self::Cylinder(..) => Some(Vector::Z * 1.0_f64.copysign(direction.z)),
            Self::Mesh(mesh) => Some(mesh.normals[mesh.facing(direction)]),
            Self::Triangle([a, b, c]) => {
                let normal = (b - a).cross(c - a).try_normalize()?;
                Some(if normal.dot(direction) < 0.0 { -normal } else { normal })
            }
        }
    }

    /// The same along a unit direction, and how much more that face looks along it than any other: by the cosines, up to
    /// [`TIE`]; of more, no more than it is.
    pub(super) fn leading_face(&self, direction: Vector) -> Option<(Vector, f64)> {
        let normal = self.face_normal(direction)?;
        let lead = match self {
            Self::Mesh(mesh) => mesh.foremost.leading(&mesh.normals, direction).1,
            Self::Box(_) => {
                let size = direction.abs();
                let most = size.max_element();
                // Of equals, the second is among the others.
                let others = size.to_array().into_iter().filter(|&x| x < most).fold(0.0, f64::max);
                if size.to_array().iter().filter(|&&x| x == most).count() > 1 { 0.0 } else { most - others }
            }
            _ => 2.0 * normal.dot(direction),
        };
        Some((normal, lead))
    }

    /// The flat face that looks most along a direction.
    pub(super) fn flat(&self, direction: Vector) -> Option<Flat> {
        if let Self::Mesh(mesh) = self {
            let face = mesh.facing(direction);
            let [apart, bent] = mesh.flats[face];
            return Some(Flat { normal: mesh.normals[face], apart, bent });
        }
        self.face_normal(direction).map(|normal| Flat { normal, apart: ALONE, bent: 0.0 })
    }

    /// The outward normals of the faces that look most along the axes, both ways, then nothing.
    pub(super) fn sides(&self) -> [Option<Vector>; 6] {
        match self {
            Self::Mesh(mesh) => mesh.sides.map(|face| Some(mesh.normals[face])),
            Self::Cylinder(..) => [Some(Vector::Z), Some(Vector::NEG_Z), None, None, None, None],
            _ => AXES.map(|axis| self.face_normal(axis)),
        }
    }

    /// Outward normals of the faces and directions of the edges (unit, one of each two that are opposite) of a polyhedron
    /// with few of them.
    pub(super) fn faces_and_edges(&self) -> Option<(&[Vector], &[Vector])> {
        match self {
            Self::Box(_) => Some((&AXES, &AXES[..3])),
            Self::Mesh(mesh) => mesh.edges.as_ref().map(|edges| (&mesh.normals[..], &edges[..])),
            _ => None,
        }
    }

    /// Whether every direction has one support point, which moves with it.
    pub(super) fn is_strict(&self) -> bool {
        matches!(self, Self::Point | Self::Ellipsoid(_))
    }

    /// Whether it has corners, which are what is farthest along directions.
    pub(super) fn is_flat(&self) -> bool {
        matches!(self, Self::Segment(_) | Self::Box(_) | Self::Mesh(_) | Self::Triangle(_))
    }

    /// Whether it is the hull of finitely many points.
    pub(super) fn is_polyhedron(&self) -> bool {
        matches!(self, Self::Point) || self.is_flat()
    }

    /// Whether its points that are farthest along directions have numbers: those of a polyhedron are its corners', those of a cylinder
    /// stand for the nearest of many points of its rims.
    pub(super) fn is_numbered(&self) -> bool {
        !matches!(self, Self::Ellipsoid(_))
    }

    /// How the support point at a unit direction moves with a small step of the direction across it: the support
    /// function's Hessian times the step.
    pub(super) fn bend(&self, direction: Vector, step: Vector) -> Vector {
        match *self {
            Self::Ellipsoid(radii) => {
                // h = |R n|: H = R^2 / h - (R^2 n)(R^2 n)^T / h^3.
                let squared = radii * radii;
                let height = (radii * direction).length();
                let along = squared * direction / height;
                (squared * step - along * along.dot(step)) / height
            }
            Self::Cylinder(radius, _) => {
                let across = (direction.x * direction.x + direction.y * direction.y).sqrt();
                if across <= f64::EPSILON {
                    return Vector::ZERO;
                }
                let around = Vector::new(-direction.y, direction.x, 0.0) / across;
                around * (around.dot(step) * radius / across)
            }
            Self::Point | Self::Segment(_) | Self::Box(_) | Self::Mesh(_) | Self::Triangle(_) => Vector::ZERO,
        }
    }

    /// The direction of the straight edge that most faces a direction; unit.
    pub(super) fn edge(&self, direction: Vector) -> Option<Vector> {
        match *self {
            Self::Point | Self::Ellipsoid(_) => None,
            Self::Segment(_) | Self::Cylinder(..) => Some(Vector::Z),
            Self::Box(_) => {
                let size = direction.abs();
                Some(if size.x <= size.y && size.x <= size.z {
                    Vector::X
                } else if size.y <= size.z {
                    Vector::Y
                } else {
                    Vector::Z
                })
            }
            Self::Mesh(mesh) => {
                let ring = mesh.ring(mesh.facing(direction));
                highest_edge(ring.iter().map(|&corner| mesh.vertices[corner as usize]), direction)
            }
            Self::Triangle(corners) => highest_edge(corners.into_iter(), direction),
        }
    }

    /// How far the foot of a point is inside the rim of the flat face that looks most along a direction, and how far that face's lowest
    /// corner is along it; nothing of what has no such faces. With no more corners than a [`Feature`] has, or all of them.
    pub(super) fn inside_face(&self, direction: Vector, point: Vector, all: bool) -> (f64, f64) {
        match *self {
            Self::Box(half) => {
                let (axis, mut inside) = (leading_axis(direction), half - point.abs());
                inside[axis] = f64::INFINITY;
                (inside.min_element(), half[axis] * direction[axis].abs())
            }
            Self::Mesh(mesh) => {
                let entries = mesh.entries(mesh.facing(direction), if all { usize::MAX } else { CORNERS });
                inside_rim(entries.map(|entry| mesh.vertices[mesh.corners[entry] as usize]), direction, point)
            }
            Self::Cylinder(radius, half) => (radius - point.x.hypot(point.y), half * direction.z.abs()),
            _ => (0.0, 0.0),
        }
    }

    /// How deep a point is inside, at least: how far a ball about it may grow; less than nothing where that is not known.
    pub(super) fn depth(&self, point: Vector) -> f64 {
        match *self {
            Self::Point | Self::Segment(_) | Self::Triangle(_) | Self::Ellipsoid(_) => f64::NEG_INFINITY,
            Self::Box(half) => (half - point.abs()).min_element(),
            Self::Cylinder(radius, half) => (radius - point.x.hypot(point.y)).min(half - point.z.abs()),
            Self::Mesh(mesh) => mesh.depth(point),
        }
    }

    /// The corner of a polyhedron that is farthest along a direction of any length; 0 for what has no corners.
    #[inline]
    pub(super) fn farthest(&self, direction: Vector) -> u16 {
        match *self {
            Self::Point | Self::Cylinder(..) | Self::Ellipsoid(_) => 0,
            Self::Segment(_) => u16::from(direction.z.is_sign_positive()),
            Self::Box(_) => {
                let up = direction.to_array().map(|x| u16::from(x.is_sign_positive()));
                up[0] | up[1] << 1 | up[2] << 2
            }
            Self::Mesh(mesh) => mesh.farthest.farthest(&mesh.vertices, direction) as u16,
            Self::Triangle(corners) => {
                let along = corners.map(|c| c.dot(direction));
                if along[0] >= along[1] && along[0] >= along[2] {
                    0
                } else if along[1] >= along[2] {
                    1
                } else {
                    2
                }
            }
        }
    }

    /// The number of a point that is farthest along a direction, of a shape without corners.
    #[inline]
    pub(super) fn number(&self, point: Vector) -> u16 {
        if let &Self::Cylinder(radius, _) = self { rim::number(radius, point) } else { 0 }
    }

    /// The point of a number: a corner of a polyhedron, a point of a cylinder's rim; the origin for what has none, and for numbers that
    /// no corner has.
    #[inline]
    pub(super) fn corner(&self, number: u16) -> Vector {
        let sign = |axis: u32| if number >> axis & 1 == 1 { 1.0 } else { -1.0 };
        match self {
            Self::Point | Self::Ellipsoid(_) => Vector::ZERO,
            &Self::Cylinder(radius, half) => rim::point(radius, half, number),
            Self::Segment(half) => Vector::new(0.0, 0.0, half * sign(0)),
            Self::Box(half) => Vector::new(half.x * sign(0), half.y * sign(1), half.z * sign(2)),
            Self::Mesh(mesh) => mesh.vertices.get(usize::from(number)).copied().unwrap_or_default(),
            Self::Triangle(corners) => corners.get(usize::from(number)).copied().unwrap_or_default(),
        }
    }

    /// Calls back with the corners of a polyhedron that are farthest along a direction, to [`TIE`] in units of the shape, and
    /// others.
    #[inline]
    fn foremost(&self, direction: Vector, mut look_at: impl FnMut(Vector)) {
        match self {
            Self::Point | Self::Cylinder(..) | Self::Ellipsoid(_) => look_at(Vector::ZERO),
            Self::Segment(_) => (0..2).for_each(|number| look_at(self.corner(number))),
            Self::Box(_) => (0..8).for_each(|number| look_at(self.corner(number))),
            Self::Mesh(mesh) => mesh.farthest.each(mesh.vertices.len(), direction, |v| look_at(mesh.vertices[v])),
            Self::Triangle(corners) => corners.iter().copied().for_each(look_at),
        }
    }

    fn top(&self, direction: Vector) -> f64 {
        let mut top = f64::NEG_INFINITY;
        self.foremost(direction, |corner| top = corner.dot(direction).max(top));
        top
    }

    /// How many corners of a polyhedron are no more than so far behind the one that is farthest along a unit direction; less
    /// than [`TIE`] in units of the shape.
    pub(super) fn level(&self, direction: Vector, behind: f64) -> usize {
        let (low, mut count) = (self.top(direction) - behind, 0);
        self.foremost(direction, |corner| count += usize::from(corner.dot(direction) >= low));
        count
    }

    /// Across those corners, if they span a plane: by three that lie far from each other, the same ones for the same corners.
    pub(super) fn across_level(&self, direction: Vector, behind: f64) -> Vector {
        let low = self.top(direction) - behind;
        let each = |look_at: &mut dyn FnMut(Vector)| {
            self.foremost(direction, |corner| {
                if corner.dot(direction) >= low {
                    look_at(corner);
                }
            });
        };
        let mut first = None;
        each(&mut |corner| first = first.or(Some(corner)));
        let first = first.unwrap_or_default();
        let mut edge = Vector::ZERO;
        each(&mut |corner| {
            if (corner - first).length_squared() > edge.length_squared() {
                edge = corner - first;
            }
        });
        let mut across = Vector::ZERO;
        each(&mut |corner| {
            let other = edge.cross(corner - first);
            if other.length_squared() > across.length_squared() {
                across = other;
            }
        });
        across
    }

    /// The point farthest along a direction (of any length).
    #[inline]
    pub(super) fn support(&self, direction: Vector) -> Vector {
        match *self {
            Self::Point | Self::Segment(_) | Self::Box(_) | Self::Mesh(_) | Self::Triangle(_) => {
                self.corner(self.farthest(direction))
            }
            Self::Cylinder(radius, half) => {
                let across = (direction.x * direction.x + direction.y * direction.y).sqrt();
                let scale = if across > 0.0 { radius / across } else { 0.0 };
                Vector::new(direction.x * scale, direction.y * scale, half.copysign(direction.z))
            }
            Self::Ellipsoid(radii) => {
                let scaled = radii * direction;
                let length = scaled.length();
                if length > 0.0 { radii * scaled / length } else { Vector::new(0.0, 0.0, radii.z) }
            }
        }
    }

    /// The face, edge or corner that faces a unit direction.
    pub(super) fn feature(&self, direction: Vector) -> Feature {
        let mut feature = Feature::NONE;
        match *self {
            Self::Point | Self::Ellipsoid(_) => feature.push(self.support(direction), 0, 0),
            Self::Segment(half) => {
                feature.push(Vector::Z * -half, 0, 0);
                feature.push(Vector::Z * half, 1, 0);
            }
            Self::Box(half) => box_face(half, direction, &mut feature),
            Self::Cylinder(radius, half) => cylinder_feature(radius, half, direction, &mut feature),
            Self::Mesh(mesh) => mesh.face(direction, &mut feature),
            Self::Triangle(corners) => {
                for (i, corner) in corners.into_iter().enumerate() {
                    feature.push(corner, i as u16, i as u16);
                }
            }
        }
        feature
    }
}

/// The axis that a direction lies most along; the first of equals.
fn leading_axis(direction: Vector) -> usize {
    let size = direction.abs();
    if size.x >= size.y && size.x >= size.z {
        0
    } else if size.y >= size.z {
        1
    } else {
        2
    }
}

/// How far the foot of a point on a face is inside of its rim, and how far its lowest corner is along its normal; corners go round
/// counter-clockwise seen from outside.
fn inside_rim(corners: impl Iterator<Item = Vector> + Clone, normal: Vector, point: Vector) -> (f64, f64) {
    let (mut inside, mut bottom) = (f64::INFINITY, f64::INFINITY);
    for (from, to) in corners.clone().zip(corners.cycle().skip(1)) {
        let edge = to - from;
        inside = inside.min(normal.cross(edge).dot(point - from) / edge.length());
        if inside <= 0.0 {
            break;
        }
        bottom = bottom.min(normal.dot(from));
    }
    (inside, bottom)
}

/// The edge of a polygon whose lower end is farthest along a direction; unit.
fn highest_edge(corners: impl Iterator<Item = Vector> + Clone, direction: Vector) -> Option<Vector> {
    let mut best = (f64::NEG_INFINITY, Vector::ZERO);
    for (from, to) in corners.clone().zip(corners.cycle().skip(1)) {
        let height = from.dot(direction).min(to.dot(direction));
        if height > best.0 {
            best = (height, to - from);
        }
    }
    best.1.try_normalize()
}

/// Corner numbers hold the sign along axis i in bit i; edges are numbered by their corners' bits.
fn box_face(half: Vector, direction: Vector, feature: &mut Feature) {
    let axis = leading_axis(direction);
    let up = u16::from(direction[axis] > 0.0);
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let corner = |bits: u16| bits & 1 << u | bits & 1 << v | up << axis;
    let around = [0, 1 << u, 1 << u | 1 << v, 1 << v].map(corner);
    for (i, &number) in around.iter().enumerate() {
        let sign = |axis: usize| if number >> axis & 1 == 1 { 1.0 } else { -1.0 };
        let point = Vector::new(sign(0) * half.x, sign(1) * half.y, sign(2) * half.z);
        let next = around[(i + 1) % 4];
        // The axis along the edge, and the corner it starts from.
        let along = (number ^ next).trailing_zeros() as u16;
        feature.push(point, number, 8 * along + (number & next));
    }
}

/// An end within 45 degrees of the direction: four points of its rim, the farthest first. Else the side's line.
fn cylinder_feature(radius: f64, half: f64, direction: Vector, feature: &mut Feature) {
    let across = (direction.x * direction.x + direction.y * direction.y).sqrt();
    let out = if across > 1e-6 { Vector::new(direction.x / across, direction.y / across, 0.0) } else { Vector::X };
    if direction.z.abs() > across {
        let (end, first) = if direction.z > 0.0 { (half, 4) } else { (-half, 0) };
        let side = Vector::new(-out.y, out.x, 0.0);
        for (i, radial) in [out, side, -out, -side].into_iter().enumerate() {
            feature.push(radial * radius + Vector::Z * end, first + i as u16, first + i as u16);
        }
    } else {
        feature.push(out * radius - Vector::Z * half, 8, 8);
        feature.push(out * radius + Vector::Z * half, 9, 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hull::Hull;
    use manyworlds_model::{Mesh, Vec3};

    /// A cylinder's ends are flat faces, far from all others.
    #[test]
    fn ends_of_cylinders_are_faces() {
        let cap = Core::Cylinder(0.1, 0.2).flat(Vector::new(0.1, 0.0, -1.0)).expect("an end");
        assert_eq!((cap.normal, cap.apart, cap.bent), (Vector::NEG_Z, ALONE, 0.0));
    }

    /// A ball as large as a point is deep is inside, and no larger one.
    #[test]
    fn a_ball_about_a_point_is_as_large_as_it_is_deep() {
        let corners = [0.3, -0.3].map(|x| [0.2, -0.2].map(|y| [0.4, -0.4].map(|z| Vec3::new(x, y, z))));
        let triangles = (0..6).map(|k| [k, k + 1, k + 2]).collect();
        let mesh = Mesh { name: "box".into(), vertices: corners.concat().concat(), triangles, surface: None };
        let mesh = Polyhedron::new(&Hull::new(&mesh).expect("a box"));
        let cores = [Core::Box(Vector::new(0.3, 0.2, 0.4)), Core::Mesh(&mesh), Core::Cylinder(0.3, 0.25)];
        for core in &cores {
            for point in [Vector::new(0.1, 0.05, 0.2), Vector::new(-0.12, 0.1, 0.0), Vector::new(0.25, -0.1, -0.24)] {
                let least = (0..20_000).fold(f64::INFINITY, |least: f64, k| {
                    let (up, around) = (1.0 - f64::from(2 * k + 1) / 20_000.0, 2.399_963 * f64::from(k));
                    let across = (1.0 - up * up).sqrt();
                    let direction = Vector::new(across * around.cos(), across * around.sin(), up);
                    least.min((core.support(direction) - point).dot(direction))
                });
                let depth = core.depth(point);
                assert!(depth <= least && least < depth + 0.01, "{point}: {depth}, {least}");
            }
        }
        assert!(Core::Segment(1.0).depth(Vector::ZERO) < 0.0);
    }
}
