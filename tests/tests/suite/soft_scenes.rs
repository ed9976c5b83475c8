//! The scenes with soft bodies that follow controls of their own, by what they must show.

use manyworlds::State;
use manyworlds::model::{JointKind, MaterialLaw, SoftBody, Vec3};
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

/// Young's modulus, Pa, Poisson's ratio, cells along a bar and across it, and their size, m, of the scene `stretch`.
const BAR: (f64, f64, usize, usize, f64) = (1e5, 0.45, 14, 2, 0.025);

/// Stretch and relative volume of the middle of a bar, mean of three slabs of cells.
fn middle(body: &SoftBody, nodes: &[[f64; 3]]) -> [f64; 2] {
    let (_, _, cells, across, size) = BAR;
    let slab = |node: &u32| *node as usize / ((across + 1) * (across + 1));
    let (first, last) = (cells / 2 - 2, cells / 2 + 1);
    let mut volume = 0.0;
    for corners in body.elements.chunks_exact(4).filter(|c| c.iter().all(|c| (first..=last).contains(&slab(c)))) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|k| Vec3::from(nodes[corners[k] as usize]));
        volume += (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0;
    }
    let mean = |wanted: usize| {
        let own: Vec<f64> = (0..).zip(nodes).filter(|(n, _)| slab(n) == wanted).map(|(_, x)| x[0]).collect();
        own.iter().sum::<f64>() / own.len() as f64
    };
    let [length, width] = [(last - first) as f64 * size, across as f64 * size];
    [(mean(last) - mean(first)) / length, volume / (length * width * width)]
}

/// Bars drawn out to twice their length have in their middle the volume that their laws have in closed form.
#[test]
fn stretched_bars_have_the_volume_of_their_laws() {
    let mut run = Run::auto("stretch");
    run.follow(0.0, 3.0, |_, _| {});
    run.penetration();
    let (young, poisson, ..) = BAR;
    let (mu, lambda) = (young / 2.0 / (1.0 + poisson), young * poisson / (1.0 + poisson) / (1.0 - 2.0 * poisson));
    let soft = run.batch.soft(0).expect("soft bodies");
    for (body, state) in run.model.soft.iter().zip(&soft) {
        let [stretch, volume] = middle(body, &state.nodes);
        // Widths at which the sides are free.
        let wanted = match body.material.law {
            MaterialLaw::NeoHookean => ((lambda + 2.0 * mu) * stretch - mu) / ((lambda + mu) * stretch),
            _ => stretch * (1.0 - poisson * (stretch - 1.0)).powi(2),
        };
        assert!((1.96..2.04).contains(&stretch), "{}: {stretch}", body.name);
        // The clamps are two and a half widths away, and still felt a little.
        assert!((volume - wanted).abs() < 4e-3, "{}: {volume} for {wanted} at {stretch}", body.name);
    }
}

/// Where a body's nodes are in the mean, m.
fn centre(nodes: &[[f64; 3]]) -> [f64; 3] {
    std::array::from_fn(|k| nodes.iter().map(|x| x[k]).sum::<f64>() / nodes.len() as f64)
}

/// Finger tips hold a soft ball for ten seconds: it does not creep, and friction carries its weight.
#[test]
fn finger_tips_hold_a_soft_ball() {
    let mut run = Run::auto("soft-ball-hand");
    let end = run.curve.end();
    let at = |run: &mut Run, from: f64, to: f64| {
        run.follow(from, to, |_, _| {});
        run.penetration();
        centre(&run.batch.soft(0).expect("a ball")[0].nodes)
    };
    let lying = at(&mut run, 0.0, 1.0);
    let begun = at(&mut run, 1.0, 4.0);
    let held = at(&mut run, 4.0, end);
    assert!(end >= 12.0 && held[2] > 0.02 && lying[2] - held[2] < 0.01, "{lying:?} {held:?}");
    assert!(apart(begun, held) < 1e-9 * (end - 4.0), "{begun:?} {held:?}");
    let mut impulses = Vec::new();
    run.batch.contact_impulses(&mut impulses).expect("impulses");
    let ball = run.model.bodies.len();
    let sign = |own: [usize; 2]| f64::from(own[1] == ball) - f64::from(own[0] == ball);
    let carried: f64 = impulses.iter().map(|of| sign(of.bodies) * of.impulse[2]).sum();
    let weight = run.model.soft[0].volume() * run.model.soft[0].material.density * 9.81;
    let step = run.model.options.timestep;
    assert!((carried / step / weight - 1.0).abs() < 1e-6, "{carried} N s for {weight} N");
}

/// Three soft fingers under pressure lift a ball and hold it without creep.
#[test]
fn soft_fingers_under_pressure_lift_a_ball() {
    let mut run = Run::auto("pneunet");
    let heights = |run: &mut Run, from: f64, to: f64| {
        run.follow(from, to, |_, _| {});
        assert!(run.penetration() < 1e-6);
        run.batch.state(0).expect("a state").q[..3].to_vec()
    };
    let lying = heights(&mut run, 0.0, 1.3);
    let lifted = heights(&mut run, 1.3, 4.0);
    let held = heights(&mut run, 4.0, 5.0);
    assert!((lying[2] - 0.04).abs() < 1e-6 && lifted[2] > lying[2] + 0.09, "{lying:?} {lifted:?}");
    let crept = lifted.iter().zip(&held).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(crept < 1e-9, "{crept}");
}

/// An arm lays a soft tomato on a scale, whose needle then reads its weight, one radian for each newton.
#[test]
fn a_scale_reads_the_weight_of_a_tomato() {
    let mut run = Run::auto("tomato");
    let needle = run.model.joints.iter().find(|joint| joint.name == "needle").expect("a needle").q_start;
    let soft = &run.model.soft[0];
    let weight = soft.volume() * soft.material.density * 9.81;
    let mut empty: f64 = 0.0;
    run.follow(0.0, 3.5, |time, state| {
        if time > 1.0 {
            empty = empty.max(state.q[needle].abs());
        }
    });
    let carried = centre(&run.batch.soft(0).expect("a tomato")[0].nodes);
    assert!(carried[2] > 0.15 && carried[1] < 0.0, "{carried:?}");
    let end = run.curve.end();
    run.follow(3.5, end, |_, _| {});
    assert!(run.penetration() < 1e-6);
    let read = run.batch.state(0).expect("a state").q[needle];
    assert!(empty < 1e-3 * weight, "without a load it reads {empty} N");
    assert!((read / weight - 1.0).abs() < 1e-6, "{read} N of {weight} N");
}

/// A soft bar crawls by the gait that it learned.
#[test]
fn a_soft_bar_crawls() {
    let mut run = Run::auto("soft-crawler");
    let mut ways = Vec::new();
    for second in 0..3 {
        run.follow(f64::from(second), f64::from(second + 1), |_, _| {});
        ways.push(centre(&run.batch.soft(0).expect("a bar")[0].nodes)[0].abs());
    }
    assert!(run.penetration() < 1e-4);
    assert!(ways[0] > 0.02 && ways[1] > ways[0] + 0.02 && ways[2] > ways[1] + 0.02, "{ways:?}");
}
