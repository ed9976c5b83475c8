//! The scenes with soft bodies that follow controls of their own, by what they must show.

use manyworlds::State;
use manyworlds::model::JointKind;
use manyworlds_tests::runs::Run;

/// Of the box in the hand, as the hand does not turn: m.
fn in_the_hand(run: &Run, state: &State) -> [f64; 3] {
    let free = run.model.joints.iter().find(|joint| joint.kind == JointKind::Free).expect("the box").q_start;
    [state.q[free], state.q[free + 1] - state.q[0], state.q[free + 2] - state.q[1]]
}

fn apart(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Soft pads hold a box through shaking: it is back where it was once the hand rests, and stays there.
#[test]
fn soft_pads_shake_a_box_and_keep_it() {
    let mut run = Run::auto("soft-gripper");
    let mut at = Vec::new();
    let mut states = Vec::new();
    run.follow(0.0, 5.4, |time, state| {
        at.push(time);
        states.push(state.clone());
    });
    let found = |time: f64| in_the_hand(&run, &states[at.partition_point(|&t| t < time - 1e-9)]);
    let (before, after) = (found(1.7), found(5.4));
    assert!(states[at.len() / 2].q[1] > 0.08, "lifted");
    let swing = apart(found(3.0), found(3.125));
    assert!(swing > 3e-4, "the pads give way by {swing}");
    // Edges of the pads slip a little at first, less from round to round: it does not walk out.
    assert!(apart(before, after) < 3e-6, "{before:?} {after:?}");
    let walked = apart(found(3.75), found(4.0));
    assert!(walked < 2e-8, "{walked} a round");
    let crept = apart(found(5.0), after);
    assert!(crept < 1e-9, "{crept}");
}

/// With 2.5 N friction holds 4 N, less than the shaking wants: the box slips out of the hand.
#[test]
fn soft_pads_lose_a_box_that_they_hold_too_weakly() {
    let mut run = Run::auto("soft-gripper");
    let step = run.model.options.timestep;
    let mut heights = Vec::new();
    for i in 0..1250 {
        let mut controls = run.curve.at(f64::from(i) * step);
        controls[2] = 2.5;
        run.batch.step(&controls).expect("a step");
        let state = run.batch.state(0).expect("a state");
        heights.push(in_the_hand(&run, &state)[2]);
    }
    let (held, lost) = (heights[850], heights[1249]);
    assert!(held > 0.027 && lost < held - 0.01, "{held} {lost}");
}
