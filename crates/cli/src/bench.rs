//! `manyworlds bench`: how fast a batch steps, and how well its contacts are solved.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use manyworlds::contact::solve::Stage;
use manyworlds::gpu::Timings;
use manyworlds::{Batch, BatchOptions, Precision, status};
use serde::Serialize;

use crate::args::{ImportArgs, OutputArgs, RunArgs};
use crate::failure::Failure;
use crate::output;
use crate::record::{RecordArgs, Recorder};
use crate::state::{Start, State};
use crate::statistics::{median, worse};
use crate::traffic::traffic;

/// Untimed steps of a model that says nothing of it: enough for the buffers to grow and a robot to land.
const SETTLE: u64 = 200;

/// Amplitude of the random controls of a model that says nothing of it.
const AMPLITUDE: f64 = 0.1;

/// Options of `bench`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  manyworlds bench                                          the built-in humanoid
  manyworlds bench half-cheetah --worlds 4096 --executor gpu
  manyworlds bench my_robot.xml --worlds 256 --precision f64 --tolerance 1e-6
  manyworlds bench ant --worlds 8 --settle 0 --steps 400 --record problems/ --record-worlds 2
  manyworlds bench humanoid --worlds 64 --steps 20 --traffic   bytes that kernels load and store, on a device
  manyworlds bench quadruped.urdf --free-root --ground --json")]
pub(crate) struct BenchArgs {
    /// Path (.xml MJCF, .urdf) or the name of a built-in scene
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) options: BenchOptions,
}

/// Options of `bench` beside the model.
#[derive(Args)]
pub(crate) struct BenchOptions {
    /// Worlds in the batch
    #[arg(long, value_name = "N", default_value_t = 1024)]
    worlds: usize,
    /// Timed steps; 200 when absent
    #[arg(long, value_name = "N")]
    steps: Option<u64>,
    /// Untimed steps before them, until contacts are steady; a built-in scene has its own default
    #[arg(long, value_name = "N")]
    settle: Option<u64>,
    /// Seed of the controls
    #[arg(long, value_name = "K", default_value_t = 0)]
    seed: u64,
    /// Largest random control beside the start's, in units of the control; a built-in scene has its own default
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    controls: Option<f64>,
    /// Count what kernels load and store on a device instead of timing them
    #[arg(long, conflicts_with = "record")]
    traffic: bool,
    #[command(flatten)]
    import: ImportArgs,
    #[command(flatten)]
    record: RecordArgs,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Timed steps where nothing is said of them.
const STEPS: u64 = 200;

/// Seconds that the program may take without arguments: under a minute on two cores, come what may.
const BUDGET: f64 = 40.0;

/// Part of that for settling.
const SETTLING: f64 = 0.7;

/// A limit of time, for the default run alone: a run that names its model or its steps takes what it takes.
struct Budget(Option<Instant>);

impl Budget {
    fn new(limited: bool) -> Self {
        Self(limited.then(Instant::now))
    }

    /// Whether this part of the time is over.
    fn spent(&self, part: f64) -> bool {
        self.0.is_some_and(|start| start.elapsed().as_secs_f64() > part * BUDGET)
    }
}

/// What `bench` prints; residuals, contacts and penetration are over all worlds of the sampled steps.
#[derive(Serialize)]
struct Report {
    model: String,
    worlds: usize,
    steps: u64,
    settle_steps: u64,
    executor: &'static str,
    adapter: String,
    precision: &'static str,
    solver: String,
    dt: f64,
    steps_per_second: f64,
    us_per_world_step: f64,
    contacts_mean: f64,
    residual_median: f64,
    residual_max: f64,
    residual_scaled_median: f64,
    residual_scaled_max: f64,
    penetration_max: f64,
    worlds_failed: usize,
    worlds_unconverged: usize,
    /// In the last sample: worlds whose step asked for what no motion gives.
    worlds_relaxed: usize,
    worlds_over_tolerance: usize,
    /// Of the sampled world-steps: how many needed no more than the solver's first stage, and which the others did.
    finished_by: Finished,
    bytes_per_world: u64,
    stage_ms: StageTimes,
    /// Whether the stages name the kernels: on an adapter without timestamps they are one stage, `device`.
    device_stages: bool,
    /// Contact problems written by `--record`.
    recorded: usize,
    seed: u64,
    n_v: usize,
    threads: usize,
}

/// Sampled world-steps by the stage that came last.
#[derive(Debug, Default)]
struct Finished(BTreeMap<Option<Stage>, u64>);

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
struct StageTimes(Vec<(&'static str, f64)>);

impl Serialize for StageTimes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, ms)| (name, ms)))
    }
}

/// Runs the benchmark and reports.
pub(crate) fn bench(model: Option<&str>, options: &BenchOptions) -> Result<(), Failure> {
    options.run.set_threads()?;
    let steps = options.steps.unwrap_or(STEPS);
    if steps == 0 {
        return Err(Failure::Input("--steps: expected at least 1, found 0".into()));
    }
    let limited = model.is_none() && options.steps.is_none() && options.settle.is_none();
    let spec = model.unwrap_or(manyworlds::scenes::default());
    let protocol = manyworlds::scenes::find(spec).map(|scene| scene.bench);
    let settle = options.settle.or(protocol.map(|p| u64::from(p.settle_steps))).unwrap_or(SETTLE);
    let amplitude = options.controls.or(protocol.map(|p| p.control_amplitude)).unwrap_or(AMPLITUDE);
    if !(amplitude >= 0.0 && amplitude.is_finite()) {
        return Err(Failure::Input(format!("--controls: expected a number not below 0, found {amplitude}")));
    }
    let model = options.import.load(spec)?.model;
    let settings = options.run.for_many(spec);
    let keyframe = options.run.keyframe(spec, &model)?;
    let start = Start::new(State::default(), keyframe, &model);
    let middle = start.0.ctrl.clone();
    let mut controls = Controls { middle, amplitude, worlds: options.worlds, seed: options.seed, step: 0 };
    let steps = Steps { settle, steps };
    if options.traffic {
        return traffic(&model, settings, &start, controls, steps, options.output.json);
    }
    let mut batch = Batch::new(&[(&model, options.worlds)], &settings)?;
    start.apply(&mut batch)?;

    let mut recorder = options.record.start(&model.name, settings.precision)?;
    let spend = Spend { steps, budget: Budget::new(limited) };
    let measured = measure(&mut batch, &mut controls, &spend, &settings, &mut recorder)?;
    let Measured { mut certificate, speed, stages, sums, steps, settled } = measured;

    let (seconds, world_steps) = (speed.seconds, options.worlds as f64 * speed.steps as f64);
    let report = Report {
        model: model.name.clone(),
        worlds: options.worlds,
        steps,
        settle_steps: settled,
        executor: batch.executor(),
        adapter: batch.adapter(),
        precision: settings.precision.name(),
        solver: settings.solver.clone(),
        dt: settings.dt.unwrap_or(model.options.timestep),
        steps_per_second: world_steps / seconds,
        us_per_world_step: seconds / world_steps * 1e6,
        contacts_mean: certificate.contacts as f64 / certificate.residuals.len().max(1) as f64,
        residual_median: median(&mut certificate.residuals),
        residual_max: certificate.residual_max,
        residual_scaled_median: median(&mut certificate.residuals_scaled),
        residual_scaled_max: certificate.residual_scaled_max,
        penetration_max: certificate.penetration_max,
        worlds_failed: certificate.failed,
        worlds_unconverged: certificate.unconverged,
        worlds_relaxed: certificate.relaxed,
        worlds_over_tolerance: certificate.over_tolerance.iter().filter(|&&over| over).count(),
        finished_by: certificate.finished_by,
        bytes_per_world: batch.bytes_per_world(),
        stage_ms: StageTimes(sums.stages.into_iter().map(|(name, ms)| (name, ms / stages.steps as f64)).collect()),
        device_stages: batch.times_device_stages(),
        recorded: recorder.map_or(0, |recorder| recorder.written()),
        seed: options.seed,
        n_v: model.n_v,
        threads: rayon::current_num_threads(),
    };
    output::print(options.output.json, &report, |r| human(r, options.run.fell_back(&batch)))?;
    verdict(&report, options.run.tolerance)
}

/// Steps of a run, and those before them.
pub(crate) struct Steps {
    pub(crate) settle: u64,
    pub(crate) steps: u64,
}

/// What a run may take.
struct Spend {
    steps: Steps,
    budget: Budget,
}

/// What the timed steps gave.
#[derive(Default)]
struct Measured {
    certificate: Certificate,
    /// Steps that were timed as a whole, and those whose stages were.
    speed: Timed,
    stages: Timed,
    /// Milliseconds by stage of the latter.
    sums: Timings,
    steps: u64,
    settled: u64,
}

/// Some steps and the seconds that they took.
#[derive(Default)]
struct Timed {
    steps: u64,
    seconds: f64,
}

/// Lets the worlds settle, then times steps between looks at their certificates.
fn measure(
    batch: &mut Batch,
    controls: &mut Controls,
    spend: &Spend,
    settings: &BatchOptions,
    recorder: &mut Option<Recorder>,
) -> Result<Measured, Failure> {
    let Spend { steps: Steps { settle, steps }, budget } = spend;
    let (settle, steps) = (*settle, *steps);
    let bar = output::progress(settle + steps, "stepping");
    let mut measured = Measured::default();
    while measured.settled < settle && !budget.spent(SETTLING) {
        batch.step(&controls.next())?;
        measured.settled += 1;
        bar.inc(1);
        if measured.settled.is_multiple_of(SEGMENT) {
            batch.wait()?;
        }
    }
    batch.wait()?;
    while measured.steps < steps && (measured.steps == 0 || !budget.spent(1.0)) {
        let count = SEGMENT.min(steps - measured.steps);
        // Looking at the clock between stages takes time too: a fifth of a step of the smallest models.
        let by_stage = (measured.steps / SEGMENT).is_multiple_of(BY_STAGE);
        batch.time_stages(by_stage);
        let segment: Vec<Vec<f64>> = (0..count).map(|_| controls.next()).collect();
        let clock = Instant::now();
        let mut recording = Duration::ZERO;
        for controls in &segment {
            batch.step(controls)?;
            if let Some(recorder) = recorder {
                batch.wait()?;
                let clock = Instant::now();
                recorder.after_step(batch)?;
                recording += clock.elapsed();
            }
        }
        batch.wait()?;
        let seconds = (clock.elapsed() - recording).as_secs_f64();
        let timed = if by_stage { &mut measured.stages } else { &mut measured.speed };
        *timed = Timed { steps: timed.steps + count, seconds: timed.seconds + seconds };
        if by_stage {
            batch.stage_ms().into_iter().for_each(|(name, ms)| measured.sums.add(name, ms));
        }
        measured.steps += count;
        measured.certificate.sample(batch, settings)?;
        bar.inc(count);
    }
    bar.finish_and_clear();
    // A short run has no others.
    if measured.speed.steps == 0 {
        measured.speed = Timed { ..measured.stages };
    }
    Ok(measured)
}

/// Steps that are timed in one go, between two looks at the certificates (which the clock leaves out).
const SEGMENT: u64 = 10;
/// Of so many of those the first has its stages timed, the others all of it.
const BY_STAGE: u64 = 4;

/// Exit code 1 when worlds broke down, or missed the tolerance that was asked for.
fn verdict(report: &Report, tolerance: Option<f64>) -> Result<(), Failure> {
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

/// Random controls around those of the initial state, drawn evenly; the model clamps them to their range.
pub(crate) struct Controls {
    middle: Vec<f64>,
    amplitude: f64,
    worlds: usize,
    seed: u64,
    step: u64,
}

impl Controls {
    pub(crate) fn worlds(&self) -> usize {
        self.worlds
    }

    /// Those of the next step, world by world.
    pub(crate) fn next(&mut self) -> Vec<f64> {
        let mut controls = Vec::with_capacity(self.worlds * self.middle.len());
        for world in 0..self.worlds as u64 {
            for (u, middle) in self.middle.iter().enumerate() {
                let x = manyworlds::random::symmetric(self.seed, world, self.step, u as u64);
                controls.push(middle + self.amplitude * x);
            }
        }
        self.step += 1;
        controls
    }
}

/// What the sampled worlds say of themselves.
#[derive(Default)]
struct Certificate {
    residuals: Vec<f64>,
    residuals_scaled: Vec<f64>,
    residual_max: f64,
    residual_scaled_max: f64,
    penetration_max: f64,
    contacts: u64,
    failed: usize,
    unconverged: usize,
    relaxed: usize,
    over_tolerance: Vec<bool>,
    finished_by: Finished,
}

impl Certificate {
    /// Adds every world of a batch as it stands; the failed and the unconverged are those of the last sample.
    fn sample(&mut self, batch: &mut Batch, settings: &BatchOptions) -> Result<(), Failure> {
        let mut worlds = Vec::with_capacity(batch.len());
        batch.summaries(&mut worlds)?;
        self.over_tolerance.resize(worlds.len(), false);
        (self.failed, self.unconverged, self.relaxed) = (0, 0, 0);
        for (world, over_tolerance) in worlds.iter().zip(&mut self.over_tolerance) {
            self.residuals.push(world.residual);
            self.residuals_scaled.push(world.residual_scaled);
            self.residual_max = worse(self.residual_max, world.residual);
            self.residual_scaled_max = worse(self.residual_scaled_max, world.residual_scaled);
            self.penetration_max = worse(self.penetration_max, world.penetration);
            self.contacts += u64::from(world.contacts);
            // Single precision cannot reach a small number 1 with heavy bodies: there the scaled one counts as well.
            let best = match settings.precision {
                Precision::F32 => world.residual.min(world.residual_scaled),
                Precision::F64 => world.residual,
            };
            *over_tolerance |= best.is_nan() || best > settings.tolerance;
            *self.finished_by.0.entry(world.stage).or_default() += 1;
            self.failed += usize::from(world.failed());
            self.unconverged += usize::from(world.status & status::ITERATION_LIMIT != 0);
            self.relaxed += usize::from(world.is_relaxed());
        }
        Ok(())
    }
}

/// Shares of the sampled world-steps by the stage that came last.
fn finished(by: &Finished) -> String {
    let total: u64 = by.0.values().sum();
    let share = |(name, count): (&str, u64)| format!("{name} {:.3} %", 100.0 * count as f64 / total.max(1) as f64);
    by.names().map(share).collect::<Vec<_>>().join(", ")
}

fn human(report: &Report, fell_back: bool) -> String {
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
