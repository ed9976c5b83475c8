//! The project's chores: `cargo xtask test`, `lint`, `throughput`, `hardware`, `golden`, `corpus`, `install`, `zoo`,
//! `python`, `view`, `web`.

mod adapter;
mod apt;
mod backports;
mod corpus;
mod golden;
mod hardware;
mod lint;
mod python;
mod run;
mod test;
mod throughput;
mod view;
mod web;
mod zoo;

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
    /// Both executors side by side on built-in scenes; fails below half of what was recorded for the adapter's driver
    Throughput(throughput::ThroughputArgs),
    /// Checks and measures the GPU of this machine, and writes `docs/hardware.md`
    #[command(disable_help_flag = true)]
    Hardware(hardware::HardwareArgs),
    /// Makes the golden data again from PyPI's `pin`, `mujoco`, `scikit-fem` and `vtk`
    Golden,
    /// Records the contact problems of `tests/corpus` again from the built-in scenes
    Corpus,
    /// Installs a software Vulkan adapter when the machine has none (Debian, Ubuntu)
    Install(adapter::InstallArgs),
    /// Compares the models of public Python packages with MuJoCo, or times them beside it, and writes `docs/zoo.md` (needs
    /// Python and network)
    Zoo(zoo::ZooArgs),
    /// Builds the Python package, installs it into a fresh environment and runs its tests (needs Python and network)
    Python(python::PythonArgs),
    /// Opens the window of `manyworlds view` on a display without a screen and compares it with a picture (needs Xvfb); --rerun: checks
    /// recordings for Rerun instead
    View(view::ViewArgs),
    /// Builds the page of `web/` that runs the simulator in a browser; --test tries it (needs Chromium)
    Web(web::WebArgs),
}

fn main() -> ExitCode {
    let done = match Task::parse() {
        Task::Lint => lint::lint(),
        Task::Test(args) => test::test(&args),
        Task::Throughput(args) => throughput::throughput(&args),
        Task::Hardware(args) => hardware::hardware(&args),
        Task::Golden => golden::golden(),
        Task::Corpus => corpus::corpus(),
        Task::Install(args) => adapter::install(&args),
        Task::Zoo(args) => zoo::zoo(&args),
        Task::Python(args) => python::python(&args),
        Task::View(args) => view::view(&args),
        Task::Web(args) => web::web(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
