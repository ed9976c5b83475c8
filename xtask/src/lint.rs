//! The static checks.

use anyhow::Result;

use crate::run::{cargo, checked, run, succeeds};

/// Formatting, clippy and documentation, all warnings denied; licences and advisories where `cargo-deny` is installed.
///
/// Clippy and the documentation share their dependencies' metadata with each other, and build scripts with the tests, by using one
/// profile.
pub(crate) fn lint() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    // The window is no part of other builds.
    let window = ["--features", "manyworlds-cli/window"];
    let clippy = ["clippy", "--release", "--workspace", "--all-targets"];
    run(checked().args(clippy).args(window).args(["--", "-D", "warnings"]))?;
    let mut doc = checked();
    doc.args(["doc", "--release", "--workspace", "--no-deps"]);
    // In `cargo doc` only: the same flags in the environment of clippy would rebuild every dependency.
    run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    if succeeds(cargo().args(["deny", "--version"])) {
        run(cargo().args(["deny", "check", "licenses", "bans", "sources"]))?;
    } else {
        eprintln!("cargo-deny is not installed: licences were not checked");
    }
    Ok(())
}
