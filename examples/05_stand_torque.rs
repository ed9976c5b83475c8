//! The torques that hold a quadruped still: found in a few Gauss-Newton steps through its four contacts (after Q. Le Lidec
//! et al. 2024, section IV-B).
//!
//! `cargo run --release -p manyworlds-examples --example 05_stand_torque [-- FIGURE.svg]`

use manyworlds::{Batch, BatchOptions, Error, Executor, ImportOptions, Precision, State};
use manyworlds_examples::chart::{Panel, draw_if_asked};
use manyworlds_examples::{gauss_newton_step, norm};

/// Speeds of the robot after one step without any torque and after each iteration, m/s and rad/s.
fn solve(iterations: usize) -> Result<Vec<f64>, Error> {
    let model = manyworlds::load("quadruped", &ImportOptions::default())?.model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-12,
        iterations: 2000,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options)?;
    batch.keep_steps(true)?;
    // Let it come to rest on its drives.
    for _ in 0..1000 {
        batch.step::<f64>(&[])?;
    }
    let stand = batch.state(0)?;
    // Drives that aim where the joints are give no torque: the trunk sinks.
    let (first, n) = (6, model.actuators.len());
    let mut ctrl = stand.q[7..7 + n].to_vec();
    let mut speeds = Vec::new();
    for _ in 0..iterations {
        let state = State { v: vec![0.0; model.n_v], ctrl: ctrl.clone(), ..stand.clone() };
        batch.reset(&[(0, state)])?;
        batch.step::<f64>(&[])?;
        let after = batch.state(0)?;
        speeds.push(norm(&after.v));
        let jacobian = batch.jacobian(0)?;
        debug_assert_eq!(first + n, model.n_v);
        let Some(step) = gauss_newton_step(&jacobian.dv_dctrl, &after.v, n, 1e-12) else { break };
        ctrl.iter_mut().zip(step).for_each(|(x, d)| *x += d);
    }
    Ok(speeds)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let speeds = solve(10)?;
    for (iteration, speed) in speeds.iter().enumerate() {
        println!("iteration {iteration}: speed after a step {speed:.2e}");
    }
    let label = "speed after a step, m/s and rad/s";
    draw_if_asked(&[Panel::of_iterations("stand-torque: Gauss-Newton", label, true, &[("speed", speeds)])])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_stands_still() {
        let speeds = super::solve(10).expect("a solution");
        assert!(speeds[0] > 1e-3 && speeds.iter().any(|&speed| speed < 1e-5), "{speeds:?}");
    }
}
