//! `manyworlds gradcheck`: derivatives of steps against central differences of the steps themselves.

use std::path::PathBuf;

use clap::Args;
use manyworlds::gradcheck::{Block, Checker};
use manyworlds::model::Actuator;
use manyworlds::{Batch, Mode, random};
use manyworlds_contact::{ContactModel, solver};
use serde::Serialize;

use crate::args::{ModelArgs, OutputArgs, RunArgs};
use crate::failure::Failure;
use crate::output;
use crate::state::Start;

/// Options of `gradcheck`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds gradcheck humanoid
  manyworlds gradcheck arm.urdf --states 50 --tolerance-gradient 1e-7
States are taken from a run with random controls. A state whose derivative is not valid, or is nearer to a switch of modes
than --margin, is counted but not judged; so is an input at which the step has a kink. Where contacts rest at closed gaps,
the steps that are differenced undo penetrations whole: the step is the same, and has no kink there. What disagrees is
differenced again five times as far: the solver's rounding is then so much less.")]
pub(crate) struct GradcheckArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// State to start from (JSON); the model's initial state when absent
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// States compared
    #[arg(long, default_value_t = 10, value_name = "N")]
    states: u32,
    /// Steps between them
    #[arg(long, default_value_t = 25, value_name = "N")]
    every: u32,
    /// Difference either way, in the input's unit
    #[arg(long, default_value_t = 2e-7, value_name = "X")]
    step: f64,
    /// Largest difference of an entry, beyond the steps' residual and rounding, relative to the largest of its block
    #[arg(long, default_value_t = 1e-6, value_name = "X")]
    tolerance_gradient: f64,
    /// Least distance to a switch of modes of a state that is judged, m/s
    #[arg(long, default_value_t = 1e-5, value_name = "X")]
    margin: f64,
    /// Inputs compared at a state, drawn anew for each; of more than this the others are left out
    #[arg(long, default_value_t = 120, value_name = "N")]
    inputs: usize,
    /// Seed of the controls
    #[arg(long, default_value_t = 0, value_name = "K")]
    seed: u64,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The worst entry of a block over all states.
#[derive(Serialize)]
struct Worst {
    block: &'static str,
    error: f64,
    state: u32,
    row: usize,
    column: usize,
    analytic: f64,
    difference: f64,
}

/// What `gradcheck` prints.
#[derive(Serialize)]
struct Report {
    model: String,
    states: u32,
    judged: u32,
    closed: u32,
    near_switch: u32,
    invalid: u32,
    problems: Vec<String>,
    inputs: usize,
    kinks: usize,
    contacts: usize,
    modes: [usize; 3],
    /// Least over the judged states; `null` without constraints.
    margin: Option<f64>,
    solver_residual: f64,
    step_us: f64,
    jacobian_us: f64,
    worst: Vec<Worst>,
    passed: bool,
}

/// Residual of the contact solver for differences, N s, and its sweeps.
const TIGHT: (f64, u32) = (1e-13, 5000);
/// The same of convex contact, relative.
const TIGHT_CONVEX: f64 = 1e-15;

/// Compares and reports.
pub(crate) fn gradcheck(args: &GradcheckArgs) -> Result<(), Failure> {
    args.run.set_threads()?;
    for (name, value) in [("--step", args.step), ("--tolerance-gradient", args.tolerance_gradient)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(Failure::Input(format!("{name}: expected a positive number, found {value}")));
        }
    }
    let model = args.model.load()?.model;
    let start = Start::of_one(args.state.as_ref(), &args.model.model, &args.run, &model)?;
    let mut settings = args.run.for_one();
    if args.run.tolerance.is_none() {
        (settings.tolerance, settings.iterations) = TIGHT;
        // That of a gradient, relative to the momenta.
        if solver(&settings.solver).is_ok_and(|solver| solver.model() == ContactModel::Convex) {
            settings.tolerance = TIGHT_CONVEX;
        }
    }
    let mut batch = Batch::new(&[(&model, 1)], &settings)?;
    start.apply(&mut batch)?;
    let mut checker = Checker::sampled(&model, &settings, args.step, args.inputs)?;
    let mut steps = 0;
    let mut report = Report {
        model: model.name.clone(),
        states: args.states,
        judged: 0,
        closed: 0,
        near_switch: 0,
        invalid: 0,
        problems: Vec::new(),
        inputs: 0,
        kinks: 0,
        contacts: 0,
        modes: [0; 3],
        margin: None,
        solver_residual: 0.0,
        step_us: f64::INFINITY,
        jacobian_us: f64::INFINITY,
        worst: Vec::new(),
        passed: true,
    };
    for index in 0..args.states {
        for _ in 0..args.every {
            let control = |(a, actuator): (usize, &Actuator)| {
                let x = random::symmetric(args.seed, 0, steps, a as u64);
                let [low, high] = actuator.ctrl_range.unwrap_or([-1.0, 1.0]);
                0.5 * (low + high) + 0.45 * (high - low) * x
            };
            let controls: Vec<f64> = model.actuators.iter().enumerate().map(control).collect();
            batch.step(&controls)?;
            steps += 1;
        }
        let state = batch.state(0)?;
        let found = checker.compare_twice(&state, args.tolerance_gradient)?;
        let certificate = &found.jacobian.certificate;
        if !certificate.valid() {
            report.invalid += 1;
            for problem in &certificate.problems {
                if !report.problems.contains(problem) {
                    report.problems.push(problem.clone());
                }
            }
            continue;
        }
        if certificate.margin < args.margin {
            report.near_switch += 1;
            continue;
        }
        report.judged += 1;
        report.closed += u32::from(found.whole);
        report.inputs += found.inputs;
        report.kinks += found.kinks;
        report.contacts += found.jacobian.modes.len();
        for mode in &found.jacobian.modes {
            let at = [Mode::Breaking, Mode::Sticking, Mode::Sliding].iter().position(|m| m == mode);
            at.into_iter().for_each(|at| report.modes[at] += 1);
        }
        if certificate.margin.is_finite() {
            report.margin = Some(report.margin.unwrap_or(f64::INFINITY).min(certificate.margin));
        }
        report.solver_residual = report.solver_residual.max(found.residual);
        report.step_us = report.step_us.min(found.step_us);
        report.jacobian_us = report.jacobian_us.min(found.jacobian_us);
        for block in found.blocks {
            keep(&mut report.worst, index, block);
        }
    }
    report.passed = report.judged > 0 && report.worst.iter().all(|w| w.error <= args.tolerance_gradient);
    output::print(args.output.json, &report, human)?;
    if report.judged == 0 {
        return Err(Failure::Check("no state could be judged".into()));
    }
    if !report.passed {
        return Err(Failure::Check(format!("derivatives differ by more than {:e}", args.tolerance_gradient)));
    }
    Ok(())
}

fn keep(worst: &mut Vec<Worst>, state: u32, block: Block) {
    let [row, column] = block.worst;
    let [analytic, difference] = block.values;
    let found = Worst { block: block.name, error: block.error, state, row, column, analytic, difference };
    match worst.iter_mut().find(|w| w.block == block.name) {
        Some(old) if found.error > old.error || found.error.is_nan() => *old = found,
        Some(_) => {}
        None => worst.push(found),
    }
}

fn human(report: &Report) -> String {
    let [breaking, sticking, sliding] = report.modes;
    let mut text = output::pairs([
        ("model", report.model.clone()),
        (
            "states",
            format!(
                "{}: {} judged ({} at closed gaps), {} near a switch of modes, {} without a valid derivative",
                report.states, report.judged, report.closed, report.near_switch, report.invalid
            ),
        ),
        ("inputs", format!("{}, of which {} at a kink and left out", report.inputs, report.kinks)),
        ("contacts", format!("{}: {breaking} breaking, {sticking} sticking, {sliding} sliding", report.contacts)),
        ("least distance to a switch", report.margin.map_or("no constraint".into(), |m| format!("{m:.1e} m/s"))),
        ("least time", format!("{:.1} us a step (alone), {:.1} us its derivative", report.step_us, report.jacobian_us)),
        ("solver residual", format!("{:.1e} m/s", report.solver_residual)),
    ])
    .to_string();
    let mut table = output::table(["block", "error", "state", "row", "column", "analytic", "difference"]);
    for w in &report.worst {
        table.add_row([
            w.block.to_owned(),
            format!("{:.1e}", w.error),
            w.state.to_string(),
            w.row.to_string(),
            w.column.to_string(),
            format!("{:.8e}", w.analytic),
            format!("{:.8e}", w.difference),
        ]);
    }
    text += &format!("\n{table}\n");
    for problem in &report.problems {
        text += &format!("without a valid derivative: {problem}\n");
    }
    text
}
