//! `manyworlds integrators`: one motion under every rule of time stepping: its energy, and its error against the step.

mod plot;

use std::path::PathBuf;

use clap::Args;
use manyworlds::{Batch, Integrator, Model, State};
use serde::Serialize;

use crate::args::{ModelArgs, OutputArgs, RunArgs};
use crate::energy;
use crate::failure::Failure;
use crate::figure::Format;
use crate::output;
use crate::state::Start;

/// Options of `integrators`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds integrators spring-cylinder --solver sap --seconds 5 --halvings 6 --entry 0 --plot order.svg
  manyworlds integrators my_robot.xml --seconds 0.5
The error is the root mean square, over the times of the coarsest step and over the entries of q, of the difference from the
midpoint rule with a quarter of the finest step. Impacts leave every rule with the first order.")]
pub(crate) struct IntegratorsArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// State to start from (JSON)
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Length of the motion, s
    #[arg(long, default_value_t = 1.0, value_name = "S", allow_negative_numbers = true)]
    seconds: f64,
    /// The step is halved so often
    #[arg(long, default_value_t = 4, value_name = "N")]
    halvings: u32,
    /// Entry of q that the error is measured on; all when absent
    #[arg(long, value_name = "I")]
    entry: Option<usize>,
    /// Draws energy against time and error against the step
    #[arg(long, value_name = "FILE.svg|png")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What one rule made of the motion.
#[derive(Serialize)]
struct Rule {
    integrator: &'static str,
    /// Mechanical energy with the coarsest step, least and greatest, J.
    energy: [f64; 2],
    /// Of the last step, J.
    energy_end: f64,
    /// By step, coarsest first.
    errors: Vec<f64>,
    /// Exponent of the error by the step, between the two finest; none where both are rounding.
    order: Option<f64>,
    #[serde(skip)]
    energies: Vec<(f64, f64)>,
}

/// What `integrators` prints.
#[derive(Serialize)]
struct Report {
    model: String,
    solver: String,
    seconds: f64,
    /// s
    steps: Vec<f64>,
    energy_start: f64,
    rules: Vec<Rule>,
}

/// More halvings than this take hours of anything.
const MOST_HALVINGS: u32 = 12;
/// The reference's step is the finest over this.
const FINER: u32 = 4;

/// Runs and reports.
pub(crate) fn integrators(args: &IntegratorsArgs) -> Result<(), Failure> {
    args.run.set_threads()?;
    if args.run.integrator.is_some() {
        return Err(Failure::Input("--integrator: this command runs all of them".into()));
    }
    if args.halvings > MOST_HALVINGS {
        let found = args.halvings;
        return Err(Failure::Input(format!("--halvings: expected at most {MOST_HALVINGS}, found {found}")));
    }
    let format = args.plot.as_ref().map(|path| {
        let wrong = || Failure::file(path, "--plot: expected a name that ends in .svg or .png");
        Format::of(path).ok_or_else(wrong).map(|format| (path, format))
    });
    let format = format.transpose()?;
    let model = args.model.load()?.model;
    if let Some(entry) = args.entry.filter(|&entry| entry >= model.n_q) {
        return Err(Failure::Input(format!("--entry {entry}: q of \"{}\" has {} entries", model.name, model.n_q)));
    }
    let start = Start::of_one(args.state.as_ref(), &args.model.model, &args.run, &model)?;
    let coarsest = args.run.for_one().dt.unwrap_or(model.options.timestep);
    let count = (args.seconds / coarsest).round();
    if !(1.0..=1e7).contains(&count) {
        let found = args.seconds;
        return Err(Failure::Input(format!(
            "--seconds: expected 1 to 10 million steps of {coarsest} s, found {found} s"
        )));
    }
    let motion = Motion { args, model: &model, start: &start, coarsest, count: count as usize };
    let reference = motion.run(Integrator::Midpoint, FINER << args.halvings)?;
    let mut rules = Vec::new();
    for integrator in Integrator::ALL {
        rules.push(motion.rule(integrator, &reference)?);
    }
    let report = Report {
        model: model.name.clone(),
        solver: args.run.for_one().solver,
        seconds: count * coarsest,
        steps: (0..=args.halvings).map(|k| coarsest / f64::from(1 << k)).collect(),
        energy_start: energy::mechanical(&model, &start.0.q, &start.0.v),
        rules,
    };
    if let Some((path, format)) = format {
        format.write(path, &report)?;
    }
    output::print(args.output.json, &report, human)
}

/// What is run again and again.
struct Motion<'a> {
    args: &'a IntegratorsArgs,
    model: &'a Model,
    start: &'a Start,
    /// s
    coarsest: f64,
    /// Steps of that length.
    count: usize,
}

impl Motion<'_> {
    /// The states at the ends of the coarsest steps, each taken in `parts`.
    fn run(&self, integrator: Integrator, parts: u32) -> Result<Vec<State>, Failure> {
        let mut settings = self.args.run.for_one();
        settings.integrator = integrator;
        settings.dt = Some(self.coarsest / f64::from(parts));
        let mut batch = Batch::new(&[(self.model, 1)], &settings)?;
        self.start.apply(&mut batch)?;
        let mut states = Vec::with_capacity(self.count);
        for _ in 0..self.count {
            for _ in 0..parts {
                batch.step::<f64>(&[])?;
            }
            states.push(batch.state(0)?);
        }
        Ok(states)
    }

    fn rule(&self, integrator: Integrator, reference: &[State]) -> Result<Rule, Failure> {
        let (mut errors, mut energies) = (Vec::new(), Vec::new());
        for halving in 0..=self.args.halvings {
            let states = self.run(integrator, 1 << halving)?;
            errors.push(self.error(&states, reference));
            if halving == 0 {
                let energy = |state: &State| energy::mechanical(self.model, &state.q, &state.v);
                energies.push((0.0, energy(&self.start.0)));
                let ends = states.iter().zip(1..);
                energies.extend(ends.map(|(state, i)| (f64::from(i) * self.coarsest, energy(state))));
            }
        }
        let all = || energies.iter().map(|point| point.1);
        let order = match errors[..] {
            [.., coarse, fine] if fine > 0.0 && coarse > 0.0 => Some((coarse / fine).log2()),
            _ => None,
        };
        Ok(Rule {
            integrator: integrator.name(),
            energy: [all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max)],
            energy_end: energies.last().map_or(f64::NAN, |point| point.1),
            errors,
            order,
            energies,
        })
    }

    /// Root mean square.
    fn error(&self, states: &[State], reference: &[State]) -> f64 {
        let entries = self.args.entry.map_or(0..self.model.n_q, |entry| entry..entry + 1);
        let off = |(a, b): (&State, &State)| entries.clone().map(|i| (a.q[i] - b.q[i]).powi(2)).sum::<f64>();
        (states.iter().zip(reference).map(off).sum::<f64>() / (states.len() * entries.len()) as f64).sqrt()
    }
}

fn human(report: &Report) -> String {
    let [coarsest, finest] = [report.steps.first(), report.steps.last()].map(|h| h.copied().unwrap_or_default());
    let heads =
        ["rule".into(), "energy, J".into(), format!("error, {coarsest} s"), format!("{finest:.3e} s"), "order".into()];
    let mut table = output::table(heads.each_ref().map(String::as_str));
    for rule in &report.rules {
        let [low, high] = rule.energy;
        let error = |error: Option<&f64>| error.map_or(String::new(), |error| format!("{error:.3e}"));
        table.add_row([
            rule.integrator.to_owned(),
            format!("{low:.6} to {high:.6}"),
            error(rule.errors.first()),
            error(rule.errors.last()),
            rule.order.map_or(String::new(), |order| format!("{order:.2}")),
        ]);
    }
    output::align_numbers(&mut table);
    format!(
        "{}, solver {}, {} s, energy {:.6} J\n{table}",
        report.model, report.solver, report.seconds, report.energy_start
    )
}
