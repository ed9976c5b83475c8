//! `manyworlds-hardware`: what a GPU is worth here. Parity of kernels, throughput, overlap, gradients, written into a page.
//!
//! It needs no network and no toolchain: this program and `manyworlds` beside it are all. Each part runs in a process of
//! its own within a limit of time, and the page is written anew after each, so that a part that fails loses nothing else.

mod bandwidth;
mod child;
mod date;
mod gradients;
mod page;
mod parity;
mod throughput;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};

use page::{Found, Run};

/// Worlds of the CPU executor's runs.
const CPU_WORLDS: usize = 4096;
/// The page of hardware, from the repository's root.
const PAGE: &str = "docs/hardware.md";

/// Checks and measures the adapter of this machine, and writes a page on it.
#[derive(Parser)]
#[command(
    name = "manyworlds-hardware",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "\
From a clone: cargo xtask hardware [the same options] builds this program and `manyworlds`, and runs it.
From prebuilt binaries: put `manyworlds-hardware` and `manyworlds` into one folder and run `./manyworlds-hardware
--out hardware.md`; neither a network nor a toolchain is needed, only the adapter's driver.

Examples:
  manyworlds-hardware --out hardware.md
  manyworlds-hardware --out hardware.md --scenes humanoid --worlds 1024,8192 --gradients 256
  manyworlds-hardware --software --out /tmp/try.md --scenes half-cheetah --worlds 64 --gradients 16

Exit codes: 0 all went well; 1 a part failed, or a kernel differs from its mirror (the page says which); 2 bad usage."
)]
struct Program {
    #[command(subcommand)]
    part: Option<Part>,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
struct Options {
    /// The page to write; sections of other adapters in it stay
    #[arg(long, value_name = "FILE.md", default_value = PAGE)]
    out: PathBuf,
    /// Tries the command on a software adapter; wants --out to name another page than docs/hardware.md
    #[arg(long)]
    software: bool,
    /// Built-in scenes, or paths of models
    #[arg(
        long,
        value_name = "NAME,..",
        value_delimiter = ',',
        default_value = "humanoid,half-cheetah,quadruped,clutter,soft-crawler"
    )]
    scenes: Vec<String>,
    /// Numbers of worlds of the table of throughput
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "256,512,1024,2048,4096,8192,16384,32768")]
    worlds: Vec<usize>,
    /// Steps before the timed ones of throughput: contacts are there by then
    #[arg(long, value_name = "N", default_value_t = 200)]
    settle: u64,
    /// Numbers of worlds of gradients
    #[arg(long, value_name = "N,..", value_delimiter = ',', default_value = "256,4096")]
    gradients: Vec<usize>,
    /// Longest time of a part (of parity: of a case), s
    #[arg(long, value_name = "S", default_value_t = 300)]
    limit: u64,
    /// Longest time of all parts together, s; those that are left then are left out, and the page says so
    #[arg(long, value_name = "S", default_value_t = 3600)]
    in_all: u64,
    /// The program `manyworlds`; beside this one when absent
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Part {
    /// One part of the run, in this process, as JSON
    #[command(hide = true, subcommand)]
    Part(Inner),
}

#[derive(Subcommand)]
enum Inner {
    Parity {
        #[arg(long)]
        from: usize,
        #[arg(long)]
        to: usize,
    },
    Bandwidth,
    Gradients {
        scene: String,
        worlds: usize,
    },
}

fn main() -> ExitCode {
    let program = Program::parse();
    let done = match &program.part {
        Some(Part::Part(Inner::Parity { from, to })) => parity::part(*from..*to).map(|()| true),
        Some(Part::Part(Inner::Bandwidth)) => bandwidth::part().map(|()| true),
        Some(Part::Part(Inner::Gradients { scene, worlds })) => gradients::part(scene, *worlds).map(|()| true),
        None => match plan(&program.options) {
            Ok(found) => measure(&program.options, found),
            Err(error) => {
                eprintln!("error: {error:#}");
                return ExitCode::from(2);
            }
        },
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What is to be measured, if that may be: the page with nothing in it yet.
fn plan(options: &Options) -> Result<Found> {
    let adapters = manyworlds::adapters();
    let Some(adapter) = adapters.first() else {
        bail!("no adapter was found: is the GPU's driver installed, with Vulkan, Metal or DX12?");
    };
    let software = adapter.kind == "software";
    allowed(software, &adapter.name, options)?;
    let worlds = options.worlds.iter().chain(&options.gradients);
    if worlds.into_iter().any(|&count| count == 0) {
        bail!("--worlds, --gradients: expected at least 1, found 0");
    }
    Ok(Found {
        adapter: format!("{}, {}, {}", adapter.name, adapter.driver, adapter.backend),
        machine: machine(),
        date: date::today(),
        command: std::iter::once("manyworlds-hardware".to_owned())
            .chain(std::env::args().skip(1))
            .collect::<Vec<_>>()
            .join(" "),
        software,
        parity: None,
        bandwidth: None,
        runs: Vec::new(),
        cpu: Vec::new(),
        gradients: Vec::new(),
    })
}

/// Processor, threads and memory of this machine.
fn machine() -> String {
    let Ok(mut system) = sysinfo::System::new() else { return "a machine that does not say what it is".into() };
    system.refresh_all();
    let cpu = system.cpus().first().map_or_else(|| "an unnamed processor".into(), |cpu| cpu.brand().trim().to_owned());
    format!("{cpu}, {} threads, {:.0} GB", system.cpus().len(), system.total_memory() as f64 / 1e9)
}

/// Figures of a software adapter are never written as hardware's.
fn allowed(software: bool, name: &str, options: &Options) -> Result<()> {
    if software && !options.software {
        bail!(
            "the best adapter here is {name}, a software adapter: there is no hardware to measure. --software --out FILE.md \
             tries the command on it"
        );
    }
    if options.software && !software {
        bail!("--software: the best adapter here is {name}, which is hardware");
    }
    if software && options.out.file_name() == Path::new(PAGE).file_name() {
        bail!("--software: --out {} is a page of hardware; name another file", options.out.display());
    }
    Ok(())
}

/// Goes through all parts; whether all went well.
fn measure(options: &Options, mut found: Found) -> Result<bool> {
    let program = options.program.clone().map_or_else(beside, Ok)?;
    let clock = Clock { start: Instant::now(), limit: options.limit, in_all: options.in_all };
    // The first write fails at once where the page cannot be written.
    page::write(&options.out, &found)?;
    let bar = bar("parity");
    found.parity = Some(clock.left().and_then(|limit| parity::run(limit, clock.in_all_left(), &bar)));
    bar.finish();
    page::write(&options.out, &found)?;
    found.bandwidth = Some(clock.left().and_then(bandwidth::run));
    page::write(&options.out, &found)?;

    let scenes = &options.scenes;
    let bar = self::bar("throughput");
    bar.set_length((scenes.len() * (options.worlds.len() + 1)) as u64);
    for scene in scenes {
        let run = |worlds, executor| {
            bar.set_message(format!("throughput: {scene}, {worlds} worlds, {executor}"));
            let report = clock
                .left()
                .and_then(|limit| throughput::run(&program, scene, worlds, executor, options.settle, limit));
            bar.inc(1);
            Run { scene: scene.clone(), worlds, report }
        };
        found.cpu.push(run(CPU_WORLDS, "cpu"));
        let mut failed = usize::MAX;
        for &worlds in &options.worlds {
            if failed < worlds {
                let report = Err(anyhow!("{scene}, {worlds} worlds: not run, as {failed} failed"));
                found.runs.push(Run { scene: scene.clone(), worlds, report });
                bar.inc(1);
                continue;
            }
            let run = run(worlds, "gpu");
            if run.report.is_err() {
                failed = worlds;
            }
            found.runs.push(run);
            page::write(&options.out, &found)?;
        }
    }
    bar.finish();

    let bar = self::bar("gradients");
    bar.set_length((scenes.len() * options.gradients.len()) as u64);
    for scene in scenes {
        for &worlds in &options.gradients {
            bar.set_message(format!("gradients: {scene}, {worlds} worlds"));
            let result = clock.left().and_then(|limit| gradients::run(scene, worlds, limit));
            found.gradients.push((scene.clone(), worlds, result));
            bar.inc(1);
            page::write(&options.out, &found)?;
        }
    }
    bar.finish();
    eprintln!("{} is written", options.out.display());
    let failures = failures(&found);
    failures.iter().for_each(|failure| eprintln!("failed: {failure}"));
    Ok(failures.is_empty())
}

/// Everything that went wrong, a line each.
fn failures(found: &Found) -> Vec<String> {
    let mut failures = Vec::new();
    match &found.parity {
        Some(Ok(parity)) => failures.extend(parity.faults.iter().map(|fault| format!("parity: {fault}"))),
        Some(Err(error)) => failures.push(format!("parity: {error:#}")),
        None => failures.push("parity was not checked".into()),
    }
    if let Some(Err(error)) = &found.bandwidth {
        failures.push(format!("bandwidth: {error:#}"));
    }
    for run in found.runs.iter().chain(&found.cpu) {
        match &run.report {
            Err(error) => failures.push(format!("{error:#}")),
            Ok(report) => {
                failures.extend(report.faults().map(|fault| format!("{}, {} worlds: {fault}", run.scene, run.worlds)));
            }
        }
    }
    failures.extend(found.gradients.iter().filter_map(|(_, _, result)| Some(format!("{:#}", result.as_ref().err()?))));
    failures
}

/// The program `manyworlds` beside this one.
fn beside() -> Result<PathBuf> {
    let here = std::env::current_exe().context("the path of this program")?;
    let path = here.with_file_name(format!("manyworlds{}", std::env::consts::EXE_SUFFIX));
    if !path.is_file() {
        bail!(
            "there is no {}: the program `manyworlds` belongs beside this one (or --program names it)",
            path.display()
        );
    }
    Ok(path)
}

/// The time that is left.
struct Clock {
    start: Instant,
    limit: u64,
    in_all: u64,
}

impl Clock {
    /// For everything that is still to come.
    fn in_all_left(&self) -> Duration {
        Duration::from_secs(self.in_all).saturating_sub(self.start.elapsed())
    }

    /// For one part.
    fn left(&self) -> Result<Duration> {
        let left = self.in_all_left();
        if left.is_zero() {
            bail!("not run: --in-all {} was over", self.in_all);
        }
        Ok(left.min(Duration::from_secs(self.limit)))
    }
}

/// A bar on standard error.
fn bar(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(0).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {pos}/{len} {elapsed}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Options {
        Program::parse_from([&["manyworlds-hardware"], arguments].concat()).options
    }

    #[test]
    fn software_is_not_written_as_hardware() {
        let refused = |software, arguments: &[&str]| allowed(software, "llvmpipe", &options(arguments)).is_err();
        assert!(refused(true, &[]));
        assert!(refused(true, &["--out", "try.md"]));
        assert!(refused(true, &["--software"]));
        assert!(refused(true, &["--software", "--out", "./docs/hardware.md"]));
        assert!(!refused(true, &["--software", "--out", "try.md"]));
        assert!(refused(false, &["--software", "--out", "try.md"]));
        assert!(!refused(false, &[]));
    }

    #[test]
    fn time_runs_out() {
        let over = Clock { start: Instant::now(), limit: 5, in_all: 0 };
        assert!(over.left().is_err());
        let not_over = Clock { in_all: 60, ..over };
        assert!(not_over.left().unwrap() <= Duration::from_secs(5));
    }
}
