//! Where was it thrown from: the velocity with which a box was pushed off, from where it stands while it still slides.
//!
//! Gauss-Newton steps on the velocity; the derivative of the box's place by it is the chain of the derivatives of the
//! steps, through four sliding contacts (after Q. Le Lidec et al. 2024, section IV-B).
//!
//! `cargo run --release -p manyworlds-examples --example 04_cube_throw [-- FIGURE.svg]`

use manyworlds::tangent::between;
use manyworlds::{Batch, BatchOptions, Error, Executor, ImportOptions, Inputs, Model, Precision, State};
use manyworlds_examples::chart::{Panel, draw_if_asked};
use manyworlds_examples::{gauss_newton_step, norm};

/// Steps of 5 ms.
const STEPS: usize = 60;
/// What is unknown: the velocity along x and y, m/s, and about z, rad/s; entries of v.
const UNKNOWN: [usize; 3] = [0, 1, 5];
const TRUE: [f64; 3] = [3.0, -1.0, 2.0];

fn batch(model: &Model) -> Result<Batch, Error> {
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-12,
        iterations: 2000,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(model, 1)], &options)?;
    batch.keep_steps(true)?;
    Ok(batch)
}

/// The place after the throw, and its derivative by the unknown, `[6][3]`.
fn throw(batch: &mut Batch, unknown: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let mut v = vec![0.0; 6];
    UNKNOWN.iter().zip(unknown).for_each(|(&k, x)| v[k] = *x);
    // Flat on the floor.
    let q = vec![0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0];
    batch.reset(&[(0, State { q, v, ..State::default() })])?;
    let mut columns = UNKNOWN.map(|k| {
        let mut v = vec![0.0; 6];
        v[k] = 1.0;
        Inputs { q: vec![0.0; 6], v, ..Inputs::default() }
    });
    for _ in 0..STEPS {
        batch.step::<f64>(&[])?;
        let jacobian = batch.jacobian(0)?;
        for column in &mut columns {
            let out = jacobian.along(column);
            (column.q, column.v) = (out.q, out.v);
        }
    }
    let table = (0..6).flat_map(|row| columns.iter().map(move |column| column.q[row])).collect();
    Ok((batch.state(0)?.q, table))
}

/// Errors of the velocity, m/s, by iteration.
fn solve(iterations: usize) -> Result<Vec<f64>, Error> {
    let model = manyworlds::load("free-box", &ImportOptions::default())?.model;
    let mut batch = batch(&model)?;
    let (target, _) = throw(&mut batch, &TRUE)?;
    let mut guess = [1.5, 0.5, 0.5];
    let mut errors = Vec::new();
    for _ in 0..iterations {
        let error: Vec<f64> = guess.iter().zip(TRUE).map(|(a, b)| a - b).collect();
        errors.push(norm(&error));
        let (place, jacobian) = throw(&mut batch, &guess)?;
        let Some(step) = gauss_newton_step(&jacobian, &between(&model, &target, &place), 3, 0.0) else { break };
        guess.iter_mut().zip(step).for_each(|(x, d)| *x += d);
    }
    Ok(errors)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let errors = solve(12)?;
    for (iteration, error) in errors.iter().enumerate() {
        println!("iteration {iteration}: velocity off by {error:.2e} m/s");
    }
    let panel =
        Panel::of_iterations("cube-throw: Gauss-Newton", "error of the velocity, m/s", true, &[("error", errors)]);
    draw_if_asked(&[panel])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_velocity_is_found() {
        let errors = super::solve(12).expect("a solution");
        assert!(errors[0] > 1.0 && *errors.last().expect("some") < 1e-8, "{errors:?}");
    }
}
