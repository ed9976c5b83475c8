//! Mirrors, and kernels on the device against them; and the stores that both run on. All that needs a device is one
//! test, so that it is opened and its pipelines compiled once.

use std::collections::BTreeSet;
use std::sync::Arc;

use manyworlds_gpu::{BufferId, BufferSpec, CpuStore, GpuDevice, GpuError, GpuStore, Recording, Store};
use manyworlds_shaders::batch::overwrite::Dims;
use manyworlds_shaders::{KERNELS, Kind, kernel};
use manyworlds_tests::parity::{cases, close, device, sizes};

fn report(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_kernel_has_a_case() {
    let cases = cases();
    let covered: BTreeSet<_> = cases.iter().map(|case| case.kernel.name).collect();
    let without: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).filter(|name| !covered.contains(name)).collect();
    assert!(without.is_empty(), "kernels without a parity case: {without:?}");
}

#[test]
fn mirrors_agree_across_precisions_and_orders_of_lanes() {
    report(cases().iter().filter_map(|case| case.check_mirror().err()).collect());
}

#[test]
fn comparisons_notice_perturbed_inputs() {
    report(cases().iter().filter_map(|case| case.check_sensitivity().err()).collect());
    let same = |got: &[f64], wanted: &[f64], tolerance| close(got, wanted, tolerance, &sizes(wanted, 1)).is_ok();
    assert!(!same(&[1.0, 2.001], &[1.0, 2.0], 1e-4));
    assert!(!same(&[f64::NAN], &[1.0], 1.0));
    assert!(!same(&[1.0], &[1.0, 1.0], 1.0));
    assert!(same(&[f64::INFINITY, 1.0], &[f64::INFINITY, 1.0], 0.0));
}

/// Records of a mass of a ton, a friction coefficient, an inertia of a bolt, and what cancels but for rounding.
#[test]
fn a_small_output_is_held_to_its_own_size() {
    let wanted = [1e3, 0.5, 1e-6, 1e-14, 2e3, 0.0, -2e-6, -3e-14];
    let apart = |at: usize, by: f64| {
        let mut got = wanted;
        got[at] += by;
        close(&got, &wanted, 1e-4, &sizes(&wanted, 4)).is_err()
    };
    // The largest of its place is 2e-6: a hundredth of it is seen, beside numbers of a thousand.
    assert!(apart(2, 2e-8) && apart(6, 2e-8) && !apart(2, 1e-10));
    assert!(apart(1, 1e-3) && apart(5, 1e-3) && !apart(5, 1e-5));
    assert!(apart(0, 1.0) && !apart(0, 0.1));
    // Round-off of numbers of a thousand.
    assert!(!apart(3, 1e-4) && apart(3, 1.0));
    assert!(close(&wanted, &wanted, 0.0, &sizes(&wanted, 4)).is_ok());
    assert!(close(&[0.0, 1e-30], &[0.0, 0.0], 1.0, &sizes(&[0.0, 0.0], 1)).is_err());
}

#[test]
fn kernels_and_stores_on_the_device() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    let mut faults: Vec<_> = cases().iter().filter_map(|case| case.check_device(&device).err()).collect();
    for (name, result) in [
        ("growth", growth(&device)),
        ("rows of workgroups", rows_of_workgroups(&device)),
        ("two chunks", two_chunks_overlap(&device)),
        ("timings", timings(&device)),
        ("refusals", refusals(&device)),
    ] {
        faults.extend(result.err().map(|fault| format!("{name}: {fault}")));
    }
    report(faults);
}

const MARKED: BufferId = BufferId(0);
const SOURCE: BufferId = BufferId(1);
const TARGET: BufferId = BufferId(2);
const SPECS: [BufferSpec; 3] = [
    BufferSpec { name: "marked", kind: Kind::Index },
    BufferSpec { name: "source", kind: Kind::Tile },
    BufferSpec { name: "target", kind: Kind::Tile },
];

fn overwrite(recording: &mut Recording, lanes: usize) {
    recording.clear();
    let dims = Dims { lanes: lanes as u32, n: 1 };
    recording.dispatch(&kernel::batch::OVERWRITE, &dims, dims.lanes, &[MARKED, SOURCE, TARGET]).read(TARGET);
}

/// A store whose source is `lane + shift`, every lane marked.
fn filled<S: Store<f32>>(store: &mut S, lanes: usize, shift: f32) -> Result<(), GpuError> {
    let source: Vec<f32> = (0..lanes).map(|lane| lane as f32 + shift).collect();
    store.resize(MARKED, lanes)?;
    store.resize(SOURCE, lanes)?;
    store.resize(TARGET, lanes)?;
    store.write_index(MARKED, 0, &vec![1; lanes])?;
    store.write(SOURCE, 0, &source)
}

fn expect_target<S: Store<f32>>(store: &mut S, lanes: usize, shift: f32) -> Result<(), String> {
    let mut got = vec![0.0; lanes];
    store.read(TARGET, &mut got).map_err(|error| error.to_string())?;
    match got.iter().enumerate().find(|(lane, x)| **x != *lane as f32 + shift) {
        Some((lane, x)) => Err(format!("lane {lane} of {lanes} has {x}, shift {shift}")),
        None => Ok(()),
    }
}

/// Buffers that grow keep what they hold, and bind groups follow them.
fn growth(device: &Arc<GpuDevice>) -> Result<(), String> {
    fn check<S: Store<f32>>(mut store: S) -> Result<(), String> {
        let text = |error: GpuError| error.to_string();
        let mut recording = Recording::new();
        for lanes in [64, 5000, 640, 20_000] {
            filled(&mut store, lanes, 0.5).map_err(text)?;
            overwrite(&mut recording, lanes);
            store.run(&recording).map_err(text)?;
            expect_target(&mut store, lanes, 0.5)?;
        }
        store.resize(TARGET, 90_000).map_err(text)?;
        expect_target(&mut store, 20_000, 0.5)
    }
    check(GpuStore::new(device, &SPECS).map_err(|error| error.to_string())?)?;
    check(CpuStore::new(&SPECS))
}

/// More workgroups than a dispatch has in one dimension.
fn rows_of_workgroups(device: &Arc<GpuDevice>) -> Result<(), String> {
    let lanes = 70_000 * device.tile() as usize + 3;
    let mut store = GpuStore::new(device, &SPECS).map_err(|error| error.to_string())?;
    let mut recording = Recording::new();
    filled(&mut store, lanes, 0.0).map_err(|error| error.to_string())?;
    overwrite(&mut recording, lanes);
    store.run(&recording).map_err(|error| error.to_string())?;
    expect_target(&mut store, lanes, 0.0)
}

/// Chunks in flight together come back each with its own results, in the order of waiting.
fn two_chunks_overlap(device: &Arc<GpuDevice>) -> Result<(), String> {
    let text = |error: GpuError| error.to_string();
    let mut chunks = [GpuStore::new(device, &SPECS).map_err(text)?, GpuStore::new(device, &SPECS).map_err(text)?];
    let mut recording = Recording::new();
    overwrite(&mut recording, 1000);
    for round in 0..3 {
        let mut tickets = Vec::new();
        for (at, chunk) in chunks.iter_mut().enumerate() {
            filled(chunk, 1000, (round * 2 + at) as f32).map_err(text)?;
            tickets.push(chunk.submit(&recording).map_err(text)?);
        }
        for (at, (chunk, ticket)) in chunks.iter_mut().zip(tickets).enumerate() {
            chunk.wait(ticket).map_err(text)?;
            expect_target(chunk, 1000, (round * 2 + at) as f32)?;
        }
    }
    Ok(())
}

/// A timed recording computes the same, and says what its kernels took.
fn timings(device: &Arc<GpuDevice>) -> Result<(), String> {
    let text = |error: GpuError| error.to_string();
    let mut store = GpuStore::new(device, &SPECS).map_err(text)?;
    let mut recording = Recording::new();
    filled(&mut store, 4000, 0.25).map_err(text)?;
    overwrite(&mut recording, 4000);
    store.time(true);
    store.run(&recording).map_err(text)?;
    expect_target(&mut store, 4000, 0.25)?;
    let stages = &store.timings().stages;
    if device.has_timestamps() && !matches!(stages.as_slice(), [("batch/overwrite", ms)] if *ms > 0.0) {
        return Err(format!("{stages:?}"));
    }
    Ok(())
}

/// Faults of a recording, and sizes that no device has, are errors on both executors.
fn refusals(device: &Arc<GpuDevice>) -> Result<(), String> {
    fn check<S: Store<f32>>(mut store: S) -> Result<(), String> {
        filled(&mut store, 8, 0.0).map_err(|error| error.to_string())?;
        let dims = Dims { lanes: 8, n: 1 };
        for buffers in [&[MARKED, SOURCE][..], &[MARKED, TARGET, TARGET], &[SOURCE, MARKED, TARGET]] {
            let mut recording = Recording::new();
            recording.dispatch(&kernel::batch::OVERWRITE, &dims, 8, buffers);
            if store.run(&recording).is_ok() {
                return Err(format!("ran with {buffers:?}"));
            }
        }
        if store.write(SOURCE, 5, &[0.0; 8]).is_ok() || store.write_index(SOURCE, 0, &[1]).is_ok() {
            return Err("wrote past the end, or the wrong type".into());
        }
        if store.read(BufferId(9), &mut [0.0]).is_ok() || store.read(SOURCE, &mut [0.0; 900]).is_ok() {
            return Err("read what is not there".into());
        }
        Ok(())
    }
    let mut store: GpuStore<f32> = GpuStore::new(device, &SPECS).map_err(|error| error.to_string())?;
    let huge = (device.max_binding_bytes() / 4 + 64) as usize;
    if store.resize(SOURCE, huge).is_ok() {
        return Err("made a buffer too large to bind".into());
    }
    check(store)?;
    check(CpuStore::new(&SPECS))
}
