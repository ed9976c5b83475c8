//! Every test of the repository.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::adapter;
use crate::run::{cargo, root, run_within, succeeds};

/// Options of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Leaves out, and names, the tests that need an adapter
    #[arg(long)]
    no_adapter: bool,
}

/// Longest time for building and running one group of tests; nextest has finer limits of its own.
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// Tests, documentation tests and examples, with every assertion on.
pub(crate) fn test(args: &TestArgs) -> Result<()> {
    if !args.no_adapter {
        adapter::install()?;
    }
    let command = || {
        let mut command = cargo();
        // Property tests draw the same cases in every run; a plain `cargo test` draws new ones.
        command.env("PROPTEST_RNG_SEED", "1");
        if args.no_adapter {
            command.env("MANYWORLDS_NO_ADAPTER", "1");
        }
        command
    };
    if succeeds(cargo().args(["nextest", "--version"])) {
        let mut nextest = command();
        nextest.args(["nextest", "run", "--cargo-profile", "checked", "--workspace", "--no-fail-fast"]);
        run_within(&mut nextest, LIMIT)?;
        run_within(command().args(["test", "--profile", "checked", "--workspace", "--doc"]), LIMIT)?;
    } else {
        eprintln!("cargo-nextest is not installed: cargo test it is, without a time limit per test");
        run_within(command().args(["test", "--profile", "checked", "--workspace", "--no-fail-fast"]), LIMIT)?;
    }
    examples(command)
}

/// Runs every example; each ends by itself within seconds.
fn examples(command: impl Fn() -> Command) -> Result<()> {
    for name in example_names(&root().join("examples"))? {
        let mut example = command();
        example.args([
            "run",
            "--quiet",
            "--profile",
            "checked",
            "--package",
            "manyworlds-examples",
            "--example",
            &name,
        ]);
        run_within(&mut example, LIMIT)?;
    }
    Ok(())
}

/// The stems of the numbered examples, in order.
fn example_names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "rs")
            && let Some(stem) = path.file_stem()
        {
            names.push(stem.to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
