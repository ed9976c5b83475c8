//! The factor of the equations of a tile of lanes.

use crate::real::{Mask, Real, Scalar};

/// One equation times so many directions, four at once: each of its numbers is loaded once for them.
#[inline(always)]
pub(super) fn multiply<R: Real>(equation: &[R], directions: &[R], out: &mut [R]) {
    let (n, m) = (equation.len(), out.len());
    for first in (0..m).step_by(4) {
        let four: [&[R]; 4] = std::array::from_fn(|c| &directions[(first + c).min(m - 1) * n..][..n]);
        let mut sums = [R::lit(0.0); 4];
        for (d, a) in equation.iter().enumerate() {
            (0..4).for_each(|c| sums[c] = a.mul_add(four[c][d], sums[c]));
        }
        out[first..].iter_mut().zip(sums).for_each(|(to, sum)| *to = sum);
    }
}

/// The largest entry that was seen, and its row.
struct Largest<R> {
    size: R,
    row: R,
}

impl<R: Real> Largest<R> {
    #[inline(always)]
    fn none(row: usize) -> Self {
        Self { size: R::lit(0.0), row: R::lit(row as f64) }
    }

    /// `size`: the largest of a row behind those that were seen.
    #[inline(always)]
    fn see(&mut self, row: usize, size: R) {
        let larger = self.size.lt(size);
        self.size = R::select(larger, size, self.size);
        self.row = R::select(larger, R::lit(row as f64), self.row);
    }
}

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
    let mut rank = zero;
    // Of what is left.
    let mut pivot = Largest::none(0);
    for (i, own) in b.chunks(stride.max(1)).take(m).enumerate() {
        pivot.see(i, own[..m].iter().fold(zero, |most, x| most.max(x.abs())));
    }
    let least = pivot.size * smallest;
    for k in 0..m {
        let acts = least.lt(pivot.size);
        rank += R::select(acts, one, zero);
        for lane in (0..R::N).filter(|&lane| acts.lane(lane)) {
            let i = pivot.row.lane(lane).to_f64() as usize;
            let is_pivot = |x: &R| x.abs().lane(lane) == pivot.size.lane(lane);
            let j = b[i * stride + k..i * stride + m].iter().position(is_pivot).map_or(k, |j| k + j);
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
        // The next one is looked for on the way.
        pivot = Largest::none(k + 1);
        for (i, own) in below.chunks_mut(stride).take(m - k - 1).enumerate() {
            let (head, own) = own[..m].split_at_mut(k + 1);
            let times = head[k] * per;
            head[k] = times;
            let most = own.iter_mut().zip(&top[k + 1..]).fold(zero, |most, (x, top)| {
                *x = (-times).mul_add(*top, *x);
                most.max(x.abs())
            });
            pivot.see(k + 1 + i, most);
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
