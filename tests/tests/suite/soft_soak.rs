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
