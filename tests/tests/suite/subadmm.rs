//! SubADMM in batches: against `auto`, against the same method for single problems, on both executors, and on bad input.

use std::fmt::Write as _;

use manyworlds::contact::solve::subadmm::{SingleProblem, Splitting};
use manyworlds::contact::{SolveSettings, SolveStatus, SubAdmmParams, quality, solve};
use manyworlds::{Batch, BatchOptions, ImportOptions, Model, Precision, State, Summary, load};
use manyworlds_tests::batches::{batch, bits, executors, largest_difference, mjcf, run, state, tight};
use manyworlds_tests::corpus::recorded;
use manyworlds_tests::wrenches::problems;

/// What single problems are solved to, N s.
const TOLERANCE: f64 = 1e-9;

fn subadmm(options: &BatchOptions) -> BatchOptions {
    BatchOptions { solver: "subadmm".into(), ..options.clone() }
}

fn scene(name: &str) -> Model {
    load(name, &ImportOptions::default()).expect("a built-in scene").model
}

#[test]
fn kernels_solve_what_the_host_solves() {
    let settings = SolveSettings { tolerance: TOLERANCE, iterations: 10_000, ..Default::default() };
    let problems = recorded(&["free-box", "sliding-box", "arm7", "hopper", "half-cheetah", "quadruped", "heavy-stack"]);
    assert!(problems.len() > 100, "{}", problems.len());
    let mut missed = Vec::new();
    for (name, problem) in &problems {
        let host = solve(problem, "subadmm", &settings).expect("settings with a meaning");
        if host.status != SolveStatus::Converged {
            continue;
        }
        for splitting in [Splitting::Subsystems, Splitting::Bodies] {
            let mut kernels = SingleProblem::<f64>::new(problem, splitting);
            let iterations = kernels.solve(&settings, &SubAdmmParams::default()).expect("settings with a meaning");
            let (lambda, v) = (kernels.lambda(problem), kernels.v(problem));
            let residual = quality(problem, &lambda, &v).residual;
            // Islands are solved one by one; those without contacts count in full.
            let most = 1.01 * TOLERANCE * (problem.plan.islands.len() as f64).sqrt();
            if residual.is_nan() || residual > most {
                missed.push((name, splitting, iterations, residual));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// Most contacts of both scenes are redundant (Lee 2024, figs. 7 and 9): one penalty for all of them stalls above 1e-6 N s.
#[test]
fn redundant_contacts_are_solved() {
    let settings = SolveSettings { tolerance: 1e-6, iterations: 1000, ..Default::default() };
    for scene in ["bolt-nut", "dish-pile"] {
        for (number, problem) in problems(scene, 10).iter().enumerate() {
            let host = solve(problem, "subadmm", &settings).expect("settings with a meaning");
            assert!(host.quality.residual <= 1e-6, "{scene} {number}, host: {:?}", host.quality);
            let mut kernels = SingleProblem::<f64>::new(problem, Splitting::Bodies);
            kernels.solve(&settings, &SubAdmmParams::default()).expect("settings with a meaning");
            let found = quality(problem, &kernels.lambda(problem), &kernels.v(problem));
            // The kernels' sums are rounded in another order.
            assert!(found.residual <= 1.01e-6, "{scene} {number}, kernels: {found:?}");
        }
    }
}

/// One step from where a batch has come, by both solvers.
#[test]
fn a_step_is_that_of_auto() {
    for (name, steps, near) in
        [("free-box", 60, 1e-7), ("half-cheetah", 100, 1e-6), ("quadruped", 200, 1e-6), ("quadruped-drop", 120, 1e-6)]
    {
        let model = scene(name);
        let options = BatchOptions { iterations: 5000, tolerance: 1e-9, ..tight() };
        let mut auto = batch(&model, 1, &options);
        run(&mut auto, steps);
        let before = state(&mut auto, 0);
        let mut split = batch(&model, 1, &subadmm(&options));
        split.reset(&[(0, before.clone())]).expect("a state");
        auto.reset(&[(0, before)]).expect("a state");
        run(&mut auto, 1);
        run(&mut split, 1);
        let (mut summaries, mut own) = (Vec::new(), Vec::new());
        for of in [&mut auto, &mut split] {
            of.summaries(&mut own).expect("summaries");
            summaries.append(&mut own);
        }
        assert!(summaries.iter().all(|s| s.contacts > 0 && s.residual <= 2e-9), "{name}: {summaries:?}");
        let apart = largest_difference(&state(&mut auto, 0).v, &state(&mut split, 0).v);
        assert!(apart <= near, "{name}: velocities {apart:e} apart");
    }
}

/// A column of boxes, of more contacts than a workgroup solves.
fn column() -> Model {
    let mut bodies = String::from("<geom type=\"plane\" size=\"0 0 1\"/>");
    for i in 0..70 {
        let z = 0.1 + 0.2 * f64::from(i);
        let _ = write!(
            bodies,
            "<body pos=\"0 0 {z}\"><freejoint/><geom type=\"box\" size=\".1 .1 .1\" density=\"1000\"/></body>"
        );
    }
    mjcf(0.005, &format!("<worldbody>{bodies}</worldbody>"))
}

/// The wide form on a device against the mirror, which does an island of any size at once.
#[test]
fn executors_and_forms_agree() {
    for (model, worlds, steps) in [(column(), 1, 2), (scene("quadruped-drop"), 2, 12)] {
        let options = BatchOptions { iterations: 12, ..subadmm(&tight()) };
        let states: Vec<_> = executors(&options)
            .iter()
            .map(|(name, options)| {
                let mut batch = batch(&model, worlds, options);
                run(&mut batch, steps);
                (*name, state(&mut batch, worlds - 1))
            })
            .collect();
        for (name, of) in &states[1..] {
            let apart = largest_difference(&states[0].1.v, &of.v);
            assert!(apart <= 1e-9, "{name}: velocities {apart:e} apart");
        }
    }
}

#[test]
fn a_failing_world_harms_no_other() {
    for name in ["quadruped", "quadruped-drop"] {
        let model = scene(name);
        let options = BatchOptions { iterations: 40, tolerance: 1e-6, ..subadmm(&tight()) };
        let (mut sound, mut harmed) = (batch(&model, 3, &options), batch(&model, 3, &options));
        let absurd = State { v: vec![1e300; model.n_v], ..state(&mut harmed, 1) };
        harmed.reset(&[(1, absurd)]).expect("finite numbers");
        run(&mut sound, 30);
        run(&mut harmed, 30);
        let mut summaries = Vec::new();
        harmed.summaries(&mut summaries).expect("summaries");
        assert!(summaries.iter().map(Summary::failed).eq([false, true, false]), "{name}");
        for world in [0, 2] {
            assert_eq!(bits(&state(&mut sound, world)), bits(&state(&mut harmed, world)), "{name}, world {world}");
        }
        assert!(state(&mut harmed, 1).q.iter().all(|x| x.is_finite()), "{name}");
    }
}

/// Without friction a box keeps its speed along the ground; without contact it falls.
#[test]
fn no_friction_and_no_contact() {
    let slide = mjcf(
        0.002,
        "<worldbody><geom type=\"plane\" size=\"0 0 1\" friction=\"0 0 0\"/><body pos=\"0 0 .1\"><freejoint/>\
         <geom type=\"box\" size=\".1 .1 .1\" friction=\"0 0 0\"/></body></worldbody>",
    );
    let mut slides: Batch = batch(&slide, 1, &subadmm(&tight()));
    let mut start = state(&mut slides, 0);
    start.v[0] = 0.7;
    slides.reset(&[(0, start.clone())]).expect("a state");
    run(&mut slides, 50);
    let end = state(&mut slides, 0);
    assert!((end.v[0] - 0.7).abs() < 1e-9 && end.v[2].abs() < 1e-9, "{:?}", end.v);
    start.q[2] = 50.0;
    slides.reset(&[(0, start)]).expect("a state");
    run(&mut slides, 50);
    assert!((state(&mut slides, 0).v[2] + 9.81 * 0.1).abs() < 1e-12);
}

#[test]
fn single_precision_reaches_its_tolerance() {
    let model = scene("quadruped");
    let options = BatchOptions { precision: Precision::F32, tolerance: 1e-5, iterations: 500, ..subadmm(&tight()) };
    let mut stands = batch(&model, 1, &options);
    run(&mut stands, 200);
    let mut summaries = Vec::new();
    stands.summaries(&mut summaries).expect("summaries");
    let Summary { residual, residual_scaled, contacts, .. } = summaries[0];
    assert!(contacts > 0 && (residual <= 1e-5 || residual_scaled <= 1e-5), "{summaries:?}");
}
