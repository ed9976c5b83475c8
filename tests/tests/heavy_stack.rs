//! The stack in which every box weighs eight times the one under it, for its ten seconds.

use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision, State, load};

/// Steps of ten seconds.
const STEPS: usize = 1205;

/// The state before and after ten seconds, and the deepest penetration in between, m.
fn ten_seconds(solver: &str) -> (State, State, f64) {
    let model = load("heavy-stack", &ImportOptions::default()).expect("a scene").model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        solver: solver.into(),
        tolerance: 1e-6,
        iterations: 1000,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
    let before = batch.state(0).expect("a state");
    let (mut worlds, mut deepest) = (Vec::new(), 0.0_f64);
    for _ in 0..STEPS {
        batch.step::<f64>(&[]).expect("a step");
        worlds.clear();
        batch.summaries(&mut worlds).expect("summaries");
        assert!(!worlds[0].failed() && !worlds[0].penetration.is_nan());
        deepest = deepest.max(worlds[0].penetration);
    }
    (before, batch.state(0).expect("a state"), deepest)
}

/// How far the box that moved most went, m.
fn farthest(before: &State, after: &State) -> f64 {
    let boxes = before.q.chunks(7).zip(after.q.chunks(7));
    boxes.flat_map(|(a, b)| (0..3).map(|i| (a[i] - b[i]).abs())).fold(0.0, f64::max)
}

#[test]
fn a_heavy_stack_stands_where_sweeps_let_it_fall() {
    for solver in ["auto", "canal"] {
        let (before, after, deepest) = ten_seconds(solver);
        assert!(deepest < 1e-5, "{solver}: {deepest} m");
        let moved = farthest(&before, &after);
        assert!(moved < 1e-4, "{solver}: {moved} m");
    }
    let (before, after, _) = ten_seconds("pgs");
    assert!(farthest(&before, &after) > 0.1, "a thousand sweeps of projected Gauss-Seidel do not hold it");
}
