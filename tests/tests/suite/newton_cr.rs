//! Newton with conjugate residuals as a kernel: against the same method for single problems, on both executors, and on bad
//! input.

use manyworlds::contact::solve::Stage;
use manyworlds::contact::solve::newton_cr::ResidualProblem;
use manyworlds::contact::{
    ContactProblem, NcpFunction, NewtonCrParams, Scaling, SolveSettings, SolveStatus, quality, solve_with,
};
use manyworlds::{BatchOptions, ImportOptions, Model, Precision, State, Summary, load, status};
use manyworlds_tests::batches::{batch, bits, executors, largest_difference, run, state, summaries, tight};
use manyworlds_tests::corpus::recorded;

/// Without the finishing stage, which is another kernel.
fn alone() -> NewtonCrParams {
    NewtonCrParams { finish_after: None, ..NewtonCrParams::default() }
}

fn scene(name: &str) -> Model {
    load(name, &ImportOptions::default()).expect("a built-in scene").model
}

fn options(iterations: u32, tolerance: f64) -> BatchOptions {
    BatchOptions { solver: "newton-cr".into(), iterations, tolerance, ..tight() }
}

fn problems() -> Vec<(String, ContactProblem)> {
    let scenes = ["free-box", "sliding-box", "arm7", "hopper", "half-cheetah", "quadruped", "heavy-stack", "humanoid"];
    let all = recorded(&scenes);
    assert!(all.len() > 100, "{}", all.len());
    all
}

/// Where the method for single problems converges by itself, so does the kernel, to the same velocity in about as many
/// steps: on stacks of very unlike masses how many is a matter of rounding.
#[test]
fn the_kernel_solves_what_the_host_solves() {
    let settings = SolveSettings { tolerance: 1e-9, iterations: 40, ..Default::default() };
    for function in [NcpFunction::FischerBurmeister, NcpFunction::MinimumMap] {
        let params = NewtonCrParams { function, ..alone() };
        let (mut missed, mut both, mut total) = (Vec::new(), 0, [0; 2]);
        for (name, problem) in &problems() {
            let host = solve_with(problem, &settings, &params).expect("settings with a meaning");
            if host.status != SolveStatus::Converged {
                continue;
            }
            both += 1;
            let mut kernel = ResidualProblem::<f64>::new(problem, &params).expect("parameters with a meaning");
            let more = SolveSettings { iterations: 60, ..settings };
            let steps = kernel.solve(&more, |_| ()).expect("settings with a meaning");
            let (lambda, v) = (kernel.lambda(problem), kernel.v(problem));
            let residual = quality(problem, &lambda, &v).residual;
            let most = 1.01e-9 * (problem.plan.islands.len() as f64).sqrt();
            let apart = largest_difference(&v, &problem.velocity(&host.lambda));
            total[0] += steps;
            total[1] += host.iterations;
            if !kernel.solved() || residual.is_nan() || residual > most || apart > 1e-6 {
                missed.push((name.clone(), steps, host.iterations, residual, apart));
            }
        }
        println!("{function:?}: {both} solved by the host alone, {} missed, steps {total:?}", missed.len());
        assert!(both > 40, "{both}");
        assert!(missed.is_empty(), "{function:?}: {missed:?}");
        assert!(10 * total[0] <= 11 * total[1], "{function:?}: {total:?} steps");
    }
}

/// In the preconditioner's norm the linear residual never rises, whatever the scaling, and falls far.
#[test]
fn the_linear_residual_falls_in_its_norm() {
    let settings = SolveSettings { tolerance: 1e-9, iterations: 1, ..Default::default() };
    for scaling in [Scaling::EffectiveMass, Scaling::Uniform(1.0), Scaling::Uniform(1e-4)] {
        let params = NewtonCrParams { scaling, ..alone() };
        let mut checked = 0;
        for (name, problem) in &recorded(&["heavy-stack", "quadruped", "humanoid"]) {
            if problem.plan.islands.len() != 1 {
                continue;
            }
            let mut norms = Vec::new();
            let mut kernel = ResidualProblem::<f64>::new(problem, &params).expect("parameters with a meaning");
            kernel.solve(&settings, |norm| norms.push(norm)).expect("settings with a meaning");
            if norms.len() < 2 {
                continue;
            }
            checked += 1;
            for pair in norms.windows(2) {
                assert!(pair[1] <= pair[0] * (1.0 + 1e-9), "{name}, {scaling:?}: {pair:?}");
            }
            let fell = norms[norms.len() - 1] / norms[0];
            assert!(fell <= 1e-8 || norms.len() > 300, "{name}, {scaling:?}: {fell:e} after {}", norms.len());
        }
        assert!(checked > 10, "{checked}");
    }
}

#[test]
fn warm_starts_are_where_they_left() {
    let settings = SolveSettings { tolerance: 1e-8, iterations: 60, ..Default::default() };
    let mut solved = 0;
    for (name, problem) in &recorded(&["quadruped", "heavy-stack"]) {
        let mut first = ResidualProblem::<f64>::new(problem, &alone()).expect("parameters");
        first.solve(&settings, |_| ()).expect("settings with a meaning");
        if !first.solved() {
            continue;
        }
        solved += 1;
        let again = ContactProblem { warm_start: first.lambda(problem), ..problem.clone() };
        let mut second = ResidualProblem::<f64>::new(&again, &alone()).expect("parameters");
        let steps = second.solve(&settings, |_| ()).expect("settings with a meaning");
        assert_eq!((steps, second.lambda(problem)), (0, first.lambda(problem)), "{name}");
    }
    assert!(solved > 10, "{solved}");
}

#[test]
fn settings_without_meaning_are_refused() {
    let (_, problem) = &recorded(&["free-box"])[0];
    assert!(ResidualProblem::<f64>::new(problem, &NewtonCrParams { damping: 0.0, ..alone() }).is_err());
    let mut kernel = ResidualProblem::<f64>::new(problem, &alone()).expect("parameters");
    assert!(kernel.solve(&SolveSettings { tolerance: f64::NAN, ..Default::default() }, |_| ()).is_err());
}

/// One step from where a batch has come, by kernels alone, is that of the default.
#[test]
fn a_step_is_that_of_the_default() {
    let scenes = [("free-box", 60), ("half-cheetah", 100), ("quadruped", 200), ("humanoid", 60), ("heavy-stack", 30)];
    for (name, steps) in scenes {
        let model = scene(name);
        let own = options(200, 1e-9);
        let mut auto = batch(&model, 1, &BatchOptions { solver: "auto".into(), iterations: 1000, ..own.clone() });
        run(&mut auto, steps);
        let before = state(&mut auto, 0);
        let mut newton_cr = batch(&model, 1, &own);
        for of in [&mut auto, &mut newton_cr] {
            of.reset(&[(0, before.clone())]).expect("a state");
            run(of, 1);
        }
        let found = summaries(&mut newton_cr)[0];
        assert!(found.contacts > 0 && found.residual <= 1e-9, "{name}: {found:?}");
        assert_eq!((found.status, found.stage), (status::CONVERGED, None), "{name}: {found:?}");
        assert!(found.iterations > 0 && found.iterations < 100, "{name}: {found:?}");
        let apart = largest_difference(&state(&mut auto, 0).v, &state(&mut newton_cr, 0).v);
        assert!(apart <= 1e-6, "{name}: velocities {apart:e} apart");
    }
}

/// What the kernels leave unsolved the host solves, and the stage says so.
#[test]
fn the_host_solves_what_kernels_leave() {
    let model = scene("heavy-stack");
    let mut stands = batch(&model, 1, &options(1, 1e-7));
    run(&mut stands, 1);
    // One step of Newton does not solve it in a kernel; the host has ten times as many.
    let found = summaries(&mut stands)[0];
    assert_eq!((found.status, found.stage), (status::CONVERGED, Some(Stage::NewtonCr)), "{found:?}");
    let mut stands = batch(&model, 1, &options(200, 1e-7));
    run(&mut stands, 1);
    let found = summaries(&mut stands)[0];
    assert_eq!((found.status, found.stage), (status::CONVERGED, None), "{found:?}");
}

#[test]
fn executors_agree() {
    for (model, worlds, steps) in [(scene("heavy-stack"), 1, 2), (scene("quadruped"), 3, 12), (scene("hopper"), 2, 30)]
    {
        let found: Vec<_> = executors(&options(100, 1e-10))
            .iter()
            .map(|(name, options)| {
                let mut batch = batch(&model, worlds, options);
                run(&mut batch, steps);
                let summary = summaries(&mut batch)[worlds - 1];
                assert_eq!(summary.status, status::CONVERGED, "{name}: {summary:?}");
                (*name, state(&mut batch, worlds - 1))
            })
            .collect();
        for (name, of) in &found[1..] {
            let apart = largest_difference(&found[0].1.v, &of.v);
            assert!(apart <= 1e-7, "{name}: velocities {apart:e} apart");
        }
    }
}

#[test]
fn a_failing_world_harms_no_other() {
    for name in ["quadruped", "heavy-stack"] {
        let model = scene(name);
        let options = options(40, 1e-6);
        let (mut sound, mut harmed) = (batch(&model, 3, &options), batch(&model, 3, &options));
        let absurd = State { v: vec![1e300; model.n_v], ..state(&mut harmed, 1) };
        harmed.reset(&[(1, absurd)]).expect("finite numbers");
        run(&mut sound, 30);
        run(&mut harmed, 30);
        let failed: Vec<_> = summaries(&mut harmed).iter().map(Summary::failed).collect();
        assert_eq!(failed, [false, true, false], "{name}");
        for world in [0, 2] {
            assert_eq!(bits(&state(&mut sound, world)), bits(&state(&mut harmed, world)), "{name}, world {world}");
        }
        assert!(state(&mut harmed, 1).q.iter().all(|x| x.is_finite()), "{name}");
    }
}

#[test]
fn single_precision_reaches_its_tolerance() {
    for name in ["quadruped", "half-cheetah"] {
        let options = BatchOptions { precision: Precision::F32, ..options(200, 1e-5) };
        let mut stands = batch(&scene(name), 1, &options);
        run(&mut stands, 200);
        let found = summaries(&mut stands)[0];
        assert!(found.contacts > 0, "{name}: {found:?}");
        assert_eq!(found.status, status::CONVERGED, "{name}: {found:?}");
        assert!(found.residual <= 1e-5 || found.residual_scaled <= 1e-5, "{name}: {found:?}");
    }
}
