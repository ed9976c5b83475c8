//! Distance functions against brute force, differences and closed forms.

use std::f64::consts::{PI, TAU};

use manyworlds_geometry::{DistanceFunction, Sdf, Vec3};

/// SplitMix64: numbers that are the same in every run.
struct Uniform(u64);

impl Uniform {
    fn draw(&mut self, low: f64, high: f64) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (high - low) * ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Each function, a spacing that is fine for it, by how much (relative) its value may be off, and which part of its
/// height the value is the distance in (of a thread the flanks end at the faces, which its value does not know).
fn functions() -> Vec<(DistanceFunction, f64, f64, f64)> {
    let dish = |profile: &[[f64; 2]]| DistanceFunction::Dish { profile: profile.to_vec(), padding: 0.004 };
    vec![
        (DistanceFunction::Torus { ring_radius: 0.05, tube_radius: 0.02 }, 0.001, 0.0, 1.0),
        (DistanceFunction::Bowl { radius: 0.05, height: -0.01, padding: 0.005 }, 0.001, 0.0, 1.0),
        (dish(&[[0.0, 0.0], [0.03, 0.0], [0.06, 0.04]]), 0.001, 0.0, 1.0),
        (dish(&[[0.02, -0.01], [0.04, 0.0], [0.04, 0.03], [0.02, 0.04]]), 0.001, 0.0, 1.0),
        (DistanceFunction::Bolt { radius: 0.024, pitch: 0.005, half_length: 0.015 }, 0.0004, 1.5e-3, 0.5),
        (
            DistanceFunction::Nut {
                radius: 0.024,
                pitch: 0.005,
                half_height: 0.015,
                half_width: 0.0375,
                clearance: 1e-4,
            },
            0.0005,
            1.5e-3,
            0.5,
        ),
    ]
}

fn near(function: &DistanceFunction, rng: &mut Uniform, part: f64) -> Vec3 {
    let half = function.half_extents();
    Vec3::new(rng.draw(-1.1, 1.1) * half.x, rng.draw(-1.1, 1.1) * half.y, rng.draw(-1.1, 1.1) * part * half.z)
}

fn rng() -> Uniform {
    Uniform(7)
}

/// The nearest of many points of the surface is no nearer than the function says, and by no more farther than the
/// points' distance from one another explains.
#[test]
fn distances_are_those_to_the_surface() {
    let mut rng = rng();
    for (function, spacing, error, part) in functions() {
        let sdf = Sdf::new("", function.clone(), spacing).expect("a solid");
        let mut seen = [0; 2];
        while seen.iter().any(|&n| n < 60) {
            let p = near(&function, &mut rng, part);
            let (distance, _) = function.distance(&p);
            // Inside, walls have sharp edges of which no sample need be near.
            if distance.abs() > 0.004 || (distance < 0.0 && seen[0] >= 60) {
                continue;
            }
            seen[usize::from(distance >= 0.0)] += 1;
            // Twice the spacing, as sharp edges themselves have no points.
            // Within a wall that turns, depth is said to be understated.
            let bounded = distance > 0.0 || !matches!(function, DistanceFunction::Dish { .. });
            let brute = sdf.points().iter().map(|x| (x - p).norm()).fold(f64::INFINITY, f64::min);
            let off = 1e-12 + error * distance.abs();
            let farthest = (distance.abs() + off).hypot(2.0 * spacing);
            assert!(
                brute >= distance.abs() - off && (brute <= farthest || !bounded),
                "{function:?} at {p:?}: {distance} but {brute} m to the nearest point"
            );
        }
    }
}

/// Outside, wherever it is: what is passed over by the value at a block's centre holds no point that is nearer.
#[test]
fn values_never_exceed_the_distance_by_more_than_is_promised() {
    let mut rng = rng();
    for (function, spacing, ..) in functions() {
        let sdf = Sdf::new("", function.clone(), spacing).expect("a solid");
        for _ in 0..300 {
            let p = near(&function, &mut rng, 1.5);
            let brute = sdf.points().iter().map(|x| (x - p).norm()).fold(f64::INFINITY, f64::min);
            let (distance, _) = function.distance(&p);
            assert!(distance <= 1.01 * brute, "{function:?} at {p:?}: {distance} > {brute}");
        }
    }
}

/// The quick ways to a value give the same, and say of a limit on which side it is.
#[test]
fn values_are_those_of_the_distance() {
    let mut rng = rng();
    for (function, ..) in functions() {
        for _ in 0..500 {
            let p = [0; 3].map(|_| near(&function, &mut rng, 1.5));
            let exact = p.map(|p| function.distance(&p).0);
            let mut values = [0.0; 3];
            function.values(&[0, 1, 2].map(|axis| p.map(|p| p[axis])), &mut values);
            let rounding = 1e-14 * function.half_extents().max();
            for ((p, exact), value) in p.iter().zip(exact).zip(values) {
                assert!((value - exact).abs() <= rounding, "{function:?} at {p:?}: {value} {exact}");
                let found = function.value_below(p, exact + 2.0 * rounding).expect("below the limit");
                assert!((found - exact).abs() <= rounding, "{function:?} at {p:?}: {found} {exact}");
                assert_eq!(function.value_below(p, exact - 2.0 * rounding), None, "{function:?} at {p:?}");
            }
        }
    }
}

/// Away from where two parts are equally near, the gradient is that of central differences and of norm 1.
#[test]
fn gradients_are_those_of_differences() {
    let mut rng = rng();
    let step = 1e-7;
    for (function, _, error, part) in functions() {
        let (mut compared, mut kinks) = (0, 0);
        for _ in 0..400 {
            let p = near(&function, &mut rng, part);
            let (distance, gradient) = function.distance(&p);
            if distance.abs() > 0.004 {
                continue;
            }
            assert!((gradient.norm() - 1.0).abs() < 1e-12);
            let difference = |axis: usize, by: f64| {
                let mut q = p;
                q[axis] += by;
                function.distance(&q).0
            };
            let central = Vec3::from_fn(|axis, _| (difference(axis, step) - difference(axis, -step)) / (2.0 * step));
            // A kink between the two ends shows as one-sided slopes that differ.
            let kink = (0..3).any(|axis| {
                let one_sided = [step, -step].map(|by| (difference(axis, by) - distance) / by);
                (one_sided[0] - one_sided[1]).abs() > 1e-3
            });
            if kink {
                kinks += 1;
                continue;
            }
            compared += 1;
            assert!(
                (central - gradient).norm() < 1e-6 + 4.0 * error,
                "{function:?} at {p:?}: {central:?} {gradient:?}"
            );
        }
        assert!(compared > 40 && kinks < compared / 4, "{function:?}: {compared} compared, {kinks} kinks");
    }
}

/// Parts of a dish: their least is the function itself, and a ball in its corner has one on each side.
#[test]
fn parts_of_a_dish() {
    let profile = vec![[0.0, 0.0], [0.03, 0.0], [0.03, 0.04]];
    let dish = DistanceFunction::Dish { profile, padding: 0.002 };
    let mut rng = rng();
    for _ in 0..500 {
        let p = near(&dish, &mut rng, 1.0);
        let mut least = f64::INFINITY;
        dish.parts(&p, |_, distance, _| least = least.min(distance));
        assert_eq!(least, dish.distance(&p).0, "{p:?}");
    }
    let mut found = Vec::new();
    dish.parts(&Vec3::new(0.02, 0.0, 0.01), |part, distance, gradient| found.push((part, distance, gradient)));
    assert_eq!(found.len(), 2);
    for (found, normal) in found.iter().zip([Vec3::z(), -Vec3::x()]) {
        assert!((found.1 - 0.008).abs() < 1e-15 && (found.2 - normal).norm() < 1e-12, "{found:?}");
    }
    // Beyond the outer corner the point between the two counts once.
    found.clear();
    dish.parts(&Vec3::new(0.04, 0.0, -0.01), |part, distance, gradient| found.push((part, distance, gradient)));
    assert_eq!(found.len(), 1);
    assert!((found[0].1 - (2.0_f64.sqrt() * 0.01 - 0.002)).abs() < 1e-15);
}

/// Points lie on the surface, in blocks that hold them; the mesh is closed, outward and has the volume of the ring.
#[test]
fn surfaces_are_sampled() {
    for (function, spacing, ..) in functions() {
        let sdf = Sdf::new("", function.clone(), spacing).expect("a solid");
        let (vertices, triangles) = sdf.mesh();
        assert!(
            sdf.points().len() * 100 >= vertices.len() * 97,
            "{function:?}: of {} only {}",
            vertices.len(),
            sdf.points().len()
        );
        let near = 1e-9 * sdf.radius();
        assert!(sdf.points().iter().all(|p| function.distance(p).0.abs() <= near));
        let mut next = 0;
        for block in sdf.blocks() {
            assert_eq!(block.points.start, next);
            next = block.points.end;
            let inside = |p: &Vec3| (p - block.centre).norm() <= block.radius + 1e-15;
            assert!(sdf.points()[block.points.clone()].iter().all(inside));
        }
        assert_eq!(next, sdf.points().len());
        let mut edges = std::collections::HashMap::new();
        for t in triangles {
            for i in 0..3 {
                *edges.entry((t[i], t[(i + 1) % 3])).or_insert(0) += 1;
            }
        }
        assert!(edges.iter().all(|(&(a, b), n)| edges.get(&(b, a)) == Some(n)), "{function:?} is not closed");
    }
    let torus = DistanceFunction::Torus { ring_radius: 0.05, tube_radius: 0.02 };
    let solid = Sdf::new("", torus, 0.001).expect("a solid").solid().expect("a volume");
    let volume = 2.0 * PI * PI * 0.05 * 0.02 * 0.02;
    assert!((solid.mass / volume - 1.0).abs() < 2e-3, "{}", solid.mass / volume);
    let about_axis = volume * (0.05 * 0.05 + 0.75 * 0.02 * 0.02);
    assert!((solid.inertia[(2, 2)] / about_axis - 1.0).abs() < 4e-3);
}

/// A turn about the axis and an advance by the pitch part leave the thread as it is: it is right-handed.
#[test]
fn threads_are_right_handed_screws() {
    let bolt = DistanceFunction::Bolt { radius: 0.024, pitch: 0.005, half_length: 1.0 };
    let p = Vec3::new(0.023, 0.0, 0.0011);
    let angle = 0.7_f64;
    let turned = Vec3::new(0.023 * angle.cos(), 0.023 * angle.sin(), 0.0011 + 0.005 * angle / TAU);
    assert!((bolt.distance(&p).0 - bolt.distance(&turned).0).abs() < 1e-15);
    let wrong = Vec3::new(turned.x, turned.y, 0.0011 - 0.005 * angle / TAU);
    assert!((bolt.distance(&p).0 - bolt.distance(&wrong).0).abs() > 1e-4);
}
