//! Bounds, dry friction and couplings of tendons: their rows against MuJoCo, and motions with a closed form.

use std::path::Path;

use manyworlds::gradcheck::Checker;
use manyworlds::{Batch, BatchOptions, Executor, Forces, Precision, RowOf, Stabilisation, State};
use manyworlds_model::{ImportOptions, Model, from_mjcf_str, load};
use manyworlds_tests::batches::{batch, bits, executors, mjcf, state, tight};
use serde::Deserialize;

/// Of the largest entry; a way round an obstacle ends when an angle is known to 1e-6, and what that changes is its square.
const TOLERANCE: f64 = 1e-6;
const GRAVITY: f64 = 9.81;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    q: Vec<f64>,
    v: Vec<f64>,
    mass: Vec<f64>,
    bias: Vec<f64>,
    passive: Vec<f64>,
    tendons: Vec<f64>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    kind: String,
    tendon: usize,
    jacobian: Vec<f64>,
    error: f64,
}

fn bounds() -> (Model, Golden) {
    let folder = manyworlds_tests::root().join("tests/golden");
    let model = load(folder.join("models/bounds.xml"), &ImportOptions::default()).expect("a model").model;
    let text = std::fs::read_to_string(folder.join("forces/bounds.json")).expect("a record");
    (model, serde_json::from_str(&text).expect("its keys"))
}

fn model(text: &str) -> Model {
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    from_mjcf_str("test.xml", text, &nothing, &ImportOptions::default()).expect("the model loads").model
}

fn options() -> BatchOptions {
    BatchOptions { executor: Executor::Cpu, precision: Precision::F64, tolerance: 1e-13, ..BatchOptions::default() }
}

#[track_caller]
fn same(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(1e-3_f64, |m, x| m.max(x.abs()));
    let good = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance * largest);
    assert!(good, "{what}:\nours     {found:?}\nMuJoCo's {expected:?}");
}

/// The tendons of this model bind two trees and a free body, which are one tree here.
#[test]
fn rows_are_those_of_mujoco() {
    let (model, golden) = bounds();
    assert_eq!(model.trees.len(), 1);
    let undone_at_once = Stabilisation { fraction: 1.0, max_velocity: 1e9, ..Stabilisation::default() };
    let options = BatchOptions { stabilisation: undone_at_once, tolerance: 1e-6, ..options() };
    let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
    let h = model.options.timestep;
    for (number, case) in golden.cases.iter().enumerate() {
        let what = |part: &str| format!("case {number}: {part}");
        let state = State { q: case.q.clone(), v: case.v.clone(), ..State::default() };
        let forces = Forces::at(&model, &state).expect("forces");
        same(&what("tendons"), &forces.tendons, &case.tendons, TOLERANCE);
        same(&what("passive"), &forces.passive, &case.passive, TOLERANCE);
        batch.reset(&[(0, state)]).expect("a reset");
        batch.step::<f64>(&[]).expect("a step");
        let found = batch.inspect(0).expect("an inspection");
        same(&what("M"), &found.mass, &case.mass, TOLERANCE);
        same(&what("bias"), &found.bias, &case.bias, TOLERANCE);
        let problem = batch.contact_problem(0).expect("a problem").problem;
        assert_eq!(problem.constraints.len(), found.rows.len(), "{}", what("all rows are in the problem"));
        for expected in &case.rows {
            let of =
                |row: &manyworlds::RowReport| row.kind == expected.kind && row.of == RowOf::Tendon(expected.tendon);
            let at =
                found.rows.iter().position(of).unwrap_or_else(|| panic!("{} of {}", expected.kind, expected.tendon));
            let constraint = &problem.constraints[at];
            let unit = |i: usize| (0..model.n_v).map(|k| f64::from(u8::from(i == k))).collect::<Vec<_>>();
            let jacobian: Vec<f64> = (0..model.n_v).map(|i| problem.sigma(constraint, &unit(i))[0]).collect();
            let name = what(&format!("{} of tendon {}", expected.kind, expected.tendon));
            same(&name, &jacobian, &expected.jacobian, TOLERANCE);
            same(&name, &[constraint.e[0] * h], &[expected.error], TOLERANCE);
        }
        // What MuJoCo leaves out are bounds that are not reached.
        let out = found.rows.len() - case.rows.len();
        let open = found.rows.iter().zip(&problem.constraints).filter(|(row, c)| row.kind == "limit" && c.e[0] > 0.0);
        assert_eq!(out, open.count(), "{}", what("rows"));
    }
}

/// A ball on a string of 1 m: falls freely until the string is taut, then hangs still.
#[test]
fn a_ball_falls_into_its_string_and_hangs() {
    let model = model(
        r#"<mujoco><option timestep="0.001"/><worldbody><site name="hook" pos="0 0 2"/>
          <body pos="0 0 1.2"><freejoint/><geom type="sphere" size="0.05" mass="0.5" contype="0"/><site name="eye"/></body>
        </worldbody>
        <tendon><spatial name="string" range="0 1" limited="true"><site site="hook"/><site site="eye"/></spatial></tendon>
        </mujoco>"#,
    );
    let h = model.options.timestep;
    let mut batch = Batch::new(&[(&model, 1)], &options()).expect("a batch");
    let taut = ((2.0 * 0.2 / GRAVITY).sqrt() / h) as usize;
    for step in 1..=400 {
        batch.step::<f64>(&[]).expect("a step");
        let [z, v] = batch.state(0).map(|s| [s.q[2], s.v[2]]).expect("a state");
        assert!(2.0 - z <= 1.0 + 1e-9, "step {step}: {}", 2.0 - z);
        if step < taut - 1 {
            assert!((v + GRAVITY * h * step as f64).abs() < 1e-9, "it falls freely: step {step}, {v}");
        } else if step > taut + 1 {
            assert!((2.0 - z - 1.0).abs() < 1e-9 && v.abs() < 1e-9, "it hangs: step {step}, {z}, {v}");
        }
    }
    let rows = batch.inspect(0).expect("an inspection").rows;
    assert!((rows[0].impulse - 0.5 * GRAVITY * h).abs() < 1e-9 && rows[0].of == RowOf::Tendon(0), "{rows:?}");
}

/// Two free balls on a string turn about their centre: the string keeps its length to what a step turns, halved with half the
/// step twice, and no momentum is made.
#[test]
fn two_balls_on_a_string_turn() {
    let model = model(
        r#"<mujoco><option gravity="0 0 0"/><worldbody>
          <body pos="1 0.2 0"><freejoint/><geom type="sphere" size="0.05" mass="1" contype="0"/><site name="a"/></body>
          <body pos="-1 0 0"><freejoint/><geom type="sphere" size="0.05" mass="3" contype="0"/><site name="b"/></body>
        </worldbody>
        <tendon><spatial range="0 2" limited="true"><site site="a"/><site site="b"/></spatial></tendon></mujoco>"#,
    );
    assert_eq!(model.trees.len(), 1);
    let excess = |steps: usize| {
        let options = BatchOptions { dt: Some(1.0 / steps as f64), ..options() };
        let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
        let mut state = batch.state(0).expect("a state");
        (state.q[1], state.v[1], state.v[7]) = (0.0, 3.0, -1.0);
        batch.reset(&[(0, state)]).expect("a reset");
        let mut most = 0.0_f64;
        for _ in 0..steps {
            batch.step::<f64>(&[]).expect("a step");
            let s = batch.state(0).expect("a state");
            let length = (0..3).map(|k| (s.q[k] - s.q[7 + k]).powi(2)).sum::<f64>().sqrt();
            most = most.max(length - 2.0);
            (0..3).for_each(|k| assert!((s.v[k] + 3.0 * s.v[6 + k]).abs() < 1e-9, "{:?}", s.v));
        }
        // Turned by v t / l.
        let s = batch.state(0).expect("a state");
        let turned = (s.q[1] - s.q[8]).atan2(s.q[0] - s.q[7]);
        assert!((turned - 2.0).abs() < 20.0 / steps as f64, "{turned}");
        most
    };
    let (coarse, fine) = (excess(500), excess(1000));
    // A step goes straight: (v h)^2 / 2 l, of which a fifth is undone in each.
    assert!(coarse < 5.0 * 16.0 / (4.0 * 500.0_f64.powi(2)) * 1.05, "{coarse:e}");
    assert!((coarse / fine - 4.0).abs() < 0.1, "{coarse:e} {fine:e}");
}

/// Tendons that are coupled by a straight law keep it to rounding while a third joint pulls.
#[test]
fn a_coupling_holds() {
    let model = model(
        r#"<mujoco><option timestep="0.002"/><worldbody>
          <body><joint name="a" axis="0 1 0" damping="0.1"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
            <body pos="0.3 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.03"/>
              <body pos="0.2 0 0"><joint name="c" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.03"/>
          </body></body></body></worldbody>
        <tendon>
          <fixed name="one"><joint joint="a" coef="1"/><joint joint="b" coef="2"/></fixed>
          <fixed name="two"><joint joint="b" coef="0.5"/><joint joint="c" coef="-1"/></fixed>
        </tendon>
        <equality><tendon tendon1="one" tendon2="two" polycoef="0 1.5 0 0 0"/></equality></mujoco>"#,
    );
    let mut batch = Batch::new(&[(&model, 1)], &options()).expect("a batch");
    for _ in 0..500 {
        batch.step::<f64>(&[]).expect("a step");
        let q = batch.state(0).expect("a state").q;
        let error = q[0] + 2.0 * q[1] - 1.5 * (0.5 * q[1] - q[2]);
        assert!(error.abs() < 1e-9, "{error:e}");
    }
    assert!(batch.state(0).expect("a state").q[0].abs() > 0.1, "it moves");
}

/// A slide of 2 kg on a tendon with a coefficient of 3 and 5 N of dry friction: held up to 15 N, beyond that pulled by the rest.
#[test]
fn friction_holds_and_slips() {
    let model = model(
        r#"<mujoco><option timestep="0.001" gravity="0 0 0"/><worldbody>
          <body><joint name="s" type="slide" axis="1 0 0"/><geom type="sphere" size="0.1" mass="2"/></body></worldbody>
        <tendon><fixed frictionloss="5"><joint joint="s" coef="3"/></fixed></tendon>
        <actuator><motor joint="s"/></actuator></mujoco>"#,
    );
    let mut batch = Batch::new(&[(&model, 1)], &options()).expect("a batch");
    let mut speed_after = |force: f64| {
        (0..100).for_each(|_| batch.step(&[force]).expect("a step"));
        batch.state(0).expect("a state").v[0]
    };
    assert!(speed_after(14.9).abs() < 1e-12);
    let slid = speed_after(16.0);
    assert!((slid - 0.1 * (16.0 - 15.0) / 2.0).abs() < 1e-9, "{slid}");
}

/// Every solver of exact contact, and f32, make the same of the rows of a model.
#[test]
fn solvers_agree() {
    let (model, golden) = bounds();
    let case = &golden.cases[3];
    let after = |solver: &str, precision: Precision, tolerance: f64| {
        let options = BatchOptions { solver: solver.into(), precision, tolerance, iterations: 20_000, ..options() };
        let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
        batch.reset(&[(0, State { q: case.q.clone(), v: case.v.clone(), ..State::default() })]).expect("a reset");
        batch.step::<f64>(&[]).expect("a step");
        let summary = batch.inspect(0).expect("an inspection").summary;
        assert_eq!(summary.status_name(), "converged", "{solver}: {summary:?}");
        batch.state(0).expect("a state").v
    };
    let expected = after("auto", Precision::F64, 1e-12);
    for solver in ["pgs", "subadmm", "canal", "newton-cr", "dantzig"] {
        same(solver, &after(solver, Precision::F64, 1e-10), &expected, 1e-6);
    }
    same("f32", &after("auto", Precision::F32, 1e-5), &expected, 2e-3);
}

/// Derivatives of steps with rows of tendons, moment arms that turn among them, and springs along some.
#[test]
fn derivatives_are_those_of_differences() {
    let (model, golden) = bounds();
    let options = BatchOptions { iterations: 5000, ..options() };
    let mut checker = Checker::new(&model, &options, 1e-6).expect("a checker");
    let mut judged = 0;
    for case in &golden.cases {
        let state = State { q: case.q.clone(), v: case.v.clone(), ..State::default() };
        let found = checker.compare(&state).expect("a comparison");
        let certificate = &found.jacobian.certificate;
        if certificate.valid() && certificate.margin > 1e-3 {
            assert!(found.error() < 1e-6, "{:#?}", found.blocks);
            judged += 1;
        }
    }
    assert!(judged >= 4, "{judged}");
}

/// A run from a checkpoint goes on as it would have gone.
#[test]
fn checkpoints_hold_what_rows_start_from() {
    let (model, golden) = bounds();
    let options = BatchOptions { tolerance: 1e-6, ..options() };
    let mut batch = Batch::new(&[(&model, 2)], &options).expect("a batch");
    let case = &golden.cases[3];
    batch.reset(&[(1, State { q: case.q.clone(), v: case.v.clone(), ..State::default() })]).expect("a reset");
    let run = |batch: &mut Batch| {
        (0..5).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
        batch.state(1).expect("a state")
    };
    run(&mut batch);
    let saved = batch.checkpoint().expect("a checkpoint");
    let first = run(&mut batch);
    batch.restore(&saved).expect("the checkpoint");
    assert_eq!(run(&mut batch), first);
}

/// A tendon unites two fingers with the palm that holds them: neither its weight, which is carried, nor the fluid acts on what does not
/// move.
#[test]
fn what_holds_united_trees_bears_no_forces() {
    let hand = |carried: u32| {
        let finger = |name: &str, y: f64| {
            format!(
                "<body pos=\"0 {y} 0.1\"><joint name=\"{name}\" type=\"slide\" axis=\"0 1 0\" damping=\"1\"/>
                 <geom type=\"box\" size=\"0.01 0.01 0.02\" contype=\"0\"/></body>"
            )
        };
        let body = format!(
            "<option density=\"1000\" viscosity=\"1e-3\"/>
             <worldbody><body gravcomp=\"{carried}\"><geom type=\"box\" size=\"0.1 0.1 0.1\" mass=\"1\" contype=\"0\"/>{}{}</body></worldbody>
             <tendon><fixed name=\"both\"><joint joint=\"a\" coef=\"0.5\"/><joint joint=\"b\" coef=\"0.5\"/></fixed></tendon>
             <actuator><position tendon=\"both\" kp=\"10\" ctrlrange=\"0 1\"/></actuator>",
            finger("a", 0.05),
            finger("b", -0.05)
        );
        mjcf(0.002, &body)
    };
    for (name, options) in executors(&tight()) {
        let end = |carried: u32| {
            let mut batch = batch(&hand(carried), 1, &options);
            (0..10).for_each(|_| batch.step(&[0.03]).expect("a step"));
            state(&mut batch, 0)
        };
        let (with, without) = (end(1), end(0));
        assert!(with.q[0] > 1e-6 && (with.q[0] - with.q[1]).abs() < 1e-9, "{name}: {with:?}");
        assert_eq!(bits(&with), bits(&without), "{name}");
    }
}
