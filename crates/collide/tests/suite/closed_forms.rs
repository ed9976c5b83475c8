//! Every pair of shapes against what geometry says, in both orders.

use crate::common::*;
use manyworlds_collide::Contact;
use manyworlds_model::{Pose, Vec3};

/// Closed forms, to rounding.
const EXACT: f64 = 1e-12;
/// Between flat features the normal is a face's own or the cross product of edges.
const FLAT: f64 = 1e-9;
/// Between curved surfaces Newton's method on the sphere of normals is good to rounding, times the conditioning of points.
const CURVED: f64 = 1e-9;

/// What the deepest contact of a pair should be.
struct Expected {
    point: Vec3,
    normal: Vec3,
    distance: f64,
    count: usize,
}

fn near(contact: &Contact, expected: &Expected, tolerance: f64) -> Result<(), String> {
    let point = (vec3(contact.point) - expected.point).norm();
    let normal = (vec3(contact.normal) - expected.normal).norm();
    let distance = (contact.distance - expected.distance).abs();
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

        // Surfaces are the ground's, whose geoms come first.
        if solids.iter().any(is_surface) {
            continue;
        }
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

/// Two round shapes side by side along x, `d` apart.
#[test]
fn round_shapes() {
    let origin = Pose::identity();
    let x = [1.0, 0.0, 0.0];
    let quarter = std::f64::consts::FRAC_PI_2;
    for d in [0.02, 0.0, -0.02, -0.09] {
        let middle = [0.1 + d / 2.0, 0.0, 0.0];
        let beside = at(0.3 + d, 0.0, 0.0);
        check("spheres", [sphere(0.1), sphere(0.2)], [origin, beside], expect(middle, x, d, 1), EXACT);
        check(
            "sphere, capsule",
            [sphere(0.1), capsule(0.2, 0.3)],
            [origin, at(0.3 + d, 0.0, 0.1)],
            expect(middle, x, d, 1),
            EXACT,
        );
        check(
            "sphere, cylinder",
            [sphere(0.1), cylinder(0.2, 0.3)],
            [origin, at(0.3 + d, 0.0, 0.1)],
            expect(middle, x, d, 1),
            EXACT,
        );
        check(
            "sphere, box",
            [sphere(0.1), cuboid(0.2, 0.3, 0.4)],
            [origin, at(0.3 + d, 0.0, 0.1)],
            expect(middle, x, d, 1),
            EXACT,
        );
        check(
            "sphere, ellipsoid",
            [sphere(0.1), ellipsoid(0.2, 0.3, 0.4)],
            [origin, beside],
            expect(middle, x, d, 1),
            EXACT,
        );
        check(
            "sphere, mesh",
            [sphere(0.1), cuboid_mesh(0.2, 0.3, 0.4)],
            [origin, at(0.3 + d, 0.05, 0.1)],
            expect(middle, x, d, 1),
            EXACT,
        );
        let crossed = turned(beside, Vec3::x(), quarter);
        check(
            "capsules crossed",
            [capsule(0.1, 0.5), capsule(0.2, 0.3)],
            [origin, crossed],
            expect(middle, x, d, 1),
            EXACT,
        );
        let end = [0.1 + d / 2.0, 0.0, 0.3];
        check("capsules along", [capsule(0.1, 0.5), capsule(0.2, 0.3)], [origin, beside], expect(end, x, d, 2), EXACT);
        check(
            "capsules end on",
            [capsule(0.1, 0.5), capsule(0.2, 0.3)],
            [turned(at(-0.5, 0.0, 0.0), Vec3::y(), quarter), turned(at(0.6 + d, 0.0, 0.0), Vec3::y(), quarter)],
            expect(middle, x, d, 1),
            EXACT,
        );
    }
}

/// The second shape's face, edge or rim lies 0.2 along x from its centre.
#[test]
fn long_shapes_beside_flat_ones() {
    let origin = Pose::identity();
    let x = [1.0, 0.0, 0.0];
    for d in [0.02, 1e-4, -1e-4, -0.02, -0.09] {
        let beside = at(0.3 + d, 0.0, 0.0);
        let low = [0.1 + d / 2.0, 0.0, 0.2];
        for (name, second) in [("box", cuboid(0.2, 0.3, 0.2)), ("mesh", cuboid_mesh(0.2, 0.3, 0.2))] {
            check(
                &format!("capsule, {name}"),
                [capsule(0.1, 0.5), second.clone()],
                [origin, beside],
                expect(low, x, d, 2),
                FLAT,
            );
            check(
                &format!("cylinder, {name}"),
                [cylinder(0.1, 0.5), second.clone()],
                [origin, beside],
                expect(low, x, d, 2),
                FLAT,
            );
            let corner = [0.1 + d / 2.0, 0.3, 0.2];
            check(
                &format!("box, {name}"),
                [cuboid(0.1, 0.4, 0.5), second.clone()],
                [origin, beside],
                expect(corner, x, d, 4),
                FLAT,
            );
            check(
                &format!("mesh, {name}"),
                [cuboid_mesh(0.1, 0.4, 0.5), second.clone()],
                [origin, beside],
                expect(corner, x, d, 4),
                FLAT,
            );
            let middle = [0.1 + d / 2.0, 0.0, 0.0];
            check(
                &format!("ellipsoid, {name}"),
                [ellipsoid(0.1, 0.2, 0.3), second],
                [origin, beside],
                expect(middle, x, d, 1),
                CURVED,
            );
        }
        check(
            "capsule, cylinder",
            [capsule(0.1, 0.5), cylinder(0.2, 0.2)],
            [origin, beside],
            expect(low, x, d, 2),
            CURVED,
        );
        check("cylinders", [cylinder(0.1, 0.5), cylinder(0.2, 0.2)], [origin, beside], expect(low, x, d, 2), CURVED);
        let middle = [0.1 + d / 2.0, 0.0, 0.0];
        check(
            "capsule, ellipsoid",
            [capsule(0.1, 0.5), ellipsoid(0.2, 0.3, 0.4)],
            [origin, beside],
            expect(middle, x, d, 1),
            CURVED,
        );
        check(
            "cylinder, ellipsoid",
            [cylinder(0.1, 0.5), ellipsoid(0.2, 0.3, 0.4)],
            [origin, beside],
            expect(middle, x, d, 1),
            CURVED,
        );
        check(
            "ellipsoids",
            [ellipsoid(0.1, 0.2, 0.3), ellipsoid(0.2, 0.3, 0.4)],
            [origin, beside],
            expect(middle, x, d, 1),
            CURVED,
        );
    }
}

/// Ends and corners against faces.
#[test]
fn ends_on_faces() {
    let origin = Pose::identity();
    let z = [0.0, 0.0, 1.0];
    for d in [0.02, 1e-4, -1e-4, -0.02] {
        let above = at(0.05, 0.0, 0.2 + d + 0.2);
        let on_rim = [0.15, 0.0, 0.2 + d / 2.0];
        for (name, floor) in
            [("box", cuboid(0.5, 0.5, 0.2)), ("mesh", cuboid_mesh(0.5, 0.5, 0.2)), ("cylinder", cylinder(0.5, 0.2))]
        {
            check(
                &format!("cylinder on {name}"),
                [floor.clone(), cylinder(0.1, 0.2)],
                [origin, above],
                expect(on_rim, z, d, 4),
                FLAT,
            );
            let upright = at(0.05, 0.0, 0.2 + d + 0.3);
            check(
                &format!("capsule on {name}"),
                [floor.clone(), capsule(0.1, 0.2)],
                [origin, upright],
                expect([0.05, 0.0, 0.2 + d / 2.0], z, d, 1),
                FLAT,
            );
            check(
                &format!("ellipsoid on {name}"),
                [floor.clone(), ellipsoid(0.1, 0.3, 0.2)],
                [origin, above],
                expect([0.05, 0.0, 0.2 + d / 2.0], z, d, 1),
                CURVED,
            );
            check(
                &format!("sphere on {name}"),
                [floor, sphere(0.2)],
                [origin, above],
                expect([0.05, 0.0, 0.2 + d / 2.0], z, d, 1),
                EXACT,
            );
        }
    }
}

/// Edges that cross: the upper box stands on an edge, across the lower one's.
#[test]
fn crossing_edges() {
    let diagonal = 0.1 * std::f64::consts::SQRT_2;
    let eighth = std::f64::consts::FRAC_PI_4;
    let lower = turned(Pose::identity(), Vec3::x(), eighth);
    for d in [0.01, 1e-4, -1e-4, -0.01] {
        let upper = turned(at(0.0, 0.0, 2.0 * diagonal + d), Vec3::y(), eighth);
        let expected = || expect([0.0, 0.0, diagonal + d / 2.0], [0.0, 0.0, 1.0], d, 1);
        let shapes = [
            ("box", cuboid(0.3, 0.1, 0.1), cuboid(0.1, 0.3, 0.1)),
            ("mesh", cuboid_mesh(0.3, 0.1, 0.1), cuboid_mesh(0.1, 0.3, 0.1)),
        ];
        for (one, first, _) in &shapes {
            for (other, _, second) in &shapes {
                check(
                    &format!("{one} across {other}"),
                    [first.clone(), second.clone()],
                    [lower, upper],
                    expected(),
                    FLAT,
                );
            }
        }
    }
}

/// Two boxes nearest at corners: the direction is none of the separating axes.
#[test]
fn corner_to_corner() {
    let apart = Vec3::new(0.01, 0.02, 0.02);
    let second = at(0.2 + apart.x, 0.2 + apart.y, 0.2 + apart.z);
    let point = Vec3::repeat(0.1) + 0.5 * apart;
    for second_shape in [cuboid(0.1, 0.1, 0.1), cuboid_mesh(0.1, 0.1, 0.1)] {
        let expected = Expected { point, normal: apart.normalize(), distance: 0.03, count: 1 };
        check("corners", [cuboid(0.1, 0.1, 0.1), second_shape], [Pose::identity(), second], expected, FLAT);
    }
}

/// A shape at a height over level ground, over the middle of a cell, a sample and an edge.
#[test]
fn level_terrain() {
    let ground = || terrain(11, |_, _| 0.5);
    let up = [0.0, 0.0, 1.0];
    for d in [0.02, 1e-4, -1e-4, -0.02] {
        for (x, y) in [(0.05, 0.07), (0.0, 0.0), (0.1, 0.05), (0.13, 0.03)] {
            let z = 0.5 + d / 2.0;
            let pose = |h: f64| [Pose::identity(), at(x, y, 0.5 + h + d)];
            check("sphere on terrain", [ground(), sphere(0.1)], pose(0.1), expect([x, y, z], up, d, 1), FLAT);
            check(
                "ellipsoid on terrain",
                [ground(), ellipsoid(0.1, 0.15, 0.2)],
                pose(0.2),
                expect([x, y, z], up, d, 1),
                CURVED,
            );
            check("capsule on terrain", [ground(), capsule(0.1, 0.1)], pose(0.2), expect([x, y, z], up, d, 1), FLAT);
            // Whatever the triangles under a flat face, its four corners hold it.
            let corners = expect([x + 0.25, y + 0.15, z], up, d, 4);
            check("box on terrain", [ground(), cuboid(0.25, 0.15, 0.1)], pose(0.1), corners, FLAT);
            let corners = expect([x + 0.25, y + 0.15, z], up, d, 4);
            check("mesh on terrain", [ground(), cuboid_mesh(0.25, 0.15, 0.1)], pose(0.1), corners, FLAT);
        }
    }
}

/// A box over a single peak, and one across a ridge: what the ground's corner or edge finds under the flat face.
#[test]
fn peaks_and_ridges() {
    let up = [0.0, 0.0, 1.0];
    for d in [0.02, 1e-4, -1e-4, -0.02] {
        for solid in [cuboid(0.25, 0.15, 0.1), cuboid_mesh(0.25, 0.15, 0.1)] {
            let pose = [Pose::identity(), at(0.03, 0.02, 0.5 + d + 0.1)];
            let peak = terrain(11, |x, y| if x.abs() + y.abs() < 0.01 { 0.5 } else { 0.0 });
            check("on a peak", [peak, solid.clone()], pose, expect([0.0, 0.0, 0.5 + d / 2.0], up, d, 1), FLAT);
            let ridge = terrain(11, |x, _| if x.abs() < 0.01 { 0.5 } else { 0.0 });
            // Both ends of the ridge under the box, and the sample between.
            check("on a ridge", [ridge, solid], pose, expect([0.0, 0.17, 0.5 + d / 2.0], up, d, 3), FLAT);
        }
    }
}
