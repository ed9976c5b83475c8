//! What drives a model through the states that are compared.

use manyworlds::model::Model;
use manyworlds::{ControlCurve, random, scenes};

use super::GradcheckArgs;
use crate::curve;
use crate::failure::Failure;
use crate::state::Start;

/// Part of its range that a random control is away from the middle by, at most.
const REACH: f64 = 0.45;

/// Controls, step by step.
pub(super) struct Controls<'m> {
    model: &'m Model,
    by: By,
    step: u64,
}

enum By {
    /// All over the range of each, with this seed.
    Random(u64),
    /// The same all the time.
    Held(Vec<f64>),
    /// What drives a scene.
    Curve(ControlCurve),
}

impl<'m> Controls<'m> {
    /// Random ones, but for scenes whose benchmark moves none: in a beam they are where its joints rest.
    pub(super) fn new(args: &GradcheckArgs, model: &'m Model, start: &Start) -> Result<Self, Failure> {
        let spec = &args.model.model;
        let is_driven = scenes::find(spec).is_some_and(|scene| scene.bench.control_amplitude == 0.0);
        let by = match curve::of_scene(spec, args.state.as_ref(), &args.run, model, start)? {
            Some(curve) => By::Curve(curve),
            None if is_driven => By::Held(start.0.ctrl.clone()),
            None => By::Random(args.seed),
        };
        Ok(Self { model, by, step: 0 })
    }

    /// Those of the next step; `dt`: where it is not the model's, s.
    pub(super) fn next(&mut self, dt: Option<f64>) -> Vec<f64> {
        let step = self.step;
        self.step += 1;
        match &self.by {
            By::Held(controls) => controls.clone(),
            By::Curve(curve) => curve.at(step as f64 * dt.unwrap_or(self.model.options.timestep)),
            By::Random(seed) => (self.model.actuators.iter().enumerate())
                .map(|(a, actuator)| {
                    let x = random::symmetric(*seed, 0, step, a as u64);
                    let [low, high] = actuator.ctrl_range.unwrap_or([-1.0, 1.0]);
                    0.5 * (low + high) + REACH * (high - low) * x
                })
                .collect(),
        }
    }
}
