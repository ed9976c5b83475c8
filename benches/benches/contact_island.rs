//! Time of the solver of islands of several trees: stacks of boxes and scenes of many bodies, f32 and f64.
//!
//! `cargo bench -p manyworlds-benches --bench contact_island`. A stack is one contact problem, solved from nothing by
//! the mirror of the island kernel and measured by that of the certificate; a scene is a whole step of a settled batch on
//! one thread, of which the solver is the larger part.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision};
use manyworlds_contact::island::Ragged;
use manyworlds_contact::problem::{ConstraintInput, ProblemInput, SideInput};
use manyworlds_contact::{ContactProblem, Law};
use manyworlds_shaders::contact::island::{IslandRecord, Islands};
use manyworlds_shaders::contact::island_certify::island_certify;
use manyworlds_shaders::contact::island_newton::{Room, island_newton};
use manyworlds_shaders::contact::island_pgs::island_pgs;
use manyworlds_shaders::{LANES, Scalar};

/// Jacobian of the velocity of the point at `r` from the centre of a free body (linear, then angular velocity).
fn point([x, y, z]: [f64; 3], sign: f64) -> Vec<f64> {
    let rows = [[1.0, 0.0, 0.0, 0.0, z, -y], [0.0, 1.0, 0.0, -z, 0.0, x], [0.0, 0.0, 1.0, y, -x, 0.0]];
    rows.iter().flatten().map(|j| j * sign).collect()
}

/// Boxes of 1 kg and 10 cm edge, one on the other on the ground, four contacts at each interface; h = 5 ms.
fn stack(boxes: usize) -> ContactProblem {
    let half = 0.05;
    let mut input = ProblemInput::default();
    for s in 0..boxes {
        let mut a = vec![0.0; 36];
        (0..6).for_each(|d| a[7 * d] = if d < 3 { 1.0 } else { 0.01 / 6.0 });
        input.subsystems.push([6 * s, 6]);
        input.a.push(a);
        input.b.extend([0.0, 0.0, -9.81 * 0.005, 0.0, 0.0, 0.0]);
        for (x, y) in [(-half, -half), (half, -half), (-half, half), (half, half)] {
            let mut sides = vec![SideInput { subsystem: s, jacobian: point([x, y, -half], 1.0), ..Default::default() }];
            if s > 0 {
                sides.push(SideInput { subsystem: s - 1, jacobian: point([x, y, half], -1.0), ..Default::default() });
            }
            input.constraints.push(ConstraintInput {
                law: Law::Contact { mu: 0.5 },
                e: [0.0; 3],
                sides,
                compliance: None,
            });
        }
    }
    ContactProblem::new(input).expect("a stack is a problem")
}

/// A hundred sweeps, ten rounds of Newton's method where the island is small enough for it, and the certificate.
fn kernels<T: Scalar>(c: &mut Criterion, boxes: usize) {
    let mut start = Ragged::<T>::new(&stack(boxes), Room::of_mirrors::<T>());
    start.dims.iterations = 100;
    // Never met: the work is the same whatever the arithmetic.
    (start.dims.tolerance, start.dims.tolerance_scaled) = ((-1.0_f32).to_bits(), (-1.0_f32).to_bits());
    let mut group = c.benchmark_group(format!("island/{}", T::NAME));
    group.bench_function(BenchmarkId::new("100 sweeps, boxes", boxes), |b| {
        b.iter_batched_ref(
            || start.clone(),
            |r| island_pgs(&r.dims, &r.index, &r.jac, &r.con, &mut r.impulse, &mut r.velocity, &mut r.info),
            criterion::BatchSize::LargeInput,
        );
    });
    if Islands::new(&start.dims, &start.index).islands.iter().all(IslandRecord::has_work) {
        start.dims.iterations = 10;
        group.bench_function(BenchmarkId::new("10 Newton rounds, boxes", boxes), |b| {
            b.iter_batched_ref(
                || start.clone(),
                |r| island_newton(&r.dims, &r.index, &r.jac, &mut r.con, &mut r.impulse, &mut r.velocity, &mut r.info),
                criterion::BatchSize::LargeInput,
            );
        });
    }
    let mut r = start.clone();
    group.bench_function(BenchmarkId::new("certificate, boxes", boxes), |b| {
        b.iter(|| {
            let (impulse, out) = (&r.impulse, (&mut r.velocity, &mut r.info, &mut r.status));
            island_certify(&r.dims, &r.index, &r.contact, &r.jac, &r.con, black_box(impulse), out.0, out.1, out.2);
        });
    });
}

/// One step of a settled scene, of as many worlds as one thread takes at once.
fn scene(c: &mut Criterion, name: &str, precision: Precision) {
    let worlds = LANES;
    let model = manyworlds::load(name, &ImportOptions::default()).expect("a built-in scene loads").model;
    let options = BatchOptions { executor: Executor::Cpu, precision, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(&model, worlds)], &options).expect("a batch");
    (0..400).for_each(|_| batch.step::<f64>(&[]).expect("a step"));
    let mut group = c.benchmark_group(format!("step/{}", precision.name()));
    group.bench_function(BenchmarkId::new(name, worlds), |b| b.iter(|| batch.step::<f64>(&[]).expect("a step")));
}

fn islands(c: &mut Criterion) {
    for boxes in [5, 20] {
        kernels::<f32>(c, boxes);
        kernels::<f64>(c, boxes);
    }
    for precision in [Precision::F32, Precision::F64] {
        scene(c, "clutter", precision);
        scene(c, "quadruped-drop", precision);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(300));
    targets = islands
}
criterion_main!(benches);
