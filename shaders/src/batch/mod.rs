//! Kernels on whole batches.
pub mod gather;
pub mod overwrite;
pub mod scatter;
