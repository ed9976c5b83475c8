//! What a batch promises of every world, on robots whose islands are single trees.

use manyworlds::{
    Batch, BatchOptions, Error, Executor, Model, Parameter, Precision, Stabilisation, State, Summary, load, random,
};
use manyworlds_tests::batches::mjcf;
use manyworlds_tests::parity::device;

/// Steps of a comparison: long enough for feet to meet the ground, short enough for round-off to stay small.
const STEPS: u64 = 40;

fn scene(name: &str) -> Model {
    load(name, &manyworlds::ImportOptions::default()).expect("a built-in scene loads").model
}

fn options(precision: Precision) -> BatchOptions {
    BatchOptions { executor: Executor::Cpu, precision, ..Default::default() }
}

/// Controls of a world by its own number, whatever stands beside it.
fn controls(model: &Model, worlds: &[u64], step: u64) -> Vec<f64> {
    let n_u = model.actuators.len() as u64;
    let control = |&world: &u64| (0..n_u).map(move |i| 0.1 * random::symmetric(7, world, step, i));
    worlds.iter().flat_map(control).collect()
}

fn run(batch: &mut Batch, model: &Model, worlds: &[u64], steps: std::ops::Range<u64>) {
    for step in steps {
        batch.step(&controls(model, worlds, step)).expect("a step");
    }
}

fn bits(state: &State) -> Vec<u64> {
    state.q.iter().chain(&state.v).map(|x| x.to_bits()).collect()
}

fn start(model: &Model) -> State {
    let q = model.keyframes.first().map_or_else(|| model.initial_q(), |key| key.q.clone());
    State { q, v: vec![0.0; model.n_v], ..State::default() }
}

fn stand(batch: &mut Batch, model: &Model) {
    let all: Vec<_> = (0..batch.len()).map(|w| (w, start(model))).collect();
    batch.reset(&all).expect("a reset");
}

#[test]
fn a_world_does_not_depend_on_its_neighbours_or_its_place() {
    let model = scene("quadruped");
    let many: Vec<u64> = (0..21).collect();
    let mut batch = Batch::new(&[(&model, many.len())], &options(Precision::F32)).expect("a batch");
    stand(&mut batch, &model);
    run(&mut batch, &model, &many, 0..STEPS);
    for chosen in [vec![13], vec![20, 13, 2]] {
        let mut other = Batch::new(&[(&model, chosen.len())], &options(Precision::F32)).expect("a batch");
        stand(&mut other, &model);
        run(&mut other, &model, &chosen, 0..STEPS);
        for (place, &world) in chosen.iter().enumerate() {
            let alone = other.state(place).expect("a state");
            assert_eq!(bits(&alone), bits(&batch.state(world as usize).expect("a state")), "world {world}");
        }
    }
    // The comparison can fail: worlds have different controls.
    assert_ne!(bits(&batch.state(0).expect("a state")), bits(&batch.state(1).expect("a state")));
}

/// The CPU computes few worlds one after the other, many side by side.
#[test]
fn a_world_alone_has_the_bits_that_it_has_in_a_pack() {
    let rigid = ["humanoid", "half-cheetah", "ant", "arm7", "cartpole", "heavy-stack", "clutter", "nut-turning"];
    let soft = ["soft-pinch", "soft-ball-hand", "soft-crawler"];
    let by_default = rigid.into_iter().chain(soft).map(|scene| (scene, "auto"));
    let by_others = ["pgs", "canal", "sap", "subadmm", "newton-cr"].map(|solver| ("quadruped", solver));
    for (name, solver) in by_default.chain(by_others) {
        let model = scene(name);
        let options = BatchOptions { solver: solver.into(), ..options(Precision::F64) };
        let many: Vec<u64> = (0..8).collect();
        let [mut batch, mut alone] = [8, 1].map(|n_world| Batch::new(&[(&model, n_world)], &options).expect("a batch"));
        stand(&mut batch, &model);
        stand(&mut alone, &model);
        run(&mut batch, &model, &many, 0..STEPS);
        run(&mut alone, &model, &[5], 0..STEPS);
        let [found, wanted] = [(&mut alone, 0), (&mut batch, 5)].map(|(batch, world)| {
            let mut summaries = Vec::new();
            batch.summaries(&mut summaries).expect("certificates");
            (bits(&batch.state(world).expect("a state")), summaries[world].residual.to_bits())
        });
        assert_eq!(found, wanted, "{name} by {solver}");
    }
}

#[test]
fn a_failing_world_is_frozen_and_harms_no_other() {
    let model = scene("half-cheetah");
    let worlds: Vec<u64> = (0..8).collect();
    let mut sound = Batch::new(&[(&model, 8)], &options(Precision::F64)).expect("a batch");
    let mut harmed = Batch::new(&[(&model, 8)], &options(Precision::F64)).expect("a batch");
    stand(&mut sound, &model);
    stand(&mut harmed, &model);
    let absurd = State { v: vec![1e300; model.n_v], ..start(&model) };
    harmed.reset(&[(3, absurd)]).expect("finite numbers");
    run(&mut sound, &model, &worlds, 0..STEPS);
    run(&mut harmed, &model, &worlds, 0..STEPS);
    let mut summaries = Vec::new();
    harmed.summaries(&mut summaries).expect("summaries");
    assert!(summaries[3].failed(), "{:?}", summaries[3]);
    assert_eq!(summaries.iter().filter(|s| s.failed()).count(), 1);
    for world in (0..8).filter(|&w| w != 3) {
        let [a, b] = [&mut sound, &mut harmed].map(|batch| bits(&batch.state(world).expect("a state")));
        assert_eq!(a, b, "world {world}");
    }
    let state = harmed.state(3).expect("a state");
    assert!(state.q.iter().all(|x| x.is_finite()), "{:?}", state.q);
    // A reset makes it a world like the others.
    harmed.reset(&[(3, start(&model))]).expect("a reset");
    run(&mut harmed, &model, &worlds, 0..5);
    harmed.summaries(&mut summaries).expect("summaries");
    assert!(!summaries[3].failed());
}

#[test]
fn a_restored_batch_goes_on_bit_for_bit() {
    let model = scene("ant");
    let worlds: Vec<u64> = (0..11).collect();
    let mut first = Batch::new(&[(&model, 11)], &options(Precision::F32)).expect("a batch");
    stand(&mut first, &model);
    first.set_parameter(4, 0, Parameter::BodyMass(0), &[20.0]).expect("a mass");
    run(&mut first, &model, &worlds, 0..STEPS);
    let bytes = first.checkpoint().expect("a checkpoint");
    run(&mut first, &model, &worlds, STEPS..2 * STEPS);
    let mut second = Batch::new(&[(&model, 11)], &options(Precision::F32)).expect("a batch");
    second.restore(&bytes).expect("its own bytes");
    run(&mut second, &model, &worlds, STEPS..2 * STEPS);
    for world in 0..11 {
        let [a, b] = [&mut first, &mut second].map(|batch| bits(&batch.state(world).expect("a state")));
        assert_eq!(a, b, "world {world}");
    }
    // Bytes of another batch, and broken ones, are refused.
    let mut other = Batch::new(&[(&model, 10)], &options(Precision::F32)).expect("a batch");
    assert!(matches!(other.restore(&bytes), Err(Error::Checkpoint(_))));
    for cut in [0, 5, 8, 20, bytes.len() - 1] {
        assert!(matches!(second.restore(&bytes[..cut]), Err(Error::Checkpoint(_))), "{cut} bytes");
    }
}

#[test]
fn an_overridden_mass_changes_its_world_alone() {
    let model = scene("hopper");
    let worlds = [0, 0, 0];
    let mut batch = Batch::new(&[(&model, 3)], &options(Precision::F64)).expect("a batch");
    stand(&mut batch, &model);
    batch.set_parameter(1, 0, Parameter::BodyMass(3), &[50.0]).expect("a mass");
    run(&mut batch, &model, &worlds, 0..STEPS);
    let [a, b, c] = [0, 1, 2].map(|world| bits(&batch.state(world).expect("a state")));
    assert_eq!(a, c);
    assert_ne!(a, b);
}

#[test]
fn a_software_adapter_refuses_a_tree_whose_loops_it_would_end() {
    let Some(device) = device().expect("an adapter, or the switch that says there is none") else { return };
    let link = "<body pos=\"0.1 0 0\"><joint axis=\"0 1 0\"/><geom size=\"0.02\"/>";
    let chain = |n: usize| {
        let text = format!("<mujoco><worldbody>{}{}</worldbody></mujoco>", link.repeat(n), "</body>".repeat(n));
        let nothing: &manyworlds_model::Resolver = &|_| Err(std::io::ErrorKind::NotFound.into());
        let import = manyworlds_model::ImportOptions::default();
        let model = manyworlds_model::from_mjcf_str("chain.xml", &text, nothing, &import).expect("a chain").model;
        let settings = BatchOptions { device: Some(device.clone()), ..options(Precision::F32) };
        Batch::new(&[(&model, 1)], &settings).map(drop)
    };
    assert!(chain(64).is_ok());
    let long = chain(65);
    assert!(if device.is_software() { matches!(long, Err(Error::Option { .. })) } else { long.is_ok() });
}

/// What a lane's solver takes for solved meets the tolerance by the certificate, too, however few sweeps it took.
#[test]
fn certificates_meet_loose_tolerances() {
    let model = scene("humanoid");
    for tolerance in [1e-6, 1e-4] {
        let mut lies =
            Batch::new(&[(&model, 1)], &BatchOptions { tolerance, ..options(Precision::F64) }).expect("a batch");
        let (mut worlds, mut touched) = (Vec::new(), 0);
        for step in 0..600 {
            lies.step::<f64>(&[]).expect("a step");
            lies.summaries(&mut worlds).expect("summaries");
            assert!(worlds[0].residual <= tolerance, "{step}: {:e} beside {tolerance:e}", worlds[0].residual);
            touched += usize::from(worlds[0].contacts > 3);
        }
        assert!(touched > 100);
    }
}

#[test]
fn both_executors_agree() {
    let Some(device) = device().expect("an adapter, or the switch that says there is none") else { return };
    // Contacts amplify round-off: after some steps in f64, a part in a million of a unit is what can be asked.
    let tolerance = 1e-6;
    for name in ["free-box", "cartpole", "hopper", "half-cheetah", "ant", "quadruped", "arm7", "humanoid"] {
        let model = scene(name);
        let worlds: Vec<u64> = (0..9).collect();
        // Where a problem is not solved, what is left of it depends on round-off: both get the iterations to solve it.
        let settings = BatchOptions { tolerance: 1e-11, iterations: 100, ..options(Precision::F64) };
        let mut cpu = Batch::new(&[(&model, 9)], &settings).expect("a batch");
        let settings = BatchOptions { device: Some(device.clone()), ..settings };
        let mut gpu = Batch::new(&[(&model, 9)], &settings).expect("a batch");
        for batch in [&mut cpu, &mut gpu] {
            stand(batch, &model);
            run(batch, &model, &worlds, 0..STEPS);
        }
        let worst = |cpu: &mut Batch, gpu: &mut Batch| {
            let mut worst = 0.0_f64;
            for world in 0..9 {
                let [a, b] = [&mut *cpu, &mut *gpu].map(|batch| batch.state(world).expect("a state"));
                let pairs = a.q.iter().chain(&a.v).zip(b.q.iter().chain(&b.v));
                worst = pairs.fold(worst, |worst, (x, y)| worst.max((x - y).abs() / (1.0 + x.abs())));
            }
            worst
        };
        let error = worst(&mut cpu, &mut gpu);
        assert!(error < tolerance, "{name}: {error:e}");
        // The comparison can fail: one more step on one side.
        run(&mut gpu, &model, &worlds, STEPS..STEPS + 1);
        assert!(worst(&mut cpu, &mut gpu) > tolerance, "{name}");
    }
}

#[test]
fn the_certificate_is_met_and_contacts_do_not_sink() {
    for name in ["hopper", "half-cheetah", "ant", "quadruped", "humanoid"] {
        let model = scene(name);
        let worlds: Vec<u64> = (0..8).collect();
        let mut batch = Batch::new(&[(&model, 8)], &options(Precision::F64)).expect("a batch");
        stand(&mut batch, &model);
        run(&mut batch, &model, &worlds, 0..500);
        let mut summaries: Vec<Summary> = Vec::new();
        batch.summaries(&mut summaries).expect("summaries");
        summaries.sort_by(|a, b| a.residual.total_cmp(&b.residual));
        assert!(summaries[4].residual <= 1e-6, "{name}: {:?}", summaries[4]);
        assert!(summaries.iter().any(|s| s.contacts > 0), "{name}");
        let deepest = summaries.iter().map(|s| s.penetration).fold(0.0, f64::max);
        assert!(deepest < 1e-3, "{name}: {deepest} m");
    }
}

/// Many trees that fall on their limits, without a contact to divide by: what is left of all together is within the tolerance.
#[test]
fn residuals_of_many_trees_add_up_to_the_tolerance() {
    let link = |length: f64, upper: usize, inner: &str| {
        format!(
            r#"<joint type="hinge" axis="0 1 0" range="-20 {upper}"/>
               <geom type="capsule" fromto="0 0 0 {length} 0 0" size="0.02"/>{inner}"#
        )
    };
    let chain = |k: usize| {
        let last = link(0.1, 2 + k % 7, "");
        let middle = link(0.15, 3 + k % 5, &format!(r#"<body pos="0.15 0 0">{last}</body>"#));
        let first = link(0.2, 5 + k, &format!(r#"<body pos="0.2 0 0">{middle}</body>"#));
        format!(r#"<body pos="{} 0 1">{first}</body>"#, 0.5 * k as f64)
    };
    let chains: String = (0..16).map(chain).collect();
    let model = mjcf(0.002, &format!("<worldbody>{chains}</worldbody>"));
    let settings = BatchOptions { tolerance: 1e-6, ..options(Precision::F64) };
    let mut batch = Batch::new(&[(&model, 1)], &settings).expect("a batch");
    let (mut summaries, mut worst) = (Vec::new(), 0.0_f64);
    for step in 0..300 {
        batch.step::<f64>(&[]).expect("a step");
        batch.summaries(&mut summaries).expect("summaries");
        assert!(summaries[0].contacts == 0 && summaries[0].residual <= 1e-6, "step {step}: {:?}", summaries[0]);
        worst = worst.max(summaries[0].residual);
    }
    assert!(worst > 1e-8, "nothing met its limits");
}

#[test]
fn misuse_is_an_error_that_says_what_and_where() {
    let model = scene("hopper");
    let said = |result: Result<(), Error>| result.expect_err("misuse").to_string();
    let mut batch = Batch::new(&[(&model, 2)], &options(Precision::F32)).expect("a batch");
    assert_eq!(said(batch.step(&[0.0; 5])), "controls: expected 6 numbers, found 5");
    assert!(said(batch.step(&[0.0, f64::NAN, 0.0, 0.0, 0.0, 0.0])).starts_with("controls[1]"));
    assert_eq!(said(batch.reset(&[(2, State::default())])), "world 2: there are 2");
    let short = State { q: vec![0.0; 3], ..State::default() };
    assert_eq!(said(batch.reset(&[(1, short)])), "q of world 1: expected 6 numbers, found 3");
    let made = |count: usize, options: &BatchOptions| said(Batch::new(&[(&model, count)], options).map(drop));
    assert!(made(0, &options(Precision::F32)).contains("at least one world"));
    assert!(made(usize::MAX / 4, &options(Precision::F32)).contains("MB"));
    let settings = BatchOptions { solver: "magic".into(), ..options(Precision::F32) };
    assert!(made(1, &settings).contains("unknown solver \"magic\""));
    let stabilisation = Stabilisation { fraction: 2.0, ..Stabilisation::default() };
    assert!(made(1, &BatchOptions { stabilisation, ..options(Precision::F32) }).contains("stabilisation.fraction"));
    let settings = BatchOptions { dt: Some(-0.1), ..options(Precision::F32) };
    assert!(made(1, &settings).starts_with("dt"));
}
