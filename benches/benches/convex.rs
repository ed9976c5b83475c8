//! Time of CANAL and SAP on one recorded problem, f64, on one thread, from zero impulses: the kernels' mirrors, laid out
//! and solved, beside the solver for single problems, which factors by blocks of subsystems.
//!
//! `cargo bench -p manyworlds-benches --bench convex`

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use manyworlds_contact::solve::convex::ConvexProblem;
use manyworlds_contact::{CanalParams, ContactProblem, SapParams, SolveSettings, solve};
use manyworlds_tests::corpus::recorded;

fn solves(c: &mut Criterion) {
    let settings = SolveSettings { tolerance: 1e-6, iterations: 200, ..SolveSettings::default() };
    for name in ["half-cheetah-00100-0", "quadruped-00150-0", "humanoid-00200-0", "heavy-stack-00400-0"] {
        let found: Vec<(String, ContactProblem)> = recorded(&[name]);
        let (_, problem) = found.first().expect("a file of the corpus");
        let ready = ConvexProblem::<f64>::new(problem);
        let canal = |mut own: ConvexProblem<f64>| own.canal(&settings, &CanalParams::frozen()).expect("settings");
        let sap = |mut own: ConvexProblem<f64>| own.sap(&settings, &SapParams::default()).expect("settings");
        let mut group = c.benchmark_group(format!("convex/{name}"));
        for (solver, run) in [("canal", &canal as &dyn Fn(_) -> u32), ("sap", &sap)] {
            println!("{name}: {} Newton steps of {solver}", run(ready.clone()));
            let id = BenchmarkId::new(solver, "kernels");
            group.bench_function(id, |b| b.iter_batched(|| ready.clone(), run, BatchSize::SmallInput));
            let host = || solve(problem, solver, &settings).expect("settings");
            group.bench_function(BenchmarkId::new(solver, "single problem"), |b| b.iter(host));
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(300)).sample_size(20);
    targets = solves
}
criterion_main!(benches);
