//! The factor of the equations of a tile of lanes, and solutions by it.

use crate::real::{Mask, Real, Scalar};

/// Complete pivoting, each lane by itself; the rank of each.
#[inline(always)]
pub(super) fn eliminate<R: Real>(
    m: usize,
    stride: usize,
    smallest: R,
    b: &mut [R],
    row_of: &mut [R],
    column_of: &mut [R],
) -> R {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    for i in 0..m {
        (row_of[i], column_of[i]) = (R::lit(i as f64), R::lit(i as f64));
    }
    let (mut rank, mut least) = (zero, zero);
    for k in 0..m {
        let (mut pivot, mut row, mut column) = (zero, R::lit(k as f64), R::lit(k as f64));
        for i in k..m {
            for j in k..m {
                let x = b[i * stride + j].abs();
                let larger = pivot.lt(x);
                pivot = R::select(larger, x, pivot);
                row = R::select(larger, R::lit(i as f64), row);
                column = R::select(larger, R::lit(j as f64), column);
            }
        }
        if k == 0 {
            least = pivot * smallest;
        }
        let acts = least.lt(pivot);
        rank += R::select(acts, one, zero);
        for lane in (0..R::N).filter(|&lane| acts.lane(lane)) {
            let (i, j) = (row.lane(lane).to_f64() as usize, column.lane(lane).to_f64() as usize);
            let mut swap = |x: usize, y: usize| swap(lane, b, x, y);
            if i != k {
                (0..m).for_each(|c| swap(k * stride + c, i * stride + c));
            }
            if j != k {
                (0..m).for_each(|r| swap(r * stride + k, r * stride + j));
            }
            self::swap(lane, row_of, k, i);
            self::swap(lane, column_of, k, j);
        }
        let per = R::select(acts, one / R::select(acts, b[k * stride + k], one), zero);
        let (above, below) = b.split_at_mut((k + 1) * stride);
        let top = &mut above[k * stride..][..m];
        for row in below.chunks_mut(stride).take(m - k - 1) {
            let times = row[k] * per;
            row[k] = times;
            for c in k + 1..m {
                row[c] = (-times).mul_add(top[c], row[c]);
            }
        }
        top[k] = per;
    }
    rank
}

#[inline(always)]
fn swap<R: Real>(lane: usize, all: &mut [R], i: usize, j: usize) {
    let (x, y) = (all[i].lane(lane), all[j].lane(lane));
    all[i].set_lane(lane, y);
    all[j].set_lane(lane, x);
}

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
