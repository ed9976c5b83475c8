//! The scenes of distance functions, by what they must show.

use manyworlds::{Batch, BatchOptions, Executor, ImportOptions, Precision, State, load};
use manyworlds_tests::batches::{batch, run, state};

fn scene(name: &str, tolerance: f64, iterations: u32) -> Batch {
    let model = load(name, &ImportOptions::default()).expect("a scene").model;
    let options = BatchOptions {
        executor: Executor::Cpu,
        precision: Precision::F64,
        tolerance,
        iterations,
        ..BatchOptions::default()
    };
    batch(&model, 1, &options)
}

/// Turns of the nut since the last call, of less than half a turn, from its quaternion.
fn turned(before: &State, after: &State) -> f64 {
    let angle = |s: &State| 2.0 * s.q[6].atan2(s.q[3]) / std::f64::consts::TAU;
    let turn = angle(after) - angle(before);
    turn - turn.round()
}

#[test]
fn a_nut_comes_down_by_a_pitch_a_turn() {
    let mut batch = scene("bolt-nut", 1e-8, 400);
    // Friction of 0.15 holds it: the tangent of the lead angle is 0.033.
    run(&mut batch, 60);
    let resting = state(&mut batch, 0);
    run(&mut batch, 60);
    let later = state(&mut batch, 0);
    assert!((resting.q[2] - later.q[2]).abs() < 1e-6 && turned(&resting, &later).abs() < 1e-5);

    // At a turn a second, downward.
    let ctrl = vec![-std::f64::consts::TAU];
    batch.reset(&[(0, State { ctrl, ..later })]).expect("a reset");
    run(&mut batch, 24);
    let first = state(&mut batch, 0);
    let (mut before, mut turns) = (first.clone(), 0.0);
    for _ in 0..4 {
        run(&mut batch, 24);
        let now = state(&mut batch, 0);
        turns += turned(&before, &now);
        before = now;
    }
    let advance = (before.q[2] - first.q[2]) / turns;
    assert!(turns < -0.35, "{turns} turns");
    assert!((advance - 0.005).abs() < 2e-5, "{advance} m a turn");
    assert!(before.q[0].hypot(before.q[1]) < 2e-4, "within the clearance of the bolt's axis");
}

#[test]
fn a_pile_of_dishes_stands() {
    let mut batch = scene("dish-pile", 1e-7, 3000);
    run(&mut batch, 60);
    let before = state(&mut batch, 0);
    run(&mut batch, 60);
    let after = state(&mut batch, 0);
    for dish in 0..4 {
        let place = |s: &State| [0, 1, 2].map(|i| s.q[7 * dish + i]);
        let moved = place(&before).iter().zip(place(&after)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(moved < 1e-4, "dish {dish} moved by {moved} m in a quarter of a second");
    }
    let inspection = batch.inspect(0).expect("an inspection");
    assert!(inspection.summary.penetration < 5e-5, "{} m", inspection.summary.penetration);
    // Every neighbour is held by many points, none by more than its dishes say.
    for pair in [[0, 1], [1, 2], [2, 3], [3, 4]] {
        let count = inspection.contacts.iter().filter(|c| c.bodies == pair).count();
        assert!((20..=60).contains(&count), "{pair:?}: {count}");
    }
}
