//! Contact problems recorded from the built-in scenes (`cargo xtask corpus`) and random ones: how many `auto` solves.
//!
//! Residuals are recomputed from the impulses, in f64 and outside the solver.

use std::fs;

use manyworlds::contact::{ContactModel, ContactProblem, SOLVERS, SolveSettings, SolveStatus, problem, quality, solve};
use manyworlds_shaders::contact::island_newton::{FIRST, ROUNDS};
use manyworlds_tests::random_problems::{Range, random_problem};
use manyworlds_tests::root;
use rayon::prelude::*;

/// What `auto` is asked for, N s.
const TOLERANCE: f64 = 1e-10;
/// Part of the corpus that `auto` solves to that: it reaches all of it.
const CORPUS_FLOOR: f64 = 0.99;
/// What it is asked for of problems that ask for the impossible, N s.
const CONTRADICTORY: f64 = 1e-9;
/// The same of one with impulses of 1e5 N s and more.
const LARGE: (&str, f64) = ("cmu2019-00210", 1e-6);
/// Part of the random problems that `auto` solves to that: it reaches all of 1000.
const RANDOM_FLOOR: f64 = 0.99;
/// The same where masses differ by up to 1e4: it reaches 993.
const UNLIKE_FLOOR: f64 = 0.98;
/// Iterations of the stages that batches have as kernels.
const KERNELS: u32 = FIRST + ROUNDS;
/// Random problems of a test run; 1000 with `--ignored`.
const RANDOM: u64 = 60;

/// Residual, and whether the status says that it is solved.
fn residual(problem: &ContactProblem, solver: &str) -> (f64, bool) {
    let settings = SolveSettings { tolerance: TOLERANCE, ..Default::default() };
    let solution = solve(problem, solver, &settings).expect("settings with a meaning");
    assert!(solution.relaxed.is_empty(), "{solver} relaxes a problem that has a solution");
    let truth = quality(problem, &solution.lambda, &solution.v);
    (truth.residual, solution.status == SolveStatus::Converged)
}

/// Fails when fewer than a part is solved, or when a status says otherwise than the residual.
fn check(problems: &[(String, ContactProblem)], floor: f64) {
    let all: Vec<_> = problems.par_iter().map(|(name, problem)| (name, residual(problem, "auto"))).collect();
    let mut missed: Vec<_> = all.iter().filter(|(_, (r, _))| r.is_nan() || *r > TOLERANCE).collect();
    missed.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    for ((name, problem), (_, (residual, converged))) in problems.iter().zip(&all) {
        // Islands are solved one by one; those without contacts count in full, and so in the worst case all add up.
        let most = 1.01 * TOLERANCE * (problem.plan.islands.len() as f64).sqrt();
        assert!(!converged || *residual <= most, "{name} is called solved at {residual:e}");
    }
    let solved = all.len() - missed.len();
    println!("{solved} of {} to {TOLERANCE:e}; the others: {missed:?}", all.len());
    assert!(solved as f64 >= floor * all.len() as f64, "{solved} of {} are solved; not: {missed:?}", all.len());
}

/// The recorded problems of a folder, by name.
fn recorded(folder: &str) -> Vec<(String, ContactProblem)> {
    let mut files: Vec<_> = fs::read_dir(root().join(folder))
        .expect("the corpus is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).expect("a file of the corpus");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name.clone(), problem::read(&text).unwrap_or_else(|e| panic!("{name}: {e}")))
    };
    files.iter().map(read).collect()
}

fn random(range: &Range, count: u64) -> Vec<(String, ContactProblem)> {
    (0..count).map(|number| (number.to_string(), random_problem(range, number))).collect()
}

#[test]
fn auto_solves_the_recorded_problems() {
    let problems = recorded("tests/corpus");
    assert!(problems.len() >= 200, "{}", problems.len());
    check(&problems, CORPUS_FLOOR);
}

/// Centred steps find what steps on the natural map do not, in as many rounds as kernels have.
#[test]
fn newton_leaves_its_circles() {
    let problems = recorded("tests/corpus/circling");
    assert_eq!(problems.len(), 3);
    for (name, problem) in &problems {
        let settings = SolveSettings { tolerance: 1e-8, iterations: KERNELS, ..Default::default() };
        let solution = solve(problem, "newton", &settings).expect("settings with a meaning");
        let truth = quality(problem, &solution.lambda, &solution.v);
        assert!(truth.residual <= 1e-8, "{name}: {:e} after {}", truth.residual, solution.iterations);
    }
}

/// Patient Newton steps find what kernels' rounds and CANAL do not, in as many iterations as the host of a batch has for it.
#[test]
fn what_kernels_leave_is_solved() {
    let problems = recorded("tests/corpus/left");
    assert_eq!(problems.len(), 5);
    for (name, problem) in &problems {
        let settings = SolveSettings { tolerance: 1e-6, iterations: 2000, ..Default::default() };
        let solution = solve(problem, "auto", &settings).expect("settings with a meaning");
        let truth = quality(problem, &solution.lambda, &solution.v);
        assert!(truth.residual <= 1e-6, "{name}: {:e} after {}", truth.residual, solution.iterations);
    }
}

/// Nothing solves these as they are: the nearest problem that has a solution is solved, with impulses that are bounded, and
/// it is said which biases gave way by how much: never beyond what they ask for.
#[test]
fn contradictory_problems_are_relaxed() {
    let problems = recorded("tests/corpus/contradictory");
    assert_eq!(problems.len(), 19);
    problems.par_iter().for_each(|(name, problem)| {
        let tolerance = if name == LARGE.0 { LARGE.1 } else { CONTRADICTORY };
        let settings = SolveSettings { tolerance, ..Default::default() };
        let solution = solve(problem, "auto", &settings).expect("settings with a meaning");
        assert_eq!(solution.status, SolveStatus::Relaxed, "{name}: {:?}", solution.quality);
        let largest = solution.lambda.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        assert!(largest < 1e6, "{name}: {largest:e} N s");
        let mut eased = problem.clone();
        for of in &solution.relaxed {
            let c = &mut eased.constraints[of.constraint];
            for r in 0..3 {
                let given = (of.by[r], -c.e[r]);
                assert!(of.left_out || given.0 == 0.0 || 0.0 < given.0 / given.1, "{name}: {given:?}");
                assert!(of.left_out || given.0.abs() <= given.1.abs(), "{name}: {given:?}");
                c.e[r] += of.by[r];
            }
        }
        let truth = quality(&eased, &solution.lambda, &solution.v);
        let most = 1.01 * tolerance * (problem.plan.islands.len() as f64).sqrt();
        assert!(truth.residual <= most, "{name}: {:e}", truth.residual);
    });
}

/// The other solvers give the same kind of answer where their impulses run away.
#[test]
fn every_solver_relaxes() {
    let problems = recorded("tests/corpus/contradictory");
    let runs_away = ["ant-00001", "cartpole-00001", "tiago-00001", "fourier_left-00001", "mjx_sensor-00001"];
    for (name, problem) in problems.iter().filter(|(name, _)| runs_away.contains(&name.as_str())) {
        for solver in ["newton", "pgs", "subadmm", "canal", "dantzig"] {
            let settings = SolveSettings { tolerance: CONTRADICTORY, ..Default::default() };
            let solution = solve(problem, solver, &settings).expect("settings with a meaning");
            assert_eq!(solution.status, SolveStatus::Relaxed, "{name}, {solver}: {:?}", solution.quality);
        }
    }
}

#[test]
fn auto_solves_random_problems() {
    check(&random(&Range::default(), RANDOM), RANDOM_FLOOR);
}

#[test]
#[ignore = "minutes: the whole of what the test above takes a part of"]
fn auto_solves_a_thousand_random_problems() {
    for (mass_ratio, floor) in [(1e2, RANDOM_FLOOR), (1e4, UNLIKE_FLOOR)] {
        check(&random(&Range { mass_ratio, ..Range::default() }, 1000), floor);
    }
}

/// What the later stages of `auto` find is kept only where it is better.
#[test]
fn auto_is_never_worse_than_its_first_stages() {
    let problems = random(&Range::default(), 20);
    problems.par_iter().for_each(|(name, problem)| {
        let ends = |solver, iterations| {
            // Never reached: all stages have their turn.
            let settings = SolveSettings { tolerance: 0.0, iterations, ..Default::default() };
            let solution = solve(problem, solver, &settings).expect("settings with a meaning");
            quality(problem, &solution.lambda, &solution.v).residual
        };
        let (first, all) = (ends("newton", KERNELS), ends("auto", KERNELS + 200));
        // Below that the two sums of residuals differ by round-off.
        assert!(all <= first.max(1e-14) * (1.0 + 1e-9), "{name}: {all:e} after {first:e}");
    });
}

#[test]
#[ignore = "minutes: a table rather than a test"]
fn every_solver_on_random_problems() {
    for mass_ratio in [1e2, 1e4] {
        let problems = random(&Range { mass_ratio, ..Range::default() }, 200);
        for solver in SOLVERS.iter().filter(|solver| solver.model() == ContactModel::Exact) {
            let mut all: Vec<f64> = problems.par_iter().map(|(_, p)| residual(p, solver.name()).0).collect();
            all.sort_by(f64::total_cmp);
            let solved = all.iter().filter(|r| **r <= TOLERANCE).count();
            let [median, most] = [all[all.len() / 2], all[all.len() - 1]];
            let name = solver.name();
            println!(
                "masses to {mass_ratio}: {name} {solved} of {}, median {median:.1e}, largest {most:.1e}",
                all.len()
            );
        }
    }
}

#[test]
fn a_velocity_that_all_cones_allow_exists_by_construction() {
    let mut redundant = 0;
    for number in 0..20 {
        let problem = random_problem(&Range::default(), number);
        assert!((1..=40).contains(&problem.subsystems.len()));
        redundant += usize::from(problem.n_rows > problem.n_v);
        if number % 2 == 0 {
            let still = vec![0.0; problem.n_v];
            let open = |c| problem.sigma(c, &still)[2] + c.e[2] >= 0.0;
            assert!(problem.constraints.iter().all(open), "{number}");
        }
    }
    assert!(redundant > 3, "{redundant}");
}
