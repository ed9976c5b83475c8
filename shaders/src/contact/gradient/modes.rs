//! Modes of constraints at the solution, and the unknowns that each leaves free: those of Q. Le Lidec et al. 2024, section III-B.

use super::layout::{SLOW, kink, row_shift, unknown};
use crate::contact::tree_layout::{row as row_part, row_coefficient, row_dof, slot};
use crate::real::{Mask, Real, Scalar};

/// The list of unknowns of a tile, and what their constraints say of modes.
pub(super) struct List<'a, R: Real> {
    /// `[most][unknown::SIZE]`
    pub(super) list: &'a mut [R],
    /// How many each lane has.
    pub(super) counts: Vec<usize>,
    pub(super) margin: R,
    pub(super) closed: R,
}

impl<R: Real> List<'_, R> {
    #[inline(always)]
    fn push(&mut self, lane: usize, first: usize, direction: [f64; 3], equation: [f64; 3], diagonal: f64) {
        let own = &mut self.list[self.counts[lane] * unknown::SIZE..][..unknown::SIZE];
        self.counts[lane] += 1;
        own[unknown::FIRST].set_lane(lane, R::Scalar::from_f64(first as f64));
        for k in 0..3 {
            own[unknown::DIRECTION + k].set_lane(lane, R::Scalar::from_f64(direction[k]));
            own[unknown::EQUATION + k].set_lane(lane, R::Scalar::from_f64(equation[k]));
        }
        own[unknown::DIAGONAL].set_lane(lane, R::Scalar::from_f64(diagonal));
    }

    #[inline(always)]
    fn margin(&mut self, counts: R::Mask, margin: R) {
        self.margin = R::select(counts, self.margin.min(margin), self.margin);
    }
}

const UNIT: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// The mode of a contact, and its unknowns.
#[inline(always)]
pub(super) fn contact<R: Real>(first: usize, own: &[R], kinks: &[R], impulse: &[R], velocity: &[R], out: &mut List<R>) {
    let (n, zero, one) = (velocity.len(), R::lit(0.0), R::lit(1.0));
    let block = &own[slot::BLOCK..];
    let delassus = (block[0] + block[3] + block[5]) * R::lit(1.0 / 3.0);
    let sigma: [R; 3] = std::array::from_fn(|k| {
        let row = &own[slot::J + k * n..][..n];
        row.iter().zip(velocity).fold(own[slot::BIAS + k], |sum, (j, v)| j.mul_add(*v, sum))
    });
    let y: [R; 3] = std::array::from_fn(|k| delassus.mul_add(impulse[k], -sigma[k]));
    let exists = zero.lt(delassus);
    let acts = exists & zero.lt(y[2]) & zero.lt(impulse[2]);
    out.margin(exists & !acts, y[2].abs());
    let mu = own[slot::MU];
    let rough = zero.lt(mu);
    let along = y[0].mul_add(y[0], y[1] * y[1]).sqrt();
    // Distance to the cone's surface along its normal.
    let inside = mu.mul_add(y[2], -along) / mu.mul_add(mu, one).sqrt();
    let sticks = acts & rough & zero.le(inside);
    out.margin(acts, y[2].min(kinks[kink::MARGIN]));
    out.margin(acts & rough, inside.abs());
    out.closed += R::select(acts, kinks[kink::CLOSED], zero);
    if !acts.any() {
        return;
    }
    let slip = sigma[0].mul_add(sigma[0], sigma[1] * sigma[1]).sqrt();
    let fast = R::lit(SLOW).lt(slip);
    let length = R::select(fast, slip, along);
    let slides = zero.lt(length);
    let per = one / R::select(slides, length, one);
    let drag = [0, 1].map(|k| R::select(slides, R::select(fast, -sigma[k], y[k]) * per, zero));
    let alpha = slip / R::select(rough & acts, mu * impulse[2], one);
    // Small impulses must not make the other equations look like rounding.
    let scale = delassus / R::select(exists, delassus + alpha, one);
    let diagonal = scale * alpha;
    for lane in 0..R::N {
        if sticks.lane(lane) {
            UNIT.into_iter().for_each(|unit| out.push(lane, first, unit, unit, 0.0));
        } else if acts.lane(lane) {
            let number = |x: R| x.lane(lane).to_f64();
            let ([x, y], mu) = (drag.map(number), number(mu));
            out.push(lane, first, [mu * x, mu * y, 1.0], UNIT[2], 0.0);
            if mu > 0.0 {
                let (across, scale) = ([-y, x, 0.0], number(scale));
                out.push(lane, first, across, across.map(|x| scale * x), number(diagonal));
            }
        }
    }
}

/// The mode of a row, and its unknown.
#[inline(always)]
pub(super) fn row<R: Real>(first: usize, own: &[R], shift: &[R], velocity: &[R], out: &mut List<R>) {
    let zero = R::lit(0.0);
    let (lambda, lower, upper) = (own[row_part::IMPULSE], own[row_part::LOWER], own[row_part::UPPER]);
    let sigma =
        (0..3).fold(own[row_part::BIAS], |sum, k| row_coefficient(own, k).mul_add(velocity[row_dof(own, k)], sum));
    let (delassus, r) = (own[row_part::BLOCK], own[row_part::COMPLIANCE]);
    let active = zero.lt(own[row_part::ACTIVE]);
    // One that leaves its bound of zero without impulse, as a limit that is not reached, has no say.
    let idle = lambda.le(zero) & zero.le(lambda) & lower.le(zero) & zero.le(lower) & zero.le(upper);
    let leaves = active & idle & zero.lt(sigma);
    out.margin(leaves, sigma);
    let acts = active & !leaves;
    // `sigma + r lambda` is what the law holds at zero.
    let y = delassus.mul_add(lambda, -sigma);
    let whole = delassus + r;
    let (below, above) = (y - whole * lower, whole * upper - y);
    let held = acts & zero.lt(below) & zero.lt(above);
    out.margin(acts, below.abs().min(above.abs()));
    out.margin(held, shift[row_shift::MARGIN]);
    out.closed += R::select(held, shift[row_shift::CLOSED], zero);
    for lane in (0..R::N).filter(|&lane| held.lane(lane)) {
        out.push(lane, first, UNIT[0], UNIT[0], r.lane(lane).to_f64());
    }
}
