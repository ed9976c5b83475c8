//! Time of each dynamics kernel: one thread, packs against scalars, f32 and f64.
//!
//! `cargo bench -p manyworlds-benches --bench dynamics`. Criterion's time is that of a call: of [`LANES`] worlds for
//! `pack`, of one for `scalar`.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use manyworlds_dynamics::{Settings, TreeSet, compile};
use manyworlds_model::{ImportOptions, load};
use manyworlds_shaders::dynamics::tree::Params;
use manyworlds_shaders::dynamics::{bias, factor, inertia, integrate, kinematics, momentum};
use manyworlds_shaders::{F32x8, F64x8, LANES, Real};
use manyworlds_tests::dynamics::TreeTile;

fn scene(name: &str) -> TreeSet {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenes").join(name).with_extension("xml");
    let model = load(&path, &ImportOptions::default()).expect("a scene of this repository").model;
    compile(&model, &Settings::default()).expect("a scene of this repository").swap_remove(0)
}

/// A tile in motion, its free velocity computed.
fn tile<R: Real>(set: &TreeSet) -> TreeTile<R> {
    let mut tile = TreeTile::new(&set.layout, &set.params[0]);
    for lane in 0..R::N {
        let state: Vec<f64> = (0..tile.state.len()).map(|i| ((i * 7 + lane * 3) % 11) as f64 * 0.05 - 0.25).collect();
        tile.set(lane, &state);
    }
    tile.free_velocity();
    tile
}

fn kernels<R: Real>(criterion: &mut Criterion, name: &str, set: &TreeSet, kind: &str) {
    let mut group = criterion.benchmark_group(format!("{name}/{kind}"));
    let layout = set.layout.clone();
    let tree = layout.tree();
    let mut t = tile::<R>(set);
    let shared = t.params.clone();
    let params = || Params::Shared(&shared);
    let start = t.state.clone();
    group.bench_function("kinematics", |b| {
        b.iter(|| kinematics::kinematics(&tree, params(), black_box(&t.state), &mut t.pose, &mut t.motion));
    });
    group.bench_function("bias", |b| {
        b.iter(|| {
            let state = black_box(&t.state);
            bias::bias(&tree, params(), state, &t.pose, &t.motion, &mut t.twist, &mut t.work, &mut t.bias);
        });
    });
    let bodies = t.work.clone();
    group.bench_function("inertia", |b| {
        b.iter(|| {
            // It adds up subtrees in place: each call begins with the bodies.
            t.work.copy_from_slice(&bodies);
            inertia::inertia(&tree, params(), black_box(&t.motion), &mut t.work, &mut t.mass);
        });
    });
    group.bench_function("momentum", |b| {
        b.iter(|| {
            momentum::momentum(&tree, params(), black_box(&t.state), &t.mass, &t.bias, &mut t.momentum, &mut t.b);
        });
    });
    group.bench_function("factor", |b| {
        b.iter(|| {
            let matrix = black_box(&t.momentum);
            factor::factor(&tree, matrix, &t.b, &mut t.factor, &mut t.v_free, &mut t.velocity, &mut t.status);
        });
    });
    group.bench_function("integrate", |b| {
        b.iter(|| {
            t.state.copy_from_slice(&start);
            integrate::integrate(&tree, params(), black_box(&t.velocity), &mut t.state, &mut t.status);
        });
    });
    group.bench_function("all", |b| {
        b.iter(|| {
            t.state.copy_from_slice(black_box(&start));
            t.step();
        });
    });
    group.finish();
}

fn dynamics(criterion: &mut Criterion) {
    println!("a pack is {LANES} worlds");
    for name in ["humanoid", "half-cheetah"] {
        let set = scene(name);
        kernels::<F64x8>(criterion, name, &set, "f64 pack");
        kernels::<F32x8>(criterion, name, &set, "f32 pack");
        kernels::<f64>(criterion, name, &set, "f64 scalar");
        kernels::<f32>(criterion, name, &set, "f32 scalar");
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(500));
    targets = dynamics
}
criterion_main!(benches);
