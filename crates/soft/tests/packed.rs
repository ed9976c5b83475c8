//! The kernels' mirrors do what the host form does: a step of Newton's method from the same state.

mod common;

use common::{LAWS, block, caged, largest, random};
use manyworlds_model::{Order, Region, Vec3};
use manyworlds_shaders::dynamics::tree::Params;
use manyworlds_shaders::soft::{elements::elements, factor, integrate::integrate};
use manyworlds_shaders::{F32x8, F64x8, Real, Scalar};
use manyworlds_soft::{FreeStart, FreeWork, SoftLayout, SoftParams, SoftSystem};
use manyworlds_sparse::{Factor, SparseMatrix};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const H: f64 = 0.002;
const GRAVITY: [f64; 3] = [1.0, 2.0, -9.81];

/// Positions and velocities after a step, by packs of worlds; whether the factor was sound.
fn packed<R: Real>(system: &SoftSystem, params: &SoftParams, state: &[f64], rounds: usize) -> (Vec<f64>, u32) {
    let layout = SoftLayout::new(system, [params]);
    let dims = layout.dims;
    let lit = |x: &[f64]| x.iter().map(|&x| R::lit(x)).collect::<Vec<R>>();
    let scalars = |x: &[f64]| x.iter().map(|&x| R::Scalar::from_f64(x)).collect::<Vec<_>>();
    let n = system.n_v();
    let (rest, own) = (scalars(&layout.rest), scalars(&SoftLayout::params(params, H, GRAVITY)));
    let (mut state, mut b) = (lit(state), vec![R::lit(0.0); n]);
    let mut velocity = state[n..2 * n].to_vec();
    let mut matrix = vec![R::lit(0.0); 9 * dims.n_block as usize];
    let mut filled = vec![R::lit(0.0); 9 * dims.n_fill as usize];
    let mut status = vec![0; R::N];
    let plan = factor::Plan::new(&dims, &layout.topology);
    for _ in 0..rounds {
        let params = Params::Shared(&own);
        elements(&dims, &layout.topology, &rest, params, &state, &velocity, &mut matrix, &mut b);
        factor::factor(&plan, &matrix, &mut b, &mut filled, &mut velocity, &mut status);
    }
    integrate(Params::Shared(&own), &velocity, &mut state, &mut status);
    (state[..2 * n].iter().map(|x| x.lane(R::N - 1).to_f64()).collect(), status[R::N - 1])
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
                for (name, (found, status), tolerance) in [
                    ("f64", packed::<F64x8>(&system, params, &state, 2), 1e-10),
                    ("f32", packed::<F32x8>(&system, params, &state, 2), 1e-4),
                ] {
                    let difference =
                        |range: std::ops::Range<usize>| range.map(|i| (found[i] - exact[i]).abs()).fold(0.0, f64::max);
                    let (q, v) = (difference(0..n) / H, difference(n..2 * n));
                    assert!(q.max(v) < tolerance * scale, "{order:?} {law:?} {damping} {name}: {q} {v} of {scale}");
                    assert_eq!(status, 0);
                }
            }
        }
    }
}

/// To a balance of momentum; alone as among others, whatever becomes of those.
#[test]
fn free_steps_balance_momentum() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for law in LAWS {
        let body = block([2, 1, 1], Vec3::new(0.2, 0.1, 0.1), Order::Quadratic, law);
        let system = SoftSystem::new(&body).unwrap();
        let layout = SoftLayout::new(&system, [system.params()]);
        let n = system.n_v();
        let mut other = system.params().clone();
        (other.material.damping, other.material.young) = (0.003, 2e6);
        let numbers: Vec<[Vec<f64>; 3]> =
            (0..4).map(|_| [0.001, 0.5, 1.0].map(|size| random(&mut rng, n, size))).collect();
        let mut starts: Vec<FreeStart> = numbers
            .iter()
            .enumerate()
            .map(|(i, [q, v, force])| {
                let params = if i % 2 == 0 { system.params() } else { &other };
                FreeStart { params, h: H, gravity: GRAVITY, q, v, force }
            })
            .collect();
        let wild = random(&mut rng, n, 1e3);
        starts.push(FreeStart { q: &wild, ..starts[0] });
        let mut work = FreeWork::default();
        let ends = layout.free_steps(&starts, 1e-10, &mut work);
        for (start, end) in starts.iter().zip(&ends).take(4) {
            let end = end.as_ref().expect("a step");
            assert!((1..8).contains(&end.rounds) && end.momentum <= 1e-10, "{law:?}: {end:?}");
            let next: Vec<f64> = start.q.iter().zip(&end.v).map(|(q, v)| q + H * v).collect();
            let mut force = vec![0.0; n];
            system.force(start.params, H, start.q, &next, &mut force);
            let mass = system.mass(start.params);
            let left = (0..n).map(|i| {
                let load = force[i] + start.force[i] + mass[i] * GRAVITY[i % 3];
                (mass[i] * (end.v[i] - start.v[i]) - H * load).powi(2)
            });
            assert!(left.sum::<f64>().sqrt() < 2e-10);
            assert_eq!(layout.free_steps(&[*start], 1e-10, &mut FreeWork::default()), [Some(end.clone())]);
        }
        if law != manyworlds_model::MaterialLaw::Linear {
            assert_eq!(ends[4], None, "{law:?}");
        }
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
    assert_ne!(packed::<F64x8>(&system, &params, &state, 1).1, 0);
    assert!(host(&system, &params, &state, 1).is_none());
}
