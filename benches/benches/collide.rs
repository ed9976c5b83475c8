//! Host collision: one pair of each kind in contact, hulls in and beside each other and half in the ground, whole worlds of the
//! built-in scenes by themselves and side by side, many bodies in one world, and bodies of many spheres.
//!
//! `cargo bench --package manyworlds-benches --bench collide`

use std::hint::black_box;
use std::path::Path;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use manyworlds_collide::{ABREAST, CollisionModel, Contact, Hints, Overrides, Scratch, World};
use manyworlds_model::{
    Contacting, Geom, HeightField, ImportOptions, Inertial, Joint, JointKind, Mat3, Mesh, Model, ModelBuilder, Pose,
    Quat, Shape, Vec3, load,
};

/// A free body with one geom.
fn free_geom(builder: &mut ModelBuilder, shape: Shape) {
    let inertial = Inertial { mass: 1.0, com: Vec3::zeros(), inertia: Mat3::identity() };
    let body = builder.body("", 0, Pose::identity(), inertial);
    builder.joint(Joint::new("", body, JointKind::Free));
    geom(builder, body, shape);
}

fn geom(builder: &mut ModelBuilder, body: usize, shape: Shape) {
    let contact = Contacting::default();
    builder.geom(Geom { name: String::new(), body, pose: Pose::identity(), shape, contact });
}

/// World poses of the bodies at the model's reference, moved as a whole.
fn reference_poses(model: &Model, by: Pose) -> Vec<Pose> {
    let mut poses: Vec<Pose> = Vec::new();
    for (index, body) in model.bodies.iter().enumerate() {
        poses.push(match index {
            0 => Pose::identity(),
            _ if body.parent == 0 => by * body.pose,
            _ => poses[body.parent] * body.pose,
        });
    }
    poses
}

fn numbers(pose: &Pose) -> [f64; 7] {
    let (t, q) = (pose.translation.vector, pose.rotation.into_inner());
    [t.x, t.y, t.z, q.w, q.i, q.j, q.k]
}

/// Times one world; says how many contacts it has.
fn bench(c: &mut Criterion, group: &str, name: &str, model: &Model, poses: &[Pose]) {
    let collision = CollisionModel::new(model).expect("supported shapes");
    let poses: Vec<[f64; 7]> = poses.iter().map(numbers).collect();
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    collision.collide(|body| poses[body], &mut scratch, &mut out).expect("finite poses");
    let id = BenchmarkId::new(name, format!("{} contacts", out.len()));
    c.benchmark_group(group).bench_function(id, |b| {
        b.iter(|| collision.collide(|body| black_box(poses[body]), &mut scratch, &mut out));
    });
}

/// Times as many worlds as go side by side, each in the same poses, with hints.
fn bench_abreast(c: &mut Criterion, name: &str, model: &Model, poses: &[Pose]) {
    let collision = CollisionModel::new(model).expect("supported shapes");
    let poses: Vec<[[f64; ABREAST]; 7]> = poses.iter().map(|pose| numbers(pose).map(|x| [x; ABREAST])).collect();
    let (mut scratch, overrides) = (Scratch::default(), Overrides::default());
    let mut own = <[(Hints, Vec<Contact>); ABREAST]>::default();
    c.benchmark_group("abreast").bench_function(format!("{ABREAST} x {name}"), |b| {
        b.iter(|| {
            let worlds = own.each_mut().map(|(hints, out)| Some(World { overrides: &overrides, hints, out }));
            collision.collide_abreast(|body| black_box(poses[body]), &[], worlds, &mut scratch)
        });
    });
}

fn pairs(c: &mut Criterion) {
    let long = 0.15;
    let shapes: [(&str, Shape); 6] = [
        ("sphere", Shape::Sphere { radius: 0.1 }),
        ("capsule", Shape::Capsule { radius: 0.1, half_length: long }),
        ("cylinder", Shape::Cylinder { radius: 0.1, half_length: long }),
        ("box", Shape::Box { half: Vec3::new(0.1, 0.12, long) }),
        ("ellipsoid", Shape::Ellipsoid { radii: Vec3::new(0.1, 0.12, long) }),
        ("mesh", Shape::Mesh(0)),
    ];
    // Slightly tilted and overlapping by about a millimetre, as at rest.
    let tilt = Quat::from_euler_angles(0.02, 0.01, 0.3);
    for (i, (first, a)) in shapes.iter().enumerate() {
        for (second, b) in &shapes[i..] {
            let mut builder = ModelBuilder::new("pair");
            builder.mesh(octagonal_prism());
            free_geom(&mut builder, a.clone());
            free_geom(&mut builder, b.clone());
            let model = builder.build().expect("a model");
            let apart = Pose::from_parts(Vec3::new(0.199, 0.01, 0.02).into(), tilt);
            let poses = [Pose::identity(), Pose::identity(), apart];
            bench(c, "pair", &format!("{first}-{second}"), &model, &poses);
        }
        for (name, ground) in [("plane", Shape::Plane), ("heightfield", Shape::HeightField(0))] {
            let mut builder = ModelBuilder::new("pair");
            builder.mesh(octagonal_prism());
            builder.heightfield(gentle_ground());
            geom(&mut builder, 0, ground);
            free_geom(&mut builder, a.clone());
            let model = builder.build().expect("a model");
            let lowest = if *first == "sphere" {
                0.1
            } else if *first == "capsule" {
                0.25
            } else {
                long
            };
            let above = Pose::from_parts(Vec3::new(0.03, 0.05, lowest - 0.001).into(), tilt);
            bench(c, "pair", &format!("{name}-{first}"), &model, &[Pose::identity(), above]);
        }
    }
}

fn octagonal_prism() -> Mesh {
    let angle = |i: u32| f64::from(i % 8) * std::f64::consts::FRAC_PI_4;
    let ring = |z: f64| (0..8).map(move |i| Vec3::new(0.11 * angle(i).cos(), 0.11 * angle(i).sin(), z));
    let vertices = ring(-0.15).chain(ring(0.15)).collect();
    let mut triangles = Vec::new();
    for i in 0..8u32 {
        let j = (i + 1) % 8;
        triangles.extend([[i, j, j + 8], [i, j + 8, i + 8]]);
        if i > 0 && j > 0 {
            triangles.extend([[0, j, i], [8, i + 8, j + 8]]);
        }
    }
    Mesh { name: "prism".into(), vertices, triangles, surface: None }
}

fn gentle_ground() -> HeightField {
    let heights = (0..41 * 41).map(|i| 0.002 * f64::from(i % 41).sin()).collect();
    HeightField { name: "ground".into(), n_rows: 41, n_cols: 41, half: [2.0, 2.0], heights, base: 0.1 }
}

/// Round hulls of many corners, as links of robots are, and cylinders: deep in each other, touching, and with bounding
/// spheres that overlap alone.
fn hulls(c: &mut Criterion) {
    let shapes: [(&str, Shape); 3] = [
        ("hull", Shape::Mesh(0)),
        ("cylinder", Shape::Cylinder { radius: 0.05, half_length: 0.15 }),
        ("box", Shape::Box { half: Vec3::new(0.05, 0.06, 0.15) }),
    ];
    let tilt = Quat::from_euler_angles(0.2, 0.1, 0.3);
    for (second, b) in &shapes {
        for (name, distance) in [("deep", 0.06), ("touching", 0.1), ("beside", 0.2)] {
            let mut builder = ModelBuilder::new("pair");
            builder.mesh(long_hull());
            free_geom(&mut builder, shapes[0].1.clone());
            free_geom(&mut builder, b.clone());
            let model = builder.build().expect("a model");
            let apart = Pose::from_parts(Vec3::new(distance, 0.01, 0.02).into(), tilt);
            bench(c, "hulls", &format!("hull-{second}, {name}"), &model, &[Pose::identity(), Pose::identity(), apart]);
        }
    }
}

/// A hull half in the ground: of 250 corners four are kept.
fn half_in_the_ground(c: &mut Criterion) {
    let mut builder = ModelBuilder::new("sunk");
    builder.mesh(long_hull());
    geom(&mut builder, 0, Shape::Plane);
    free_geom(&mut builder, Shape::Mesh(0));
    bench(c, "hulls", "half in the ground", &builder.build().expect("a model"), &[Pose::identity(); 2]);
}

/// An ellipsoid of 500 corners, 0.3 m long.
fn long_hull() -> Mesh {
    let corner = |i: u32| {
        // Evenly over the sphere, along a spiral.
        let z = 1.0 - (2.0 * f64::from(i) + 1.0) / 500.0;
        let (across, turn) = ((1.0 - z * z).sqrt(), 2.399_963_229_728_653 * f64::from(i));
        Vec3::new(0.05 * across * turn.cos(), 0.05 * across * turn.sin(), 0.15 * z)
    };
    let triangles = (0..498).map(|i| [i, i + 1, i + 2]).collect();
    Mesh { name: "link".into(), vertices: (0..500).map(corner).collect(), triangles, surface: None }
}

fn worlds(c: &mut Criterion) {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenes");
    let supine = Quat::from_euler_angles(0.0, -std::f64::consts::FRAC_PI_2, 0.0);
    let cases = [
        ("humanoid", "humanoid standing", Pose::identity()),
        ("humanoid", "humanoid lying", Pose::from_parts(Vec3::new(1.2, 0.0, 0.1).into(), supine)),
        ("quadruped", "quadruped", Pose::identity()),
        ("clutter", "clutter", Pose::identity()),
    ];
    for (file, name, by) in cases {
        let loaded =
            load(scenes.join(file).with_extension("xml"), &ImportOptions::default()).expect("a built-in scene");
        let poses = reference_poses(&loaded.model, by);
        bench(c, "world", name, &loaded.model, &poses);
        bench_abreast(c, name, &loaded.model, &poses);
    }
}

/// Boxes on the floor in a square, up to 512 geoms with all pairs in a list: beyond, the time per body should hardly grow with
/// their number.
fn many(c: &mut Criterion) {
    for side in [10, 20, 30, 100] {
        let mut builder = ModelBuilder::new("many");
        geom(&mut builder, 0, Shape::Plane);
        let mut poses = vec![Pose::identity()];
        for i in 0..side * side {
            free_geom(&mut builder, Shape::Box { half: Vec3::repeat(0.05) });
            poses.push(Pose::translation(0.101 * f64::from(i % side), 0.101 * f64::from(i / side), 0.05));
        }
        let model = builder.build().expect("a model");
        bench(c, "many", &format!("{} boxes", side * side), &model, &poses);
        bench_abreast(c, &format!("{} boxes", side * side), &model, &poses);
    }
}

/// Bodies of eight spheres each, in a row, the next one near: a robot whose links are made of spheres.
fn spheres(c: &mut Criterion) {
    let mut builder = ModelBuilder::new("spheres");
    let mut poses = vec![Pose::identity()];
    for link in 0..24 {
        free_geom(&mut builder, Shape::Sphere { radius: 0.03 });
        poses.push(Pose::translation(0.18 * f64::from(link), 0.0, 0.0));
        for at in 1..8 {
            let pose = Pose::translation(0.02 * f64::from(at), 0.0, 0.0);
            let (shape, contact) = (Shape::Sphere { radius: 0.03 }, Contacting::default());
            builder.geom(Geom { name: String::new(), body: link as usize + 1, pose, shape, contact });
        }
    }
    let model = builder.build().expect("a model");
    bench(c, "many", "24 bodies of 8 spheres", &model, &poses);
    bench_abreast(c, "24 bodies of 8 spheres", &model, &poses);
}

criterion_group!(benches, pairs, hulls, half_in_the_ground, worlds, many, spheres);
criterion_main!(benches);
