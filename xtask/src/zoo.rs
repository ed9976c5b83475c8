//! The zoo: models of public Python packages, compared with MuJoCo's own numbers, and timed beside it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Map, Value};

use crate::run::{cargo, program, root, run, succeeds, target};

/// Packages whose model files are compared; their dependencies are not needed.
const PACKAGES: [&str; 5] = ["dm-control", "gymnasium-robotics", "robosuite", "playground", "example-robot-data"];
/// What the comparison itself needs: the version is that of all other figures.
const NEEDED: [&str; 2] = ["mujoco==4.0.0", "numpy"];
/// Share of the models that are to be read and the same.
const TARGET: &str = "0.97";

/// Options of `zoo`.
#[derive(Args)]
pub(crate) struct ZooArgs {
    /// Takes only models whose path contains this, prints what it finds, and leaves the page alone
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Times a step beside MuJoCo's instead, and writes that section of the page
    #[arg(long)]
    speed: bool,
    /// Takes the models of this package of PyPI instead, prints how many are the same and what the others are, and leaves the
    /// page alone; may be given several times
    #[arg(long, value_name = "NAME", conflicts_with = "speed")]
    package: Vec<String>,
}

/// Downloads what is not there yet, compares, writes the page, and fails below the target; or times, as asked.
pub(crate) fn zoo(args: &ZooArgs) -> Result<()> {
    let home = target().join("zoo");
    fs::create_dir_all(&home)?;
    let python = environment(&home)?;
    let (names, folder) = match &args.package[..] {
        [] => (PACKAGES.map(str::to_owned).to_vec(), home),
        own => (own.to_vec(), home.join("others").join(own.join("+"))),
    };
    fs::create_dir_all(&folder)?;
    let versions = packages(&folder, &python, &names)?;
    run(cargo().args(["build", "--release", "--package", "manyworlds-cli"]))?;
    let mut script = Command::new(&python);
    // MuJoCo logs to where it runs.
    script.current_dir(&folder).arg(root().join("xtask/zoo").join(if args.speed { "speed.py" } else { "compare.py" }));
    script.arg("--program").arg(program()).arg("--packages").arg(folder.join("packages"));
    if args.package.is_empty() {
        script.arg("--page").arg(root().join("docs/zoo.md"));
    }
    if !args.speed {
        script.args(["--target", TARGET]).arg("--versions").arg(Value::Object(versions).to_string());
    }
    if let Some(only) = &args.only {
        script.args(["--only", only]);
    }
    run(&mut script)
}

/// A Python with MuJoCo, made once.
fn environment(folder: &Path) -> Result<PathBuf> {
    let home = folder.join("python");
    let python = home.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !succeeds(Command::new(&python).args(["-c", "import mujoco, numpy"])) {
        let system = if cfg!(windows) { "python" } else { "python3" };
        run(Command::new(system).args(["-m", "venv"]).arg(&home))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(NEEDED))?;
    }
    Ok(python)
}

/// Downloads and unpacks the packages; their folders' names with their versions.
fn packages(folder: &Path, python: &Path, names: &[String]) -> Result<Map<String, Value>> {
    let (wheels, unpacked) = (folder.join("wheels"), folder.join("packages"));
    if !wheels.exists() {
        // Under another name until all are there, so that a download that was cut short starts over.
        let partial = folder.join("wheels.partial");
        let pip = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest"];
        run(Command::new(python).args(pip).arg(&partial).args(names))?;
        fs::rename(&partial, &wheels)?;
    }
    let mut versions = Map::new();
    for entry in fs::read_dir(&wheels)? {
        let wheel = entry?.path();
        let stem = wheel.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        let [name, version, ..] = stem.split('-').collect::<Vec<_>>()[..] else {
            bail!("{} is no wheel", wheel.display());
        };
        versions.insert(name.to_owned(), version.into());
        let (home, partial) = (unpacked.join(name), unpacked.join(format!(".{name}")));
        if !home.exists() {
            run(Command::new(python).args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&partial))?;
            fs::rename(&partial, &home).with_context(|| home.display().to_string())?;
        }
    }
    Ok(versions)
}
