//! The Python package: its wheel, built and tested in an environment of its own.
//!
//! No part of `.ci/run`: it needs Python and downloads packages, and a test of the simulator should not fail by a network.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::run::{root, run, run_within, succeeds, target};

/// Options of `cargo xtask python`.
#[derive(clap::Args)]
pub(crate) struct PythonArgs {
    /// Python to use, 3.10 or newer
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    python: PathBuf,
    /// Installs these packages as well, which are large, and runs the tests that need them
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    with: Vec<Extra>,
}

/// Packages that tests can do without; such tests say that they were skipped.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Extra {
    Torch,
    Jax,
    StableBaselines3,
    RslRl,
    Ray,
    Unisim,
    RerunSdk,
}

impl Extra {
    /// Its package.
    fn package(self) -> &'static str {
        match self {
            Self::Torch => "torch>=2",
            Self::Jax => "jax",
            Self::StableBaselines3 => "stable-baselines3>=2.4",
            Self::RslRl => "rsl-rl-lib>=3",
            Self::Ray => "ray[rllib]>=2.40",
            Self::Unisim => "unisim-core>=2.2",
            Self::RerunSdk => "rerun-sdk>=0.41",
        }
    }
}

/// Longest time for one step.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Builds the wheel, installs it into a fresh environment and runs pytest.
pub(crate) fn python(args: &PythonArgs) -> Result<()> {
    if !succeeds(Command::new(&args.python).args(["-c", "import sys; sys.exit(sys.version_info < (3, 10))"])) {
        bail!("{}: expected Python 3.10 or newer (--python names another)", args.python.display());
    }
    let folder = target().join("python");
    let (environment, wheels) = (folder.join("environment"), folder.join("wheels"));
    run(Command::new(&args.python).args(["-m", "venv", "--clear"]).arg(&environment))?;
    let bin = environment.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let program = |name: &str| Command::new(bin.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)));
    let pip = |packages: &[&str]| {
        let mut command = program("python");
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
        run_within(&mut command, LIMIT)
    };
    pip(&["maturin>=1.9,<2"])?;
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels).with_context(|| wheels.display().to_string())?;
    }
    let package = root().join("crates").join("python");
    let mut build = program("maturin");
    build.args(["build", "--release", "--manifest-path"]).arg(package.join("Cargo.toml")).arg("--out").arg(&wheels);
    run_within(build.env("CARGO_TARGET_DIR", target()).current_dir(root()), LIMIT)?;
    let wheel = only_wheel(&wheels)?;
    pip(&[&format!("{}[test]", wheel.display())])?;
    for extra in &args.with {
        pip(&[extra.package()])?;
    }
    // Skipped tests are named, and why.
    run_within(program("python").args(["-m", "pytest", "-q", "-rs"]).current_dir(&package), LIMIT)
}

fn only_wheel(folder: &Path) -> Result<PathBuf> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let found: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    match found.as_slice() {
        [wheel] => Ok(wheel.clone()),
        _ => bail!("{}: expected one wheel, found {}", folder.display(), found.len()),
    }
}
