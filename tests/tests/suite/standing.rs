//! Structures of free bodies that stand by friction and weight alone.

use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision, load};

/// What a run of a scene came to.
#[derive(Debug)]
struct Run {
    /// How far the body that moved most went, m.
    drift: f64,
    /// Deepest penetration on the way, m.
    deepest: f64,
    /// Largest residual on the way, N s.
    residual: f64,
}

fn run(scene: &str, solver: &str, steps: usize) -> Run {
    let model = load(scene, &ImportOptions::default()).expect("a scene").model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        solver: solver.into(),
        tolerance: 1e-6,
        iterations: 1000,
        ..BatchOptions::default()
    };
    let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
    let first = batch.state(0).expect("a state").q;
    let (mut worlds, mut deepest, mut residual) = (Vec::new(), 0.0f64, 0.0f64);
    for _ in 0..steps {
        batch.step::<f64>(&[]).expect("a step");
        batch.summaries(&mut worlds).expect("summaries");
        assert!(!worlds[0].failed() && !worlds[0].penetration.is_nan() && !worlds[0].residual.is_nan());
        deepest = deepest.max(worlds[0].penetration);
        residual = residual.max(worlds[0].residual);
    }
    let last = batch.state(0).expect("a state").q;
    let moved = |(a, b): (&[f64], &[f64])| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
    let drift = first.chunks_exact(7).zip(last.chunks_exact(7)).map(moved).fold(0.0, f64::max);
    Run { drift, deepest, residual }
}

/// Every box weighs eight times the one under it; ten seconds.
#[test]
fn a_heavy_stack_stands_where_sweeps_let_it_fall() {
    for solver in ["auto", "canal"] {
        let run = run("heavy-stack", solver, 1205);
        assert!(run.deepest < 1e-5 && run.drift < 1e-4 && run.residual <= 1e-6, "{solver}: {run:?}");
    }
    assert!(run("heavy-stack", "pgs", 1205).drift > 0.1, "a thousand sweeps of projected Gauss-Seidel do not hold it");
    let run = run("heavy-stack", "newton-cr", 240);
    assert!(run.drift < 1e-3 && run.residual <= 1e-6, "newton-cr: {run:?}");
}

#[test]
fn an_arch_stands() {
    for solver in ["auto", "canal", "newton-cr"] {
        let run = run("arch", solver, 240);
        assert!(run.drift < 1e-3 && run.residual <= 1e-6, "{solver}: {run:?}");
    }
    // Compliant contact gives way by what a time step resolves, and holds.
    let run = run("arch", "sap", 240);
    assert!(run.drift < 1e-2, "sap: {run:?}");
}
