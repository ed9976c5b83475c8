//! `manyworlds step`: one step from a given state, with everything that goes into it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use manyworlds::{Batch, FieldId, Forces, RelaxedOf, RelaxedReport, RowOf};
use serde::Serialize;

use crate::args::{ModelArgs, OutputArgs, RunArgs};
use crate::failure::Failure;
use crate::output;
use crate::relaxed::{self, By, Relaxed};
use crate::state::Start;

/// Options of `step`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds step humanoid --state state.json --json
  manyworlds step arm.urdf --state state.json --precision f32 --executor gpu
A state file holds {\"q\": [], \"v\": [], \"ctrl\": [], \"tau\": [], \"act\": []}, each optional.")]
pub(crate) struct StepArgs {
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

/// What `step` prints. Dense matrices are lists of rows; M, A, bias, passive and actuator forces, tendons' lengths and
/// sensors are of the state before the step; activations of that after it.
#[derive(Serialize)]
struct Report {
    model: String,
    dt: f64,
    q: Vec<f64>,
    v: Vec<f64>,
    v_free: Vec<f64>,
    #[serde(rename = "M")]
    mass: Vec<Vec<f64>>,
    #[serde(rename = "A")]
    momentum: Vec<Vec<f64>>,
    bias: Vec<f64>,
    passive: Vec<f64>,
    actuator: Vec<f64>,
    act: Vec<f64>,
    tendons: BTreeMap<String, f64>,
    sensors: BTreeMap<String, Vec<f64>>,
    contacts: Vec<Contact>,
    rows: Vec<Row>,
    residual: f64,
    residual_scaled: f64,
    /// Biases that gave way, because no motion gives what they ask for.
    relaxed: Vec<Relaxed>,
    iterations: u32,
    status: &'static str,
    executor: &'static str,
    adapter: String,
    precision: &'static str,
}

/// A contact: impulse and velocity in its frame (t1, t2, n), of `bodies[1]` relative to `bodies[0]`.
#[derive(Serialize)]
struct Contact {
    bodies: [usize; 2],
    names: [String; 2],
    point: [f64; 3],
    frame: [[f64; 3]; 3],
    distance: f64,
    mu: f64,
    impulse: [f64; 3],
    velocity: [f64; 3],
}

/// A limit, drive, dry friction or bilateral row.
#[derive(Serialize)]
struct Row {
    kind: &'static str,
    /// What it acts on: one of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    joint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tendon: Option<String>,
    impulse: f64,
}

/// Takes the step and reports.
pub(crate) fn step(args: &StepArgs) -> Result<(), Failure> {
    args.run.set_threads()?;
    let model = args.model.load()?.model;
    let start = Start::of_one(args.state.as_ref(), &args.model.model, &args.run, &model)?;
    let settings = args.run.for_one();
    let mut batch = Batch::new(&[(&model, 1)], &settings)?;
    start.apply(&mut batch)?;
    let forces = Forces::at(&model, &start.0)?;
    batch.step::<f64>(&[])?;

    let state = batch.state(0)?;
    let places = model.readings();
    let mut shown = vec![0.0; places.last().map_or(0, |last| last.end)];
    batch.read(0, FieldId::Sensor, &mut shown)?;
    let readings = places.into_iter().map(|range| shown[range].to_vec());
    let inspection = batch.inspect(0)?;
    // Soft bodies are numbered behind all others.
    let soft = |b: usize| b.checked_sub(model.bodies.len()).and_then(|s| model.soft.get(s)).map(|s| s.name.clone());
    let body = |b: usize| model.bodies.get(b).map(|b| b.name.clone()).or_else(|| soft(b)).unwrap_or_default();
    let joint = |j: usize| model.joints.get(j).map(|j| j.name.clone()).unwrap_or_default();
    let tendon_names: Vec<String> = names(model.tendons.iter().map(|t| &t.name)).collect();
    let square = |m: &[f64]| m.chunks(model.n_v.max(1)).map(<[f64]>::to_vec).collect();
    let contacts = inspection.contacts.iter().map(|c| Contact {
        bodies: c.bodies,
        names: c.bodies.map(body),
        point: c.point,
        frame: c.frame,
        distance: c.distance,
        mu: c.friction,
        impulse: c.impulse,
        velocity: c.velocity,
    });
    let rows = inspection.rows.iter().map(|r| {
        let (joint, tendon) = match r.of {
            RowOf::Joint(at) => (Some(joint(at)), None),
            RowOf::Tendon(at) => (None, tendon_names.get(at).cloned()),
        };
        Row { kind: r.kind, joint, tendon, impulse: r.impulse }
    });
    let summary = inspection.summary;
    let report = Report {
        model: model.name.clone(),
        dt: settings.dt.unwrap_or(model.options.timestep),
        q: state.q,
        v: state.v,
        mass: square(&inspection.mass),
        momentum: square(&inspection.momentum),
        contacts: contacts.collect(),
        rows: rows.collect(),
        v_free: inspection.v_free,
        bias: inspection.bias,
        passive: forces.passive,
        actuator: forces.actuator.iter().zip(&inspection.adhesion).map(|(of, adhesion)| of + adhesion).collect(),
        act: state.act,
        tendons: tendon_names.iter().cloned().zip(forces.tendons).collect(),
        sensors: names(model.sensors.iter().map(|s| &s.name)).zip(readings).collect(),
        residual: summary.residual,
        residual_scaled: summary.residual_scaled,
        relaxed: inspection.relaxed.iter().map(relaxation).collect(),
        iterations: summary.iterations,
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

fn relaxation(of: &RelaxedReport) -> Relaxed {
    let (kind, index) = match of.of {
        RelaxedOf::Contact(index) => ("contact", index),
        RelaxedOf::Row(index) => ("row", index),
        RelaxedOf::Equality(index) => ("equality", index),
    };
    Relaxed { kind, index, by: By::Row(of.by), left_out: of.left_out }
}

/// Names of parts; of one without, its number.
fn names<'a>(parts: impl Iterator<Item = &'a String>) -> impl Iterator<Item = String> {
    parts.enumerate().map(|(number, name)| if name.is_empty() { number.to_string() } else { name.clone() })
}

fn human(report: &Report) -> String {
    let mut text = output::pairs([
        ("model", format!("{}, step {} s", report.model, report.dt)),
        ("executor", format!("{}: {}, {}", report.executor, report.adapter, report.precision)),
        ("q", output::numbers(&report.q)),
        ("v", output::numbers(&report.v)),
        ("v_free", output::numbers(&report.v_free)),
        ("bias", output::numbers(&report.bias)),
        (
            "residual",
            format!(
                "{:.2e} N s, scaled {:.2e} m/s, {} sweeps",
                report.residual, report.residual_scaled, report.iterations
            ),
        ),
        ("relaxed", relaxed::words(&report.relaxed)),
        ("status", report.status.to_owned()),
    ])
    .to_string();
    if !report.contacts.is_empty() {
        let mut table =
            output::table(["contact", "point, m", "distance, m", "mu", "impulse t1 t2 n, N s", "velocity, m/s"]);
        for c in &report.contacts {
            table.add_row([
                format!("{} - {}", c.names[0], c.names[1]),
                output::numbers(&c.point),
                format!("{:.3e}", c.distance),
                c.mu.to_string(),
                output::numbers(&c.impulse),
                output::numbers(&c.velocity),
            ]);
        }
        text += &format!("\n{table}");
    }
    if !report.rows.is_empty() {
        let mut table = output::table(["row", "joint or tendon", "impulse, N s or N m s"]);
        for row in &report.rows {
            let of = row.joint.as_ref().or(row.tendon.as_ref()).cloned().unwrap_or_default();
            table.add_row([row.kind.to_owned(), of, format!("{:.4e}", row.impulse)]);
        }
        text += &format!("\n{table}");
    }
    text + "\nM and A: --json\n"
}
