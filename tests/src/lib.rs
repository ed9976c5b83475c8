//! Test harness: golden data, the models it belongs to, comparisons with a stated tolerance.

pub mod audit;
pub mod batches;
pub mod compare;
pub mod corpus;
pub mod dynamics;
pub mod elastic;
pub mod golden;
pub mod parity;
pub mod random_problems;
pub mod rigid_random;
pub mod runs;
pub mod soft;
pub mod soft_random;
pub mod soft_soak;
pub mod wrenches;

use std::path::PathBuf;

/// The repository's root.
#[must_use]
pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
