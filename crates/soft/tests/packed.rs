//! The kernels' mirrors do what the host form does: a step of Newton's method from the same state.

mod common;

use common::{LAWS, block, caged, largest, random};
use manyworlds_model::{MaterialLaw, Order, Region, SoftBody, Vec3};
use manyworlds_shaders::contact::tree_layout::info;
use manyworlds_shaders::dynamics::tree::status;
use manyworlds_shaders::soft::body::{SoftDims, soft_info};
use manyworlds_shaders::soft::substitute::Plan;
use manyworlds_shaders::soft::touch::{Touches, words_of_lanes};
use manyworlds_shaders::soft::{balance::balance, elements::elements, factor::factor, start::start};
use manyworlds_shaders::{F32x8, F64x8, Real, Scalar};
use manyworlds_soft::{SoftLayout, SoftParams, SoftSystem};
use manyworlds_sparse::{Factor, SparseMatrix};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const H: f64 = 0.002;
const GRAVITY: [f64; 3] = [1.0, 2.0, -9.81];

/// Positions and velocities after a step of so many rounds, by packs of worlds; whether the factor was sound, and the body's balance
/// after the last round.
fn packed<R: Real>(body: &SoftBody, params: &SoftParams, state: &[f64], rounds: u32) -> (Vec<f64>, u32, f64) {
    let system = SoftSystem::new(body).unwrap();
    let mut layout = SoftLayout::new(&system, body, &[]);
    (layout.dims.damped, layout.dims.pressed) = (1, 1);
    let dims = layout.dims;
    let lit = |x: &[f64]| x.iter().map(|&x| R::lit(x)).collect::<Vec<R>>();
    let zeros = |n: usize| vec![R::lit(0.0); n];
    let n = system.n_v();
    let rest = layout.rest.iter().map(|&x| R::Scalar::from_f64(x)).collect::<Vec<_>>();
    let own = lit(&SoftLayout::params(params, H, GRAVITY));
    let (mut begin, mut velocity, mut b) = (zeros(dims.n_begin() as usize), zeros(n), zeros(n));
    let mut matrix = zeros(9 * dims.n_block as usize);
    let mut filled = zeros(9 * dims.n_fill as usize);
    let mut of_world = zeros(info::reals(n));
    let mut status = vec![0; R::N];
    let plan = Plan::new(&dims, &layout.topology);
    start(&dims, &layout.topology, &rest, &own, &lit(state), &mut begin, &mut velocity);
    for round in 0..=rounds {
        elements(&dims, &layout.topology, &rest, &own, &begin, &velocity, &mut matrix, &mut b);
        let last = u32::from(round == rounds);
        let dims = SoftDims { round, last, tolerance: 0.0_f32.to_bits(), ..dims };
        let mut touches = Touches::new(dims, &[0; words_of_lanes(1)], &mut []);
        balance(&dims, 0, &velocity, &mut touches, &mut matrix, &mut b, &mut of_world, &mut [], &mut status);
        if round < rounds {
            factor(&plan, &matrix, &mut b, &mut filled, &mut velocity, &mut status);
        }
    }
    let lane = |x: &R| x.lane(R::N - 1).to_f64();
    let moved = begin[..n].iter().zip(&velocity).map(|(q, v)| lane(q) + H * lane(v));
    let out = moved.chain(velocity.iter().map(lane)).collect();
    (out, status[R::N - 1], lane(&of_world[soft_info::MOMENTUM]))
}

/// The same by the host.
fn host(system: &SoftSystem, params: &SoftParams, state: &[f64], rounds: usize) -> Option<Vec<f64>> {
    let n = system.n_v();
    let (q, v, outer) = (&state[..n], &state[n..2 * n], &state[2 * n..]);
    let (mass, mut next) = (system.mass(params), v.to_vec());
    let (mut force, mut stiffness) = (vec![0.0; n], system.pattern().clone());
    let moved = |next: &[f64]| q.iter().zip(next).map(|(q, v)| q + H * v).collect::<Vec<_>>();
    let slow = H * params.material.mass_damping;
    for _ in 0..rounds {
        system.force_and_stiffness(params, H, q, &moved(&next), false, &mut force, &mut stiffness);
        let mut triplets: Vec<_> = stiffness.entries().map(|(i, j, x)| (i, j, H * H * x)).collect();
        triplets.extend((0..n).map(|i| (i, i, (1.0 + slow) * mass[i])));
        let a = SparseMatrix::from_triplets(n, &triplets).unwrap();
        let mut b: Vec<f64> = (0..n)
            .map(|i| {
                let gained = v[i] - next[i] - slow * next[i] + H * GRAVITY[i % 3];
                mass[i] * gained + H * (force[i] + outer[i])
            })
            .collect();
        Factor::new(&a, system.ordering(), &[]).ok()?.solve(&mut b);
        next.iter_mut().zip(&b).for_each(|(v, b)| *v += b);
    }
    Some([moved(&next), next].concat())
}

#[test]
fn packs_step_as_the_host_does() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let size = Vec3::new(0.3, 0.1, 0.2);
    for order in [Order::Linear, Order::Quadratic, Order::Trilinear, Order::Triquadratic] {
        for law in LAWS {
            for damping in [0.0, 0.004] {
                let mut body = match order {
                    Order::Linear | Order::Quadratic => block([3, 1, 2], size, order, law),
                    _ => caged(&block([3, 1, 2], size, Order::Linear, law), [4, 1, 2], order),
                };
                body.pinned = vec![0, 1, 5];
                (body.material.damping, body.material.mass_damping) = (damping, 10.0 * damping);
                let region =
                    |elements: &[u32], pressure| Region { name: String::new(), elements: elements.to_vec(), pressure };
                body.regions = vec![region(&[0, 3, 4], 2e5 * damping), region(&[3, 7], 1e5 * damping)];
                let system = SoftSystem::new(&body).unwrap();
                let n = system.n_v();
                let state = [random(&mut rng, n, 0.002), random(&mut rng, n, 0.5), random(&mut rng, n, 1.0)].concat();
                let params = system.params();
                let exact = host(&system, params, &state, 2).expect("a positive definite matrix");
                let scale = largest(&exact[n..]);
                for (name, (found, word, _), tolerance) in [
                    ("f64", packed::<F64x8>(&body, params, &state, 2), 1e-10),
                    ("f32", packed::<F32x8>(&body, params, &state, 2), 1e-4),
                ] {
                    let difference =
                        |range: std::ops::Range<usize>| range.map(|i| (found[i] - exact[i]).abs()).fold(0.0, f64::max);
                    let (q, v) = (difference(0..n) / H, difference(n..2 * n));
                    assert!(q.max(v) < tolerance * scale, "{order:?} {law:?} {damping} {name}: {q} {v} of {scale}");
                    assert_eq!(word, status::ITERATION_LIMIT);
                }
            }
        }
    }
}

/// Rounds lead to a balance, in single precision to what a strain of a thousandth leaves of it: stresses come from displacements, not
/// from numbers near one.
#[test]
fn rounds_balance_momentum() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for law in LAWS {
        let body = block([2, 1, 1], Vec3::new(0.2, 0.1, 0.1), Order::Quadratic, law);
        let system = SoftSystem::new(&body).unwrap();
        let n = system.n_v();
        let [q, v, force] = [5e-5, 0.05, 1.0].map(|size| random(&mut rng, n, size));
        let state = [q.clone(), v.clone(), force.clone()].concat();
        let (found, _, left) = packed::<F64x8>(&body, system.params(), &state, 5);
        assert!(left < 1e-12, "{law:?}: {left}");
        let (next, after) = found.split_at(n);
        let mut elastic = vec![0.0; n];
        system.force(system.params(), H, &q, next, &mut elastic);
        let mass = system.mass(system.params());
        let lacks = (0..n).map(|i| {
            let load = elastic[i] + force[i] + mass[i] * GRAVITY[i % 3];
            (mass[i] * (after[i] - v[i]) - H * load).powi(2)
        });
        assert!(lacks.sum::<f64>().sqrt() < 1e-12, "{law:?}");
        let (_, _, left) = packed::<F32x8>(&body, system.params(), &state, 5);
        // The co-rotational law has F - R.
        let allowed = if law == MaterialLaw::Corotated { 1e-5 } else { 2e-7 };
        assert!(left < allowed, "{law:?}: {left}");
    }
}

#[test]
fn a_matrix_that_is_not_positive_is_flagged() {
    let body = block([1, 1, 1], Vec3::repeat(0.1), Order::Linear, manyworlds_model::MaterialLaw::SaintVenantKirchhoff);
    let system = SoftSystem::new(&body).unwrap();
    // Pressed together to a third: stiffness is negative there, and the body is light.
    let mut params = system.params().clone();
    params.material.density = 1.0;
    let q = body.nodes.iter().flat_map(|x| (x * -0.67).as_slice().to_vec());
    let state: Vec<f64> = q.chain(vec![0.0; 2 * system.n_v()]).collect();
    assert_eq!(packed::<F64x8>(&body, &params, &state, 1).1, status::ITERATION_LIMIT);
    assert!(host(&system, &params, &state, 1).is_none());
}
