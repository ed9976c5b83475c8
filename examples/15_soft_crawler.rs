//! A soft bar learns to crawl by a pressure in a part of it: gradients of the way by the pressures go back through all steps,
//! contact and all, and Adam follows them. The gait is periodic; what is learned are the pressures of a period.
//!
//! `cargo run --release -p manyworlds-examples --example 15_soft_crawler [-- FIGURE.svg [GAIT.csv]]`; for a figure it learns three
//! times as long.

use std::fmt::Write as _;

use manyworlds::{Batch, BatchOptions, Error, Executor, ImportOptions, Model, Precision, load};
use manyworlds_examples::chart::{Panel, draw_if_asked};

/// Steps of a period, and periods of a run.
const PERIOD: usize = 20;
const PERIODS: usize = 10;
/// Largest pressure, Pa.
const MOST: f64 = 1e5;
/// Memory of the checkpoints, B.
const MEMORY: usize = 256 << 20;
/// Adam's: rate, and the shares of what was that are kept.
const RATE: f64 = 0.15;
const KEPT: [f64; 2] = [0.8, 0.95];

/// Pressure of a parameter, Pa, and its derivative.
fn pressure(x: f64) -> [f64; 2] {
    let share = 1.0 / (1.0 + (-x).exp());
    [MOST * share, MOST * share * (1.0 - share)]
}

/// How far the bar comes with a gait, m, and the gradient of that by its parameters.
fn crawl(model: &Model, gait: &[f64]) -> Result<(f64, Vec<f64>), Error> {
    let options =
        BatchOptions { executor: Executor::Cpu, precision: Precision::F64, tolerance: 1e-9, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(model, 1)], &options)?;
    let steps = PERIOD * PERIODS;
    let controls: Vec<f64> = (0..steps).map(|step| pressure(gait[step % PERIOD])[0]).collect();
    let rollout = batch.rollout::<f64>(steps, &controls, MEMORY)?;
    let nodes = model.n_q as f64 / 3.0;
    let found = batch.backward(&rollout, |step, _, state, out| {
        if step + 1 < steps {
            return 0.0;
        }
        let along = || (0..state.q.len()).step_by(3);
        along().for_each(|i| out.q[i] = 1.0 / nodes);
        along().map(|i| state.q[i]).sum::<f64>() / nodes
    })?;
    let world = &found.worlds[0];
    let mut gradient = vec![0.0; PERIOD];
    for (step, by) in world.ctrl.iter().enumerate() {
        gradient[step % PERIOD] += by * pressure(gait[step % PERIOD])[1];
    }
    Ok((world.loss, gradient))
}

/// The gait at first: up and down once a period.
fn start() -> Vec<f64> {
    (0..PERIOD).map(|k| -2.0 * (std::f64::consts::TAU * (k as f64 + 0.5) / PERIOD as f64).cos()).collect()
}

/// Ways by iteration, m, and the best gait.
fn learned(model: &Model, iterations: usize) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let mut gait = start();
    let mut best = (0.0, gait.clone());
    let (mut mean, mut square) = (vec![0.0; PERIOD], vec![0.0; PERIOD]);
    let mut ways = Vec::new();
    for iteration in 1..=iterations {
        let (way, gradient) = crawl(model, &gait)?;
        // Backwards is as good as forwards: it goes on in the way it went first.
        let sign = ways.first().map_or(way, |first: &f64| *first).signum();
        ways.push(way);
        if sign * way > best.0 {
            best = (sign * way, gait.clone());
        }
        let [first, second] = KEPT;
        let unbiased = KEPT.map(|kept| 1.0 - kept.powi(iteration as i32));
        for (k, gradient) in gradient.iter().enumerate() {
            mean[k] = first * mean[k] + (1.0 - first) * gradient;
            square[k] = second * square[k] + (1.0 - second) * gradient * gradient;
            gait[k] += sign * RATE * (mean[k] / unbiased[0]) / ((square[k] / unbiased[1]).sqrt() + 1e-12);
        }
    }
    Ok((ways, best.1))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = load("soft-crawler", &ImportOptions::default())?.model;
    let figure = std::env::args().nth(1).is_some();
    let (ways, gait) = learned(&model, if figure { 60 } else { 20 })?;
    for (iteration, way) in ways.iter().enumerate().step_by(5) {
        println!("{iteration:3}  {:7.2} mm in {PERIODS} periods", way * 1e3);
    }
    if let Some(path) = std::env::args().nth(2) {
        let mut rows = String::from("t,worm:activation\n");
        for step in 0..5 * PERIOD * PERIODS {
            writeln!(rows, "{:.3},{:.0}", step as f64 * model.options.timestep, pressure(gait[step % PERIOD])[0])?;
        }
        std::fs::write(path, rows)?;
    }
    let way: Vec<f64> = ways.iter().map(|way| way.abs() * 1e3).collect();
    let lines = [("Adam on gradients through contact", way)];
    draw_if_asked(&[Panel::of_iterations("a soft bar learns to crawl", "way in a second, mm", false, &lines)])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use manyworlds::{ImportOptions, load};

    use super::learned;

    #[test]
    fn a_few_gradients_double_the_way() {
        let model = load("soft-crawler", &ImportOptions::default()).expect("the scene").model;
        let (ways, _) = learned(&model, 6).expect("a gait");
        assert!(ways[0].abs() > 1e-3 && ways[5] / ways[0] > 2.0, "{ways:?}");
    }
}
