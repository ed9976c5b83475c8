//! Kernels on the device against their mirrors: every case of the test suite.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use indicatif::ProgressBar;
use manyworlds_gpu::{DeviceOptions, GpuDevice};
use manyworlds_tests::parity::cases;
use serde::{Deserialize, Serialize};

use crate::child;

/// What became of a case.
#[derive(Serialize, Deserialize)]
struct Checked {
    kernel: String,
    /// What differs.
    fault: Option<String>,
}

/// What became of all of them.
pub(crate) struct Parity {
    pub(crate) kernels: usize,
    pub(crate) cases: usize,
    pub(crate) faults: Vec<String>,
}

/// In a process of its own: checks the cases of a range, a line of JSON each.
///
/// # Errors
/// If there is no device.
pub(crate) fn part(range: Range<usize>) -> Result<()> {
    let device = GpuDevice::open(&DeviceOptions::default())?;
    for case in cases().iter().take(range.end).skip(range.start) {
        let checked = Checked { kernel: case.kernel.name.to_owned(), fault: case.check_device(&device).err() };
        println!("{}", serde_json::to_string(&checked)?);
    }
    Ok(())
}

/// Checks all cases, each within the limit and all within `in_all`, in as many processes at once as there are threads: most of
/// the time is the driver's, which compiles a pipeline on one. A case that breaks its process is a fault, and the rest go on in
/// another.
///
/// # Errors
/// If the first case cannot be checked at all (there is no device, say), or a process prints something else than results.
pub(crate) fn run(limit: Duration, in_all: Duration, bar: &ProgressBar) -> Result<Parity> {
    let end = Instant::now() + in_all;
    let names: Vec<String> = cases().iter().map(|case| format!("{} ({})", case.kernel.name, case.name)).collect();
    bar.set_length(names.len() as u64);
    let check = |range: Range<usize>| stretch(range, &names, limit, end, bar);
    let first = check(0..1)?;
    if let Some(fault) = first.faults.first().filter(|_| first.kernels.is_empty()) {
        bail!("the first case: {fault}");
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let size = names.len().div_ceil(4 * threads);
    let next = AtomicUsize::new(1);
    let worker = || -> Result<Stretch> {
        let mut found = Stretch::default();
        loop {
            let from = next.fetch_add(size, Ordering::Relaxed);
            if from >= names.len() {
                return Ok(found);
            }
            found.add(check(from..(from + size).min(names.len()))?);
        }
    };
    let mut found = first;
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            found.add(worker.join().map_err(|_| anyhow!("a thread of this program broke down"))??);
        }
        Ok(())
    })?;
    Ok(Parity { kernels: found.kernels.len(), cases: names.len(), faults: found.faults })
}

/// What became of some of the cases.
#[derive(Default)]
struct Stretch {
    kernels: BTreeSet<String>,
    faults: Vec<String>,
}

impl Stretch {
    fn add(&mut self, other: Self) {
        self.kernels.extend(other.kernels);
        self.faults.extend(other.faults);
    }
}

/// Checks a range of cases in one process, and in further ones where that breaks down.
fn stretch(range: Range<usize>, names: &[String], limit: Duration, end: Instant, bar: &ProgressBar) -> Result<Stretch> {
    let (mut found, mut from) = (Stretch::default(), range.start);
    while from < range.end {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let first = &names[from];
            found.faults.push(format!("{} cases from {first} on are not checked: time was over", range.end - from));
            break;
        }
        let mut command = child::part()?;
        command.args(["part", "parity", "--from", &from.to_string(), "--to", &range.end.to_string()]);
        let mut strange = None;
        let ended = child::lines(&mut command, limit, left, |line| match serde_json::from_str::<Checked>(&line) {
            Ok(checked) => {
                from += 1;
                bar.inc(1);
                found.kernels.insert(checked.kernel);
                found.faults.extend(checked.fault);
            }
            Err(_) => strange = Some(line),
        });
        if let Some(line) = strange {
            bail!("it printed `{line}`");
        }
        match ended {
            Ok(()) => break,
            Err(error) => {
                found.faults.push(format!("{}: {error:#}", names[from.min(range.end - 1)]));
                from += 1;
                bar.inc(1);
            }
        }
    }
    Ok(found)
}
