//! Time of 100 iterations of SubADMM, never stopping early, f64, on one thread, on recorded drops of 8 quadrupeds
//! (Lee 2024, section VII-D2): the kernels' mirrors split at bodies and at subsystems only, and the solver for single
//! problems, which is split at bodies, with a dense matrix for each subsystem.
//!
//! `cargo bench -p manyworlds-benches --bench subadmm`. The names say how many contacts there are.

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use manyworlds_contact::subadmm::{SingleProblem, Splitting};
use manyworlds_contact::{ContactProblem, SolveSettings, SubAdmmParams, problem, solve_subadmm};
use manyworlds_tests::root;

fn read(name: &str) -> ContactProblem {
    let path = root().join("tests/corpus").join(name);
    let text = std::fs::read_to_string(&path).expect("a file of the corpus");
    problem::read(&text).expect("a problem")
}

fn hundred_iterations(c: &mut Criterion) {
    // A residual of zero is not reached.
    let settings = SolveSettings { tolerance: 0.0, iterations: 100, ..SolveSettings::default() };
    let params = SubAdmmParams { check_every: 100, ..SubAdmmParams::default() };
    for name in ["quadruped-drop-00100-0.json", "quadruped-drop-00150-0.json"] {
        let problem = read(name);
        let mut group = c.benchmark_group(format!("subadmm/{} contacts", problem.n_contacts));
        for (form, splitting) in [("bodies", Splitting::Bodies), ("subsystems", Splitting::Subsystems)] {
            let ready = SingleProblem::<f64>::new(&problem, splitting);
            let run = |mut own: SingleProblem<f64>| own.solve(&settings, &params).expect("settings with a meaning");
            assert_eq!(run(ready.clone()), 100, "it stops early");
            let id = BenchmarkId::from_parameter(form);
            group.bench_function(id, |b| b.iter_batched(|| ready.clone(), run, BatchSize::SmallInput));
        }
        let run = || solve_subadmm(&problem, &settings, &params).expect("settings with a meaning");
        group.bench_function(BenchmarkId::from_parameter("single problem"), |b| b.iter(run));
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(300)).sample_size(30);
    targets = hundred_iterations
}
criterion_main!(benches);
