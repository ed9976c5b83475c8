//! `manyworlds gradcheck`: derivatives of steps against central differences of the steps themselves.

use std::path::PathBuf;

use clap::Args;
use manyworlds::gradcheck::{Block, Checker};
use manyworlds::model::Actuator;
use manyworlds::{Batch, Certificate, Mode, random};
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
differenced again five times as far: the solver's rounding is then so much less. Of large models products with the Jacobian
and its transpose are compared, along random directions. Where no derivative is judged, differences to both sides say whether
the step has one: inputs, or directions, in which they disagree are counted.")]
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
    /// Random directions compared at a state instead of inputs one by one; 0 for inputs [default: 0 up to 300 degrees of
    /// freedom, else 4]
    #[arg(long, value_name = "N")]
    directions: Option<usize>,
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
    /// Inputs or directions at states without a valid derivative, and how many of them the step has a kink in.
    invalid_inputs: usize,
    invalid_kinks: usize,
    /// The same of states near a switch of modes.
    near_inputs: usize,
    near_kinks: usize,
    /// Whether directions were compared instead of inputs.
    directions: bool,
    contacts: usize,
    modes: [usize; 3],
    /// Most unknowns of a state's linear systems, and of those solved by iterations.
    unknowns: [usize; 2],
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

/// Of models with more degrees of freedom directions are compared,
const MOST_DOFS: usize = 300;
/// so many.
const DIRECTIONS: usize = 4;

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
    let directions = args.directions.unwrap_or(if model.n_v > MOST_DOFS { DIRECTIONS } else { 0 });
    let compared = if directions > 0 { directions } else { args.inputs };
    let mut checker = Checker::sampled(&model, &settings, args.step, compared)?;
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
        invalid_inputs: 0,
        invalid_kinks: 0,
        near_inputs: 0,
        near_kinks: 0,
        directions: directions > 0,
        contacts: 0,
        modes: [0; 3],
        unknowns: [0; 2],
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
        if directions > 0 {
            let found = checker.compare_directions(&state, args.tolerance_gradient)?;
            let seen = Seen {
                certificate: &found.certificate,
                inputs: found.count,
                kinks: found.kinks,
                whole: found.whole,
                residual: found.residual,
                us: [found.step_us, found.back_us],
            };
            if report.judges(&seen, args.margin) {
                for (block, error) in [("products", found.ahead), ("transposed", found.back)] {
                    keep(&mut report.worst, index, Block { name: block, error, worst: [0; 2], values: [f64::NAN; 2] });
                }
            }
            continue;
        }
        let found = checker.compare_twice(&state, args.tolerance_gradient)?;
        let seen = Seen {
            certificate: &found.jacobian.certificate,
            inputs: found.inputs,
            kinks: found.kinks,
            whole: found.whole,
            residual: found.residual,
            us: [found.step_us, found.jacobian_us],
        };
        if !report.judges(&seen, args.margin) {
            continue;
        }
        report.contacts += found.jacobian.modes.len();
        for mode in &found.jacobian.modes {
            let at = [Mode::Breaking, Mode::Sticking, Mode::Sliding].iter().position(|m| m == mode);
            at.into_iter().for_each(|at| report.modes[at] += 1);
        }
        for block in found.blocks {
            keep(&mut report.worst, index, block);
        }
    }
    // A judged state all of whose inputs were left out has shown nothing.
    report.passed = report.inputs > report.kinks && report.worst.iter().all(|w| w.error <= args.tolerance_gradient);
    output::print(args.output.json, &report, human)?;
    if report.judged == 0 {
        return Err(Failure::Check("no state could be judged".into()));
    }
    if report.inputs == report.kinks {
        return Err(Failure::Check("the step has a kink in all that was compared".into()));
    }
    if !report.passed {
        return Err(Failure::Check(format!("derivatives differ by more than {:e}", args.tolerance_gradient)));
    }
    Ok(())
}

/// What a comparison says beside its errors.
struct Seen<'a> {
    certificate: &'a Certificate,
    inputs: usize,
    kinks: usize,
    whole: bool,
    residual: f64,
    /// Of the step and its derivative.
    us: [f64; 2],
}

impl Report {
    /// Takes note of a state; whether its derivatives are judged.
    fn judges(&mut self, seen: &Seen, margin: f64) -> bool {
        let certificate = seen.certificate;
        self.unknowns[0] = self.unknowns[0].max(certificate.size);
        self.unknowns[1] = self.unknowns[1].max(certificate.iterated);
        if !certificate.valid() {
            self.invalid += 1;
            self.invalid_inputs += seen.inputs;
            self.invalid_kinks += seen.kinks;
            for problem in &certificate.problems {
                if !self.problems.contains(problem) {
                    self.problems.push(problem.clone());
                }
            }
            return false;
        }
        if certificate.margin < margin {
            self.near_switch += 1;
            self.near_inputs += seen.inputs;
            self.near_kinks += seen.kinks;
            return false;
        }
        self.judged += 1;
        self.closed += u32::from(seen.whole);
        self.inputs += seen.inputs;
        self.kinks += seen.kinks;
        if certificate.margin.is_finite() {
            self.margin = Some(self.margin.unwrap_or(f64::INFINITY).min(certificate.margin));
        }
        self.solver_residual = self.solver_residual.max(seen.residual);
        self.step_us = self.step_us.min(seen.us[0]);
        self.jacobian_us = self.jacobian_us.min(seen.us[1]);
        true
    }
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
    let what = if report.directions { "directions" } else { "inputs" };
    let mut text = output::pairs([
        ("model", report.model.clone()),
        (
            "states",
            format!(
                "{}: {} judged ({} at closed gaps), {} near a switch of modes, {} without a valid derivative",
                report.states, report.judged, report.closed, report.near_switch, report.invalid
            ),
        ),
        (what, format!("{}, of which {} at a kink and left out", report.inputs, report.kinks)),
        (
            "not judged",
            format!(
                "the step has a kink in {} of {} {what} without a valid derivative, in {} of {} near a switch",
                report.invalid_kinks, report.invalid_inputs, report.near_kinks, report.near_inputs
            ),
        ),
        if report.directions {
            (
                "unknown impulses",
                format!("{} at most, {} of them by iterations", report.unknowns[0], report.unknowns[1]),
            )
        } else {
            ("contacts", format!("{}: {breaking} breaking, {sticking} sticking, {sliding} sliding", report.contacts))
        },
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
            if report.directions { String::new() } else { w.row.to_string() },
            if report.directions { String::new() } else { w.column.to_string() },
            if report.directions { String::new() } else { format!("{:.8e}", w.analytic) },
            if report.directions { String::new() } else { format!("{:.8e}", w.difference) },
        ]);
    }
    text += &format!("\n{table}\n");
    for problem in &report.problems {
        text += &format!("without a valid derivative: {problem}\n");
    }
    text
}
