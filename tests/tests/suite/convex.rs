//! CANAL and SAP as kernels: against the same methods for single problems, on both executors, and on bad input.

use std::fmt::Write as _;

use manyworlds::contact::solve::Stage;
use manyworlds::contact::solve::convex::ConvexProblem;
use manyworlds::contact::{
    CanalParams, ContactProblem, Penalty, SapParams, SolveSettings, SolveStatus, quality, solve, solve_with,
};
use manyworlds::{Batch, BatchOptions, ImportOptions, Model, Parameter, Precision, State, Summary, load, status};
use manyworlds_tests::batches::{batch, bits, executors, largest_difference, mjcf, run, state, summaries, tight};
use manyworlds_tests::corpus::recorded;

/// What single problems are solved to, N s.
const TOLERANCE: f64 = 5e-11;
/// As exact as SAP can be asked for.
const TIGHT: SapParams = SapParams { near_rigid: 1.0, slip: 1e-3, relative: 1e-12, absolute: 1e-16 };

fn scene(name: &str) -> Model {
    load(name, &ImportOptions::default()).expect("a built-in scene").model
}

fn by(solver: &str, options: &BatchOptions) -> BatchOptions {
    BatchOptions { solver: solver.into(), ..options.clone() }
}

/// Problems of every kind of scene whose islands a workgroup can hold.
fn problems() -> Vec<(String, ContactProblem)> {
    let scenes = ["free-box", "sliding-box", "arm7", "hopper", "half-cheetah", "quadruped", "heavy-stack", "humanoid"];
    let all = recorded(&scenes);
    assert!(all.len() > 100, "{}", all.len());
    all
}

#[test]
fn canal_solves_what_the_host_solves() {
    let settings = SolveSettings { tolerance: TOLERANCE, iterations: 2000, ..Default::default() };
    let problems = &problems();
    let (mut missed, mut both, mut steps) = (Vec::new(), 0, [0, 0]);
    for (name, problem) in problems {
        let host = solve_with(problem, &settings, &CanalParams::frozen()).expect("settings with a meaning");
        let mut kernels = ConvexProblem::<f64>::new(problem);
        let iterations = kernels.canal(&settings, &CanalParams::frozen()).expect("settings with a meaning");
        let (lambda, v) = (kernels.lambda(problem), kernels.v(problem));
        if host.status != SolveStatus::Converged {
            continue;
        }
        both += 1;
        (steps[0], steps[1]) = (steps[0] + iterations, steps[1] + host.iterations);
        let residual = quality(problem, &lambda, &v).residual;
        // Islands are solved one by one; those without contacts count in full.
        let most = 1.01 * TOLERANCE * (problem.plan.islands.len() as f64).sqrt();
        let apart = largest_difference(&v, &problem.velocity(&host.lambda));
        if !kernels.solved() || residual.is_nan() || residual > most || apart > 1e-8 {
            missed.push((name, iterations, host.iterations, residual, apart));
        }
    }
    // The same method: about as many Newton steps in all.
    assert!(10 * steps[0] < 11 * steps[1], "{steps:?}");
    assert!(both > 100, "{both}");
    assert!(missed.is_empty(), "{missed:?}");
}

/// The compliant problem has one solution, impulses included.
#[test]
fn sap_solves_what_the_host_solves() {
    let settings = SolveSettings { iterations: 200, ..Default::default() };
    let problems = &problems();
    let mut missed = Vec::new();
    for (name, problem) in problems {
        let host = solve_with(problem, &settings, &TIGHT).expect("settings with a meaning");
        assert_eq!(host.status, SolveStatus::Converged, "{name}");
        let mut kernels = ConvexProblem::<f64>::new(problem);
        kernels.sap(&settings, &TIGHT).expect("settings with a meaning");
        let (lambda, v) = (kernels.lambda(problem), kernels.v(problem));
        // Newton steps are compared where rounding has no say: at 1e-12 it decides how often the last ones are taken.
        let own = SapParams { relative: 1e-9, ..TIGHT };
        let steps = [
            ConvexProblem::<f64>::new(problem).sap(&settings, &own).expect("settings with a meaning"),
            solve_with(problem, &settings, &own).expect("settings with a meaning").iterations,
        ];
        let apart =
            [largest_difference(&v, &problem.velocity(&host.lambda)), largest_difference(&lambda, &host.lambda)];
        let scale = host.lambda.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        let close = apart[0] <= 1e-8 && apart[1] <= 1e-8 * scale;
        if !(kernels.solved() && close && steps[0] <= steps[1] + 2) {
            missed.push((name, steps, apart, scale));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn warm_starts_are_where_they_left() {
    let settings = SolveSettings { tolerance: 1e-10, iterations: 2000, ..Default::default() };
    for (name, problem) in &recorded(&["quadruped", "heavy-stack"]) {
        let mut first = ConvexProblem::<f64>::new(problem);
        first.canal(&settings, &CanalParams::frozen()).expect("settings with a meaning");
        let again = ContactProblem { warm_start: first.lambda(problem), ..problem.clone() };
        let mut second = ConvexProblem::<f64>::new(&again);
        let iterations = second.canal(&settings, &CanalParams::frozen()).expect("settings with a meaning");
        assert_eq!((iterations, second.lambda(problem)), (0, first.lambda(problem)), "{name}");
        let mut soft = ConvexProblem::<f64>::new(problem);
        soft.sap(&settings, &TIGHT).expect("settings with a meaning");
        let again = ContactProblem { warm_start: soft.lambda(problem), ..problem.clone() };
        let loose = SapParams { relative: 1e-6, ..TIGHT };
        let iterations = ConvexProblem::<f64>::new(&again).sap(&settings, &loose).expect("settings with a meaning");
        assert_eq!(iterations, 0, "{name}");
    }
}

#[test]
fn settings_without_meaning_are_refused() {
    let (_, problem) = &recorded(&["free-box"])[0];
    let mut kernels = ConvexProblem::<f64>::new(problem);
    let settings = SolveSettings::default();
    let uniform = CanalParams { weights: Penalty::Uniform, ..CanalParams::frozen() };
    assert!(kernels.canal(&settings, &uniform).is_err());
    assert!(kernels.canal(&settings, &CanalParams { growth: 0.5, ..CanalParams::frozen() }).is_err());
    assert!(kernels.sap(&settings, &SapParams { slip: 0.0, ..TIGHT }).is_err());
    assert!(kernels.sap(&SolveSettings { tolerance: f64::NAN, ..settings }, &TIGHT).is_err());
}

/// One step from where a batch has come: exact contact as `auto` solves it, compliant contact as the host does.
#[test]
fn a_step_is_that_of_the_host() {
    let scenes = [("free-box", 60), ("half-cheetah", 100), ("quadruped", 200), ("humanoid", 60), ("heavy-stack", 30)];
    for (name, steps) in scenes {
        let model = scene(name);
        let options = BatchOptions { iterations: 1000, tolerance: 1e-9, ..tight() };
        let mut auto = batch(&model, 1, &options);
        run(&mut auto, steps);
        let before = state(&mut auto, 0);
        let mut canal = batch(&model, 1, &by("canal", &options));
        let mut sap = batch(&model, 1, &by("sap", &options));
        for of in [&mut auto, &mut canal, &mut sap] {
            of.reset(&[(0, before.clone())]).expect("a state");
            run(of, 1);
        }
        let (exact, soft) = (summaries(&mut canal)[0], summaries(&mut sap)[0]);
        assert!(exact.contacts > 0 && exact.residual <= 1e-9, "{name}: {exact:?}");
        for of in [exact, soft] {
            // By kernels alone.
            assert_eq!((of.status, of.stage), (status::CONVERGED, None), "{name}: {of:?}");
            assert!(of.iterations > 0 && of.iterations < 200, "{name}: {of:?}");
        }
        // A tolerance of 1e-9 N s on bodies of a kilogram and more.
        let apart = largest_difference(&state(&mut auto, 0).v, &state(&mut canal, 0).v);
        assert!(apart <= 1e-6, "{name}: velocities {apart:e} apart");
        let of_step = sap.contact_problem(0).expect("a problem");
        let settings = SolveSettings { iterations: 200, ..Default::default() };
        let host = solve(&of_step.problem, "sap", &settings).expect("settings with a meaning");
        assert_eq!(host.status, SolveStatus::Converged, "{name}");
        let apart = largest_difference(&host.v, &of_step.velocity);
        assert!(apart <= 1e-6, "{name}: velocities {apart:e} apart by SAP");
    }
}

/// A column of boxes.
fn column(boxes: u32) -> Model {
    let mut bodies = String::from("<geom type=\"plane\" size=\"0 0 1\"/>");
    for i in 0..boxes {
        let z = 0.1 + 0.2 * f64::from(i);
        let _ = write!(
            bodies,
            "<body pos=\"0 0 {z}\"><freejoint/><geom type=\"box\" size=\".1 .1 .1\" density=\"1000\"/></body>"
        );
    }
    mjcf(0.005, &format!("<worldbody>{bodies}</worldbody>"))
}

#[test]
fn the_host_solves_what_is_too_large() {
    for (solver, stage) in [("canal", Stage::Canal), ("sap", Stage::Sap)] {
        for (boxes, stage) in [(12, None), (36, Some(stage))] {
            let mut stands = batch(&column(boxes), 1, &by(solver, &BatchOptions { tolerance: 1e-7, ..tight() }));
            run(&mut stands, 1);
            let found = summaries(&mut stands)[0];
            assert_eq!((found.status, found.stage), (status::CONVERGED, stage), "{solver}, {boxes}: {found:?}");
        }
    }
}

/// A matrix in workgroup memory, one in storage, and islands of one tree.
#[test]
fn executors_agree() {
    for solver in ["canal", "sap"] {
        for (model, worlds, steps) in [(column(5), 2, 2), (column(12), 1, 1), (scene("quadruped"), 3, 12)] {
            let options = by(solver, &BatchOptions { iterations: 100, tolerance: 1e-10, ..tight() });
            let found: Vec<_> = executors(&options)
                .iter()
                .map(|(name, options)| {
                    let mut batch = batch(&model, worlds, options);
                    run(&mut batch, steps);
                    let summary = summaries(&mut batch)[worlds - 1];
                    assert_eq!((summary.status, summary.stage), (status::CONVERGED, None), "{solver}, {name}");
                    (*name, state(&mut batch, worlds - 1))
                })
                .collect();
            for (name, of) in &found[1..] {
                let apart = largest_difference(&found[0].1.v, &of.v);
                assert!(apart <= 1e-8, "{solver}, {name}: velocities {apart:e} apart");
            }
        }
    }
}

/// Directions by conjugate residuals are as good as those by a factor: on small islands, and on quadrupeds in heaps.
#[test]
fn what_is_never_written_out_is_solved_too() {
    let settings = SolveSettings { tolerance: 1e-9, iterations: 4000, ..Default::default() };
    let problems = recorded(&["half-cheetah", "quadruped-0", "humanoid-00200", "heavy-stack-00400", "quadruped-drop-"]);
    assert!(problems.len() > 20, "{}", problems.len());
    let mut missed = Vec::new();
    for (name, problem) in &problems {
        let host = solve_with(problem, &settings, &CanalParams::frozen()).expect("settings with a meaning");
        let soft = solve_with(problem, &settings, &TIGHT).expect("settings with a meaning");
        let mut kernels = ConvexProblem::<f64>::up_to(problem, [0, 0]);
        let steps = kernels.canal(&settings, &CanalParams::frozen()).expect("settings with a meaning");
        let apart = largest_difference(&kernels.v(problem), &problem.velocity(&host.lambda));
        if host.status == SolveStatus::Converged && (!kernels.solved() || apart > 1e-6) {
            missed.push((name, "canal", steps, host.iterations, apart));
        }
        let mut kernels = ConvexProblem::<f64>::up_to(problem, [0, 0]);
        let steps = kernels.sap(&settings, &TIGHT).expect("settings with a meaning");
        let apart = largest_difference(&kernels.v(problem), &problem.velocity(&soft.lambda));
        if !kernels.solved() || apart > 1e-6 {
            missed.push((name, "sap", steps, soft.iterations, apart));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// Islands beyond what is written out stay on a device, and come to what the host's blocks come to.
#[test]
fn devices_keep_what_is_too_large() {
    for solver in ["canal", "sap"] {
        let options = by(solver, &BatchOptions { iterations: 400, tolerance: 1e-9, ..tight() });
        let found: Vec<_> = executors(&options)
            .iter()
            .map(|(name, options)| {
                let mut batch = batch(&column(36), 1, options);
                run(&mut batch, 1);
                let summary = summaries(&mut batch)[0];
                assert_eq!(summary.status, status::CONVERGED, "{solver}, {name}: {summary:?}");
                (*name, summary.stage, state(&mut batch, 0))
            })
            .collect();
        for (name, stage, of) in &found[1..] {
            assert_eq!(*stage, None, "{solver}, {name}");
            let apart = largest_difference(&found[0].2.v, &of.v);
            assert!(apart <= 1e-6, "{solver}, {name}: velocities {apart:e} apart");
        }
    }
}

#[test]
fn a_failing_world_harms_no_other() {
    for (name, solver) in
        [("quadruped", "canal"), ("quadruped", "sap"), ("heavy-stack", "canal"), ("heavy-stack", "sap")]
    {
        let model = scene(name);
        let options = by(solver, &BatchOptions { iterations: 40, tolerance: 1e-6, ..tight() });
        let (mut sound, mut harmed) = (batch(&model, 3, &options), batch(&model, 3, &options));
        let absurd = State { v: vec![1e300; model.n_v], ..state(&mut harmed, 1) };
        harmed.reset(&[(1, absurd)]).expect("finite numbers");
        run(&mut sound, 30);
        run(&mut harmed, 30);
        let failed: Vec<_> = summaries(&mut harmed).iter().map(Summary::failed).collect();
        assert_eq!(failed, [false, true, false], "{name}, {solver}");
        for world in [0, 2] {
            assert_eq!(bits(&state(&mut sound, world)), bits(&state(&mut harmed, world)), "{name}, world {world}");
        }
        assert!(state(&mut harmed, 1).q.iter().all(|x| x.is_finite()), "{name}");
    }
}

#[test]
fn single_precision_reaches_its_tolerance() {
    for solver in ["canal", "sap"] {
        let options =
            by(solver, &BatchOptions { precision: Precision::F32, tolerance: 1e-5, iterations: 200, ..tight() });
        let mut stands = batch(&scene("quadruped"), 1, &options);
        run(&mut stands, 200);
        let found = summaries(&mut stands)[0];
        assert!(found.contacts > 0 && found.stage.is_none(), "{solver}: {found:?}");
        assert_eq!(found.status, status::CONVERGED, "{solver}: {found:?}");
        assert!(solver == "sap" || found.residual <= 1e-5 || found.residual_scaled <= 1e-5, "{found:?}");
    }
}

/// Contacts give way over the step that a world takes, not over the model's.
#[test]
fn compliance_goes_by_the_time_step_of_the_world() {
    let model = scene("hopper");
    let h = 0.5 * model.options.timestep;
    let options = by("sap", &tight());
    let mut changed = Batch::new(&[(&model, 2)], &options).expect("a batch");
    let mut whole = Batch::new(&[(&model, 1)], &BatchOptions { dt: Some(h), ..options }).expect("a batch");
    changed.set_parameter(1, 0, Parameter::Timestep, &[h]).expect("a parameter");
    for batch in [&mut changed, &mut whole] {
        (0..400).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
    }
    assert!(summaries(&mut whole)[0].contacts > 0, "it has not landed");
    assert_eq!(state(&mut changed, 1), state(&mut whole, 0));
    assert_ne!(state(&mut changed, 0), state(&mut whole, 0));
}
