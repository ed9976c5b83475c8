//! What theory says of a block: rigid motion, uniform strain, uniaxial stretch, pressure, mass.

mod common;

use common::{LAWS, block, body, caged, displaced, is_brick, largest, random};
use manyworlds_model::{MaterialLaw, Order, Region, Vec3};
use manyworlds_soft::{SoftError, SoftSystem};
use nalgebra::{Matrix3, Rotation3};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ORDERS: [Order; 4] = [Order::Linear, Order::Quadratic, Order::Trilinear, Order::Triquadratic];

/// A unit block whose inner nodes are where chance put them; of bricks, a cage about it of cells that are full.
fn uneven(order: Order, law: MaterialLaw) -> manyworlds_model::SoftBody {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let whole = block([2, 2, 2], Vec3::repeat(1.0), Order::Linear, law);
    let corners: Vec<[u32; 4]> = whole.elements.as_chunks().0.to_vec();
    let inner = |x: &Vec3| x.iter().all(|&x| x > 0.1 && x < 0.9);
    let moved = |x: &Vec3| if inner(x) { x + Vec3::from_fn(|_, _| rng.random_range(-0.1..0.1)) } else { *x };
    let nodes = whole.nodes.iter().map(moved).collect();
    if is_brick(order) {
        return caged(&body(nodes, &corners, Order::Linear, law), [2, 2, 2], order);
    }
    body(nodes, &corners, order, law)
}

#[test]
fn rigid_motion_has_neither_energy_nor_force() {
    for (order, law) in ORDERS.into_iter().flat_map(|order| LAWS.map(|law| (order, law))) {
        let mut body = uneven(order, law);
        body.material.damping = 0.1;
        let system = SoftSystem::new(&body).unwrap();
        let turn = match law {
            // The linear law knows shifts alone.
            MaterialLaw::Linear => Rotation3::identity(),
            _ => Rotation3::from_euler_angles(1.0, -2.0, 0.5),
        };
        let q = displaced(&body, |_| Vec3::zeros()).iter().map(|_| 0.0).collect::<Vec<_>>();
        let q_next = displaced(&body, |x| turn * x + Vec3::new(0.3, -1.0, 2.0));
        let mut force = vec![0.0; q.len()];
        system.force(system.params(), 0.01, &q, &q_next, &mut force);
        // In units of E, of a block of 1 m.
        let scale = system.params().material.young;
        assert!(system.energy(system.params(), &q_next).abs() < 1e-12 * scale, "{order:?} {law:?}");
        // Of damping, ten times stiffer than the body in so short a step.
        assert!(largest(&force) < 1e-12 * 11.0 * scale, "{order:?} {law:?}: {}", largest(&force));
        assert!((system.volume(&q_next) - 1.0).abs() < 1e-12);
    }
}

#[test]
fn forces_have_neither_sum_nor_moment() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for (order, law) in ORDERS.into_iter().flat_map(|order| LAWS.map(|law| (order, law))) {
        let mut body = uneven(order, law);
        body.material.damping = 0.1;
        let system = SoftSystem::new(&body).unwrap();
        let (q, q_next) = (random(&mut rng, system.n_v(), 0.1), random(&mut rng, system.n_v(), 0.1));
        let mut force = vec![0.0; q.len()];
        system.force(system.params(), 0.01, &q, &q_next, &mut force);
        let (mut sum, mut moment) = (Vec3::zeros(), Vec3::zeros());
        for (i, f) in force.chunks_exact(3).map(Vec3::from_column_slice).enumerate() {
            sum += f;
            // The linear law is blind to turns: its moment is about where nodes were.
            let moved = if law == MaterialLaw::Linear {
                Vec3::zeros()
            } else {
                Vec3::from_column_slice(&q_next[3 * i..3 * i + 3])
            };
            moment += (body.nodes[i] + moved).cross(&f);
        }
        assert!(sum.amax().max(moment.amax()) < 1e-12 * largest(&force) * 100.0, "{order:?} {law:?}: {sum} {moment}");
    }
}

/// The patch test: under a uniform strain inner nodes are at rest wherever they are, and energy and stress are the law's.
#[test]
fn uniform_strain_is_uniform() {
    let f = Matrix3::new(1.1, 0.05, -0.02, 0.03, 0.9, 0.1, -0.04, 0.02, 1.2);
    for (order, law) in ORDERS.into_iter().flat_map(|order| LAWS.map(|law| (order, law))) {
        let body = uneven(order, law);
        let system = SoftSystem::new(&body).unwrap();
        let q = displaced(&body, |x| f * x);
        let mut force = vec![0.0; q.len()];
        system.force(system.params(), f64::INFINITY, &q, &q, &mut force);
        let scale = system.params().material.young;
        let inner = |x: &Vec3| x.iter().all(|&x| x > 1e-9 && x < 1.0 - 1e-9);
        let mut count = 0;
        for (x, f) in body.nodes.iter().zip(force.chunks_exact(3)).filter(|(x, _)| inner(x)) {
            count += 1;
            assert!(largest(f) < 1e-12 * scale, "{order:?} {law:?} {x}: {f:?}");
        }
        assert!(count >= 1);
        // The force on a side is the stress times its area: moments of forces by places at rest are the stress.
        let mut stress = Matrix3::zeros();
        for (x, f) in body.nodes.iter().zip(force.chunks_exact(3)) {
            stress += Vec3::from_column_slice(f) * x.transpose();
        }
        let of_first = system.stress(system.params(), &q, 0);
        let cauchy = match law {
            MaterialLaw::Linear => -stress,
            _ => -stress * f.transpose() / f.determinant(),
        };
        assert!((of_first - cauchy).amax() < 1e-11 * scale, "{order:?} {law:?}");
        assert!((system.volume(&q) - f.determinant()).abs() < 1e-12);
    }
}

/// A block of E 1e5, nu 0.45 drawn to twice its length, its sides free: the closed forms, at which no side carries a force.
#[test]
fn uniaxial_stretch_is_the_closed_form() {
    // Of the neo-Hookean law the width solves `mu l2 + phi l1 l2 = 0`.
    for (law, width, volume) in [
        (MaterialLaw::Linear, 0.55, 0.605),
        (MaterialLaw::Corotated, 0.55, 0.605),
        (MaterialLaw::NeoHookean, 0.72457, 1.0500),
    ] {
        let mut body = block([1, 1, 1], Vec3::repeat(1.0), Order::Linear, law);
        (body.material.young, body.material.poisson) = (1e5, 0.45);
        let system = SoftSystem::new(&body).unwrap();
        let pull = |width: f64| {
            let q = displaced(&body, |x| x.component_mul(&Vec3::new(2.0, width, width)));
            let mut force = vec![0.0; q.len()];
            system.force(system.params(), f64::INFINITY, &q, &q, &mut force);
            let side: f64 =
                body.nodes.iter().zip(force.chunks_exact(3)).filter(|(x, _)| x.y > 0.5).map(|(_, f)| f[1]).sum();
            (side, system.volume(&q))
        };
        // Bisection for the width at which sides are free: too wide, they push inwards.
        let (mut low, mut high) = (0.4, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if pull(middle).0 > 0.0 { low = middle } else { high = middle }
        }
        let [mu, lambda] = body.material.lame();
        let exact = match law {
            // l1 = 2: `mu + (lambda + mu) l1 (l1 l2^2 - 1) - mu l1 = 0`.
            MaterialLaw::NeoHookean => ((2.0 * (lambda + mu) + mu) / (4.0 * (lambda + mu))).sqrt(),
            _ => 1.0 - 0.45,
        };
        assert!((low - exact).abs() < 1e-9, "{law:?}: {low} {exact}");
        assert!((low - width).abs() < 1e-5 && (pull(low).1 - volume).abs() < 5e-5, "{law:?}: {low} {}", pull(low).1);
    }
}

/// A pressure p within stretches a free block as the stress p does: small ones by `p (1 - 2 nu) / E` to each side.
#[test]
fn uniform_pressure_is_a_uniform_tension() {
    for (order, law) in ORDERS.into_iter().flat_map(|order| LAWS.map(|law| (order, law))) {
        let mut body = uneven(order, law);
        let all = (0..body.n_element() as u32).collect();
        body.regions = vec![Region { name: "all".to_owned(), elements: all, pressure: 10.0 }];
        let system = SoftSystem::new(&body).unwrap();
        let material = body.material;
        let grown = 1.0 + 10.0 * (1.0 - 2.0 * material.poisson) / material.young;
        let q = displaced(&body, |x| x * grown);
        let mut force = vec![0.0; q.len()];
        system.force(system.params(), f64::INFINITY, &q, &q, &mut force);
        // What is left is of second order in the strain 4e-6.
        assert!(largest(&force) < 1e-4 * 10.0, "{order:?} {law:?}: {}", largest(&force));
        let mut none = system.params().clone();
        none.pressures[0] = 0.0;
        system.force(&none, f64::INFINITY, &q, &q, &mut force);
        assert!(largest(&force) > 0.1, "{order:?} {law:?}");
    }
}

#[test]
fn masses_are_positive_and_add_up() {
    for order in ORDERS {
        let mut body = uneven(order, MaterialLaw::Linear);
        let mass = SoftSystem::new(&body).unwrap().mass(SoftSystem::new(&body).unwrap().params());
        assert!(mass.iter().all(|&m| m > 0.0));
        assert!((mass.iter().sum::<f64>() - 3000.0).abs() < 1e-9);
        // A pinned node takes its mass along.
        body.pinned = vec![0, 5];
        let less = SoftSystem::new(&body).unwrap().mass(SoftSystem::new(&body).unwrap().params());
        let gone: f64 = mass[..3].iter().chain(&mass[15..18]).sum();
        assert!((mass.iter().sum::<f64>() - gone - less.iter().sum::<f64>()).abs() < 1e-9);
    }
}

#[test]
fn what_is_no_body_says_which_element() {
    let good = block([1, 1, 1], Vec3::repeat(1.0), Order::Linear, MaterialLaw::Linear);
    let mut bad = good.clone();
    bad.elements.swap(8, 9);
    let text = SoftSystem::new(&bad).unwrap_err().to_string();
    assert_eq!(text, "soft body `body`: element 2 is flat or inside out (volume -1.6666666666666666e-1 m^3)");
    let mut bad = good.clone();
    bad.elements[3] = 99;
    assert_eq!(
        SoftSystem::new(&bad).unwrap_err(),
        SoftError::Node { body: "body".to_owned(), element: 0, node: 99, nodes: 8 }
    );
    let mut bad = good.clone();
    bad.elements.pop();
    assert!(matches!(SoftSystem::new(&bad), Err(SoftError::Length { length: 23, each: 4, .. })));
    let mut bad = good;
    bad.regions = vec![Region { name: "r".to_owned(), elements: vec![6], pressure: 0.0 }];
    assert!(matches!(SoftSystem::new(&bad), Err(SoftError::Region { element: 6, elements: 6, .. })));
}
