//! How the bias of a constraint changes with its error: slopes of the kernels' functions, and how far off their kinks are.

use manyworlds_shaders::contact::tree_layout::{bias, bilateral_bias};
use manyworlds_shaders::dynamics::tree::param;

/// Errors whose correction begins within this are on a kink, m/s (rad/s): rounding decides on which side.
const CLOSED: f64 = 1e-9;

/// How far a bias is from where its slope jumps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kink {
    /// m/s (rad/s)
    pub(crate) margin: f64,
    /// What rests, rests on a kink. A gap that is just closed counts as open: of the two slopes there that by which it
    /// closes in the step, so that what rests on a surface stays on it whichever way it is moved. A penetration that is just
    /// allowed counts as allowed.
    pub(crate) closed: bool,
}

impl Kink {
    /// A bias without kinks.
    pub(crate) const NONE: Self = Self { margin: f64::INFINITY, closed: false };
}

/// Settings by which the errors of a tree's constraints are corrected.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Correction {
    /// 1/h
    pub(crate) per_step: f64,
    /// Part of an error undone in a step.
    fraction: f64,
    /// Fastest correction, m/s (rad/s).
    largest: f64,
    /// Depth up to which a penetration is left as it is, m.
    slop: f64,
}

impl Correction {
    /// Of contacts, from a tree's parameters.
    pub(crate) fn of_contacts(params: &[f64]) -> Self {
        Self { slop: params[param::CORRECTION_SLOP], ..Self::of_joints(params) }
    }

    /// Of limits and of what is bilateral: all of an error counts.
    pub(crate) fn of_joints(params: &[f64]) -> Self {
        Self {
            per_step: 1.0 / params[param::TIMESTEP],
            fraction: params[param::CORRECTION_FRACTION],
            largest: params[param::CORRECTION_MAX],
            slop: 0.0,
        }
    }

    /// e of a gap (negative: violated).
    pub(crate) fn bias(self, gap: f64) -> f64 {
        bias(gap, self.per_step, self.fraction, self.largest, self.slop)
    }

    /// Speed at which what is beyond the allowance would be undone, negative where there is any, without its bound.
    fn undone(self, gap: f64) -> f64 {
        self.fraction * (gap + self.slop) * self.per_step
    }

    /// Slope of [`Self::bias`].
    pub(crate) fn slope(self, gap: f64) -> f64 {
        if gap * self.per_step > -CLOSED {
            self.per_step
        } else if (gap + self.slop) * self.per_step > -CLOSED || self.undone(gap) <= -self.largest {
            0.0
        } else {
            self.fraction * self.per_step
        }
    }

    /// How far [`Self::bias`] is from its kinks: where a gap closes, where a correction begins and where it is capped.
    pub(crate) fn kink(self, gap: f64) -> Kink {
        let mut kink = Kink { margin: (self.undone(gap) + self.largest).abs(), closed: false };
        if self.slop == 0.0 && self.fraction == 1.0 {
            // All of a violation is undone at once: the slope is the same on either side.
            return kink;
        }
        for at in [gap, gap + self.slop] {
            let speed = (at * self.per_step).abs();
            if speed < CLOSED {
                kink.closed = true;
            } else {
                kink.margin = kink.margin.min(speed);
            }
        }
        kink
    }

    /// e of a bilateral error.
    pub(crate) fn bilateral_bias(self, error: f64) -> f64 {
        bilateral_bias(error, self.per_step, self.fraction, self.largest)
    }

    /// Slope of [`Self::bilateral_bias`].
    pub(crate) fn bilateral_slope(self, error: f64) -> f64 {
        let speed = self.fraction * error * self.per_step;
        if speed.abs() < self.largest { self.fraction * self.per_step } else { 0.0 }
    }

    /// How far [`Self::bilateral_bias`] is from its kinks.
    pub(crate) fn bilateral_kink(self, error: f64) -> Kink {
        Kink { margin: ((self.fraction * error * self.per_step).abs() - self.largest).abs(), closed: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slopes of the bias against its differences, between kinks, and kinks where slopes jump.
    #[test]
    fn slopes_are_those_of_the_bias() {
        for (fraction, slop) in [(0.2, 0.0), (0.2, 1e-3), (1.0, 0.0), (1.0, 1e-3)] {
            let own = Correction { per_step: 200.0, fraction, largest: 0.2, slop };
            for gap in [1e-2, 1e-4, -1e-4, -9e-4, -1.2e-3, -1.9e-3, -4e-3, -0.1] {
                let margin = own.kink(gap).margin;
                assert!(margin > 1e-3 && !own.kink(gap).closed, "{gap} {slop}: {margin}");
                let difference = (own.bias(gap + 1e-6) - own.bias(gap - 1e-6)) / 2e-6;
                assert!((own.slope(gap) - difference).abs() < 1e-6, "{gap} {slop}: {} {difference}", own.slope(gap));
            }
            let smooth = fraction == 1.0 && slop == 0.0;
            assert_eq!(own.kink(1e-13).closed, !smooth);
            assert_eq!(own.kink(-slop - 1e-13).closed, !smooth);
            // Where rounding decides: an open gap's slope, and that of what is left.
            assert!((own.slope(-1e-13) - 200.0).abs() < 1e-9);
            assert!(slop == 0.0 || own.slope(-slop - 1e-13) == 0.0);
        }
    }
}
