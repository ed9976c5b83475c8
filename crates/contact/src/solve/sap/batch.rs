//! SAP in batches of worlds: its settings for the kernels.

use manyworlds_shaders::Scalar;
use manyworlds_shaders::contact::convex::layout::{ConvexDims, method};

use super::SapParams;
use crate::solve::Precision;
use crate::solve::batch::{BatchForm, BatchSetup, BatchSolver, LoneTrees};
use crate::solve::convex::{ConvexBatch, bits, common};

pub(super) const FORM: BatchForm =
    BatchForm { lone_trees: LoneTrees::AsIslands, dense: false, most_iterations: u32::MAX, make };

fn make(setup: BatchSetup) -> Box<dyn BatchSolver> {
    let params = SapParams::within(f64::from(setup.tolerance));
    let settings = match setup.precision {
        Precision::F32 => settings::<f32>(&params),
        Precision::F64 => settings::<f64>(&params),
    };
    Box::new(ConvexBatch::new(setup, settings))
}

/// Settings for the kernels, in this arithmetic.
#[must_use]
pub fn settings<T: Scalar>(params: &SapParams) -> ConvexDims {
    ConvexDims {
        near_rigid: bits(params.near_rigid),
        // Of round numbers this has no rounding.
        stiction: bits(params.slip.recip()),
        relative: bits(params.relative),
        absolute: bits(params.absolute),
        ..common::<T>(method::SAP)
    }
}
