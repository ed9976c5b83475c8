//! Several models in one batch: each world as if its model were alone, and stage times of all of them.

use std::time::Instant;

use manyworlds::{Batch, BatchOptions, Error, Executor, ImportOptions, Model, Precision, State, Summary, load, random};
use manyworlds_tests::batches::{bits, executors, run, state};

/// Worlds of each model: more than a register holds of the first, fewer of the others.
const COUNTS: [usize; 3] = [9, 2, 1];

/// One tree with actuators, another, and islands of several trees without any.
fn models() -> [Model; 3] {
    ["hopper", "quadruped", "clutter"]
        .map(|name| load(name, &ImportOptions::default()).expect("a built-in scene").model)
}

fn options(precision: Precision) -> BatchOptions {
    BatchOptions { executor: Executor::Cpu, precision, ..Default::default() }
}

/// Controls of the `count` worlds of a model in a step.
fn controls(model: &Model, count: usize, step: u64) -> Vec<f64> {
    let n_u = model.actuators.len() as u64;
    (0..count as u64).flat_map(|w| (0..n_u).map(move |u| 0.3 * random::symmetric(3, w, step, u))).collect()
}

fn together(models: &[Model; 3], options: &BatchOptions) -> Batch {
    let groups: Vec<_> = models.iter().zip(COUNTS).collect();
    Batch::new(&groups, options).expect("a batch")
}

fn step(batch: &mut Batch, models: &[Model; 3], steps: std::ops::Range<u64>) {
    for s in steps {
        let all: Vec<f64> = models.iter().zip(COUNTS).flat_map(|(model, n)| controls(model, n, s)).collect();
        batch.step(&all).expect("a step");
    }
}

fn all_bits(batch: &mut Batch) -> Vec<Vec<u64>> {
    (0..batch.len()).map(|world| bits(&state(batch, world))).collect()
}

#[test]
fn worlds_of_several_models_step_as_those_of_one_do() {
    let models = models();
    for precision in [Precision::F32, Precision::F64] {
        let mut batch = together(&models, &options(precision));
        assert_eq!((batch.len(), batch.n_groups(), batch.worlds(1)), (12, 3, 9..11));
        step(&mut batch, &models, 0..30);
        for (group, (model, count)) in models.iter().zip(COUNTS).enumerate() {
            let mut alone = Batch::new(&[(model, count)], &options(precision)).expect("a batch");
            (0..30).for_each(|s| alone.step(&controls(model, count, s)).expect("a step"));
            for (local, world) in batch.worlds(group).enumerate() {
                assert_eq!(batch.model(world).expect("a model").name, model.name);
                assert_eq!(bits(&state(&mut batch, world)), bits(&state(&mut alone, local)), "{}", model.name);
            }
        }
    }
}

#[test]
fn a_reset_touches_the_worlds_it_names() {
    let models = models();
    let mut batch = together(&models, &options(Precision::F64));
    let initial = all_bits(&mut batch);
    step(&mut batch, &models, 0..20);
    let before = all_bits(&mut batch);
    // One of each group; the rest of a state that is left out stays.
    let at_start = |world: usize, model: &Model| {
        (world, State { q: model.initial_q(), v: vec![0.0; model.n_v], ..State::default() })
    };
    batch.reset(&[at_start(11, &models[2]), at_start(4, &models[0]), at_start(10, &models[1])]).expect("a reset");
    for (world, now) in all_bits(&mut batch).iter().enumerate() {
        let wanted = if [4, 10, 11].contains(&world) { &initial } else { &before };
        assert_eq!(now, &wanted[world], "world {world}");
        assert_ne!(initial[world], before[world], "world {world} did not move");
    }
}

#[test]
fn a_checkpoint_holds_all_groups_and_a_failure_stays_in_its_world() {
    let models = models();
    let mut batch = together(&models, &options(Precision::F32));
    step(&mut batch, &models, 0..20);
    let saved = batch.checkpoint().expect("a checkpoint");
    step(&mut batch, &models, 20..30);
    let wanted = all_bits(&mut batch);

    let mut other = together(&models, &options(Precision::F32));
    other.restore(&saved).expect("its own bytes");
    // One world with a velocity that overflows; a box of clutter and a quadruped.
    for world in [11, 9] {
        let mut broken = state(&mut other, world);
        broken.v.fill(1e38);
        other.reset(&[(world, broken)]).expect("a reset");
    }
    step(&mut other, &models, 20..30);
    let mut summaries: Vec<Summary> = Vec::new();
    other.summaries(&mut summaries).expect("summaries");
    for (world, (now, summary)) in all_bits(&mut other).iter().zip(&summaries).enumerate() {
        let broken = [11, 9].contains(&world);
        assert_eq!(summary.failed(), broken, "world {world}: {summary:?}");
        assert_eq!(now == &wanted[world], !broken, "world {world}");
    }
    let mut fewer = Batch::new(&[(&models[0], 9)], &options(Precision::F32)).expect("a batch");
    assert!(matches!(fewer.restore(&saved), Err(Error::Checkpoint(_))), "a checkpoint of other groups");
    assert!(matches!(other.restore(&saved[..saved.len() / 2]), Err(Error::Checkpoint(_))), "half a checkpoint");
}

#[test]
fn any_group_without_worlds_or_with_wrong_controls_is_refused() {
    let [hopper, quadruped, _] = models();
    let Err(error) = Batch::new(&[(&hopper, 2), (&quadruped, 0)], &options(Precision::F32)) else {
        panic!("a group without worlds was taken");
    };
    assert!(matches!(error, Error::NoWorlds { model: 1, .. }), "{error}");
    let mut batch = Batch::new(&[(&hopper, 2), (&quadruped, 1)], &options(Precision::F32)).expect("a batch");
    let before = all_bits(&mut batch);
    let expected = 2 * hopper.actuators.len() + quadruped.actuators.len();
    for found in [1, expected - 1, expected + 1] {
        let error = batch.step(&vec![0.1; found]).expect_err("a wrong length");
        assert_eq!(error.to_string(), format!("controls: expected {expected} numbers, found {found}"));
    }
    for tau in [vec![0.0; hopper.n_v + 1], vec![f64::INFINITY; hopper.n_v]] {
        batch.reset(&[(0, State { tau, ..State::default() })]).expect_err("a wrong force");
    }
    // Nothing that was refused was done in part.
    assert_eq!((all_bits(&mut batch), batch.steps()), (before, 0));
}

#[test]
fn stage_times_are_of_this_batch_and_no_more_than_passed() {
    let [hopper, ..] = models();
    for (executor, settings) in executors(&options(Precision::F32)) {
        // One chunk: nothing runs side by side, so that the stages of the host and of the mirrors add up to less than the
        // clock says.
        let mut batch = Batch::new(&[(&hopper, 8)], &settings).expect("a batch");
        run(&mut batch, 2);
        batch.wait().expect("the device");
        batch.time_stages(true);
        let clock = Instant::now();
        run(&mut batch, 20);
        batch.wait().expect("the device");
        let passed = clock.elapsed().as_secs_f64() * 1e3;
        let stages = batch.stage_ms();
        let sum: f64 = stages.iter().map(|(_, ms)| ms).sum();
        assert!(sum > 0.0 && sum <= passed && stages.iter().all(|(_, ms)| *ms >= 0.0), "{executor}: {stages:?}");
        let kernel = if batch.times_device_stages() { "factor" } else { "device" };
        for name in ["collide", "organise", "pack", kernel] {
            let found = stages.iter().find(|(stage, _)| stage.split('/').next_back() == Some(name));
            assert!(found.is_some_and(|(_, ms)| *ms > 0.0), "{executor}: {name} in {stages:?}");
        }
        batch.time_stages(false);
        run(&mut batch, 2);
        assert!(batch.stage_ms().is_empty(), "{executor}: {:?}", batch.stage_ms());
    }
}
