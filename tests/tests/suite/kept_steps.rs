//! Steps kept one by one against rollouts, resets between them, wrong input.

use manyworlds::{
    Batch, BatchOptions, Error, Executor, ImportOptions, Inputs, KeptStep, Model, Outputs, Precision, State, random,
};

fn load(scene: &str) -> Model {
    manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model
}

fn batch(models: &[(&Model, usize)]) -> Batch {
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-12,
        iterations: 1000,
        ..BatchOptions::default()
    };
    Batch::new(models, &options).expect("a batch")
}

fn controls(batch: &Batch, steps: usize) -> Vec<f64> {
    (0..steps * batch.n_controls()).map(|i| 0.3 * random::symmetric(4, 0, 0, i as u64)).collect()
}

/// A gradient by the state after the last step of a world.
fn weights(world: usize, n_v: usize) -> Outputs {
    let of = |entry: usize| random::symmetric(7, world as u64, 1, entry as u64);
    Outputs { q: (0..n_v).map(of).collect(), v: (0..n_v).map(|k| of(100 + k)).collect(), ..Outputs::default() }
}

/// Steps, each of them kept.
fn kept(batch: &mut Batch, controls: &[f64], steps: usize) -> Vec<KeptStep> {
    batch.keep_steps(true).expect("double precision");
    let n = batch.n_controls();
    (0..steps)
        .map(|step| {
            batch.step(&controls[step * n..(step + 1) * n]).expect("a step");
            batch.kept_step().expect("a kept step")
        })
        .collect()
}

/// Gradients by what went into the first of some steps.
fn back(steps: &[KeptStep], last: Vec<Outputs>) -> Vec<Inputs> {
    let mut outputs = last;
    let mut inputs = Vec::new();
    for step in steps.iter().rev() {
        inputs = step.back(&outputs).expect("gradients").into_iter().map(|(inputs, _)| inputs).collect();
        outputs = inputs.iter().map(|i| Outputs { q: i.q.clone(), v: i.v.clone(), ..Outputs::default() }).collect();
    }
    inputs
}

const STEPS: usize = 40;

#[test]
fn kept_steps_give_the_gradients_of_a_rollout() {
    let (hopper, cheetah) = (load("hopper"), load("half-cheetah"));
    let mut batch = batch(&[(&hopper, 3), (&cheetah, 10)]);
    let start = batch.checkpoint().expect("bytes");
    let controls = controls(&batch, STEPS);
    let n_v: Vec<usize> = (0..batch.len()).map(|world| batch.model(world).expect("a model").n_v).collect();
    let steps = kept(&mut batch, &controls, STEPS);
    assert_eq!(steps[0].len(), 13);
    assert!(!steps[0].is_empty() && steps[0].bytes() > 13 * 8);
    let last: Vec<Outputs> = n_v.iter().enumerate().map(|(world, &n)| weights(world, n)).collect();
    let states: Vec<State> = (0..batch.len()).map(|world| batch.state(world).expect("a state")).collect();
    for (after, state) in steps[STEPS - 1].after().zip(&states) {
        assert_eq!((&after.q, &after.v), (&state.q, &state.v));
    }
    // The batch goes on; what is kept stays what it was.
    batch.step::<f64>(&[]).expect("a step");
    let found = back(&steps, last.clone());
    batch.restore(&start).expect("a batch");
    let rollout = batch.rollout(STEPS, &controls, 1 << 30).expect("a rollout");
    let expected = batch.backward(&rollout, |step, world, _, out| {
        if step + 1 == STEPS {
            out.clone_from(&last[world]);
        }
        0.0
    });
    for (found, expected) in found.iter().zip(expected.expect("gradients").worlds) {
        assert!(expected.q.iter().any(|x| x.abs() > 1e-3));
        assert_eq!((&found.q, &found.v), (&expected.q, &expected.v));
    }
}

#[test]
fn a_world_that_was_reset_begins_a_chain_of_its_own() {
    let hopper = load("hopper");
    let mut batch = batch(&[(&hopper, 2)]);
    let controls = controls(&batch, STEPS);
    let n = batch.n_controls();
    batch.keep_steps(true).expect("double precision");
    let mut steps = Vec::new();
    let begun = State { q: vec![0.0, 0.1, 0.1, -0.3, -0.4, 0.2], v: vec![0.1; 6], ..State::default() };
    for step in 0..STEPS {
        if step == STEPS / 2 {
            batch.reset(&[(1, begun.clone())]).expect("a reset");
        }
        batch.step(&controls[step * n..(step + 1) * n]).expect("a step");
        steps.push(batch.kept_step().expect("a kept step"));
    }
    let last = vec![weights(0, 6), weights(1, 6)];
    let found = back(&steps[STEPS / 2..], last.clone());
    // Alone, from where it began.
    let mut alone = self::batch(&[(&hopper, 2)]);
    alone.reset(&[(1, begun)]).expect("a reset");
    let expected = back(&kept(&mut alone, &controls[STEPS / 2 * n..], STEPS / 2), last);
    assert_eq!(found[1], expected[1]);
    assert_ne!(found[0], expected[0]);
}

#[test]
fn wrong_input_is_refused() {
    let hopper = load("hopper");
    let mut batch = batch(&[(&hopper, 2)]);
    assert!(matches!(batch.kept_step(), Err(Error::NoGradient)));
    batch.keep_steps(true).expect("double precision");
    assert!(matches!(batch.kept_step(), Err(Error::NoGradient)));
    batch.step::<f64>(&[]).expect("a step");
    let kept = batch.kept_step().expect("a kept step");
    let none = Outputs::default();
    assert!(matches!(kept.back(&[]), Err(Error::Length { .. })));
    let short = Outputs { q: vec![1.0], v: Vec::new(), ..Outputs::default() };
    assert!(matches!(kept.back(&[none.clone(), short]), Err(Error::Length { world: Some(1), .. })));
    let wild = Outputs { q: Vec::new(), v: vec![f64::NAN; 6], ..Outputs::default() };
    assert!(matches!(kept.back(&[wild, none.clone()]), Err(Error::NotFinite { world: Some(0), .. })));
    let found = kept.back(&[none.clone(), none]).expect("gradients");
    assert!(found.iter().all(|(inputs, _)| inputs.q == vec![0.0; 6]));
}
