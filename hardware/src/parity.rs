//! Kernels on the device against their mirrors: every case of the test suite.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
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
#[derive(Default)]
pub(crate) struct Parity {
    pub(crate) kernels: usize,
    pub(crate) cases: usize,
    pub(crate) faults: Vec<String>,
}

/// In a process of its own: checks the cases from a number on, a line of JSON each.
///
/// # Errors
/// If there is no device.
pub(crate) fn part(from: usize) -> Result<()> {
    let device = GpuDevice::open(&DeviceOptions::default())?;
    for case in cases().iter().skip(from) {
        let checked = Checked { kernel: case.kernel.name.to_owned(), fault: case.check_device(&device).err() };
        println!("{}", serde_json::to_string(&checked)?);
    }
    Ok(())
}

/// Checks all cases, each within the limit and all within `in_all`; one that breaks its process is a fault, and the rest go on
/// in another.
pub(crate) fn run(limit: Duration, in_all: Duration, bar: &ProgressBar) -> Result<Parity> {
    let start = Instant::now();
    let all: Vec<String> = cases().iter().map(|case| format!("{} ({})", case.kernel.name, case.name)).collect();
    bar.set_length(all.len() as u64);
    let (mut parity, mut kernels) = (Parity::default(), BTreeSet::new());
    let mut from = 0;
    while from < all.len() {
        let left = in_all.saturating_sub(start.elapsed());
        if left.is_zero() {
            parity.faults.push(format!("{} cases are not checked: time was over", all.len() - from));
            break;
        }
        let mut command = child::part()?;
        command.args(["part", "parity", "--from", &from.to_string()]);
        let before = from;
        let mut strange = None;
        let ended = child::lines(&mut command, limit, left, |line| match serde_json::from_str::<Checked>(&line) {
            Ok(checked) => {
                from += 1;
                bar.inc(1);
                kernels.insert(checked.kernel);
                parity.faults.extend(checked.fault);
            }
            Err(_) => strange = Some(line),
        });
        if let Some(line) = strange {
            return Err(anyhow::anyhow!("it printed `{line}`"));
        }
        match ended {
            Ok(()) => break,
            // Nothing was checked at all: there is no device, say.
            Err(error) if from == before && before == 0 => return Err(error).context("the first case"),
            Err(error) => {
                parity.faults.push(format!("{}: {error:#}", all[from.min(all.len() - 1)]));
                from += 1;
                bar.inc(1);
            }
        }
    }
    (parity.cases, parity.kernels) = (all.len(), kernels.len());
    Ok(parity)
}
