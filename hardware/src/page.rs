//! The page: a section an adapter, so that machines can be added one by one.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::gradients::Gradients;
use crate::parity::Parity;
use crate::throughput::{Report, Split, heaviest};

/// How the page begins.
const HEAD: &str = "\
# Hardware

What `cargo xtask hardware` measured, a section an adapter. It checks every kernel against its mirror, times batches of
built-in scenes with random controls, and gradients of many worlds at once; all in f32. \"Device\" is the sum of the
kernels' own times, \"host\" that of collision, packing and finishing as if spread evenly over the machine's threads; \"overlap\" is the
part of the shorter of the two that ran at least while the other did: what is in neither counts as a wait.
";

/// What the page says until there is a section of hardware.
#[cfg(test)]
const NONE: &str = "\
No hardware GPU has been measured yet. On a machine that has one:

```sh
cargo xtask hardware       # builds, measures (an hour at most) and writes this page
```
";

/// Everything that one run found out.
pub(crate) struct Found {
    /// Adapter and driver.
    pub(crate) adapter: String,
    /// Processor, threads and memory are the machine's; what it says of itself.
    pub(crate) machine: String,
    pub(crate) date: String,
    /// The command that was given.
    pub(crate) command: String,
    pub(crate) software: bool,
    pub(crate) parity: Option<Result<Parity>>,
    pub(crate) bandwidth: Option<Result<f64>>,
    pub(crate) runs: Vec<Run>,
    /// The CPU executor of the same machine, by scene.
    pub(crate) cpu: Vec<Run>,
    pub(crate) gradients: Vec<(String, usize, Result<Gradients>)>,
}

/// A line of the table of throughput.
pub(crate) struct Run {
    pub(crate) scene: String,
    pub(crate) worlds: usize,
    pub(crate) report: Result<Report>,
}

/// Writes the page: this adapter's section in the place of an older one of it, the others as they are.
pub(crate) fn write(path: &Path, found: &Found) -> Result<()> {
    let old = if path.exists() {
        fs::read_to_string(path).with_context(|| path.display().to_string())?
    } else {
        String::new()
    };
    fs::write(path, with_section(&old, &found.adapter, &section(found))).with_context(|| path.display().to_string())
}

/// A page with this section, and the other sections of an older page.
fn with_section(old: &str, adapter: &str, section: &str) -> String {
    let title = format!("{adapter}\n");
    let others = old.split("\n## ").skip(1).filter(|text| !text.starts_with(&title));
    let mut page = HEAD.to_owned();
    for text in others {
        let _ = write!(page, "\n## {}\n", text.trim_end());
    }
    page + "\n" + section
}

/// The page before anything was measured.
#[cfg(test)]
fn empty() -> String {
    format!("{HEAD}\n{NONE}")
}

fn section(found: &Found) -> String {
    let mut text = format!("## {}\n\n{}, {}; `{}`.\n", found.adapter, found.machine, found.date, found.command);
    if found.software {
        text += "\n**This is a software adapter: no hardware was measured.** These figures only show that the command works.\n";
    }
    let _ = writeln!(text, "\n{}", parity(found.parity.as_ref()));
    let bandwidth = match &found.bandwidth {
        None => "Its bandwidth was not measured.".to_owned(),
        Some(Ok(speed)) => format!("Copies between two buffers move {speed:.0} GB/s, reads and writes counted."),
        Some(Err(error)) => format!("Its bandwidth could not be measured: {error:#}."),
    };
    let _ = writeln!(text, "{bandwidth}");
    throughput(&mut text, found);
    gradients(&mut text, &found.gradients);
    text
}

fn parity(parity: Option<&Result<Parity>>) -> String {
    match parity {
        None => "Parity was not checked.".into(),
        Some(Err(error)) => format!("**Parity could not be checked**: {error:#}."),
        Some(Ok(Parity { kernels, cases, faults })) if faults.is_empty() => {
            format!("Parity: all {cases} cases of {kernels} kernels agree with their mirrors.")
        }
        Some(Ok(Parity { cases, faults, .. })) => {
            let list: String = faults.iter().map(|fault| format!("\n- {fault}")).collect();
            format!("**Parity fails**: {} faults in {cases} cases:\n{list}\n", faults.len())
        }
    }
}

fn throughput(text: &mut String, found: &Found) {
    if found.runs.is_empty() {
        return;
    }
    *text += "\n| scene | worlds | world-steps/s | ms a step | device | host | overlap | moved at most, kB a world-step | memory, kB a world | largest residual, N s | worlds above 1e-6 |\n\
        |---|---|---|---|---|---|---|---|---|---|---|\n";
    let bandwidth = found.bandwidth.as_ref().and_then(|speed| speed.as_ref().ok());
    let mut failures = Vec::new();
    for Run { scene, worlds, report } in &found.runs {
        let report = match report {
            Ok(report) => report,
            Err(error) => {
                failures.push(format!("{error:#}"));
                let _ = writeln!(text, "| {scene} | {worlds} | failed | | | | | | | | |");
                continue;
            }
        };
        failures.extend(report.faults().map(|fault| format!("{scene}, {worlds} worlds: {fault}")));
        let split = Split::of(report);
        let or_none = |value: Option<String>| value.unwrap_or_else(|| "no timestamps".into());
        let moved =
            split.as_ref().zip(bandwidth).map(|(s, speed)| format!("{:.1}", s.device * speed * 1e3 / *worlds as f64));
        let _ = writeln!(
            text,
            "| {scene} | {worlds} | {:.0} | {:.2} | {} | {} | {} | {} | {:.1} | {:.1e} | {} |",
            report.steps_per_second,
            *worlds as f64 / report.steps_per_second * 1e3,
            or_none(split.as_ref().map(|s| format!("{:.2}", s.device))),
            or_none(split.as_ref().map(|s| format!("{:.2}", s.host))),
            or_none(split.as_ref().map(|s| format!("{:.0} %", 100.0 * s.overlap()))),
            moved.unwrap_or_else(|| "unknown".into()),
            report.bytes_per_world as f64 / 1e3,
            report.residual_max,
            report.worlds_over_tolerance,
        );
    }
    *text += "\n\"Moved at most\" is what the device's time would be enough for at the bandwidth above, had it done nothing else.\n";
    for run in largest(&found.runs) {
        if let Ok(report) = &run.report {
            let kernels: Vec<_> =
                heaviest(report, 5).into_iter().map(|(name, part)| format!("`{name}` {:.0} %", 100.0 * part)).collect();
            if !kernels.is_empty() {
                let _ = writeln!(
                    text,
                    "\n{}, {} worlds: {} of the device's time.",
                    run.scene,
                    run.worlds,
                    kernels.join(", ")
                );
            }
        }
    }
    for Run { scene, worlds, report } in &found.cpu {
        let _ = match report {
            Ok(Report { steps_per_second, threads, .. }) => writeln!(
                text,
                "\nThe CPU executor of the same machine, {threads} threads, {scene}, {worlds} worlds: {steps_per_second:.0} \
                 world-steps/s."
            ),
            Err(error) => writeln!(text, "\nThe CPU executor of the same machine failed: {error:#}."),
        };
    }
    for failure in failures {
        let _ = writeln!(text, "\n- failed: {failure}");
    }
}

/// The largest batch of each scene.
fn largest(runs: &[Run]) -> Vec<&Run> {
    let mut found: Vec<&Run> = Vec::new();
    for run in runs.iter().filter(|run| run.report.is_ok()) {
        match found.last_mut().filter(|last| last.scene == run.scene) {
            Some(last) => *last = run,
            None => found.push(run),
        }
    }
    found
}

fn gradients(text: &mut String, gradients: &[(String, usize, Result<Gradients>)]) {
    if gradients.is_empty() {
        return;
    }
    if let Some(error) = gradients.iter().map(|(_, _, found)| found.as_ref().err()).collect::<Option<Vec<_>>>() {
        let _ = writeln!(text, "\nProducts with the transposed Jacobian were not measured: {:#}.", error[0]);
        return;
    }
    *text += "\nProducts with the transposed Jacobian of a step, all worlds at once:\n\n\
        | scene | worlds | step, us a world | product, us a world | product / step | certified |\n|---|---|---|---|---|---|\n";
    for (scene, worlds, found) in gradients {
        let _ = match found {
            Ok(Gradients { step, back, valid }) => writeln!(
                text,
                "| {scene} | {worlds} | {step:.2} | {back:.2} | {:.2} | {:.0} % |",
                back / step,
                100.0 * valid
            ),
            Err(error) => writeln!(text, "| {scene} | {worlds} | failed: {error:#} | | | |"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_added_and_replaced() {
        let first = with_section(&empty(), "A", "## A\n\none\n");
        assert!(!first.contains("No hardware GPU") && first.contains("one"));
        let both = with_section(&first, "B", "## B\n\ntwo\n");
        assert!(both.contains("## A\n\none") && both.contains("## B\n\ntwo"));
        let again = with_section(&both, "A", "## A\n\nthree\n");
        assert!(again.contains("three") && again.contains("two") && !again.contains("one\n"));
        assert_eq!(again.matches("# Hardware").count(), 1);
    }

    #[test]
    fn the_page_in_the_tree_is_ours() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/hardware.md");
        let page = fs::read_to_string(path).unwrap();
        assert!(page.starts_with(HEAD));
        assert!(page.contains("\n## ") || page == empty(), "without a section it says that nothing was measured");
        assert!(!page.contains("software adapter"), "figures of a software adapter are no figures of hardware");
    }

    #[test]
    fn failures_are_told() {
        let found = Found {
            adapter: "A".into(),
            machine: "m".into(),
            date: "d".into(),
            command: "c".into(),
            software: true,
            parity: Some(Ok(Parity { kernels: 1, cases: 2, faults: vec!["sum: off".into()] })),
            bandwidth: Some(Ok(100.0)),
            runs: vec![Run {
                scene: "humanoid".into(),
                worlds: 256,
                report: Err(anyhow::anyhow!("stopped after 9 s")),
            }],
            cpu: Vec::new(),
            gradients: vec![("ant".into(), 4, Err(anyhow::anyhow!("lost")))],
        };
        let text = section(&found);
        for part in ["Parity fails", "sum: off", "stopped after 9 s", "lost", "no hardware was measured"] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
