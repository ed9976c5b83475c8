//! Observations from poses on a batch's device against those from poses that the host read.

use std::sync::Arc;

use manyworlds::{Batch, BatchOptions, Executor, FieldId, ImportOptions, Model, Precision, Traffic};
use manyworlds_render::{Camera, Observations, Observer, Placed, Size};
use manyworlds_view::{lanes, placed, placed_at};

const WORLDS: usize = 70;
const SIZE: Size = Size { width: 64, height: 48 };
/// Part of the pixels that may differ: poses are composed in single precision, and rounding decides on edges.
const EDGES: f64 = 1e-3;

/// Worlds on a device, each in another state.
fn batch(model: &Model) -> Option<Batch> {
    if std::env::var("MANYWORLDS_NO_ADAPTER").is_ok_and(|value| value == "1") {
        eprintln!("\n*** MANYWORLDS_NO_ADAPTER=1: NOTHING IS OBSERVED. ***\n");
        return None;
    }
    let options = BatchOptions { executor: Executor::Gpu, precision: Precision::F32, ..BatchOptions::default() };
    let mut batch =
        Batch::new(&[(model, WORLDS)], &options).expect("an adapter, or the switch that says there is none");
    let mut q = model.initial_q().repeat(WORLDS);
    for (world, row) in q.chunks_exact_mut(model.n_q).enumerate() {
        // Free bodies: along x.
        model.trees.iter().for_each(|tree| row[tree.q.start] += 0.01 * world as f64);
    }
    batch.write(0, FieldId::Position, &q).expect("states are written");
    Some(batch)
}

/// By poses on the device, and what was copied meanwhile.
fn by_device(observer: &mut Observer, batch: &mut Batch, model: &Model, cameras: &[Camera]) -> (Observations, Traffic) {
    batch.refresh().expect("the device answers");
    let before = batch.traffic();
    let still = placed_at(model, model.initial_q(), &[]);
    let lanes = lanes(batch, 0, model).expect("a group").expect("poses on the device");
    let seen = observer.observe_lanes(&lanes, &still, cameras).expect("it is observed");
    (seen, batch.traffic().since(before))
}

/// Parts of pixels that differ, in what is seen and how far off it is.
fn differing(a: &Observations, b: &Observations) -> [f64; 2] {
    let part = |n: usize| n as f64 / a.depth.len() as f64;
    let whats = a.segmentation.iter().zip(&b.segmentation).filter(|(a, b)| a != b).count();
    let far = |(a, b): &(&f32, &f32)| (*a - *b).abs() > 1e-4 * a.abs();
    [part(whats), part(a.depth.iter().zip(&b.depth).filter(far).count())]
}

fn same_pixels(scene: &str) {
    let model = manyworlds::load(scene, &ImportOptions::default()).expect("a scene").model;
    let Some(mut batch) = batch(&model) else { return };
    let device = batch.device().map(Arc::clone).expect("a device");
    let mut observer = Observer::new(device, &model, SIZE).expect("an observer");
    let camera = observer.frame(&[placed_at(&model, model.initial_q(), &[])]);
    let cameras: Vec<Camera> = (0..WORLDS).map(|world| camera.orbited(0.02 * world as f64, 0.0)).collect();
    // At once after states were written, and after steps.
    for steps in [0, 20] {
        (0..steps).for_each(|_| batch.step::<f32>(&[]).expect("a step"));
        let (seen, copied) = by_device(&mut observer, &mut batch, &model, &cameras);
        assert_eq!(copied, Traffic::default(), "{scene}: poses are copied");
        let worlds: Vec<Placed> =
            (0..WORLDS).map(|world| placed(&mut batch, world, &model).expect("a world")).collect();
        let expected = observer.observe(&worlds, &cameras).expect("it is observed");
        let [whats, depths] = differing(&seen, &expected);
        assert!(whats < EDGES && depths < EDGES, "{scene}, {steps} steps: {whats} {depths}");
        assert_eq!(seen.rgb.len(), expected.rgb.len());
        let colours = seen.rgb.iter().zip(&expected.rgb).filter(|(a, b)| a.abs_diff(**b) > 2).count();
        assert!((colours as f64) < EDGES * seen.rgb.len() as f64, "{scene}, {steps} steps: {colours} colours");
        // The comparison sees bodies: those of another world are elsewhere.
        let mut turned = worlds.clone();
        turned.rotate_left(WORLDS / 2);
        let other = observer.observe(&turned, &cameras).expect("it is observed");
        assert!(differing(&seen, &other)[0] > EDGES, "{scene}, {steps} steps: all worlds look alike");
    }
}

#[test]
fn poses_on_the_device_give_the_same_pixels() {
    // One tree on a ground; several alike.
    same_pixels("humanoid");
    same_pixels("quadruped-drop");
}

#[test]
fn what_the_host_alone_has_is_not_taken_from_the_device() {
    let model = manyworlds::load("soft-pinch", &ImportOptions::default()).expect("a scene").model;
    let options = BatchOptions { executor: Executor::Cpu, ..BatchOptions::default() };
    let mut batch = Batch::new(&[(&model, 1)], &options).expect("a batch");
    assert!(lanes(&mut batch, 0, &model).expect("a group").is_none());
    assert!(lanes(&mut batch, 1, &model).is_err());
    let rigid = manyworlds::load("free-box", &ImportOptions::default()).expect("a scene").model;
    let mut batch = Batch::new(&[(&rigid, 1)], &options).expect("a batch");
    assert!(lanes(&mut batch, 0, &rigid).expect("a group").is_none(), "they lie in main memory");
}
