//! Kernel pairs: each `name.wgsl` beside its mirror `name.rs`.
pub mod contact;
pub mod dynamics;
pub mod math;
mod real;
pub use real::{F32x8, F64x8, LANES, Mask, Pack, PackMask, Real, Scalar};
