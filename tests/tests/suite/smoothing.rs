//! Gradients of expected losses against closed forms: of a box that is lifted or is not, of a ball that meets a ledge or not.

use manyworlds::model::{Contacting, Geom, Inertial, Joint, JointKind, Mat3, ModelBuilder, Pose, Shape, Vec3};
use manyworlds::{
    Batch, BatchOptions, Error, Executor, ImportOptions, Inputs, Model, Outputs, Precision, Smoothing, State,
};

const MEMORY: usize = 256 << 20;
/// Standard errors that an estimate may be off by.
const OFF: f64 = 4.0;

fn batch(model: &Model, worlds: usize) -> Batch {
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-11,
        iterations: 1000,
        ..BatchOptions::default()
    };
    Batch::new(&[(model, worlds)], &options).expect("a batch")
}

fn load(scene: &str) -> Model {
    manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model
}

/// The density of the standard normal distribution, and the share below x.
fn normal(x: f64) -> (f64, f64) {
    let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
    // Simpson's rule from far below.
    let (from, n) = (-10.0, 4000);
    let h = (x - from) / n as f64;
    let weight = |i: usize| if i == 0 || i == n { 1.0 } else { 2.0 + 2.0 * (i % 2) as f64 };
    (density(x), (0..=n).map(|i| weight(i) * density(from + h * i as f64)).sum::<f64>() * h / 3.0)
}

/// A box of 1 kg on the floor, pulled up by less than its weight: `v+ = max(0, h (F / m - g))` has no slope there, and its
/// mean over normal F has: `h / m` times the share of forces above the weight.
#[test]
fn a_box_that_some_forces_lift() {
    let model = load("free-box");
    let (h, weight, force, spread) = (model.options.timestep, 9.81, 8.0, 2.0);
    let mut batch = batch(&model, 4000);
    let q = vec![0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0];
    let start = State { q, tau: vec![0.0, 0.0, force, 0.0, 0.0, 0.0], ..State::default() };
    let tau = vec![0.0, 0.0, spread, 0.0, 0.0, 0.0];
    let up = |_: usize, _: usize, state: &State, out: &mut Outputs| {
        out.v[2] = 1.0;
        state.v[2]
    };
    let none = Smoothing::default();
    let plain = batch.smoothed_gradient(&start, 1, &[], &none, MEMORY, up).expect("gradients");
    assert!(plain.first_order.mean.tau[2].abs() < 1e-12 && plain.zeroth_order.mean.tau[2] == 0.0, "{plain:?}");
    let smoothing = Smoothing { spread: Inputs { tau, ..Inputs::default() }, seed: 1 };
    let before = batch.checkpoint().expect("bytes");
    let found = batch.smoothed_gradient(&start, 1, &[], &smoothing, MEMORY, up).expect("gradients");
    assert_eq!(batch.checkpoint().expect("bytes"), before, "the batch is as it was");
    assert_eq!(found.samples, 4000);
    let (density, share) = normal((force - weight) / spread);
    let expected = h * share;
    for (name, estimate) in [("first", &found.first_order), ("zeroth", &found.zeroth_order)] {
        let (mean, error) = (estimate.mean.tau[2], estimate.standard_error.tau[2]);
        println!("{name}: {mean:.3e} +- {error:.1e}, {expected:.3e}");
        assert!((mean - expected).abs() < OFF * error && error < 0.1 * expected, "{name}: {mean} +- {error}");
        assert!(estimate.mean.q.iter().all(|x| x.is_finite()));
    }
    let value = h * ((force - weight) * share + spread * density);
    assert!((found.loss[0] - value).abs() < OFF * found.loss[1] && found.loss[1] < 0.1 * value, "{:?}", found.loss);
    // The same seed, the same numbers; another, others.
    let again = batch.smoothed_gradient(&start, 1, &[], &smoothing, MEMORY, up).expect("gradients");
    assert_eq!(found, again);
    let other = Smoothing { seed: 2, ..smoothing };
    assert_ne!(found, batch.smoothed_gradient(&start, 1, &[], &other, MEMORY, up).expect("gradients"));
}

/// So small that hardly any ball meets the edge itself, m.
const RADIUS: f64 = 1e-5;

/// A small ball falls onto a ledge or past its edge.
fn ledge() -> Model {
    let mut builder = ModelBuilder::new("ledge");
    let contact = Contacting::default();
    let pose = Pose::translation(-1.0, 0.0, -0.1);
    let shape = Shape::Box { half: Vec3::new(1.0, 1.0, 0.1) };
    builder.geom(Geom { name: "ledge".into(), body: 0, pose, shape, contact });
    let inertial = Inertial { mass: 1.0, com: Vec3::zeros(), inertia: Mat3::identity() * 1e-3 };
    let body = builder.body("ball", 0, Pose::identity(), inertial);
    builder.joint(Joint::new("free", body, JointKind::Free));
    let shape = Shape::Sphere { radius: RADIUS };
    builder.geom(Geom { name: "ball".into(), body, pose: Pose::identity(), shape, contact });
    builder.build().expect("a model")
}

/// The expected height has a slope by where the ball falls from, which only the few falls show that meet the edge itself: the
/// mean of gradients is known far worse than the estimate of zeroth order.
#[test]
fn a_ledge_that_is_missed() {
    let model = ledge();
    let (spread, at, steps) = (0.05, 0.02, 40);
    let mut batch = batch(&model, 2000);
    let start = State { q: vec![at, 0.0, 0.02, 1.0, 0.0, 0.0, 0.0], ..State::default() };
    let mut by_x = vec![0.0; 6];
    by_x[0] = spread;
    let smoothing = Smoothing { spread: Inputs { q: by_x, ..Inputs::default() }, seed: 3 };
    let height = |step: usize, _: usize, state: &State, out: &mut Outputs| {
        if step + 1 < steps {
            return 0.0;
        }
        out.q[2] = 1.0;
        state.q[2]
    };
    let found = batch.smoothed_gradient(&start, steps, &[], &smoothing, MEMORY, height).expect("gradients");
    // Heights of what lands and of what falls on, steps of semi-implicit Euler.
    let h = model.options.timestep;
    let (high, low) = (RADIUS, 0.02 - 9.81 * h * h * (steps * (steps + 1)) as f64 / 2.0);
    let expected = -(high - low) * normal(at / spread).0 / spread;
    let [first, zeroth] = [&found.first_order, &found.zeroth_order].map(|e| [e.mean.q[0], e.standard_error.q[0]]);
    println!("first {first:?}, zeroth {zeroth:?}, expected {expected}");
    assert!(
        (zeroth[0] - expected).abs() < OFF * zeroth[1] && zeroth[1] < 0.2 * expected.abs(),
        "{zeroth:?}, {expected}"
    );
    assert!(first[1] > 5.0 * zeroth[1], "{first:?}, {zeroth:?}");
}

#[test]
fn controls_are_perturbed_in_every_step() {
    // A pole that nothing touches: both estimates agree with each other.
    let model = load("cartpole");
    let mut batch = batch(&model, 2000);
    let steps = 5;
    let smoothing = Smoothing { spread: Inputs { ctrl: vec![0.3], ..Inputs::default() }, seed: 4 };
    let controls = [0.1, -0.1, 0.2, 0.0, 0.1];
    let loss = |step: usize, _: usize, state: &State, out: &mut Outputs| {
        if step + 1 < steps {
            return 0.0;
        }
        out.v[0] = 1.0;
        state.v[0]
    };
    let start = State::default();
    let found = batch.smoothed_gradient(&start, steps, &controls, &smoothing, MEMORY, loss).expect("gradients");
    let [first, zeroth] = [&found.first_order, &found.zeroth_order];
    assert_eq!((first.mean.ctrl.len(), zeroth.mean.ctrl.len()), (steps, steps));
    for step in 0..steps {
        let (a, b, error) = (first.mean.ctrl[step], zeroth.mean.ctrl[step], zeroth.standard_error.ctrl[step]);
        assert!(
            a > 0.01 && (a - b).abs() < OFF * error && first.standard_error.ctrl[step] < 0.1 * error,
            "{a}, {b} +- {error}"
        );
    }
    assert_eq!(found.doubtful, 0);
}

#[test]
fn wrong_input_is_refused() {
    let model = load("cartpole");
    let mut two = batch(&model, 2);
    let start = State::default();
    let loss = |_: usize, _: usize, _: &State, _: &mut Outputs| 0.0;
    let mut ask = |steps: usize, controls: &[f64], spread: Inputs, start: &State| {
        two.smoothed_gradient(start, steps, controls, &Smoothing { spread, seed: 0 }, MEMORY, loss)
    };
    let none = Inputs::default();
    assert!(ask(3, &[], none.clone(), &start).is_ok());
    assert!(matches!(ask(0, &[], none.clone(), &start), Err(Error::Option { option: "steps", .. })));
    assert!(matches!(ask(3, &[0.0], none.clone(), &start), Err(Error::Length { what: "controls", .. })));
    let short = State { v: vec![0.0], ..State::default() };
    assert!(matches!(ask(3, &[], none.clone(), &short), Err(Error::Length { what: "v", .. })));
    let spread = |q: Vec<f64>| Inputs { q, ..Inputs::default() };
    assert!(matches!(ask(3, &[], spread(vec![1.0]), &start), Err(Error::Length { what: "spread of q", .. })));
    assert!(matches!(ask(3, &[], spread(vec![1.0, f64::NAN]), &start), Err(Error::NotFinite { .. })));
    assert!(matches!(ask(3, &[], spread(vec![1.0, -1.0]), &start), Err(Error::Option { option: "spread", .. })));
    let mut one = batch(&model, 1);
    let smoothing = Smoothing::default();
    let alone = one.smoothed_gradient(&start, 1, &[], &smoothing, MEMORY, loss);
    assert!(matches!(alone, Err(Error::Option { option: "worlds", .. })));
    let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() };
    let mut mixed = Batch::new(&[(&model, 2), (&load("hopper"), 2)], &options).expect("a batch");
    let groups = mixed.smoothed_gradient(&start, 1, &[], &smoothing, MEMORY, loss);
    assert!(matches!(groups, Err(Error::Option { option: "groups", .. })));
}
