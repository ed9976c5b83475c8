//! Derivatives of random scenes with soft bodies: what is certified agrees with differences, and most is certified.
//!
//! Thousands of scenes, by hand: `cargo run --release -p manyworlds-tests --example soft_gradients -- 1000`

use manyworlds_tests::soft_audit::Audit;

#[test]
fn certified_derivatives_of_random_soft_scenes_are_right() {
    let mut audit = Audit::default();
    (0..24).for_each(|seed| audit.look(seed));
    println!("{audit:?}");
    assert!(audit.wrong.is_empty(), "{:#?}", audit.wrong);
    assert!(audit.states > 20 && audit.certified > audit.states * 8 / 10, "{audit:?}");
}

/// A box on an edge on the ground, beside a soft block: how long the edge is does not matter to how it turns about it, and what moves
/// by nothing but rounding must not be found to move. Rounds that told nothing new made a fiftieth of what other sizes do.
#[test]
fn the_length_of_an_edge_does_not_turn_a_box_about_it() {
    let mut audit = Audit::default();
    audit.look(1434);
    assert!(audit.wrong.is_empty() && audit.certified > 0, "{audit:#?}");
}
