//! What derivatives cost beside the step itself, in contact; the step at a tolerance of 1e-10, as derivatives want it, and of
//! 1e-6: one world alone on one thread, and 64 at once on one thread (times of all of them). What a trainer does with each step: keep it, and
//! go back through it later. And products of worlds that rest on more contacts than it takes, and of bodies that deform, in both precisions.
//! `cargo bench -p manyworlds-benches --bench gradients`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use manyworlds::{
    Batch, BatchOptions, DerivativesBy, Executor, ImportOptions, InputsMut, JacobiansMut, KeptStep, OutputSlices,
    Outputs, Precision, Product, random,
};

/// Scenes and how many steps bring them into contact; the last two have forces along tendons and of muscles, and of a fluid.
const SCENES: [(&str, u64); 7] = [
    ("half-cheetah", 200),
    ("humanoid", 300),
    ("quadruped", 200),
    ("ant", 200),
    ("arm7", 100),
    ("../tests/golden/models/actuated.xml", 100),
    ("../crates/environments/assets/swimmer.xml", 100),
];

fn options() -> BatchOptions {
    BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance: 1e-10,
        iterations: 1000,
        ..BatchOptions::default()
    }
}

fn gradients(c: &mut Criterion) {
    let mut group = c.benchmark_group("gradients");
    for (scene, settle) in SCENES {
        let model = manyworlds::load(scene, &ImportOptions::default()).unwrap().model;
        let options = options();
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
        let ones = Outputs { q: vec![1.0; model.n_v], v: vec![1.0; model.n_v], ..Outputs::default() };
        group.bench_function(BenchmarkId::new("jacobian", scene), |b| b.iter(|| batch.jacobian(0).unwrap()));
        group.bench_function(BenchmarkId::new("back", scene), |b| b.iter(|| batch.back(0, &ones).unwrap()));
    }
    group.finish();
}

/// Worlds that are stepped and differentiated at once.
const WORLDS: usize = 64;

fn batches(c: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut group = c.benchmark_group("gradients of 64 worlds");
    group.throughput(Throughput::Elements(WORLDS as u64));
    for (scene, settle) in SCENES {
        let model = manyworlds::load(scene, &ImportOptions::default()).unwrap().model;
        let mut batch = Batch::new(&[(&model, WORLDS)], &options()).unwrap();
        let n = batch.n_controls();
        for step in 0..settle {
            let controls: Vec<f64> = (0..n).map(|k| 0.2 * random::symmetric(1, 0, step, k as u64)).collect();
            batch.step(&controls).unwrap();
        }
        let states: Vec<_> = (0..WORLDS).map(|world| (world, batch.state(world).unwrap())).collect();
        let mut run = |name: &str, batch: &mut Batch, f: &mut (dyn FnMut(&mut Batch) + Send)| {
            group.bench_function(BenchmarkId::new(name, scene), |b| pool.install(|| b.iter(|| f(batch))));
        };
        // Always the same step. What a reset takes is measured with it.
        run("step", &mut batch, &mut |batch| {
            batch.reset(&states).unwrap();
            batch.step::<f64>(&[]).unwrap();
        });
        batch.reset(&states).unwrap();
        batch.keep_steps(true).unwrap();
        batch.step::<f64>(&[]).unwrap();
        let worlds: Vec<usize> = (0..WORLDS).collect();
        let (square, wide) = (model.n_v * model.n_v, model.n_v * model.actuators.len());
        let sizes = [square, square, square, wide, square, square, square, wide];
        let mut blocks = sizes.map(|size| vec![0.0; WORLDS * size]);
        let ones = vec![1.0; WORLDS * model.n_v];
        let [mut q, mut v, mut tau] = [0, 1, 2].map(|_| vec![0.0; WORLDS * model.n_v]);
        let mut ctrl = vec![0.0; WORLDS * model.actuators.len()];
        for (by, names) in [
            (DerivativesBy::Kernels, ["jacobians", "back_all"]),
            (DerivativesBy::Host, ["jacobians by the host", "back_all by the host"]),
        ] {
            batch.set_derivatives_by(by);
            run(names[0], &mut batch, &mut |batch| {
                let [dq_dq, dq_dv, dq_dtau, dq_dctrl, dv_dq, dv_dv, dv_dtau, dv_dctrl] = &mut blocks;
                let to = JacobiansMut {
                    dq_dq,
                    dq_dv,
                    dq_dtau,
                    dq_dctrl,
                    dv_dq,
                    dv_dv,
                    dv_dtau,
                    dv_dctrl,
                    ..JacobiansMut::default()
                };
                batch.differentiate(&worlds, Product::Jacobian(to)).unwrap();
            });
            run(names[1], &mut batch, &mut |batch| {
                let from = OutputSlices { q: &ones, v: &ones, ..OutputSlices::default() };
                let to = InputsMut { q: &mut q, v: &mut v, tau: &mut tau, ctrl: &mut ctrl, ..InputsMut::default() };
                batch.differentiate(&worlds, Product::Back { from, to }).unwrap();
            });
        }
    }
    group.finish();
}

/// Steps of a trainer, each kept and gone back through after the last.
const HORIZON: usize = 16;

fn kept(c: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut group = c.benchmark_group(format!("{HORIZON} kept steps of {WORLDS} worlds"));
    group.throughput(Throughput::Elements((HORIZON * WORLDS) as u64)).sample_size(10);
    for scene in ["half-cheetah", "humanoid", "quadruped", "arm7"] {
        let model = manyworlds::load(scene, &ImportOptions::default()).unwrap().model;
        for precision in [Precision::F64, Precision::F32] {
            let options = BatchOptions { executor: Executor::Cpu, precision, ..BatchOptions::default() };
            let mut batch = Batch::new(&[(&model, WORLDS)], &options).unwrap();
            let n = batch.n_controls();
            let controls =
                |step: u64| -> Vec<f64> { (0..n).map(|k| 0.2 * random::symmetric(1, 0, step, k as u64)).collect() };
            for step in 0..60 {
                batch.step(&controls(step)).unwrap();
            }
            batch.keep_steps(true).unwrap();
            let here = batch.checkpoint().unwrap();
            let take = |batch: &mut Batch, keep: bool| -> Vec<KeptStep> {
                batch.restore(&here).unwrap();
                let mut out = Vec::new();
                for step in 0..HORIZON as u64 {
                    batch.step(&controls(60 + step)).unwrap();
                    if keep {
                        out.push(batch.kept_step().unwrap());
                    }
                }
                out
            };
            let steps = take(&mut batch, true);
            let one = Outputs { q: vec![1.0; model.n_v], v: vec![1.0; model.n_v], ..Outputs::default() };
            let outputs = vec![one; WORLDS];
            let id = |what: &str| BenchmarkId::new(format!("{scene}, {what}"), format!("{precision:?}"));
            group.bench_function(id("steps"), |b| pool.install(|| b.iter(|| take(&mut batch, false))));
            group.bench_function(id("steps, kept"), |b| pool.install(|| b.iter(|| take(&mut batch, true))));
            group.bench_function(id("back"), |b| {
                pool.install(|| b.iter(|| steps.iter().rev().for_each(|step| drop(step.back(&outputs).unwrap()))));
            });
            println!("{scene}, {precision:?}: {} B a world's step", steps[0].bytes() / WORLDS);
        }
    }
    group.finish();
}

/// Scenes, how many steps bring them to rest or nearly, and worlds.
const RESTING: [(&str, u64, usize); 7] = [
    ("humanoid", 60, 64),
    ("hopper", 100, 64),
    ("clutter", 60, 4),
    ("arch", 100, 4),
    ("table-pile", 60, 1),
    ("soft-pinch", 60, 8),
    ("soft-crawler", 60, 8),
];

fn resting(c: &mut Criterion) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut group = c.benchmark_group("products at rest");
    group.sample_size(10);
    for (scene, settle, count) in RESTING {
        let model = manyworlds::load(scene, &ImportOptions::default()).unwrap().model;
        for precision in [Precision::F64, Precision::F32] {
            let options = BatchOptions { executor: Executor::Cpu, precision, ..BatchOptions::default() };
            let mut batch = Batch::new(&[(&model, count)], &options).unwrap();
            let n = batch.n_controls();
            for step in 0..settle {
                let controls: Vec<f64> = (0..n).map(|k| 0.2 * random::symmetric(1, 0, step, k as u64)).collect();
                batch.step(&controls).unwrap();
            }
            batch.keep_steps(true).unwrap();
            let here = batch.checkpoint().unwrap();
            let ones = vec![1.0; count * model.n_v];
            let worlds: Vec<usize> = (0..count).collect();
            let [mut q, mut v, mut tau] = [0, 1, 2].map(|_| vec![0.0; count * model.n_v]);
            let mut ctrl = vec![0.0; n];
            let id =
                |what: &str| BenchmarkId::new(format!("{scene}, {count} worlds, {what}"), format!("{precision:?}"));
            // Always the same step. What a restore takes is measured with it.
            group.bench_function(id("step"), |b| {
                pool.install(|| {
                    b.iter(|| {
                        batch.restore(&here).unwrap();
                        batch.step::<f64>(&[]).unwrap();
                    });
                });
            });
            let mut valid = None;
            group.bench_function(id("product"), |b| {
                pool.install(|| {
                    b.iter(|| {
                        let from = OutputSlices { q: &ones, v: &ones, ..OutputSlices::default() };
                        let to =
                            InputsMut { q: &mut q, v: &mut v, tau: &mut tau, ctrl: &mut ctrl, ..InputsMut::default() };
                        let certificates = batch.back_all(&worlds, &from, to).unwrap();
                        valid = Some(certificates.iter().filter(|certificate| certificate.valid()).count());
                    });
                });
            });
            // A filter may have left it out.
            if let Some(valid) = valid {
                println!("{scene}, {precision:?}: {valid} of {count} certified");
            }
        }
    }
    group.finish();
}

criterion_group!(benches, gradients, batches, kept, resting);
criterion_main!(benches);
