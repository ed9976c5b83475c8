//! The contact problem that a batch gives away is the one its step solved: the step's impulses solve it as well as the
//! step's certificate says, and give the step's velocity.

use std::path::Path;

use manyworlds::contact::problem::Law;
use manyworlds::contact::solve::SOLVERS;
use manyworlds::contact::{Precision as Arithmetic, SolveSettings, problem, quality, solve};
use manyworlds::model::from_mjcf_str;
use manyworlds::{Batch, BatchOptions, Error, Executor, ImportOptions, Model, Precision, State, load, scenes};
use manyworlds_tests::parity::device;

/// Every kind of row and block, within a tree, between trees and with the ground.
const EVERYTHING: &str = r#"<mujoco model="everything">
  <option timestep="0.005" gravity="0 0 -9.81"/>
  <worldbody>
    <geom type="plane" size="5 5 1" friction="0.7"/>
    <body name="arm" pos="0 0 0.9"><joint name="j0" type="hinge" axis="0 1 0" range="-30 30" frictionloss="0.2"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.04" mass="1"/>
      <body name="fore" pos="0.4 0 0"><joint name="j1" type="hinge" axis="0 1 0" frictionloss="0.05"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04" mass="0.5"/>
        <body name="hand" pos="0.3 0 0"><joint name="j2" type="hinge" axis="0 1 0"/>
          <geom type="sphere" size="0.05" mass="0.2"/></body></body></body>
    <body name="ball" pos="0.9 0 0.12"><joint name="b" type="ball" range="0 40"/>
      <geom type="box" size="0.05 0.3 0.05" pos="0.03 0 0.1" mass="1"/></body>
    <body name="left" pos="-0.5 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
    <body name="right" pos="-0.5 0 0.31"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2"/></body>
    <body name="welded" pos="-0.2 0.5 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
    <body name="partner" pos="0.1 0.5 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="3"/></body>
    <body name="pinned" pos="0.5 -1 1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
  </worldbody>
  <equality>
    <joint joint1="j2" joint2="j1" polycoef="0 0.5 0.1 0 0"/>
    <weld body1="welded" body2="partner"/>
    <connect body1="pinned" anchor="0.1 0.1 0.1"/>
  </equality>
  <actuator><position joint="j0" kp="50" kv="2" forcerange="-3 3"/></actuator>
</mujoco>"#;

fn everything() -> Model {
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    from_mjcf_str("test.xml", EVERYTHING, &nothing, &ImportOptions::default()).expect("the model loads").model
}

fn batch(model: &Model, precision: Precision) -> Batch {
    solved_by("auto", model, precision)
}

fn solved_by(solver: &str, model: &Model, precision: Precision) -> Batch {
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision,
        solver: solver.into(),
        tolerance: 1e-9,
        ..Default::default()
    };
    Batch::new(&[(model, 3)], &options).expect("the batch is made")
}

/// Steps and compares at the steps named; in `f64` to rounding, in `f32` to its.
fn check(model: &Model, precision: Precision, start: Option<State>, at: &[usize], see: impl FnMut(&[Law])) {
    check_batch(batch(model, precision), model, precision, start, at, see);
}

fn check_batch(
    mut batch: Batch,
    model: &Model,
    precision: Precision,
    start: Option<State>,
    at: &[usize],
    mut see: impl FnMut(&[Law]),
) {
    if let Some(state) = start {
        batch.reset(&[0, 1, 2].map(|world| (world, state.clone()))).expect("a state");
    }
    let rounding = if precision == Precision::F64 { 1e-12 } else { 2e-5 };
    for step in 1..=at.iter().copied().max().unwrap_or(0) {
        batch.step::<f64>(&[]).expect("a step");
        if !at.contains(&step) {
            continue;
        }
        let mut summaries = Vec::new();
        batch.summaries(&mut summaries).expect("summaries");
        let given = batch.contact_problem(1).expect("a problem");
        see(&given.problem.constraints.iter().map(|c| c.law).collect::<Vec<_>>());
        let name = format!("{} at {step}, {} rows", model.name, given.problem.n_rows);
        assert_eq!(given.problem.n_contacts, summaries[1].contacts as usize, "{name}");
        let after = batch.state(1).expect("a state").v;
        let by_impulses = given.problem.velocity(&given.impulse);
        // What the impulses take from the free velocity rounds as that does.
        let scale = after.iter().chain(&given.problem.v_free).fold(1.0f64, |m, x| m.max(x.abs()));
        for (i, (x, y)) in by_impulses.iter().zip(&after).enumerate() {
            assert!(
                (x - y).abs() <= 100.0 * rounding * scale,
                "{name}: v[{i}] is {x} by the impulses, {y} in the state"
            );
        }
        let residual = quality(&given.problem, &given.impulse, &given.velocity).residual;
        // A batch reports the worst of its trees, each by its own contacts; the problem is all of them together.
        let most = summaries[1].residual * (summaries.len() + model.trees.len()) as f64;
        assert!(residual <= most + 10.0 * rounding * scale, "{name}: residual {residual}, the step's {most}");
        // The same from a file.
        let again = problem::read(&problem::write(&given.problem)).expect("it is read back");
        assert_eq!(again.constraints, given.problem.constraints);
        assert_eq!((again.a, again.parts), (given.problem.a, given.problem.parts));
    }
}

#[test]
fn every_kind_of_constraint_comes_out_as_the_step_had_it() {
    let mut seen = [false; 6];
    let see = |laws: &[Law]| {
        for law in laws {
            let kind = match law {
                Law::Contact { .. } => 0,
                Law::Block => 1,
                Law::Bilateral => 2,
                Law::Unilateral => 3,
                Law::Soft { .. } => 4,
                Law::Box { .. } => 5,
            };
            seen[kind] = true;
        }
    };
    check(&everything(), Precision::F64, None, &[1, 20, 60, 200, 400], see);
    assert_eq!(seen, [true; 6], "contacts, blocks, bilateral, unilateral, soft and box rows are all there");
    check(&everything(), Precision::F32, None, &[1, 60, 200], |_| ());
}

#[test]
fn what_the_host_solves_is_put_where_kernels_would_have_put_it() {
    for solver in SOLVERS.iter().filter(|solver| solver.batch(1).is_none()) {
        for precision in [Precision::F64, Precision::F32] {
            let model = everything();
            check_batch(
                solved_by(solver.name(), &model, precision),
                &model,
                precision,
                None,
                &[1, 20, 60, 200],
                |_| (),
            );
        }
    }
}

#[test]
fn every_scene_gives_the_problems_of_its_steps() {
    for scene in scenes::list() {
        let model = load(&scene.name, &ImportOptions::default()).expect("a scene loads").model;
        // An inspection's matrices are dense: of large scenes they would take gigabytes.
        if model.n_v > 300 {
            continue;
        }
        let key = model.keyframes.iter().find(|k| Some(&k.name) == scene.keyframe.as_ref());
        let start = key.map(|k| State { q: k.q.clone(), v: k.v.clone(), ctrl: k.ctrl.clone(), ..State::default() });
        check(&model, Precision::F64, start, &[1, 30, 120], |_| ());
    }
}

/// Largest residual of one contact, once those of all add up to the certificate's, of a model that is one island of contacts.
fn worst_contact(name: &str, solver: &str, iterations: u32, precision: Precision) -> f64 {
    let model = load(name, &ImportOptions::default()).expect("a scene loads").model;
    let solver = solver.to_owned();
    let options = BatchOptions { executor: Executor::Cpu, precision, solver, iterations, ..Default::default() };
    let mut batch = Batch::new(&[(&model, 2)], &options).expect("the batch is made");
    let (mut all, mut summaries) = (Vec::new(), Vec::new());
    batch.solved_contacts(&mut all).expect("no contacts yet");
    assert!(all.is_empty());
    (0..30).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
    batch.solved_contacts(&mut all).expect("contacts");
    batch.summaries(&mut summaries).expect("certificates");
    let mut worst: f64 = 0.0;
    for (world, summary) in summaries.iter().enumerate() {
        let own = || all.iter().filter(|solved| solved.contact.world == world);
        assert_eq!(own().count(), summary.contacts as usize);
        let squares: f64 = own().map(|solved| solved.residual.powi(2)).sum();
        let together = squares.sqrt() / own().count() as f64;
        let rounding = if precision == Precision::F32 { 1e-5 } else { 1e-12 };
        // That of a soft body is of the last linear problem, this of where its nonlinear step ended: a hundredth of the tolerance.
        let linear = if model.soft.is_empty() { 0.0 } else { 1e-8 };
        let off = (together - summary.residual).abs();
        assert!(off < 1e-6 * summary.residual + rounding + linear, "{name}: {together} {}", summary.residual);
        worst = own().map(|solved| solved.residual).fold(worst, f64::max);
        for solved in own() {
            let deep = -solved.contact.distance;
            assert!(deep <= summary.penetration * (1.0 + 1e-6) + 1e-12, "{deep} {}", summary.penetration);
        }
    }
    worst
}

#[test]
fn contacts_say_how_well_each_is_solved() {
    let auto = worst_contact("heavy-stack", "auto", 200, Precision::F64);
    let pgs = worst_contact("heavy-stack", "pgs", 20, Precision::F64);
    assert!(auto < 2e-5 && pgs > 1e-3, "{auto} {pgs}");
    worst_contact("heavy-stack", "pgs", 20, Precision::F32);
    // Of a soft body.
    let soft = worst_contact("soft-pinch", "auto", 200, Precision::F64);
    assert!(soft < 1e-3, "{soft}");
}

#[test]
fn solving_it_gives_the_steps_impulses_where_they_are_unique() {
    // One box on a corner: as many contact rows as its impulses have ways to differ.
    let model = load("free-box", &ImportOptions::default()).expect("a scene loads").model;
    let mut batch = batch(&model, Precision::F64);
    let mut compared = 0;
    for _ in 0..400 {
        batch.step::<f64>(&[]).expect("a step");
        let given = batch.contact_problem(0).expect("a problem");
        if given.problem.n_contacts != 1 {
            continue;
        }
        let settings = SolveSettings { precision: Arithmetic::F64, tolerance: 1e-12, ..Default::default() };
        let solution = solve(&given.problem, "auto", &settings).expect("it is solved");
        for (x, y) in solution.lambda.iter().zip(&given.impulse) {
            assert!((x - y).abs() < 1e-7, "{x} {y}");
        }
        compared += 1;
    }
    assert!(compared > 3, "{compared}");
}

#[test]
fn a_device_gives_the_problems_that_it_solved() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    let model = everything();
    let options = BatchOptions { device: Some(device), executor: Executor::Gpu, ..Default::default() };
    let mut batch = Batch::new(&[(&model, 3)], &options).expect("the batch is made");
    for _ in 0..25 {
        batch.step::<f64>(&[]).expect("a step");
    }
    let given = batch.contact_problem(2).expect("a problem");
    assert!(given.problem.n_contacts >= 4, "{}", given.problem.n_contacts);
    let after = batch.state(2).expect("a state").v;
    for (x, y) in given.problem.velocity(&given.impulse).iter().zip(&after) {
        assert!((x - y).abs() < 2e-3, "{x} by the impulses, {y} in the state");
    }
}

#[test]
fn there_is_no_problem_before_a_step_or_of_a_world_that_is_not_there() {
    let model = everything();
    let mut batch = batch(&model, Precision::F64);
    assert!(matches!(batch.contact_problem(0), Err(Error::NoProblem { world: 0, .. })));
    batch.step::<f64>(&[]).expect("a step");
    assert!(batch.contact_problem(2).is_ok());
    assert!(matches!(batch.contact_problem(3), Err(Error::Index { .. })));
}

#[test]
fn another_friction_is_another_problem() {
    // The comparison above would notice: impulses of one problem do not solve its neighbour.
    let model = load("sliding-box", &ImportOptions::default()).expect("a scene loads").model;
    let mut batch = batch(&model, Precision::F64);
    (0..100).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
    let mut given = batch.contact_problem(0).expect("a problem");
    let before = quality(&given.problem, &given.impulse, &given.velocity).residual;
    for c in &mut given.problem.constraints {
        if let Law::Contact { mu } = &mut c.law {
            *mu *= 0.9;
        }
    }
    let after = quality(&given.problem, &given.impulse, &given.velocity).residual;
    assert!(before < 1e-8 && after > 1e-5, "{before} {after}");
}
