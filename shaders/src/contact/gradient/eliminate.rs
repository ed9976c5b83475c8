//! The factor of the equations of a tile of lanes.

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
