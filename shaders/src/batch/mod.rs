//! Kernels on whole batches.
pub mod gather;
pub mod hold;
pub mod keep;
pub mod left_numbers;
pub mod left_worlds;
pub mod overwrite;
pub mod scatter;
pub mod unsolved_islands;
pub mod unsolved_lanes;
pub mod world;
