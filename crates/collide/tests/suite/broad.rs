//! Which pairs are looked at: filters, overrides, the list of a small model and the grid of a large one.

use crate::again::are_found_again;
use crate::common::*;
use manyworlds_collide::{CollideError, CollisionModel, CollisionSettings, Contact, Hints, Overrides, Scratch, Travel};
use manyworlds_model::{Contacting, ExplicitPair, Geom, Model, ModelBuilder, Pose, Shape};

fn ball(builder: &mut ModelBuilder, body: usize, contact: Contacting) -> usize {
    let shape = Shape::Sphere { radius: 0.1 };
    builder.geom(Geom { name: format!("ball {body}"), body, pose: Pose::identity(), shape, contact })
}

/// Contacts with every body at the origin, where all balls overlap.
fn overlapping(model: &Model) -> Vec<Contact> {
    let mut out = Vec::new();
    let collision = CollisionModel::new(model).unwrap();
    collision.collide(|_| numbers(&Pose::identity()), &mut Scratch::default(), &mut out).unwrap();
    out
}

fn pairs_of(model: &Model) -> Vec<[u32; 2]> {
    overlapping(model).iter().map(|c| c.bodies).collect()
}

/// ground - 1 (free) - 2 (hinge) - 3 (welded) - 4 (hinge), and 5 welded to the ground; a ball on each.
fn chain() -> ModelBuilder {
    let mut builder = ModelBuilder::new("chain");
    ball(&mut builder, 0, Contacting::default());
    let mut parent = 0;
    for joint in [
        Some(manyworlds_model::JointKind::Free),
        Some(manyworlds_model::JointKind::Hinge),
        None,
        Some(manyworlds_model::JointKind::Hinge),
    ] {
        let body = builder.body("", parent, Pose::identity(), inertial());
        if let Some(kind) = joint {
            builder.joint(manyworlds_model::Joint { kind, ..free_joint(body) });
        }
        ball(&mut builder, body, Contacting::default());
        parent = body;
    }
    let fixed = builder.body("", 0, Pose::identity(), inertial());
    ball(&mut builder, fixed, Contacting::default());
    builder
}

#[test]
fn parents_and_welds() {
    // 3 is one body with 2, so 1-3 and 3-4 are parent and child; the ground is nobody's parent.
    let model = chain().build().unwrap();
    assert_eq!(pairs_of(&model), [[0, 1], [0, 2], [0, 3], [0, 4], [1, 4], [1, 5], [2, 5], [3, 5], [4, 5]]);
}

#[test]
fn excludes_and_explicit_pairs() {
    let mut builder = chain();
    builder.exclude(4, 1);
    builder.exclude(0, 2);
    builder.pair(ExplicitPair {
        geoms: [2, 1],
        friction: 0.25,
        restitution: 0.5,
        margin: 0.0,
        gap: 0.0,
        frictionless: false,
    });
    let model = builder.build().unwrap();
    let contacts = overlapping(&model);
    let pairs: Vec<_> = contacts.iter().map(|c| c.bodies).collect();
    assert_eq!(pairs, [[0, 1], [0, 3], [0, 4], [1, 2], [1, 5], [2, 5], [3, 5], [4, 5]]);
    let explicit = contacts.iter().find(|c| c.bodies == [1, 2]).unwrap();
    assert_eq!((explicit.friction, explicit.restitution), (0.25, 0.5));
}

#[test]
fn bits_and_mixing() {
    let mut builder = ModelBuilder::new("bits");
    let kinds = [
        Contacting { friction: 0.3, contype: 1, conaffinity: 2, ..Contacting::default() },
        Contacting { friction: 0.7, restitution: 0.5, contype: 2, conaffinity: 4, ..Contacting::default() },
        Contacting { frictionless: true, contype: 4, conaffinity: 1, ..Contacting::default() },
        Contacting { frictionless: true, contype: 8, conaffinity: 4, ..Contacting::default() },
        Contacting { contype: 0, conaffinity: 0, ..Contacting::default() },
    ];
    for contact in kinds {
        let body = free_body(&mut builder);
        ball(&mut builder, body, contact);
    }
    let contacts = overlapping(&builder.build().unwrap());
    let found: Vec<_> = contacts.iter().map(|c| (c.bodies, c.friction, c.restitution)).collect();
    assert_eq!(found, [([1, 2], 0.7, 0.5), ([1, 3], 1.0, 0.0), ([2, 3], 1.0, 0.5), ([3, 4], 0.0, 0.0)]);
}

/// The geom of higher priority decides friction alone, the world's own coefficients included.
#[test]
fn priority() {
    let mut builder = ModelBuilder::new("priority");
    let kinds = [
        Contacting { friction: 0.3, priority: 1, ..Contacting::default() },
        Contacting { friction: 0.7, restitution: 0.5, ..Contacting::default() },
        Contacting { frictionless: true, priority: 2, ..Contacting::default() },
    ];
    for contact in kinds {
        let body = free_body(&mut builder);
        ball(&mut builder, body, contact);
    }
    let model = builder.build().unwrap();
    let frictions = |contacts: &[Contact]| contacts.iter().map(|c| c.friction).collect::<Vec<_>>();
    assert_eq!(frictions(&overlapping(&model)), [0.3, 0.0, 0.0]);
    let own = Overrides { friction: &[0.2, 0.9, 0.4], ..Overrides::default() };
    let mut out = Vec::new();
    let collision = CollisionModel::new(&model).unwrap();
    collision
        .collide_with(
            |_| numbers(&Pose::identity()),
            &[],
            &own,
            &mut Hints::default(),
            &mut Scratch::default(),
            &mut out,
        )
        .unwrap();
    assert_eq!(frictions(&out), [0.2, 0.0, 0.0]);
}

#[test]
fn margins_and_the_speculative_distance() {
    let mut builder = ModelBuilder::new("margins");
    for margin in [0.0, 0.01] {
        let body = free_body(&mut builder);
        ball(&mut builder, body, Contacting { margin, ..Contacting::default() });
    }
    let model = builder.build().unwrap();
    let count = |speculative_distance: f64, gap: f64| {
        let settings = CollisionSettings { speculative_distance, ..CollisionSettings::default() };
        let collision = CollisionModel::with_settings(&model, &settings).unwrap();
        let mut out = Vec::new();
        let poses = |body: usize| [if body == 2 { 0.2 + gap } else { 0.0 }, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        collision.collide(poses, &mut Scratch::default(), &mut out).unwrap();
        out.len()
    };
    assert_eq!([count(0.0, 0.0099), count(0.0, 0.0101), count(0.005, 0.0149), count(0.005, 0.0151)], [1, 0, 1, 0]);
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let settings = CollisionSettings { speculative_distance: bad, ..CollisionSettings::default() };
        assert!(matches!(CollisionModel::with_settings(&model, &settings), Err(CollideError::Setting { .. })));
    }
}

#[test]
fn a_world_of_its_own_sizes_and_friction() {
    let model = model(&[sphere(0.1), cuboid(0.1, 0.1, 0.1)], &[Pose::identity(), Pose::identity()]);
    let collision = CollisionModel::with_settings(
        &model,
        &CollisionSettings { speculative_distance: 0.0, ..CollisionSettings::default() },
    )
    .unwrap();
    let poses = |body: usize| [if body == 2 { 0.25 } else { 0.0 }, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0];
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    collision.collide(poses, &mut scratch, &mut out).unwrap();
    assert!(out.is_empty());
    let own = Overrides { sizes: &[[0.2, 0.0, 0.0], [0.1, 0.1, 0.1]], friction: &[0.1, 0.3], ..Overrides::default() };
    collision.collide_with(poses, &[], &own, &mut Hints::default(), &mut scratch, &mut out).unwrap();
    assert_eq!(out.len(), 1);
    assert!((out[0].distance + 0.05).abs() < 1e-12 && out[0].friction == 0.3);
    collision.collide(poses, &mut scratch, &mut out).unwrap();
    assert!(out.is_empty());
}

/// Pseudo-random numbers in 0..1.
fn noise(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64
}

/// Balls of sizes from 2 mm to 2 m by the grid, against every pair by hand.
#[test]
fn the_grid_misses_nothing() {
    let mut seed = 7;
    let mut builder = ModelBuilder::new("many");
    add(&mut builder, 0, at(0.0, 0.0, -3.0), &plane());
    let (mut centres, mut radii) = (Vec::new(), Vec::new());
    for k in 0..1400 {
        let body = free_body(&mut builder);
        let radius = if k % 100 == 0 { 2.0 } else { 0.002 * 100f64.powf(noise(&mut seed)) };
        add(&mut builder, body, Pose::identity(), &sphere(radius));
        radii.push(radius);
        centres.push([0; 3].map(|_| 6.0 * noise(&mut seed) - 3.0));
    }
    let model = CollisionModel::with_settings(
        &builder.build().unwrap(),
        &CollisionSettings { speculative_distance: 0.02, ..CollisionSettings::default() },
    )
    .unwrap();
    let mut out = Vec::new();
    let poses = |body: usize| {
        let [x, y, z] = centres[body - 1];
        [x, y, z, 1.0, 0.0, 0.0, 0.0]
    };
    model.collide(poses, &mut Scratch::default(), &mut out).unwrap();
    let mut expected = Vec::new();
    for j in 0..centres.len() {
        if centres[j][2] - radii[j] + 3.0 < 0.02 {
            expected.push([0, j as u32 + 1]);
        }
        for i in 0..j {
            if (vec3(centres[i]) - vec3(centres[j])).norm() - radii[i] - radii[j] < 0.02 {
                expected.push([i as u32 + 1, j as u32 + 1]);
            }
        }
    }
    expected.sort_unstable();
    let found: Vec<_> = out.iter().map(|c| c.bodies).collect();
    assert!(found.len() > 1000, "{} pairs", found.len());
    assert_eq!(found, expected);
    assert!(out.windows(2).all(|w| w[0].feature < w[1].feature));
    are_found_again(&model, &out, poses, &[]);
}

/// Bodies of one to a dozen balls, and balls that stand, by the list, against every pair by hand; in worlds of their own sizes,
/// too.
#[test]
fn the_list_misses_nothing() {
    const REACH: f64 = 0.02;
    let mut seed = 3;
    let mut builder = ModelBuilder::new("flocks");
    // Of each geom: its body, its place there and its radius.
    let mut balls = Vec::new();
    for k in 0..25 {
        let body = if k % 8 == 7 { 0 } else { free_body(&mut builder) };
        let whole = [0; 3].map(|_| if body == 0 { noise(&mut seed) - 0.5 } else { 0.0 });
        for _ in 0..=k % 12 {
            let centre = whole.map(|x| x + 0.4 * noise(&mut seed) - 0.2);
            let radius = 0.002 * 50f64.powf(noise(&mut seed));
            add(&mut builder, body, at(centre[0], centre[1], centre[2]), &sphere(radius));
            balls.push((body, centre, radius));
        }
    }
    // As the builder orders them.
    balls.sort_by_key(|ball| ball.0);
    let settings = CollisionSettings { speculative_distance: REACH, ..CollisionSettings::default() };
    let model = CollisionModel::with_settings(&builder.build().unwrap(), &settings).unwrap();
    let (mut scratch, mut out, mut total) = (Scratch::default(), Vec::new(), 0);
    for trial in 0..40 {
        let places: Vec<[f64; 3]> = (0..26).map(|_| [0; 3].map(|_| noise(&mut seed) - 0.5)).collect();
        let grown = if trial % 2 == 0 { 1.0 } else { 1.5 };
        let sizes: Vec<[f64; 3]> = balls.iter().map(|&(_, _, radius)| [grown * radius, 0.0, 0.0]).collect();
        let own = Overrides { sizes: if grown > 1.0 { &sizes } else { &[] }, ..Overrides::default() };
        let poses = |body: usize| [places[body][0], places[body][1], places[body][2], 1.0, 0.0, 0.0, 0.0];
        model.collide_with(poses, &[], &own, &mut Hints::default(), &mut scratch, &mut out).unwrap();
        let centre = |ball: usize| {
            let (body, centre, _) = balls[ball];
            vec3(centre) + if body == 0 { vec3([0.0; 3]) } else { vec3(places[body]) }
        };
        let mut expected = Vec::new();
        for low in 0..balls.len() {
            for high in low + 1..balls.len() {
                let apart = (centre(high) - centre(low)).norm() - sizes[low][0] - sizes[high][0];
                if balls[low].0 != balls[high].0 && apart < REACH {
                    expected.push([low as u32, high as u32]);
                }
            }
        }
        let found: Vec<_> = out.iter().map(|contact| contact.geoms).collect();
        assert_eq!(found, expected, "trial {trial}");
        assert!(out.windows(2).all(|w| w[0].feature < w[1].feature));
        total += found.len();
    }
    assert!(total > 1000, "{total} pairs");
}

/// Which of two boxes that move, 1 mm apart, and of a large one below them by 3 mm have contacts.
fn moving(travel: [Travel; 2], ground: Travel) -> Vec<[u32; 2]> {
    let mut builder = ModelBuilder::new("moving");
    let mut boxes = [0; 2];
    for (k, x) in [-0.1005, 0.1005].into_iter().enumerate() {
        boxes[k] = free_body(&mut builder);
        add(&mut builder, boxes[k], at(x, 0.0, 0.103), &cuboid(0.1, 0.1, 0.1));
    }
    let floor = free_body(&mut builder);
    add(&mut builder, floor, at(0.0, 0.0, -0.5), &cuboid(2.0, 2.0, 0.5));
    let collision = CollisionModel::new(&builder.build().unwrap()).unwrap();
    let mut all = vec![Travel::default(); 4];
    (all[boxes[0]], all[boxes[1]], all[floor]) = (travel[0], travel[1], ground);
    let mut out = Vec::new();
    let poses = |_: usize| numbers(&Pose::identity());
    collision
        .collide_with(poses, &all, &Overrides::default(), &mut Hints::default(), &mut Scratch::default(), &mut out)
        .unwrap();
    let mut pairs: Vec<_> = out.iter().map(|contact| contact.bodies).collect();
    pairs.dedup();
    pairs
}

/// What comes nearer to something meets it early; what moves along with it does not.
#[test]
fn what_two_bodies_do_to_each_other_counts() {
    let still = Travel::default();
    let along = |moved: [f64; 3]| Travel { moved, ..still };
    let about = |turned: [f64; 3]| Travel { turned, ..still };
    let (apart, all) = (Vec::<[u32; 2]>::new(), vec![[1, 2], [1, 3], [2, 3]]);
    assert_eq!(moving([still; 2], still), apart);
    assert_eq!(moving([along([0.0011, 0.0, 0.0]), still], still), [[1, 2]]);
    assert_eq!(moving([along([0.0006, 0.0, 0.0]), along([-0.0006, 0.0, 0.0])], still), [[1, 2]]);
    assert_eq!(moving([still, along([0.0, 0.0, -0.0031])], still), [[1, 2], [2, 3]]);
    // All fall together, or turn together about the vertical.
    assert_eq!(moving([along([0.0, 0.0, -0.1]); 2], along([0.0, 0.0, -0.1])), apart);
    assert_eq!(moving([about([0.0, 0.0, 0.05]); 2], about([0.0, 0.0, 0.05])), apart);
    assert_eq!(moving([along([0.0, 0.0, -0.0031]); 2], still), [[1, 3], [2, 3]]);
    // One turns, or the ground does, about what is far away.
    assert_eq!(moving([about([0.0, 0.02, 0.0]), still], still), [[1, 2], [1, 3]]);
    assert_eq!(moving([still; 2], about([0.0, 0.1, 0.0])), [[1, 3], [2, 3]]);
    assert_eq!(moving([along([0.1, 0.0, 0.0]), along([-0.1, 0.0, 0.0])], along([0.0, 0.0, 0.1])), all);
}

/// Balls that move at random, many of them at the same velocity: what touches afterwards was told before, by a list of pairs and by
/// the grid.
#[test]
fn nothing_that_touches_after_a_motion_was_missed() {
    for n in [60, 120, 1400] {
        let mut seed = 11;
        let mut builder = ModelBuilder::new("moving");
        let (mut centres, mut radii) = (Vec::new(), Vec::new());
        let mut travel = vec![Travel::default()];
        let size = (n as f64 / 1400.0).cbrt();
        for k in 0..n {
            let body = free_body(&mut builder);
            // Off the middle of its body, so that turning moves it.
            let offset = [0; 3].map(|_| 0.2 * noise(&mut seed));
            let radius = 0.02 + 0.1 * noise(&mut seed);
            add(&mut builder, body, at(offset[0], offset[1], offset[2]), &sphere(radius));
            let mut own = || Travel {
                moved: [0; 3].map(|_| 0.4 * noise(&mut seed) - 0.2),
                turned: [0; 3].map(|_| 0.1 * noise(&mut seed) - 0.05),
            };
            travel.push(if k % 3 == 0 { own() } else { travel[k] });
            let own = travel[k + 1];
            let centre = vec3([0; 3].map(|_| size * (3.0 * noise(&mut seed) - 1.5)));
            let turned = vec3(own.turned).cross(&vec3(offset));
            centres.push((centre, centre + vec3(offset), centre + vec3(offset) + vec3(own.moved) + turned));
            radii.push(radius);
        }
        let collision = CollisionModel::new(&builder.build().unwrap()).unwrap();
        let poses = |body: usize| numbers(&Pose::from_parts(centres[body - 1].0.into(), Default::default()));
        let mut out = Vec::new();
        collision
            .collide_with(
                poses,
                &travel,
                &Overrides::default(),
                &mut Hints::default(),
                &mut Scratch::default(),
                &mut out,
            )
            .unwrap();
        let told: std::collections::BTreeSet<_> = out.iter().map(|contact| contact.geoms).collect();
        let (mut met, mut near) = (0, 0);
        for j in 0..n {
            for i in 0..j {
                let touch = |a: manyworlds_model::Vec3, b: manyworlds_model::Vec3| (a - b).norm() < radii[i] + radii[j];
                let is_told = told.contains(&[i as u32, j as u32]);
                let touches = touch(centres[i].2, centres[j].2);
                assert!(is_told || !touches, "{i} and {j} of {n}");
                met += usize::from(touches && !touch(centres[i].1, centres[j].1));
                near += usize::from(is_told);
            }
        }
        assert!(met > n / 10 && near < 60 * n, "{met} met, {near} told of {n}");
    }
}
