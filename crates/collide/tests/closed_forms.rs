//! Every pair of shapes against what geometry says, in both orders.

mod common;

use common::*;
use manyworlds_collide::Contact;
use manyworlds_model::{Pose, Vec3};

/// f64 pairs with closed forms are exact to rounding; those that iterate, to the tolerance of their search.
const EXACT: f64 = 1e-12;

/// What the deepest contact of a pair should be.
struct Expected {
    point: Vec3,
    normal: Vec3,
    distance: f64,
    count: usize,
}

fn near(contact: &Contact<f64>, expected: &Expected, tolerance: f64) -> Result<(), String> {
    let point = (vec3(contact.point) - expected.point).norm();
    let normal = (vec3(contact.normal) - expected.normal).norm();
    let distance = (contact.distance - expected.distance).abs();
    // A point is as uncertain as the square root of its distance on a curved surface, and so is its normal.
    if point < tolerance && normal < tolerance && distance < tolerance {
        Ok(())
    } else {
        Err(format!("off by {point:.1e} m, {normal:.1e}, {distance:.1e} m: {contact:?}"))
    }
}

/// Checks a pair in both orders, moved and turned through the world.
fn check(name: &str, solids: [Solid; 2], poses: [Pose; 2], expected: Expected, tolerance: f64) {
    let moves = [
        Pose::identity(),
        turned(at(0.3, -0.2, 0.5), Vec3::new(1.0, 2.0, -0.5), 0.7),
        turned(at(-2.0, 1.0, 0.25), Vec3::new(-0.3, 0.1, 1.0), 2.9),
    ];
    for (number, by) in moves.iter().enumerate() {
        let placed = poses.map(|p| by * p);
        let forward = collide(&solids, &placed, 0.05);
        let moved = Expected {
            point: (by * nalgebra::Point3::from(expected.point)).coords,
            normal: by.rotation * expected.normal,
            ..expected
        };
        if forward.is_empty() {
            assert_eq!(expected.count, 0, "{name}: no contact in move {number}");
            continue;
        }
        assert_eq!(forward.len(), expected.count, "{name}, move {number}: {forward:?}");
        let found = forward.iter().map(|c| near(c, &moved, tolerance));
        let errors: Vec<_> = found.clone().filter_map(Result::err).collect();
        assert!(errors.len() < forward.len(), "{name}, move {number}: {errors:#?}");

        let [first, second] = solids.clone();
        let backward = collide(&[second, first], &[placed[1], placed[0]], 0.05);
        assert_eq!(backward.len(), forward.len(), "{name} swapped, move {number}");
        let flipped = Expected { normal: -moved.normal, ..moved };
        assert!(
            backward.iter().any(|c| near(c, &flipped, tolerance).is_ok()),
            "{name} swapped, move {number}: {backward:?}"
        );
    }
}

fn expect(point: [f64; 3], normal: [f64; 3], distance: f64, count: usize) -> Expected {
    Expected { point: vec3(point), normal: vec3(normal), distance, count }
}

#[test]
fn plane_and_the_rest() {
    let origin = Pose::identity();
    let up = [0.0, 0.0, 1.0];
    for d in [0.01, 0.0, -0.01, -0.3] {
        let half = d / 2.0;
        check(
            "plane, sphere",
            [plane(), sphere(0.1)],
            [origin, at(1.0, 2.0, 0.1 + d)],
            expect([1.0, 2.0, half], up, d, 1),
            EXACT,
        );
        let standing = at(1.0, 0.0, 0.3 + d);
        check(
            "plane, capsule on end",
            [plane(), capsule(0.1, 0.2)],
            [origin, standing],
            expect([1.0, 0.0, half], up, d, if d < -0.3 { 2 } else { 1 }),
            EXACT,
        );
        let lying = turned(at(1.0, 0.0, 0.1 + d), Vec3::y(), std::f64::consts::FRAC_PI_2);
        check(
            "plane, capsule lying",
            [plane(), capsule(0.1, 0.2)],
            [origin, lying],
            expect([1.2, 0.0, half], up, d, 2),
            EXACT,
        );
        check(
            "plane, box",
            [plane(), cuboid(0.1, 0.2, 0.3)],
            [origin, at(0.0, 0.0, 0.3 + d)],
            expect([0.1, 0.2, half], up, d, 4),
            EXACT,
        );
        check(
            "plane, mesh",
            [plane(), cuboid_mesh(0.1, 0.2, 0.3)],
            [origin, at(0.0, 0.0, 0.3 + d)],
            expect([0.1, 0.2, half], up, d, 4),
            EXACT,
        );
        check(
            "plane, cylinder",
            [plane(), cylinder(0.1, 0.2)],
            [origin, at(0.0, 0.0, 0.2 + d)],
            expect([0.1, 0.0, half], up, d, 4),
            EXACT,
        );
        check(
            "plane, ellipsoid",
            [plane(), ellipsoid(0.1, 0.2, 0.3)],
            [origin, at(0.0, 0.0, 0.3 + d)],
            expect([0.0, 0.0, half], up, d, 1),
            EXACT,
        );
    }
}
