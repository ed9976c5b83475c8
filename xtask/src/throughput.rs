//! The GPU executor beside the CPU executor, on the adapter at hand, through the program itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::adapter;
use crate::run::{cargo, checked, program, root, run};
use crate::test::with_packages;

/// Options of `cargo xtask throughput`.
#[derive(clap::Args)]
pub(crate) struct ThroughputArgs {
    /// Runs of each executor, in turns; the median of the ratios counts (of two the lower). The first is enough where it reaches
    /// the floor, unless a record is to be written
    #[arg(long, default_value_t = 2)]
    rounds: u32,
    /// Writes what was measured into the record, for the driver at hand
    #[arg(long)]
    record: bool,
    /// Takes the program as the tests have built it, with every assertion, which saves a build; not what a record is of
    #[arg(long, conflicts_with = "record")]
    checked: bool,
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
    /// Contact solver.
    solver: &'static str,
}

/// Small enough for a few minutes on two cores.
const CASES: [Case; 4] = [
    Case { scene: "humanoid", worlds: 512, settle: 200, steps: 40, solver: "auto" },
    Case { scene: "half-cheetah", worlds: 512, settle: 300, steps: 80, solver: "auto" },
    Case { scene: "quadruped", worlds: 256, settle: 200, steps: 20, solver: "auto" },
    // Each executor sees a fall of its own, as rounding decides it, and a step takes one to five times as long where a heap shifts: over 20
    // steps the ratio was 0.02 to 0.08. What the host adds decides it as well: by `auto` at five tolerances within a tenth of each
    // other the device made 130 to 600 steps a second.
    Case { scene: "clutter", worlds: 8, settle: 250, steps: 100, solver: "newton" },
];

/// Part of the recorded ratio that passes: other work on the machine disturbs both executors, by a third at times.
const FLOOR: f64 = 0.5;

/// Ratios of GPU to CPU executor by scene, of each driver that was measured.
type Record = BTreeMap<String, BTreeMap<String, f64>>;

/// Measures, prints a table and fails under the floors.
pub(crate) fn throughput(args: &ThroughputArgs) -> Result<()> {
    adapter::ensure()?;
    if args.checked {
        run(with_packages(checked().args(["build", "--release", "--bin", "manyworlds"])))?;
    } else {
        run(cargo().args(["build", "--release", "--package", "manyworlds-cli"]))?;
    }
    let driver = Driver::at_hand()?;
    let mut record = read_record()?;
    let known = driver.known(&record).map(|name| (name.clone(), record[name].clone()));
    match &known {
        Some((name, _)) => println!("{}: floors are {FLOOR} of what {name} reached", driver.words),
        None => println!("{}: hardware, or a driver without a record; there are no floors", driver.words),
    }
    if args.checked {
        println!(
            "The program is the tests', with every assertion: its CPU executor takes a tenth to a fifth longer than users'."
        );
    }
    println!(
        "{:<14} {:>7} {:>15} {:>15} {:>7} {:>15} {:>7}",
        "scene", "worlds", "cpu, steps/s", "gpu, steps/s", "ratio", "spread", "floor"
    );
    let (mut measured, mut under) = (BTreeMap::new(), Vec::new());
    for case in &CASES {
        let floor = known.as_ref().and_then(|(_, ratios)| ratios.get(case.scene)).map(|ratio| FLOOR * ratio);
        let is_enough = |ratio: f64| !args.record && floor.is_some_and(|floor| ratio >= floor);
        let (speeds, mut ratios) = measure(case, args.rounds.max(1), is_enough)?;
        let ratio = median(&mut ratios);
        let spread = format!("{:.3} to {:.3}", ratios[0], ratios[ratios.len() - 1]);
        let shown = floor.map_or("none".to_owned(), |floor| format!("{floor:.3}"));
        println!(
            "{:<14} {:>7} {:>15.0} {:>15.0} {ratio:>7.3} {spread:>15} {shown:>7}",
            case.scene, case.worlds, speeds[0], speeds[1]
        );
        measured.insert(case.scene.to_owned(), (ratio * 1000.0).round() / 1000.0);
        if ratio.is_nan() || floor.is_some_and(|floor| ratio < floor) {
            under.push(case.scene);
        }
    }
    if args.record {
        record.insert(driver.name.clone(), measured);
        fs::write(record_file(), serde_json::to_string_pretty(&json!(record))? + "\n")?;
        return Ok(());
    }
    if !under.is_empty() {
        bail!("under the floor: {}", under.join(", "));
    }
    Ok(())
}

/// The median speed of each executor, and the ratio of each pair of runs; of the first pair alone where its ratio is enough.
fn measure(case: &Case, rounds: u32, is_enough: impl Fn(f64) -> bool) -> Result<([f64; 2], Vec<f64>)> {
    let mut speeds = [Vec::new(), Vec::new()];
    let mut ratios = Vec::new();
    for round in 0..rounds {
        if round == 1 && is_enough(ratios[0]) {
            break;
        }
        let [cpu, gpu] = [run_once(case, "cpu")?, run_once(case, "gpu")?];
        speeds[0].push(cpu);
        speeds[1].push(gpu);
        ratios.push(gpu / cpu);
    }
    Ok((speeds.map(|mut speeds| median(&mut speeds)), ratios))
}

/// World-steps a second of one run.
fn run_once(case: &Case, executor: &str) -> Result<f64> {
    let report = bench(case, executor)?;
    if number(&report, "worlds_failed")? > 0.0 {
        bail!("{} on {executor}: worlds failed: {report}", case.scene);
    }
    number(&report, "steps_per_second")
}

/// The middle of some numbers (of an even count the lower one), which are sorted.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[(numbers.len() - 1) / 2]
}

/// The adapter that the GPU executor takes.
struct Driver {
    /// Name in the record: of a software adapter its driver and that one's major version.
    name: String,
    /// For people.
    words: String,
    software: bool,
}

impl Driver {
    fn at_hand() -> Result<Self> {
        let output = Command::new(program()).args(["info", "--json"]).stderr(Stdio::inherit()).output()?;
        let report: Value = serde_json::from_slice(&output.stdout).context("`manyworlds info --json`")?;
        let adapter = report["adapters"].get(0).context("`manyworlds info` lists no adapter")?;
        let text = |key: &str| adapter[key].as_str().unwrap_or("unnamed").to_owned();
        Ok(Self {
            name: mesa(&text("driver")).map_or_else(|| text("name"), |major| format!("Mesa {major}")),
            words: format!("{} ({})", text("name"), text("driver")),
            software: text("kind") == "software",
        })
    }

    /// The entry of the record to compare with: this driver's, or else that of the newest Mesa below it.
    fn known<'a>(&self, record: &'a Record) -> Option<&'a String> {
        if !self.software {
            return None;
        }
        let here = mesa(&self.name)?;
        record.keys().filter(|name| mesa(name).is_some_and(|major| major <= here)).max_by_key(|name| mesa(name))
    }
}

/// The major version in a text like `llvmpipe Mesa 25.0.7 (LLVM 15.0.6)`.
fn mesa(text: &str) -> Option<u32> {
    let (_, version) = text.split_once("Mesa ")?;
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn record_file() -> PathBuf {
    root().join("xtask/throughput.json")
}

fn read_record() -> Result<Record> {
    let path = record_file();
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| path.display().to_string())
}

/// The report of one run of `manyworlds bench`.
fn bench(case: &Case, executor: &str) -> Result<Value> {
    let mut command = Command::new(program());
    command.args(["bench", case.scene, "--executor", executor, "--precision", "f32", "--json"]);
    command.args(["--worlds", &case.worlds.to_string(), "--steps", &case.steps.to_string()]);
    command.args(["--settle", &case.settle.to_string(), "--solver", case.solver]);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_compared_with_the_newest_record_below_them() {
        let record: Record = ["Mesa 22", "Mesa 25"].map(|name| (name.to_owned(), BTreeMap::new())).into();
        let known = |words: &str, software| {
            let name = mesa(words).map_or_else(|| words.to_owned(), |major| format!("Mesa {major}"));
            Driver { name, words: words.to_owned(), software }.known(&record).cloned()
        };
        assert_eq!(known("llvmpipe Mesa 25.0.7 (LLVM 15.0.6)", true).as_deref(), Some("Mesa 25"));
        assert_eq!(known("llvmpipe Mesa 24.2.1", true).as_deref(), Some("Mesa 22"));
        assert_eq!(known("llvmpipe Mesa 21.0", true), None);
        assert_eq!(known("radv Mesa 25.0.7", false), None);
        assert_eq!(known("SwiftShader 5", true), None);
    }

    #[test]
    fn the_record_is_readable_and_has_every_scene() {
        let record = read_record().unwrap();
        for (driver, ratios) in &record {
            for case in &CASES {
                assert!(ratios.get(case.scene).is_some_and(|ratio| *ratio > 0.0), "{driver}: {}", case.scene);
            }
        }
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [2.0, 1.0]), 1.0);
    }
}
