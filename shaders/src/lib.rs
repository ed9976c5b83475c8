//! Kernel pairs: each `name.wgsl` beside its mirror `name.rs`.
//!
//! To add a kernel: write `src/stage/name.wgsl` (entry point `main`; first lines may say `#import stage/module`),
//! write `src/stage/name.rs` with `Dims` and `mirror`, and name it in the stage's `mod.rs`. The build script does the
//! rest: `kernel::stage::NAME` is what a recording dispatches. Constants, records and uniform blocks stand in the Rust file;
//! WGSL gets them from there.
pub mod args;
pub mod batch;
pub mod buffer;
pub mod contact;
pub mod dynamics;
pub mod index;
pub mod math;
mod prelude;
mod real;
pub mod registry;
pub mod soft;
pub use args::Args;
pub use buffer::{Buffer, Kind};
pub use real::{F32x8, F64x8, LANES, Mask, Pack, PackMask, Real, Scalar};
pub use registry::{Binding, KERNELS, Kernel, Precision, Width, kernel};
