//! How well the equations of a tile of lanes are solved.

use super::layout::unknown;
use super::substitute::substitute;
use crate::real::{Real, Scalar};

/// What the factor leaves of a matrix that it was made of.
pub(super) struct Check<'a, R: Real> {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) stride: usize,
    pub(super) list: &'a [R],
    pub(super) factor: &'a [R],
    pub(super) column_of: &'a [R],
    /// `L J`, by unknown.
    pub(super) equations: &'a [R],
    /// `(A^-1 J^T R)^T`, by unknown.
    pub(super) push: &'a [R],
}

impl<R: Real> Check<'_, R> {
    /// Largest entry of `B x - 1` for the solution x, of lanes with so many unknowns.
    pub(super) fn residual(&self, counts: R) -> R {
        let zero = R::lit(0.0);
        // Nothing of what a lane does not have.
        let one = |u: usize| R::select(R::lit(u as f64).lt(counts), R::lit(1.0), zero);
        let mut solved: Vec<R> = (0..self.m).map(one).collect();
        substitute(self.m, self.stride, self.factor, &mut solved, 1);
        let mut x = vec![zero; self.m];
        for (solved, column) in solved.iter().zip(self.column_of) {
            for lane in 0..R::N {
                x[column.lane(lane).to_f64() as usize].set_lane(lane, solved.lane(lane));
            }
        }
        let mut pushed = vec![zero; self.n];
        for (x, push) in x.iter().zip(self.push.chunks_exact(self.n)) {
            pushed.iter_mut().zip(push).for_each(|(to, push)| *to = push.mul_add(*x, *to));
        }
        let mut worst = zero;
        for (u, equation) in self.equations.chunks_exact(self.n).enumerate() {
            let start = self.list[u * unknown::SIZE + unknown::DIAGONAL].mul_add(x[u], -one(u));
            let left = equation.iter().zip(&pushed).fold(start, |sum, (a, b)| a.mul_add(*b, sum));
            worst = worst.max(left.abs());
        }
        worst
    }

    /// How much the combinations of a lane's impulses that its equations leave free change the velocities, relative to what any
    /// of them changes. Nothing, where every equation is along its own direction: B is symmetric there.
    pub(super) fn freedom(&self, lane: usize, rank: usize, count: usize) -> f64 {
        let number = |x: &R| x.lane(lane).to_f64();
        let own = |u: usize, at: usize| number(&self.list[u * unknown::SIZE + at]);
        let along = |u: usize| (0..3).all(|k| own(u, unknown::DIRECTION + k) == own(u, unknown::EQUATION + k));
        if (0..count).all(along) {
            return 0.0;
        }
        let row = |j: usize| &self.push[number(&self.column_of[j]) as usize * self.n..][..self.n];
        let largest = self.push.iter().fold(0.0, |most: f64, x| most.max(number(x).abs()));
        let mut worst: f64 = 0.0;
        for c in rank..count {
            let mut x = vec![0.0; rank];
            let mut moved: Vec<f64> = row(c).iter().map(number).collect();
            let mut most: f64 = 1.0;
            for i in (0..rank).rev() {
                let entry = |k: usize| number(&self.factor[i * self.stride + k]);
                let known = (i + 1..rank).fold(-entry(c), |sum, k| sum - entry(k) * x[k]);
                x[i] = known * entry(i);
                most = most.max(x[i].abs());
                moved.iter_mut().zip(row(i)).for_each(|(to, push)| *to += x[i] * number(push));
            }
            let change = moved.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            worst = worst.max(change / (largest * most).max(f64::MIN_POSITIVE));
        }
        worst
    }
}

/// What the equations without a pivot say of what goes in once those with one have taken the impulses out of them, relative to the most
/// that any equation says: they contradict each other by that. `asked`: what goes in, in the order of the factor, and its width. In the
/// factor's rows from the rank on stands afterwards how often each of the other equations was taken.
pub(super) fn contradiction<R: Real>(
    lane: usize,
    (factor, stride): (&mut [R], usize),
    [rank, count]: [usize; 2],
    asked: [(&[R], usize); 2],
) -> f64 {
    let number = |x: &R| x.lane(lane).to_f64();
    for own in rank..count {
        for i in (0..rank).rev() {
            let taken = (i + 1..rank).fold(-number(&factor[own * stride + i]), |sum, k| {
                sum - number(&factor[k * stride + i]) * number(&factor[own * stride + k])
            });
            factor[own * stride + i].set_lane(lane, R::Scalar::from_f64(taken));
        }
    }
    let mut worst: f64 = 0.0;
    for (asked, width) in asked {
        let row = |i: usize| asked[i * width..(i + 1) * width].iter().map(number);
        let largest = (0..count).flat_map(row).fold(0.0, |most: f64, x| most.max(x.abs()));
        for own in rank..count {
            let mut said: Vec<f64> = row(own).collect();
            for i in 0..rank {
                let taken = number(&factor[own * stride + i]);
                if taken != 0.0 {
                    said.iter_mut().zip(row(i)).for_each(|(said, x)| *said += taken * x);
                }
            }
            let most = said.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            worst = worst.max(most / largest.max(f64::MIN_POSITIVE));
        }
    }
    worst
}
