//! Steps of soft bodies, one thread: a cantilever without contact, a cube pinched between pads, a block with a box on it.
//!
//! `cargo bench --package manyworlds-benches --bench soft`

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use manyworlds::{Batch, BatchOptions, Executor, Precision};
use manyworlds_model::{Model, ModelBuilder, Order, Vec3};
use manyworlds_tests::soft::{block, on_the_ground, pinched};

/// A bar of 0.4 m, held at one end.
fn cantilever(cells: [usize; 3], order: Order) -> Model {
    let mut soft = block(cells, [0.4, 0.05, 0.05], Vec3::zeros());
    soft.material.young = 1e6;
    soft.material.damping = 0.002;
    soft.order = order;
    soft.pinned = (0..soft.nodes.len() as u32).filter(|&node| soft.nodes[node as usize].x < -0.2 + 1e-9).collect();
    let mut builder = ModelBuilder::new("cantilever");
    builder.options.timestep = 0.001;
    builder.soft_body(soft);
    builder.build().expect("a model")
}

/// Times a step of a batch of 16 worlds that have run for a while, by the world.
fn step(c: &mut Criterion, name: &str, model: &Model) {
    let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let mut batch = Batch::new(&[(model, 16)], &options).expect("a batch");
    for _ in 0..100 {
        batch.step::<f64>(&[]).expect("a step");
    }
    let mut all = Vec::new();
    batch.summaries(&mut all).expect("certificates");
    let id = BenchmarkId::new(name, format!("{} dofs, {} contacts, 16 worlds", model.n_v, all[0].contacts));
    let mut group = c.benchmark_group("soft");
    group.sample_size(10);
    group.bench_function(id, |b| b.iter(|| pool.install(|| batch.step::<f64>(&[]).expect("a step"))));
    group.finish();
}

fn all(c: &mut Criterion) {
    step(c, "cantilever", &cantilever([16, 2, 2], Order::Linear));
    step(c, "block on the ground", &on_the_ground(4, false));
    step(c, "box on a block", &on_the_ground(4, true));
    step(c, "pinch", &pinched(4, 0.75));
}

criterion_group!(benches, all);
criterion_main!(benches);
