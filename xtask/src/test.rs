//! Every test of the repository.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::adapter;
use crate::run::{cargo, checked, root, run_within, succeeds};

/// Options of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Leaves out, and names, the tests that need an adapter
    #[arg(long)]
    no_adapter: bool,
    /// Only the tests that a filter of nextest's takes, such as 'test(faults::)' or 'package(manyworlds-soft)'
    #[arg(long, value_name = "FILTER")]
    only: Option<String>,
    /// Of these, those that are ignored because they take long; their output is shown
    #[arg(long, requires = "only")]
    ignored: bool,
}

/// Longest time for building and running one group of tests; nextest has finer limits of its own.
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// Packages that bring many crates which nothing else needs, and change the features of others so that they would be built again for
/// the program: networks of the learning example, Python (`cargo xtask python`), benches. `cargo xtask lint` checks all of them.
const APART: [&str; 3] = ["manyworlds-learning", "manyworlds-python", "manyworlds-benches"];

/// Adds what selects the packages that are tested: with others, or one alone, features and so dependencies would be others.
pub(crate) fn with_packages(command: &mut Command) -> &mut Command {
    command.arg("--workspace").args(APART.iter().flat_map(|package| ["--exclude", package]))
}

/// Tests, documentation tests and examples, with every assertion on.
pub(crate) fn test(args: &TestArgs) -> Result<()> {
    if !args.no_adapter {
        adapter::ensure()?;
    }
    let command = || {
        let mut command = checked();
        // Property tests draw the same cases in every run; a plain `cargo test` draws new ones.
        command.env("PROPTEST_RNG_SEED", "1");
        if args.no_adapter {
            command.env("MANYWORLDS_NO_ADAPTER", "1");
        }
        command
    };
    let nextest = || {
        let mut nextest = command();
        with_packages(nextest.args(["nextest", "run", "--release", "--no-fail-fast"]));
        nextest
    };
    let has_nextest = succeeds(cargo().args(["nextest", "--version"]));
    if let Some(filter) = &args.only {
        if !has_nextest {
            bail!("--only takes filters of cargo-nextest, which is not installed: cargo install cargo-nextest");
        }
        let ignored: &[&str] = if args.ignored { &["--run-ignored", "only", "--no-capture"] } else { &[] };
        return run_within(nextest().args(["-E", filter]).args(ignored), LIMIT);
    }
    if has_nextest {
        run_within(&mut nextest(), LIMIT)?;
        run_within(with_packages(command().args(["test", "--release", "--doc"])), LIMIT)?;
    } else {
        eprintln!("cargo-nextest is not installed: cargo test it is, without a time limit per test");
        run_within(with_packages(command().args(["test", "--release", "--no-fail-fast"])), LIMIT)?;
    }
    examples(command)
}

/// Runs every example; each ends by itself within seconds.
fn examples(command: impl Fn() -> Command) -> Result<()> {
    // With all packages, as the tests were built: one alone would build its dependencies anew, with other features.
    let mut build = command();
    with_packages(build.args(["build", "--release", "--examples", "--message-format=json"]));
    let output = build.stderr(Stdio::inherit()).output().context("cargo build --examples")?;
    if !output.status.success() {
        bail!("the examples do not build");
    }
    let mut executables = example_executables(&String::from_utf8_lossy(&output.stdout));
    executables.sort();
    if executables.is_empty() {
        bail!("there are no examples");
    }
    for executable in executables {
        // Mesa's device-selection layer complains where there is no display.
        run_within(Command::new(executable).current_dir(root()).env("NODEVICE_SELECT", "1"), LIMIT)?;
    }
    Ok(())
}

/// The built examples of the package of examples, from cargo's messages.
fn example_executables(messages: &str) -> Vec<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["target"]["kind"][0] == "example")
        .filter(|message| message["package_id"].as_str().is_some_and(|id| id.contains("manyworlds-examples")))
        .filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
        .collect()
}
