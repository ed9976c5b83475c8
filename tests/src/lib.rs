//! Test harness.

pub mod dynamics;
pub mod parity;
