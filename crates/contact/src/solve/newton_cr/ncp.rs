//! NCP functions and their generalised derivatives.

use manyworlds_shaders::Scalar;

use super::params::NcpFunction;

/// Value and derivatives with respect to `a` and `b`; at the origin `(0, 1)` is chosen (Macklin 2019, eqs. 26, 27).
pub(super) fn ncp<T: Scalar>(function: NcpFunction, a: T, b: T) -> (T, T, T) {
    let (zero, one) = (T::lit(0.0), T::lit(1.0));
    match function {
        NcpFunction::MinimumMap if a < b => (a, one, zero),
        NcpFunction::MinimumMap => (b, zero, one),
        NcpFunction::FischerBurmeister => {
            let length = (a * a + b * b).sqrt();
            if length <= zero {
                return (zero, zero, one);
            }
            (a + b - length, one - a / length, one - b / length)
        }
    }
}

/// `W` of friction's fixed point `sigma_t + W lambda_t = 0` (Macklin 2019, eqs. 31-36): 1/kg, by the slip speed
/// `|sigma_t|`, the limit `mu lambda_n > 0`, `|lambda_t|` and the scaling r.
pub(super) fn friction<T: Scalar>(function: NcpFunction, slip: T, limit: T, carried: T, r: T) -> T {
    let zero = T::lit(0.0);
    let b = r * (limit - carried);
    match function {
        NcpFunction::MinimumMap if slip <= b => zero,
        NcpFunction::MinimumMap => (slip - b) / limit,
        NcpFunction::FischerBurmeister => {
            let length = (slip * slip + b * b).sqrt();
            let below = slip + r * limit - length;
            // What slips fast has `W = |sigma_t| / (mu lambda_n)`, the limit of this.
            if below <= zero { slip / limit } else { r * (length - b) / below }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_complementary_and_derivatives_true() {
        for function in [NcpFunction::MinimumMap, NcpFunction::FischerBurmeister] {
            for (a, b, zero) in [(0.0, 2.0, true), (2.0, 0.0, true), (0.0, 0.0, true), (1.0, 1.0, false)] {
                assert_eq!(ncp::<f64>(function, a, b).0.abs() < 1e-15, zero, "{function:?} {a} {b}");
            }
            for (a, b) in [(0.3f64, 1.2), (-0.4, 0.7), (2.0, -1.0), (-0.3, -0.2)] {
                let (_, by_a, by_b) = ncp(function, a, b);
                let d = 1e-6;
                let slope = |up: f64, down: f64| (up - down) / (2.0 * d);
                let at = |a: f64, b: f64| ncp(function, a, b).0;
                assert!((slope(at(a + d, b), at(a - d, b)) - by_a).abs() < 1e-8);
                assert!((slope(at(a, b + d), at(a, b - d)) - by_b).abs() < 1e-8);
            }
        }
    }

    /// At a solution `W lambda_t` is the slip: nothing where it sticks, `|sigma_t| = W mu lambda_n` where it slides.
    #[test]
    fn friction_is_a_fixed_point_at_solutions() {
        for function in [NcpFunction::MinimumMap, NcpFunction::FischerBurmeister] {
            for r in [0.1f64, 1.0, 10.0] {
                assert!(friction(function, 0.0, 2.0, 1.5, r).abs() < 1e-12, "{function:?} sticks");
                for slip in [1e-3, 1.0, 50.0] {
                    let w = friction(function, slip, 2.0, 2.0, r);
                    assert!((w * 2.0 / slip - 1.0).abs() < 1e-9, "{function:?} slides: {w} {slip}");
                }
            }
        }
    }
}
