//! The GPU executor beside the CPU executor, on the adapter at hand, through the program itself.

use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::adapter;
use crate::run::{cargo, run};

/// Options of `cargo xtask throughput`.
#[derive(clap::Args)]
pub(crate) struct ThroughputArgs {
    /// Runs of each executor, alternating; the best of each counts
    #[arg(long, default_value_t = 2)]
    rounds: u32,
}

/// One line of the table.
struct Case {
    /// Built-in scene.
    scene: &'static str,
    /// Worlds in the batch.
    worlds: u32,
    /// Untimed steps before those of a run: as many as bring contacts about, few enough for a software adapter.
    settle: u32,
    /// Steps of one run.
    steps: u32,
    /// Smallest ratio of the GPU executor to the CPU executor that passes: far under what a software adapter reaches,
    /// as other work on the machine disturbs both.
    floor: f64,
}

/// Small enough for a minute or two on two cores.
const CASES: [Case; 3] = [
    Case { scene: "humanoid", worlds: 1024, settle: 200, steps: 20, floor: 0.03 },
    Case { scene: "half-cheetah", worlds: 1024, settle: 300, steps: 40, floor: 0.02 },
    Case { scene: "clutter", worlds: 8, settle: 150, steps: 10, floor: 0.004 },
];

/// Measures, prints a table and fails under the floors.
pub(crate) fn throughput(args: &ThroughputArgs) -> Result<()> {
    adapter::install()?;
    run(cargo().args(["build", "--release"]))?;
    println!(
        "{:<14} {:>7} {:>16} {:>16} {:>7} {:>7}  adapter",
        "scene", "worlds", "cpu steps/s", "gpu steps/s", "ratio", "floor"
    );
    let mut under = Vec::new();
    for case in &CASES {
        let mut best = [0.0_f64; 2];
        let mut adapter = String::new();
        for _ in 0..args.rounds.max(1) {
            for (executor, best) in ["cpu", "gpu"].into_iter().zip(&mut best) {
                let report = bench(case, executor)?;
                *best = best.max(number(&report, "steps_per_second")?);
                if executor == "gpu" {
                    adapter = report["adapter"].as_str().unwrap_or("unnamed").to_owned();
                }
                if number(&report, "worlds_failed")? > 0.0 {
                    bail!("{} on {executor}: worlds failed: {report}", case.scene);
                }
            }
        }
        let ratio = best[1] / best[0];
        println!(
            "{:<14} {:>7} {:>16.0} {:>16.0} {:>7.3} {:>7.3}  {adapter}",
            case.scene, case.worlds, best[0], best[1], ratio, case.floor
        );
        if ratio.is_nan() || ratio < case.floor {
            under.push(case.scene);
        }
    }
    if !under.is_empty() {
        bail!("under the floor: {}", under.join(", "));
    }
    Ok(())
}

/// The report of one run of `manyworlds bench`.
fn bench(case: &Case, executor: &str) -> Result<Value> {
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--",
        "bench",
        case.scene,
        "--executor",
        executor,
        "--precision",
        "f32",
        "--json",
    ]);
    command.args(["--worlds", &case.worlds.to_string(), "--steps", &case.steps.to_string()]);
    command.args(["--settle", &case.settle.to_string()]);
    let output = command.stderr(Stdio::inherit()).output().context("could not start the built program")?;
    if !output.status.success() {
        bail!("bench {} --executor {executor} failed: {}", case.scene, output.status);
    }
    serde_json::from_slice(&output.stdout).context("the program's --json output")
}

/// A number of a report.
fn number(report: &Value, key: &str) -> Result<f64> {
    report[key].as_f64().with_context(|| format!("the report has no number `{key}`: {report}"))
}
