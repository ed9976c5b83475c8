//! Test harness.

pub mod dynamics;
