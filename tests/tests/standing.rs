//! Structures that stand by friction and weight alone.

use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision, load};

/// How far the bodies of a scene of free bodies went in so many steps, m, and the largest residual on the way, N s.
fn drift(name: &str, solver: &str, steps: usize) -> (f64, f64) {
    let model = load(name, &ImportOptions::default()).expect("its model").model;
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
    let (mut worst, mut summaries) = (0.0f64, Vec::new());
    for _ in 0..steps {
        batch.step::<f64>(&[]).expect("a step");
        batch.summaries(&mut summaries).expect("summaries");
        worst = summaries.iter().fold(worst, |worst, world| worst.max(world.residual));
    }
    let last = batch.state(0).expect("a state").q;
    let moved = |(a, b): (&[f64], &[f64])| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
    (first.chunks_exact(7).zip(last.chunks_exact(7)).map(moved).fold(0.0, f64::max), worst)
}

#[test]
fn an_arch_stands() {
    for solver in ["auto", "canal", "newton-cr"] {
        let (drift, residual) = drift("arch", solver, 240);
        assert!(drift < 1e-3 && residual <= 1e-6, "{solver}: {drift:e} m, {residual:e} N s");
    }
    // Compliant contact gives way by what a time step resolves, and holds.
    let (drift, _) = drift("arch", "sap", 240);
    assert!(drift < 1e-2, "sap: {drift:e} m");
}

#[test]
fn a_stack_with_the_heaviest_box_on_top_stands() {
    for solver in ["auto", "newton-cr"] {
        let (drift, residual) = drift("heavy-stack", solver, 240);
        assert!(drift < 1e-3 && residual <= 1e-6, "{solver}: {drift:e} m, {residual:e} N s");
    }
}
