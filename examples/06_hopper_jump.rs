//! A short trajectory optimisation: controls with which a hopper is as high as can be after a fifth of a second, by gradient
//! steps on the gradient of the whole rollout, through its contacts.
//!
//! `cargo run --release -p manyworlds-examples --example 06_hopper_jump [-- FIGURE.svg]`

use manyworlds::{Batch, BatchOptions, Error, Executor, ImportOptions, Precision, State};
use manyworlds_examples::chart::{Panel, draw_if_asked};

/// Steps of 2 ms.
const STEPS: usize = 100;
/// Entries of q and v: height and pitch of the torso.
const HEIGHT: usize = 1;
const PITCH: usize = 2;
/// Memory for the way back, B.
const MEMORY: usize = 16 << 20;

/// Height of the torso at the end over that at the start, m, by iteration.
fn solve(iterations: usize) -> Result<Vec<f64>, Error> {
    let model = manyworlds::load("hopper", &ImportOptions::default())?.model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-10,
        iterations: 500,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options)?;
    // It crouches on a flat foot.
    let crouch = vec![0.0, -0.187, 0.0, -0.25, -0.5, 0.75];
    batch.reset(&[(0, State { q: crouch, ..State::default() })])?;
    let start = batch.checkpoint()?;
    let before = batch.state(0)?.q[HEIGHT];
    let n = batch.n_controls();
    let mut controls = vec![0.0; STEPS * n];
    // Adam (D. Kingma and J. Ba, 2015): steps of one size, whatever the gradient's.
    let (mut mean, mut square) = (vec![0.0; controls.len()], vec![0.0; controls.len()]);
    let mut heights = Vec::new();
    for iteration in 0..iterations {
        batch.restore(&start)?;
        let rollout = batch.rollout(STEPS, &controls, MEMORY)?;
        let last = batch.state(0)?;
        heights.push(last.q[HEIGHT] - before);
        let found = batch.backward(&rollout, |step, _, state, out| {
            if step + 1 < STEPS {
                return 0.0;
            }
            // As high and as upright as can be.
            (out.q[HEIGHT], out.q[PITCH]) = (-1.0, 0.2 * state.q[PITCH]);
            -state.q[HEIGHT] + 0.1 * state.q[PITCH] * state.q[PITCH]
        })?;
        let power = iteration as i32 + 1;
        for (k, g) in found.worlds[0].ctrl.iter().enumerate() {
            mean[k] = 0.9 * mean[k] + 0.1 * g;
            square[k] = 0.99 * square[k] + 0.01 * g * g;
            let (m, s) = (mean[k] / (1.0 - 0.9_f64.powi(power)), square[k] / (1.0 - 0.99_f64.powi(power)));
            controls[k] = (controls[k] - 0.05 * m / (s.sqrt() + 1e-12)).clamp(-1.0, 1.0);
        }
    }
    Ok(heights)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let heights = solve(40)?;
    for (iteration, height) in heights.iter().enumerate().step_by(4) {
        println!("iteration {iteration}: torso {height:+.3} m");
    }
    let label = "torso after 0.2 s over the start, m";
    draw_if_asked(&[Panel::of_iterations("hopper jump: Adam on a rollout", label, false, &[("height", heights)])])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_jumps_higher() {
        let heights = super::solve(40).expect("a solution");
        let (first, last) = (heights[0], heights[heights.len() - 1]);
        assert!(last > first + 0.05, "{heights:?}");
    }
}
