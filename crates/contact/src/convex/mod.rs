//! CANAL and SAP as kernels, for batches of worlds: what the host packs beside the islands' own records.
//!
//! The method is that of [`manyworlds_shaders::contact::convex`]; [`crate::solve()`] has the same for single problems and
//! for islands that are too large for it.

mod pack;
mod single;

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::convex::layout::{ConvexDims, method};

use crate::{CanalParams, SapParams};
pub use pack::ConvexPack;
pub use single::ConvexProblem;

/// Round-offs that momentum is known to.
const ROUNDOFF: f64 = 16.0;

/// Square of the share of a difference of shifts below which it is taken for noise beside newer ones: what products of
/// rounded numbers leave.
const NOISE: f64 = 1e-12;
const NOISE_SINGLE: f64 = 1e-5;

fn bits(x: f64) -> u32 {
    (x as f32).to_bits()
}

/// Square of the share of momentum that is round-off in this arithmetic.
fn floor<T: Scalar>() -> u32 {
    let epsilon = if T::NAME == f64::NAME { f64::EPSILON } else { f64::from(f32::EPSILON) };
    bits((ROUNDOFF * epsilon).powi(2))
}

/// CANAL's settings for the kernels, in this arithmetic. Penalties are in effective masses, whatever `weights` says.
#[must_use]
pub fn canal<T: Scalar>(params: &CanalParams) -> ConvexDims {
    let most = if T::NAME == f64::NAME { params.penalty_max } else { params.penalty_max.min(CanalParams::MOST_SINGLE) };
    ConvexDims {
        method: method::CANAL,
        floor: floor::<T>(),
        penalty: bits(params.penalty),
        penalty_most: bits(most),
        growth: bits(params.growth),
        decrease: bits(params.decrease),
        inner_share: bits(params.inner_share),
        inner: params.inner,
        outer: params.outer,
        noise: bits(if T::NAME == f64::NAME { NOISE } else { NOISE_SINGLE }),
        ..ConvexDims::default()
    }
}

/// SAP's settings for the kernels, in this arithmetic.
#[must_use]
pub fn sap<T: Scalar>(params: &SapParams) -> ConvexDims {
    ConvexDims {
        method: method::SAP,
        floor: floor::<T>(),
        near_rigid: bits(params.near_rigid),
        // Of round numbers this has no rounding.
        stiction: bits(params.slip.recip()),
        relative: bits(params.relative),
        absolute: bits(params.absolute),
        ..ConvexDims::default()
    }
}
