//! `manyworlds info`: what there is to run on.

use clap::Args;
use serde::Serialize;

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output;

/// Options of `info`.
#[derive(Args)]
pub(crate) struct InfoArgs {
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Report {
    adapters: Vec<Adapter>,
    cpu: Cpu,
}

#[derive(Serialize)]
struct Adapter {
    name: String,
    backend: String,
    kind: String,
    driver: String,
    precision: Vec<&'static str>,
    limits: Limits,
}

/// In bytes; what a batch needs beyond a binding it splits into chunks.
#[derive(Serialize)]
struct Limits {
    storage_binding: u64,
    buffer: u64,
    workgroup_memory: u32,
}

#[derive(Serialize)]
struct Cpu {
    threads: usize,
    precision: [&'static str; 2],
}

/// Lists the adapters, the best first.
pub(crate) fn info(args: &InfoArgs) -> Result<(), Failure> {
    let adapters = manyworlds::adapters().into_iter().map(|a| Adapter {
        name: a.name,
        backend: a.backend,
        kind: a.kind,
        driver: a.driver,
        precision: a.precisions,
        limits: Limits {
            storage_binding: a.max_binding_bytes,
            buffer: a.max_buffer_bytes,
            workgroup_memory: a.max_workgroup_bytes,
        },
    });
    let report = Report {
        adapters: adapters.collect(),
        cpu: Cpu { threads: rayon::current_num_threads(), precision: ["f32", "f64"] },
    };
    output::print(args.output.json, &report, human)
}

fn human(report: &Report) -> String {
    let mut table = output::table(["adapter", "kind", "backend", "precision", "largest binding", "workgroup memory"]);
    for a in &report.adapters {
        table.add_row([
            format!("{} ({})", a.name, a.driver),
            a.kind.clone(),
            a.backend.clone(),
            a.precision.join(", "),
            format!("{} MiB", a.limits.storage_binding >> 20),
            format!("{} KiB", a.limits.workgroup_memory >> 10),
        ]);
    }
    table.add_row([
        format!("CPU executor, {} threads", report.cpu.threads),
        "cpu".into(),
        "rayon".into(),
        report.cpu.precision.join(", "),
        "-".into(),
        "-".into(),
    ]);
    let none =
        if report.adapters.is_empty() { "\nNo adapter was found: everything runs on the CPU executor.\n" } else { "" };
    format!("{table}{none}")
}
