//! What the scaling of impulses beside velocities does to Newton's method with conjugate residuals (Macklin et al. 2019,
//! figure 17): one step of a stack of boxes of 8 to 32768 kg, and of an arch of twenty wedges, from zero impulses.
//!
//! An NCP function compares a velocity with `r` times an impulse. The paper's positions and forces are ours by a time step
//! each, so its r = 1 is our `1 / h^2`, its r = h^2 our 1, both 1/kg; its own choice is the effective mass, contact by
//! contact. As printed: 50 linear iterations, damping 0.75, no finishing stage.
//!
//! `cargo run --release -p manyworlds-examples --example 11_preconditioner [-- FIGURE.svg]`

use manyworlds::contact::{ContactProblem, NewtonCrParams, Scaling, SolveSettings, solve_with};
use manyworlds::{Batch, BatchOptions, Error, Executor, ImportOptions, Precision};
use manyworlds_examples::chart::{Curve, Panel, svg};

/// Newton iterations.
const ITERATIONS: u32 = 60;

/// The contact problem of a scene's step, from zero impulses, and its time step.
fn problem(scene: &str, steps: usize) -> Result<(ContactProblem, f64), Error> {
    let model = manyworlds::load(scene, &ImportOptions::default())?.model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        // The problem is to depend little on how the steps before it were solved.
        tolerance: 1e-10,
        iterations: 1000,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options)?;
    (0..steps).try_for_each(|_| batch.step::<f64>(&[]))?;
    let mut problem = batch.contact_problem(0)?.problem;
    problem.warm_start.fill(0.0);
    Ok((problem, model.options.timestep))
}

/// The scalings, by name.
fn scalings(h: f64) -> [(&'static str, Scaling); 3] {
    let uniform = |r: f64| Scaling::Uniform(r / (h * h));
    [("identity", uniform(1.0)), ("h^2", uniform(h * h)), ("effective mass", Scaling::EffectiveMass)]
}

/// Residual after each iteration, N s.
fn history(problem: &ContactProblem, scaling: Scaling) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let settings =
        SolveSettings { tolerance: 1e-12, iterations: ITERATIONS, history: true, ..SolveSettings::default() };
    Ok(solve_with(problem, &settings, &NewtonCrParams { scaling, ..NewtonCrParams::printed() })?.history)
}

/// First iteration from which on the residual is below 1e-8 N s, if there is one.
fn settled(history: &[f64]) -> Option<usize> {
    let first = history.iter().rposition(|&residual| residual > 1e-8).map_or(0, |last| last + 1);
    Some(first).filter(|&first| first < history.len())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut panels = Vec::new();
    for scene in ["heavy-stack", "arch"] {
        let (problem, h) = problem(scene, 30)?;
        let mut curves = Vec::new();
        for (name, scaling) in scalings(h) {
            let history = history(&problem, scaling)?;
            let best = history.iter().fold(f64::INFINITY, |least, &x| least.min(x));
            let when = settled(&history).map_or("never for good".into(), |k| format!("from iteration {k} on"));
            println!("{scene}, {name}: below 1e-8 N s {when}, {best:.1e} N s at best");
            let points = history.iter().enumerate().map(|(k, &x)| [k as f64, x.max(1e-12)]).collect();
            curves.push(Curve { name: name.into(), points, ..Curve::default() });
        }
        panels.push(Panel {
            title: scene.into(),
            labels: ["Newton iteration".into(), "residual, N s".into()],
            decades: true,
            range: [1e-12, 1e4],
            curves,
        });
    }
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(path, svg(&panels)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{history, problem, scalings, settled};

    /// Of problems from one run in the median: a single one takes what its redundant contacts make of it.
    #[test]
    fn effective_mass_leads_and_the_identity_lags() {
        for scene in ["heavy-stack", "arch"] {
            let mut all = [const { Vec::new() }; 3];
            for steps in (10..=50).step_by(5) {
                let (problem, h) = problem(scene, steps).expect("a problem");
                for ((_, scaling), all) in scalings(h).into_iter().zip(&mut all) {
                    all.push(settled(&history(&problem, scaling).expect("a solve")).unwrap_or(usize::MAX));
                }
            }
            let [identity, squared, mass] = all.map(|mut all| {
                all.sort_unstable();
                all[all.len() / 2]
            });
            assert!(mass < 40 && mass.max(squared) < identity, "{scene}: {identity} {squared} {mass}");
        }
    }
}
