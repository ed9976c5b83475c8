//! Host side of the island kernels: what they read, packed from a problem or from the contacts of a step.

mod ragged;

pub use ragged::Ragged;
