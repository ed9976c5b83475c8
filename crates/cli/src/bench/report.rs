//! What `bench` says, to people and to programs.

use std::collections::BTreeMap;

use manyworlds::contact::solve::Stage;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// What `bench` prints; residuals, contacts and penetration are over all worlds of the sampled steps.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) model: String,
    pub(super) worlds: usize,
    pub(super) steps: u64,
    pub(super) settle_steps: u64,
    pub(super) executor: &'static str,
    pub(super) adapter: String,
    pub(super) precision: &'static str,
    pub(super) solver: String,
    pub(super) dt: f64,
    pub(super) steps_per_second: f64,
    pub(super) us_per_world_step: f64,
    pub(super) contacts_mean: f64,
    pub(super) residual_median: f64,
    pub(super) residual_max: f64,
    pub(super) residual_scaled_median: f64,
    pub(super) residual_scaled_max: f64,
    pub(super) penetration_max: f64,
    pub(super) worlds_failed: usize,
    pub(super) worlds_unconverged: usize,
    /// In the last sample: worlds whose step asked for what no motion gives.
    pub(super) worlds_relaxed: usize,
    pub(super) worlds_over_tolerance: usize,
    /// Of the sampled world-steps: how many needed no more than the solver's first stage, and which the others did.
    pub(super) finished_by: Finished,
    pub(super) bytes_per_world: u64,
    pub(super) stage_ms: StageTimes,
    /// Whether the stages name the kernels: on an adapter without timestamps they are one stage, `device`.
    pub(super) device_stages: bool,
    /// Contact problems written by `--record`.
    pub(super) recorded: usize,
    pub(super) seed: u64,
    pub(super) n_v: usize,
    pub(super) threads: usize,
}

/// Sampled world-steps by the stage that came last.
#[derive(Debug, Default)]
pub(super) struct Finished(pub(super) BTreeMap<Option<Stage>, u64>);

impl Finished {
    fn names(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(stage, &count)| (stage.map_or("the first", Stage::name), count))
    }
}

impl Serialize for Finished {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.names())
    }
}

/// Stage names and their milliseconds a step, in the order of the step.
pub(super) struct StageTimes(pub(super) Vec<(&'static str, f64)>);

impl Serialize for StageTimes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, ms)| (name, ms)))
    }
}

/// Exit code 1 when worlds broke down, or missed the tolerance that was asked for.
pub(super) fn verdict(report: &Report, tolerance: Option<f64>) -> Result<(), Failure> {
    if report.worlds_failed > 0 {
        let Report { worlds_failed, worlds, .. } = report;
        return Err(Failure::Check(format!("{worlds_failed} of {worlds} worlds failed (not finite, or a breakdown)")));
    }
    match tolerance {
        Some(tolerance) if report.worlds_over_tolerance > 0 => Err(Failure::Check(format!(
            "{} of {} worlds missed the tolerance {tolerance:.1e}; the largest residual is {:.3e}",
            report.worlds_over_tolerance, report.worlds, report.residual_max
        ))),
        _ => Ok(()),
    }
}

/// Shares of the sampled world-steps by the stage that came last.
fn finished(by: &Finished) -> String {
    let total: u64 = by.0.values().sum();
    let share = |(name, count): (&str, u64)| format!("{name} {:.3} %", 100.0 * count as f64 / total.max(1) as f64);
    by.names().map(share).collect::<Vec<_>>().join(", ")
}

pub(super) fn human(report: &Report, fell_back: bool) -> String {
    let no_adapter = if fell_back { "; no hardware adapter was found, so the CPU runs it" } else { "" };
    let mut summary = output::pairs([
        ("model", format!("{} (n_v {}), step {} s", report.model, report.n_v, report.dt)),
        (
            "worlds x steps",
            format!("{} x {}, after {} steps to settle", report.worlds, report.steps, report.settle_steps),
        ),
        ("executor", format!("{}: {}, {}{no_adapter}", report.executor, report.adapter, report.precision)),
        (
            "throughput",
            format!(
                "{} world-steps/s, {:.2} µs each, {:.0} times real time",
                output::thousands(report.steps_per_second),
                report.us_per_world_step,
                report.steps_per_second * report.dt
            ),
        ),
        (
            "residual",
            format!(
                "median {:.1e}, largest {:.1e} N s ({})",
                report.residual_median, report.residual_max, report.solver
            ),
        ),
        (
            "scaled residual",
            format!("median {:.1e}, largest {:.1e} m/s", report.residual_scaled_median, report.residual_scaled_max),
        ),
        (
            "contacts",
            format!("{:.1} a world, deepest penetration {:.2e} m", report.contacts_mean, report.penetration_max),
        ),
        (
            "worlds",
            format!(
                "{} failed; {} over the tolerance at some step, {} at the iteration limit and {} relaxed in the last",
                report.worlds_failed, report.worlds_over_tolerance, report.worlds_unconverged, report.worlds_relaxed
            ),
        ),
        ("solver stages", finished(&report.finished_by)),
        ("memory", format!("{} bytes a world", output::thousands(report.bytes_per_world as f64))),
    ])
    .to_string();
    let mut stages = output::table(["stage", "ms a step, all threads", "share"]);
    let total: f64 = report.stage_ms.0.iter().map(|(_, ms)| ms).sum();
    for (name, ms) in &report.stage_ms.0 {
        stages.add_row([(*name).to_owned(), format!("{ms:.4}"), format!("{:.0} %", 100.0 * ms / total)]);
    }
    output::align_numbers(&mut stages);
    summary += &format!("\n{stages}");
    if !report.device_stages {
        summary +=
            "\nthe adapter has no timestamps: `device` is all kernels, from submission until the host has waited";
    }
    summary
}
