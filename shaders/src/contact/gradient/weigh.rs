//! Rows of a tile that weigh something in some of its lanes: what stands in those of a lane that does not have them may be anything.

use crate::{Mask, Real};

/// Lanes in which something weighs at all; a NaN does.
#[inline(always)]
pub(super) fn weighs<R: Real>(x: R) -> R::Mask {
    !(x.le(R::lit(0.0)) & R::lit(0.0).le(x))
}

/// Adds a row times what it weighs.
#[inline(always)]
pub(super) fn add_weighed<R: Real>(weight: R, row: &[R], to: &mut [R]) {
    let lanes = weighs(weight);
    if lanes.any() {
        to.iter_mut().zip(row).for_each(|(to, x)| *to = R::select(lanes, x.mul_add(weight, *to), *to));
    }
}
