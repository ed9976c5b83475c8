//! Medians and maxima that do not lose a NaN.

/// Middle value (the mean of the two middle ones); NaN when there is none, or when one is NaN.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() || values.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { 0.5 * (values[middle - 1] + values[middle]) }
}

/// The larger of two, and NaN when one is: `f64::max` would hide it.
pub(crate) fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

#[cfg(test)]
mod tests {
    use super::{median, worse};

    #[test]
    fn takes_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
    }

    #[test]
    fn a_nan_shows() {
        assert!(median(&mut [1.0, f64::NAN]).is_nan());
        assert!(median(&mut []).is_nan());
        assert!(worse(f64::NAN, 1.0).is_nan() && worse(1.0, f64::NAN).is_nan());
        assert_eq!(worse(1.0, 2.0), 2.0);
    }
}
