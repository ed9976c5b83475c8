//! Residual by solver on the bolt and nut and on the pile of dishes, 100 random wrenches each (Lee 2024, figs. 7 and 9).
//!
//! `cargo bench -p manyworlds-benches --bench wrenches` prints a table: residual in N s (number 1 of the certificate),
//! iterations (of CANAL also the outer ones) and time of the solver alone, f64, one core; then the same to the accuracy that
//! each splitting is compared at: CANAL to 1e-8, SubADMM to 1e-6. Names of scenes and solvers after `--` leave out others:
//! `-- dish-pile canal`.

use manyworlds::contact::{ContactProblem, SOLVERS, SolveSettings, solve};
use manyworlds_tests::wrenches::problems;

/// A line of the table: a solver on all problems of a scene.
fn line(scene: &str, problems: &[ContactProblem], solver: &str, tolerance: f64, iterations: u32) {
    let settings = SolveSettings { tolerance, iterations, ..SolveSettings::default() };
    let [mut residuals, mut times, mut spent, mut outer, mut contacts] = [const { Vec::new() }; 5];
    for problem in problems {
        let solution = solve(problem, solver, &settings).expect("valid settings");
        residuals.push(solution.quality.residual);
        times.push(1e3 * solution.elapsed.as_secs_f64());
        spent.push(f64::from(solution.iterations));
        outer.push(f64::from(solution.outer));
        contacts.push(problem.n_contacts as f64);
    }
    for list in [&mut residuals, &mut times, &mut spent, &mut outer, &mut contacts] {
        list.sort_by(f64::total_cmp);
    }
    let at = |list: &[f64], part: f64| list[((list.len() - 1) as f64 * part) as usize];
    println!(
        "{scene:10} {solver:9} {tolerance:.0e} {iterations:5}  {:8}  {:16.1e}  {:.1e}  {:.1e}  {:10}  {:5} {:5}  {:10.2}",
        at(&contacts, 0.5),
        at(&residuals, 0.5),
        at(&residuals, 0.9),
        at(&residuals, 1.0),
        at(&spent, 0.5),
        at(&outer, 0.5),
        at(&outer, 1.0),
        at(&times, 0.5)
    );
}

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let wanted =
        |name: &str, of: &[&str]| !names.iter().any(|n| of.contains(&n.as_str())) || names.iter().any(|n| n == name);
    let scenes = ["bolt-nut", "dish-pile"];
    let solvers: Vec<&str> = SOLVERS.iter().map(|solver| solver.name()).collect();
    println!(
        "scene      solver    asked limit  contacts  residual: median  90 %      worst     iterations  outer, worst  ms: median"
    );
    for scene in scenes.into_iter().filter(|scene| wanted(scene, &scenes)) {
        let problems = problems(scene, 100);
        let solvers = solvers.iter().filter(|solver| wanted(solver, &solvers));
        for solver in solvers.clone() {
            for iterations in [10, 100, 1000] {
                line(scene, &problems, solver, 1e-10, iterations);
            }
        }
        for (solver, tolerance) in
            [("canal", 1e-8), ("subadmm", 1e-6)].into_iter().filter(|(s, _)| solvers.clone().any(|n| n == s))
        {
            line(scene, &problems, solver, tolerance, 1000);
        }
    }
}
