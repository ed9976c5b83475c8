//! `manyworlds gradcheck`: derivatives of steps against central differences of the steps themselves.

mod controls;
mod outcome;
mod report;

use std::path::PathBuf;

use clap::Args;
use manyworlds::gradcheck::Checker;
use manyworlds::model::Model;
use manyworlds::{Batch, State, random, tangent};
use manyworlds_contact::{ContactModel, solver};

use self::controls::Controls;
use self::outcome::Outcome;
use self::report::{Report, human};

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
start with. A state whose derivative is not valid, or is nearer to a switch of modes
than --margin, is changed at random by up to --spread and looked at again: what stands still may stand where it has no
derivative, corner on corner. If that does not help it is counted but not judged; so is an input at which the step has a kink. Where contacts rest at closed gaps,
the steps that are differenced undo penetrations whole: the step is the same, and has no kink there. What disagrees is
differenced again five times as far, where the solver's rounding is so much less, and a fifth as far, where fewer kinks are. Of large models products with the Jacobian
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
    /// Largest random change of velocities, m/s and rad/s, and of positions within a time step, of a state that cannot be
    /// judged as it comes; 0 for none
    #[arg(long, default_value_t = 0.01, value_name = "X")]
    spread: f64,
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
    if !(args.spread >= 0.0 && args.spread.is_finite()) {
        return Err(Failure::Input(format!("--spread: expected a number of at least 0, found {}", args.spread)));
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
    let mut controls = Controls::new(args, &model, &start)?;
    let mut report = Report::new(&model.name, args.states, directions > 0);
    let bar = output::progress(u64::from(args.states), "comparing");
    for index in 0..args.states {
        for _ in 0..args.every {
            batch.step(&controls.next(settings.dt))?;
        }
        let state = batch.state(0)?;
        let mut at = |state: &State| Outcome::at(state, &mut checker, directions > 0, args.tolerance_gradient);
        let mut found = at(&state)?;
        let mut is_changed = false;
        if !found.is_whole(args.margin) && args.spread > 0.0 {
            let by = [args.seed, u64::from(index)];
            let other = at(&changed(&state, &model, args.spread, settings.dt, by))?;
            if other.is_whole(args.margin) {
                (found, is_changed) = (other, true);
            }
        }
        report.add(index, found, args.margin, is_changed);
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

/// A state with its velocities changed at random by up to `spread`, and its positions by what that is in a time step.
fn changed(state: &State, model: &Model, spread: f64, dt: Option<f64>, [seed, index]: [u64; 2]) -> State {
    let h = dt.unwrap_or(model.options.timestep);
    let draw = |what: u64, i: usize| spread * random::symmetric(seed, 1 + what, index, i as u64);
    let moved: Vec<f64> = (0..model.n_v).map(|i| h * draw(0, i)).collect();
    State {
        q: tangent::moved(model, &state.q, &moved),
        v: state.v.iter().enumerate().map(|(i, v)| v + draw(1, i)).collect(),
        ..state.clone()
    }
}
