//! `manyworlds gradcheck`: derivatives of steps against central differences of the steps themselves.

mod controls;
mod outcome;
mod report;
mod search;
mod settings;

use std::path::PathBuf;

use clap::Args;
use manyworlds::gradcheck::Checker;
use manyworlds::{Batch, BatchOptions};
use manyworlds_contact::{ContactModel, solver};

use self::controls::Controls;
use self::outcome::Outcome;
use self::report::{Report, human};
use self::search::Search;
use self::settings::Settings;

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
States are taken from a run with random controls; of scenes that are not for those with the controls that drive them, or that they
start with; of worlds with more than 4096 degrees of freedom from a run by a built-in scene's own solver. A state whose derivative
is not valid, or is nearer to a switch of modes than --margin, is changed at random and looked at again, until it can be judged
whole: velocities by up to --spread, ten and a hundred times as much, then positions, too, by what that is in a time step. What
stands still may stand where it has no derivative, corner on corner. Where that is because gaps are almost closed, steps that undo
penetrations whole are compared, derivative and differences. If that does not help the state is counted but not judged; so is an
input at which the step has a kink. Where contacts rest at closed gaps, the steps that are differenced undo penetrations whole:
the step is the same, and has no kink there. What disagrees is differenced again five times as far, where the solver's rounding
is so much less, and a fifth as far, where fewer kinks are. Of large models products with the Jacobian and its transpose are
compared, along random directions. Where no derivative is judged, differences to both sides say whether the step has one: inputs,
or directions, in which they disagree are counted.")]
pub(crate) struct GradcheckArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// State to start from (JSON); the model's initial state when absent
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// States compared [default: 10, or what suits a built-in scene]
    #[arg(long, value_name = "N")]
    states: Option<u32>,
    /// Steps between them [default: 25, or what suits a built-in scene]
    #[arg(long, value_name = "N")]
    every: Option<u32>,
    /// Difference either way, in the input's unit [default: 2e-7, of directions 1e-6, or what suits a built-in scene]
    #[arg(long, value_name = "X")]
    step: Option<f64>,
    /// Largest difference of an entry, beyond the steps' residual and rounding, relative to the largest of its block
    #[arg(long, default_value_t = 1e-6, value_name = "X")]
    tolerance_gradient: f64,
    /// Least distance to a switch of modes of a state that is judged, m/s [default: 1e-5, or what suits a built-in scene]
    #[arg(long, value_name = "X")]
    margin: Option<f64>,
    /// Least of the random changes of a state that cannot be judged as it comes: of velocities, m/s and rad/s, and of
    /// positions within a time step; 0 for none
    #[arg(long, default_value_t = 0.01, value_name = "X")]
    spread: f64,
    /// Inputs compared at a state, drawn anew for each; of more than this the others are left out [default: 120, or what
    /// suits a built-in scene]
    #[arg(long, value_name = "N")]
    inputs: Option<usize>,
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

/// Residual of the contact solver for differences, N s, and its sweeps.
const TIGHT: (f64, u32) = (1e-13, 5000);
/// The same of convex contact, relative.
const TIGHT_CONVEX: f64 = 1e-15;

/// Of worlds with more degrees of freedom steps between states are not solved as closely: a pile takes minutes for each.
const MOST_CLOSE: usize = 4096;

/// Compares and reports.
pub(crate) fn gradcheck(args: &GradcheckArgs) -> Result<(), Failure> {
    args.run.set_threads()?;
    for (name, value) in [("--step", args.step), ("--tolerance-gradient", Some(args.tolerance_gradient))] {
        if let Some(value) = value.filter(|&value| !(value > 0.0 && value.is_finite())) {
            return Err(Failure::Input(format!("{name}: expected a positive number, found {value}")));
        }
    }
    if !(args.spread >= 0.0 && args.spread.is_finite()) {
        return Err(Failure::Input(format!("--spread: expected a number of at least 0, found {}", args.spread)));
    }
    let model = args.model.load()?.model;
    let start = Start::of_one(args.state.as_ref(), &args.model.model, &args.run, &model)?;
    let settings = Settings::new(args, model.n_v);
    let mut options = args.run.for_one();
    if args.run.tolerance.is_none() {
        (options.tolerance, options.iterations) = TIGHT;
        if solver(&options.solver).is_ok_and(|solver| solver.model() == ContactModel::Convex) {
            // That of a gradient, relative to the momenta.
            options.tolerance = TIGHT_CONVEX;
        } else if let Some(tolerance) = settings.tolerance {
            options.tolerance = tolerance;
        }
    }
    let way = if model.n_v > MOST_CLOSE { args.run.for_the_way(&args.model.model) } else { options.clone() };
    let mut batch = Batch::new(&[(&model, 1)], &way)?;
    start.apply(&mut batch)?;
    let checker = |options: &BatchOptions| Checker::sampled(&model, options, settings.step, settings.compared());
    let mut undone = options.clone();
    undone.stabilisation.fraction = 1.0;
    let mut checkers = [checker(&options)?, checker(&undone)?];
    let directions = settings.directions > 0;
    let mut controls = Controls::new(args, &model, &start)?;
    let mut report = Report::new(&model.name, settings.states, directions);
    let bar = output::progress(u64::from(settings.states), "comparing");
    for index in 0..settings.states {
        for _ in 0..settings.every {
            batch.step(&controls.next(options.dt))?;
        }
        let search = Search { model: &model, args, margin: settings.margin, directions, index };
        let found = search.run(&batch.state(0)?, &mut checkers)?;
        let tolerance = args.tolerance_gradient;
        let outcome = Outcome::at(&found.state, &mut checkers[usize::from(found.undone)], directions, tolerance)?;
        report.add(index, outcome, [settings.margin, tolerance], &found);
        bar.inc(1);
    }
    bar.finish_and_clear();
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

/// The options of a line as it stands behind `gradcheck`.
#[cfg(test)]
fn options_of(line: &str) -> GradcheckArgs {
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: GradcheckArgs,
    }
    Line::parse_from(std::iter::once("gradcheck").chain(line.split(' '))).args
}
