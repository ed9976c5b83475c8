//! How stiff is a soft ball? The scene `soft-press` presses it with a known force, and the plate's height is recorded. From the
//! record Gauss-Newton finds Young's modulus: how the height at each time changes with it follows from the derivatives of the
//! steps, carried along as the ball is pressed.
//!
//! `cargo run --release -p manyworlds-examples --example 14_soft_press [-- FIGURE.svg]`

use manyworlds::random::symmetric;
use manyworlds::{
    Batch, BatchOptions, ControlCurve, Error, Executor, ImportOptions, InputSlices, Model, ModelParameter, OutputsMut,
    Parameter, Precision, Product, load, scenes,
};
use manyworlds_examples::chart::{Panel, draw_if_asked};

/// Seconds that are recorded.
const RECORDED: f64 = 1.5;
/// What the record is off by at most, m.
const NOISE: f64 = 2e-5;
/// The modulus that is to be found, and the first guess, Pa.
const TRUTH: f64 = 3e4;
const GUESS: f64 = 1e5;

struct Press {
    model: Model,
    force: ControlCurve,
    /// The ball's tree, and the entry of q that is the plate's way down.
    ball: usize,
    plate: usize,
}

impl Press {
    fn new() -> Result<Self, Error> {
        let model = load("soft-press", &ImportOptions::default())?.model;
        let scene = scenes::find("soft-press").and_then(scenes::Scene::controls).unwrap_or_default();
        let force = ControlCurve::from_csv(scene, &model, &[0.0])?;
        let ball = model.trees.iter().position(|tree| tree.soft.is_some()).unwrap_or(0);
        let plate = model.joints[0].q_start;
        Ok(Self { model, force, ball, plate })
    }

    /// The plate's way at each step of a press, m, and its derivative by Young's modulus if that is wanted, m/Pa.
    fn pressed(&self, young: f64, dt: f64, wanted: bool) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let options = BatchOptions {
            executor: Executor::Cpu,
            precision: Precision::F64,
            dt: Some(dt),
            tolerance: 1e-10,
            ..BatchOptions::default()
        };
        let mut batch = Batch::new(&[(&self.model, 1)], &options)?;
        batch.set_parameter(0, self.ball, Parameter::Young, &[young])?;
        batch.keep_steps(wanted)?;
        let by = [ModelParameter::Tree { tree: self.ball, parameter: Parameter::Young }];
        let n = self.model.n_v;
        let [mut q, mut v] = [vec![0.0; n], vec![0.0; n]];
        let [mut way, mut slope] = [Vec::new(), Vec::new()];
        for step in 0..(RECORDED / dt).round() as usize {
            batch.step(&self.force.at(step as f64 * dt))?;
            way.push(batch.state(0)?.q[self.plate]);
            if !wanted {
                continue;
            }
            // What has changed before the step goes through it, and the step itself changes.
            let [mut q_next, mut v_next] = [vec![0.0; n], vec![0.0; n]];
            let from = InputSlices { q: &q, v: &v, ..InputSlices::default() };
            batch.differentiate(
                &[0],
                Product::Along { from, to: OutputsMut { q: &mut q_next, v: &mut v_next, ..OutputsMut::default() } },
            )?;
            let own = batch.parameter_derivatives(0, &by)?.columns.remove(0);
            q_next.iter_mut().zip(own.q).for_each(|(sum, x)| *sum += x);
            v_next.iter_mut().zip(own.v).for_each(|(sum, x)| *sum += x);
            (q, v) = (q_next, v_next);
            slope.push(q[self.plate]);
        }
        Ok((way, slope))
    }

    /// What a press of a ball of a modulus leaves in the place of a record: made with steps of a quarter, and noise.
    fn record(&self, young: f64, noise: f64) -> Result<Vec<f64>, Error> {
        let (way, _) = self.pressed(young, self.model.options.timestep / 4.0, false)?;
        let each = way.iter().skip(3).step_by(4).enumerate();
        Ok(each.map(|(step, way)| way + noise * symmetric(0, 0, step as u64, 0)).collect())
    }

    /// Young's modulus by iteration of Gauss-Newton, on its logarithm.
    fn found(&self, record: &[f64], dt: f64, iterations: usize) -> Result<Vec<f64>, Error> {
        let mut guesses = vec![GUESS];
        for _ in 0..iterations {
            let young = guesses[guesses.len() - 1];
            let (way, slope) = self.pressed(young, dt, true)?;
            let (mut along, mut square) = (0.0, 0.0);
            for ((way, slope), recorded) in way.iter().zip(&slope).zip(record) {
                along += slope * young * (recorded - way);
                square += (slope * young).powi(2);
            }
            // No more than a factor of three at once.
            guesses.push(young * (along / square).clamp(-1.1, 1.1).exp());
        }
        Ok(guesses)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let press = Press::new()?;
    let dt = press.model.options.timestep;
    let record = press.record(TRUTH, NOISE)?;
    let guesses = press.found(&record, dt, 6)?;
    println!("iteration  Young's modulus, Pa  relative error");
    for (iteration, young) in guesses.iter().enumerate() {
        println!("{iteration:9}  {young:19.1}  {:14.1e}", young / TRUTH - 1.0);
    }
    let errors = guesses.iter().map(|young| (young / TRUTH - 1.0).abs()).collect();
    let line = [("Gauss-Newton", errors)];
    draw_if_asked(&[Panel::of_iterations("Young's modulus of a pressed ball", "relative error", true, &line)])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Press, TRUTH};

    #[test]
    fn derivatives_of_a_press_are_those_of_differences() {
        let press = Press::new().expect("the scene");
        let dt = press.model.options.timestep;
        let (_, slope) = press.pressed(TRUTH, dt, true).expect("a press");
        let by = 1e-4 * TRUTH;
        let [ahead, behind] = [by, -by].map(|by| press.pressed(TRUTH + by, dt, false).expect("a press").0);
        let last = slope.len() - 1;
        let wanted = (ahead[last] - behind[last]) / (2.0 * by);
        assert!((slope[last] / wanted - 1.0).abs() < 1e-4, "{} {wanted}", slope[last]);
    }

    #[test]
    fn stiffness_is_found_from_a_record() {
        let press = Press::new().expect("the scene");
        let dt = press.model.options.timestep;
        let record = press.record(TRUTH, 0.0).expect("a record");
        let found = press.found(&record, dt, 5).expect("a search");
        assert!((found[5] / TRUTH - 1.0).abs() < 0.01 && (found[0] / TRUTH - 1.0).abs() > 1.0, "{found:?}");
    }
}
