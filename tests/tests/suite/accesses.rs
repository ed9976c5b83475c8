//! What kernels say that they load and store.

use std::collections::BTreeMap;
use std::sync::Arc;

use manyworlds::{Batch, BatchOptions, ImportOptions, load};
use manyworlds_gpu::{DeviceOptions, GpuDevice};
use manyworlds_tests::batches::{bits, state};
use manyworlds_tests::parity::device;

const WORLDS: usize = 5;
const STEPS: usize = 40;

/// Bits of all states after some steps.
fn run(scene: &str, device: Arc<GpuDevice>) -> Vec<Vec<u64>> {
    let model = load(scene, &ImportOptions::default()).expect("a scene").model;
    let options = BatchOptions { device: Some(device), tolerance: 1e-3, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(&model, WORLDS)], &options).expect("a batch");
    let controls = vec![0.1_f32; batch.n_controls()];
    (0..STEPS).for_each(|_| batch.step(&controls).expect("a step"));
    (0..WORLDS).map(|world| bits(&state(&mut batch, world))).collect()
}

/// Worlds of one tree, and of several that touch.
#[test]
fn kernels_that_count_compute_the_same() {
    let Some(plain) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    assert_eq!(plain.accesses().expect("nothing"), []);
    let counting = GpuDevice::open(&DeviceOptions { count_accesses: true, ..DeviceOptions::default() });
    let counting = counting.expect("a device");
    for scene in ["half-cheetah", "heavy-stack"] {
        assert_eq!(run(scene, Arc::clone(&counting)), run(scene, Arc::clone(&plain)), "{scene}");
        let accesses = counting.accesses().expect("sums");
        assert!(accesses.iter().all(|own| own.loaded > 0), "{scene}: {accesses:?}");
        assert!(counting.accesses().expect("none since").is_empty());
        let by_name: BTreeMap<_, _> = accesses.iter().map(|own| (own.kernel, own)).collect();
        if scene == "half-cheetah" {
            // A word of status of each world's one lane, and a word of what was found.
            let unsolved = by_name["batch/unsolved_lanes"];
            assert_eq!([unsolved.loaded, unsolved.stored], [4 * (WORLDS * STEPS) as u64; 2]);
        } else {
            assert!(by_name.contains_key("contact/island_pgs"), "{accesses:?}");
        }
    }
}
