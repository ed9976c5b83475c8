//! Packs whose lanes are numbers of one problem.

use crate::{LANES, Real};

/// Sum over the lanes: of halves that are added to each other.
#[inline(always)]
pub(super) fn total<R: Real>(x: R) -> R::Scalar {
    let mut sums: [R::Scalar; LANES] = std::array::from_fn(|lane| x.lane(lane % R::N));
    let mut half = R::N / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
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
