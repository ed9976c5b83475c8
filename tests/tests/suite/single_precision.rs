//! What a batch in single precision says of its steps: the residual that it certifies is the one that the law has, in double
//! precision, at the velocity that the state got, and it is small.

use manyworlds::contact::residual::closed_form;
use manyworlds::contact::{ContactProblem, quality};
use manyworlds::{
    Batch, BatchOptions, Executor, ImportOptions, Model, Precision, State, StepProblem, Summary, load, scenes, status,
};
use manyworlds_tests::batches::summary;
use manyworlds_tests::parity::device;

/// m/s
const AIM: f64 = 1e-5;

fn scene(name: &str) -> Model {
    load(name, &ImportOptions::default()).expect("a built-in scene").model
}

fn options(name: &str, solver: &str) -> BatchOptions {
    let iterations = scenes::find(name).expect("a built-in scene").solver.iterations;
    BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F32,
        solver: solver.into(),
        tolerance: 1e-8,
        iterations,
        ..Default::default()
    }
}

fn batch(name: &str, options: &BatchOptions) -> Batch {
    let model = scene(name);
    let mut batch = Batch::new(&[(&model, 1)], options).expect("a batch");
    let wanted = scenes::find(name).and_then(|scene| scene.keyframe.clone());
    if let Some(key) = model.keyframes.iter().find(|key| Some(&key.name) == wanted.as_ref()) {
        let state =
            State { q: key.q.clone(), v: key.v.clone(), ctrl: key.ctrl.clone(), tau: Vec::new(), act: Vec::new() };
        batch.reset(&[(0, state)]).expect("a reset");
    }
    batch
}

fn step(batch: &mut Batch) {
    batch.step::<f64>(&[]).expect("a step");
}

/// The largest scaled defect of a law at a velocity, m/s: from its formulas alone.
fn left_at(problem: &ContactProblem, lambda: &[f64], v: &[f64]) -> f64 {
    let mut most = 0.0f64;
    for c in &problem.constraints {
        let (g, n) = (&c.delassus, c.law.rows());
        let rho = if n == 3 { 3.0 / (g[0] + g[3] + g[5]) } else { 1.0 / g[0] };
        let mut own = [0.0; 3];
        own[..n].copy_from_slice(&lambda[c.row..c.row + n]);
        let closed = closed_form(c.law, rho, own, problem.sigma(c, v), c.e);
        let left = own.iter().zip(closed).map(|(l, t)| (l - t).powi(2)).sum::<f64>().sqrt() / rho;
        most = most.max(left);
    }
    most
}

/// Checks that a step's certificate is what its law leaves, and that its velocity is the impulses'.
fn check(name: &str, batch: &mut Batch) -> (Summary, StepProblem) {
    let found = summary(batch);
    let given = batch.contact_problem(0).expect("a problem");
    let after = batch.state(0).expect("a state").v;
    let problem = &given.problem;
    let exact = problem.velocity(&given.impulse);
    for (i, (x, y)) in after.iter().zip(&exact).enumerate() {
        let apart = (x - y).abs();
        assert!(apart <= f64::from(f32::EPSILON) * y.abs() + 1e-30, "{name}: v[{i}] is {x}, by the impulses {y}");
    }
    let left = left_at(problem, &given.impulse, &after).max(left_at(problem, &given.impulse, &exact));
    let off = (left - found.residual_scaled).abs();
    assert!(off <= 1e-9 * left + 1e-15, "{name}: certified {}, left {left}", found.residual_scaled);
    let whole = quality(problem, &given.impulse, &exact);
    assert!(whole.residual <= found.residual * (1.0 + 1e-9), "{name}: {found:?}, {whole:?}");
    (found, given)
}

/// What is left of the law where impulses are rounded as they are stored.
fn rounded(given: &StepProblem) -> f64 {
    let stored: Vec<f64> = given.impulse.iter().map(|&x| f64::from(x as f32)).collect();
    quality(&given.problem, &stored, &given.velocity).residual_scaled
}

#[test]
fn steps_whose_impulses_cancel_are_certified_by_the_velocity_of_the_state() {
    for (name, settle) in [("heavy-stack", 100), ("flexible-beam", 20)] {
        for solver in ["newton-cr", "auto"] {
            let mut batch = batch(name, &options(name, solver));
            (0..settle).for_each(|_| step(&mut batch));
            for _ in 0..3 {
                step(&mut batch);
                let (found, given) = check(name, &mut batch);
                assert!(found.stage.is_some(), "{name}, {solver}: the host had a part");
                assert!(found.residual_scaled < AIM, "{name}, {solver}: {found:?}");
                // Sums of rounded impulses could not say so.
                assert!(rounded(&given) > 5e-7, "{name}, {solver}: {}", rounded(&given));
            }
        }
    }
}

#[test]
fn what_is_not_solved_is_not_certified() {
    // The host gets one iteration too, and it is not enough.
    let few = BatchOptions { iterations: 1, ..options("heavy-stack", "canal") };
    let mut batch = batch("heavy-stack", &few);
    for _ in 0..3 {
        step(&mut batch);
        let (found, _) = check("heavy-stack", &mut batch);
        assert!(found.stage.is_some(), "the host had a part");
        assert!(found.residual_scaled > 1.0 && found.status == status::ITERATION_LIMIT, "{found:?}");
    }
}

#[test]
fn tables_that_land_on_tables_are_solved_by_what_follows_newtons_steps() {
    let mut batch = batch("table-pile", &options("table-pile", "newton-cr"));
    (0..70).for_each(|_| step(&mut batch));
    for _ in 0..4 {
        step(&mut batch);
        let (found, _) = check("table-pile", &mut batch);
        assert!(found.contacts > 500 && found.residual_scaled < AIM, "{found:?}");
    }
}

#[test]
fn a_device_has_its_steps_certified_too() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    for solver in ["newton-cr", "auto"] {
        let on_host = options("heavy-stack", solver);
        let on_device = BatchOptions { device: Some(device.clone()), executor: Executor::Gpu, ..on_host };
        let mut batch = batch("heavy-stack", &on_device);
        (0..10).for_each(|_| step(&mut batch));
        let (found, _) = check("heavy-stack", &mut batch);
        assert!(found.stage.is_some() && found.residual_scaled < AIM, "{solver}: {found:?}");
    }
}

#[test]
fn a_reset_forgets_the_impulses_and_a_checkpoint_has_only_stored_ones() {
    let mut first = batch("flexible-beam", &options("flexible-beam", "newton-cr"));
    (0..5).for_each(|_| step(&mut first));
    let saved = first.checkpoint().expect("a checkpoint");
    let state = first.state(0).expect("a state");
    first.reset(&[(0, state)]).expect("a reset");
    // Its rows are gone, and with them their impulses.
    let given = first.contact_problem(0).expect("a problem");
    assert_eq!(given.impulse.len(), given.problem.n_rows);
    first.restore(&saved).expect("it is restored");
    step(&mut first);
    let (found, _) = check("flexible-beam", &mut first);
    assert!(found.residual_scaled < AIM, "{found:?}");
}
