//! Derivatives where there is none to trust, or hardly any: flagged or exact, and finite always.

use manyworlds::gradcheck::Checker;
use manyworlds::{Batch, BatchOptions, Error, Executor, ImportOptions, Jacobian, Model, Outputs, Precision, State};
use manyworlds_tests::batches::mjcf;

fn options() -> BatchOptions {
    BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-12,
        iterations: 2000,
        ..BatchOptions::default()
    }
}

fn load(scene: &str) -> Model {
    manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model
}

/// A box flat on the floor.
fn flat(v: [f64; 6]) -> State {
    State { q: vec![0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0], v: v.to_vec(), ..State::default() }
}

/// The derivative of one step from a state, by Jacobian and by product.
fn derivative(model: &Model, state: State, options: &BatchOptions) -> Jacobian {
    let mut batch = Batch::new(&[(model, 1)], options).expect("a batch");
    batch.keep_steps(true).expect("double precision");
    batch.reset(&[(0, state)]).expect("a state");
    batch.step::<f64>(&[]).expect("a step");
    let found = batch.jacobian(0).expect("a derivative");
    let blocks = [&found.dq_dq, &found.dq_dv, &found.dq_dtau, &found.dq_dctrl];
    let rates = [&found.dv_dq, &found.dv_dv, &found.dv_dtau, &found.dv_dctrl];
    assert!(blocks.into_iter().chain(rates).flatten().all(|x| x.is_finite()), "{:?}", found.certificate);
    let ones = Outputs { q: vec![1.0; model.n_v], v: vec![1.0; model.n_v], ..Outputs::default() };
    let (back, certificate) = batch.back(0, &ones).expect("a product");
    assert!([&back.q, &back.v, &back.tau, &back.ctrl].into_iter().flatten().all(|x| x.is_finite()));
    assert_eq!(certificate.valid(), found.certificate.valid());
    found
}

fn says(found: &Jacobian, what: &str) {
    let problems = &found.certificate.problems;
    assert!(problems.iter().any(|problem| problem.contains(what)), "{what}: {problems:?}");
}

#[test]
fn of_a_world_that_failed() {
    let model = load("free-box");
    let mut state = flat([0.0; 6]);
    state.v = vec![1e200, 0.0, 0.0, 1e200, 1e200, 0.0];
    let found = derivative(&model, state, &options());
    assert!(!found.certificate.valid());
    says(&found, "the world failed");
}

#[test]
fn of_a_solve_that_missed_its_tolerance() {
    let model = load("heavy-stack");
    let few = BatchOptions { solver: "pgs".into(), iterations: 1, ..options() };
    let state = Batch::new(&[(&model, 1)], &few).expect("a batch").state(0).expect("a state");
    let found = derivative(&model, state, &few);
    says(&found, "the contact solver stopped");
}

#[test]
fn without_contacts() {
    let found = derivative(
        &load("free-box"),
        State { q: vec![0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0], ..flat([0.1; 6]) },
        &options(),
    );
    assert!(found.certificate.valid() && found.certificate.margin == f64::INFINITY, "{:?}", found.certificate);
    assert_eq!((found.certificate.size, found.certificate.rank), (0, 0));
}

#[test]
fn with_contacts_that_are_all_redundant() {
    let model = load("free-box");
    let found = derivative(&model, flat([0.0; 6]), &options());
    let certificate = &found.certificate;
    assert!(certificate.valid() && certificate.size == 12 && certificate.rank == 6, "{certificate:?}");
    // It rests: nothing that is pushed a little moves it.
    assert!(found.dv_dtau.iter().all(|x| x.abs() < 1e-12), "{:?}", found.dv_dtau);
}

#[test]
fn with_contacts_that_are_exactly_tied() {
    let mut model = load("free-box");
    model.options.gravity = [0.0; 3].into();
    let found = derivative(&model, flat([0.0; 6]), &options());
    says(&found, "a switch of its mode");
    assert_eq!(found.certificate.margin, 0.0);
}

#[test]
fn without_friction() {
    let mut model = load("free-box");
    model.geoms.iter_mut().for_each(|geom| geom.contact.friction = 0.0);
    let state = flat([0.4, -0.2, 0.0, 0.0, 0.0, 0.3]);
    let found = derivative(&model, state.clone(), &options());
    assert!(found.certificate.valid(), "{:?}", found.certificate);
    let mut checker = Checker::new(&model, &options(), 1e-6).expect("a checker");
    let compared = checker.compare(&state).expect("a comparison");
    assert!(compared.error() < 1e-6 && compared.kinks == [0; 5], "{:#?}", compared.blocks);
}

#[test]
fn with_a_joint_that_its_limits_lock() {
    let mut model = load("hopper");
    let joint = model.joints.iter().position(|joint| joint.range.is_some()).expect("a limit");
    let state = Batch::new(&[(&model, 1)], &options()).expect("a batch").state(0).expect("a state");
    // Every joint of it has one dof.
    let at = state.q[joint];
    model.joints[joint].range = Some([at, at]);
    let found = derivative(&model, state, &options());
    // Valid or flagged; a locked joint gives way to nothing.
    let row = &found.dv_dtau[joint * model.n_v..(joint + 1) * model.n_v];
    assert!(!found.certificate.valid() || row.iter().all(|x| x.abs() < 1e-9), "{row:?} {:?}", found.certificate);
}

#[test]
fn with_wrong_shapes() {
    let model = load("free-box");
    let mut batch = Batch::new(&[(&model, 1)], &options()).expect("a batch");
    batch.keep_steps(true).expect("double precision");
    batch.step::<f64>(&[]).expect("a step");
    let short = Outputs { q: vec![1.0; 5], v: Vec::new(), ..Outputs::default() };
    assert!(matches!(batch.back(0, &short), Err(Error::Length { what: "gradient by q", expected: 6, found: 5, .. })));
    let wrong = Outputs { q: Vec::new(), v: vec![f64::NAN; 6], ..Outputs::default() };
    assert!(matches!(batch.back(0, &wrong), Err(Error::NotFinite { what: "gradient by v", index: 0, .. })));
    assert!(matches!(batch.rollout::<f64>(3, &[1.0], 1 << 20), Err(Error::Length { what: "controls", .. })));
}

#[test]
fn with_contacts_whose_points_move_in_no_known_way() {
    // A cylinder that leans by so little touches where its rim happens to be lowest.
    let model = mjcf(
        0.005,
        r#"<worldbody><geom type="plane" size="1 1 1"/>
        <body pos="0 0 0.1"><freejoint/><geom type="cylinder" size="0.1 0.1"/></body></worldbody>"#,
    );
    let state = State { q: vec![0.0, 0.0, 0.1, 1.0, 2e-6, 0.0, 0.0], v: vec![0.0; 6], ..State::default() };
    let mut checker = Checker::new(&model, &options(), 1e-6).expect("a checker");
    let found = checker.compare(&state).expect("a comparison");
    let certificate = &found.jacobian.certificate;
    // By its velocity, and by what pushes it, the step has a derivative all the same.
    assert!(!certificate.valid() && certificate.valid_but_by_q(), "{certificate:?}");
    for block in found.blocks.iter().filter(|block| !block.name.ends_with("_dq")) {
        assert!(block.error < 1e-6, "{block:#?}");
    }
}
