//! Residual by solver on the bolt and nut and on the pile of dishes, 100 random wrenches each (Lee 2024, figs. 7 and 9).
//!
//! `cargo bench -p manyworlds-benches --bench wrenches` prints a table: residual in N s (number 1 of the certificate),
//! iterations and time of the solver alone, f64, one core.

use manyworlds::contact::{SOLVERS, SolveSettings, solve};
use manyworlds_tests::wrenches::problems;

fn main() {
    println!("scene      solver    limit  contacts  residual: median  90 %      worst     iterations  ms: median");
    for scene in ["bolt-nut", "dish-pile"] {
        let problems = problems(scene, 100);
        for solver in SOLVERS {
            for iterations in [10, 100, 1000] {
                let settings = SolveSettings { tolerance: 1e-10, iterations, ..SolveSettings::default() };
                let mut residuals = Vec::new();
                let (mut times, mut spent, mut contacts) = (Vec::new(), Vec::new(), Vec::new());
                for problem in &problems {
                    let solution = solve(problem, solver.name(), &settings).expect("valid settings");
                    residuals.push(solution.quality.residual);
                    times.push(1e3 * solution.elapsed.as_secs_f64());
                    spent.push(f64::from(solution.iterations));
                    contacts.push(problem.n_contacts as f64);
                }
                for list in [&mut residuals, &mut times, &mut spent, &mut contacts] {
                    list.sort_by(f64::total_cmp);
                }
                let at = |list: &[f64], part: f64| list[((list.len() - 1) as f64 * part) as usize];
                println!(
                    "{scene:10} {:9} {iterations:5}  {:8}  {:16.1e}  {:.1e}  {:.1e}  {:10}  {:10.2}",
                    solver.name(),
                    at(&contacts, 0.5),
                    at(&residuals, 0.5),
                    at(&residuals, 0.9),
                    at(&residuals, 1.0),
                    at(&spent, 0.5),
                    at(&times, 0.5)
                );
            }
        }
    }
}
