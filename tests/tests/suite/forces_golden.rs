//! Applied forces against MuJoCo: `golden/forces/*.json`.

use manyworlds::{Batch, BatchOptions, Error, Executor, FieldId, Forces, Integrator, Precision, State};
use manyworlds_model::{ImportOptions, Model, load};
use serde::Deserialize;

/// Of the largest entry: both compute in double precision; ways round the inside of an obstacle end when an angle is known to
/// 1e-6, and what that changes is its square.
const TOLERANCE: f64 = 1e-6;
/// Of the largest entry of a state after a second. Steps are of the first order, MuJoCo's here of the fourth: of two runs, with
/// steps of 0.2 and of 0.1 ms, twice the finer less the coarser is of the second.
const MOTION: f64 = 1e-4;
const MODELS: [&str; 4] = ["carried", "actuated", "tendons", "immersed"];

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
    motion: Motion,
}

#[derive(Deserialize)]
struct Case {
    q: Vec<f64>,
    v: Vec<f64>,
    ctrl: Vec<f64>,
    act: Vec<f64>,
    mass: Vec<f64>,
    bias: Vec<f64>,
    passive: Vec<f64>,
    actuator: Vec<f64>,
    tendons: Vec<f64>,
    act_after: Vec<f64>,
}

#[derive(Deserialize)]
struct Start {
    q: Vec<f64>,
    v: Vec<f64>,
    ctrl: Vec<f64>,
    act: Vec<f64>,
}

#[derive(Deserialize)]
struct End {
    q: Vec<f64>,
    v: Vec<f64>,
    act: Vec<f64>,
}

#[derive(Deserialize)]
struct Motion {
    start: Start,
    end: End,
}

fn golden(name: &str) -> (Model, Golden) {
    let folder = manyworlds_tests::root().join("tests/golden");
    let model = load(folder.join(format!("models/{name}.xml")), &ImportOptions::default()).expect("a model").model;
    let text = std::fs::read_to_string(folder.join(format!("forces/{name}.json"))).expect("a record");
    (model, serde_json::from_str(&text).expect("its keys"))
}

fn options(precision: Precision) -> BatchOptions {
    BatchOptions { executor: Executor::Cpu, precision, ..BatchOptions::default() }
}

/// Largest difference relative to the largest entry expected; a NaN is the largest of all.
fn difference(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(1e-3_f64, |m, x| m.max(x.abs()));
    found.iter().zip(expected).fold(0.0_f64, |m, (a, b)| {
        let d = (a - b).abs() / largest;
        if m.is_nan() || d <= m { m } else { d }
    })
}

#[track_caller]
fn same(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    let d = difference(found, expected);
    assert!(d <= tolerance, "{what} differs by {d:e}:\nours     {found:?}\nMuJoCo's {expected:?}");
}

#[test]
fn forces_are_those_of_mujoco() {
    for name in MODELS {
        let (model, golden) = golden(name);
        let mut batch = Batch::new(&[(&model, 1)], &options(Precision::F64)).expect("a batch");
        for (number, case) in golden.cases.iter().enumerate() {
            let state = State {
                q: case.q.clone(),
                v: case.v.clone(),
                ctrl: case.ctrl.clone(),
                act: case.act.clone(),
                ..State::default()
            };
            let forces = Forces::at(&model, &state).expect("forces");
            let what = |part: &str| format!("{name}, case {number}: {part}");
            same(&what("tendons"), &forces.tendons, &case.tendons, TOLERANCE);
            same(&what("passive"), &forces.passive, &case.passive, TOLERANCE);
            same(&what("actuator"), &forces.actuator, &case.actuator, TOLERANCE);
            batch.reset(&[(0, state)]).expect("a reset");
            batch.step::<f64>(&[]).expect("a step");
            let found = batch.inspect(0).expect("an inspection");
            same(&what("M"), &found.mass, &case.mass, TOLERANCE);
            same(&what("bias"), &found.bias, &case.bias, TOLERANCE);
            same(&what("act after the step"), &batch.state(0).expect("a state").act, &case.act_after, TOLERANCE);
        }
        assert!(difference(&golden.cases[0].passive, &golden.cases[1].passive) > TOLERANCE, "states differ");
    }
}

#[test]
fn motion_of_a_second_is_that_of_mujoco() {
    for name in MODELS {
        let (model, golden) = golden(name);
        let start = &golden.motion.start;
        let state = State {
            q: start.q.clone(),
            v: start.v.clone(),
            ctrl: start.ctrl.clone(),
            act: start.act.clone(),
            ..State::default()
        };
        let after = |steps: usize| {
            let options = BatchOptions { dt: Some(1.0 / steps as f64), ..options(Precision::F64) };
            let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
            batch.reset(&[(0, state.clone())]).expect("a reset");
            for _ in 0..steps {
                batch.step::<f64>(&[]).expect("a step");
            }
            batch.state(0).expect("a state")
        };
        let (coarse, fine) = (after(5_000), after(10_000));
        let limit = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| 2.0 * b - a).collect() };
        let end = &golden.motion.end;
        same(&format!("{name}: q"), &limit(&coarse.q, &fine.q), &end.q, MOTION);
        same(&format!("{name}: v"), &limit(&coarse.v, &fine.v), &end.v, MOTION);
        same(&format!("{name}: act"), &limit(&coarse.act, &fine.act), &end.act, MOTION);
        assert!(difference(&start.q, &end.q) > 100.0 * MOTION, "{name} moves");
    }
}

/// Activations are part of the state: of checkpoints, of resets, of fields; worlds that are reset start without.
#[test]
fn activations_are_state() {
    let (model, _) = golden("actuated");
    let mut batch = Batch::new(&[(&model, 3)], &options(Precision::F32)).expect("a batch");
    let n = model.n_act();
    let act: Vec<f64> = (0..3 * n).map(|i| 0.01 * i as f64).collect();
    batch.write(0, FieldId::Activation, &act).expect("rows");
    let controls = vec![0.5; 3 * model.actuators.len()];
    batch.step(&controls).expect("a step");
    let saved = batch.checkpoint().expect("a checkpoint");
    batch.step(&controls).expect("a step");
    let read = |batch: &mut Batch| {
        let mut rows = vec![0.0_f64; 3 * n];
        batch.read(0, FieldId::Activation, &mut rows).expect("rows");
        rows
    };
    let after = read(&mut batch);
    assert!(difference(&after, &act) > 1e-5, "they move");
    batch.restore(&saved).expect("a checkpoint");
    batch.step(&controls).expect("a step");
    assert_eq!(read(&mut batch), after);
    batch.restart_worlds(manyworlds::Which::Listed(&[1]), manyworlds::Start::INITIAL).expect("a restart");
    let reset = read(&mut batch);
    assert!(reset[n..2 * n].iter().all(|&x| x == 0.0) && reset[..n] == after[..n] && reset[2 * n..] == after[2 * n..]);
}

/// What is not covered is said: other integrators are refused.
#[test]
fn integrators_that_applied_forces_do_not_know_are_refused() {
    let (model, _) = golden("tendons");
    for integrator in [Integrator::SymplecticEuler, Integrator::ImplicitEuler, Integrator::Midpoint] {
        let options = BatchOptions { integrator, ..options(Precision::F64) };
        let error = Batch::new(&[(&model, 1)], &options).err().expect("must be refused");
        assert!(matches!(error, Error::Option { option: "integrator", .. }), "{error}");
    }
}
