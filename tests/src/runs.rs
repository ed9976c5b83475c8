//! Built-in scenes that follow their own controls.

use manyworlds::{Batch, BatchOptions, ControlCurve, Executor, ImportOptions, Model, Precision, State, load, scenes};

/// A run of a scene under its own controls, in f64 on the CPU.
pub struct Run {
    /// One world.
    pub batch: Batch,
    /// Its model.
    pub model: Model,
    /// Its controls over time.
    pub curve: ControlCurve,
}

impl Run {
    /// With a solver and at most so many iterations a step.
    ///
    /// # Panics
    /// If there is no such scene, or it has no controls.
    #[must_use]
    pub fn new(name: &str, solver: &str, iterations: u32) -> Self {
        let scene = scenes::find(name).expect("a scene");
        let model = load(name, &ImportOptions::default()).expect("its model").model;
        let options = BatchOptions {
            executor: Executor::Cpu,
            precision: Precision::F64,
            solver: solver.into(),
            tolerance: scene.solver.tolerance,
            iterations,
            ..BatchOptions::default()
        };
        let rest = vec![0.0; model.actuators.len()];
        let curve = ControlCurve::from_csv(scene.controls().expect("controls"), &model, &rest).expect("its controls");
        let batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
        Self { batch, model, curve }
    }

    /// As [`Self::new`], with `auto` to the tolerance of the scene.
    ///
    /// # Panics
    /// As [`Self::new`].
    #[must_use]
    pub fn auto(name: &str) -> Self {
        Self::new(name, "auto", scenes::find(name).expect("a scene").solver.iterations)
    }

    /// Follows the controls from one time to another; `see` is called after every step.
    ///
    /// # Panics
    /// If a step fails.
    pub fn follow(&mut self, from: f64, to: f64, mut see: impl FnMut(f64, &State)) {
        let step = self.model.options.timestep;
        let count = ((to - from) / step).round() as usize;
        for i in 0..count {
            let time = from + i as f64 * step;
            self.batch.step(&self.curve.at(time)).expect("a step");
            see(time + step, &self.batch.state(0).expect("a state"));
        }
    }

    /// The deepest of the last step, m.
    ///
    /// # Panics
    /// If the world failed.
    pub fn penetration(&mut self) -> f64 {
        let mut worlds = Vec::new();
        self.batch.summaries(&mut worlds).expect("summaries");
        assert!(!worlds[0].failed());
        worlds[0].penetration
    }
}
