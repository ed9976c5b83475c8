//! Geoms of a model, where they stand, and the derivative of their contacts.

use manyworlds_model::{HeightField, Model, Pose, Sdf, Shape};
use nalgebra::{Matrix3, Point3, Quaternion, UnitQuaternion, Vector3};

use super::feature::Solid;
use super::few::Few;
use super::field::{self, Shaped};
use super::local::{Local, plane_of};
use super::slope::{ContactSlope, Side, Touch};
use super::soft::{ContactChange, Corners, Slope, Triangle};
use crate::hull::Hull;
use crate::soft::Side as Soft;
use crate::{CollideError, Contact, SoftContact};

/// What the derivatives of contacts need to know of a model.
#[derive(Debug)]
pub struct ContactGeometry {
    shapes: Vec<Shape>,
    /// Of each geom in its body; of a mesh, of its hull's centre.
    poses: Vec<Pose>,
    /// Where each body stands that does not move, and of the others what they were built with.
    still: Vec<Pose>,
    /// Body of each geom, and whether it moves.
    bodies: Vec<(usize, bool)>,
    hulls: Vec<Hull>,
    fields: Vec<HeightField>,
    sdfs: Vec<Sdf>,
}

/// Off-plane by so much a contact's midpoint cannot be, relative to its distance from the surfaces.
const MISFIT: f64 = 1e-6;
const UNDETERMINED: &str = "its features leave the normal undetermined";
const NO_SIZES: &str = "a shape without sizes";

impl ContactGeometry {
    /// Prepares a model.
    ///
    /// # Errors
    /// A mesh without volume.
    pub fn new(model: &Model) -> Result<Self, CollideError> {
        let hulls = model.meshes.iter().enumerate().map(|(index, mesh)| {
            Hull::new(mesh).map_err(|message| CollideError::Mesh { index, name: mesh.name.clone(), message })
        });
        let hulls = hulls.collect::<Result<Vec<_>, _>>()?;
        let mut still: Vec<Pose> = Vec::with_capacity(model.bodies.len());
        for (index, body) in model.bodies.iter().enumerate() {
            still.push(if index == 0 { Pose::identity() } else { still[body.parent] * body.pose });
        }
        let poses = model.geoms.iter().map(|geom| match geom.shape {
            Shape::Mesh(mesh) => geom.pose * nalgebra::Translation3::from(hulls[mesh].centre),
            _ => geom.pose,
        });
        Ok(Self {
            poses: poses.collect(),
            shapes: model.geoms.iter().map(|geom| geom.shape.clone()).collect(),
            bodies: model.geoms.iter().map(|geom| (geom.body, !model.stands_still(geom.body))).collect(),
            still,
            hulls,
            fields: model.heightfields.clone(),
            sdfs: model.sdfs.clone(),
        })
    }

    /// The shape of a geom with features; `size` overrides the model's.
    fn solid(&self, geom: usize, size: Option<[f64; 3]>) -> Option<Solid<'_>> {
        Some(match (&self.shapes[geom], size) {
            (Shape::Plane, _) => Solid::Plane,
            (Shape::Sphere { radius }, None) => Solid::Sphere(*radius),
            (Shape::Sphere { .. }, Some([radius, ..])) => Solid::Sphere(radius),
            (Shape::Capsule { radius, half_length }, None) => Solid::Capsule(*radius, *half_length),
            (Shape::Capsule { .. }, Some([radius, half, _])) => Solid::Capsule(radius, half),
            (Shape::Cylinder { radius, half_length }, None) => Solid::Cylinder(*radius, *half_length),
            (Shape::Cylinder { .. }, Some([radius, half, _])) => Solid::Cylinder(radius, half),
            (Shape::Box { half }, None) => Solid::Box(*half),
            (Shape::Box { .. }, Some(half)) => Solid::Box(half.into()),
            (Shape::Ellipsoid { radii }, None) => Solid::Ellipsoid(*radii),
            (Shape::Ellipsoid { .. }, Some(radii)) => Solid::Ellipsoid(radii.into()),
            (Shape::Mesh(mesh), _) => Solid::Hull(&self.hulls[*mesh]),
            (Shape::HeightField(field), _) => Solid::Ground(&self.fields[*field]),
            (Shape::Sdf(_), _) => return None,
        })
    }

    /// The shape of a geom that meets a distance function, or is one.
    fn shaped(&self, geom: usize, size: Option<[f64; 3]>) -> Option<Shaped<'_>> {
        if let Shape::Sdf(sdf) = self.shapes[geom] {
            return Some(Shaped::Function(&self.sdfs[sdf]));
        }
        match self.solid(geom, size)? {
            Solid::Plane => Some(Shaped::Plane),
            Solid::Sphere(radius) => Some(Shaped::Ball(radius)),
            Solid::Capsule(radius, half) => Some(Shaped::Capsule(radius, half)),
            Solid::Box(half) => Some(Shaped::Box(half)),
            _ => None,
        }
    }

    fn place(&self, geom: usize, pose: Poses<'_>) -> Pose {
        let (body, moves) = self.bodies[geom];
        let frame = if moves {
            let [x, y, z, w, i, j, k] = pose(body);
            let turn = UnitQuaternion::from_quaternion(Quaternion::new(w, i, j, k));
            Pose::from_parts(nalgebra::Translation3::new(x, y, z), turn)
        } else {
            self.still[body]
        };
        frame * self.poses[geom]
    }

    /// Derivative of a contact found in double precision. `pose`: world frame of a body that moves, as for
    /// [`crate::CollisionModel::collide`]; `sizes`: those of every geom where a world has its own, else empty.
    ///
    /// # Errors
    /// Why the contact has no derivative, or none that is known here.
    pub fn slope(
        &self,
        contact: &Contact,
        pose: impl Fn(usize) -> [f64; 7],
        sizes: &[[f64; 3]],
    ) -> Result<ContactSlope, String> {
        let [a, b] = contact.geoms.map(|g| g as usize);
        let why = |what: &str| {
            let name = |g: usize| name(&self.shapes[g]);
            format!("a contact between {} and {} (geoms {a} and {b}): {what}", name(a), name(b))
        };
        if [a, b].iter().any(|&geom| matches!(self.shapes[geom], Shape::Sdf(_))) {
            return self.of_function(contact, &pose, sizes).map_err(why);
        }
        let (touch, _) = self.touch(contact, &pose, sizes).map_err(why)?;
        touch.slope().ok_or_else(|| why(UNDETERMINED))
    }

    /// Derivative of a contact by the sizes of one of its geoms (`side`: 0 for the first), the bodies held: of point (3),
    /// normal (3) and distance, by each of the sizes that [`crate::Overrides`] sets.
    ///
    /// # Errors
    /// Why the contact has none: a shape without sizes, a distance function, and as for [`Self::slope`].
    pub fn by_sizes(
        &self,
        contact: &Contact,
        side: usize,
        pose: impl Fn(usize) -> [f64; 7],
        sizes: &[[f64; 3]],
    ) -> Result<[ContactChange; 3], String> {
        let [a, b] = contact.geoms.map(|g| g as usize);
        let why = |what: &str| {
            let name = |g: usize| name(&self.shapes[g]);
            format!("a contact between {} and {} (geoms {a} and {b}): {what}", name(a), name(b))
        };
        let (touch, places) = self.touch(contact, &pose, sizes).map_err(why)?;
        let geom = if side == 0 { a } else { b };
        let growth =
            self.growth(geom, &touch, side.min(1), &places[side.min(1)], sizes).ok_or_else(|| why(NO_SIZES))?;
        touch.by_sizes(side.min(1), &[None, None], &growth).ok_or_else(|| why(UNDETERMINED))
    }

    /// Derivative of a contact with a distance function.
    fn of_function(
        &self,
        contact: &Contact,
        pose: Poses<'_>,
        sizes: &[[f64; 3]],
    ) -> Result<ContactSlope, &'static str> {
        let geoms = contact.geoms.map(|g| g as usize);
        let shape = |geom: usize| self.shaped(geom, sizes.get(geom).copied()).ok_or("shapes that are not collided");
        let shapes = [shape(geoms[0])?, shape(geoms[1])?];
        let frames = geoms.map(|geom| {
            let place = self.place(geom, pose);
            (place.translation.vector, place.rotation.to_rotation_matrix().into_inner())
        });
        let (point, normal) = (contact.point.into(), contact.normal.into());
        field::slope(&shapes, &frames, contact.feature, point, normal, contact.distance)
    }

    /// The features that touch, and where the two geoms are.
    fn touch(
        &self,
        contact: &Contact,
        pose: Poses<'_>,
        sizes: &[[f64; 3]],
    ) -> Result<(Touch, [Pose; 2]), &'static str> {
        let geoms = contact.geoms.map(|g| g as usize);
        let at = At { point: contact.point.into(), normal: contact.normal.into(), distance: contact.distance };
        let a = self.geom_side(geoms[0], 1.0, &at, pose, sizes)?;
        let b = self.geom_side(geoms[1], -1.0, &at, pose, sizes)?;
        let At { point, normal, distance } = at;
        let sides = tie([a.local, b.local], [a.side, b.side], &[a.edges, b.edges], normal)?;
        Ok((Touch { sides, normal, point, distance }, [a.place, b.place]))
    }

    /// Derivative of a contact of a soft body. `corners`: where those of a side are that is soft; `pose` and `sizes`: as for
    /// [`Self::slope`].
    ///
    /// # Errors
    /// Why the contact has none: a triangle without area, and as for [`Self::slope`].
    pub fn soft_slope(
        &self,
        contact: &SoftContact,
        corners: impl Fn(&Soft) -> Corners,
        pose: impl Fn(usize) -> [f64; 7],
        sizes: &[[f64; 3]],
    ) -> Result<Slope, String> {
        let why = |why: &str| self.why_soft(contact, why);
        let SoftTouch { touch, triangles, .. } = self.soft_touch(contact, &corners, &pose, sizes).map_err(why)?;
        touch.soft_slope(&triangles).ok_or_else(|| why(UNDETERMINED))
    }

    /// Derivative of a contact of a soft body by the sizes of the rigid geom that it touches, as [`Self::by_sizes`].
    ///
    /// # Errors
    /// As for [`Self::soft_slope`] and [`Self::by_sizes`].
    pub fn soft_by_sizes(
        &self,
        contact: &SoftContact,
        corners: impl Fn(&Soft) -> Corners,
        pose: impl Fn(usize) -> [f64; 7],
        sizes: &[[f64; 3]],
    ) -> Result<[ContactChange; 3], String> {
        let why = |why: &str| self.why_soft(contact, why);
        let SoftTouch { touch, triangles, place } = self.soft_touch(contact, &corners, &pose, sizes).map_err(why)?;
        let Soft::Rigid { geom, .. } = contact.sides[0] else { return Err(why(NO_SIZES)) };
        let growth = self.growth(geom as usize, &touch, 0, &place, sizes).ok_or_else(|| why(NO_SIZES))?;
        touch.by_sizes(0, &triangles, &growth).ok_or_else(|| why(UNDETERMINED))
    }

    /// How the core's point of a geom on a side, and its rounding, grow with its sizes.
    fn growth(
        &self,
        geom: usize,
        touch: &Touch,
        side: usize,
        place: &Pose,
        sizes: &[[f64; 3]],
    ) -> Option<[(Vector3<f64>, f64); 3]> {
        let solid = self.solid(geom, sizes.get(geom).copied())?;
        let local = place.inverse_transform_point(&Point3::from(touch.sides[side].core)).coords;
        let out = place.inverse_transform_vector(&(touch.normal * if side == 0 { 1.0 } else { -1.0 }));
        let growth = solid.growth(local, out)?;
        Some(growth.map(|(shift, rounding)| (place.transform_vector(&shift), rounding)))
    }

    /// Says of which contact something is said.
    fn why_soft(&self, contact: &SoftContact, why: &str) -> String {
        let [a, b] = contact.sides.each_ref().map(|side| match side {
            Soft::Rigid { geom, .. } => format!("{} (geom {geom})", name(&self.shapes[*geom as usize])),
            Soft::Soft { soft, .. } => format!("soft body {soft}"),
        });
        format!("a contact between {a} and {b}: {why}")
    }

    /// The features that touch at a contact of a soft body.
    fn soft_touch(
        &self,
        contact: &SoftContact,
        corners: &dyn Fn(&Soft) -> Corners,
        pose: Poses<'_>,
        sizes: &[[f64; 3]],
    ) -> Result<SoftTouch, &'static str> {
        let at = At { point: contact.point.into(), normal: contact.normal.into(), distance: contact.distance };
        let side = |index: usize, sign: f64| -> Result<(GeomSide, Option<Triangle>), &'static str> {
            let (own, out) = (&contact.sides[index], at.normal * sign);
            let weights = match *own {
                Soft::Rigid { geom, .. } => return Ok((self.geom_side(geom as usize, sign, &at, pose, sizes)?, None)),
                Soft::Soft { weights, .. } => weights,
            };
            let corners = corners(own);
            let radius = corners.radius;
            let triangle = Triangle::new(&corners, weights).ok_or("a triangle without area")?;
            let (local, edges) = triangle.feature(&out);
            let side = Side {
                core: at.point - out * (0.5 * at.distance + radius),
                rounding: radius,
                bend: Matrix3::zeros(),
                slides: local.slides,
                holds: local.holds,
            };
            Ok((GeomSide { local, side, edges, place: Pose::identity() }, Some(triangle)))
        };
        let ((a, first), (b, second)) = (side(0, 1.0)?, side(1, -1.0)?);
        let At { point, normal, distance } = at;
        let sides = tie([a.local, b.local], [a.side, b.side], &[a.edges, b.edges], normal)?;
        Ok(SoftTouch { touch: Touch { sides, normal, point, distance }, triangles: [first, second], place: a.place })
    }

    /// What a contact touches of a geom; `sign`: 1 for the first of the two, -1 for the second.
    fn geom_side(
        &self,
        geom: usize,
        sign: f64,
        at: &At,
        pose: Poses<'_>,
        sizes: &[[f64; 3]],
    ) -> Result<GeomSide, &'static str> {
        let solid = self.solid(geom, sizes.get(geom).copied()).ok_or(NO_SIZES)?;
        let place = self.place(geom, pose);
        let axes: Matrix3<f64> = place.rotation.to_rotation_matrix().into_inner();
        let out = at.normal * sign;
        // The surface point is half the distance behind the contact's, the core's the rounding behind that.
        let core = at.point - out * (0.5 * at.distance + solid.rounding());
        let local = place.inverse_transform_point(&Point3::from(core)).coords;
        let out = axes.transpose() * out;
        let feature = solid.feature(local, out)?;
        let side = Side {
            core,
            rounding: solid.rounding(),
            bend: axes * feature.bend * axes.transpose(),
            slides: feature.slides.map(|v| axes * v),
            holds: feature.holds.map(|v| axes * v),
        };
        let edges = solid.edges_across(local, out).map(|v| axes * v);
        Ok(GeomSide { local: feature, side, edges, place })
    }
}

/// The frames of bodies that move.
type Poses<'p> = &'p dyn Fn(usize) -> [f64; 7];

/// Where a contact is.
struct At {
    point: Vector3<f64>,
    normal: Vector3<f64>,
    distance: f64,
}

/// What touches of a geom.
struct GeomSide {
    local: Local,
    side: Side,
    edges: Few,
    place: Pose,
}

/// What touches at a contact of a soft body.
struct SoftTouch {
    touch: Touch,
    /// Of the sides that are soft.
    triangles: [Option<Triangle>; 2],
    /// Where the first side is, if that is a geom.
    place: Pose,
}

/// Says which shape's face the normal belongs to, and what is free to slide then.
fn tie(locals: [Local; 2], mut sides: [Side; 2], edges: &[Few; 2], n: Vector3<f64>) -> Result<[Side; 2], &'static str> {
    let Some(owner) = locals.iter().position(|l| l.on_face) else {
        // Two edges that cross have the normal, wherever on the shapes the point is; the gap may be nothing then.
        if let [[u], [v]] = [&edges[0][..], &edges[1][..]]
            && sides[0].slides.len() + sides[1].slides.len() == 2
        {
            (sides[0].holds, sides[1].holds) = ([*u].into(), [*v].into());
            return Ok(sides);
        }
        // An edge keeps the normal across it.
        if sides.iter().any(|s| s.holds.iter().any(|u| u.dot(&n).abs() > MISFIT)) {
            return Err("an edge that the normal leans along");
        }
        return Ok(sides);
    };
    let other = 1 - owner;
    sides[owner].holds = plane_of(n);
    sides[other].holds = Few::default();
    match sides[0].slides.len() + sides[1].slides.len() {
        2 => Ok(sides),
        0 | 1 => Err("corners or edges that lie on each other"),
        _ => Err("a point that no corner or crossing of edges marks"),
    }
}

fn name(shape: &Shape) -> &'static str {
    match shape {
        Shape::Plane => "a plane",
        Shape::Sphere { .. } => "a sphere",
        Shape::Capsule { .. } => "a capsule",
        Shape::Cylinder { .. } => "a cylinder",
        Shape::Box { .. } => "a box",
        Shape::Ellipsoid { .. } => "an ellipsoid",
        Shape::Mesh(_) => "a mesh",
        Shape::HeightField(_) => "a heightfield",
        Shape::Sdf(_) => "a distance function",
    }
}
