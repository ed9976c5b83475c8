//! SubADMM as kernels, for batches of worlds and for many bodies: what the host packs beside the islands' own records.
//!
//! The method is that of [`manyworlds_shaders::contact::subadmm`]; [`crate::solve()`] has the same for single problems.

mod chains;
mod pack;
mod single;

pub use chains::{Chain, Chains};
pub use pack::{Islands, SplitPack};
pub use single::{SingleProblem, Splitting};
