//! What a step costs beyond its kernels: a dispatch, an upload and a readback on each executor, and how a device's
//! memory traffic depends on the tile. `cargo bench -p manyworlds-benches --bench executor`.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use manyworlds_gpu::{BufferId, BufferSpec, CpuStore, DeviceOptions, GpuDevice, GpuStore, Recording, Store};
use manyworlds_shaders::batch::overwrite::Dims;
use manyworlds_shaders::{Kind, kernel};

const MARKED: BufferId = BufferId(0);
const SOURCE: BufferId = BufferId(1);
const TARGET: BufferId = BufferId(2);
const SPECS: [BufferSpec; 3] = [
    BufferSpec { name: "marked", kind: Kind::Index },
    BufferSpec { name: "source", kind: Kind::Tile },
    BufferSpec { name: "target", kind: Kind::Tile },
];

/// Elements a lane: about what the state of a humanoid holds.
const ELEMENTS: usize = 128;

fn fill<S: Store<f32>>(store: &mut S, lanes: usize) {
    store.resize(MARKED, lanes).unwrap();
    store.resize(SOURCE, lanes * ELEMENTS).unwrap();
    store.resize(TARGET, lanes * ELEMENTS).unwrap();
    store.write_index(MARKED, 0, &vec![1; lanes]).unwrap();
}

fn copies(count: usize, lanes: usize) -> Recording {
    let mut recording = Recording::new();
    for _ in 0..count {
        let dims = Dims { lanes: lanes as u32, n: ELEMENTS as u32 };
        recording.dispatch(&kernel::batch::OVERWRITE, &dims, lanes as u32, &[MARKED, SOURCE, TARGET]);
    }
    recording
}

/// One tile of lanes, so that what is measured is what surrounds the kernel.
fn dispatches<S: Store<f32>>(c: &mut Criterion, name: &str, mut store: S) {
    fill(&mut store, 8);
    let mut group = c.benchmark_group("dispatches");
    for count in [0, 1, 16] {
        let recording = copies(count, 8);
        group.bench_function(BenchmarkId::new(name, count), |b| b.iter(|| store.run(&recording).unwrap()));
    }
}

/// 1024 lanes written by the host, copied by a kernel, read by the host.
fn traffic<S: Store<f32>>(c: &mut Criterion, name: &str, mut store: S) {
    let lanes = 1024;
    fill(&mut store, lanes);
    let mut values = vec![0.5; lanes * ELEMENTS];
    let mut group = c.benchmark_group("traffic");
    group.throughput(Throughput::Bytes((values.len() * 4) as u64));
    group.bench_function(BenchmarkId::new(name, "write"), |b| {
        b.iter(|| {
            store.write(SOURCE, 0, &values).unwrap();
            store.run(&Recording::new()).unwrap();
        });
    });
    let recording = copies(1, lanes);
    group.bench_function(BenchmarkId::new(name, "kernel"), |b| b.iter(|| store.run(&recording).unwrap()));
    let mut recording = Recording::new();
    recording.read(TARGET);
    group.bench_function(BenchmarkId::new(name, "read"), |b| {
        b.iter(|| {
            store.run(&recording).unwrap();
            store.read(TARGET, &mut values).unwrap();
        });
    });
}

fn executors(c: &mut Criterion) {
    dispatches(c, "cpu", CpuStore::new(&SPECS));
    traffic(c, "cpu", CpuStore::new(&SPECS));
    for tile in [8, 16, 32] {
        let options = DeviceOptions { tile: Some(tile), ..DeviceOptions::default() };
        let device = match GpuDevice::open(&options) {
            Ok(device) => device,
            Err(error) => {
                eprintln!("no device is measured: {error}");
                return;
            }
        };
        let name = format!("{}, tile {tile}", device.adapter_name());
        dispatches(c, &name, GpuStore::new(&device, &SPECS).unwrap());
        traffic(c, &name, GpuStore::new(&device, &SPECS).unwrap());
    }
}

criterion_group!(benches, executors);
criterion_main!(benches);
