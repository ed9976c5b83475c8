//! Derivatives of steps of the built-in scenes against central differences of the steps.

use manyworlds::gradcheck::Checker;
use manyworlds::{
    Batch, BatchOptions, Error, Executor, ImportOptions, Inputs, Mode, Outputs, Precision, State, random,
};

fn precise() -> BatchOptions {
    by("auto")
}

fn by(solver: &str) -> BatchOptions {
    BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        // Of SAP the gradient, relative to the momenta.
        tolerance: if solver == "sap" { 1e-15 } else { 1e-13 },
        iterations: 5000,
        solver: solver.into(),
        ..BatchOptions::default()
    }
}

/// What a run of a scene showed.
struct Run {
    judged: usize,
    error: f64,
    kinks: usize,
    inputs: usize,
    modes: [usize; 3],
}

/// States of a run with random controls, every `every` steps, those with a margin below 1e-3 m/s left out.
fn run(scene: &str, solver: &str, states: usize, every: u64) -> Run {
    let options = by(solver);
    let model = manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model;
    let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
    let mut checker = Checker::new(&model, &options, 1e-6).expect("a checker");
    let mut out = Run { judged: 0, error: 0.0, kinks: 0, inputs: 0, modes: [0; 3] };
    for index in 0..states as u64 {
        for step in 0..every {
            let controls: Vec<f64> = (0..model.actuators.len())
                .map(|a| {
                    let [low, high] = model.actuators[a].ctrl_range.unwrap_or([-1.0, 1.0]);
                    let x = random::symmetric(5, 0, index * every + step, a as u64);
                    0.5 * (low + high) + 0.45 * (high - low) * x
                })
                .collect();
            batch.step(&controls).expect("a step");
        }
        let state = batch.state(0).expect("a state");
        // What sticks in compliant contact creeps by little, which rounding shows in.
        let found = if solver == "sap" { checker.compare_closely(&state, 1e-6) } else { checker.compare(&state) };
        let found = found.expect("a comparison");
        let certificate = &found.jacobian.certificate;
        if !certificate.valid() || certificate.margin < 1e-3 {
            continue;
        }
        out.judged += 1;
        out.kinks += found.kinks.iter().sum::<usize>();
        out.inputs += found.inputs.iter().sum::<usize>();
        assert!(found.error() < 1e-6, "{solver}, {scene}, state {index}: {:#?}", found.blocks);
        out.error = out.error.max(found.error());
        for mode in &found.jacobian.modes {
            if let Some(at) = [Mode::Breaking, Mode::Sticking, Mode::Sliding].iter().position(|m| m == mode) {
                out.modes[at] += 1;
            }
        }
    }
    println!(
        "{solver}, {scene}: {} judged, error {:.1e}, {} of {} kinks",
        out.judged, out.error, out.kinks, out.inputs
    );
    out
}

#[test]
fn robots_without_contacts() {
    for scene in ["cartpole", "arm7"] {
        let found = run(scene, "auto", 4, 20);
        assert!(found.judged == 4 && found.kinks == 0, "{scene}: {} judged", found.judged);
    }
}

#[test]
fn robots_in_contact() {
    for (scene, judged) in [("hopper", 5), ("half-cheetah", 6), ("ant", 2), ("humanoid", 3), ("quadruped", 3)] {
        let found = run(scene, "auto", 12, 20);
        let active = found.modes[1] + found.modes[2];
        assert!(found.judged >= judged && active > 0, "{scene}: {} judged, {active} contacts act", found.judged);
        assert!(20 * found.kinks <= found.inputs, "{scene}: {} of {} kinks", found.kinks, found.inputs);
    }
}

/// Feet that stand close gaps which are not quite the same, and no motion keeps all of their points in place. By q alone that contradicts
/// itself; differences by anything else are as good as such steps are unique, to 1e-10 m/s.
#[test]
fn robots_that_stand_have_derivatives_though_their_contacts_contradict_each_other_a_little() {
    for (scene, every, least) in [("hopper", 2, 4), ("humanoid", 8, 3)] {
        let model = manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model;
        // Steps that are solved less closely leave gaps that differ by more.
        let mut batch = Batch::new(&[(&model, 1)], &BatchOptions { tolerance: 1e-6, ..precise() }).expect("a batch");
        let mut checker = Checker::new(&model, &precise(), 2e-6).expect("a checker");
        let mut judged = 0;
        for step in 0..100 {
            let control = |a| 0.2 * random::symmetric(1, 0, step, a as u64);
            batch.step(&(0..model.actuators.len()).map(control).collect::<Vec<f64>>()).expect("a step");
            if step % every != 0 {
                continue;
            }
            let found = checker.compare(&batch.state(0).expect("a state")).expect("a comparison");
            let certificate = &found.jacobian.certificate;
            let contradict = certificate.rank < certificate.size && certificate.residual > 1e-11;
            if contradict && certificate.valid() && certificate.margin > 1e-5 {
                judged += 1;
                let by_q = found.blocks.iter().filter(|block| block.name.ends_with("_dq"));
                by_q.for_each(|block| assert!(block.error < 1e-6, "{scene}, step {step}: {block:#?}"));
            }
        }
        println!("{scene}: {judged} judged");
        assert!(judged >= least, "{scene}: {judged} judged");
    }
}

#[test]
fn robots_in_compliant_contact_and_with_pyramids() {
    for solver in ["sap", "dantzig"] {
        let mut modes = [0; 3];
        for (scene, judged) in [("hopper", 5), ("half-cheetah", 6), ("humanoid", 2), ("quadruped", 3)] {
            let found = run(scene, solver, 12, 20);
            let active = found.modes[1] + found.modes[2];
            assert!(found.judged >= judged && active > 0, "{solver}, {scene}: {} judged, {active} act", found.judged);
            assert!(20 * found.kinks <= found.inputs, "{solver}, {scene}: {} of {} kinks", found.kinks, found.inputs);
            modes.iter_mut().zip(found.modes).for_each(|(sum, own)| *sum += own);
        }
        assert!(modes.iter().all(|&count| count >= 8), "{solver}: {modes:?}");
        // Redundant contacts; one box slides.
        let found = run("sliding-box", solver, 3, 40);
        assert!(found.judged == 3 && found.kinks == 0, "{solver}: {} judged", found.judged);
        assert!(found.modes[1] >= 12 && found.modes[2] >= 12, "{solver}: {:?}", found.modes);
    }
}

#[test]
fn bodies_held_together() {
    let text = r#"<mujoco><option timestep="0.002"/><worldbody>
        <body name="one" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.1" mass="1"/></body>
        <body name="other" pos="0.4 0 1"><joint type="ball"/><geom type="box" size="0.1 0.1 0.3" mass="3"/></body>
        <body name="pinned" pos="0.5 -1 1"><freejoint/><geom type="box" size="0.3 0.1 0.1" mass="2"/></body>
      </worldbody>
      <equality><weld body1="one" body2="other"/><connect body1="pinned" anchor="0.1 0.1 0.1"/></equality></mujoco>"#;
    let nothing = |path: &std::path::Path| Err(std::io::Error::other(format!("{}", path.display())));
    let found = manyworlds::model::from_mjcf_str("held.xml", text, &nothing, &ImportOptions::default());
    let model = found.expect("a model").model;
    let mut batch = Batch::new(&[(&model, 1)], &precise()).expect("a batch");
    let v = (0..model.n_v).map(|i| random::symmetric(3, 0, 0, i as u64)).collect();
    batch.reset(&[(0, State { v, ..State::default() })]).expect("a reset");
    (0..40).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
    let state = batch.state(0).expect("a state");
    let found = Checker::new(&model, &precise(), 1e-6).expect("a checker").compare(&state).expect("a comparison");
    assert!(found.jacobian.certificate.valid(), "{:?}", found.jacobian.certificate);
    assert_eq!(found.jacobian.certificate.size, 9, "two welded blocks and one of a connection");
    assert!(found.error() < 1e-6, "{:#?}", found.blocks);
    // The product forms no matrix.
    batch.keep_steps(true).expect("double precision");
    batch.step::<f64>(&[]).expect("a step");
    let noise = |entry: u64| (0..model.n_v).map(|i| random::symmetric(4, entry, 0, i as u64)).collect::<Vec<_>>();
    let outputs = Outputs { q: noise(0), v: noise(1), ..Outputs::default() };
    let (found, expected) =
        (batch.back(0, &outputs).expect("a product").0, batch.jacobian(0).expect("one").back(&outputs));
    for (found, expected) in [(&found.q, &expected.q), (&found.v, &expected.v), (&found.tau, &expected.tau)] {
        let scale = expected.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-11 * scale), "{found:?} {expected:?}");
    }
}

/// A finger that rests on a wall, its gap closed, and one beside it that a coupling pulls along and a motor pushes.
#[test]
fn a_coupling_whose_contact_has_just_closed() {
    let text = r#"<mujoco><option timestep="0.002"/><worldbody>
        <geom type="box" size="0.05 1 1" pos="0.2 0 0"/>
        <body name="left"><joint name="left" type="slide" axis="1 0 0"/><geom type="sphere" size="0.05" mass="1"/></body>
        <body name="right" pos="0 0.5 0"><joint name="right" type="slide" axis="1 0 0"/>
          <geom type="sphere" size="0.05" mass="1" contype="0" conaffinity="0"/></body>
      </worldbody>
      <equality><joint joint1="left" joint2="right" polycoef="0 1 0 0 0"/></equality>
      <actuator><motor joint="right"/></actuator></mujoco>"#;
    let nothing = |path: &std::path::Path| Err(std::io::Error::other(format!("{}", path.display())));
    let found = manyworlds::model::from_mjcf_str("pressed.xml", text, &nothing, &ImportOptions::default());
    let model = found.expect("a model").model;
    let state = State { q: vec![0.1, 0.1], v: vec![0.0; 2], ctrl: vec![5.0], ..State::default() };
    let mut checker = Checker::new(&model, &precise(), 1e-6).expect("a checker");
    let found = checker.compare(&state).expect("a comparison");
    assert!(found.whole && found.jacobian.certificate.valid(), "{:?}", found.jacobian.certificate);
    assert!(found.error() < 1e-6, "{:#?}", found.blocks);
    let found = checker.compare_directions(&state, 1e-6).expect("a comparison");
    assert!(found.whole && found.kinks < found.count, "{found:?}");
    assert!(found.ahead < 1e-6 && found.back < 1e-12, "{found:?}");
}

/// One step of a scene and its derivative.
fn one(scene: &str, steps: usize) -> manyworlds::Jacobian {
    let model = manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model;
    let mut batch = Batch::new(&[(&model, 1)], &precise()).expect("a batch");
    batch.keep_steps(true).expect("double precision");
    for _ in 0..steps {
        batch.step::<f64>(&[]).expect("a step");
    }
    batch.jacobian(0).expect("a derivative")
}

#[test]
fn products_are_those_of_the_jacobian_and_its_transpose() {
    let found = one("half-cheetah", 60);
    let noise = |n: usize, entry: u64| (0..n).map(|i| random::symmetric(1, entry, 0, i as u64)).collect::<Vec<_>>();
    let (n_v, n_u) = (found.n_v, found.n_u);
    let inputs =
        Inputs { q: noise(n_v, 0), v: noise(n_v, 1), tau: noise(n_v, 2), ctrl: noise(n_u, 3), ..Inputs::default() };
    let outputs = Outputs { q: noise(n_v, 4), v: noise(n_v, 5), ..Outputs::default() };
    let (along, back) = (found.along(&inputs), found.back(&outputs));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let there = dot(&outputs.q, &along.q) + dot(&outputs.v, &along.v);
    let pairs = [(&inputs.q, &back.q), (&inputs.v, &back.v), (&inputs.tau, &back.tau), (&inputs.ctrl, &back.ctrl)];
    let and_back: f64 = pairs.iter().map(|(a, b)| dot(a, b)).sum();
    assert!((there - and_back).abs() < 1e-12 * there.abs().max(1.0), "{there} {and_back}");
    let row = dot(&found.dv_dq[..n_v], &inputs.q) + dot(&found.dv_dv[..n_v], &inputs.v);
    let row = row + dot(&found.dv_dtau[..n_v], &inputs.tau) + dot(&found.dv_dctrl[..n_u], &inputs.ctrl);
    assert!((row - along.v[0]).abs() < 1e-12 * row.abs().max(1.0), "{row} {}", along.v[0]);
}

#[test]
fn steps_that_cannot_be_differentiated_say_so() {
    let model = manyworlds::load("hopper", &ImportOptions::default()).expect("a scene").model;
    let slop = manyworlds::Stabilisation { slop: 1e-4, ..manyworlds::Stabilisation::default() };
    let mut left = Batch::new(&[(&model, 1)], &BatchOptions { stabilisation: slop, ..precise() }).expect("a batch");
    assert!(matches!(left.keep_steps(true), Err(Error::Option { option: "stabilisation.slop", .. })));

    let mut batch = Batch::new(&[(&model, 2)], &precise()).expect("a batch");
    batch.step::<f64>(&[]).expect("a step");
    assert!(matches!(batch.jacobian(0), Err(Error::NoGradient)), "no step was kept");
    batch.keep_steps(true).expect("double precision");
    assert!(matches!(batch.jacobian(0), Err(Error::NoGradient)), "none was kept yet");
    batch.step::<f64>(&[]).expect("a step");
    assert!(batch.jacobian(0).is_ok());
    assert!(matches!(batch.jacobian(2), Err(Error::Index { .. })));
    let state = batch.state(0).expect("a state");
    batch.reset(&[(0, state)]).expect("a reset");
    assert!(matches!(batch.jacobian(0), Err(Error::NoGradient)), "the world was reset");
    assert!(batch.jacobian(1).is_ok());
}

#[test]
fn what_rests_stays_on_its_surface_whichever_way_it_is_moved() {
    // Boxes on their corners: gaps closed to rounding, redundant contacts.
    for (scene, steps, closed) in [("free-box", 400, 4), ("sliding-box", 60, 8), ("heavy-stack", 60, 20)] {
        let model = manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model;
        let mut batch = Batch::new(&[(&model, 1)], &precise()).expect("a batch");
        for _ in 0..steps {
            batch.step::<f64>(&[]).expect("a step");
        }
        let state = batch.state(0).expect("a state");
        let mut checker = Checker::new(&model, &precise(), 1e-6).expect("a checker");
        let found = checker.compare(&state).expect("a comparison");
        let certificate = &found.jacobian.certificate;
        assert!(certificate.valid(), "{scene}: {certificate:?}");
        assert_eq!(certificate.closed, closed, "{scene}");
        assert!(certificate.rank < certificate.size, "{scene}: {certificate:?}");
        assert!(found.whole && found.kinks == [0; 5], "{scene}: {:?} kinks of {:?}", found.kinks, found.inputs);
        assert!(found.error() < 1e-6, "{scene}: {:#?}", found.blocks);
    }
}

#[test]
fn a_derivative_that_is_all_zeros_is_compared_absolutely() {
    // In free flight the velocity after a step does not depend on where the body is.
    let found = run("free-box", "auto", 2, 5);
    assert!(found.judged == 2 && found.error < 1e-6, "{} judged, {:.1e}", found.judged, found.error);
}

#[test]
fn redundant_contacts_that_a_solver_leaves_without_impulse_are_at_no_switch() {
    // A cylinder on its line, dishes on one another: several contacts carry what others could as well.
    for scene in ["spring-cylinder", "dish-piling"] {
        let model = manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model;
        let options = BatchOptions { tolerance: 1e-13, iterations: 5000, ..precise() };
        let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
        for _ in 0..25 {
            batch.step::<f64>(&[]).expect("a step");
        }
        let state = batch.state(0).expect("a state");
        let mut checker = Checker::sampled(&model, &options, 1e-6, 24).expect("a checker");
        let found = checker.compare(&state).expect("a comparison");
        let certificate = &found.jacobian.certificate;
        assert!(certificate.valid() && certificate.margin > 1e-5, "{scene}: {certificate:?}");
        assert!(certificate.rank < certificate.size, "{scene}: {certificate:?}");
        assert!(found.kinks == [0; 5] && found.error() < 1e-6, "{scene}: {:?} {:#?}", found.kinks, found.blocks);
    }
}

#[test]
fn tables_on_tables_have_their_products_in_the_air_as_they_land_and_on_each_other() {
    let model = manyworlds::load("table-pile", &ImportOptions::default()).expect("a scene").model;
    let mut batch = Batch::new(&[(&model, 1)], &precise()).expect("a batch");
    let mut checker = Checker::sampled(&model, &precise(), 2e-7, 4).expect("a checker");
    // Steps, unknown impulses at least, and directions: those of q are two of four.
    for (steps, size, count) in [(10, 0, 4), (15, 400, 4), (25, 500, 2)] {
        while batch.steps() < steps {
            batch.step::<f64>(&[]).expect("a step");
        }
        let state = batch.state(0).expect("a state");
        let certificate = checker.look(&state, true).expect("a certificate");
        assert!(certificate.valid_but_by_q() && certificate.margin > 1e-5, "{steps}: {certificate:?}");
        assert!(certificate.size >= size && certificate.valid() == (count == 4), "{steps}: {certificate:?}");
        let found = checker.compare_directions(&state, 1e-6).expect("a comparison");
        assert_eq!((found.count, found.kinks, found.hidden.len()), (count, 0, count), "{steps}");
        assert!(found.ahead < 1e-6 && found.back < 1e-12, "{steps}: {found:?}");
        assert!(found.hidden.iter().all(|&error| error < 1e-5), "{steps}: {found:?}");
    }
}
