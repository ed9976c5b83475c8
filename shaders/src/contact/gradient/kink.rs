//! Slope and kinks of the bias of a gap, [`crate::contact::tree_layout::bias`], and of a bilateral row.

use crate::real::Real;

/// Slope of the bias of a gap by the gap; settings: 1/h, fraction, largest speed. A gap that a step would close at less than
/// `closed`, m/s, counts as open.
#[inline(always)]
#[must_use]
pub fn slope<R: Real>(error: R, [per_step, fraction, largest]: [R; 3], closed: R) -> R {
    let speed = error * per_step;
    let undone = R::select((-largest).lt(fraction * speed), fraction * per_step, R::lit(0.0));
    R::select((-closed).lt(speed), per_step, undone)
}

/// How far the bias of a gap is from its kinks, m/s, and 1 where the gap is just closed, else 0.
#[inline(always)]
#[must_use]
pub fn kink<R: Real>(error: R, [per_step, fraction, largest]: [R; 3], closed: R) -> [R; 2] {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let speed = error * per_step;
    let capped = fraction.mul_add(speed, largest).abs();
    // All of a violation undone at once: the slope is the same on either side.
    let smooth = one.le(fraction) & fraction.le(one);
    let near = speed.abs().lt(closed);
    [R::select(near | smooth, capped, speed.abs().min(capped)), R::select(near & !smooth, one, zero)]
}

/// Slope of [`crate::contact::tree_layout::bilateral_bias`], and how far it is from its kinks.
#[inline(always)]
#[must_use]
pub fn bilateral<R: Real>(error: R, [per_step, fraction, largest]: [R; 3]) -> [R; 2] {
    let size = (fraction * error * per_step).abs();
    [R::select(size.lt(largest), fraction * per_step, R::lit(0.0)), (size - largest).abs()]
}
