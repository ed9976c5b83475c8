//! What a subsystem with a sparse matrix costs: a block of particles of growing size between the ground, two boxes and an arm
//! (`manyworlds_tests::elastic`), f64. Its problem (contacts and one factorization), solves from nothing, the certificate,
//! one product with the transposed Jacobian; how many numbers the factor holds is printed beside.
//!
//! `cargo bench -p manyworlds-benches --bench sparse`. A solve that misses its tolerance says so in its name.

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use manyworlds_contact::{SolveSettings, SolveStatus, quality, solve};
use manyworlds_gradients::{GradientRules, Linearised, Outputs, Purpose};
use manyworlds_tests::elastic::Elastic;

fn sparse(c: &mut Criterion) {
    for edge in [7, 10, 14] {
        let scene = Elastic::new(edge, 0.5, 1);
        let n = scene.n_v();
        let mut group = c.benchmark_group(format!("sparse/{n} dofs, {} contacts", scene.n_contacts()));
        let problem = scene.problem(Vec::new());
        let operator = &problem.sparse[0];
        println!("{n} dofs: {} numbers in the factor, {} touched", operator.factor().size(), operator.touched().len());
        group.bench_function("problem", |b| b.iter(|| scene.problem(Vec::new())));
        for (solver, tolerance) in [("auto", 1e-9), ("canal", 1e-9), ("subadmm", 1e-6)] {
            let settings = SolveSettings { tolerance, ..SolveSettings::default() };
            let run = || solve(&problem, solver, &settings).expect("a known solver");
            let missed = if run().status == SolveStatus::Converged { "" } else { ", missed" };
            group.bench_function(BenchmarkId::from_parameter(format!("{solver}{missed}")), |b| b.iter(run));
        }
        let s =
            solve(&problem, "auto", &SolveSettings { tolerance: 1e-13, ..Default::default() }).expect("a known solver");
        group.bench_function("certificate", |b| b.iter(|| quality(&problem, &s.lambda, &s.v)));
        let ones = Outputs { q: vec![1.0; n], v: vec![1.0; n], ..Outputs::default() };
        scene.with_step(&problem, &s.lambda, |input| {
            group.bench_function("back", |b| {
                b.iter(|| Linearised::new(input, Purpose::Products, GradientRules::default()).back(&ones));
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(100)).sample_size(10);
    targets = sparse
}
criterion_main!(benches);
