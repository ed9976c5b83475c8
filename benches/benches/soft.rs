//! Steps of soft bodies, one thread: a cantilever without contact, also in a cage, a cube pinched between pads, a block with a
//! box on it, bars of more and more elements that rest on a ball; and what derivatives cost beside steps.
//!
//! `cargo bench --package manyworlds-benches --bench soft`

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use manyworlds::{Batch, BatchOptions, Executor, JacobiansMut, Outputs, Precision, Product};
use manyworlds_model::{Contacting, Geom, Model, ModelBuilder, Order, Pose, Shape, Vec3};
use manyworlds_tests::runs::Run;
use manyworlds_tests::soft::{block, caged, on_the_ground, pinched};

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

/// The same in a cage of bricks of 27 nodes.
fn in_a_cage(cells: [usize; 3]) -> Model {
    let mut model = cantilever(cells, Order::Linear);
    let mut builder = ModelBuilder::new("in a cage");
    builder.options = model.options;
    let mut soft = caged(model.soft.remove(0), cells, Order::Triquadratic);
    soft.pinned = (0..soft.nodes.len() as u32).filter(|&node| soft.nodes[node as usize].x < -0.2 + 1e-9).collect();
    builder.soft_body(soft);
    builder.build().expect("a model")
}

/// The same with its free end on a ball.
fn propped(cells: [usize; 3]) -> Model {
    let mut model = cantilever(cells, Order::Linear);
    let mut builder = ModelBuilder::new("propped");
    builder.options = model.options;
    let contact = Contacting::default();
    let pose = Pose::translation(0.19, 0.004, -0.026 - 0.02);
    builder.geom(Geom { name: "ball".into(), body: 0, shape: Shape::Sphere { radius: 0.02 }, pose, contact });
    builder.soft_body(model.soft.remove(0));
    builder.build().expect("a model")
}

/// Time by world of a step that a world makes over and over, of its product with the transposed Jacobian and of its Jacobian by all
/// controls.
fn derivative(c: &mut Criterion, name: &str, batch: &mut Batch, controls: &[f64]) {
    let model = batch.model(0).expect("a model").clone();
    batch.keep_steps(true).expect("kept");
    let mut group = c.benchmark_group("soft derivatives");
    group.sample_size(10).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_millis(500));
    let contacts = batch.inspect(0).map_or(0, |found| found.contacts.len());
    let id =
        |what: &str| BenchmarkId::new(format!("{name}, {what}"), format!("{} dofs, {contacts} contacts", model.n_v));
    group.bench_function(id("step"), |b| b.iter(|| batch.step(controls).expect("a step")));
    let weights: Vec<f64> = (0..model.n_v).map(|i| (1.7 * i as f64).sin()).collect();
    let outputs = Outputs { q: vec![0.0; model.n_v], v: weights, ..Outputs::default() };
    group.bench_function(id("product"), |b| b.iter(|| batch.back(0, &outputs).expect("a gradient")));
    let n_u = model.actuators.len();
    if n_u > 0 {
        let [mut dq, mut dv] = [vec![0.0; model.n_v * n_u], vec![0.0; model.n_v * n_u]];
        group.bench_function(id("Jacobian by controls"), |b| {
            b.iter(|| {
                let to = JacobiansMut { dq_dctrl: &mut dq, dv_dctrl: &mut dv, ..JacobiansMut::default() };
                batch.differentiate(&[0], Product::Jacobian(to)).expect("a Jacobian");
            });
        });
    }
    group.finish();
}

/// Times a step of a batch of worlds that have run for a while, by the world.
fn step(c: &mut Criterion, name: &str, model: &Model, worlds: usize) {
    let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(model, worlds)], &options).expect("a batch");
    for _ in 0..100 {
        batch.step::<f64>(&[]).expect("a step");
    }
    let mut all = Vec::new();
    batch.summaries(&mut all).expect("certificates");
    let id = BenchmarkId::new(name, format!("{} dofs, {} contacts, {worlds} worlds", model.n_v, all[0].contacts));
    let mut group = c.benchmark_group("soft");
    group.sample_size(10);
    group.bench_function(id, |b| b.iter(|| batch.step::<f64>(&[]).expect("a step")));
    group.finish();
}

fn all(c: &mut Criterion) {
    // This thread alone: to wake another one takes as long as a few contacts.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("a pool of this thread");
    step(c, "cantilever", &cantilever([16, 2, 2], Order::Linear), 64);
    step(c, "cantilever", &cantilever([32, 4, 4], Order::Linear), 8);
    step(c, "cantilever in a cage", &in_a_cage([4, 1, 1]), 64);
    step(c, "block on the ground", &on_the_ground(4, false), 16);
    step(c, "box on a block", &on_the_ground(4, true), 16);
    step(c, "pinch", &pinched(4, 0.75), 16);
    for cells in [[16, 2, 2], [24, 3, 3], [32, 4, 4], [48, 6, 6], [64, 8, 8], [80, 10, 10]] {
        step(c, &format!("bar of {} elements on a ball", 6 * cells.iter().product::<usize>()), &propped(cells), 1);
    }
    let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() };
    let mut pinch = Batch::new(&[(&pinched(4, 0.75), 1)], &options).expect("a batch");
    for _ in 0..200 {
        pinch.step::<f64>(&[]).expect("a step");
    }
    derivative(c, "pinch", &mut pinch, &[]);
    for (scene, until) in [("soft-gripper", 1.6), ("pneunet", 4.0)] {
        let mut run = Run::auto(scene);
        run.follow(0.0, until, |_, _| {});
        let controls = run.curve.at(until);
        derivative(c, scene, &mut run.batch, &controls);
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
