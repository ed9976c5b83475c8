//! `manyworlds sim`: one world through time, a row of CSV a step.

use std::path::{Path, PathBuf};

use clap::Args;
use manyworlds::{Batch, Model};
use serde::Serialize;

use crate::args::{ModelArgs, OutputArgs, RunArgs};
use crate::energy;
use crate::failure::Failure;
use crate::output;
use crate::record::RecordArgs;
use crate::state::Start;
use crate::statistics::worse;

/// Options of `sim`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds sim humanoid --steps 500 --out fall.csv
  manyworlds sim clutter --steps 1000 --record problems/ --record-every 100
  manyworlds sim cartpole.xml --steps 1000 --state start.json --json
A state file holds {\"q\": [], \"v\": [], \"ctrl\": [], \"tau\": []}, each optional; ctrl and tau act in every step.")]
pub(crate) struct SimArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Steps to take
    #[arg(long, value_name = "N")]
    steps: u64,
    /// State to start from (JSON)
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Writes `t, q..., v...` after every step
    #[arg(long, value_name = "FILE.csv")]
    out: Option<PathBuf>,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What `sim` prints: the end of the run, and the worst of it.
#[derive(Serialize)]
struct Report {
    model: String,
    steps: u64,
    time: f64,
    energy: f64,
    contacts: u32,
    q: Vec<f64>,
    v: Vec<f64>,
    residual_max: f64,
    penetration_max: f64,
    recorded: usize,
    status: &'static str,
    executor: &'static str,
    adapter: String,
    precision: &'static str,
}

/// Runs one world and reports on its end.
pub(crate) fn sim(args: &SimArgs) -> Result<(), Failure> {
    args.run.set_threads()?;
    let model = args.model.load()?.model;
    let start = Start::of_one(args.state.as_ref(), &args.model.model, &args.run, &model)?;
    let settings = args.run.for_one();
    let h = settings.dt.unwrap_or(model.options.timestep);
    let mut batch = Batch::new(&[(&model, 1)], &settings)?;
    start.apply(&mut batch)?;
    let mut rows = args.out.as_deref().map(|path| Rows::new(path, &model)).transpose()?;

    let mut recorder = args.record.start(&model.name, settings.precision)?;
    let (mut residual_max, mut penetration_max) = (0.0, 0.0);
    let mut summaries = Vec::with_capacity(1);
    let bar = output::progress(args.steps, "stepping");
    for i in 0..args.steps {
        batch.step::<f64>(&[])?;
        summaries.clear();
        batch.summaries(&mut summaries)?;
        for summary in &summaries {
            residual_max = worse(residual_max, summary.residual);
            penetration_max = worse(penetration_max, summary.penetration);
        }
        if let Some(recorder) = &mut recorder {
            recorder.after_step(&mut batch)?;
        }
        if let Some(rows) = &mut rows {
            let state = batch.state(0)?;
            rows.write((i + 1) as f64 * h, &state.q, &state.v)?;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(rows) = rows {
        rows.finish()?;
    }

    let state = batch.state(0)?;
    let summary = summaries.first().copied().unwrap_or_default();
    let report = Report {
        model: model.name.clone(),
        steps: args.steps,
        time: args.steps as f64 * h,
        energy: energy::mechanical(&model, &state.q, &state.v),
        contacts: summary.contacts,
        q: state.q,
        v: state.v,
        residual_max,
        penetration_max,
        recorded: recorder.map_or(0, |recorder| recorder.written()),
        status: summary.status_name(),
        executor: batch.executor(),
        adapter: batch.adapter(),
        precision: settings.precision.name(),
    };
    output::print(args.output.json, &report, human)?;
    if summary.failed() {
        return Err(Failure::Check(format!("the world failed: {}", report.status)));
    }
    Ok(())
}

fn human(report: &Report) -> String {
    output::pairs([
        ("model", report.model.clone()),
        ("time", format!("{:.4} s after {} steps", report.time, report.steps)),
        ("executor", format!("{}: {}, {}", report.executor, report.adapter, report.precision)),
        ("energy", format!("{:.6} J", report.energy)),
        ("contacts", report.contacts.to_string()),
        ("q", output::numbers(&report.q)),
        ("v", output::numbers(&report.v)),
        ("largest residual", format!("{:.2e} N s", report.residual_max)),
        ("deepest penetration", format!("{:.2e} m", report.penetration_max)),
        ("recorded", format!("{} contact problems", report.recorded)),
        ("status", report.status.to_owned()),
    ])
    .to_string()
}

/// The CSV file: a heading, then a row a step.
struct Rows {
    path: PathBuf,
    writer: csv::Writer<std::fs::File>,
}

impl Rows {
    fn new(path: &Path, model: &Model) -> Result<Self, Failure> {
        let mut writer = csv::Writer::from_path(path).map_err(|error| Failure::file(path, error))?;
        let q = (0..model.n_q).map(|i| format!("q{i}"));
        let v = (0..model.n_v).map(|i| format!("v{i}"));
        writer
            .write_record(std::iter::once("t".to_owned()).chain(q).chain(v))
            .map_err(|error| Failure::file(path, error))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    fn write(&mut self, t: f64, q: &[f64], v: &[f64]) -> Result<(), Failure> {
        let row = std::iter::once(&t).chain(q).chain(v).map(|x| format!("{x:e}"));
        self.writer.write_record(row).map_err(|error| Failure::file(&self.path, error))
    }

    fn finish(mut self) -> Result<(), Failure> {
        self.writer.flush().map_err(|error| Failure::file(&self.path, error))
    }
}
