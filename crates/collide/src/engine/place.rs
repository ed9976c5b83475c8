//! Geoms, in their bodies and in the world.

use manyworlds_model::{Model, Pose, Shape};
use wide::f64x4;

use super::core_shape::Core;
use super::frames;
use super::placed::{Placed, Places, vector};
use super::vectors::{self, Vectors};
use super::{Engine, Filter, Kind, Matrix, Memory, NonFinite, Polyhedron, Terrain, Vector};
use crate::hull::Hull;
use crate::{ABREAST, Travels, World};

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
    pub(super) offset: Vector,
    pub(super) axes: Matrix,
    /// Whether those axes are the body's.
    pub(super) aligned: bool,
}

fn matrix(pose: &Pose) -> Matrix {
    let m = pose.rotation.to_rotation_matrix();
    let column = |i: usize| vector(&m.matrix().column(i).into());
    Matrix::from_cols(column(0), column(1), column(2))
}

/// Radius of the sphere about the shape's origin that holds it, m.
#[inline]
pub(super) fn bounding_radius(kind: Kind, size: &[f64; 3], otherwise: f64) -> f64 {
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
        rest.push(Placed { centre: vector(&world.translation.vector), axes: matrix(&world), radius, size });
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
    /// Puts every geom where the bodies' poses have it in each world, with that world's own sizes. Says of each world whether its
    /// poses are finite.
    #[inline]
    pub(super) fn place(
        &self,
        poses: impl Fn(usize) -> [[f64; ABREAST]; 7],
        worlds: &[Option<World<'_>>; ABREAST],
        memory: &mut Memory,
    ) -> [Result<(), NonFinite>; ABREAST] {
        let rounded = f64::EPSILON < self.pose_rounding;
        let finite = frames::frames(&self.bodies, poses, rounded, &mut memory.frames);
        self.begin(memory);
        self.resize(worlds, memory);
        let Memory { frames, places, placed, .. } = memory;
        for &(index, body) in &self.moving {
            let (index, frame) = (index as usize, &frames[body as usize]);
            let (geom, target) = (&self.geoms[index], &mut places[index]);
            target.centre = frame.origin + frame.turn(geom.offset);
            target.axes = if geom.aligned { frame.axes } else { frame.turn_axes(&geom.axes) };
            let (c, [x, y, z]) = (target.centre, target.axes);
            let columns = [[c.x, c.y, c.z, x.x], [x.y, x.z, y.x, y.y], [y.z, z.x, z.y, z.z]];
            let [first, second, third] = columns.map(f64x4::transpose);
            for lane in (0..ABREAST).filter(|&lane| worlds[lane].is_some()) {
                let placed = &mut placed[lane][index];
                let ([a, b, c, d], [e, f, g, h]) = (first[lane].to_array(), second[lane].to_array());
                let [i, j, k, l] = third[lane].to_array();
                placed.centre = Vector::new(a, b, c);
                placed.axes = Matrix::from_cols_array(&[d, e, f, g, h, i, j, k, l]);
            }
        }
        finite
    }

    /// Geoms at rest with the model's sizes, where the memory has others.
    pub(super) fn begin(&self, memory: &mut Memory) {
        let Memory { engine, resized, travelled, places, placed, .. } = memory;
        if *engine == Some(self.number) && !*resized {
            return;
        }
        (*engine, *resized, *travelled) = (Some(self.number), false, false);
        placed.iter_mut().for_each(|placed| placed.clone_from(&self.rest));
        places.clear();
        places.extend(self.geoms.iter().zip(&self.rest).map(|(geom, rest)| {
            let core = Core::of(geom.kind, rest, self.meshes.get(geom.asset as usize));
            Places {
                centre: Vectors::splat(rest.centre),
                axes: [rest.axes.x_axis, rest.axes.y_axis, rest.axes.z_axis].map(Vectors::splat),
                radius: f64x4::splat(rest.radius),
                bounds: Vectors::splat(core.bounds()),
                rounding: f64x4::splat(Core::rounding(geom.kind, rest)),
                ..Places::default()
            }
        }));
    }

    /// Gives geoms the sizes that worlds have of their own.
    fn resize(&self, worlds: &[Option<World<'_>>; ABREAST], memory: &mut Memory) {
        for (lane, world) in worlds.iter().enumerate() {
            let Some(world) = world else { continue };
            memory.resized |= !world.overrides.sizes.is_empty();
            for (index, (geom, size)) in self.geoms.iter().zip(world.overrides.sizes).enumerate() {
                if !geom.kind.has_size() {
                    continue;
                }
                let (own, all) = (&mut memory.placed[lane][index], &mut memory.places[index]);
                (own.size, own.radius) = (*size, bounding_radius(geom.kind, size, 0.0));
                vectors::set(&mut all.radius, lane, own.radius);
                vectors::set(&mut all.rounding, lane, Core::rounding(geom.kind, own));
                all.bounds.set(lane, Core::of(geom.kind, own, None).bounds());
            }
        }
    }

    /// Tells placed geoms how they may move; `travel`: by body, none if nothing does.
    pub(super) fn travel(&self, travel: &[Travels], memory: &mut Memory) {
        let Memory { frames, places, travelled, .. } = memory;
        if travel.is_empty() {
            if std::mem::take(travelled) {
                for place in places {
                    (place.moved, place.turned) = Default::default();
                    (place.travel, place.stray) = Default::default();
                }
            }
            return;
        }
        *travelled = true;
        let mut sum = Vectors::default();
        for &(index, body) in &self.moving {
            let geom = &self.geoms[index as usize];
            let Some(travel) = travel.get(geom.owner as usize) else { continue };
            let (target, frame) = (&mut places[index as usize], &frames[body as usize]);
            let turned = Vectors::from_numbers(travel.turned);
            target.moved = Vectors::from_numbers(travel.moved) + turned.cross(target.centre - frame.origin);
            target.turned = turned;
            let lever = if geom.kind == Kind::Plane { f64x4::ZERO } else { target.radius };
            target.stray = turned.length() * lever;
            target.travel = target.moved.length() + target.stray;
            sum = sum + target.moved;
        }
        let n = f64x4::splat(self.moving.len().max(1) as f64);
        let mean = Vectors::new(sum.x / n, sum.y / n, sum.z / n);
        for &(index, _) in &self.moving {
            let target = &mut places[index as usize];
            target.stray += (target.moved - mean).length();
        }
        let stray = mean.length();
        self.standing.iter().for_each(|&index| places[index as usize].stray = stray);
    }
}
