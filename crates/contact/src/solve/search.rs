//! Exact line search: the root of an increasing derivative.

use manyworlds_shaders::Scalar;

/// Trials at most: Newton needs a few, bisection the rest of a number's bits.
const TRIALS: usize = 60;
/// Share of the first slope that is left at most.
const EXACT: f64 = 1e-6;

/// Root of an increasing function with `f(0) = start < 0`, by Newton within a bracket that is doubled until it is one, else
/// by bisection (`rtsafe` of Press et al., Numerical Recipes). `f` gives value and slope. The first trial is 1.
pub(super) fn root<T: Scalar>(start: T, mut f: impl FnMut(T) -> (T, T)) -> T {
    let (two, enough) = (T::lit(2.0), T::lit(EXACT) * start.abs());
    let (mut low, mut high) = (T::lit(0.0), None);
    let mut t = T::lit(1.0);
    for _ in 0..TRIALS {
        let (value, slope) = f(t);
        // What is not finite is too far.
        if value.abs() <= enough {
            return t;
        }
        if value < T::lit(0.0) {
            low = t;
        } else {
            high = Some(t);
        }
        let newton = t - value / slope;
        let next = match high {
            Some(high) if low < newton && newton < high => newton,
            Some(high) => (low + high) / two,
            None if t < newton && newton.is_finite() => newton,
            None => two * t,
        };
        if next == t {
            return t;
        }
        t = next;
    }
    // The bracket's lower end: never past the root.
    if T::lit(0.0) < low { low } else { t }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_roots_on_both_sides_of_one() {
        for at in [1e-6, 0.3, 1.0, 7.0, 1e5] {
            // Kinked, as a projection makes it.
            let f = |t: f64| {
                let x = t - 0.5 * at;
                if x < 0.0 { (0.1 * x - at, 0.1) } else { (2.0 * x - at, 2.0) }
            };
            let kinked = root(f(0.0).0, f);
            assert!((kinked / at - 1.0).abs() < 1e-5, "{at}: {kinked}");
            let t = root(-at.powi(3), |t: f64| (t.powi(3) - at.powi(3), 3.0 * t * t));
            assert!((t / at - 1.0).abs() < 1e-5, "{at}: {t}");
        }
    }

    #[test]
    fn comes_back_from_what_is_not_finite() {
        let t = root(-1.0, |t: f64| if t > 0.1 { (f64::INFINITY, f64::INFINITY) } else { (20.0 * t - 1.0, 20.0) });
        assert!((t - 0.05).abs() < 1e-6, "{t}");
    }
}
