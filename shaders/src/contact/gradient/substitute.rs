//! Solutions by the factor of the equations of a tile of lanes.

use crate::real::{Mask, Real};

/// `L x = x`, `[m][width]`.
#[inline(always)]
pub(super) fn descend<R: Real>(m: usize, stride: usize, factor: &[R], x: &mut [R], width: usize) {
    for i in 0..m {
        let (known, own) = x.split_at_mut(i * width);
        for k in 0..i {
            let l = -factor[i * stride + k];
            own[..width].iter_mut().zip(&known[k * width..]).for_each(|(x, y)| *x = l.mul_add(*y, *x));
        }
    }
}

/// Solves by the factor, in place, `[m][width]`: what stands from the rank on is what the equations leave of it, and zero
/// afterwards; the largest of that by column into `left`.
#[inline(always)]
pub(super) fn substitute<R: Real>(m: usize, stride: usize, factor: &[R], x: &mut [R], width: usize, left: &mut [R]) {
    let zero = R::lit(0.0);
    left[..width].fill(zero);
    descend(m, stride, factor, x, width);
    for i in (0..m).rev() {
        let (own, known) = x[i * width..].split_at_mut(width);
        for k in i + 1..m {
            let u = -factor[i * stride + k];
            own.iter_mut().zip(&known[(k - i - 1) * width..]).for_each(|(x, y)| *x = u.mul_add(*y, *x));
        }
        let per = factor[i * stride + i];
        // No pivot, no part in the solution.
        let none = per.le(zero) & zero.le(per);
        if none.any() {
            for (left, x) in left.iter_mut().zip(own.iter()) {
                *left = R::select(none, left.max(x.abs()), *left);
            }
        }
        own.iter_mut().for_each(|x| *x = *x * per);
    }
}
