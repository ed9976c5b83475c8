//! Kernels on whole batches.
pub mod hold;
pub mod overwrite;
pub mod unsolved_islands;
pub mod unsolved_lanes;
pub mod world;
