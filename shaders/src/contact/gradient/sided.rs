//! Rows and matrices of a side times motions.

use crate::dynamics::tree::SPATIAL;
use crate::real::Real;

/// Reals of a matrix of a side.
pub(super) const SUM: usize = SPATIAL * SPATIAL;

#[inline(always)]
pub(super) fn spatial<R: Real>(from: &[R], at: usize) -> [R; SPATIAL] {
    std::array::from_fn(|k| from[at * SPATIAL + k])
}

#[inline(always)]
pub(super) fn dot<R: Real>(row: &[R], s: &[R; SPATIAL], start: R) -> R {
    (0..SPATIAL).fold(start, |sum, k| row[k].mul_add(s[k], sum))
}

/// `W s`.
#[inline(always)]
pub(super) fn times<R: Real>(w: &[R], s: &[R; SPATIAL]) -> [R; SPATIAL] {
    std::array::from_fn(|k| dot(&w[k * SPATIAL..(k + 1) * SPATIAL], s, R::lit(0.0)))
}

/// `W^T s`.
#[inline(always)]
pub(super) fn times_transposed<R: Real>(w: &[R], s: &[R; SPATIAL]) -> [R; SPATIAL] {
    std::array::from_fn(|k| (0..SPATIAL).fold(R::lit(0.0), |sum, r| w[r * SPATIAL + k].mul_add(s[r], sum)))
}
