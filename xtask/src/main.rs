//! The project's chores: `cargo xtask test`, `lint`, `throughput`, `golden`, `corpus`, `install`.

mod adapter;
mod corpus;
mod golden;
mod lint;
mod run;
mod test;
mod throughput;

use std::process::ExitCode;

use clap::Parser;

/// The chores of this repository; CI runs nothing else.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Formatting, clippy and documentation, warnings denied
    Lint,
    /// Installs what tests need (Debian, Ubuntu), then runs every test, documentation test and example
    Test(test::TestArgs),
    /// Both executors side by side on the default scenes; fails under a floor with a wide margin
    Throughput(throughput::ThroughputArgs),
    /// Makes the golden data again from PyPI's `pin` and `mujoco`
    Golden,
    /// Records the contact problems of `tests/corpus` again from the built-in scenes
    Corpus,
    /// Installs a software Vulkan adapter when the machine has none (Debian, Ubuntu)
    Install,
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Lint => lint::lint(),
        Task::Test(args) => test::test(&args),
        Task::Throughput(args) => throughput::throughput(&args),
        Task::Golden => golden::golden(),
        Task::Corpus => corpus::corpus(),
        Task::Install => adapter::install(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
