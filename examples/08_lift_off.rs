//! Getting off the ground: the force that lifts a box to a height, by gradient descent from a force that does not move it.
//!
//! While the box stays on the floor, the force changes nothing: the gradient is zero, and descent goes nowhere. Saddle
//! escape ([`GradientRules::escape`], after K. Werling et al. 2021, section 4.4) tries the contacts that hold back what the
//! loss wants as if they let go.
//!
//! `cargo run --release -p manyworlds-examples --example 08_lift_off [-- FIGURE.svg]`

use manyworlds::{Batch, BatchOptions, Error, Executor, GradientRules, ImportOptions, Precision, State};
use manyworlds_examples::chart::{Panel, draw_if_asked};

const STEPS: usize = 40;
/// Wanted height of the box's centre, m; it stands at 0.1 m.
const WANTED: f64 = 0.4;
/// Memory of the checkpoints, B.
const MEMORY: usize = 64 << 20;

/// Losses and forces by iteration, N, from a force of 2 N on a box of 1 kg.
fn descend(escape: bool, iterations: usize) -> Result<Vec<(f64, f64)>, Error> {
    let model = manyworlds::load("free-box", &ImportOptions::default())?.model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-10,
        iterations: 1000,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options)?;
    batch.set_gradient_rules(GradientRules { escape, ..GradientRules::default() });
    let q = vec![0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0];
    let (mut force, mut found) = (2.0, Vec::new());
    for _ in 0..iterations {
        let tau = vec![0.0, 0.0, force, 0.0, 0.0, 0.0];
        batch.reset(&[(0, State { q: q.clone(), v: vec![0.0; 6], tau, ..State::default() })])?;
        let rollout = batch.rollout::<f64>(STEPS, &[], MEMORY)?;
        let gradient = batch.backward(&rollout, |step, _, state, out| {
            if step + 1 < STEPS {
                return 0.0;
            }
            let error = state.q[2] - WANTED;
            out.q[2] = 2.0 * error;
            error * error
        })?;
        found.push((gradient.worlds[0].loss, force));
        force -= 500.0 * gradient.worlds[0].tau[2];
    }
    Ok(found)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (plain, escaping) = (descend(false, 60)?, descend(true, 60)?);
    for k in (0..60).step_by(10).chain([59]) {
        let [(a, f), (b, g)] = [plain[k], escaping[k]];
        println!("iteration {k:2}: plain {f:.2} N, loss {a:.2e}; with saddle escape {g:.2} N, loss {b:.2e}");
    }
    let losses = |found: Vec<(f64, f64)>| found.into_iter().map(|(loss, _)| loss).collect();
    let lines = [("plain gradient", losses(plain)), ("with saddle escape", losses(escaping))];
    draw_if_asked(&[Panel::of_iterations(
        "lift-off: gradient descent",
        "squared error of the height, m²",
        true,
        &lines,
    )])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_saddle_escape_gets_off_the_ground() {
        let plain = super::descend(false, 5).expect("a descent");
        assert!(plain.iter().all(|&(_, force)| force == 2.0), "{plain:?}");
        let found = super::descend(true, 60).expect("a descent");
        let (loss, force) = found.last().expect("some");
        assert!(*loss < 1e-6 && *force > 9.81, "{found:?}");
    }
}
