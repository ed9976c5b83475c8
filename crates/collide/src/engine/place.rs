//! Geoms, in their bodies and in the world.

use manyworlds_model::{Model, Pose, Shape};

use super::frames::{self, Frame};
use super::{Engine, Filter, Kind, Matrix, Memory, NonFinite, Overrides, Polyhedron, Terrain, Vector};
use crate::hull::Hull;

/// What is constant of a geom.
#[derive(Debug, Clone)]
pub(super) struct Geom {
    pub(super) kind: Kind,
    /// The model body that contacts name.
    pub(super) owner: u32,
    /// That body where it moves; static geoms have none.
    pub(super) body: Option<u32>,
    /// Mesh, heightfield or distance function.
    pub(super) asset: u32,
    /// Frame of the shape in the body's.
    offset: Vector,
    axes: Matrix,
    /// Whether those axes are the body's.
    aligned: bool,
}

/// A shape where it stands in the world.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Placed {
    /// Origin of its frame, m.
    pub(super) centre: Vector,
    /// Axes of its frame, as columns.
    pub(super) axes: Matrix,
    /// Radius of the sphere about the centre that holds it, m; infinite for a plane.
    pub(super) radius: f64,
    /// Radius, radius and half length, half edges or semi-axes, m.
    pub(super) size: [f64; 3],
    /// How its centre may move before contacts are looked for again, m,
    pub(super) moved: Vector,
    /// how it may turn until then, as a rotation vector, rad,
    pub(super) turned: Vector,
    /// and how far its surface comes by both, m; of a plane its centre.
    pub(super) travel: f64,
    /// The same beside what the world's movable geoms do on the mean: two that fall together come no nearer.
    pub(super) stray: f64,
}

impl Placed {
    /// A world vector in the shape's axes.
    #[inline(always)]
    pub(super) fn local(&self, v: Vector) -> Vector {
        Vector::new(self.axes.x_axis.dot(v), self.axes.y_axis.dot(v), self.axes.z_axis.dot(v))
    }

    /// The axis of a round or long shape, the normal of a plane.
    #[inline(always)]
    pub(super) fn axis(&self) -> Vector {
        self.axes.z_axis
    }
}

pub(super) fn vector(v: &manyworlds_model::Vec3) -> Vector {
    Vector::new(v.x, v.y, v.z)
}

fn matrix(pose: &Pose) -> Matrix {
    let m = pose.rotation.to_rotation_matrix();
    let column = |i: usize| vector(&m.matrix().column(i).into());
    Matrix::from_cols(column(0), column(1), column(2))
}

/// Radius of the sphere about the shape's origin that holds it, m.
#[inline]
fn bounding_radius(kind: Kind, size: &[f64; 3], otherwise: f64) -> f64 {
    let [a, b, c] = *size;
    match kind {
        Kind::Sphere => a,
        Kind::Capsule => a + b,
        Kind::Cylinder => (a * a + b * b).sqrt(),
        Kind::Box => (a * a + b * b + c * c).sqrt(),
        Kind::Ellipsoid => a.max(b).max(c),
        Kind::Plane | Kind::Mesh | Kind::HeightField | Kind::Sdf => otherwise,
    }
}

/// Shapes in their bodies, and at rest: static ones in the world.
pub(super) fn prepare(
    model: &Model,
    filter: &Filter,
    hulls: &[Hull],
    meshes: &[Polyhedron],
    fields: &[Terrain],
) -> (Vec<Geom>, Vec<Placed>) {
    // Meaningful for static bodies alone: nothing moves on their way to the ground.
    let mut frames: Vec<Pose> = Vec::with_capacity(model.bodies.len());
    for (index, body) in model.bodies.iter().enumerate() {
        frames.push(if index == 0 { Pose::identity() } else { frames[body.parent] * body.pose });
    }
    let mut geoms = Vec::with_capacity(model.geoms.len());
    let mut rest = Vec::with_capacity(model.geoms.len());
    for (index, geom) in model.geoms.iter().enumerate() {
        let kind = Kind::of(&geom.shape);
        let mut pose = geom.pose;
        let (mut asset, mut size, mut radius) = (0, [0.0; 3], f64::INFINITY);
        match &geom.shape {
            Shape::Plane => {}
            Shape::Sphere { radius } => size[0] = *radius,
            Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
                size = [*radius, *half_length, 0.0];
            }
            Shape::Box { half } => size = vector(half).to_array(),
            Shape::Ellipsoid { radii } => size = vector(radii).to_array(),
            Shape::Mesh(mesh) => {
                // Hulls are centred, which makes their bounding spheres tight.
                pose *= nalgebra::Translation3::from(hulls[*mesh].centre);
                asset = *mesh as u32;
                radius = meshes[*mesh].radius;
            }
            Shape::HeightField(field) => {
                asset = *field as u32;
                radius = fields[*field].radius();
            }
            Shape::Sdf(sdf) => {
                asset = *sdf as u32;
                radius = model.sdfs[*sdf].radius();
            }
        }
        radius = bounding_radius(kind, &size, radius);
        let fixed = filter.is_static(index);
        let world = if fixed { frames[geom.body] * pose } else { Pose::identity() };
        rest.push(Placed {
            centre: vector(&world.translation.vector),
            axes: matrix(&world),
            radius,
            size,
            ..Placed::default()
        });
        geoms.push(Geom {
            kind,
            owner: geom.body as u32,
            body: (!fixed).then_some(geom.body as u32),
            asset,
            offset: vector(&pose.translation.vector),
            axes: matrix(&pose),
            aligned: pose.rotation.angle() == 0.0,
        });
    }
    (geoms, rest)
}

impl Engine {
    /// Puts every geom where the bodies' poses have it.
    pub(super) fn place(&self, poses: impl Fn(usize) -> [f64; 7], memory: &mut Memory) -> Result<(), NonFinite> {
        let Memory { frames, placed, .. } = memory;
        frames::frames(&self.bodies, poses, f64::EPSILON < self.pose_rounding, frames)?;
        placed.clear();
        placed.extend_from_slice(&self.rest);
        for &(index, body) in &self.moving {
            let (geom, frame) = (&self.geoms[index as usize], &frames[body as usize]);
            let target = &mut placed[index as usize];
            target.centre = frame.origin + frame.axes * geom.offset;
            target.axes = if geom.aligned { frame.axes } else { frame.axes * geom.axes };
        }
        Ok(())
    }

    /// Gives placed geoms the sizes and speeds that this world has of its own.
    pub(super) fn resize(&self, overrides: &Overrides<'_>, frames: &[Frame], placed: &mut [Placed]) {
        for (target, (geom, size)) in placed.iter_mut().zip(self.geoms.iter().zip(overrides.sizes)) {
            if !matches!(geom.kind, Kind::Plane | Kind::Mesh | Kind::HeightField | Kind::Sdf) {
                target.size = *size;
                target.radius = bounding_radius(geom.kind, size, 0.0);
            }
        }
        if overrides.travel.is_empty() {
            return;
        }
        let mut sum = Vector::ZERO;
        for &(index, body) in &self.moving {
            let geom = &self.geoms[index as usize];
            let Some(travel) = overrides.travel.get(geom.owner as usize) else { continue };
            let (target, frame) = (&mut placed[index as usize], &frames[body as usize]);
            let turned = Vector::from_array(travel.turned);
            target.moved = Vector::from_array(travel.moved) + turned.cross(target.centre - frame.origin);
            target.turned = turned;
            let lever = if geom.kind == Kind::Plane { 0.0 } else { target.radius };
            let by_turning = turned.length() * lever;
            target.travel = target.moved.length() + by_turning;
            target.stray = by_turning;
            sum += target.moved;
        }
        let mean = sum / self.moving.len().max(1) as f64;
        for target in placed {
            target.stray += (target.moved - mean).length();
        }
    }
}
