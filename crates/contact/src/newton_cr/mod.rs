//! Newton with conjugate residuals as a kernel, for batches of worlds: what the host packs beside the islands' own records.
//!
//! The method is that of [`manyworlds_shaders::contact::newton_cr`]; [`crate::solve()`] has the same for single problems.

mod pack;
mod single;

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::newton_cr::layout::{ResidualDims, function};

use crate::{NcpFunction, NewtonCrParams, Scaling};
pub use pack::ResidualPack;
pub use single::ResidualProblem;

/// Added to the diagonal of the linear system, relative to the Delassus operator's (Macklin 2019, section 8).
pub(crate) const SHIFT: f64 = 1e-6;
/// The same in double precision.
pub(crate) const SHIFT_DOUBLE: f64 = 1e-10;

/// The settings for the kernel, in this arithmetic; Newton steps and iterations of the linear solver are the caller's.
#[must_use]
pub fn settings<T: Scalar>(params: &NewtonCrParams) -> ResidualDims {
    let bits = |x: f64| (x as f32).to_bits();
    ResidualDims {
        function: match params.function {
            NcpFunction::MinimumMap => function::MINIMUM_MAP,
            NcpFunction::FischerBurmeister => function::FISCHER_BURMEISTER,
        },
        scale: match params.scaling {
            Scaling::Uniform(r) => bits(r.max(f64::from(f32::MIN_POSITIVE))),
            Scaling::EffectiveMass => 0,
        },
        damping: bits(params.damping),
        share: bits(params.linear_share),
        shift: bits(if T::NAME == f64::NAME { SHIFT_DOUBLE } else { SHIFT }),
        ..ResidualDims::default()
    }
}
