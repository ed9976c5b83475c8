//! Starting other programs from the repository's root.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// The cargo that runs this task.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root());
    command
}

/// The same for what is built with every assertion of our own crates; those of others are the program's (`Cargo.toml`).
pub(crate) fn checked() -> Command {
    let mut command = cargo();
    command
        .envs([("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true"), ("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true")]);
    command
}

/// The built program, where `cargo build --release` puts it.
pub(crate) fn program() -> PathBuf {
    target().join("release").join(format!("manyworlds{}", std::env::consts::EXE_SUFFIX))
}

/// Where cargo builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Prints a command, runs it to its end, and fails when it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    run_within(command, Duration::MAX)
}

/// As [`run`], and kills the command past the limit, so that a hung kernel fails a run instead of stopping it for hours.
pub(crate) fn run_within(command: &mut Command, limit: Duration) -> Result<()> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("could not start `{shown}`"))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            bail!("`{shown}` was still running after {} s and was stopped", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    eprintln!("  {:.1} s", start.elapsed().as_secs_f64());
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    Ok(())
}

/// Whether a command can be started and ends well; its output is thrown away.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

/// A command's line, for people.
fn show(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or(command.get_program()).to_string_lossy();
    let environment = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={:?} ", name.to_string_lossy(), value?.to_string_lossy())));
    let arguments = command.get_args().map(|a| format!(" {}", a.to_string_lossy()));
    environment.chain([program.into_owned()]).chain(arguments).collect()
}
