//! The scenes in which an arm does something, by what they must show. Whole runs take longer than a test may; these are
//! their decisive parts.

use std::f64::consts::TAU;

use manyworlds::State;
use manyworlds_tests::runs::Run;

/// Turns about the vertical of the free body whose state comes first.
fn turns(state: &State) -> f64 {
    2.0 * state.q[6].atan2(state.q[3]) / TAU
}

/// The last of three strokes: the nut has two thirds of a turn to go.
#[test]
fn an_arm_turns_a_nut_home() {
    let (pitch, home) = (0.005, 0.019);
    let (from, grip, seated, left, end) = (6.2, 6.4, 7.55, 8.0, 8.5);
    let mut run = Run::new("nut-turning", "auto", 200);
    // After two strokes, 600 degrees: where the thread has it, a little above where it hangs.
    let turned: f64 = -600.0 / 360.0;
    let angle = (30.0 / 360.0 + turned) * TAU;
    let mut q = vec![0.55, 0.0, 0.030_416_666_7 + turned * pitch, (angle / 2.0).cos(), 0.0, 0.0, (angle / 2.0).sin()];
    q.extend(run.curve.at(from));
    let v = vec![0.0; 13];
    run.batch.reset(&[(0, State { q, v, ctrl: run.curve.at(from), tau: vec![], act: vec![] })]).expect("a reset");

    let mut trace: Vec<(f64, f64, f64)> = Vec::new();
    run.follow(from, end, |time, state| {
        let last = trace.last().map_or(turns(state), |moment| moment.2);
        let turn = turns(state) - last;
        trace.push((time, state.q[2], last + turn - turn.round()));
    });
    let at = |time: f64| trace[trace.partition_point(|moment| moment.0 < time - 1e-9)];
    // A pitch a turn, as long as it turns freely.
    let ((_, high, before), (_, low, after)) = (at(grip), at(7.2));
    assert!(before - after > 0.4, "{} turns", before - after);
    assert!(((high - low) / (before - after) - pitch).abs() < 2e-5, "{} m a turn", (high - low) / (before - after));
    // Home, and held there once the spanner has left.
    let (_, seat, seat_turn) = at(seated);
    assert!((seat - home).abs() < 2e-5, "sits at {seat} m");
    let (_, height, turn) = at(left);
    let (_, end_height, end_turn) = *trace.last().expect("steps");
    assert!((end_height - home).abs() < 2e-5, "stays at {end_height} m");
    assert!((end_height - height).abs() < 1e-6 && (end_turn - turn).abs() < 1e-5, "nothing moves it any more");
    assert!((end_turn - seat_turn).abs() < 0.5 / 360.0, "tight: {} turns", end_turn - seat_turn);
    assert!(run.penetration() < 5e-5);
}

/// Places of the four dishes in `q`, and of the 23 joints behind them.
const DISHES: usize = 4;

/// Height and tilt (rad) of a dish, and its place.
fn dish(state: &State, index: usize) -> ([f64; 3], f64) {
    let q = &state.q[7 * index..7 * index + 7];
    ([q[0], q[1], q[2]], 2.0 * q[4].hypot(q[5]))
}

fn moved(before: &State, after: &State, index: usize) -> f64 {
    let (a, b) = (dish(before, index).0, dish(after, index).0);
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Of three dishes the first: from the open hand at its rim to the open hand above the pile.
#[test]
fn a_hand_carries_a_bowl_onto_a_bowl() {
    let mut run = Run::new("dish-piling", "auto", 200);
    let start = run.batch.state(0).expect("a state");
    let (from, before, end) = (1.7, 5.3, 5.6);
    let mut q = start.q;
    q.splice(7 * DISHES.., run.curve.at(from));
    run.batch.reset(&[(0, State { q, ctrl: run.curve.at(from), ..State::default() })]).expect("a reset");
    let mut highest: f64 = 0.0;
    run.follow(from, before, |_, state| highest = highest.max(dish(state, 1).0[2]));
    assert!(highest > 0.2, "carried over the pile: {highest} m");

    let placed = run.batch.state(0).expect("a state");
    run.follow(before, end, |_, _| {});
    let state = run.batch.state(0).expect("a state");
    let (lower, _) = dish(&state, 0);
    let (upper, tilt) = dish(&state, 1);
    assert!((lower[0] - 0.5).abs() < 2e-4 && lower[1].abs() < 2e-4, "the lower bowl stays: {lower:?}");
    assert!((upper[0] - lower[0]).hypot(upper[1] - lower[1]) < 5e-4, "{upper:?} on {lower:?}");
    assert!((upper[2] - lower[2] - 0.006).abs() < 3e-4 && tilt < 0.01, "nested: {upper:?}, {tilt} rad");
    assert!(moved(&placed, &state, 1) < 5e-5, "at rest: {} m in 0.3 s", moved(&placed, &state, 1));
    assert!(run.penetration() < 1e-4);
    // The hand has let go: only dishes and floor touch.
    let inspection = run.batch.inspect(0).expect("an inspection");
    assert!(inspection.contacts.iter().all(|contact| contact.bodies.iter().all(|&body| body <= DISHES)));
}

/// The pile once it is complete: what `auto` solves stands, what a few sweeps leave of 5 kg on 0.1 kg walks.
#[test]
fn the_pile_stands_when_solved_and_walks_when_not() {
    let drift = |solver: &str, iterations: u32| {
        let mut run = Run::new("dish-piling", solver, iterations);
        let end = run.curve.end();
        let mut state = run.batch.state(0).expect("a state");
        for (index, place) in
            [[0.5, 0.0, 0.002], [0.5, 0.0, 0.0081], [0.5, 0.0, 0.0555], [0.502, 0.0, 0.0606]].into_iter().enumerate()
        {
            state.q[7 * index..7 * index + 7].copy_from_slice(&[place[0], place[1], place[2], 1.0, 0.0, 0.0, 0.0]);
        }
        state.q.splice(7 * DISHES.., run.curve.at(end));
        state.ctrl = run.curve.at(end);
        run.batch.reset(&[(0, state)]).expect("a reset");
        run.follow(end, end + 0.25, |_, _| {});
        let before = run.batch.state(0).expect("a state");
        run.follow(end, end + 0.75, |_, _| {});
        let after = run.batch.state(0).expect("a state");
        (0..DISHES).map(|index| moved(&before, &after, index)).fold(0.0, f64::max)
    };
    let (solved, swept) = (drift("auto", 200), drift("pgs", 50));
    assert!(solved < 1e-4, "{solved} m in half a second");
    assert!(swept > 10.0 * solved.max(2e-5), "{swept} m in half a second with 50 sweeps, {solved} m solved");
}
