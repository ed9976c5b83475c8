//! What derivatives cost beside the step itself: one world alone on one thread, in contact; the step at a tolerance of
//! 1e-10, as derivatives want it, and of 1e-6. `cargo bench -p manyworlds-benches --bench gradients`.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Outputs, Precision, random};

fn gradients(c: &mut Criterion) {
    let mut group = c.benchmark_group("gradients");
    for (scene, settle) in [("half-cheetah", 200), ("humanoid", 300), ("quadruped", 200), ("arm7", 100)] {
        let model = manyworlds::load(scene, &ImportOptions::default()).unwrap().model;
        let options = BatchOptions {
            executor: Executor::Cpu,
            precision: Precision::F64,
            tolerance: 1e-10,
            iterations: 1000,
            ..BatchOptions::default()
        };
        let usual = BatchOptions { tolerance: 1e-6, ..options.clone() };
        let mut loose = Batch::new(&[(&model, 1)], &usual).unwrap();
        let mut batch = Batch::new(&[(&model, 1)], &options).unwrap();
        let n = model.actuators.len();
        for step in 0..settle {
            let controls: Vec<f64> = (0..n).map(|k| 0.2 * random::symmetric(1, 0, step, k as u64)).collect();
            batch.step(&controls).unwrap();
        }
        let here = batch.checkpoint().unwrap();
        let acting = batch.inspect(0).unwrap().contacts.iter().filter(|c| c.impulse != [0.0; 3]).count();
        println!("{scene}: {acting} contacts act");
        // Always the same step: a second one is warmed by itself.
        let state = batch.state(0).unwrap();
        group.bench_function(BenchmarkId::new("step", scene), |b| {
            b.iter(|| {
                batch.reset(&[(0, state.clone())]).unwrap();
                batch.step::<f64>(&[]).unwrap();
            });
        });
        group.bench_function(BenchmarkId::new("step to 1e-6", scene), |b| {
            b.iter(|| {
                loose.reset(&[(0, state.clone())]).unwrap();
                loose.step::<f64>(&[]).unwrap();
            });
        });
        batch.restore(&here).unwrap();
        batch.keep_steps(true).unwrap();
        batch.step::<f64>(&[]).unwrap();
        let ones = Outputs { q: vec![1.0; model.n_v], v: vec![1.0; model.n_v] };
        group.bench_function(BenchmarkId::new("jacobian", scene), |b| b.iter(|| batch.jacobian(0).unwrap()));
        group.bench_function(BenchmarkId::new("back", scene), |b| b.iter(|| batch.back(0, &ones).unwrap()));
    }
    group.finish();
}

criterion_group!(benches, gradients);
criterion_main!(benches);
