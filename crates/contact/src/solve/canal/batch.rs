//! CANAL in batches of worlds: its settings for the kernels.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::convex::layout::{ConvexDims, method};

use super::CanalParams;
use crate::solve::Precision;
use crate::solve::batch::{BatchForm, BatchSetup, BatchSolver, LoneTrees};
use crate::solve::convex::{ConvexBatch, bits, common};

/// Square of the share of a difference of shifts below which it is taken for noise beside newer ones: what products of
/// rounded numbers leave.
const NOISE: f64 = 1e-12;
const NOISE_SINGLE: f64 = 1e-5;

pub(super) const FORM: BatchForm =
    BatchForm { lone_trees: LoneTrees::AsIslands, dense: false, most_iterations: u32::MAX, make };

fn make(setup: BatchSetup) -> Box<dyn BatchSolver> {
    let params = CanalParams::frozen();
    let settings = match setup.precision {
        Precision::F32 => settings::<f32>(&params),
        Precision::F64 => settings::<f64>(&params),
    };
    Box::new(ConvexBatch::new(setup, settings))
}

/// Settings for the kernels, in this arithmetic. Penalties are in effective masses, whatever `weights` says.
#[must_use]
pub fn settings<T: Scalar>(params: &CanalParams) -> ConvexDims {
    let double = T::NAME == f64::NAME;
    let most = if double { params.penalty_max } else { params.penalty_max.min(CanalParams::MOST_SINGLE) };
    ConvexDims {
        penalty: bits(params.penalty),
        penalty_most: bits(most),
        growth: bits(params.growth),
        decrease: bits(params.decrease),
        inner_share: bits(params.inner_share),
        inner: params.inner,
        outer: params.outer,
        noise: bits(if double { NOISE } else { NOISE_SINGLE }),
        ..common::<T>(method::CANAL)
    }
}
