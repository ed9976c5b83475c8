//! Solutions by the factor of the equations of a tile of lanes.

use crate::real::Real;

/// Solves by the factor, in place, `[m][width]`; zeros from the rank on.
#[inline(always)]
pub(super) fn substitute<R: Real>(m: usize, stride: usize, factor: &[R], x: &mut [R], width: usize) {
    for i in 0..m {
        let (known, own) = x.split_at_mut(i * width);
        for k in 0..i {
            let l = -factor[i * stride + k];
            own[..width].iter_mut().zip(&known[k * width..]).for_each(|(x, y)| *x = l.mul_add(*y, *x));
        }
    }
    for i in (0..m).rev() {
        let (own, known) = x[i * width..].split_at_mut(width);
        for k in i + 1..m {
            let u = -factor[i * stride + k];
            own.iter_mut().zip(&known[(k - i - 1) * width..]).for_each(|(x, y)| *x = u.mul_add(*y, *x));
        }
        // No pivot, no part in the solution.
        let per = factor[i * stride + i];
        own.iter_mut().for_each(|x| *x = *x * per);
    }
}
