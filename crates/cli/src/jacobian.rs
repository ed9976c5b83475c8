//! `manyworlds jacobian`: derivatives of one step from a given state.

use std::path::PathBuf;

use clap::Args;
use manyworlds::{Batch, Mode};
use serde::Serialize;

use crate::args::{ModelArgs, OutputArgs, RunArgs};
use crate::failure::Failure;
use crate::output;
use crate::state::Start;

/// Options of `jacobian`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds jacobian half_cheetah --state state.json --json
  manyworlds jacobian arm.urdf --json
Rows and columns of q are those of the tangent space: one a degree of freedom, orientations by rotation vectors in body
axes. `valid` is false, and `problems` says why, where the derivative is not that of the step.")]
pub(crate) struct JacobianArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// State to step from (JSON); the model's initial state when absent
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What `jacobian` prints; matrices are lists of rows.
#[derive(Serialize)]
struct Report {
    model: String,
    dt: f64,
    dq_dq: Vec<Vec<f64>>,
    dq_dv: Vec<Vec<f64>>,
    dq_dtau: Vec<Vec<f64>>,
    dq_dctrl: Vec<Vec<f64>>,
    dv_dq: Vec<Vec<f64>>,
    dv_dv: Vec<Vec<f64>>,
    dv_dtau: Vec<Vec<f64>>,
    dv_dctrl: Vec<Vec<f64>>,
    dq_dact: Vec<Vec<f64>>,
    dv_dact: Vec<Vec<f64>>,
    dact_dctrl: Vec<Vec<f64>>,
    dact_dact: Vec<Vec<f64>>,
    mode: Vec<&'static str>,
    valid: bool,
    /// Whether all but the derivatives by q are.
    valid_but_by_q: bool,
    problems: Vec<String>,
    /// `null` without constraints.
    margin: Option<f64>,
    /// Contacts and limits at a gap just closed.
    closed: usize,
    unknowns: usize,
    rank: usize,
    adjoint_residual: f64,
    residual: f64,
    executor: &'static str,
}

/// Steps and differentiates.
pub(crate) fn jacobian(args: &JacobianArgs) -> Result<(), Failure> {
    args.run.set_threads()?;
    let model = args.model.load()?.model;
    let start = Start::of_one(args.state.as_ref(), &args.model.model, &args.run, &model)?;
    let settings = args.run.for_one();
    let mut batch = Batch::new(&[(&model, 1)], &settings)?;
    start.apply(&mut batch)?;
    batch.keep_steps(true)?;
    batch.step::<f64>(&[])?;
    let found = batch.jacobian(0)?;
    let mut summaries = Vec::new();
    batch.summaries(&mut summaries)?;
    let table = |m: &[f64], width: usize| m.chunks(width.max(1)).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let (n_v, n_u, n_act) = (found.n_v, found.n_u, found.n_act);
    let certificate = &found.certificate;
    let report = Report {
        model: model.name.clone(),
        dt: settings.dt.unwrap_or(model.options.timestep),
        dq_dq: table(&found.dq_dq, n_v),
        dq_dv: table(&found.dq_dv, n_v),
        dq_dtau: table(&found.dq_dtau, n_v),
        dq_dctrl: table(&found.dq_dctrl, n_u),
        dv_dq: table(&found.dv_dq, n_v),
        dv_dv: table(&found.dv_dv, n_v),
        dv_dtau: table(&found.dv_dtau, n_v),
        dv_dctrl: table(&found.dv_dctrl, n_u),
        dq_dact: table(&found.dq_dact, n_act),
        dv_dact: table(&found.dv_dact, n_act),
        dact_dctrl: table(&found.dact_dctrl, n_u),
        dact_dact: table(&found.dact_dact, n_act),
        mode: found.modes.iter().map(|mode: &Mode| mode.name()).collect(),
        valid: certificate.valid(),
        valid_but_by_q: certificate.valid_but_by_q(),
        problems: certificate.reasons().cloned().collect(),
        margin: certificate.margin.is_finite().then_some(certificate.margin),
        closed: certificate.closed,
        unknowns: certificate.size,
        rank: certificate.rank,
        adjoint_residual: certificate.residual,
        residual: summaries.first().map_or(0.0, |s| s.residual),
        executor: batch.executor(),
    };
    output::print(args.output.json, &report, human)?;
    if summaries.first().is_some_and(|s| s.failed()) {
        return Err(Failure::Check(format!("the world failed: {}", summaries[0].status_name())));
    }
    Ok(())
}

fn human(report: &Report) -> String {
    let largest = |m: &[Vec<f64>]| m.iter().flatten().fold(0.0, |l: f64, x| l.max(x.abs()));
    let mut text = output::pairs([
        ("model", format!("{}, step {} s", report.model, report.dt)),
        ("valid", report.valid.to_string()),
        ("distance to a mode switch", report.margin.map_or("no constraint".into(), |m| format!("{m:.2e} m/s"))),
        ("gaps just closed", report.closed.to_string()),
        ("unknown impulses", format!("{}, of which {} independent", report.unknowns, report.rank)),
        ("largest dv_dq", format!("{:.4e} 1/s", largest(&report.dv_dq))),
        ("largest dv_dv", format!("{:.4e}", largest(&report.dv_dv))),
        ("largest dv_dtau", format!("{:.4e}", largest(&report.dv_dtau))),
    ])
    .to_string();
    if !report.mode.is_empty() {
        text += &format!("\ncontacts: {}", report.mode.join(", "));
    }
    for problem in &report.problems {
        text += &format!("\nnot to be trusted: {problem}");
    }
    text + "\nthe matrices: --json\n"
}
