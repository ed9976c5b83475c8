//! Kernels on whole batches.
pub mod overwrite;
