//! The scenes in which an arm does something, by what they must show. Whole runs take longer than a test may; these are
//! their decisive parts.

use std::f64::consts::TAU;

use manyworlds::{Batch, BatchOptions, ControlCurve, Executor, ImportOptions, Precision, State, load, scenes};

/// A run of a scene under its own controls.
struct Run {
    batch: Batch,
    curve: ControlCurve,
    step: f64,
}

impl Run {
    fn new(name: &str, solver: &str, iterations: u32) -> Self {
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
        Self { batch, curve, step: model.options.timestep }
    }

    /// Follows the controls from one time to another; `see` is called after every step.
    fn follow(&mut self, from: f64, to: f64, mut see: impl FnMut(f64, &State)) {
        let count = ((to - from) / self.step).round() as usize;
        for i in 0..count {
            let time = from + i as f64 * self.step;
            self.batch.step(&self.curve.at(time)).expect("a step");
            see(time + self.step, &self.batch.state(0).expect("a state"));
        }
    }

    fn penetration(&mut self) -> f64 {
        let mut worlds = Vec::new();
        self.batch.summaries(&mut worlds).expect("summaries");
        assert!(!worlds[0].failed());
        worlds[0].penetration
    }
}

/// Turns about the vertical of the free body whose state comes first.
fn turns(state: &State) -> f64 {
    2.0 * state.q[6].atan2(state.q[3]) / TAU
}

/// The last of three strokes: the nut has two thirds of a turn to go.
#[test]
fn an_arm_turns_a_nut_home() {
    let (pitch, home) = (0.005, 0.019);
    let (from, grip, seated, left, end) = (6.2, 6.4, 7.55, 8.0, 8.5);
    let mut run = Run::new("nut-turning", "auto", 200);
    // After two strokes, 600 degrees: where the thread has it, a little above where it hangs.
    let turned: f64 = -600.0 / 360.0;
    let angle = (30.0 / 360.0 + turned) * TAU;
    let mut q = vec![0.55, 0.0, 0.030_416_666_7 + turned * pitch, (angle / 2.0).cos(), 0.0, 0.0, (angle / 2.0).sin()];
    q.extend(run.curve.at(from));
    let v = vec![0.0; 13];
    run.batch.reset(&[(0, State { q, v, ctrl: run.curve.at(from), tau: vec![] })]).expect("a reset");

    let mut trace: Vec<(f64, f64, f64)> = Vec::new();
    run.follow(from, end, |time, state| {
        let last = trace.last().map_or(turns(state), |moment| moment.2);
        let turn = turns(state) - last;
        trace.push((time, state.q[2], last + turn - turn.round()));
    });
    let at = |time: f64| trace[trace.partition_point(|moment| moment.0 < time - 1e-9)];
    // A pitch a turn, as long as it turns freely.
    let ((_, high, before), (_, low, after)) = (at(grip), at(7.2));
    assert!(before - after > 0.4, "{} turns", before - after);
    assert!(((high - low) / (before - after) - pitch).abs() < 2e-5, "{} m a turn", (high - low) / (before - after));
    // Home, and held there once the spanner has left.
    let (_, seat, seat_turn) = at(seated);
    assert!((seat - home).abs() < 2e-5, "sits at {seat} m");
    let (_, height, turn) = at(left);
    let (_, end_height, end_turn) = *trace.last().expect("steps");
    assert!((end_height - home).abs() < 2e-5, "stays at {end_height} m");
    assert!((end_height - height).abs() < 1e-6 && (end_turn - turn).abs() < 1e-5, "nothing moves it any more");
    assert!((end_turn - seat_turn).abs() < 0.5 / 360.0, "tight: {} turns", end_turn - seat_turn);
    assert!(run.penetration() < 5e-5);
}
