//! `manyworlds solve`: one contact problem from a file, no bodies.

use std::path::PathBuf;

use clap::Args;
use manyworlds_contact::{ContactProblem, Law, Relaxation, SolveSettings, SolveStatus, Stage, problem};
use serde::Serialize;

use crate::args::{OutputArgs, PrecisionArg, read};
use crate::failure::Failure;
use crate::output;
use crate::relaxed::{self, By, Relaxed};

/// Options of `solve`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds solve problem.json
  manyworlds solve problem.json --solver pgs --precision f32 --tolerance 1e-6 --iterations 500 --json
The file holds A (or A_blocks), b, subsystems, contacts (J or parts, mu, e) and rows (J, kind, e, k, b, lo, hi): find
v and lambda with A v = b + J^T lambda and the contact laws.")]
pub(crate) struct SolveArgs {
    /// Contact problem (JSON)
    file: PathBuf,
    /// Solver: auto (sweeps, then Newton steps, then CANAL), newton, pgs (sweeps alone), subadmm (splitting at subsystems),
    /// canal (augmented Lagrangian, Newton steps in velocities), newton-cr (conjugate residuals); of other contact: sap
    /// (compliant, convex), dantzig (friction pyramids)
    #[arg(long, value_name = "NAME", default_value = "auto")]
    solver: String,
    /// Arithmetic of the solver; residuals are always measured in f64
    #[arg(long, value_enum, default_value_t = PrecisionArg::F64)]
    precision: PrecisionArg,
    /// Residual at which to stop, N s
    #[arg(long, value_name = "X", allow_negative_numbers = true, default_value_t = SolveSettings::default().tolerance)]
    tolerance: f64,
    /// Most iterations
    #[arg(long, value_name = "N", default_value_t = SolveSettings::default().iterations)]
    iterations: u32,
    #[command(flatten)]
    output: OutputArgs,
}

/// What `solve` prints.
#[derive(Serialize)]
struct Report {
    solver: &'static str,
    status: &'static str,
    iterations: u32,
    outer: u32,
    stage: Option<&'static str>,
    v: Vec<f64>,
    lambda: Vec<f64>,
    residual: f64,
    residual_scaled: f64,
    momentum_error: f64,
    complementarity_error: f64,
    relaxed: Vec<Relaxed>,
    history: Vec<f64>,
    microseconds: f64,
}

/// A bias of the problem that gave way.
fn relaxation(problem: &ContactProblem, of: &Relaxation) -> Relaxed {
    let three = problem.constraints.iter().take_while(|c| c.law.rows() == 3).count();
    let by = match problem.constraints[of.constraint].law {
        Law::Contact { .. } => By::Row(of.by[2]),
        Law::Block => By::Block(of.by),
        _ => By::Row(of.by[0]),
    };
    let (kind, index) = if of.constraint < three { ("contact", of.constraint) } else { ("row", of.constraint - three) };
    Relaxed { kind, index, by, left_out: of.left_out }
}

/// Solves the problem and reports.
pub(crate) fn solve(args: &SolveArgs) -> Result<(), Failure> {
    let problem = problem::read(&read(&args.file)?).map_err(|error| Failure::file(&args.file, error))?;
    let settings = SolveSettings {
        precision: args.precision.of_solver(),
        tolerance: args.tolerance,
        iterations: args.iterations,
        history: true,
        ..SolveSettings::default()
    };
    let solution = manyworlds_contact::solve(&problem, &args.solver, &settings)
        .map_err(|error| Failure::Input(error.to_string()))?;
    let report = Report {
        solver: solution.solver,
        status: solution.status.name(),
        iterations: solution.iterations,
        outer: solution.outer,
        stage: solution.stage.map(Stage::name),
        v: solution.v,
        lambda: solution.lambda,
        residual: solution.quality.residual,
        residual_scaled: solution.quality.residual_scaled,
        momentum_error: solution.quality.momentum_error,
        complementarity_error: solution.quality.complementarity_error,
        relaxed: solution.relaxed.iter().map(|of| relaxation(&problem, of)).collect(),
        history: solution.history,
        microseconds: solution.elapsed.as_secs_f64() * 1e6,
    };
    output::print(args.output.json, &report, human)?;
    match solution.status {
        SolveStatus::NonFinite => Err(Failure::Check("the solution is not finite".into())),
        SolveStatus::Converged | SolveStatus::Relaxed | SolveStatus::IterationLimit => Ok(()),
    }
}

fn human(report: &Report) -> String {
    let stages = report.stage.map(|stage| format!(" ({stage})")).unwrap_or_default();
    let summary = output::pairs([
        ("solver", report.solver.to_owned()),
        (
            "status",
            format!("{}{stages} after {} iterations, {:.1} µs", report.status, report.iterations, report.microseconds),
        ),
        ("residual", format!("{:.3e} N s", report.residual)),
        ("scaled residual", format!("{:.3e} m/s", report.residual_scaled)),
        ("momentum error", format!("{:.3e}", report.momentum_error)),
        ("complementarity error", format!("{:.3e}", report.complementarity_error)),
        ("relaxed", relaxed::words(&report.relaxed)),
        ("v", output::numbers(&report.v)),
        ("lambda", output::numbers(&report.lambda)),
    ]);
    let mut history = output::table(["iteration", "residual, N s"]);
    for (i, residual) in thinned(&report.history) {
        history.add_row([i.to_string(), format!("{residual:.3e}")]);
    }
    output::align_numbers(&mut history);
    format!("{summary}\n{history}")
}

/// Iterations 0, 1, 2, 4, 8, ... and the last.
fn thinned(history: &[f64]) -> impl Iterator<Item = (usize, f64)> + '_ {
    let last = history.len().saturating_sub(1);
    history.iter().copied().enumerate().filter(move |&(i, _)| i == 0 || i.is_power_of_two() || i == last)
}
