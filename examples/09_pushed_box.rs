//! What is it made of: mass and friction of a box from how it slides while it is pushed, and after.
//!
//! Gauss-Newton steps on both; the derivative of the path is carried from step to step with the derivatives of each step by
//! its state and by the parameters.
//!
//! `cargo run --release -p manyworlds-examples --example 09_pushed_box [-- FIGURE.svg]`

use manyworlds::{
    Batch, BatchOptions, Error, Executor, GeomParameter, ImportOptions, Inputs, Model, ModelParameter, Parameter,
    Precision, State,
};
use manyworlds_examples::chart::{Panel, draw_if_asked};
use manyworlds_examples::{gauss_newton_step, norm};

/// Steps of 5 ms; it is pushed in the first half.
const STEPS: usize = 80;
/// Force, N.
const PUSH: f64 = 14.0;
/// Mass, kg, and friction coefficient.
const TRUE: [f64; 2] = [1.7, 0.45];

/// The path (x, y of every step), and its derivative by mass and friction, `[2 STEPS][2]`.
fn push(model: &Model, unknown: [f64; 2]) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-12,
        iterations: 2000,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(model, 1)], &options)?;
    batch.set_parameter(0, 0, Parameter::BodyMass(0), &[unknown[0]])?;
    (0..2).try_for_each(|geom| batch.set_geom(0, geom, GeomParameter::Friction, &[unknown[1]]))?;
    batch.keep_steps(true)?;
    let parameters = [
        ModelParameter::Tree { tree: 0, parameter: Parameter::BodyMass(0) },
        ModelParameter::Friction { geoms: [0, 1] },
    ];
    let mut state = State {
        q: vec![0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0],
        v: vec![0.0; 6],
        tau: vec![0.0; 6],
        ctrl: Vec::new(),
        act: Vec::new(),
    };
    let mut columns = [(); 2].map(|()| Inputs { q: vec![0.0; 6], v: vec![0.0; 6], ..Inputs::default() });
    let (mut path, mut slopes) = (Vec::new(), Vec::new());
    for step in 0..STEPS {
        state.tau[0] = if step < STEPS / 2 { PUSH } else { 0.0 };
        batch.reset(&[(0, state.clone())])?;
        batch.step::<f64>(&[])?;
        let jacobian = batch.jacobian(0)?;
        let direct = batch.parameter_derivatives(0, &parameters)?.columns;
        for (column, direct) in columns.iter_mut().zip(direct) {
            let mut out = jacobian.along(column);
            out.q.iter_mut().zip(direct.q).for_each(|(sum, x)| *sum += x);
            out.v.iter_mut().zip(direct.v).for_each(|(sum, x)| *sum += x);
            (column.q, column.v) = (out.q, out.v);
        }
        let after = batch.state(0)?;
        (state.q, state.v) = (after.q, after.v);
        path.extend_from_slice(&state.q[..2]);
        (0..2).for_each(|row| slopes.extend(columns.iter().map(|column| column.q[row])));
    }
    Ok((path, slopes))
}

/// Errors of mass, kg, and friction by iteration.
fn solve(iterations: usize) -> Result<Vec<[f64; 2]>, Error> {
    let model = manyworlds::load("free-box", &ImportOptions::default())?.model;
    let (seen, _) = push(&model, TRUE)?;
    let mut guess = [1.2, 0.7];
    let mut errors = Vec::new();
    for _ in 0..iterations {
        errors.push(std::array::from_fn(|k| guess[k] - TRUE[k]));
        let (path, slopes) = push(&model, guess)?;
        let residual: Vec<f64> = path.iter().zip(&seen).map(|(a, b)| a - b).collect();
        if norm(&residual) == 0.0 {
            break;
        }
        let Some(step) = gauss_newton_step(&slopes, &residual, 2, 0.0) else { break };
        guess.iter_mut().zip(step).for_each(|(x, d)| *x += d);
    }
    Ok(errors)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let errors = solve(10)?;
    for (iteration, [mass, friction]) in errors.iter().enumerate() {
        println!("iteration {iteration}: mass off by {mass:.2e} kg, friction by {friction:.2e}");
    }
    let of = |k: usize| errors.iter().map(|error| error[k].abs()).collect();
    let lines = [("mass, kg", of(0)), ("friction", of(1))];
    draw_if_asked(&[Panel::of_iterations("pushed box: Gauss-Newton", "error", true, &lines)])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn mass_and_friction_are_found() {
        let errors = super::solve(12).expect("a solution");
        let [mass, friction] = errors.last().expect("some");
        assert!(mass.abs() < 1e-7 && friction.abs() < 1e-7, "{errors:?}");
    }
}
