//! A trainer's loop: observations in, controls out, and worlds that are done start again.
//!
//! The policy is a random search over a linear controller that keeps the built-in cart's pole up: each world tries a
//! perturbed controller of its own, and the best quarter moves the mean.
//!
//! `cargo run --release -p manyworlds-examples --example 02_trainer`

use manyworlds::{Batch, BatchOptions, Error, ImportOptions, State, random};

const WORLDS: usize = 64;
const STEPS: usize = 150;
const GENERATIONS: u64 = 6;
/// Observations of the cart-pole: q and v.
const OBSERVED: usize = 4;

fn main() -> Result<(), Error> {
    let model = manyworlds::load("cartpole", &ImportOptions::default())?.model;
    let mut batch = Batch::new(&[(&model, WORLDS)], &BatchOptions::default())?;
    let n_controls = model.actuators.len();
    let mut mean = [0.0; OBSERVED];

    for generation in 0..GENERATIONS {
        let noise = |world: usize, entry: usize| random::symmetric(generation, world as u64, 0, entry as u64);
        let policies: Vec<[f64; OBSERVED]> =
            (0..WORLDS).map(|world| std::array::from_fn(|i| mean[i] + 2.0 * noise(world, i))).collect();

        // Every world starts afresh, a little off balance; a reset also forgets impulses of the step before.
        let states: Vec<_> = (0..WORLDS)
            .map(|world| {
                let mut q = model.initial_q();
                q[1] += 0.1 * noise(world, OBSERVED);
                (world, State { q, v: vec![0.0; model.n_v], ..State::default() })
            })
            .collect();
        batch.reset(&states)?;

        let mut rewards = [0.0; WORLDS];
        let mut controls = vec![0.0; batch.n_controls()];
        for _ in 0..STEPS {
            for (world, policy) in policies.iter().enumerate() {
                let State { q, v, .. } = batch.state(world)?;
                let observed = [q[0], q[1], v[0], v[1]];
                let push: f64 = policy.iter().zip(observed).map(|(w, x)| w * x).sum();
                controls[world * n_controls] = push.clamp(-1.0, 1.0);
                rewards[world] += q[1].cos() - 0.05 * q[0].abs();
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
