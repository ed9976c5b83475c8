//! Derivatives of forces that act elsewhere than at joints, and of activations: against differences, golden models and chains.

use manyworlds::gradcheck::Checker;
use manyworlds::{Batch, Inputs, KeptStep, Model, ModelParameter, Outputs, Parameter, Smoothing, State, random};
use manyworlds_model::{ImportOptions, load};
use manyworlds_tests::audit::{Audit, Scenes};
use manyworlds_tests::batches::{batch, largest, largest_difference, mjcf, run, state, tight};
use manyworlds_tests::root;

/// Two links held by muscles, whose activations follow controls in four ways; the last acts as it is at the end of the step.
const ARM: &str = r#"
    <default><joint damping="0.05" armature="0.01"/><geom type="capsule" size="0.02" contype="0" conaffinity="0"/></default>
    <worldbody>
      <site name="fixed" pos="-0.1 0 0.1"/>
      <body name="upper">
        <joint name="shoulder" axis="0 1 0"/>
        <geom fromto="0 0 0 0.3 0 0"/>
        <site name="upper" pos="0.15 0 0.03"/>
        <body name="lower" pos="0.3 0 0">
          <joint name="elbow" axis="0 1 0"/>
          <geom fromto="0 0 0 0.25 0 0"/>
          <site name="lower" pos="0.05 0 0.03"/>
        </body>
      </body>
    </worldbody>
    <tendon>
      <spatial name="one"><site site="fixed"/><site site="upper"/></spatial>
      <spatial name="two" stiffness="20" damping="0.3"><site site="upper"/><site site="lower"/></spatial>
    </tendon>
    <actuator>
      <muscle tendon="one" lengthrange="0.1 0.4" force="30"/>
      <muscle tendon="two" lengthrange="0.1 0.4" force="30" timeconst="0.02 0.06"/>
      <general joint="elbow" gainprm="0.4" dyntype="filterexact" dynprm="0.03"/>
      <general tendon="two" gainprm="0.5" dyntype="integrator" actlimited="true" actrange="-1 1" biastype="affine" biasprm="0 -2 -0.1"/>
      <general joint="shoulder" gainprm="0.3" dyntype="filter" dynprm="0.05" actearly="true"/>
    </actuator>"#;

const STEPS: usize = 40;
const BY: f64 = 1e-5;

fn arm() -> (Model, State) {
    let model = mjcf(2e-3, ARM);
    let start =
        State { q: vec![0.3, 0.7], v: vec![0.2, -0.4], act: vec![0.3, 0.5, 0.1, -0.2, 0.4], ..State::default() };
    (model, start)
}

fn arms(model: &Model, start: &State, worlds: usize) -> Batch {
    let mut batch = batch(model, worlds, &tight());
    let states: Vec<_> = (0..worlds).map(|world| (world, start.clone())).collect();
    batch.reset(&states).expect("a state");
    batch
}

/// Controls of every step of one world, within bounds.
fn controls(n_u: usize) -> Vec<f64> {
    (0..STEPS * n_u).map(|i| 0.4 + 0.2 * random::symmetric(3, 0, 0, i as u64)).collect()
}

/// Gradient of what is wanted of the last state, by it.
fn wanted() -> Outputs {
    Outputs { q: vec![1.0, -0.5], v: vec![0.2, 0.3], act: vec![0.7, -0.4, 0.2, 0.5, 0.1] }
}

/// That of the last state.
fn loss(state: &State) -> f64 {
    let Outputs { q, v, act } = wanted();
    [(&q, &state.q), (&v, &state.v), (&act, &state.act)]
        .into_iter()
        .map(|(by, x)| by.iter().zip(x).map(|(a, b)| a * b).sum::<f64>())
        .sum()
}

/// The same as rollouts take it.
fn last(step: usize, _world: usize, state: &State, by: &mut Outputs) -> f64 {
    if step + 1 < STEPS {
        return 0.0;
    }
    *by = wanted();
    loss(state)
}

/// The loss of a rollout.
fn rolled(model: &Model, start: &State, controls: &[f64]) -> f64 {
    let mut batch = arms(model, start, 1);
    controls.chunks_exact(model.actuators.len()).for_each(|own| batch.step(own).expect("a step"));
    loss(&batch.state(0).expect("a state"))
}

/// Central differences of a function of some numbers.
fn differences(numbers: &[f64], f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let one = |k: usize| {
        let [ahead, behind] = [BY, -BY].map(|by| {
            let mut moved = numbers.to_vec();
            moved[k] += by;
            f(&moved)
        });
        (ahead - behind) / (2.0 * BY)
    };
    (0..numbers.len()).map(one).collect()
}

fn agree(what: &str, found: &[f64], expected: &[f64]) {
    let (size, off) = (largest(expected), largest_difference(found, expected));
    assert!(size > 1e-4, "{what}: nothing depends on it");
    assert!(off < 1e-7 * size.max(1.0), "{what}: {off:.1e} of {size:.1e}");
}

#[test]
fn gradients_go_through_activations_of_a_rollout() {
    let (model, start) = arm();
    let controls = controls(model.actuators.len());
    let by_control = differences(&controls, |moved| rolled(&model, &start, moved));
    let by_act =
        differences(&start.act, |act| rolled(&model, &State { act: act.to_vec(), ..start.clone() }, &controls));
    let by_v = differences(&start.v, |v| rolled(&model, &State { v: v.to_vec(), ..start.clone() }, &controls));

    let mut batch = arms(&model, &start, 1);
    let rollout = batch.rollout(STEPS, &controls, 64 << 20).expect("a rollout");
    let found = batch.backward(&rollout, last).expect("a gradient").worlds.remove(0);
    assert!(found.doubtful == 0, "{found:?}");
    agree("controls", &found.ctrl, &by_control);
    agree("activations", &found.act, &by_act);
    agree("velocities", &found.v, &by_v);

    // Step by step, as trainers go.
    let mut batch = arms(&model, &start, 1);
    batch.keep_steps(true).expect("double precision");
    let kept: Vec<KeptStep> = controls
        .chunks_exact(model.actuators.len())
        .map(|own| {
            batch.step(own).expect("a step");
            batch.kept_step().expect("a step")
        })
        .collect();
    let mut outputs = vec![wanted()];
    let mut backwards = Vec::new();
    for step in kept.iter().rev() {
        let (Inputs { q, v, act, ctrl, .. }, certificate) = step.back(&outputs).expect("a product").remove(0);
        assert!(certificate.valid(), "{certificate:?}");
        outputs = vec![Outputs { q, v, act }];
        backwards.splice(0..0, ctrl);
    }
    agree("controls, step by step", &backwards, &by_control);
    agree("activations, step by step", &outputs[0].act, &by_act);
}

#[test]
fn gradients_of_expected_losses_go_through_activations() {
    let (model, start) = arm();
    let worlds = 4000;
    let mut batch = arms(&model, &start, worlds);
    let spread = Inputs { act: vec![0.02; 5], ..Inputs::default() };
    let controls = controls(model.actuators.len());
    let smoothing = Smoothing { spread, seed: 2 };
    let found = batch.smoothed_gradient(&start, STEPS, &controls, &smoothing, 256 << 20, last).expect("a gradient");
    let [first, zeroth] = [&found.first_order, &found.zeroth_order];
    let size = largest(&first.mean.act);
    for k in 0..5 {
        let [mean, other] = [first, zeroth].map(|of| of.mean.act[k]);
        let [own, others] = [first, zeroth].map(|of| of.standard_error.act[k]);
        assert!((mean - other).abs() < 4.0 * own.hypot(others), "{k}: {mean:e} +- {own:e}, {other:e} +- {others:e}");
        assert!(own < 1e-3 * size && others < 0.03 * size, "{k}: {own:e} and {others:e} of {size:e}");
    }
}

/// All blocks of a step's Jacobian, those of activations too, against differences.
#[test]
fn the_jacobian_has_blocks_of_activations() {
    let (model, start) = arm();
    let mut checker = Checker::new(&model, &tight(), 1e-5).expect("a checker");
    let state = State { ctrl: vec![0.6, 0.2, 0.5, 0.3, -0.4], ..start };
    let found = checker.compare(&state).expect("a comparison");
    assert!(found.jacobian.certificate.valid() && found.inputs == [2, 2, 2, 5, 5], "{found:?}");
    assert!(found.kinks == [0; 5] && found.error() < 1e-6, "{:#?}", found.blocks);
    for block in [&found.jacobian.dv_dact, &found.jacobian.dact_dctrl, &found.jacobian.dact_dact] {
        assert!(largest(block) > 1e-3, "{found:?}");
    }
    // Only what acts at the end of the step comes to velocities from its control at once.
    assert!(found.jacobian.dv_dctrl.chunks(5).all(|row| row[..4] == [0.0; 4] && row[4] != 0.0), "{found:?}");
}

/// Velocities and activations by the time step, and by what tendons, muscles and activations are made of.
#[test]
fn derivatives_by_parameters_of_forces_are_those_of_differences() {
    use Parameter as P;
    let (model, start) = arm();
    let state = State { ctrl: vec![0.6, 0.2, 0.5, 0.3, -0.4], ..start };
    let mut batch = arms(&model, &state, 1);
    let parameters = [
        P::TendonStiffness(1),
        P::TendonDamping(1),
        P::MuscleForce(0),
        P::MuscleForce(1),
        P::ActuatorTimes(0),
        P::ActuatorTimes(1),
        P::ActuatorTimes(2),
        P::ActuatorTimes(4),
        P::ActuatorGear(3),
        P::Timestep,
    ];
    for parameter in parameters {
        let values = batch.parameter(0, 0, parameter).expect("a parameter");
        let after = |moved: &[f64]| {
            let mut other = arms(&model, &state, 1);
            other.set_parameter(0, 0, parameter, moved).expect("a parameter");
            other.reset(&[(0, state.clone())]).expect("a state");
            run(&mut other, 1);
            let State { v, act, .. } = manyworlds_tests::batches::state(&mut other, 0);
            [v, act].concat()
        };
        let asked = match parameter {
            P::Timestep => ModelParameter::Every(parameter),
            _ => ModelParameter::Tree { tree: 0, parameter },
        };
        batch.keep_steps(true).expect("double precision");
        batch.reset(&[(0, state.clone())]).expect("a state");
        run(&mut batch, 1);
        let found = batch.parameter_derivatives(0, &[asked]).expect("derivatives");
        assert!(found.certificate.valid(), "{parameter:?}: {:?}", found.certificate);
        let mut most = 0.0_f64;
        for (k, column) in found.columns.iter().enumerate().filter(|&(k, _)| values[k] != 0.0) {
            let by = 1e-5 * values[k];
            let [ahead, behind] = [by, -by].map(|by| {
                let mut moved = values.clone();
                moved[k] += by;
                after(&moved)
            });
            let expected: Vec<f64> = ahead.iter().zip(behind).map(|(a, b)| (a - b) / (2.0 * by)).collect();
            let found = [&column.v[..], &column.act[..]].concat();
            let off = largest_difference(&found, &expected);
            assert!(off < 1e-6 * largest(&expected).max(1e-4), "{parameter:?} {k}: {found:?} and {expected:?}");
            most = most.max(largest(&expected));
        }
        assert!(most > 1e-8, "{parameter:?} does nothing");
    }
    // What the tree has not.
    for parameter in
        [P::TendonRange(0), P::TendonFriction(0), P::TendonStiffness(0), P::MuscleForce(2), P::ActuatorTimes(9)]
    {
        let asked = ModelParameter::Tree { tree: 0, parameter };
        let error = batch.parameter_derivatives(0, &[asked]).expect_err("no such part").to_string();
        assert!(error.contains("no such part"), "{error}");
    }
}

/// The models whose forces are compared with MuJoCo's, as they move.
#[test]
fn derivatives_of_golden_models_are_those_of_differences() {
    for name in ["tendons", "actuated", "immersed", "carried"] {
        let path = root().join(format!("tests/golden/models/{name}.xml"));
        let model = load(path, &ImportOptions::default()).expect("a model").model;
        let mut checker = Checker::new(&model, &tight(), 1e-6).expect("a checker");
        let mut batch = batch(&model, 1, &tight());
        let draw = |which: u64, n: usize| (0..n).map(|i| random::symmetric(which, 0, 0, i as u64)).collect::<Vec<_>>();
        batch.reset(&[(0, State { v: draw(1, model.n_v), ..State::default() })]).expect("a state");
        let mut judged = 0;
        for look in 0..3 {
            run(&mut batch, 50);
            batch.step(&draw(2 + look, model.actuators.len())).expect("a step");
            let found = checker.compare_closely(&state(&mut batch, 0), 1e-6).expect("a comparison");
            if found.jacobian.certificate.valid() {
                assert!(found.error() < 1e-6, "{name}: {:#?}", found.blocks);
                judged += 1;
            }
        }
        assert!(judged > 1, "{name}");
    }
}

/// Random robots with all of it: what is certified is right, and most is certified.
#[test]
fn certified_derivatives_of_random_forces_are_right() {
    let mut audit = Audit::default();
    (0..60).for_each(|seed| audit.look_at(Scenes::Applied, seed));
    println!("{audit:?}");
    assert!(audit.wrong.is_empty(), "{:#?}", audit.wrong);
    assert!(audit.certified[0] > audit.states * 6 / 10, "{audit:?}");
}
