//! SHAC against PPO: what the gradients of the simulation are worth to a learner, on the built-in cart-pole and hopper.
//!
//! ```sh
//! cargo run --release -p manyworlds-learning --example 13_shac_ppo -- learn cartpole 200000 > curves.csv
//! cargo run --release -p manyworlds-learning --example 13_shac_ppo -- draw curves.csv learning.svg
//! ```

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use clap::{Parser, Subcommand};
use manyworlds_learning::curve::{ALGORITHMS, HEADER, Point, figure, learn, line, read};
use manyworlds_learning::table::table;
use manyworlds_learning::tasks::{TASKS, task};

/// SHAC against PPO on the built-in cart-pole and hopper.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Learns a task with every algorithm and seed; points of the learning curves go to standard output, as CSV
    Learn {
        /// `cartpole`, `cartpole-with-ends` or `hopper`
        task: String,
        /// Actions of a run, all worlds together
        #[arg(value_parser = clap::value_parser!(u64).range(1..))]
        actions: u64,
        /// One algorithm alone, `SHAC` or `PPO`
        #[arg(long)]
        algorithm: Option<String>,
        /// Number of the first seed
        #[arg(long, default_value_t = 0)]
        first: u64,
        /// Number of seeds
        #[arg(long, default_value_t = 5)]
        seeds: u64,
        /// Points of a curve beside its start
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
        points: u64,
    },
    /// Tells where learning curves end, and from how many actions a task is learned, as tables in Markdown
    Table {
        /// Files of points
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Draws learning curves, mean and standard deviation over seeds
    Draw {
        /// Files of points
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// The figure, SVG
        figure: PathBuf,
    },
}

/// The points of all files.
fn points(files: &[PathBuf]) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for file in files {
        points.extend(read(file)?);
    }
    Ok(points)
}

fn main() -> Result<()> {
    match Args::parse().command {
        Command::Learn { task: name, actions, algorithm, first, seeds, points } => {
            let names = || TASKS.map(|task| task.name()).join(", ");
            let task = task(&name).ok_or_else(|| anyhow!("no task {name:?}; there are {}", names()))?;
            println!("{HEADER}");
            let budget = [actions as usize, actions.div_ceil(points) as usize];
            for seed in first..first + seeds {
                for own in ALGORITHMS.into_iter().filter(|own| algorithm.as_deref().is_none_or(|one| one == *own)) {
                    learn(task, own, seed, budget, |point| println!("{}", line(point)))?;
                }
            }
        }
        Command::Table { files } => print!("{}", table(&points(&files)?)?),
        Command::Draw { files, figure: to } => {
            std::fs::write(&to, figure(&points(&files)?)?).with_context(|| to.display().to_string())?;
        }
    }
    Ok(())
}
