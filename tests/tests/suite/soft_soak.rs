//! Random scenes with soft bodies: no world fails, nothing is lost, no energy comes from nowhere.
//!
//! Ten million steps, by hand: `cargo run --release -p manyworlds-tests --example soft_soak -- 10000000`

use manyworlds_tests::soft_soak::soak;

#[test]
fn random_soft_scenes_go_on() {
    let seen = soak(0, 25_000);
    println!("{seen:?}");
    assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
    assert!(seen.contacts > 10_000 && seen.inverted > 100, "{seen:?}");
}

/// Scenes with steps whose rounds went in a circle, two to 52 of their 1,600: squeezed bodies whose contacts ask for the impossible, so
/// that some give way in one round and none did in the next, and crushed ones without a positive definite matrix. A step that finds two
/// ways to give way in turns is rare and still left.
#[test]
fn rounds_come_to_an_end() {
    for seed in [9, 81, 165, 207] {
        let seen = soak(seed, 1_600);
        assert!(seen.wrong.is_empty() && seen.above <= 1, "seed {seed}: {seen:?}");
    }
}

/// Scenes of crushed bodies whose matrices are positive definite only with what touches them: 30 and two of their 1,600 steps ran out of
/// rounds that came closer slowly, with 1e-3 N s left. In one of them bodies touch themselves, so that contacts couple nodes that no element
/// joins. What may be left are two steps whose contacts alone are hard, just above the tolerance of 1e-8 N s.
#[test]
fn slow_rounds_end_at_once() {
    for seed in [33, 43] {
        let seen = soak(seed, 1_600);
        assert!(seen.wrong.is_empty() && seen.above <= 2 && seen.residual < 1e-7, "seed {seed}: {seen:?}");
    }
}

/// Two blocks on each other. Points that rest on one face seemed deep by the next, and what undid these depths wound the blocks up: from 0.66
/// to 1.85 J in the first. In the second it did so where only vertices were looked at, and not points beside them.
#[test]
fn points_beside_an_edge_are_not_pushed_out_of_both_its_faces() {
    for seed in [770, 918] {
        let seen = soak(seed, 1_600);
        assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
    }
}

/// Two blocks that fall on each other: two contacts, each against the other, pushed with 77,000 N s for the sake of 36 nanometres of depth,
/// and energy rose from 0.96 to 1.27 J in one step, then to 2.
#[test]
fn contacts_that_hold_fast_do_not_push_without_bound() {
    let seen = soak(3634, 1_600);
    assert!(seen.wrong.is_empty() && seen.residual < 1e-6, "{seen:#?}");
}

/// Two blocks that fall on each other. One has an element inside out, a face of which is 2.5 mm before an edge of the other, and both look away
/// from it: the face and what is beside that edge seemed to be within each other, and what undid that raised the energy from 0.34 to 0.53 J.
#[test]
fn what_is_beside_an_edge_is_not_behind_it() {
    let seen = soak(7618, 1_600);
    assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
}

/// A box on a body that has turned inside out: it fell through that, whose triangles took no push from outside, and touched its far side from
/// within, 34 mm deep. Undoing that did 17 J of work in one step, and energy rose from 0.18 to 2.1 J.
#[test]
fn nothing_falls_into_a_body_that_is_inside_out() {
    let seen = soak(4610, 1_600);
    assert!(seen.wrong.is_empty(), "{:#?}", seen.wrong);
}
