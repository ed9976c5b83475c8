//! Adhesion: against MuJoCo's forces in given states (`golden/adhesion.json`), and against what a force holds.

use manyworlds::{Batch, BatchOptions, Executor, FieldId, Integrator, Model, Precision, State};
use manyworlds_tests::batches::{G, batch, executors, mjcf, state, tight};
use serde::Deserialize;

/// Of the largest entry: both compute in double precision, and find contacts by functions of their own.
const TOLERANCE: f64 = 1e-9;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    q: Vec<f64>,
    ctrl: Vec<f64>,
    contacts: usize,
    actuator: Vec<f64>,
    force: Vec<f64>,
}

fn exact() -> BatchOptions {
    BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() }
}

#[test]
fn forces_are_those_of_mujoco() {
    let folder = manyworlds_tests::root().join("tests/golden");
    let model = manyworlds_model::load(folder.join("models/adhesion.xml"), &Default::default()).expect("a model").model;
    let text = std::fs::read_to_string(folder.join("adhesion.json")).expect("a record");
    let golden: Golden = serde_json::from_str(&text).expect("its keys");
    assert!(golden.cases.iter().any(|case| case.contacts == 1) && golden.cases.iter().any(|case| case.contacts > 5));
    let mut worlds = Batch::new(&[(&model, golden.cases.len())], &exact()).expect("a batch");
    let start = |case: &Case| State { q: case.q.clone(), ctrl: case.ctrl.clone(), ..State::default() };
    let starts: Vec<_> = golden.cases.iter().map(start).enumerate().collect();
    worlds.reset(&starts).expect("a start");
    worlds.step::<f64>(&[]).expect("a step");
    for (number, case) in golden.cases.iter().enumerate() {
        let found = worlds.inspect(number).expect("a world").adhesion;
        let largest = case.actuator.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
        for (a, b) in found.iter().zip(&case.actuator) {
            assert!((a - b).abs() <= TOLERANCE * largest, "case {number}: {found:?}, MuJoCo's {:?}", case.actuator);
        }
        assert!(case.force.iter().any(|force| *force > 0.0));
    }
}

/// A ball of 1 kg below a ceiling, and a box of 2 kg before a wall of friction 0.5.
fn held() -> Model {
    mjcf(
        0.002,
        "<worldbody>
           <geom type=\"box\" size=\"1 1 0.1\" pos=\"0 0 2.1\"/>
           <geom type=\"box\" size=\"0.1 1 1\" pos=\"-3 0 1\" friction=\"0.5\"/>
           <body name=\"ball\" pos=\"0 0 1.9\"><freejoint/><geom size=\"0.1\" mass=\"1\"/></body>
           <body name=\"box\" pos=\"-2.8 0 1\"><freejoint/><geom type=\"box\" size=\"0.1 0.1 0.1\" mass=\"2\" friction=\"0.5\"/></body>
         </worldbody>
         <actuator><adhesion body=\"ball\" ctrlrange=\"0 100\"/><adhesion body=\"box\" ctrlrange=\"0 100\"/></actuator>",
    )
}

/// What the ball and the box do in a quarter of a second: heights and certificates.
fn after(model: &Model, forces: [f64; 2], options: &BatchOptions) -> [f64; 2] {
    let mut made = batch(model, 1, options);
    for _ in 0..125 {
        made.step(&forces).expect("a step");
    }
    let mut summaries = Vec::new();
    made.summaries(&mut summaries).expect("summaries");
    assert!(!summaries[0].failed(), "{summaries:?}");
    let q = state(&mut made, 0).q;
    [q[2], q[9]]
}

/// A ball hangs from a ceiling by a force above its weight, and falls by one below it; a box at a wall is held by friction,
/// `mu F`, and slides by what is missing.
#[test]
fn it_holds_what_its_force_carries() {
    let model = held();
    let weight = [G, 2.0 * G];
    for (name, options) in executors(&tight()) {
        for precision in [Precision::F64, Precision::F32] {
            let f32s = precision == Precision::F32;
            let (tolerance, near) = if f32s { (1e-6, 1e-4) } else { (1e-11, 1e-7) };
            let options = BatchOptions { precision, tolerance, ..options.clone() };
            let [ball, wall] = after(&model, [1.001 * weight[0], 1.001 * weight[1] / 0.5], &options);
            assert!((ball - 1.9).abs() < near && (wall - 1.0).abs() < near, "{name}: {ball} {wall}");
            let short = 0.5;
            let [ball, wall] = after(&model, [short * weight[0], short * weight[1] / 0.5], &options);
            // The ball is pulled for as long as it touches: for the first step, which leaves it a rate of (1 - short) g h.
            let (h, n) = (0.002, 125.0);
            let fall = h * h * G * ((1.0 - short) * n + n * (n - 1.0) / 2.0);
            let slide = h * h * G * (1.0 - short) * n * (n + 1.0) / 2.0;
            let off = [(1.9 - ball) / fall - 1.0, (1.0 - wall) / slide - 1.0];
            assert!(off.iter().all(|x| x.abs() < if f32s { 1e-3 } else { 1e-4 }), "{name}: {off:?}");
        }
    }
}

/// Two bodies of two trees pull each other with the same force, whichever of them has the actuator, and nothing else moves.
#[test]
fn it_acts_on_both_bodies() {
    let model = mjcf(
        0.002,
        "<worldbody>
           <body name=\"a\" pos=\"0 0 0\"><freejoint/><geom size=\"0.1\" mass=\"1\" gap=\"0.01\"/></body>
           <body name=\"b\" pos=\"0.203 0 0\"><freejoint/><geom size=\"0.1\" mass=\"3\"/></body>
         </worldbody>
         <actuator><adhesion body=\"b\" ctrlrange=\"0 10\"/></actuator>",
    );
    for (name, options) in executors(&tight()) {
        let mut made = batch(&model, 1, &options);
        made.step(&[6.0]).expect("a step");
        let v = state(&mut made, 0).v;
        assert!((v[0] - 0.002 * 6.0).abs() < 1e-12 && (v[6] + 0.002 * 2.0).abs() < 1e-12, "{name}: {v:?}");
        for _ in 0..300 {
            made.step(&[6.0]).expect("a step");
        }
        let (q, v) = (state(&mut made, 0).q, state(&mut made, 0).v);
        // They fall as one.
        assert!((q[7] - q[0] - 0.2).abs() < 1e-8 && (v[6] - v[0]).abs() < 1e-8, "{name}: {q:?} {v:?}");
    }
}

/// Sensors of such an actuator: no length, and its force.
#[test]
fn sensors_show_its_force() {
    let model = mjcf(
        0.002,
        "<worldbody><body name=\"a\"><freejoint/><geom size=\"0.1\"/></body></worldbody>
         <actuator><adhesion name=\"pad\" body=\"a\" ctrlrange=\"0 10\" gain=\"2\"/></actuator>
         <sensor><actuatorpos actuator=\"pad\"/><actuatorfrc actuator=\"pad\"/></sensor>",
    );
    let mut made = batch(&model, 1, &exact());
    made.step(&[3.0]).expect("a step");
    let mut shown = [0.0; 2];
    made.read(0, FieldId::Sensor, &mut shown).expect("readings");
    assert_eq!(shown, [0.0, 6.0]);
}

#[test]
fn derivatives_say_that_they_leave_it_out() {
    let mut made = batch(&held(), 1, &exact());
    made.keep_steps(true).expect("kept");
    made.step(&[20.0, 0.0]).expect("a step");
    let certificate = made.jacobian(0).expect("a Jacobian").certificate;
    assert!(!certificate.valid());
    assert!(certificate.reasons().any(|reason| reason.contains("adhesion")), "{certificate:?}");
}

#[test]
fn other_rules_of_time_stepping_refuse_it() {
    let options = BatchOptions { integrator: Integrator::SymplecticEuler, ..exact() };
    let error = Batch::new(&[(&held(), 1)], &options).err().expect("an error").to_string();
    assert!(error.contains("adhesion"), "{error}");
}
