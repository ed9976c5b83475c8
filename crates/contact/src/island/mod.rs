//! Host side of the island kernels: what they read, packed from a problem or from the contacts of a step.

mod chains;
mod ragged;
mod records;

pub use chains::{Chain, Chains};
pub use ragged::Ragged;
pub use records::{Islands, SetItems};
