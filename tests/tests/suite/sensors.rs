//! Sensors: against MuJoCo's readings in one state (`golden/sensors.json`), and against what a body at rest weighs.

use std::collections::BTreeMap;

use manyworlds::{Batch, BatchOptions, Executor, FieldId, Model, Precision, State, StateRows, Which};
use manyworlds_tests::batches::{G, batch, executors, mjcf};
use serde::Deserialize;

/// Of the largest entry: both compute in double precision.
const TOLERANCE: f64 = 1e-9;
/// Of what rays meet: MuJoCo has meshes and heightfields in single precision.
const TOLERANCE_OF_SURFACES: f64 = 1e-7;
/// Of those that are mean values over a step, extrapolated to one of no length.
const TOLERANCE_OF_MEANS: f64 = 1e-6;
/// Time steps of the extrapolation, s.
const COARSE: f64 = 1e-5;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    q: Vec<f64>,
    v: Vec<f64>,
    ctrl: Vec<f64>,
    #[serde(default)]
    act: Vec<f64>,
    #[serde(default)]
    mocap: Vec<f64>,
    readings: BTreeMap<String, Vec<f64>>,
}

fn golden() -> (Model, Golden) {
    golden_of("sensors")
}

fn golden_of(name: &str) -> (Model, Golden) {
    let folder = manyworlds_tests::root().join("tests/golden");
    let file = folder.join(format!("models/{name}.xml"));
    let loaded = manyworlds_model::load(file, &Default::default()).expect("a model");
    assert!(loaded.ignored.iter().all(|part| !part.why.contains("computed")), "{:?}", loaded.ignored);
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect("a record");
    (loaded.model, serde_json::from_str(&text).expect("its keys"))
}

fn exact() -> BatchOptions {
    BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() }
}

/// All readings of a batch, `[worlds][readings]`.
fn readings(batch: &mut Batch, worlds: usize, model: &Model) -> Vec<f64> {
    let width = model.readings().last().map_or(0, |last| last.end);
    let mut out = vec![0.0; worlds * width];
    batch.read(0, FieldId::Sensor, &mut out).expect("readings");
    out
}

/// Readings at a state, with a step of `dt`.
fn at(model: &Model, case: &Case, dt: f64) -> Vec<f64> {
    let mut made = batch(model, 1, &BatchOptions { dt: Some(dt), ..exact() });
    start(&mut made, 0, case);
    made.step::<f64>(&[]).expect("a step");
    readings(&mut made, 1, model)
}

fn start(made: &mut Batch, world: usize, case: &Case) {
    let [q, v, ctrl, act] = [&case.q, &case.v, &case.ctrl, &case.act].map(Clone::clone);
    made.reset(&[(world, State { q, v, ctrl, act, ..State::default() })]).expect("a start");
    if !case.mocap.is_empty() {
        made.write(0, FieldId::Mocap, &case.mocap.repeat(made.len())).expect("poses");
    }
}

/// Those that the host computes, in worlds beside others, in both precisions, on both executors.
#[test]
fn readings_from_outside_are_those_of_mujoco() {
    let golden = compared("outside", TOLERANCE);
    // The tests see something: bounds that act and do not, insides and outsides.
    for part in ["limitpos", "inside"] {
        let all = golden.cases.iter().flat_map(|case| case.readings.iter().filter(|(name, _)| name.contains(part)));
        let zeros: Vec<bool> = all.map(|(_, reading)| reading[0] == 0.0).collect();
        assert!(zeros.contains(&true) && zeros.contains(&false), "{part}");
    }
}

/// Rays, cameras, nearest geoms and contacts.
#[test]
fn what_is_seen_is_what_mujoco_sees() {
    let golden = compared("looking", TOLERANCE_OF_SURFACES);
    let of = |sensor: &str| golden.cases.iter().map(|case| case.readings[sensor][0]).collect::<Vec<_>>();
    // They see something, and nothing.
    for (sensor, nothing) in
        [("eye", -1.0), ("tail", -1.0), ("up", -1.0), ("into", 0.0), ("near", 0.4), ("touches", 0.0)]
    {
        let met: Vec<bool> = of(sensor).iter().map(|x| *x != nothing).collect();
        assert!(met.contains(&true) && met.contains(&false), "{sensor}: {:?}", of(sensor));
    }
    assert!(["above", "under"].iter().all(|sensor| of(sensor).iter().any(|x| *x > 0.0)));
}

/// Compares the readings of a model in the states of its record with those there.
fn compared(name: &str, tolerance: f64) -> Golden {
    let (model, golden) = golden_of(name);
    let places = model.readings();
    let width = places.last().expect("sensors").end;
    for (name, options) in executors(&exact()) {
        for (precision, tolerance) in [(Precision::F64, tolerance), (Precision::F32, 1e-4)] {
            let mut made = batch(&model, 3, &BatchOptions { precision, ..options.clone() });
            for (number, case) in golden.cases.iter().enumerate() {
                start(&mut made, 1, case);
                made.step::<f64>(&[]).expect("a step");
                let all = readings(&mut made, 3, &model);
                for (sensor, place) in model.sensors.iter().zip(&places) {
                    let expected = &case.readings[&sensor.name];
                    let mut found = all[width + place.start..width + place.end].to_vec();
                    if found.len() == 4 && found.iter().zip(expected).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
                        found.iter_mut().for_each(|x| *x = -*x);
                    }
                    let largest = expected.iter().fold(1.0_f64, |most, x| most.max(x.abs()));
                    let off = found.iter().zip(expected).map(|(a, b)| (a - b).abs() / largest).fold(0.0, f64::max);
                    assert!(off <= tolerance, "{name}, case {number}, {}: {found:?}, not {expected:?}", sensor.name);
                }
            }
        }
    }
    golden
}

/// Time goes on by steps, and begins anew with a reset.
#[test]
fn a_clock_shows_when_a_step_began() {
    let body = "<worldbody><body><joint/><geom size=\"0.1\"/></body></worldbody><sensor><clock/></sensor>";
    let model = mjcf(0.002, body);
    let mut made = batch(&model, 2, &exact());
    for _ in 0..5 {
        made.step::<f64>(&[]).expect("a step");
    }
    let saved = made.checkpoint().expect("a checkpoint");
    made.reset(&[(1, State { q: vec![0.5], ..State::default() })]).expect("a start");
    made.step::<f64>(&[]).expect("a step");
    let shown = readings(&mut made, 2, &model);
    assert!((shown[0] - 0.01).abs() < 1e-12 && shown[1] == 0.0, "{shown:?}");
    made.restore(&saved).expect("the same batch");
    made.step::<f64>(&[]).expect("a step");
    assert_eq!(readings(&mut made, 2, &model), [shown[0]; 2]);
}

#[test]
fn readings_are_those_of_mujoco() {
    let (model, golden) = golden();
    let places = model.readings();
    for (number, case) in golden.cases.iter().enumerate() {
        let (coarse, fine) = (at(&model, case, COARSE), at(&model, case, COARSE / 2.0));
        for (sensor, place) in model.sensors.iter().zip(&places) {
            let expected = &case.readings[&sensor.name];
            let late = ["acc", "force", "torque"].iter().any(|part| sensor.name.contains(part));
            let mut found: Vec<f64> = match late {
                true => place.clone().map(|at| 2.0 * fine[at] - coarse[at]).collect(),
                false => coarse[place.clone()].to_vec(),
            };
            if found.len() == 4 && found.iter().zip(expected).map(|(a, b)| a * b).sum::<f64>() < 0.0 {
                found.iter_mut().for_each(|x| *x = -*x);
            }
            let largest = expected.iter().fold(1e-3_f64, |most, x| most.max(x.abs()));
            let off = found.iter().zip(expected).map(|(a, b)| (a - b).abs() / largest).fold(0.0, f64::max);
            let tolerance = if late { TOLERANCE_OF_MEANS } else { TOLERANCE };
            assert!(off <= tolerance, "case {number}, {}: {found:?}, MuJoCo's {expected:?}", sensor.name);
        }
    }
}

/// Worlds of both executors and precisions read the same.
#[test]
fn every_executor_reads_the_same() {
    const WORLDS: usize = 11;
    let (model, golden) = golden();
    let case = |world: usize| &golden.cases[world % golden.cases.len()];
    let rows = |part: fn(&Case) -> &Vec<f64>| -> Vec<f64> { (0..WORLDS).flat_map(|w| part(case(w)).clone()).collect() };
    let (q, v, ctrl) = (rows(|c| &c.q), rows(|c| &c.v), rows(|c| &c.ctrl));
    let read = |options: &BatchOptions| {
        let mut made = batch(&model, WORLDS, options);
        let start = StateRows { q: &q, v: &v, ctrl: &ctrl, ..Default::default() };
        made.restart_worlds(Which::All, start).expect("a start");
        made.step::<f64>(&[]).expect("a step");
        readings(&mut made, WORLDS, &model)
    };
    let expected = read(&exact());
    for (name, options) in executors(&exact()) {
        for (precision, tolerance) in [(Precision::F64, 1e-9), (Precision::F32, 2e-3)] {
            let found = read(&BatchOptions { precision, ..options.clone() });
            for (at, (a, b)) in found.iter().zip(&expected).enumerate() {
                let off = (a - b).abs() / b.abs().max(1.0);
                assert!(off < tolerance, "{name} {}: number {at} is {a}, not {b}", precision.name());
            }
        }
    }
}

/// A box on a plate that is welded to a table that stands on the ground.
fn stacked() -> Model {
    mjcf(
        0.002,
        r#"<default><geom friction="0.6"/></default>
        <worldbody>
          <geom type="plane" size="5 5 1"/>
          <body name="table" pos="0 0 0.1">
            <freejoint/>
            <geom type="box" size="0.4 0.4 0.1" mass="6"/>
            <site name="feet" type="box" size="0.5 0.5 0.02" pos="0 0 -0.1"/>
            <site name="half" type="box" size="0.25 0.5 0.02" pos="0.25 0 -0.1"/>
            <body name="plate" pos="0 0 0.12">
              <geom type="box" size="0.2 0.2 0.02" mass="1.5"/>
              <site name="plate" pos="0 0 -0.02" euler="90 0 0"/>
            </body>
          </body>
          <body name="box" pos="0 0 0.29">
            <freejoint/>
            <geom type="box" size="0.05 0.05 0.05" mass="0.7"/>
            <site name="below" type="ellipsoid" size="0.1 0.1 0.02" pos="0 0 -0.05"/>
            <site name="above" type="sphere" size="0.01" pos="0 0 0.1"/>
            <site name="inside" euler="0 90 0"/>
          </body>
        </worldbody>
        <sensor>
          <touch name="feet" site="feet"/>
          <touch name="half" site="half"/>
          <force name="plate" site="plate"/>
          <torque name="plate torque" site="plate"/>
          <touch name="below" site="below"/>
          <touch name="above" site="above"/>
          <touch name="cut" site="below" cutoff="2"/>
          <accelerometer name="inside" site="inside"/>
        </sensor>"#,
    )
}

#[test]
fn what_rests_weighs() {
    let model = stacked();
    for (name, options) in executors(&BatchOptions { tolerance: 1e-10, ..exact() }) {
        let mut made = batch(&model, 3, &options);
        (0..300).for_each(|_| made.step::<f64>(&[]).expect("a step"));
        let all = readings(&mut made, 3, &model);
        let places = model.readings();
        let of = |sensor: &str| {
            let at = model.sensors.iter().position(|s| s.name == sensor).expect("a sensor");
            &all[2 * all.len() / 3..][places[at].clone()]
        };
        let close = |what: &str, expected: &[f64]| {
            let found = of(what);
            let off = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-4, "{name}: {what} reads {found:?}, not {expected:?}");
        };
        close("feet", &[8.2 * G]);
        close("half", &[4.1 * G]);
        // The site's y axis points up.
        close("plate", &[0.0, 2.2 * G, 0.0]);
        close("plate torque", &[0.0; 3]);
        close("below", &[0.7 * G]);
        close("above", &[0.0]);
        close("cut", &[2.0]);
        close("inside", &[-G, 0.0, 0.0]);
    }
}

/// A ball on the ground, seen from both sides, and in one and in slots; a beam on a box, between trees; a lid on its limit, and a
/// weight on a rope.
#[test]
fn forces_of_contacts_and_limits_at_rest() {
    let model = mjcf(
        0.002,
        r#"<worldbody><geom name="ground" type="plane" size="9 9 1"/>
        <body name="ball" pos="0 0 0.1"><freejoint/><geom name="ball" size="0.1" mass="3"/></body>
        <body name="box" pos="1 0 0.1"><freejoint/><geom type="box" size="0.2 0.2 0.1" mass="4"/></body>
        <body name="beam" pos="1 0 0.3"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2"/></body>
        <body name="lid" pos="3 0 1"><joint name="lid" axis="0 1 0" range="0 45"/>
          <geom type="box" size="0.1 0.1 0.01" pos="0.5 0 0" mass="2" contype="0" conaffinity="0"/></body>
        <body name="weight" pos="5 0 1"><joint name="weight" type="slide" axis="0 0 1"/>
          <geom size="0.1" mass="1.5"/><site name="eye"/></body>
        <body pos="0.5 0 0"><site name="ring" type="sphere" size="0.2" pos="-0.4 0 0"/></body>
        <body name="hoop" mocap="true" pos="0 1 0"><site name="hoop" type="sphere" size="0.4"/></body>
        <site name="hook" pos="5 0 2"/></worldbody>
        <tendon><spatial name="rope" limited="true" range="0 1"><site site="hook"/><site site="eye"/></spatial></tendon>
        <sensor>
          <contact name="ball" geom1="ground" geom2="ball" data="force normal"/>
          <contact name="ground" geom1="ball" geom2="ground" data="force normal"/>
          <contact name="ring" site="ring" subtree2="ball" data="found force"/>
          <contact name="hoop" site="hoop" subtree2="ball" data="found force"/>
          <contact name="four" subtree1="box" geom2="ground" num="6" reduce="mindist" data="found force"/>
          <contact name="net" body2="beam" reduce="netforce" data="found force"/>
          <contact name="down" body1="beam" body2="box" reduce="netforce" data="force normal"/>
          <jointlimitfrc name="lid" joint="lid"/><jointlimitfrc name="cut" joint="lid" cutoff="2"/>
          <tendonlimitfrc name="rope" tendon="rope"/>
        </sensor>"#,
    );
    for (name, options) in executors(&BatchOptions { tolerance: 1e-10, ..exact() }) {
        let mut made = batch(&model, 3, &options);
        (0..400).for_each(|_| made.step::<f64>(&[]).expect("a step"));
        let all = readings(&mut made, 3, &model);
        let places = model.readings();
        let of = |sensor: &str| {
            let at = model.sensors.iter().position(|s| s.name == sensor).expect("a sensor");
            all[2 * all.len() / 3..][places[at].clone()].to_vec()
        };
        let close = |what: &str, found: &[f64], expected: &[f64]| {
            let off = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-4, "{name}: {what} reads {found:?}, not {expected:?}");
        };
        close("ball", &of("ball"), &[3.0 * G, 0.0, 0.0, 0.0, 0.0, 1.0]);
        close("ground", &of("ground"), &[3.0 * G, 0.0, 0.0, 0.0, 0.0, -1.0]);
        close("ring", &of("ring"), &[1.0, 3.0 * G, 0.0, 0.0]);
        close("hoop", &of("hoop"), &[0.0; 4]);
        let four = of("four");
        let sum: f64 = four.chunks_exact(4).map(|slot| slot[1]).sum();
        close("four", &[four[0], four[12], four[16], sum], &[4.0, 4.0, 0.0, 6.0 * G]);
        close("net", &of("net"), &[4.0, 0.0, 0.0, 2.0 * G]);
        close("down", &of("down"), &[0.0, 0.0, -2.0 * G, 1.0, 0.0, 0.0]);
        // It hangs at half a right angle.
        close("lid", &of("lid"), &[2.0 * G * 0.5 * std::f64::consts::FRAC_1_SQRT_2]);
        close("cut", &of("cut"), &[2.0]);
        close("rope", &of("rope"), &[1.5 * G]);
        // The hoop is put about the ball.
        made.write(0, FieldId::Mocap, &[0.0, 0.1, 0.1, 1.0, 0.0, 0.0, 0.0].repeat(3)).expect("poses");
        made.step::<f64>(&[]).expect("a step");
        let at = model.sensors.iter().position(|s| s.name == "hoop").expect("a sensor");
        let all = readings(&mut made, 3, &model);
        close("hoop", &all[places[at].clone()], &[1.0, 3.0 * G, 0.0, 0.0]);
    }
}

/// What a file asks for that is not computed is listed, and changes nothing; what it gets wrong is said.
#[test]
fn files_are_told_what_is_not_computed() {
    let text = |sensors: &str| {
        format!(
            "<mujoco><worldbody><body name=\"a\"><freejoint/><geom size=\"0.1\"/><site name=\"s\"/></body>\
             <body name=\"b\" pos=\"1 0 0\"><joint name=\"h\"/><geom name=\"g\" size=\"0.1\"/></body>\
             <site name=\"still\"/></worldbody>\
             <sensor>{sensors}</sensor></mujoco>"
        )
    };
    let read = |sensors: &str| {
        let nothing = |path: &std::path::Path| Err(std::io::Error::other(path.display().to_string()));
        manyworlds_model::from_mjcf_str("sensors.xml", &text(sensors), &nothing, &Default::default())
    };
    for (sensors, why) in [
        ("<tactile geom=\"g\" mesh=\"m\"/>", "`tactile` are not computed"),
        ("<framepos objtype=\"geom\" objname=\"none\"/>", "do not collide"),
        ("<contact geom1=\"g\" reduce=\"maxforce\"/>", "in the order of their forces"),
        ("<contact geom1=\"g\" reduce=\"netforce\" data=\"torque\"/>", "where a net force acts"),
        ("<contact data=\"force\"/>", "contacts of any of several trees"),
        ("<distance geom1=\"g\" body2=\"b\"/>", "what does not move apart"),
        ("<force site=\"still\"/>", "what never moves"),
        ("<gyro site=\"s\" noise=\"0.1\"/>", "readings are exact"),
    ] {
        let loaded = read(sensors).expect("it is read");
        let listed = loaded.ignored.iter().any(|ignored| ignored.why.contains(why) && !ignored.unsupported);
        assert!(listed, "{sensors}: {:?}", loaded.ignored);
    }
    for (sensors, message) in [
        ("<gyro site=\"nowhere\"/>", "there is no `nowhere`"),
        ("<jointpos/>", "attribute `joint` is missing"),
        ("<ballquat joint=\"h\"/>", "expected a ball"),
        ("<weather/>", "unknown sensor <weather>"),
        ("<gyro site=\"s\" cutoff=\"-1\"/>", "cutoff"),
        ("<framepos objtype=\"thing\" objname=\"s\"/>", "unknown object type `thing`"),
        ("<rangefinder site=\"s\" data=\"point dist\"/>", "`dist` is out of order"),
        ("<rangefinder site=\"s\" data=\"colour\"/>", "found `colour`"),
        ("<distance geom1=\"g\"/>", "either `geom2` or `body2`"),
        ("<contact geom1=\"g\" body1=\"b\"/>", "one of `geom1`, `body1` and `subtree1`"),
        ("<contact geom1=\"g\" num=\"0\"/>", "expected 1 to 1000"),
        ("<contact geom1=\"g\" reduce=\"best\"/>", "found `best`"),
    ] {
        let Err(error) = read(sensors) else { panic!("{sensors}: it is not refused") };
        let error = error.to_string();
        assert!(error.contains(message) && error.contains("sensors.xml:1"), "{sensors}: {error}");
    }
}
