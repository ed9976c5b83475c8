//! Comparisons that name what differs, and by how much.

/// Largest difference of two lists relative to the largest entry of `expected`; infinite when one holds a NaN or
/// their lengths differ, so that no such case passes a `<`.
#[must_use]
pub fn relative_difference(actual: &[f64], expected: &[f64]) -> f64 {
    if actual.len() != expected.len() {
        return f64::INFINITY;
    }
    let scale = expected.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    // max would swallow a NaN
    let apart = |(a, b): (&f64, &f64)| if (a - b).is_nan() { f64::INFINITY } else { (a - b).abs() };
    actual.iter().zip(expected).map(apart).fold(0.0, f64::max) / scale
}

/// Fails, naming `what`, the difference and the worst entry, unless [`relative_difference`] is at most `tolerance`.
///
/// # Panics
/// When the lists differ by more.
#[track_caller]
pub fn assert_close(what: &str, actual: &[f64], expected: &[f64], tolerance: f64) {
    let difference = relative_difference(actual, expected);
    if difference <= tolerance {
        return;
    }
    assert_eq!(actual.len(), expected.len(), "{what}: lengths differ");
    let at = (0..actual.len())
        .max_by(|&i, &j| (actual[i] - expected[i]).abs().total_cmp(&(actual[j] - expected[j]).abs()))
        .unwrap_or(0);
    panic!(
        "{what}: relative difference {difference:.2e} above {tolerance:.0e}; entry {at}: {} instead of {}",
        actual[at], expected[at]
    );
}

/// Largest angle, rad, between rotations given as quaternions one after the other, whatever their signs.
#[must_use]
pub fn rotation_difference(actual: &[f64], expected: &[f64]) -> f64 {
    if actual.len() != expected.len() {
        return f64::INFINITY;
    }
    actual
        .chunks_exact(4)
        .zip(expected.chunks_exact(4))
        .map(|(a, b)| {
            let side = |s: f64| a.iter().zip(b).map(|(x, y)| (x - s * y).powi(2)).sum::<f64>().sqrt();
            // |a - b| = 2 sin(angle / 4); min would swallow a NaN
            let (plus, minus) = (side(1.0), side(-1.0));
            if plus.is_nan() { f64::INFINITY } else { 2.0 * plus.min(minus) }
        })
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perturbed_input_is_told_apart() {
        let expected = [1.0, -20.0, 3.0];
        assert!(relative_difference(&expected, &expected) <= 0.0);
        assert!(relative_difference(&[1.0, -20.0, 3.0 + 2e-9], &expected) > 0.9e-10);
        assert!(relative_difference(&[1.0, f64::NAN, 3.0], &expected) > 1e300);
        assert!(relative_difference(&[f64::NAN, -20.0, 3.0], &expected) > 1e300);
        assert!(relative_difference(&[1.0, -20.0], &expected) > 1e300);
    }

    #[test]
    #[should_panic(expected = "entry 1: -20.1 instead of -20")]
    fn a_failed_comparison_names_the_entry() {
        assert_close("test", &[1.0, -20.1, 3.0], &[1.0, -20.0, 3.0], 1e-9);
    }

    #[test]
    fn rotations_compare_up_to_sign() {
        let q = [0.5, 0.5, -0.5, 0.5];
        let turned = [(0.05f64).cos(), (0.05f64).sin(), 0.0, 0.0];
        assert!(rotation_difference(&q, &q.map(|x| -x)) <= 0.0);
        assert!((rotation_difference(&turned, &[1.0, 0.0, 0.0, 0.0]) - 0.1).abs() < 1e-4);
        assert!(rotation_difference(&[f64::NAN; 4], &q) > 1e300);
    }
}
