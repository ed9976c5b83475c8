//! Time of 100 iterations of SubADMM, never stopping early, f64, on one thread, on drops of 8 quadrupeds (Lee 2024, section
//! VII-D2), two as they are recorded and one with contacts looked for at 4 cm, for as many as the paper has (80 to 100): the kernels' mirrors split at bodies and at subsystems only; the solver for single
//! problems, which is split at bodies, with a dense matrix for each subsystem; and the same with all subsystems made one,
//! which is ADMM without splitting.
//!
//! `cargo bench -p manyworlds-benches --bench subadmm`. The names say how many contacts there are.

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision, Stabilisation};
use manyworlds_contact::problem::{ConstraintInput, ProblemInput, SideInput};
use manyworlds_contact::solve::subadmm::{SingleProblem, Splitting};
use manyworlds_contact::{ContactProblem, SolveSettings, SubAdmmParams, problem, solve_with};
use manyworlds_tests::root;

fn read(name: &str) -> ContactProblem {
    let path = root().join("tests/corpus").join(name);
    let text = std::fs::read_to_string(&path).expect("a file of the corpus");
    problem::read(&text).expect("a problem")
}

/// The drop's step 150 with contacts up to this distance, m.
fn dropped(distance: f64) -> ContactProblem {
    let model = manyworlds::load("quadruped-drop", &ImportOptions::default()).expect("a built-in scene").model;
    let stabilisation =
        Stabilisation { speculative_speed: distance / model.options.timestep, ..Stabilisation::default() };
    let options =
        BatchOptions { executor: Executor::Cpu, precision: Precision::F64, stabilisation, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
    (0..150).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
    batch.contact_problem(0).expect("a problem").problem
}

/// The problem with one subsystem.
fn whole(problem: &ContactProblem) -> ContactProblem {
    let n = problem.n_v;
    let mut a = vec![0.0; n * n];
    for s in &problem.subsystems {
        for (i, row) in problem.block(s).chunks_exact(s.count).enumerate() {
            a[(s.begin + i) * n + s.begin..][..s.count].copy_from_slice(row);
        }
    }
    let constraints = problem.constraints.iter().map(|c| {
        let rows = c.law.rows();
        let mut jacobian = vec![0.0; rows * n];
        for side in &problem.sides[c.sides.clone()] {
            let own = problem.span(side);
            for r in 0..rows {
                let from = &problem.jacobian[side.offset + r * own.len()..][..own.len()];
                jacobian[r * n..][own.clone()].copy_from_slice(from);
            }
        }
        let sides = vec![SideInput { subsystem: 0, jacobian, ..Default::default() }];
        ConstraintInput { law: c.law, e: c.e, sides, compliance: c.compliance }
    });
    ContactProblem::new(ProblemInput {
        subsystems: vec![[0, n]],
        a: vec![a],
        b: problem.b.clone(),
        constraints: constraints.collect(),
        ..ProblemInput::default()
    })
    .expect("a problem")
}

fn hundred_iterations(c: &mut Criterion) {
    // A residual of zero is not reached.
    let settings = SolveSettings { tolerance: 0.0, iterations: 100, ..SolveSettings::default() };
    let params = SubAdmmParams { check_every: 100, ..SubAdmmParams::default() };
    let recorded = ["quadruped-drop-00100-0.json", "quadruped-drop-00150-0.json"].map(read);
    for problem in recorded.into_iter().chain([dropped(0.04)]) {
        let mut group = c.benchmark_group(format!("subadmm/{} contacts", problem.n_contacts));
        for (form, splitting) in [("bodies", Splitting::Bodies), ("subsystems", Splitting::Subsystems)] {
            let ready = SingleProblem::<f64>::new(&problem, splitting);
            let run = |mut own: SingleProblem<f64>| own.solve(&settings, &params).expect("settings with a meaning");
            assert_eq!(run(ready.clone()), 100, "it stops early");
            let id = BenchmarkId::from_parameter(form);
            group.bench_function(id, |b| b.iter_batched(|| ready.clone(), run, BatchSize::SmallInput));
        }
        for (form, problem) in [("single problem", &problem), ("single problem, one system", &whole(&problem))] {
            let run = || solve_with(problem, &settings, &params).expect("settings with a meaning");
            group.bench_function(BenchmarkId::from_parameter(form), |b| b.iter(run));
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(300)).sample_size(30);
    targets = hundred_iterations
}
criterion_main!(benches);
