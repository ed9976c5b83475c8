//! NCP functions and their generalised derivatives, and the fixed point of friction.

use super::layout::{ResidualDims, function};
use crate::Scalar;

/// Value and derivatives of an NCP function.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ncp<T> {
    pub(super) phi: T,
    pub(super) by_a: T,
    pub(super) by_b: T,
}

/// At the origin the derivatives are `(0, 1)` (Macklin 2019, eqs. 26, 27).
#[inline(always)]
pub(super) fn ncp<T: Scalar>(dims: &ResidualDims, a: T, b: T) -> Ncp<T> {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    if dims.function == function::MINIMUM_MAP {
        return if a < b { Ncp { phi: a, by_a: one, by_b: zero } } else { Ncp { phi: b, by_a: zero, by_b: one } };
    }
    let length = a.mul_add(a, b * b).sqrt();
    if length <= zero {
        return Ncp { phi: zero, by_a: zero, by_b: one };
    }
    Ncp { phi: a + b - length, by_a: one - a / length, by_b: one - b / length }
}

/// `W` of the fixed point `sigma_t + W lambda_t = 0` (Macklin 2019, eqs. 31-36), 1/kg, by the slip speed, the limit
/// `mu lambda_n > 0`, `|lambda_t|` and the scaling r.
#[inline(always)]
pub(super) fn ncp_friction<T: Scalar>(dims: &ResidualDims, slip: T, limit: T, carried: T, r: T) -> T {
    let zero = T::lit(0.0);
    let b = r * (limit - carried);
    if dims.function == function::MINIMUM_MAP {
        return if slip <= b { zero } else { (slip - b) / limit };
    }
    let length = slip.mul_add(slip, b * b).sqrt();
    let below = slip + r * limit - length;
    // What slips fast has `W = |sigma_t| / (mu lambda_n)`, the limit of this.
    if below <= zero { slip / limit } else { r * (length - b) / below }
}
