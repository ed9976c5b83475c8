//! Small batches for tests through the public crate: models from a few lines of MJCF, on both executors.

use std::path::Path;

use manyworlds::model::from_mjcf_str;
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Model, Precision, State, Summary};

use crate::parity::device;

/// Acceleration of gravity in [`mjcf`]'s models, m/s^2.
pub const G: f64 = 9.81;

/// The model of some MJCF within `<mujoco>`, stepped by `h` seconds under gravity along -z.
///
/// # Panics
/// If it does not load.
#[must_use]
pub fn mjcf(h: f64, body: &str) -> Model {
    let text = format!("<mujoco><option timestep=\"{h}\" gravity=\"0 0 -{G}\"/>{body}</mujoco>");
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    from_mjcf_str("test.xml", &text, &nothing, &ImportOptions::default()).expect("the model loads").model
}

/// Tight settings in f64 on the CPU.
#[must_use]
pub fn tight() -> BatchOptions {
    BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-11,
        iterations: 1000,
        ..Default::default()
    }
}

/// Settings for each executor in f64, by name: the device's are missing where the switch says that there is none.
///
/// # Panics
/// If there is no adapter and no switch that says so.
#[must_use]
pub fn executors(options: &BatchOptions) -> Vec<(&'static str, BatchOptions)> {
    let mut all = vec![("cpu", options.clone())];
    if let Some(device) = device().expect("an adapter, or the switch that says there is none") {
        all.push(("gpu", BatchOptions { device: Some(device), ..options.clone() }));
    }
    all
}

/// A batch of worlds of one model.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn batch(model: &Model, worlds: usize, options: &BatchOptions) -> Batch {
    Batch::new(&[(model, worlds)], options).expect("the batch is made")
}

/// Steps without changing controls.
///
/// # Panics
/// If a step fails.
pub fn run(batch: &mut Batch, steps: usize) {
    (0..steps).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
}

/// Brings a batch of one world to rest by as many steps; where that of another executor has come to rest, it begins there.
///
/// # Panics
/// If a step fails.
pub fn settle(batch: &mut Batch, steps: usize, rested: &mut Option<State>) {
    if let Some(rested) = rested {
        batch.reset(&[(0, rested.clone())]).expect("a state");
    } else {
        run(batch, steps);
        *rested = Some(state(batch, 0));
    }
}

/// State of a world.
///
/// # Panics
/// If there is no such world.
#[must_use]
pub fn state(batch: &mut Batch, world: usize) -> State {
    batch.state(world).expect("a state")
}

/// How the last step of every world went.
///
/// # Panics
/// If the batch failed.
#[must_use]
pub fn summaries(batch: &mut Batch) -> Vec<Summary> {
    let mut all = Vec::new();
    batch.summaries(&mut all).expect("summaries");
    all
}

/// The same of the first world.
///
/// # Panics
/// If the batch failed.
#[must_use]
pub fn summary(batch: &mut Batch) -> Summary {
    summaries(batch)[0]
}

/// The largest magnitude; a NaN counts as the largest of all.
#[must_use]
pub fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().map(|x| x.abs()).fold(0.0, |most, x| if x <= most { most } else { x })
}

/// The largest difference between entries.
///
/// # Panics
/// If there are not as many of both.
#[must_use]
pub fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    largest(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>())
}

/// Bits of position and velocity.
#[must_use]
pub fn bits(state: &State) -> Vec<u64> {
    state.q.iter().chain(&state.v).map(|x| x.to_bits()).collect()
}

/// A world one step on from a state, with what `set` sets before; the step is kept.
///
/// # Panics
/// If a call fails.
pub fn stepped(model: &Model, from: &State, set: &dyn Fn(&mut Batch)) -> Batch {
    let mut made = batch(model, 1, &tight());
    made.keep_steps(true).expect("kept");
    set(&mut made);
    made.reset(&[(0, from.clone())]).expect("a state");
    run(&mut made, 1);
    made
}
