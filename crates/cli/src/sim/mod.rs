//! `manyworlds sim`: one world through time, a row of CSV a step.

mod plot;
mod rows;
mod trace;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use manyworlds::{Batch, ControlCurve, Model, StepProblem};
use manyworlds_contact::{SapParams, SolveSettings, quality, solve_with};
use serde::Serialize;

use crate::args::{ModelArgs, OutputArgs, RunArgs, read};
use crate::curve;
use crate::energy;
use crate::failure::Failure;
use crate::figure::Format;
use crate::output;
use crate::record::RecordArgs;
use crate::state::Start;
use crate::statistics::{median, worse};
use rows::Rows;
use trace::{SolverClock, Trace};

/// Options of `sim`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds sim humanoid --steps 500 --out fall.csv
  manyworlds sim clutter --steps 1000 --record problems/ --record-every 100
  manyworlds sim cartpole.xml --steps 1000 --state start.json --json
  manyworlds sim my_arm.xml --steps 2000 --controls motion.csv --plot motion.svg
A state file holds {\"q\": [], \"v\": [], \"ctrl\": [], \"tau\": []}, each optional; ctrl and tau act in every step.
A file of controls has a heading `t,NAME,..` of actuators (or their numbers), then rows of a time in seconds and a control
each: linear between rows, constant before the first and after the last; actuators without a column keep theirs. A step
takes the controls of the time at which it starts. Built-in scenes with controls of their own follow those, unless a state
file or --keyframe gives others.")]
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
    /// Controls over time
    #[arg(long, value_name = "FILE.csv")]
    controls: Option<PathBuf>,
    /// Draws heights of free bodies (or what --draw names), energy, contacts, penetration, residual and the contact solver's time against time
    #[arg(long, value_name = "FILE.svg|png")]
    plot: Option<PathBuf>,
    /// Entries of q that are drawn in the place of heights
    #[arg(long, value_name = "I,..", value_delimiter = ',', requires = "plot")]
    draw: Vec<usize>,
    /// Measures the momentum error of every step of `sap` (Castro 2022, eq. 32): against its contact problem solved anew,
    /// from nothing and a thousand times more closely
    #[arg(long)]
    momentum_error: bool,
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
    /// Of rigid bodies and joints; soft ones have their own, below.
    energy: f64,
    contacts: u32,
    q: Vec<f64>,
    v: Vec<f64>,
    /// Soft bodies as they are at the end.
    soft: Vec<Soft>,
    residual_max: f64,
    penetration_max: f64,
    /// Where it is measured.
    momentum_error_max: Option<f64>,
    /// Of the contact solver, from Jacobians to the certificate, summed over threads; none where an adapter has no
    /// timestamps.
    solver_ms_median: Option<f64>,
    solver_ms_mean: Option<f64>,
    solver_ms_p99: Option<f64>,
    solver_ms_max: Option<f64>,
    recorded: usize,
    /// Steps that asked for what no motion gives.
    relaxed_steps: u64,
    /// Wall time of a step and its certificate.
    microseconds_median: f64,
    microseconds_largest: f64,
    status: &'static str,
    executor: &'static str,
    adapter: String,
    precision: &'static str,
}

/// A soft body.
#[derive(Serialize)]
struct Soft {
    name: String,
    /// Where its nodes are, world frame, m.
    nodes: Vec<[f64; 3]>,
    /// Of a cage, where the vertices of its surface are, world frame, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    vertices: Option<Vec<[f64; 3]>>,
    /// m^3
    volume: f64,
    /// Energy of its deformation, J.
    energy: f64,
}

/// Runs one world and reports on its end.
pub(crate) fn sim(args: &SimArgs) -> Result<(), Failure> {
    args.run.set_threads()?;
    let model = args.model.load()?.model;
    if let Some(entry) = args.draw.iter().find(|&&entry| entry >= model.n_q) {
        return Err(Failure::Input(format!("--draw {entry}: q of \"{}\" has {} entries", model.name, model.n_q)));
    }
    let start = Start::of_one(args.state.as_ref(), &args.model.model, &args.run, &model)?;
    let curve = args.curve(&model, &start)?;
    let format = args.plot.as_deref().map(format).transpose()?;
    let settings = args.run.for_one();
    if args.momentum_error && settings.solver != "sap" {
        let found = &settings.solver;
        return Err(Failure::Input(format!(
            "--momentum-error: of solver sap, whose problem it measures; this is {found}"
        )));
    }
    let h = settings.dt.unwrap_or(model.options.timestep);
    let mut batch = Batch::new(&[(&model, 1)], &settings)?;
    start.apply(&mut batch)?;
    let mut rows = args.out.as_deref().map(|path| Rows::new(path, &model)).transpose()?;

    let mut recorder = args.record.start(&model.name, settings.precision)?;
    let (mut residual_max, mut penetration_max, mut relaxed_steps) = (0.0, 0.0, 0);
    let mut momentum_error_max = args.momentum_error.then_some(0.0);
    let mut summaries = Vec::with_capacity(1);
    let mut clock = SolverClock::start(&mut batch);
    let mut trace = args.plot.is_some().then(|| Trace::new(&model, &args.draw));
    let mut times = Vec::new();
    let bar = output::progress(args.steps, "stepping");
    for i in 0..args.steps {
        let start = Instant::now();
        match &curve {
            Some(curve) => batch.step(&curve.at(i as f64 * h))?,
            None => batch.step::<f64>(&[])?,
        }
        batch.summaries(&mut summaries)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        for summary in &summaries {
            residual_max = worse(residual_max, summary.residual);
            penetration_max = worse(penetration_max, summary.penetration);
            relaxed_steps += u64::from(summary.is_relaxed());
        }
        if let Some(clock) = &mut clock {
            clock.after_step(&batch);
        }
        if let Some(most) = &mut momentum_error_max {
            *most = worse(*most, momentum_error(&batch.contact_problem(0)?)?);
        }
        if let Some(recorder) = &mut recorder {
            recorder.after_step(&mut batch)?;
        }
        if rows.is_some() || trace.is_some() {
            let (time, state) = ((i + 1) as f64 * h, batch.state(0)?);
            rows.as_mut().map_or(Ok(()), |rows| rows.write(time, &state.q, &state.v))?;
            if let Some(trace) = &mut trace {
                trace.add(time, &model, &state, &summaries[0]);
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(rows) = rows {
        rows.finish()?;
    }
    if let (Some(path), Some(format), Some(trace)) = (&args.plot, format, &trace) {
        let title = format!("{}, solver {}, {}", model.name, settings.solver, settings.precision.name());
        format.write(path, &plot::Run { title, trace, clock: clock.as_ref() })?;
    }

    let state = batch.state(0)?;
    let soft = model.soft.iter().zip(batch.soft(0)?).map(|(body, report)| Soft {
        name: body.name.clone(),
        nodes: report.nodes,
        vertices: body.embedding.is_some().then_some(report.vertices),
        volume: report.volume,
        energy: report.energy,
    });
    let soft: Vec<Soft> = soft.collect();
    let summary = summaries.first().copied().unwrap_or_default();
    let report = Report {
        model: model.name.clone(),
        steps: args.steps,
        time: args.steps as f64 * h,
        energy: energy::mechanical(&model, &state.q, &state.v),
        contacts: summary.contacts,
        q: state.q,
        v: state.v,
        soft,
        residual_max,
        penetration_max,
        momentum_error_max,
        solver_ms_median: clock.as_ref().map(SolverClock::median).filter(|ms| ms.is_finite()),
        solver_ms_mean: clock.as_ref().map(SolverClock::mean).filter(|ms| ms.is_finite()),
        solver_ms_p99: clock.as_ref().map(SolverClock::percentile_99).filter(|ms| ms.is_finite()),
        solver_ms_max: clock.as_ref().map(SolverClock::largest),
        recorded: recorder.map_or(0, |recorder| recorder.written()),
        relaxed_steps,
        microseconds_largest: times.iter().copied().fold(0.0, f64::max),
        microseconds_median: median(&mut times),
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

/// How far the momentum of a step of `sap` is from that of the solution, relative to the larger of momentum and impulse. The
/// velocity of a step balances its impulses to round-off; what is off are these.
fn momentum_error(step: &StepProblem) -> Result<f64, Failure> {
    let settings = SolveSettings { iterations: 1000, ..SolveSettings::default() };
    let closely = SapParams { relative: 1e-9, ..SapParams::default() };
    let solved = solve_with(&step.problem, &settings, &closely).map_err(|error| Failure::Input(error.to_string()))?;
    Ok(quality(&step.problem, &solved.lambda, &step.velocity).momentum_error)
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
        ("largest momentum error", report.momentum_error_max.map_or("not measured".into(), |e| format!("{e:.2e}"))),
        (
            "contact solver",
            match [report.solver_ms_median, report.solver_ms_mean, report.solver_ms_p99, report.solver_ms_max] {
                [Some(median), Some(mean), Some(p99), Some(max)] => {
                    format!("median {median:.3}, mean {mean:.3}, 99 % within {p99:.3}, largest {max:.3} ms a step")
                }
                _ => "not timed".into(),
            },
        ),
        ("relaxed", format!("{} steps asked for what no motion gives", report.relaxed_steps)),
        ("a step", format!("median {:.1}, largest {:.1} µs", report.microseconds_median, report.microseconds_largest)),
        ("recorded", format!("{} contact problems", report.recorded)),
        ("status", report.status.to_owned()),
    ])
    .to_string()
}

impl SimArgs {
    /// The controls to follow: a file's, or else those of a built-in scene where the user gives none.
    fn curve(&self, model: &Model, start: &Start) -> Result<Option<ControlCurve>, Failure> {
        if let Some(path) = &self.controls {
            return curve::read_from(&read(path)?, path, model, start).map(Some);
        }
        curve::of_scene(&self.model.model, self.state.as_ref(), &self.run, model, start)
    }
}

/// The file format of a figure.
fn format(path: &Path) -> Result<Format, Failure> {
    Format::of(path).ok_or_else(|| Failure::file(path, "--plot: expected a name that ends in .svg or .png"))
}
