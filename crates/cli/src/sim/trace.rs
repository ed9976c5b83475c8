//! What a run looked like over time.

use manyworlds::model::{JointKind, Model};
use manyworlds::{Batch, Summary};

use crate::energy;
use crate::statistics::{median, worse};

/// Kernels of contacts in the names of stages, and the host's part of the solver.
const CONTACT: &str = "contact/";
const HOST: &str = "solve";

/// The clock of the contact solver: everything from Jacobians to the certificate, collision left out.
pub(super) struct SolverClock {
    so_far: f64,
    /// Milliseconds of every step.
    pub(super) milliseconds: Vec<f64>,
}

impl SolverClock {
    /// Starts to time, where stages can be told apart.
    pub(super) fn start(batch: &mut Batch) -> Option<Self> {
        batch.times_device_stages().then(|| {
            batch.time_stages(true);
            Self { so_far: 0.0, milliseconds: Vec::new() }
        })
    }

    /// Call after every step.
    pub(super) fn after_step(&mut self, batch: &Batch) {
        let solver = |name: &str| name.starts_with(CONTACT) || name == HOST;
        let sum: f64 = batch.stage_ms().iter().filter(|(name, _)| solver(name)).map(|(_, ms)| ms).sum();
        self.milliseconds.push(sum - self.so_far);
        self.so_far = sum;
    }

    /// Of all steps so far.
    pub(super) fn median(&self) -> f64 {
        median(&mut self.milliseconds.clone())
    }

    /// What 99 in a hundred of all steps so far did not exceed.
    pub(super) fn percentile_99(&self) -> f64 {
        let mut sorted = self.milliseconds.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get((99 * sorted.len()).div_ceil(100).saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    /// Of all steps so far; NaN before the first.
    pub(super) fn mean(&self) -> f64 {
        self.milliseconds.iter().sum::<f64>() / self.milliseconds.len() as f64
    }

    /// Of all steps so far.
    pub(super) fn largest(&self) -> f64 {
        self.milliseconds.iter().copied().fold(0.0, worse)
    }
}

/// One step as it ended.
pub(super) struct Moment {
    /// s
    pub(super) time: f64,
    /// J
    pub(super) energy: f64,
    pub(super) contacts: u32,
    /// N s
    pub(super) residual: f64,
    /// m
    pub(super) penetration: f64,
    /// Of bodies with a free joint, m, or the entries of q asked for.
    pub(super) heights: Vec<f64>,
}

/// All steps of a run.
pub(super) struct Trace {
    /// What the first panel shows.
    pub(super) what: &'static str,
    /// Names of the bodies whose heights are kept, or of the entries.
    pub(super) bodies: Vec<String>,
    /// Where they are in q.
    places: Vec<usize>,
    pub(super) moments: Vec<Moment>,
}

impl Trace {
    /// `entries` of q are kept in the place of heights, if there are any.
    pub(super) fn new(model: &Model, entries: &[usize]) -> Self {
        if !entries.is_empty() {
            let bodies = entries.iter().map(|i| format!("q{i}")).collect();
            return Self { what: "q, m or rad", bodies, places: entries.to_vec(), moments: Vec::new() };
        }
        let free = || model.joints.iter().filter(|joint| joint.kind == JointKind::Free);
        Self {
            what: "height of free bodies, m",
            bodies: free().map(|joint| model.bodies[joint.body].name.clone()).collect(),
            places: free().map(|joint| joint.q_start + 2).collect(),
            moments: Vec::new(),
        }
    }

    /// Call after every step.
    pub(super) fn add(&mut self, time: f64, model: &Model, state: &manyworlds::State, summary: &Summary) {
        self.moments.push(Moment {
            time,
            energy: energy::mechanical(model, &state.q, &state.v),
            contacts: summary.contacts,
            residual: summary.residual,
            penetration: summary.penetration,
            heights: self.places.iter().map(|&at| state.q[at]).collect(),
        });
    }
}
