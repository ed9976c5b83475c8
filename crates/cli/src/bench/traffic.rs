//! `bench --traffic`: what each kernel loads from storage buffers and stores there.

use std::collections::BTreeMap;
use std::sync::Arc;

use manyworlds::gpu::{DeviceOptions, GpuDevice};
use manyworlds::{Batch, BatchOptions, Model};
use serde::Serialize;

use super::drive::{Controls, Steps};
use crate::failure::Failure;
use crate::output;
use crate::state::Start;

/// What is printed.
#[derive(Serialize)]
struct Report {
    model: String,
    worlds: usize,
    steps: u64,
    settle_steps: u64,
    adapter: String,
    precision: &'static str,
    /// Bytes a world-step over all kernels.
    loaded: f64,
    stored: f64,
    /// Those that move most first.
    kernels: Vec<Row>,
}

/// Bytes a world-step of a kernel.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    loaded: f64,
    stored: f64,
}

/// Steps worlds on a device whose kernels count, and reports.
pub(super) fn traffic(
    model: &Model,
    settings: BatchOptions,
    start: &Start,
    mut controls: Controls,
    Steps { settle, steps }: Steps,
    json: bool,
) -> Result<(), Failure> {
    let device = GpuDevice::open(&DeviceOptions { count_accesses: true, ..DeviceOptions::default() })
        .map_err(|error| Failure::Input(format!("--traffic: {error}")))?;
    let settings = BatchOptions { device: Some(Arc::clone(&device)), ..settings };
    let worlds = controls.worlds();
    let mut batch = Batch::new(&[(model, worlds)], &settings)?;
    start.apply(&mut batch)?;
    let bar = output::progress(settle + steps, "stepping");
    let mut sums: BTreeMap<&'static str, [u64; 2]> = BTreeMap::new();
    for step in 0..settle + steps {
        batch.step(&controls.next())?;
        batch.wait()?;
        // Asked every step: the sums hold 4 GiB.
        for of in device.accesses().map_err(|error| Failure::Input(format!("--traffic: {error}")))? {
            if step >= settle {
                let sum = sums.entry(of.kernel).or_default();
                *sum = [sum[0] + of.loaded, sum[1] + of.stored];
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let each = |bytes: u64| bytes as f64 / (worlds as f64 * steps as f64);
    let row = |(kernel, [loaded, stored]): (_, [u64; 2])| Row { kernel, loaded: each(loaded), stored: each(stored) };
    let mut kernels: Vec<Row> = sums.into_iter().map(row).collect();
    kernels.sort_by(|a, b| (b.loaded + b.stored).total_cmp(&(a.loaded + a.stored)));
    let report = Report {
        model: model.name.clone(),
        worlds,
        steps,
        settle_steps: settle,
        adapter: batch.adapter(),
        precision: settings.precision.name(),
        loaded: kernels.iter().map(|row| row.loaded).sum(),
        stored: kernels.iter().map(|row| row.stored).sum(),
        kernels,
    };
    output::print(json, &report, human)
}

fn human(report: &Report) -> String {
    let mut table = output::table(["kernel", "loaded, B", "stored, B"]);
    let all = Row { kernel: "all", loaded: report.loaded, stored: report.stored };
    for row in report.kernels.iter().chain([&all]) {
        table.add_row([row.kernel.to_owned(), format!("{:.0}", row.loaded), format!("{:.0}", row.stored)]);
    }
    format!(
        "{}: {} worlds, {} steps after {} to settle, {}, {}; bytes a world-step in storage buffers\n{table}",
        report.model, report.worlds, report.steps, report.settle_steps, report.adapter, report.precision
    )
}
