//! How far a round goes from the velocity that it is about to the one that it found.

/// How often a way is halved or doubled at most.
const HALVINGS: usize = 20;

/// What a whole way must take at least off what there was where it began, for the impulses that it found.
const ENOUGH: f64 = 0.1;

/// How many times as far a round of positive definite elements may go.
pub(super) const LONGEST: f64 = 16.0;

/// How far to go from `v` to `found`: a way that leaves more than there was before, and more than there was where it began, is
/// halved. What is far from where it ends is not what a line makes of it. With the share of the way and what is left there.
pub(super) fn closer(
    v: &[f64],
    found: Vec<f64>,
    left: impl Fn(&[f64]) -> f64,
    last: Option<f64>,
    tolerance: f64,
) -> (Vec<f64>, f64, f64) {
    let (begun, mut share) = (left(v), 1.0);
    let (mut residual, mut next) = (left(&found), found);
    let is_less = |residual: f64, share: f64| {
        residual <= tolerance || last.is_some_and(|last| residual <= last) || residual <= (1.0 - ENOUGH * share) * begun
    };
    for _ in 0..HALVINGS {
        if is_less(residual, share) {
            break;
        }
        share *= 0.5;
        next.iter_mut().zip(v).for_each(|(next, v)| *next = 0.5 * (*next + v));
        residual = left(&next);
    }
    (next, share, residual)
}

/// The same where elements were made positive definite: the way need not bring what is left down, but an energy whose slope that is
/// (impulses held), and it is often too short. It is halved where it leads up more than half as steeply as it led down where it
/// began, and doubled, up to so long, where it leads down as much. `way`: of the entries that `balance` has.
pub(super) fn down(
    v: &[f64],
    found: &[f64],
    way: &[f64],
    balance: impl Fn(&[f64]) -> Vec<f64>,
    (tolerance, longest): (f64, f64),
) -> (Vec<f64>, f64, f64) {
    let slope_of = |r: &[f64]| -> f64 { way.iter().zip(r).map(|(way, r)| way * r).sum() };
    let at = |share: f64| -> Vec<f64> { v.iter().zip(found).map(|(v, found)| v + share * (found - v)).collect() };
    let most = 0.5 * slope_of(&balance(v)).abs();
    let (mut share, mut next, mut halved) = (1.0, found.to_vec(), false);
    let mut left = balance(&next);
    for _ in 0..HALVINGS {
        let (slope, residual) = (slope_of(&left), norm(&left));
        if residual <= tolerance {
            break;
        }
        if slope > most || !residual.is_finite() {
            (share, halved) = (0.5 * share, true);
        } else if slope < -most && !halved && share < longest {
            share *= 2.0;
        } else {
            break;
        }
        next = at(share);
        left = balance(&next);
    }
    (next, share, norm(&left))
}

pub(super) fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, closer, down, norm};

    /// Slope of an energy that is not convex, with its least value at (1, 0).
    fn slope(v: &[f64]) -> Vec<f64> {
        vec![4.0 * v[0].powi(3) - 4.0 * v[0], v[1]]
    }

    #[test]
    fn a_way_down_is_gone_while_it_leads_down() {
        // Too short, right, and far too long; what is left is more at its end than where it began.
        for (found, least, most) in [(0.12, 4.0, 16.0), (0.9, 1.0, 1.0), (3.0, 0.2, 0.5)] {
            let (v, found) = ([0.1, 0.0], [found, 0.0]);
            let way = [found[0] - v[0], 0.0];
            let (next, share, left) = down(&v, &found, &way, slope, (1e-12, LONGEST));
            assert!((least..=most).contains(&share), "{found:?}: {share}");
            assert_eq!(left, norm(&slope(&next)));
            let along = |v: &[f64]| slope(v)[0] * way[0];
            assert!(share == most || along(&next) <= 0.5 * along(&v).abs(), "{found:?}: {share}");
        }
    }

    #[test]
    fn a_way_that_leaves_more_is_halved() {
        let left = |v: &[f64]| norm(&slope(v));
        let (next, share, residual) = closer(&[0.8, 1.0], vec![1.6, 0.0], left, None, 1e-12);
        assert!(share < 1.0 && residual < left(&[0.8, 1.0]), "{share} {residual}");
        assert_eq!(residual, left(&next));
        // Not so where there was more before.
        let (_, share, _) = closer(&[0.8, 1.0], vec![1.6, 0.0], left, Some(1e3), 1e-12);
        assert_eq!(share, 1.0);
    }
}
