//! `manyworlds compare`: which solver, how accurate, at what cost.

mod measure;
mod plot;
mod report;
mod source;

use std::path::PathBuf;

use clap::Args;
use manyworlds_contact::{Precision, SOLVERS, solver};

use crate::args::{ImportArgs, OutputArgs, PrecisionArg};
use crate::failure::Failure;
use crate::output;
use measure::{Budget, measure};
use plot::Plot;
use report::Report;
use source::Source;

/// Options of `compare`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds compare problem.json
  manyworlds compare clutter --at 200,400 --precision f64
  manyworlds compare quadruped-drop --at 300 --plot drop.svg
  manyworlds compare recorded/ --solver auto,pgs --json
A file (.json) is a contact problem as `solve` reads it, a folder all those in it; anything else is a model or a
built-in scene, which the CPU steps and of which problems are taken at the steps of --at. Every solver starts from
zero impulses, or from the file's `lambda`. Times are the solver's alone, one thread, the shortest of the repeats.")]
pub(crate) struct CompareArgs {
    /// Contact problems (JSON), folders of them, models, built-in scenes
    #[arg(required = true, value_name = "PROBLEM|FOLDER|MODEL")]
    sources: Vec<String>,
    /// Solvers; all that there are when absent
    #[arg(long, value_name = "NAME,..", value_delimiter = ',')]
    solver: Vec<String>,
    /// Arithmetic; residuals are always measured in f64
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [PrecisionArg::F32, PrecisionArg::F64])]
    precision: Vec<PrecisionArg>,
    /// Residual to reach, N s; single precision is asked for 1e-6 at most, of which the scaled residual counts too
    #[arg(long, value_name = "X", allow_negative_numbers = true, default_value_t = 1e-10)]
    tolerance: f64,
    /// Most iterations
    #[arg(long, value_name = "N", default_value_t = 1000)]
    iterations: u32,
    /// Runs of each solve, of which the shortest counts; fewer where they take long
    #[arg(long, value_name = "N", default_value_t = 5)]
    repeats: u32,
    /// Models: the steps of which the problem is taken
    #[arg(long, value_name = "STEP,..", value_delimiter = ',', default_values_t = [50, 100, 200])]
    at: Vec<u64>,
    /// Draws residual against iterations and against time: a file (.svg, .png) for one problem, or a folder, which gets
    /// both for each
    #[arg(long, value_name = "FILE|FOLDER")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    import: ImportArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Compares and reports.
pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let names = names(&args.solver)?;
    let precisions: Vec<Precision> = args.precision.iter().map(|p| p.of_solver()).collect();
    let budget = Budget { tolerance: args.tolerance, iterations: args.iterations, repeats: args.repeats };
    budget.check()?;
    let mut problems = Vec::new();
    for source in &args.sources {
        problems.extend(Source::new(source)?.problems(&args.import, &args.at)?);
    }
    if problems.is_empty() {
        return Err(Failure::Input("there is no problem to compare on: nothing touched, and no row could act".into()));
    }
    let plot = args.plot.as_deref().map(Plot::new).transpose()?;
    plot.as_ref().map_or(Ok(()), |plot| plot.holds(problems.len()))?;
    let curves = plot.is_some() || problems.len() <= report::MOST_IN_DETAIL;
    let bar = output::progress((problems.len() * names.len() * precisions.len()) as u64, "solving");
    let mut report = Report::new(&budget);
    for (name, problem) in &problems {
        let mut runs = Vec::new();
        for &solver in &names {
            for &precision in &precisions {
                runs.push(measure(problem, solver, precision, &budget, curves)?);
                bar.inc(1);
            }
        }
        let added = report.add(name, problem, runs);
        plot.as_ref().map_or(Ok(()), |plot| plot.draw(added))?;
    }
    bar.finish_and_clear();
    report.summarise();
    output::print(args.output.json, &report, Report::human)
}

/// The solvers asked for, by the names of the registry.
fn names(asked: &[String]) -> Result<Vec<&'static str>, Failure> {
    if asked.is_empty() {
        return Ok(SOLVERS.iter().map(|s| s.name()).collect());
    }
    let known = |name: &String| solver(name).map(|s| s.name()).map_err(|error| Failure::Input(error.to_string()));
    asked.iter().map(known).collect()
}
