//! Derivatives of contacts against central differences of collision itself.

use manyworlds_collide::derivatives::ContactGeometry;
use manyworlds_collide::{CollisionModel, CollisionSettings, Contact, Hints, Overrides, Scratch};
use manyworlds_model::{ImportOptions, Model, Shape, from_mjcf_str};
use nalgebra::{UnitQuaternion, Vector3};

/// Reproducible numbers in [-1, 1].
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self) -> Vector3<f64> {
        Vector3::new(self.next(), self.next(), self.next())
    }
}

const SHAPES: [(&str, &str); 6] = [
    ("sphere", r#"type="sphere" size="0.1""#),
    ("capsule", r#"type="capsule" size="0.06 0.12""#),
    ("cylinder", r#"type="cylinder" size="0.1 0.08""#),
    ("box", r#"type="box" size="0.1 0.07 0.12""#),
    ("ellipsoid", r#"type="ellipsoid" size="0.12 0.08 0.06""#),
    ("mesh", r#"type="mesh" mesh="solid""#),
];

/// Two bodies, of which the first may be the ground.
fn model(first: &str, second: &str) -> Model {
    let inside = |geom: &str| if geom.contains("sdf") { r#"<plugin instance="ring"/>"# } else { "" };
    let body = |geom: &str| {
        let place = r#"pos="0.01 -0.02 0.015" euler="20 -30 40""#;
        format!("<body><freejoint/><geom {geom} {place}>{}</geom></body>", inside(geom))
    };
    let is_ground = first.contains("plane") || first.contains("hfield");
    let first = if is_ground { format!("<geom {first}/>") } else { body(first) };
    let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let text = format!(
        r#"<mujoco><extension><plugin plugin="mujoco.sdf.torus"><instance name="ring">
            <config key="radius1" value="0.09"/><config key="radius2" value="0.04"/><config key="spacing" value="0.015"/>
        </instance></plugin></extension>
        <asset><mesh name="solid" vertex="0.1 0 0  -0.08 0.07 0  -0.08 -0.06 0.01  0.01 0.02 0.12  0 0.01 -0.09  0.05 0.08 0.05"/>
        <hfield name="hills" nrow="4" ncol="5" size="0.4 0.3 0.08 0.1"
            elevation="0.1 0.5 0.2 0.9 0.3  0.6 0.0 0.7 0.4 0.8  0.2 0.9 0.3 0.1 0.6  0.5 0.3 1.0 0.2 0.4"/></asset>
        <worldbody>{first}{}</worldbody></mujoco>"#,
        body(second)
    );
    from_mjcf_str("pair.xml", &text, &no_files, &ImportOptions::default()).expect("a model").model
}

type Pose = [f64; 7];

fn moved(pose: &Pose, about: [f64; 3], linear: Vector3<f64>, angular: Vector3<f64>) -> Pose {
    let turn = UnitQuaternion::from_scaled_axis(angular);
    let p = Vector3::from(about) + linear + turn * (Vector3::new(pose[0], pose[1], pose[2]) - Vector3::from(about));
    let q = turn * UnitQuaternion::from_quaternion(nalgebra::Quaternion::new(pose[3], pose[4], pose[5], pose[6]));
    [p.x, p.y, p.z, q.w, q.i, q.j, q.k]
}

/// Largest errors, contacts compared, contacts refused, contacts at a change of features; differences by `step`, m and rad.
fn compare(first: &str, second: &str, cases: usize, step: f64) -> (f64, usize, usize, usize) {
    let model = model(first, second);
    let settings = CollisionSettings { speculative_distance: 0.05, ..CollisionSettings::default() };
    let collision = CollisionModel::with_settings(&model, &settings).expect("pairs that collide");
    let geometry = ContactGeometry::new(&model).expect("meshes with volumes");
    let mut scratch = Scratch::default();
    let mut collide = |poses: &[Pose]| {
        let mut out: Vec<Contact> = Vec::new();
        collision.collide(|body| poses[body], &mut scratch, &mut out).expect("finite poses");
        out
    };
    let mut noise = Noise(7);
    let (mut worst, mut compared, mut refused, mut switched) = (0.0f64, 0, 0, 0);
    let n_body = model.bodies.len();
    for _ in 0..cases {
        let poses: Vec<Pose> = (0..n_body)
            .map(|body| {
                let q = UnitQuaternion::from_scaled_axis(noise.vector() * 2.0);
                let p = if body == n_body - 1 {
                    noise.vector().normalize() * (0.14 + 0.06 * noise.next())
                } else {
                    Vector3::zeros()
                };
                let p = if n_body == 2 { Vector3::new(p.x, p.y, p.z.abs()) } else { p };
                [p.x, p.y, p.z, q.w, q.i, q.j, q.k]
            })
            .collect();
        for contact in collide(&poses) {
            let slope = match geometry.slope(&contact, |body| poses[body], &[]) {
                Ok(slope) => slope,
                Err(reason) => {
                    println!("{reason}");
                    refused += 1;
                    continue;
                }
            };
            for column in 0..12 {
                let body = contact.bodies[column / 6] as usize;
                if body == 0 {
                    continue;
                }
                let mut e = Vector3::zeros();
                e[column % 3] = step;
                let (linear, angular) = if column % 6 < 3 { (e, Vector3::zeros()) } else { (Vector3::zeros(), e) };
                let mut at = |sign: f64| {
                    let mut changed = poses.clone();
                    changed[body] = moved(&poses[body], contact.point, linear * sign, angular * sign);
                    collide(&changed).into_iter().find(|c| c.feature == contact.feature)
                };
                let (Some(up), Some(down)) = (at(1.0), at(-1.0)) else {
                    switched += 1;
                    continue;
                };
                let numbers =
                    |c: &Contact| [c.point, c.normal].concat().into_iter().chain([c.distance]).collect::<Vec<f64>>();
                let (here, up, down) = (numbers(&contact), numbers(&up), numbers(&down));
                let mut twist = [0.0; 12];
                twist[column] = 1.0;
                let exact = slope.along(&twist);
                let kink = (0..7).any(|i| (up[i] + down[i] - 2.0 * here[i]).abs() > 1e-3 * step);
                if kink {
                    switched += 1;
                    continue;
                }
                for i in 0..7 {
                    let difference = (up[i] - down[i]) / (2.0 * step);
                    let error = (difference - exact[i]).abs() / difference.abs().max(1.0);
                    if error > 1e-4 && worst <= 1e-4 {
                        println!("{first} {second}: entry {i} column {column}: {difference} {} {contact:?}", exact[i]);
                    }
                    worst = worst.max(error);
                }
            }
            compared += 1;
        }
    }
    (worst, compared, refused, switched)
}

#[test]
fn contacts_of_every_pair_have_the_derivatives_of_collision() {
    let mut failures = Vec::new();
    for (i, (name, second)) in SHAPES.iter().enumerate() {
        let firsts = std::iter::once(("plane", r#"type="plane" size="1 1 1""#)).chain(SHAPES[..=i].iter().copied());
        for (first_name, first) in firsts {
            let (worst, compared, refused, switched) = compare(first, second, 60, 1e-6);
            println!("{first_name}-{name}: {worst:.1e} over {compared}, refused {refused}, switches {switched}");
            // Of polyhedra and cylinders the points of a manifold may be where no two features pin them down.
            let smooth = ["plane", "sphere"].contains(&first_name) || (first_name, *name) == ("capsule", "capsule");
            let most = if smooth || *name == "ellipsoid" { 0 } else { compared };
            if worst > 1e-7 || compared < 50 || refused > most {
                failures.push(format!("{first_name}-{name}: {worst:.1e} over {compared}, {refused} refused"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn contacts_with_the_ground_and_with_distance_functions_too() {
    let hills = r#"type="hfield" hfield="hills""#;
    let ring = r#"type="sdf" mass="1""#;
    let plane = r#"type="plane" size="1 1 1""#;
    let mut failures = Vec::new();
    let shape = |name: &str| SHAPES.iter().find(|(known, _)| *known == name).expect("a shape").1;
    // Points of a manifold on triangles are often where no two features pin them down.
    let pairs = [
        ("hills", hills, "sphere", shape("sphere"), 40, 20, false),
        ("hills", hills, "capsule", shape("capsule"), 40, 20, true),
        ("hills", hills, "box", shape("box"), 20, 20, true),
        ("hills", hills, "ellipsoid", shape("ellipsoid"), 40, 20, false),
        ("hills", hills, "mesh", shape("mesh"), 20, 20, true),
        ("plane", plane, "ring", ring, 10, 20, false),
        ("sphere", shape("sphere"), "ring", ring, 40, 20, false),
        ("capsule", shape("capsule"), "ring", ring, 10, 20, true),
        ("box", shape("box"), "ring", ring, 10, 20, true),
        ("ring", ring, "ring", ring, 10, 20, false),
    ];
    for (first_name, first, name, second, cases, least, refuses) in pairs {
        // Points of a function are also found near the middle of what is round, where the curvature is large.
        let step = if name == "ring" { 1e-7 } else { 1e-6 };
        let (worst, compared, refused, switched) = compare(first, second, cases, step);
        println!("{first_name}-{name}: {worst:.1e} over {compared}, refused {refused}, switches {switched}");
        if worst > 1e-7 || compared < least || refused > if refuses { 2 * compared } else { compared / 10 } {
            failures.push(format!("{first_name}-{name}: {worst:.1e} over {compared}, {refused} refused"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Largest error of the derivatives by sizes, and how many contacts were compared.
fn compare_sizes(first: &str, second: &str, cases: usize) -> (f64, usize) {
    let model = model(first, second);
    let settings = CollisionSettings { speculative_distance: 0.05, ..CollisionSettings::default() };
    let collision = CollisionModel::with_settings(&model, &settings).expect("pairs that collide");
    let geometry = ContactGeometry::new(&model).expect("meshes with volumes");
    let mut scratch = Scratch::default();
    let mut noise = Noise(11);
    let own: Vec<[f64; 3]> = model.geoms.iter().map(|geom| sizes(&geom.shape)).collect();
    let (mut worst, mut compared) = (0.0_f64, 0);
    let n_body = model.bodies.len();
    for _ in 0..cases {
        let poses: Vec<Pose> = (0..n_body)
            .map(|body| {
                let q = UnitQuaternion::from_scaled_axis(noise.vector() * 2.0);
                let p = noise.vector().normalize() * (0.14 + 0.06 * noise.next());
                let p = if body + 1 < n_body { Vector3::zeros() } else { p };
                let p = if n_body == 2 { Vector3::new(p.x, p.y, p.z.abs()) } else { p };
                [p.x, p.y, p.z, q.w, q.i, q.j, q.k]
            })
            .collect();
        let mut collide = |sizes: &[[f64; 3]]| {
            let mut out: Vec<Contact> = Vec::new();
            let overrides = Overrides { sizes, ..Overrides::default() };
            collision
                .collide_with(|body| poses[body], &[], &overrides, &mut Hints::default(), &mut scratch, &mut out)
                .expect("finite poses");
            out
        };
        for contact in collide(&own) {
            for side in 0..2 {
                let Ok(exact) = geometry.by_sizes(&contact, side, |body| poses[body], &own) else { continue };
                let geom = contact.geoms[side] as usize;
                for (k, exact) in exact.iter().enumerate().filter(|(k, _)| own[geom][*k] > 0.0) {
                    let step = 1e-6;
                    let mut at = |sign: f64| {
                        let mut changed = own.clone();
                        changed[geom][k] += sign * step;
                        let found = collide(&changed).into_iter().find(|c| c.feature == contact.feature)?;
                        Some([&found.point[..], &found.normal, &[found.distance]].concat())
                    };
                    let (Some(up), Some(down)) = (at(1.0), at(-1.0)) else { continue };
                    let here = [&contact.point[..], &contact.normal, &[contact.distance]].concat();
                    if (0..7).any(|i| (up[i] + down[i] - 2.0 * here[i]).abs() > 1e-3 * step) {
                        continue;
                    }
                    compared += 1;
                    for i in 0..7 {
                        let difference = (up[i] - down[i]) / (2.0 * step);
                        let error = (difference - exact[i]).abs() / difference.abs().max(1.0);
                        if error > 1e-4 && worst <= 1e-4 {
                            println!(
                                "{first} {second}: entry {i}, size {k} of {side}: {difference} {} {contact:?}",
                                exact[i]
                            );
                        }
                        worst = worst.max(error);
                    }
                }
            }
        }
    }
    (worst, compared)
}

/// Sizes as [`Overrides`] takes them.
fn sizes(shape: &Shape) -> [f64; 3] {
    match *shape {
        Shape::Sphere { radius } => [radius, 0.0, 0.0],
        Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => [radius, half_length, 0.0],
        Shape::Box { half: sizes } | Shape::Ellipsoid { radii: sizes } => sizes.into(),
        _ => [0.0; 3],
    }
}

#[test]
fn contacts_of_primitives_have_derivatives_by_their_sizes() {
    let mut failures = Vec::new();
    for (i, (name, second)) in SHAPES[..5].iter().enumerate() {
        let firsts = std::iter::once(("plane", r#"type="plane" size="1 1 1""#)).chain(SHAPES[..=i].iter().copied());
        for (first_name, first) in firsts {
            let (worst, compared) = compare_sizes(first, second, 40);
            println!("{first_name}-{name}: {worst:.1e} over {compared}");
            if worst > 1e-7 || compared < 30 {
                failures.push(format!("{first_name}-{name}: {worst:.1e} over {compared}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
