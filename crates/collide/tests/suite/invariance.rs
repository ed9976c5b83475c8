//! What must hold of every pair in any pose: finite unit normals, the same answer again, in the other order, elsewhere in
//! the world and in the other precision.

use crate::common::*;
use manyworlds_collide::{CollisionModel, CollisionSettings, Contact, Hints, Overrides, Scratch};
use manyworlds_model::{Pose, Vec3};
use proptest::prelude::*;

/// Shapes of robot size, one of each kind that moves.
fn movable() -> Vec<Solid> {
    vec![
        sphere(0.1),
        capsule(0.05, 0.1),
        cylinder(0.08, 0.1),
        cuboid(0.1, 0.06, 0.12),
        ellipsoid(0.1, 0.07, 0.05),
        cuboid_mesh(0.09, 0.07, 0.05),
        tetrahedron(),
    ]
}

fn tetrahedron() -> Solid {
    let corners = [[0.1, 0.0, -0.05], [-0.05, 0.09, -0.05], [-0.05, -0.09, -0.05], [0.0, 0.0, 0.1]];
    Solid::Mesh(corners.map(vec3).to_vec())
}

fn hills() -> Solid {
    terrain(9, |x, y| 0.1 * (2.0 * x).sin() * (3.0 * y).cos())
}

fn well_formed(contacts: &[Contact], reach: f64) {
    for contact in contacts {
        assert!((vec3(contact.normal).norm() - 1.0).abs() < 1e-9, "{contact:?}");
        assert!(contact.point.iter().all(|x| x.is_finite()), "{contact:?}");
        assert!(contact.distance.is_finite() && contact.distance < reach, "{contact:?}");
        assert!(contact.geoms[0] < contact.geoms[1] && contact.bodies[0] != contact.bodies[1], "{contact:?}");
    }
    assert!(contacts.windows(2).all(|w| w[0].feature < w[1].feature), "features in order, none twice: {contacts:?}");
}

fn angles() -> impl Strategy<Value = Vec3> {
    [-3.0..3.0f64, -3.0..3.0, -3.0..3.0].prop_map(Vec3::from)
}

fn nearby(spread: f64) -> impl Strategy<Value = Pose> {
    ([-spread..spread, -spread..spread, -spread..spread], angles()).prop_map(|(t, r)| Pose::new(Vec3::from(t), r))
}

const REACH: f64 = 0.01;

/// Distances of shapes of 0.1 m are good to this, m: the searches' own tolerance.
const TOUCHING: f64 = 1e-7;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any two shapes, overlapping or near: well formed, and the deepest distance the same in the other order and
    /// after a common motion.
    #[test]
    fn pairs(i in 0usize..7, j in 0usize..7, first in nearby(0.1), second in nearby(0.1), by in nearby(2.0)) {
        let solids = [movable()[i].clone(), movable()[j].clone()];
        let contacts = collide(&solids, &[first, second], REACH);
        well_formed(&contacts, REACH);
        let again = collide(&solids, &[first, second], REACH);
        prop_assert_eq!(&contacts, &again);

        let least = |contacts: &[Contact]| contacts.iter().fold(REACH, |l, c| l.min(c.distance));
        let swapped = collide(&[solids[1].clone(), solids[0].clone()], &[second, first], REACH);
        well_formed(&swapped, REACH);
        prop_assert!((least(&contacts) - least(&swapped)).abs() < TOUCHING, "{contacts:?} swapped {swapped:?}");
        // Between different shapes the order is ours, not the model's: the same to the bit.
        if i != j && !(i >= 5 && j >= 5) {
            prop_assert_eq!(contacts.len(), swapped.len());
            for (one, other) in contacts.iter().zip(&swapped) {
                prop_assert_eq!(one.normal.map(|x| -x), other.normal);
                prop_assert_eq!((one.point, one.distance, one.feature), (other.point, other.distance, other.feature));
            }
        }
        let moved = collide(&solids, &[by * first, by * second], REACH);
        well_formed(&moved, REACH);
        prop_assert!((least(&contacts) - least(&moved)).abs() < TOUCHING, "{contacts:?} moved {moved:?}");
    }

    /// A distance is what it says: parting the shapes along the normal by the depth leaves them touching, half a
    /// millimetre more apart, and no shorter motion parts shapes that overlap.
    #[test]
    fn parting_along_the_normal(i in 0usize..7, j in 0usize..7, first in nearby(0.1), second in nearby(0.1)) {
        let solids = [movable()[i].clone(), movable()[j].clone()];
        let contacts = collide(&solids, &[first, second], REACH);
        prop_assume!(!contacts.is_empty());
        let contact = deepest(&contacts);
        let after = |gap: f64| {
            let shift = vec3(contact.normal) * (gap - contact.distance);
            let parted = Pose::from_parts((second.translation.vector + shift).into(), second.rotation);
            let left = collide(&solids, &[first, parted], REACH);
            left.iter().fold(REACH, |l, c| l.min(c.distance))
        };
        prop_assert!(after(0.0).abs() < TOUCHING, "{:?} leaves {}", contact, after(0.0));
        prop_assert!((after(5e-4) - 5e-4).abs() < TOUCHING, "{:?} leaves {}", contact, after(5e-4));
        // Corners that were apart may pass each other.
        if contact.distance < -5e-4 {
            prop_assert!(after(-5e-4) < 0.0, "{:?} is parted by less", contact);
        }
    }

    /// A depth is the least: no motion that is shorter by a fiftieth parts the shapes, whichever way it goes.
    #[test]
    fn no_shorter_way_out(
        i in 0usize..7, j in 0usize..7, first in nearby(0.1), second in nearby(0.1), ways in [angles(), angles(), angles(), angles()],
    ) {
        let solids = [movable()[i].clone(), movable()[j].clone()];
        let contacts = collide(&solids, &[first, second], 0.0);
        prop_assume!(!contacts.is_empty());
        let contact = deepest(&contacts);
        // Also about the normal, where the other maxima of shallow contacts are.
        let near = ways.map(|w| vec3(contact.normal) + 0.1 * w);
        for way in ways.iter().chain(&near) {
            let Some(way) = way.try_normalize(0.0) else { continue };
            let shift = way * (-0.98 * contact.distance);
            let moved = Pose::from_parts((second.translation.vector + shift).into(), second.rotation);
            let left = collide(&solids, &[first, moved], 0.0);
            prop_assert!(!left.is_empty(), "{contact:?} is parted by less along {way}");
        }
    }

    /// On planes and hills.
    #[test]
    fn ground(i in 0usize..7, pose in nearby(0.3), tilt in angles()) {
        for (ground, stand) in [(plane(), Pose::new(Vec3::zeros(), tilt)), (hills(), Pose::identity())] {
            let contacts = collide(&[ground.clone(), movable()[i].clone()], &[stand, pose], REACH);
            well_formed(&contacts, REACH);
            if is_hills(&ground) && pose.translation.z < -0.1 {
                prop_assert!(!contacts.is_empty(), "a shape under the ground is pushed out");
                prop_assert!(contacts.iter().any(|c| c.normal[2] > 0.0));
            }
        }
    }

    /// Poses rounded to f32 have contacts as deep, to what f32 can tell.
    #[test]
    fn rounded_poses(i in 0usize..7, j in 0usize..7, first in nearby(0.1), second in nearby(0.1)) {
        let solids = [movable()[i].clone(), movable()[j].clone()];
        let exact = collide(&solids, &[first, second], REACH);
        let found = collide(&solids, &[first, second].map(rounded), REACH);
        let least = |contacts: &[Contact]| contacts.iter().fold(REACH, |l, c| l.min(c.distance));
        prop_assert!((least(&exact) - least(&found)).abs() < 1e-6, "{exact:?} and {found:?}");
        for contact in &found {
            let length = contact.normal.iter().map(|x| x * x).sum::<f64>();
            prop_assert!((length - 1.0).abs() < 1e-6, "{contact:?}");
        }
    }
}

fn is_hills(solid: &Solid) -> bool {
    matches!(solid, Solid::Field(_))
}

/// Centres that coincide, parallel edges, touching to the bit, and grazing ones.
#[test]
fn degenerate_poses() {
    let shifts = [
        Vec3::zeros(),
        Vec3::new(1e-300, 0.0, 0.0),
        Vec3::new(1e-9, 0.0, 0.0),
        Vec3::new(0.0, 0.0, 1e-5),
        Vec3::new(0.2, 0.0, 0.0),
        Vec3::new(0.1, 0.1, 0.0),
        Vec3::new(0.2, 0.12, 0.24),
        Vec3::new(0.0, 0.0, 0.17),
    ];
    let turns = [Vec3::zeros(), Vec3::x() * 1e-9, Vec3::z() * 1e-5, Vec3::y() * std::f64::consts::FRAC_PI_2];
    for (i, first) in movable().iter().enumerate() {
        for (j, second) in movable().iter().enumerate() {
            for shift in shifts {
                for turn in turns {
                    let poses = [Pose::identity(), Pose::new(shift, turn)];
                    let contacts = collide(&[first.clone(), second.clone()], &poses, REACH);
                    well_formed(&contacts, REACH);
                    if shift.norm() < 1e-4 {
                        assert!(contacts.iter().any(|c| c.distance < -0.02), "{i} in {j}: {contacts:?}");
                    }
                    let single = collide(&[first.clone(), second.clone()], &poses.map(rounded), REACH);
                    assert!(single.iter().all(|c| c.normal.iter().chain(&c.point).all(|x| x.is_finite())));
                }
            }
        }
    }
}

/// Nothing of an earlier call is left, in the contacts or in the scratch.
#[test]
fn a_pure_function_of_the_poses() {
    let solids = movable();
    let spread = |k: usize| at(0.13 * (k % 3) as f64, 0.13 * (k / 3) as f64, 0.01 * k as f64);
    let poses: Vec<Pose> =
        (0..solids.len()).map(|k| turned(spread(k), Vec3::new(1.0, k as f64, 2.0), k as f64)).collect();
    let settings = CollisionSettings { speculative_distance: REACH, ..CollisionSettings::default() };
    let model = CollisionModel::with_settings(&model(&solids, &poses), &settings).unwrap();
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    model.collide(|b| numbers(&poses[b - 1]), &mut scratch, &mut out).unwrap();
    let before = out.clone();
    assert!(before.len() > 10);
    // A fifth of a degree: what a cache of manifolds would take for the same.
    let nudge = Pose::new(Vec3::repeat(1e-4), Vec3::repeat(0.0035 / 3f64.sqrt()));
    model.collide(|b| numbers(&(nudge * poses[b - 1])), &mut scratch, &mut out).unwrap();
    assert_ne!(before, out);
    model.collide(|b| numbers(&poses[b - 1]), &mut scratch, &mut out).unwrap();
    assert_eq!(before, out);
    model.collide(|b| numbers(&poses[b - 1]), &mut Scratch::default(), &mut out).unwrap();
    assert_eq!(before, out);
}

/// Collides a model along some motion with hints and without, which is to be the same; how many contacts were deep.
fn with_and_without_hints(
    solids: &[Solid],
    pose_rounding: f64,
    steps: usize,
    pose: impl Fn(usize, usize) -> Pose,
) -> usize {
    let settings = CollisionSettings { speculative_distance: REACH, pose_rounding, ..CollisionSettings::default() };
    let model =
        CollisionModel::with_settings(&model(solids, &vec![Pose::identity(); solids.len()]), &settings).unwrap();
    let (mut hints, mut scratch) = (Hints::default(), Scratch::default());
    let (mut with, mut without, mut deep) = (Vec::new(), Vec::new(), 0);
    for step in 0..steps {
        let poses = |b: usize| numbers(&pose(b - 1, step));
        model.collide_with(poses, &[], &Overrides::default(), &mut hints, &mut scratch, &mut with).unwrap();
        model.collide(poses, &mut scratch, &mut without).unwrap();
        assert_eq!(with, without, "step {step}");
        deep += with.iter().filter(|contact| contact.distance < -0.02).count();
    }
    deep
}

/// Hints of the steps before save work, and change no bit of what is found.
#[test]
fn hints_change_no_contact() {
    let solids = [movable(), movable()].concat();
    // Each goes round a place of its own and turns as it goes, so that all meet, pass through each other and part.
    let pose = |k: usize, step: usize| {
        let (phase, pace, time) = (k as f64, 1.0 + 0.1 * k as f64, 0.01 * step as f64);
        let way = Vec3::new((pace * time + phase).sin(), (1.3 * time + phase).cos(), (0.7 * pace * time).sin());
        let place = at(0.1 * (k % 4) as f64, 0.1 * (k / 4 % 4) as f64, 0.1 * (k / 16) as f64);
        turned(place * at(0.1 * way.x, 0.1 * way.y, 0.1 * way.z), Vec3::new(1.0, phase, 2.0), phase + pace * time)
    };
    let deep = with_and_without_hints(&solids, f64::EPSILON, 400, pose);
    assert!(deep > 1000, "{deep} deep contacts");
}

/// A round hull of corners at random.
fn pebble(seed: u64, radii: Vec3) -> Solid {
    let mut state = seed;
    let mut noise = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    Solid::Mesh((0..150).map(|_| Vec3::new(noise(), noise(), noise()).normalize().component_mul(&radii)).collect())
}

/// A prism of so many sides, its corners as a file in single precision has them.
fn prism(sides: usize, radius: f64, half: f64, tilt: f64) -> Solid {
    let corner = |k: usize| {
        let angle = std::f64::consts::TAU * (k / 2) as f64 / sides as f64;
        let end = if k.is_multiple_of(2) { half } else { -half };
        let corner =
            turned(Pose::identity(), Vec3::x(), tilt) * Vec3::new(radius * angle.cos(), radius * angle.sin(), end);
        corner.map(|x| f64::from(x as f32))
    };
    Solid::Mesh((0..2 * sides).map(corner).collect())
}

/// What stays deep in each other: at rest, creeping, swinging fast; on one axis and askew; in poses of both precisions.
#[test]
fn hints_of_what_stays_deep_change_no_contact() {
    let flat = [
        pebble(1, Vec3::new(0.1, 0.08, 0.06)),
        prism(24, 0.08, 0.1, 0.0),
        prism(24, 0.08, 0.1, 0.0),
        prism(32, 0.06, 0.12, 0.7),
        pebble(2, Vec3::new(0.05, 0.08, 0.09)),
        cuboid_mesh(0.08, 0.07, 0.06),
        cuboid(0.08, 0.07, 0.06),
        tetrahedron(),
        capsule(0.03, 0.1),
        sphere(0.05),
    ];
    let round = [
        cylinder(0.1, 0.06),
        cylinder(0.08, 0.1),
        cylinder(0.08, 0.1),
        prism(32, 0.06, 0.12, 0.7),
        pebble(2, Vec3::new(0.05, 0.08, 0.09)),
        cuboid_mesh(0.08, 0.07, 0.06),
        cylinder(0.05, 0.03),
        cuboid(0.08, 0.07, 0.06),
        tetrahedron(),
        capsule(0.03, 0.1),
        ellipsoid(0.05, 0.06, 0.04),
    ];
    for solids in [&flat[..], &round] {
        stay_deep(solids);
    }
}

fn stay_deep(solids: &[Solid]) {
    for (pace, size) in [(0.0, 1.0), (1e-3, 1.0), (0.1, 0.3), (1.0, 1.0)] {
        for single in [false, true] {
            let pose = |k: usize, step: usize| {
                let (phase, time) = (k as f64, pace * step as f64);
                let way = Vec3::new((time + phase).sin(), (1.3 * time + phase).cos(), (0.7 * time + phase).sin());
                let place = way * (0.04 * size) + Vec3::z() * (0.01 * phase);
                // The first two of a kind turn about the axis that they share.
                let pose = match k {
                    1 | 2 => turned(at(0.0, 0.0, place.z), Vec3::z(), phase + time),
                    _ => turned(Pose::from(place), Vec3::new(1.0, phase, 2.0), phase + size * (time + phase).sin()),
                };
                if single { rounded(pose) } else { pose }
            };
            let rounding = if single { f64::from(f32::EPSILON) } else { f64::EPSILON };
            let deep = with_and_without_hints(solids, rounding, 100, pose);
            assert!(deep > 1000, "{deep} deep contacts");
        }
    }
}

/// What lies on a face, hovers over it or sinks into it by little: at rest, creeping and sliding over its rim; in poses of both
/// precisions.
#[test]
fn hints_of_what_touches_change_no_contact() {
    let solids = [
        cuboid_mesh(0.1, 0.08, 0.06),
        prism(24, 0.08, 0.06, 0.0),
        cuboid(0.05, 0.06, 0.04),
        prism(40, 0.09, 0.05, 0.0),
        tetrahedron(),
        prism(7, 0.03, 0.05, 0.0),
        capsule(0.03, 0.05),
        pebble(3, Vec3::new(0.06, 0.05, 0.05)),
    ];
    for (pace, tilt) in [(0.0, 0.0), (1e-6, 1e-9), (1e-4, 1e-6), (1e-2, 1e-3), (1.0, 0.1)] {
        for single in [false, true] {
            let pose = |k: usize, step: usize| {
                let (phase, time) = (k as f64, pace * step as f64);
                // All on one another, by pairs, with their flat sides about a micrometre apart or in each other.
                let (row, above) = (k / 2, k % 2);
                let height = [0.12, 0.09, 0.08, 0.08][row] * above as f64 + 1e-6 * (7.0 * time + phase).sin();
                let way = 0.03 * above as f64 * (time + phase).sin();
                let pose = turned(at(0.5 * row as f64 + way, way, height), Vec3::z(), above as f64 * (phase + time));
                let pose = turned(pose, Vec3::x(), tilt * (time + phase).sin());
                if single { rounded(pose) } else { pose }
            };
            let rounding = if single { f64::from(f32::EPSILON) } else { f64::EPSILON };
            with_and_without_hints(&solids, rounding, 300, pose);
        }
    }
}

#[test]
fn poses_that_are_no_numbers() {
    let solids = [sphere(0.1), cuboid(0.1, 0.1, 0.1)];
    let poses = [at(0.0, 0.0, 0.0), at(0.1, 0.0, 0.0)];
    let model = CollisionModel::new(&model(&solids, &poses)).unwrap();
    let (mut scratch, mut out) = (Scratch::default(), Vec::new());
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for entry in 0..7 {
            let given = |body: usize| {
                let mut pose = numbers(&poses[body - 1]);
                if body == 2 {
                    pose[entry] = bad;
                }
                pose
            };
            let error = model.collide(given, &mut scratch, &mut out).unwrap_err();
            assert_eq!((error.body, out.len()), (2, 0));
        }
    }
    // Finite, and far beyond sense: no panic.
    for huge in [1e30, 1e200, f64::MAX] {
        let _ = model.collide(|_| [huge, -huge, huge, 1.0, 0.0, 0.0, 0.0], &mut scratch, &mut out);
        let _ =
            model.collide(|b| [0.0, 0.0, 0.0, if b == 1 { huge } else { 0.0 }, 0.0, 0.0, 0.0], &mut scratch, &mut out);
    }
    model.collide(|b| numbers(&poses[b - 1]), &mut scratch, &mut out).unwrap();
    assert_eq!(out.len(), 1);
}
