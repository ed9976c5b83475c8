//! A trainer's loop: observations in, controls out, and worlds that are done start again.
//!
//! The policy is a random search over a linear controller that keeps the built-in cart's pole up: each world tries a
//! perturbed controller of its own, and the best quarter moves the mean.
//!
//! `cargo run --release -p manyworlds-examples --example 02_trainer`

use manyworlds::{Batch, BatchOptions, Error, FieldId, ImportOptions, StateRows, Which, random};

const WORLDS: usize = 64;
const STEPS: usize = 150;
const GENERATIONS: u64 = 6;
/// Positions of the cart-pole, and as many velocities.
const N: usize = 2;
/// Observations: both.
const OBSERVED: usize = 2 * N;

fn main() -> Result<(), Error> {
    let model = manyworlds::load("cartpole", &ImportOptions::default())?.model;
    let mut batch = Batch::new(&[(&model, WORLDS)], &BatchOptions::default())?;
    let n_controls = model.actuators.len();
    let mut mean = [0.0; OBSERVED];

    for generation in 0..GENERATIONS {
        let noise = |world: usize, entry: usize| random::symmetric(generation, world as u64, 0, entry as u64);
        let policies: Vec<[f64; OBSERVED]> =
            (0..WORLDS).map(|world| std::array::from_fn(|i| mean[i] + 2.0 * noise(world, i))).collect();

        // Every world starts afresh, a little off balance; a new start also forgets impulses of the step before.
        let (mut q, mut v) = ([0.0; N * WORLDS], [0.0; N * WORLDS]);
        for (world, q) in q.chunks_exact_mut(N).enumerate() {
            q.copy_from_slice(&model.initial_q());
            q[1] += 0.1 * noise(world, OBSERVED);
        }
        batch.restart_worlds(Which::All, StateRows { q: &q, v: &v, ..StateRows::default() })?;

        let mut rewards = [0.0; WORLDS];
        let mut controls = vec![0.0; batch.n_controls()];
        for _ in 0..STEPS {
            batch.read(0, FieldId::Position, &mut q)?;
            batch.read(0, FieldId::Velocity, &mut v)?;
            for (world, policy) in policies.iter().enumerate() {
                let [x, angle, speed, turning] = [q[N * world], q[N * world + 1], v[N * world], v[N * world + 1]];
                let push: f64 = policy.iter().zip([x, angle, speed, turning]).map(|(w, x)| w * x).sum();
                controls[world * n_controls] = push.clamp(-1.0, 1.0);
                rewards[world] += angle.cos() - 0.05 * x.abs();
            }
            batch.step(&controls)?;
        }

        let mut ranking: Vec<usize> = (0..WORLDS).collect();
        ranking.sort_by(|&a, &b| rewards[b].total_cmp(&rewards[a]));
        let elite = &ranking[..WORLDS / 4];
        mean = std::array::from_fn(|i| elite.iter().map(|&w| policies[w][i]).sum::<f64>() / elite.len() as f64);
        println!("generation {generation}: best {:.1} of {STEPS}", rewards[ranking[0]]);
    }
    Ok(())
}
