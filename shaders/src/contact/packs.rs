//! Packs whose lanes are numbers of one problem.

use crate::Real;

/// Sum over the lanes.
#[inline(always)]
pub(super) fn total<R: Real>(x: R) -> R::Scalar {
    (0..R::N).fold(R::Scalar::lit(0.0), |sum, lane| sum + x.lane(lane))
}

/// The next so many of what is left of some memory.
pub(super) fn take<'a, P>(rest: &mut &'a mut [P], count: usize) -> &'a mut [P] {
    let (head, tail) = std::mem::take(rest).split_at_mut(count);
    *rest = tail;
    head
}

/// Packs as their numbers.
#[inline(always)]
pub(super) fn real<P: Real + bytemuck::Pod>(x: &[P]) -> &[P::Scalar] {
    bytemuck::cast_slice(x)
}

/// As above.
#[inline(always)]
pub(super) fn real_mut<P: Real + bytemuck::Pod>(x: &mut [P]) -> &mut [P::Scalar] {
    bytemuck::cast_slice_mut(x)
}
