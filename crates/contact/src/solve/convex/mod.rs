//! What CANAL and SAP have in common: the strongly convex problem in velocities that SAP solves once and CANAL again and
//! again, on the host and by kernels.
//!
//! The kernels' method is that of [`manyworlds_shaders::contact::convex`]; `host.rs` has the same for single problems and for
//! islands that are too large for a workgroup: its factor is sparse, and it is faster on all but the smallest.

mod batch;
mod host;
mod pack;
mod single;

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::convex::layout::ConvexDims;

pub(super) use batch::ConvexBatch;
pub(super) use host::{Convex, Term};
pub use pack::ConvexPack;
pub use single::ConvexProblem;

/// Round-offs that momentum is known to.
const ROUNDOFF: f64 = 16.0;

pub(super) fn bits(x: f64) -> u32 {
    (x as f32).to_bits()
}

/// What the kernels of both take, in this arithmetic.
pub(super) fn common<T: Scalar>(method: u32) -> ConvexDims {
    let epsilon = if T::NAME == f64::NAME { f64::EPSILON } else { f64::from(f32::EPSILON) };
    // Square of the share of momentum that is round-off.
    ConvexDims { method, floor: bits((ROUNDOFF * epsilon).powi(2)), ..ConvexDims::default() }
}
