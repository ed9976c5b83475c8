//! Hulls of random points against a search through all of their features.

use crate::common::*;
use manyworlds_model::{Pose, Vec3};

/// Numbers in [-1, 1] that come again.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next())
    }
}

const REACH: f64 = 0.02;
/// m: features of hulls of 0.1 m that face each other count as what touches when they are no farther than this from the
/// nearest points.
const SAME: f64 = 1e-6;

/// Normals of all triangles of some points, both ways: those of the hull's faces are among them.
fn normals(points: &[Vec3]) -> Vec<Vec3> {
    let n = points.len();
    let triples = (0..n).flat_map(|i| (0..i).flat_map(move |j| (0..j).map(move |k| [i, j, k])));
    let across =
        triples.filter_map(|[i, j, k]| (points[j] - points[i]).cross(&(points[k] - points[i])).try_normalize(0.0));
    across.flat_map(|n| [n, -n]).collect()
}

fn height(points: &[Vec3], along: &Vec3) -> f64 {
    points.iter().fold(f64::NEG_INFINITY, |most, p| most.max(p.dot(along)))
}

/// How far two sets of points are apart along the direction that parts their hulls the most: of all that are across a
/// face, across two edges, or between corners and corners or edges.
fn brute_force(a: &[Vec3], b: &[Vec3]) -> (f64, Vec3) {
    let edges = |points: &[Vec3]| -> Vec<[Vec3; 2]> {
        (0..points.len()).flat_map(|i| (0..i).map(move |j| [i, j])).map(|[i, j]| [points[i], points[j]]).collect()
    };
    let along = |[p, q]: &[Vec3; 2]| (q - p).normalize();
    let (of_a, of_b) = (edges(a), edges(b));
    let mut ways = [normals(a), normals(b)].concat();
    for u in &of_a {
        ways.extend(of_b.iter().filter_map(|v| along(u).cross(&along(v)).try_normalize(1e-12)).flat_map(|n| [n, -n]));
    }
    for (points, edges) in [(a, &of_b), (b, &of_a)] {
        for p in points {
            let across = |e: &[Vec3; 2]| {
                let out = p - e[0];
                (out - along(e) * out.dot(&along(e))).try_normalize(1e-12)
            };
            ways.extend(edges.iter().filter_map(across).flat_map(|n| [n, -n]));
        }
    }
    ways.extend(a.iter().flat_map(|p| b.iter().filter_map(move |q| (q - p).try_normalize(1e-12))));
    let apart = |n: &Vec3| -height(b, &-n) - height(a, n);
    let best = ways.iter().map(|n| (apart(n), *n)).max_by(|one, other| one.0.total_cmp(&other.0));
    best.expect("a face")
}

/// The distance is the search's, from deep overlaps to gaps, and each contact's points lie on or in both hulls.
#[test]
fn as_a_search_through_all_features() {
    let mut noise = Noise(5);
    let (mut overlaps, mut near) = (0, 0);
    for case in 0..60 {
        // With and without the table of farthest corners; round ones, flat ones and needles.
        let count = 6 + case % 15;
        let scale = [Vec3::repeat(0.1), Vec3::new(0.1, 0.1, 0.02), Vec3::new(0.1, 0.02, 0.02)][case % 3];
        let solids = [0, 1].map(|_| (0..count).map(|_| noise.vector().component_mul(&scale)).collect::<Vec<_>>());
        let mut pose = |spread: f64| Pose::new(noise.vector() * spread, noise.vector() * 3.0);
        let mut poses = [pose(0.5), pose(0.0)];
        // The second in the first or beside it, as it comes or by little.
        poses[1].translation.vector = poses[0].translation.vector + noise.vector() * 0.1;
        let place = |poses: &[Pose; 2]| {
            [0, 1].map(|i| solids[i].iter().map(|p| (poses[i] * nalgebra::Point3::from(*p)).coords).collect::<Vec<_>>())
        };
        let world = place(&poses);
        let (apart, along) = brute_force(&world[0], &world[1]);
        if let Some(gap) = [None, Some(-0.003), Some(-1e-6), Some(1e-6), Some(1e-3)][case % 5] {
            poses[1].translation.vector += along * (gap - apart);
        }
        let world = place(&poses);
        let (wanted, _) = brute_force(&world[0], &world[1]);
        let contacts = collide(&solids.clone().map(Solid::Mesh), &poses, REACH);
        let found = contacts.iter().fold(REACH, |least, c| least.min(c.distance));
        assert!((found - wanted.min(REACH)).abs() < SAME, "case {case}: {found} is found, and {wanted} is right");
        (overlaps, near) = (overlaps + usize::from(wanted < -1e-3), near + usize::from(wanted.abs() < 1e-3));
        for contact in &contacts {
            let (point, normal) = (vec3(contact.point), vec3(contact.normal));
            for (hull, side) in world.iter().zip([-0.5, 0.5]) {
                let surface = point + normal * (side * contact.distance);
                let out =
                    normals(hull).iter().fold(f64::NEG_INFINITY, |most, n| most.max(n.dot(&surface) - height(hull, n)));
                assert!(out < 1e-6, "case {case}: a point {out} outside of its hull: {contact:?}");
            }
        }
    }
    assert!(overlaps > 15 && near > 20, "{overlaps} overlaps, {near} that nearly touch");
}
