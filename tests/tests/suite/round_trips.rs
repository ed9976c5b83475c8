//! How often a step hands work to a device and waits for it.

use std::path::Path;

use manyworlds::model::from_mjcf_str;
use manyworlds::{
    Batch, BatchOptions, DerivativesBy, Executor, ImportOptions, InputsMut, Model, OutputSlices, Precision, RoundTrips,
    load,
};
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
        batch.step(&controls).and_then(|()| batch.wait()).expect("a step");
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

/// A body on four legs of eight hinges, each with dry friction and a drive of limited force.
fn long_legs() -> Model {
    let leg = |number: usize| {
        let (x, y) = ([0.2, -0.2][number % 2], [0.2, -0.2][number / 2]);
        let mut links = r#"<geom type="sphere" size="0.03" mass="0.2"/>"#.to_owned();
        for joint in (0..8).rev() {
            let place = if joint == 0 { format!("{x} {y} 0") } else { "0 0 -0.06".to_owned() };
            let axis = if joint % 2 == 0 { "1 0 0" } else { "0 1 0" };
            links = format!(
                r#"<body pos="{place}"><joint name="{number}{joint}" axis="{axis}" frictionloss="0.3" damping="0.1"
                armature="0.01"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.06" mass="0.1" contype="0"
                conaffinity="0"/>{links}</body>"#
            );
        }
        links
    };
    let legs: String = (0..4).map(leg).collect();
    let drives: String = (0..32)
        .map(|i| format!(r#"<position joint="{}{}" kp="60" kv="2" forcerange="-20 20"/>"#, i / 8, i % 8))
        .collect();
    let xml = format!(
        r#"<mujoco><option timestep="0.004"/><worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 0.52"><freejoint/>
        <geom type="box" size="0.25 0.25 0.05" mass="4"/>{legs}</body></worldbody><actuator>{drives}</actuator></mujoco>"#
    );
    let nothing = |path: &Path| Err(std::io::Error::other(format!("{}", path.display())));
    from_mjcf_str("legs.xml", &xml, &nothing, &ImportOptions::default()).expect("a model").model
}

#[test]
fn products_by_kernels_are_two_submissions() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    let options = BatchOptions { device: Some(device), tolerance: 1e-3, ..BatchOptions::default() };
    let mut batch = batch("half-cheetah", options);
    batch.set_derivatives_by(DerivativesBy::Kernels);
    batch.keep_steps(true).expect("the default integrator");
    steps(&mut batch, 12);
    let worlds: Vec<usize> = (0..WORLDS).collect();
    let n = WORLDS * batch.model(0).expect("a model").n_v;
    let (weights, mut by_v) = (vec![1.0; n], vec![0.0; n]);
    let before = batch.round_trips();
    let to = InputsMut { v: &mut by_v, ..InputsMut::default() };
    batch
        .back_all(&worlds, &OutputSlices { q: &weights, v: &weights, ..OutputSlices::default() }, to)
        .expect("products");
    let twice = RoundTrips { submissions: 2 * CHUNKS, waits: 2 * CHUNKS };
    assert_eq!(batch.round_trips().since(before), twice);
}

#[test]
fn a_device_has_room_for_drives_and_dry_friction_in_every_joint() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    let model = long_legs();
    let options = BatchOptions { device: Some(device), tolerance: 1e-5, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(&model, 8)], &options).expect("a batch");
    let taken = steps(&mut batch, 60);
    let mut summaries = Vec::new();
    batch.summaries(&mut summaries).expect("summaries");
    assert!(summaries.iter().all(|world| world.contacts >= 4 && world.residual < 2e-5), "{summaries:?}");
    let by_kernels = taken.iter().filter(|(_, by_host)| !by_host).count();
    assert!(by_kernels > 50, "{by_kernels} of {} steps", taken.len());
}

#[test]
fn what_the_host_solves_takes_a_motion_more() {
    let Some(device) = device().expect("an adapter, or MANYWORLDS_NO_ADAPTER=1") else { return };
    // No kernel reaches this.
    let options = BatchOptions { device: Some(device), tolerance: 1e-30, iterations: 2, ..BatchOptions::default() };
    let mut batch = batch("half-cheetah", options);
    let taken = steps(&mut batch, 100);
    let &(last, _) = taken.last().expect("steps");
    let wanted = RoundTrips { submissions: 2 * CHUNKS, waits: 2 * CHUNKS };
    assert_eq!(last, wanted, "all robots lie on the ground by now: {taken:?}");
}

#[test]
fn the_cpu_makes_no_round_trips() {
    let options = BatchOptions { executor: Executor::Cpu, precision: Precision::F64, ..BatchOptions::default() };
    let mut batch = batch("half-cheetah", options);
    assert!(steps(&mut batch, 3).iter().all(|(taken, _)| *taken == RoundTrips::default()));
}
