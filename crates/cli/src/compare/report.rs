//! What `compare` prints: each problem by itself where they are few, and all together.

use comfy_table::Table;
use manyworlds_contact::{ContactProblem, Precision};
use serde::Serialize;

use super::measure::{Budget, Run};
use crate::output;
use crate::statistics::{median, worse};

/// So many problems are shown one by one, with the way each solver took.
pub(super) const MOST_IN_DETAIL: usize = 12;

/// Residuals of which the tables say when they were reached, N s.
const REACHED: [f64; 4] = [1e-4, 1e-6, 1e-8, 1e-10];

/// Everything.
#[derive(Serialize)]
pub(super) struct Report {
    tolerance: f64,
    tolerance_f32: f64,
    iterations: u32,
    problems: Vec<Problem>,
    summary: Vec<Summary>,
}

/// One problem.
#[derive(Serialize)]
pub(super) struct Problem {
    pub(super) problem: String,
    pub(super) n_v: usize,
    subsystems: usize,
    pub(super) contacts: usize,
    pub(super) rows: usize,
    islands: usize,
    pub(super) runs: Vec<Run>,
}

/// A solver over all problems.
#[derive(Serialize)]
struct Summary {
    solver: &'static str,
    precision: &'static str,
    problems: usize,
    solved: usize,
    residual_median: f64,
    residual_max: f64,
    residual_scaled_max: f64,
    momentum_error_max: f64,
    iterations_median: f64,
    microseconds_median: f64,
    microseconds_max: f64,
}

impl Report {
    /// Of no problem yet.
    pub(super) fn new(budget: &Budget) -> Self {
        Self {
            tolerance: budget.tolerance(Precision::F64),
            tolerance_f32: budget.tolerance(Precision::F32),
            iterations: budget.iterations,
            problems: Vec::new(),
            summary: Vec::new(),
        }
    }

    /// Adds what all solvers made of a problem, and returns it.
    pub(super) fn add(&mut self, name: &str, problem: &ContactProblem, runs: Vec<Run>) -> &Problem {
        self.problems.push_mut(Problem {
            problem: name.to_owned(),
            n_v: problem.n_v,
            subsystems: problem.subsystems.len(),
            contacts: problem.n_contacts,
            rows: problem.n_rows,
            islands: problem.plan.islands.len(),
            runs,
        })
    }

    /// Sums up every solver and precision.
    pub(super) fn summarise(&mut self) {
        let kinds = self.problems.first().map_or(0, |p| p.runs.len());
        let of = |kind: usize| {
            let runs: Vec<&Run> = self.problems.iter().map(|p| &p.runs[kind]).collect();
            let middle = |number: fn(&Run) -> f64| median(&mut runs.iter().map(|r| number(r)).collect::<Vec<_>>());
            let largest = |number: fn(&Run) -> f64| runs.iter().map(|r| number(r)).fold(0.0, worse);
            Summary {
                solver: runs[0].solver,
                precision: runs[0].precision,
                problems: runs.len(),
                solved: runs.iter().filter(|r| r.solved).count(),
                residual_median: middle(|r| r.residual),
                residual_max: largest(|r| r.residual),
                residual_scaled_max: largest(|r| r.residual_scaled),
                momentum_error_max: largest(|r| r.momentum_error),
                iterations_median: middle(|r| f64::from(r.iterations)),
                microseconds_median: middle(|r| r.microseconds),
                microseconds_max: largest(|r| r.microseconds),
            }
        };
        self.summary = (0..kinds).map(of).collect();
    }

    /// Tables.
    pub(super) fn human(&self) -> String {
        let mut text = String::new();
        if self.problems.len() <= MOST_IN_DETAIL {
            for problem in &self.problems {
                let Problem { problem: name, n_v, subsystems, contacts, rows, islands, .. } = problem;
                text += &format!(
                    "{name}: {n_v} degrees of freedom in {subsystems} subsystems, {contacts} contacts, {rows} rows, \
                     {islands} islands\n{}\n",
                    detail(problem)
                );
            }
        }
        if self.problems.len() > 1 {
            text += &format!("{} problems\n{}\n", self.problems.len(), self.totals());
        }
        text + &format!(
            "asked for: {:.0e} N s in f64, {:.0e} in f32 (N s, or m/s scaled), at most {} iterations; residuals are \
             recomputed from the impulses in f64",
            self.tolerance, self.tolerance_f32, self.iterations
        )
    }

    fn totals(&self) -> Table {
        let mut table = output::table([
            "solver",
            "precision",
            "solved",
            "residual, median",
            "largest, N s",
            "scaled, largest, m/s",
            "momentum error, largest",
            "iterations, median",
            "µs, median",
            "µs, most",
        ]);
        for s in &self.summary {
            table.add_row([
                s.solver.to_owned(),
                s.precision.to_owned(),
                format!("{} of {}", s.solved, s.problems),
                format!("{:.1e}", s.residual_median),
                format!("{:.1e}", s.residual_max),
                format!("{:.1e}", s.residual_scaled_max),
                format!("{:.1e}", s.momentum_error_max),
                format!("{:.0}", s.iterations_median),
                format!("{:.1}", s.microseconds_median),
                format!("{:.1}", s.microseconds_max),
            ]);
        }
        output::align_numbers(&mut table);
        table
    }
}

/// The solvers on one problem: where they ended, and when they got how far.
fn detail(problem: &Problem) -> Table {
    let mut table = output::table([
        "solver",
        "precision",
        "status",
        "residual, N s",
        "scaled, m/s",
        "iterations",
        "µs",
        "to 1e-4",
        "to 1e-6",
        "to 1e-8",
        "to 1e-10",
    ]);
    for run in &problem.runs {
        let mut cells = vec![
            run.solver.to_owned(),
            run.precision.to_owned(),
            run.status.to_owned(),
            format!("{:.1e}", run.residual),
            format!("{:.1e}", run.residual_scaled),
            run.iterations.to_string(),
            format!("{:.1}", run.microseconds),
        ];
        cells.extend(REACHED.map(|residual| reached(run, residual)));
        table.add_row(cells);
    }
    output::align_numbers(&mut table);
    table
}

/// Iterations and time after which a residual was reached and not left again, as far as the curve says.
fn reached(run: &Run, residual: f64) -> String {
    let above = run.curve.iter().rposition(|p| p.residual.is_nan() || p.residual > residual);
    match run.curve.get(above.map_or(0, |last| last + 1)) {
        Some(p) => format!("{} it, {:.0} µs", p.iterations, p.microseconds),
        None => "-".to_owned(),
    }
}
