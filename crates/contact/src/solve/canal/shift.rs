//! The De Saxce shift from one outer iteration to the next.
//!
//! With the multipliers at their limit, an outer iteration maps the frozen shift `s` to `F(s) = mu |z_t(s) + e_t|`: a fixed
//! point that plain iteration approaches linearly where contacts slide. Anderson's mixing (Walker and Ni, "Anderson
//! acceleration for fixed-point iterations", 2011) takes the combination of the last iterates whose residual `F(s) - s`
//! would be least were F linear.

use std::collections::VecDeque;

use manyworlds_sparse::pseudo_inverse;
use nalgebra::{DMatrix, DVector};

/// Iterates that are combined at most.
const WINDOW: usize = 5;
/// What is left of a difference below this share of the largest is noise of inner problems solved inexactly.
const NOISE: f64 = 1e-6;

/// Iterates of the shift, m/s, by contact.
#[derive(Debug, Default)]
pub(super) struct Mixing {
    /// Differences of subsequent images `F(s)`, and of subsequent residuals `F(s) - s`.
    differences: VecDeque<[DVector<f64>; 2]>,
    last: Option<[DVector<f64>; 2]>,
}

impl Mixing {
    /// The shift to freeze next, from the present one and its image; both are at least 0.
    pub(super) fn next(&mut self, shift: &[f64], image: &[f64]) -> Vec<f64> {
        let image = DVector::from_column_slice(image);
        let residual = &image - DVector::from_column_slice(shift);
        if let Some([image_before, residual_before]) = self.last.take() {
            if residual_before.norm() < residual.norm() {
                // Another set of contacts slides: what was learnt of the old one misleads.
                self.differences.clear();
            } else {
                if self.differences.len() == WINDOW {
                    self.differences.pop_front();
                }
                self.differences.push_back([&image - image_before, &residual - residual_before]);
            }
        }
        let next = self.combined(&image, &residual).unwrap_or_else(|| image.clone());
        self.last = Some([image, residual]);
        next.iter().map(|x| x.max(0.0)).collect()
    }

    /// `F(s) - dF gamma` with the `gamma` that makes `|F(s) - s - dR gamma|` least; None where there is nothing to combine.
    fn combined(&self, image: &DVector<f64>, residual: &DVector<f64>) -> Option<DVector<f64>> {
        if self.differences.is_empty() || residual.is_empty() {
            return None;
        }
        let residuals = DMatrix::from_columns(&self.differences.iter().map(|[_, r]| r.clone()).collect::<Vec<_>>());
        let gamma = pseudo_inverse(&residuals, NOISE)? * residual;
        let step = self.differences.iter().zip(gamma.iter()).fold(image.clone(), |sum, ([f, _], &g)| sum - f * g);
        step.iter().all(|x| x.is_finite()).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the map is linear, as many iterates as it has eigenvalues are enough.
    #[test]
    fn a_linear_map_is_solved_by_its_eigenvalues() {
        let rates = [0.9, 0.5, -0.4];
        let at = [3.0, 2.0, 1.0];
        let map = |s: &[f64]| -> Vec<f64> { (0..3).map(|i| at[i] + rates[i] * (s[i] - at[i])).collect() };
        let mut mixing = Mixing::default();
        let mut s = vec![0.0; 3];
        for _ in 0..5 {
            s = mixing.next(&s, &map(&s));
        }
        let error = s.iter().zip(at).map(|(s, a)| (s - a).abs()).fold(0.0, f64::max);
        assert!(error < 1e-9, "{error}");
    }

    #[test]
    fn nothing_to_learn_from_changes_nothing() {
        let mut mixing = Mixing::default();
        for _ in 0..3 {
            assert_eq!(mixing.next(&[], &[]), [0.0; 0]);
        }
        let mut mixing = Mixing::default();
        for _ in 0..3 {
            assert_eq!(mixing.next(&[0.0, 2.0], &[0.0, 2.0]), [0.0, 2.0]);
        }
    }

    #[test]
    fn no_shift_is_negative() {
        let mut mixing = Mixing::default();
        mixing.next(&[1.0], &[0.6]);
        // A line through both residuals has its root at -0.6.
        assert_eq!(mixing.next(&[0.6], &[0.3]), [0.0]);
    }
}
