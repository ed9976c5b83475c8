//! Steps kept one by one against rollouts, resets between them, wrong input.

use manyworlds::{
    Batch, BatchOptions, Certificate, DerivativesBy, Error, Executor, GeomParameter, ImportOptions, Inputs, InputsMut,
    KeptStep, Model, OutputSlices, Outputs, Parameter, Precision, State, random,
};
use manyworlds_tests::batches::{largest, largest_difference};

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

/// Products of all worlds with the last step, as soon as it is taken.
fn at_once(batch: &mut Batch, outputs: &[Outputs]) -> Vec<(Inputs, Certificate)> {
    let all: Vec<usize> = (0..batch.len()).collect();
    let n_v: usize = outputs.iter().map(|o| o.v.len()).sum();
    let [by_q, by_v] = [|o: &Outputs| o.q.clone(), |o: &Outputs| o.v.clone()].map(|of| outputs.iter().flat_map(of));
    let (from_q, from_v): (Vec<f64>, Vec<f64>) = (by_q.collect(), by_v.collect());
    let [mut q, mut v, mut tau] = [(); 3].map(|()| vec![0.0; n_v]);
    let mut ctrl = vec![0.0; batch.n_controls()];
    let to = InputsMut { q: &mut q, v: &mut v, tau: &mut tau, ctrl: &mut ctrl, ..InputsMut::default() };
    let from = OutputSlices { q: &from_q, v: &from_v, ..OutputSlices::default() };
    let certificates = batch.back_all(&all, &from, to).expect("products");
    let (mut dof, mut control) = (0, 0);
    let one = |(world, certificate): (usize, Certificate)| {
        let model = batch.model(world).expect("a model");
        let (dofs, controls) = (dof..dof + model.n_v, control..control + model.actuators.len());
        (dof, control) = (dofs.end, controls.end);
        let [q, v, tau] = [&q, &v, &tau].map(|all| all[dofs.clone()].to_vec());
        (Inputs { q, v, tau, ctrl: ctrl[controls].to_vec(), act: Vec::new() }, certificate)
    };
    certificates.into_iter().enumerate().map(one).collect()
}

/// Products of kept steps are those of the steps as they were taken, to the bit: of worlds with parameters and geoms of their own,
/// of several robots on one ground, in tiles that are not full, and where kernels leave a world to the host.
fn kept_steps_are_the_steps_that_were_taken(executor: Executor, precision: Precision) {
    let (cheetah, humanoid, two) = (load("half-cheetah"), load("humanoid"), load("clutter"));
    let single = precision == Precision::F32;
    let options = BatchOptions {
        executor,
        precision,
        tolerance: if single { 1e-6 } else { 1e-12 },
        iterations: 1000,
        ..BatchOptions::default()
    };
    let models = [(&cheetah, 37), (&humanoid, 9), (&two, 2)];
    let mut batch = Batch::new(&models, &options).expect("a batch");
    batch.set_derivatives_by(DerivativesBy::Kernels);
    for world in [1, 20] {
        let mass = batch.parameter(world, 0, Parameter::BodyMass(1)).expect("a mass");
        batch.set_parameter(world, 0, Parameter::BodyMass(1), &[1.5 * mass[0]]).expect("a mass");
    }
    let foot = (0..cheetah.geoms.len()).rev().find(|&geom| cheetah.bodies[cheetah.geoms[geom].body].tree.is_some());
    let foot = foot.expect("a geom that moves");
    batch.set_geom(2, foot, GeomParameter::Size, &[0.06, 0.1]).expect("a size");
    let controls = controls(&batch, STEPS);
    let n = batch.n_controls();
    batch.keep_steps(true).expect("the default integrator");
    let n_v: Vec<usize> = (0..batch.len()).map(|world| batch.model(world).expect("a model").n_v).collect();
    let outputs: Vec<Outputs> = n_v.iter().enumerate().map(|(world, &n)| weights(world, n)).collect();
    let (mut steps, mut expected) = (Vec::new(), Vec::new());
    for step in 0..STEPS {
        batch.step(&controls[step * n..(step + 1) * n]).expect("a step");
        if step % 13 == 12 {
            steps.push(batch.kept_step().expect("a kept step"));
            expected.push(at_once(&mut batch, &outputs));
        }
    }
    let mut certified = 0;
    for (step, expected) in steps.iter().zip(expected).rev() {
        for (world, (found, expected)) in step.back(&outputs).expect("products").iter().zip(&expected).enumerate() {
            let numbers = |of: &Inputs| [&of.q, &of.v, &of.tau, &of.ctrl].map(Clone::clone).concat();
            let (found_all, expected_all) = (numbers(&found.0), numbers(&expected.0));
            // What the host does of a step in double precision it does again for kept ones from what it was, not from what it left.
            let off = largest_difference(&found_all, &expected_all) / largest(&expected_all);
            assert!(off <= 1e-11, "world {world}: off by {off:.1e}");
            assert_eq!(
                found.1.reasons().collect::<Vec<_>>(),
                expected.1.reasons().collect::<Vec<_>>(),
                "world {world}"
            );
            certified += usize::from(found.1.valid());
        }
    }
    println!("{certified} certified of {}", 3 * batch.len());
    assert!(certified > batch.len(), "{certified}");
}

#[test]
fn kept_steps_are_the_steps_that_were_taken_in_double_precision() {
    kept_steps_are_the_steps_that_were_taken(Executor::Cpu, Precision::F64);
}

#[test]
fn kept_steps_are_the_steps_that_were_taken_in_single_precision() {
    kept_steps_are_the_steps_that_were_taken(Executor::Cpu, Precision::F32);
}

#[test]
fn kept_steps_stay_on_the_device() {
    kept_steps_are_the_steps_that_were_taken(Executor::Gpu, Precision::F32);
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
