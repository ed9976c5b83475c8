//! Two shapes in the air, and what they say of each other.
#![allow(unreachable_pub)]

use manyworlds_collide::{CollisionModel, CollisionSettings, Contact, Scratch};
use manyworlds_model::{
    Contacting, Geom, HeightField, Inertial, Joint, JointKind, Mat3, Mesh, Model, ModelBuilder, Pose, Quat, Shape, Vec3,
};

/// A shape, its assets included.
#[derive(Debug, Clone)]
pub enum Solid {
    Plain(Shape),
    Mesh(Vec<Vec3>),
    Field(HeightField),
}

pub fn plane() -> Solid {
    Solid::Plain(Shape::Plane)
}

pub fn sphere(radius: f64) -> Solid {
    Solid::Plain(Shape::Sphere { radius })
}

pub fn capsule(radius: f64, half_length: f64) -> Solid {
    Solid::Plain(Shape::Capsule { radius, half_length })
}

pub fn cylinder(radius: f64, half_length: f64) -> Solid {
    Solid::Plain(Shape::Cylinder { radius, half_length })
}

pub fn cuboid(x: f64, y: f64, z: f64) -> Solid {
    Solid::Plain(Shape::Box { half: Vec3::new(x, y, z) })
}

pub fn ellipsoid(x: f64, y: f64, z: f64) -> Solid {
    Solid::Plain(Shape::Ellipsoid { radii: Vec3::new(x, y, z) })
}

/// A box as a mesh of its corners.
pub fn cuboid_mesh(x: f64, y: f64, z: f64) -> Solid {
    let sign = |bit: u32| if bit & 1 == 1 { 1.0 } else { -1.0 };
    Solid::Mesh((0..8u32).map(|c| Vec3::new(sign(c) * x, sign(c >> 1) * y, sign(c >> 2) * z)).collect())
}

/// A floor and solids of every kind, as large as a fist.
pub fn all_kinds() -> [Solid; 9] {
    [
        plane(),
        sphere(0.05),
        capsule(0.03, 0.05),
        cylinder(0.05, 0.04),
        cuboid(0.04, 0.05, 0.06),
        ellipsoid(0.06, 0.04, 0.05),
        cuboid_mesh(0.05, 0.04, 0.03),
        capsule(0.02, 0.06),
        cuboid(0.03, 0.03, 0.05),
    ]
}

/// Ground of the given height over a square of 2 m, `n` samples a side.
pub fn terrain(n: usize, height: impl Fn(f64, f64) -> f64) -> Solid {
    let at = |i: usize| 2.0 * i as f64 / (n - 1) as f64 - 1.0;
    let heights = (0..n * n).map(|i| height(at(i % n), at(i / n))).collect();
    Solid::Field(HeightField { name: String::new(), n_rows: n, n_cols: n, half: [1.0, 1.0], heights, base: 0.1 })
}

pub fn at(x: f64, y: f64, z: f64) -> Pose {
    Pose::translation(x, y, z)
}

pub fn turned(pose: Pose, axis: Vec3, angle: f64) -> Pose {
    pose * Quat::from_scaled_axis(axis.normalize() * angle)
}

pub fn inertial() -> Inertial {
    Inertial { mass: 1.0, com: Vec3::zeros(), inertia: Mat3::identity() }
}

pub fn free_joint(body: usize) -> Joint {
    Joint::new("", body, JointKind::Free)
}

/// A free body without geoms.
pub fn free_body(builder: &mut ModelBuilder) -> usize {
    let body = builder.body("", 0, Pose::identity(), inertial());
    builder.joint(free_joint(body));
    body
}

pub fn add(builder: &mut ModelBuilder, body: usize, pose: Pose, solid: &Solid) -> usize {
    let shape = match solid {
        Solid::Plain(shape) => shape.clone(),
        Solid::Mesh(vertices) => {
            let mesh = Mesh { name: String::new(), vertices: vertices.clone(), triangles: Vec::new(), surface: None };
            Shape::Mesh(builder.mesh(with_triangles(mesh)))
        }
        Solid::Field(field) => Shape::HeightField(builder.heightfield(field.clone())),
    };
    builder.geom(Geom { name: String::new(), body, pose, shape, contact: Contacting::default() })
}

/// Triangles that make the mesh well formed; collision takes the hull of the vertices.
fn with_triangles(mut mesh: Mesh) -> Mesh {
    let n = mesh.vertices.len() as u32;
    mesh.triangles = (0..n).map(|i| [i, (i + 1) % n, (i + 2) % n]).collect();
    mesh
}

/// Planes and heightfields, which are fixed to the ground.
pub fn is_surface(solid: &Solid) -> bool {
    matches!(solid, Solid::Plain(Shape::Plane) | Solid::Field(_))
}

/// Surfaces on the ground where they stand; one free body for each other solid, its geom in the body's frame.
pub fn model(solids: &[Solid], poses: &[Pose]) -> Model {
    let mut builder = ModelBuilder::new("test");
    for (solid, pose) in solids.iter().zip(poses) {
        if is_surface(solid) {
            add(&mut builder, 0, *pose, solid);
        } else {
            let body = free_body(&mut builder);
            add(&mut builder, body, Pose::identity(), solid);
        }
    }
    builder.build().expect("a model")
}

pub fn numbers(pose: &Pose) -> [f64; 7] {
    let (t, q) = (pose.translation.vector, pose.rotation.into_inner());
    [t.x, t.y, t.z, q.w, q.i, q.j, q.k]
}

/// A pose as a batch in f32 has it: its rotation is of unit length to 1e-7 only.
pub fn rounded(pose: Pose) -> Pose {
    pose.cast::<f32>().cast()
}

/// Contacts of solids that stand at poses, with those closer than `reach`.
pub fn collide(solids: &[Solid], poses: &[Pose], reach: f64) -> Vec<Contact> {
    let settings = CollisionSettings { speculative_distance: reach, ..CollisionSettings::default() };
    let model = CollisionModel::with_settings(&model(solids, poses), &settings).expect("supported shapes");
    let mut out = Vec::new();
    let moving: Vec<&Pose> = solids.iter().zip(poses).filter(|(s, _)| !is_surface(s)).map(|(_, p)| p).collect();
    let given = |body: usize| numbers(moving[body - 1]);
    model.collide(given, &mut Scratch::default(), &mut out).expect("finite poses");
    out
}

/// The deepest contact.
pub fn deepest(contacts: &[Contact]) -> Contact {
    *contacts.iter().min_by(|a, b| a.distance.total_cmp(&b.distance)).expect("a contact")
}

pub fn vec3(x: [f64; 3]) -> Vec3 {
    Vec3::from(x)
}
