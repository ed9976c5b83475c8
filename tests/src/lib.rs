//! Test harness.
pub mod parity;
