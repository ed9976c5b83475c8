//! The program: `manyworlds`, a command for each thing one wants of a model or of a batch of worlds.

mod args;
mod bench;
mod check;
mod compare;
mod curve;
mod energy;
mod failure;
mod figure;
mod gradcheck;
mod info;
mod integrators;
mod jacobian;
mod output;
mod picture;
mod record;
mod relaxed;
mod render;
mod scenes;
mod sim;
mod solve;
mod state;
mod statistics;
mod step;
mod view;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{ArgAction, Parser, Subcommand};

use failure::Failure;

/// Thousands of worlds of articulated bodies in exact contact, stepped together.
#[derive(Parser)]
#[command(name = "manyworlds", version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
struct Program {
    #[command(subcommand)]
    command: Option<Command>,
    /// Without a command: `bench` on the built-in humanoid.
    #[command(flatten)]
    bench: bench::BenchOptions,
    /// More messages on standard error; twice for all of them
    #[arg(short, long, global = true, action = ArgAction::Count)]
    verbose: u8,
}

const EXAMPLES: &str = "\
Examples:
  manyworlds                                        a batch of humanoids on whatever adapter there is
  manyworlds bench my_robot.xml --worlds 4096       your own model
  manyworlds check arm.urdf --ground                what was understood of it, and what was ignored
  manyworlds sim humanoid --steps 500 --out fall.csv --plot fall.svg
  manyworlds render clutter --steps 300 --out clutter.gif
  manyworlds view humanoid
  manyworlds step humanoid --state state.json --json
  manyworlds solve problem.json
  manyworlds compare clutter --at 400               every solver on a problem of a scene

A MODEL is a path (.xml MJCF, .urdf) or the name of a built-in scene (`manyworlds scenes`).
Exit codes: 0 done; 1 it ran and what it checks failed; 2 bad usage or bad input.";

/// The commands, one module each.
#[derive(Subcommand)]
enum Command {
    /// Steps a batch of worlds with small random controls and reports throughput and residuals
    Bench(bench::BenchArgs),
    /// Steps one world and writes a row of CSV a step
    Sim(sim::SimArgs),
    /// Draws a world: a picture of one state, or a film of its way there
    Render(render::RenderArgs),
    /// Shows worlds in a window, or writes a film where there is none
    View(view::ViewArgs),
    /// One step from a given state, with everything that goes into it
    Step(step::StepArgs),
    /// Derivatives of one step from a given state, by implicit differentiation
    Jacobian(jacobian::JacobianArgs),
    /// Compares derivatives of steps with central differences of the steps themselves
    Gradcheck(gradcheck::GradcheckArgs),
    /// Solves one contact problem from a file
    Solve(solve::SolveArgs),
    /// Every solver on contact problems: residual against iterations and time
    Compare(compare::CompareArgs),
    /// One motion under every rule of time stepping: its energy, and its error against the step
    Integrators(integrators::IntegratorsArgs),
    /// Reads a model and lists what was understood, ignored or is unsupported
    Check(check::CheckArgs),
    /// The built-in scenes
    Scenes(scenes::ScenesArgs),
    /// The adapters, their precision and limits
    Info(info::InfoArgs),
}

/// Does what the command line asks for.
#[must_use]
pub fn run() -> ExitCode {
    let program = Program::parse();
    log(program.verbose);
    let done = match &program.command {
        None => bench::bench(None, &program.bench),
        Some(Command::Bench(args)) => bench::bench(args.model.as_deref(), &args.options),
        Some(Command::Sim(args)) => sim::sim(args),
        Some(Command::Render(args)) => render::render(args),
        Some(Command::View(args)) => view::view(args),
        Some(Command::Step(args)) => step::step(args),
        Some(Command::Jacobian(args)) => jacobian::jacobian(args),
        Some(Command::Gradcheck(args)) => gradcheck::gradcheck(args),
        Some(Command::Solve(args)) => solve::solve(args),
        Some(Command::Compare(args)) => compare::compare(args),
        Some(Command::Integrators(args)) => integrators::integrators(args),
        Some(Command::Check(args)) => check::check(args),
        Some(Command::Scenes(args)) => scenes::scenes(args),
        Some(Command::Info(args)) => info::info(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::ClosedPipe) {
                eprintln!("error: {failure}");
            }
            failure.exit_code()
        }
    }
}

/// Messages of the libraries go to standard error: warnings at a terminal, nothing elsewhere, more when asked.
fn log(verbose: u8) {
    let level = match verbose {
        0 if std::io::stderr().is_terminal() => tracing::Level::WARN,
        0 => tracing::Level::ERROR,
        1 => tracing::Level::INFO,
        _ => tracing::Level::TRACE,
    };
    tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).without_time().init();
}
