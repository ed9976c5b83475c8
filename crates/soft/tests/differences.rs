//! Forces are derivatives of energies, stiffness that of forces: against central differences, whatever the deformation.

mod common;

use common::{LAWS, block, body, caged, is_brick, largest, random};
use manyworlds_model::{MaterialLaw, Order, Region, SoftBody, Vec3};
use manyworlds_soft::SoftSystem;
use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const ORDERS: [Order; 4] = [Order::Linear, Order::Quadratic, Order::Trilinear, Order::Triquadratic];

/// Two elements of an edge of about 1 m, or two bricks about these, one of their nodes pinned, one of them under pressure.
fn pair(order: Order, law: MaterialLaw) -> SoftBody {
    let nodes = [[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.2, 0.9, 0.1], [0.1, 0.3, 1.1], [1.0, 1.2, 0.9]];
    let (nodes, corners) = (nodes.map(Vec3::from).to_vec(), [[0, 1, 2, 3], [1, 2, 3, 4]]);
    let mut out = if is_brick(order) {
        caged(&body(nodes, &corners, Order::Linear, law), [2, 1, 1], order)
    } else {
        body(nodes, &corners, order, law)
    };
    out.pinned = vec![2];
    out.material.young = 10.0;
    out.regions = vec![Region { name: String::new(), elements: vec![1], pressure: 0.7 }];
    out
}

/// Energy of what happens between two displacements at the end of a step.
type Evaluate<'a> = &'a dyn Fn(&[f64]) -> Vec<f64>;

/// Central differences of fourth order.
fn differences(at: &[f64], step: f64, f: Evaluate) -> DMatrix<f64> {
    let columns: Vec<DVector<f64>> = (0..at.len())
        .map(|i| {
            let moved = |by: f64| {
                let mut x = at.to_vec();
                x[i] += by * step;
                DVector::from_vec(f(&x))
            };
            (8.0 * (moved(1.0) - moved(-1.0)) - (moved(2.0) - moved(-2.0))) / (12.0 * step)
        })
        .collect();
    DMatrix::from_columns(&columns)
}

fn dense(m: &manyworlds_sparse::SparseMatrix) -> DMatrix<f64> {
    let mut out = DMatrix::zeros(m.n(), m.n());
    m.entries().for_each(|(i, j, x)| out[(i, j)] = x);
    out
}

#[test]
fn forces_and_stiffness_are_derivatives() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut inverted = 0;
    for order in ORDERS {
        for law in LAWS {
            let body = pair(order, law);
            let system = SoftSystem::new(&body).unwrap();
            let params = system.params().clone();
            let mut damped = params.clone();
            damped.material.damping = 0.02;
            let n = system.n_v();
            for size in [0.01, 0.3, 1.0, 1.0, 1.0, 1.0] {
                let (q, q_next) = (random(&mut rng, n, size), random(&mut rng, n, size));
                inverted += usize::from(system.volume(&q_next) < 0.0);
                let context = format!("{order:?} {law:?} {size}");
                let mut force = vec![0.0; n];
                system.force(&params, f64::INFINITY, &q, &q_next, &mut force);
                let energy = |x: &[f64]| vec![system.energy(&params, x) + system.pressure_energy(&params, x)];
                let exact = differences(&q_next, 1e-3, &energy);
                let worst = (exact.transpose() + DVector::from_row_slice(&force)).amax();
                assert!(worst < 1e-7 * largest(&force).max(1.0), "{context}: {worst}");
                let at = |pressure: f64| {
                    let (mut pressed, mut out) = (params.clone(), vec![0.0; n]);
                    pressed.pressures[0] = pressure;
                    system.force(&pressed, f64::INFINITY, &q, &q_next, &mut out);
                    DVector::from_vec(out)
                };
                let by_pressure = DVector::from_vec(system.force_by_pressure(0, &q_next));
                let worst = (at(1.0) - at(0.0) - by_pressure).amax();
                assert!(worst < 1e-11 * largest(&force).max(1.0), "{context}: {worst}");
                for (params, h) in [(&params, f64::INFINITY), (&damped, 0.01)] {
                    let at = |start: &[f64], end: &[f64]| {
                        let mut out = vec![0.0; n];
                        system.force(params, h, start, end, &mut out);
                        out
                    };
                    let mut stiffness = system.pattern().clone();
                    system.force_and_stiffness(params, h, &q, &q_next, false, &mut force, &mut stiffness);
                    assert!(
                        largest(&at(&q, &q_next).iter().zip(&force).map(|(a, b)| a - b).collect::<Vec<_>>()) < 1e-12
                    );
                    let own = dense(&stiffness);
                    let worst = (differences(&q_next, 1e-4, &|x| at(&q, x)) + &own).amax() / own.amax();
                    assert!(worst < 1e-7, "{context}: {worst}");
                    let by_start = differences(&q, 1e-3, &|x| at(x, &q_next));
                    let x = random(&mut rng, n, 1.0);
                    let tangent = system.tangent(params, h, &q, &q_next, &mut force);
                    for (transposed, exact) in [(false, &by_start), (true, &by_start.transpose())] {
                        let mut product = vec![0.0; n];
                        tangent.add_times_less_start(&system, &q, (2.0, &x, transposed), &mut product);
                        let exact = (&own - exact) * DVector::from_column_slice(&x) * 2.0;
                        let worst = (exact - DVector::from_vec(product)).amax() / own.amax();
                        assert!(worst < 1e-7, "{context}: {worst}");
                    }
                }
            }
        }
    }
    assert!(inverted > 5, "{inverted}");
}

#[test]
fn projected_stiffness_is_semidefinite_and_else_the_same() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut indefinite = 0;
    for order in ORDERS {
        for law in LAWS {
            let mut body = pair(order, law);
            body.material.damping = 0.02;
            let system = SoftSystem::new(&body).unwrap();
            let n = system.n_v();
            for size in [1e-3, 0.3, 1.0, 1.0] {
                let (q, q_next) = (random(&mut rng, n, size), random(&mut rng, n, size));
                let at = |projected| {
                    let (mut force, mut stiffness) = (vec![0.0; n], system.pattern().clone());
                    let params = system.params();
                    system.force_and_stiffness(params, 0.01, &q, &q_next, projected, &mut force, &mut stiffness);
                    (force, dense(&stiffness))
                };
                let ((force, exact), (same, projected)) = (at(false), at(true));
                // By two ways: with principal stretches and, where a law is a polynomial of F, without.
                let size = force.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
                assert!(force.iter().zip(&same).all(|(a, b)| (a - b).abs() < 1e-12 * size), "{order:?} {law:?}");
                assert!((&exact - exact.transpose()).amax() < 1e-12 * exact.amax());
                let lowest = |m: &DMatrix<f64>| m.clone().symmetric_eigenvalues().min() / m.amax();
                assert!(lowest(&projected) > -1e-12, "{order:?} {law:?} {size}: {}", lowest(&projected));
                // What was semidefinite at every point of integration is left as it is; a whole that is not must change.
                let change = (&projected - &exact).amax() / exact.amax();
                if lowest(&exact) < -1e-9 {
                    indefinite += 1;
                    assert!(change > 0.0);
                }
            }
        }
    }
    assert!(indefinite > 5, "{indefinite}");
}

#[test]
fn a_body_at_rest_is_left_as_it_is_by_projection() {
    for law in LAWS {
        let system = SoftSystem::new(&block([1, 2, 1], Vec3::new(0.1, 0.2, 0.1), Order::Linear, law)).unwrap();
        let (n, zero) = (system.n_v(), vec![0.0; system.n_v()]);
        let at = |projected| {
            let (mut force, mut stiffness) = (vec![0.0; n], system.pattern().clone());
            system.force_and_stiffness(system.params(), 0.01, &zero, &zero, projected, &mut force, &mut stiffness);
            dense(&stiffness)
        };
        let change = (at(false) - at(true)).amax() / at(true).amax();
        assert!(change < 1e-14, "{law:?}: {change}");
    }
}

#[test]
fn products_and_the_diagonal_are_those_of_the_matrix() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for order in ORDERS {
        for law in LAWS {
            let system = SoftSystem::new(&pair(order, law)).unwrap();
            let mut params = system.params().clone();
            params.material.damping = 0.02;
            let n = system.n_v();
            let [q, q_next, x] = [0.3, 0.3, 1.0].map(|size| random(&mut rng, n, size));
            let (mut force, mut own, mut matrix) = (vec![0.0; n], vec![0.0; n], system.pattern().clone());
            system.force_and_stiffness(&params, 0.01, &q, &q_next, false, &mut force, &mut matrix);
            let tangent = system.tangent(&params, 0.01, &q, &q_next, &mut own);
            assert_eq!(force, own);
            for (i, j, x) in matrix.entries() {
                assert_eq!(matrix.get(j, i), Some(x), "{order:?} {law:?} {i} {j}");
            }
            let (mut exact, mut found) = (vec![1.0; n], vec![1.0; n]);
            matrix.add_times(&x, &mut exact);
            tangent.add_times(&system, 1.0, &x, &mut found);
            let diagonal = tangent.diagonal(&system);
            for i in 0..n {
                assert!((exact[i] - found[i]).abs() < 1e-11 * largest(&exact), "{order:?} {law:?}");
                let entry = matrix.get(i, i).unwrap();
                assert!((entry - diagonal[i]).abs() < 1e-11 * entry.abs(), "{order:?} {law:?} {entry}");
            }
        }
    }
}
