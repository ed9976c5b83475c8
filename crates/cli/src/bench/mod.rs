//! `manyworlds bench`: how fast a batch steps, and how well its contacts are solved.

mod drive;
mod measure;
mod report;
mod traffic;

use clap::Args;
use manyworlds::Batch;

use self::drive::{Controls, Steps};
use self::measure::{Budget, Measured, Spend, measure};
use self::report::{Report, StageTimes, human, verdict};
use self::traffic::traffic;
use crate::args::{ImportArgs, OutputArgs, RunArgs};
use crate::failure::Failure;
use crate::output;
use crate::record::RecordArgs;
use crate::state::{Start, State};
use crate::statistics::median;

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
