//! Products with transposed Jacobians of many worlds at once, beside the step that they differentiate.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, InputsMut, OutputSlices, Precision, random};
use serde::{Deserialize, Serialize};

use crate::child;

/// Random controls: this much of their units.
const AMPLITUDE: f64 = 0.2;
/// Steps that are taken before anything is timed: contacts are there by then.
const SETTLE: u64 = 200;
/// Steps and products that are timed.
const ROUNDS: usize = 5;

/// Medians, in microseconds a world.
#[derive(Serialize, Deserialize)]
pub(crate) struct Gradients {
    pub(crate) step: f64,
    pub(crate) back: f64,
    /// Part of the worlds whose certificate says that the derivative is to be trusted.
    pub(crate) valid: f64,
}

/// In a process of its own: measures one scene and prints a line of JSON.
///
/// # Errors
/// Those of the batch.
pub(crate) fn part(scene: &str, count: usize) -> Result<()> {
    let model = manyworlds::load(scene, &ImportOptions::default())?.model;
    let options = BatchOptions { executor: Executor::Gpu, precision: Precision::F32, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(&model, count)], &options)?;
    let n_u = batch.n_controls();
    let controls =
        |step: u64| -> Vec<f64> { (0..n_u as u64).map(|k| AMPLITUDE * random::symmetric(1, 0, step, k)).collect() };
    for step in 0..SETTLE {
        batch.step(&controls(step))?;
    }
    batch.keep_steps(true)?;
    let worlds: Vec<usize> = (0..count).collect();
    let ones = vec![1.0; count * model.n_v];
    let [mut q, mut v, mut tau] = [0, 1, 2].map(|_| vec![0.0; count * model.n_v]);
    let mut ctrl = vec![0.0; n_u];
    let (mut steps, mut backs, mut valid) = (Vec::new(), Vec::new(), 0);
    for round in 0..ROUNDS {
        let clock = Instant::now();
        batch.step(&controls(SETTLE + round as u64))?;
        batch.wait()?;
        steps.push(clock.elapsed());
        let clock = Instant::now();
        let to = InputsMut { q: &mut q, v: &mut v, tau: &mut tau, ctrl: &mut ctrl, ..InputsMut::default() };
        let certificates =
            batch.back_all(&worlds, &OutputSlices { q: &ones, v: &ones, ..OutputSlices::default() }, to)?;
        backs.push(clock.elapsed());
        valid = certificates.iter().filter(|certificate| certificate.valid()).count();
    }
    let each = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e6 / count as f64
    };
    let found = Gradients { step: each(&mut steps), back: each(&mut backs), valid: valid as f64 / count as f64 };
    println!("{}", serde_json::to_string(&found)?);
    Ok(())
}

/// Measures one scene.
pub(crate) fn run(scene: &str, worlds: usize, limit: Duration) -> Result<Gradients> {
    let mut command = child::part()?;
    command.args(["part", "gradients", scene, &worlds.to_string()]);
    child::json(&mut command, limit).with_context(|| format!("gradients of {scene}, {worlds} worlds"))
}
