//! The corpus of recorded contact problems: made again from the scenes.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::run::{cargo, root, run};

/// Where it lies.
const FOLDER: &str = "tests/corpus";
/// Worlds (of scenes with controls, each has its own), steps, and steps from one record to the next.
const WORLDS: &str = "2";
const STEPS: &str = "600";
const EVERY: &str = "50";
/// Digits: rounding changes a problem by less than what it is to be solved to.
const DIGITS: &str = "12";
/// Depth that is not undone, m, in scenes whose bodies wedge: without it a step may have no solution.
const SLOP: [(&str, &str); 1] = [("clutter", "1e-6")];
/// Scenes of more degrees of freedom are left out: a few of them would be larger than all others together.
const MOST: u64 = 300;

/// Records every scene that is not too large, with the random controls of `bench`, into an empty folder.
pub(crate) fn corpus() -> Result<()> {
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "json") {
            fs::remove_file(path)?;
        }
    }
    run(cargo().args(["build", "--release", "--package", "manyworlds-cli"]))?;
    let program = || {
        let mut command = Command::new(root().join("target/release/manyworlds"));
        command.current_dir(root());
        command
    };
    let scenes = program().args(["scenes", "--json"]).output().context("manyworlds scenes")?;
    let scenes: Value = serde_json::from_slice(&scenes.stdout)?;
    for scene in scenes["scenes"].as_array().context("a list of scenes")? {
        let name = scene["name"].as_str().context("a scene's name")?;
        let check = program().args(["check", name, "--json"]).output()?;
        let check: Value = serde_json::from_slice(&check.stdout)?;
        if check["n_v"].as_u64().is_none_or(|n_v| n_v > MOST) {
            eprintln!("{name} is left out: it has more than {MOST} degrees of freedom");
            continue;
        }
        let slop = SLOP.iter().find(|(scene, _)| *scene == name).map_or("0", |(_, slop)| slop);
        // What fails in a scene shows in the scene's own tests.
        run(program()
            .args(["bench", name, "--executor", "cpu", "--precision", "f64", "--settle", "0"])
            .args(["--worlds", WORLDS, "--steps", STEPS, "--record", FOLDER, "--record-every", EVERY])
            .args(["--record-worlds", WORLDS, "--record-digits", DIGITS, "--slop", slop]))?;
    }
    let count = fs::read_dir(&folder)?.filter_map(Result::ok).filter(|e| e.path().extension() == Some("json".as_ref()));
    let count = count.count();
    eprintln!("{count} problems in {FOLDER}");
    if count < 200 {
        bail!("the corpus is to have at least 200 problems");
    }
    Ok(())
}
