//! Times steps, and looks at certificates between them.

use std::time::{Duration, Instant};

use manyworlds::gpu::Timings;
use manyworlds::{Batch, BatchOptions, Precision, status};

use super::drive::{Controls, Steps};
use super::report::Finished;
use crate::failure::Failure;
use crate::output;
use crate::record::Recorder;
use crate::statistics::worse;

/// Steps that are timed in one go, between two looks at the certificates (which the clock leaves out).
const SEGMENT: u64 = 10;
/// Of so many of those the first has its stages timed, the others all of it.
const BY_STAGE: u64 = 4;

/// Seconds that the program may take without arguments: whoever built it for the first time has waited long enough.
const BUDGET: f64 = 12.0;

/// Part of that for settling.
const SETTLING: f64 = 0.7;

/// A limit of time, for the default run alone: a run that names its model or its steps takes what it takes.
pub(super) struct Budget(Option<Instant>);

impl Budget {
    pub(super) fn new(limited: bool) -> Self {
        Self(limited.then(Instant::now))
    }

    /// Whether this part of the time is over.
    fn spent(&self, part: f64) -> bool {
        self.0.is_some_and(|start| start.elapsed().as_secs_f64() > part * BUDGET)
    }
}

/// What a run may take.
pub(super) struct Spend {
    pub(super) steps: Steps,
    pub(super) budget: Budget,
}

/// What the timed steps gave.
#[derive(Default)]
pub(super) struct Measured {
    pub(super) certificate: Certificate,
    /// Steps that were timed as a whole, and those whose stages were.
    pub(super) speed: Timed,
    pub(super) stages: Timed,
    /// Milliseconds by stage of the latter.
    pub(super) sums: Timings,
    pub(super) steps: u64,
    pub(super) settled: u64,
}

/// Some steps and the seconds that they took.
#[derive(Default)]
pub(super) struct Timed {
    pub(super) steps: u64,
    pub(super) seconds: f64,
}

/// Lets the worlds settle, then times steps between looks at their certificates.
pub(super) fn measure(
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

/// What the sampled worlds say of themselves.
#[derive(Default)]
pub(super) struct Certificate {
    pub(super) residuals: Vec<f64>,
    pub(super) residuals_scaled: Vec<f64>,
    pub(super) residual_max: f64,
    pub(super) residual_scaled_max: f64,
    pub(super) penetration_max: f64,
    pub(super) contacts: u64,
    pub(super) failed: usize,
    pub(super) unconverged: usize,
    pub(super) relaxed: usize,
    pub(super) over_tolerance: Vec<bool>,
    pub(super) finished_by: Finished,
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
