//! How often a step hands work to a device and waits for it.

use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision, RoundTrips, load};
use manyworlds_tests::parity::device;

/// Two chunks on a device.
const WORLDS: usize = 40;
const CHUNKS: u64 = 2;

/// What each of some steps took, and whether the host had a part in it.
fn steps(batch: &mut Batch, count: usize) -> Vec<(RoundTrips, bool)> {
    let controls = vec![0.1_f32; batch.n_controls()];
    let mut summaries = Vec::new();
    let one = |_| {
        let before = batch.round_trips();
        batch.step(&controls).expect("a step");
        let taken = batch.round_trips().since(before);
        batch.summaries(&mut summaries).expect("summaries");
        (taken, summaries.iter().any(|world| world.stage.is_some()))
    };
    (0..count).map(one).collect()
}

fn batch(name: &str, options: BatchOptions) -> Batch {
    let model = load(name, &ImportOptions::default()).expect("a scene").model;
    Batch::new(&[(&model, WORLDS)], &options).expect("a batch")
}

#[test]
fn a_step_that_kernels_solve_is_one_submission_and_one_wait() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    let options = BatchOptions { device: Some(device), tolerance: 1e-3, ..BatchOptions::default() };
    let mut batch = batch("half-cheetah", options);
    // The first one finds poses as well.
    let taken = &steps(&mut batch, 12)[1..];
    let once = RoundTrips { submissions: CHUNKS, waits: CHUNKS };
    assert!(taken.iter().all(|&(taken, by_host)| by_host || taken == once), "{taken:?}");
    assert!(taken.iter().filter(|(_, by_host)| !by_host).count() > 5, "{taken:?}");
}

#[test]
fn what_the_host_solves_takes_a_look_and_a_motion_more() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    // No kernel reaches this.
    let options = BatchOptions { device: Some(device), tolerance: 1e-30, iterations: 2, ..BatchOptions::default() };
    let mut batch = batch("half-cheetah", options);
    let taken = steps(&mut batch, 100);
    let &(last, _) = taken.last().expect("steps");
    assert_eq!(last.submissions, 3 * CHUNKS, "all robots lie on the ground by now: {taken:?}");
}

#[test]
fn the_cpu_makes_no_round_trips() {
    let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() };
    let mut batch = batch("half-cheetah", options);
    assert!(steps(&mut batch, 3).iter().all(|(taken, _)| *taken == RoundTrips::default()));
}
