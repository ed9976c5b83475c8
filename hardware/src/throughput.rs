//! `manyworlds bench` over scenes and numbers of worlds, and what its stages say of host and device.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use manyworlds_shaders::KERNELS;
use serde::Deserialize;

use crate::child;

/// Steps of a run: enough for a mean over contacts that change, few enough for the largest batches.
const STEPS: &str = "50";
/// A residual that is a fault, N s: a hundred times the tolerance that `bench` asks for in single precision. Rounding alone leaves
/// some worlds a little above that.
const FAULT: f64 = 1e-4;

/// The part of the report of `manyworlds bench` that is used here.
#[derive(Deserialize)]
pub(crate) struct Report {
    pub(crate) worlds: usize,
    pub(crate) steps_per_second: f64,
    pub(crate) residual_max: f64,
    pub(crate) worlds_failed: usize,
    pub(crate) worlds_over_tolerance: usize,
    pub(crate) bytes_per_world: u64,
    pub(crate) stage_ms: BTreeMap<String, f64>,
    pub(crate) device_stages: bool,
    pub(crate) threads: usize,
}

impl Report {
    /// What went wrong in the run.
    pub(crate) fn faults(&self) -> impl Iterator<Item = String> {
        let failed = (self.worlds_failed > 0).then(|| format!("{} of them failed", self.worlds_failed));
        let unsolved = (self.residual_max > FAULT).then(|| format!("a residual of {:.1e} N s", self.residual_max));
        failed.into_iter().chain(unsolved)
    }
}

/// Where the time of a step goes, ms.
pub(crate) struct Split {
    /// By the clock.
    pub(crate) wall: f64,
    /// Sum of the kernels' timestamps.
    pub(crate) device: f64,
    /// Sum of the host's stages, as if spread evenly over its threads.
    pub(crate) host: f64,
}

impl Split {
    /// None where the adapter has no timestamps: what it calls `device` then has parts of the host in it.
    pub(crate) fn of(report: &Report) -> Option<Self> {
        if !report.device_stages {
            return None;
        }
        let kernels: BTreeSet<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
        let (mut device, mut host) = (0.0, 0.0);
        for (name, ms) in &report.stage_ms {
            *(if kernels.contains(name.as_str()) { &mut device } else { &mut host }) += ms;
        }
        let wall = report.worlds as f64 / report.steps_per_second * 1e3;
        Some(Self { wall, device, host: host / report.threads.max(1) as f64 })
    }

    /// Part of the shorter of the two that ran while the other did: 0 one after the other, 1 all of it hidden.
    pub(crate) fn overlap(&self) -> f64 {
        let shorter = self.device.min(self.host);
        if shorter > 0.0 { ((self.device + self.host - self.wall) / shorter).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// The kernels that take longest, with their share of the device's time.
pub(crate) fn heaviest(report: &Report, most: usize) -> Vec<(&str, f64)> {
    let kernels: BTreeSet<&str> = KERNELS.iter().map(|kernel| kernel.name).collect();
    let mut stages: Vec<_> = report
        .stage_ms
        .iter()
        .filter(|(name, _)| kernels.contains(name.as_str()))
        .map(|(n, ms)| (n.as_str(), *ms))
        .collect();
    let total: f64 = stages.iter().map(|stage| stage.1).sum();
    stages.sort_by(|a, b| b.1.total_cmp(&a.1));
    stages.truncate(most);
    stages.into_iter().map(|(name, ms)| (name, ms / total)).collect()
}

/// Runs one batch.
pub(crate) fn run(
    program: &Path,
    scene: &str,
    worlds: usize,
    executor: &str,
    settle: u64,
    limit: Duration,
) -> Result<Report> {
    let mut command = Command::new(program);
    command.args(["bench", scene, "--executor", executor, "--precision", "f32", "--json", "--steps", STEPS]);
    command.args(["--worlds", &worlds.to_string(), "--settle", &settle.to_string()]);
    child::json(&mut command, limit).with_context(|| format!("{scene}, {worlds} worlds, executor {executor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(kernel: f64, collide: f64, speed: f64) -> Report {
        let stage_ms = [(KERNELS[0].name.to_owned(), kernel), ("collide".to_owned(), collide)].into();
        Report {
            worlds: 1000,
            steps_per_second: speed,
            residual_max: 0.0,
            worlds_failed: 0,
            worlds_over_tolerance: 0,
            bytes_per_world: 0,
            stage_ms,
            device_stages: true,
            threads: 2,
        }
    }

    #[test]
    fn overlap_is_what_the_clock_does_not_show() {
        // 6 ms of kernels, 4 ms of host on each of two threads: 10 ms one after the other, 6 ms where all is hidden.
        for (speed, overlap) in [(1e5, 0.0), (1.25e5, 0.5), (1e6 / 6.0, 1.0)] {
            let split = Split::of(&report(6.0, 8.0, speed)).unwrap();
            assert!((split.overlap() - overlap).abs() < 1e-9, "{} for {overlap}", split.overlap());
        }
        assert!(Split::of(&Report { device_stages: false, ..report(6.0, 8.0, 1e5) }).is_none());
    }
}
