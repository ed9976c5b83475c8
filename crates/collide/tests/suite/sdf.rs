//! Contacts of distance functions against closed forms, in both orders.

use crate::common::*;
use manyworlds_collide::{CollisionModel, CollisionSettings, Contact, Scratch};
use manyworlds_model::{Contacting, DistanceFunction, Geom, ModelBuilder, Pose, Sdf, Shape, Vec3};

/// What stands against what.
enum Side {
    Function(DistanceFunction, f64),
    Plain(Shape),
}

/// Contacts of two sides, each on a free body (a plane on the ground), with at most `most` contacts.
fn touch(sides: [&Side; 2], poses: [Pose; 2], most: usize) -> Vec<Contact> {
    touch_with(&CollisionSettings::default(), sides, poses, most)
}

fn touch_with(settings: &CollisionSettings, sides: [&Side; 2], poses: [Pose; 2], most: usize) -> Vec<Contact> {
    let mut builder = ModelBuilder::new("test");
    let mut moving = Vec::new();
    for (side, pose) in sides.iter().zip(poses) {
        let (shape, is_plane) = match side {
            Side::Function(function, spacing) => {
                let mut sdf = Sdf::new("", function.clone(), *spacing).expect("a solid");
                sdf.contacts = most;
                (Shape::Sdf(builder.sdf(sdf)), false)
            }
            Side::Plain(shape) => (shape.clone(), *shape == Shape::Plane),
        };
        let (body, pose) = if is_plane {
            (0, pose)
        } else {
            moving.push(pose);
            (free_body(&mut builder), Pose::identity())
        };
        builder.geom(Geom { name: String::new(), body, pose, shape, contact: Contacting::default() });
    }
    let model = builder.build().expect("a model");
    let model = CollisionModel::with_settings(&model, settings).expect("a pair that is supported");
    let mut out = Vec::new();
    let poses = |body: usize| numbers(&moving[body - 1]);
    model.collide(poses, &mut Scratch::default(), &mut out).expect("finite poses");
    out
}

fn ring() -> Side {
    Side::Function(DistanceFunction::Torus { ring_radius: 0.05, tube_radius: 0.02 }, 0.002)
}

fn dish(profile: &[[f64; 2]]) -> Side {
    Side::Function(DistanceFunction::Dish { profile: profile.to_vec(), padding: 0.002 }, 0.002)
}

fn sphere() -> Side {
    Side::Plain(Shape::Sphere { radius: 0.02 })
}

/// A ball as a function: a dish whose line is next to nothing.
fn ball() -> Side {
    let profile = vec![[0.0, -1e-9], [0.0, 1e-9]];
    Side::Function(DistanceFunction::Dish { profile, padding: 0.02 }, 0.0015)
}

fn flipped(contact: &Contact) -> [f64; 7] {
    let [x, y, z] = contact.point;
    let [a, b, c] = contact.normal;
    [x, y, z, -a, -b, -c, contact.distance]
}

/// The same contacts, whichever geom comes first, up to round-off; sorted by distance.
fn check_orders(sides: [&Side; 2], poses: [Pose; 2], most: usize) {
    let [a, b] = sides;
    let sorted = |contacts: Vec<Contact>, flip: bool| {
        let mut rows: Vec<[f64; 7]> = contacts
            .iter()
            .map(|c| {
                let mut row = flipped(c);
                (0..3).filter(|_| !flip).for_each(|i| row[3 + i] *= -1.0);
                row
            })
            .collect();
        rows.sort_by(|a, b| a[6].total_cmp(&b[6]).then(a[0].total_cmp(&b[0])));
        rows
    };
    let forward = sorted(touch([a, b], poses, most), false);
    let backward = sorted(touch([b, a], [poses[1], poses[0]], most), true);
    assert!(!forward.is_empty() && forward.len() == backward.len(), "{} and {}", forward.len(), backward.len());
    for (one, other) in forward.iter().zip(&backward) {
        assert!(one.iter().zip(other).all(|(x, y)| (x - y).abs() < 1e-12), "{one:?} {other:?}");
    }
}

/// A ball against a ring: exact for the ball itself, and for the sampled ball to the square of its spacing.
#[test]
fn balls_on_a_ring() {
    // In the plane of a section, a little above the tube's middle.
    let centre = Vec3::new(0.08, 0.0, 0.0245);
    let length = 0.03_f64.hypot(0.0245);
    let towards = Vec3::new(-0.03, 0.0, -0.0245) / length;
    let gap = length - 0.04;
    let poses = [Pose::translation(centre.x, centre.y, centre.z), Pose::identity()];
    for (side, tolerance) in [(sphere(), 1e-12), (ball(), 1e-4)] {
        let found = deepest(&touch([&side, &ring()], poses, 120));
        assert!((found.distance - gap).abs() < tolerance, "{} for {gap}", found.distance);
        // A sample is off the point of contact by the spacing at most, the normal by that over the radius.
        let slack = if tolerance > 1e-6 { 0.1 } else { tolerance };
        assert!((vec3(found.normal) - towards).norm() < slack, "{found:?}");
        let middle = centre + towards * (0.02 + 0.5 * gap);
        assert!((vec3(found.point) - middle).norm() < slack * 0.02 + 1e-12, "{found:?}");
        check_orders([&side, &ring()], poses, 120);
    }
}

/// A ring lying on a plane touches along a circle; a dish with its flat bottom.
#[test]
fn rings_and_dishes_on_a_plane() {
    let plane = Side::Plain(Shape::Plane);
    for (side, height, most_off) in
        [(ring(), 0.0195, 0.002 * 0.002 / 0.04), (dish(&[[0.0, 0.0], [0.05, 0.0], [0.08, 0.05]]), 0.0015, 1e-12)]
    {
        let contacts = touch([&plane, &side], [Pose::identity(), Pose::translation(0.3, 0.1, height)], 40);
        assert_eq!(contacts.len(), 40);
        let found = deepest(&contacts).distance;
        assert!(found >= -0.0005 - 1e-12 && found <= -0.0005 + most_off, "{found}");
        for contact in &contacts {
            assert!((vec3(contact.normal) - Vec3::z()).norm() < 1e-12);
            assert!((contact.point[2] - 0.5 * contact.distance).abs() < 1e-12);
        }
        // They hold the ring on all sides.
        for (axis, sign) in [(0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)] {
            let farthest = contacts.iter().map(|c| sign * (c.point[axis] - [0.3, 0.1][axis])).fold(0.0, f64::max);
            assert!(farthest > 0.04, "axis {axis}: {farthest}");
        }
    }
}

/// A ball in the corner between floor and wall touches both, exactly.
#[test]
fn a_ball_in_a_corner() {
    let pan = dish(&[[0.0, 0.0], [0.08, 0.0], [0.08, 0.05]]);
    let poses = [Pose::translation(0.08 - 0.002 - 0.0195, 0.0, 0.002 + 0.0199), Pose::identity()];
    let contacts = touch([&sphere(), &pan], poses, 120);
    assert_eq!(contacts.len(), 2, "{contacts:?}");
    let expected = [(Vec3::new(0.0, 0.0, -1.0), -0.0001), (Vec3::new(1.0, 0.0, 0.0), -0.0005)];
    for (contact, (normal, distance)) in contacts.iter().zip(expected) {
        assert!((vec3(contact.normal) - normal).norm() < 1e-12 && (contact.distance - distance).abs() < 1e-15);
    }
}

/// Of a wall within reach only the side that faces counts: equal bowls, one in the other, press outward and down.
#[test]
fn nested_bowls_touch_with_facing_sides() {
    let bowl = dish(&[[0.0, 0.0], [0.035, 0.0], [0.075, 0.045]]);
    // The walls are 0.0040 apart along their normal at a lift of 0.004 / cos(wall).
    let lift = 0.004 * 0.04_f64.hypot(0.045) / 0.04;
    let poses = [Pose::identity(), Pose::translation(0.0, 0.0, lift - 1e-4)];
    let contacts = touch([&bowl, &bowl], poses, 60);
    assert_eq!(contacts.len(), 60);
    assert!(contacts.iter().all(|c| c.normal[2] > 0.5), "the lower bowl pushes up");
    let wall = -1e-4 * 0.04 / 0.04_f64.hypot(0.045);
    let found = deepest(&contacts).distance;
    assert!((found - wall).abs() < 1e-9, "{found} for {wall}");
    // The other way round: as many, as deep. Which of equally deep points of a patch is taken turns on round-off.
    let distances = |contacts: Vec<Contact>| {
        let mut list: Vec<f64> = contacts.iter().map(|c| c.distance).collect();
        list.sort_by(f64::total_cmp);
        list
    };
    let forward = distances(touch([&bowl, &bowl], poses, 1000));
    let backward = touch([&bowl, &bowl], [poses[1], poses[0]], 1000);
    assert!(backward.iter().all(|c| c.normal[2] < -0.5));
    let backward = distances(backward);
    assert_eq!(forward.len(), backward.len());
    assert!(forward.iter().zip(&backward).all(|(a, b)| (a - b).abs() < 1e-12));
}

/// Boxes and capsules meet a function with their own edges and axes, and with the points of its surface.
#[test]
fn boxes_and_capsules() {
    let block = Side::Plain(Shape::Box { half: Vec3::new(0.1, 0.1, 0.01) });
    let rod = Side::Plain(Shape::Capsule { radius: 0.01, half_length: 0.1 });
    // A ring on a box; a rod through a ring, off its middle, along the axis.
    let on_box = [Pose::translation(0.0, 0.0, -0.0104), Pose::translation(0.0, 0.0, 0.0195)];
    let through = [Pose::translation(0.0205, 0.0, 0.0), Pose::identity()];
    for (side, poses, distance, normal, off) in
        [(&block, on_box, 0.0 - 0.0001, Vec3::z(), 1.1e-4), (&rod, through, 0.0300 - 0.0205 - 0.01, Vec3::x(), 1e-12)]
    {
        let contacts = touch([side, &ring()], poses, 120);
        let found = deepest(&contacts);
        assert!((found.distance - distance).abs() < off, "{} for {distance}", found.distance);
        assert!((vec3(found.normal) - normal).norm() < 0.1, "{found:?}");
        check_orders([side, &ring()], poses, 1000);
    }
    // The corner of a box in a dish, between whose points it would slip.
    let corner = [Pose::translation(0.0, 0.0, 0.0119), Pose::identity()];
    let pan = dish(&[[0.0, 0.0], [0.2, 0.0]]);
    let found = deepest(&touch([&block, &pan], corner, 120));
    assert!((found.distance + 0.0001).abs() < 1e-12);
}

/// At most so many, the deepest among them, features that differ, and the same in every call.
#[test]
fn contacts_are_bounded() {
    let bowl = dish(&[[0.0, 0.0], [0.035, 0.0], [0.075, 0.045]]);
    let poses = [Pose::identity(), Pose::translation(0.0004, 0.0, 0.006)];
    let all = touch([&bowl, &bowl], poses, 10_000);
    assert!(all.len() > 150, "{}", all.len());
    for most in [4, 20, 120] {
        let some = touch([&bowl, &bowl], poses, most);
        assert_eq!(some.len(), most);
        assert_eq!(deepest(&some), deepest(&all));
        assert!(some.windows(2).all(|w| w[0].feature < w[1].feature));
        assert!(some.iter().all(|c| all.contains(c)));
        assert_eq!(some, touch([&bowl, &bowl], poses, most));
    }
}

#[test]
fn rounded_poses() {
    let bowl = dish(&[[0.0, 0.0], [0.035, 0.0], [0.075, 0.045]]);
    let poses = [Pose::identity(), turned(Pose::translation(0.0003, 0.0, 0.0061), Vec3::new(1.0, 2.0, 0.0), 0.004)];
    for sides in [[&bowl, &bowl], [&sphere(), &bowl], [&bowl, &ring()]] {
        let exact = touch(sides, poses, 10_000);
        let found = touch(sides, poses.map(rounded), 10_000);
        let (near, far) = (deepest(&exact).distance, deepest(&found).distance);
        assert!((near - far).abs() < 1e-7, "{near} and {far}");
        // Which point of a block is deepest may turn on round-off; most agree one to one.
        let alike = found.iter().filter(|s| {
            let twin = exact.iter().find(|d| d.feature == s.feature);
            twin.is_some_and(|d| (0..3).all(|i| (d.point[i] - s.point[i]).abs() < 1e-6))
        });
        assert!(alike.count() * 10 >= exact.len() * 9, "of {}", exact.len());
    }
}

#[test]
fn pairs_without_contacts_are_refused() {
    for shape in
        [Shape::Cylinder { radius: 0.1, half_length: 0.1 }, Shape::Ellipsoid { radii: Vec3::new(0.1, 0.2, 0.3) }]
    {
        let mut builder = ModelBuilder::new("test");
        let torus = DistanceFunction::Torus { ring_radius: 0.05, tube_radius: 0.02 };
        let sdf = builder.sdf(Sdf::new("", torus, 0.01).expect("a solid"));
        for shape in [Shape::Sdf(sdf), shape] {
            let body = free_body(&mut builder);
            let contact = Contacting::default();
            builder.geom(Geom { name: String::new(), body, pose: Pose::identity(), shape, contact });
        }
        let error = CollisionModel::new(&builder.build().expect("a model")).expect_err("an unsupported pair");
        assert!(error.to_string().contains("sdf on"), "{error}");
    }
}

/// A ring that lies on a plane touches along a circle: of many contacts four are kept that span it, none other than those.
#[test]
fn a_patch_is_reduced_to_what_spans_it() {
    let poses = [Pose::identity(), at(0.0, 0.0, 0.0195)];
    let sides = [&Side::Plain(Shape::Plane), &ring()];
    let all = touch(sides, poses, 32);
    assert!(all.len() > 12, "{all:?}");
    let settings = CollisionSettings { reduce: true, ..CollisionSettings::default() };
    let few = touch_with(&settings, sides, poses, 32);
    assert_eq!(few.len(), 4, "{few:?}");
    assert!(few.iter().all(|contact| all.iter().any(|other| other.point == contact.point)), "{few:?}");
    // Between two of them there is less than half the circle, by a margin: they hold the ring on all sides.
    let mut angles: Vec<f64> = few.iter().map(|c| c.point[1].atan2(c.point[0])).collect();
    angles.sort_by(f64::total_cmp);
    let gaps = (0..4).map(|i| (angles[(i + 1) % 4] - angles[i]).rem_euclid(std::f64::consts::TAU));
    assert!(gaps.fold(0.0, f64::max) < 0.75 * std::f64::consts::PI, "{angles:?}");
}
