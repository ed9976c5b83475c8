//! Shapes given by a signed distance function, and the sampled surface that meets the function of another shape.

mod function;
mod nets;
mod sampled;
mod thread;

pub use function::DistanceFunction;
pub use sampled::{Block, Sdf};
