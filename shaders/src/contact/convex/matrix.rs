//! The matrix of a Newton step: packed lower triangle, row by row, its right-hand side as a further row. Within row i
//! columns before the envelope `first[i]` are zero and stay so.

use super::layout::DofRecord;
use crate::Scalar;

/// First entry of a row.
#[inline(always)]
pub(super) const fn row_at(i: usize) -> usize {
    i * (i + 1) / 2
}

/// Sum of products.
#[inline(always)]
fn dot<T: Scalar>(a: &[T], b: &[T]) -> T {
    let ((a8, a), (b8, b)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [T::lit(0.0); 8];
    for (a, b) in a8.iter().zip(b8) {
        for k in 0..8 {
            sums[k] = a[k].mul_add(b[k], sums[k]);
        }
    }
    let rest = a.iter().zip(b).fold(T::lit(0.0), |sum, (&a, &b)| a.mul_add(b, sum));
    let [p, q, r, s] = [0, 1, 2, 3].map(|k| sums[k] + sums[k + 4]);
    rest + ((p + r) + (q + s))
}

/// Cholesky factor within the envelope: the pivots themselves on the diagonal, below it L; and `L^-1` of the right-hand
/// side in its row. Whether every pivot is positive in this arithmetic.
#[inline(always)]
pub(super) fn factor<T: Scalar>(dofs: &[DofRecord], m: &mut [T]) -> bool {
    let n = dofs.len();
    for i in 0..=n {
        let begin = if i == n { 0 } else { dofs[i].first as usize };
        let (above, own) = m.split_at_mut(row_at(i));
        for j in begin..i {
            let from = begin.max(dofs[j].first as usize);
            let other = &above[row_at(j)..][..=j];
            let pivot = other[j];
            own[j] = (own[j] - dot(&own[from..j], &other[from..j])) / pivot.sqrt();
        }
        if i < n {
            own[i] -= dot(&own[begin..i], &own[begin..i]);
            let positive = T::lit(0.0) < own[i];
            if !positive {
                return false;
            }
        }
    }
    true
}

/// The solution into `d`.
#[inline(always)]
pub(super) fn back<T: Scalar>(dofs: &[DofRecord], m: &mut [T], d: &mut [T]) {
    let n = dofs.len();
    let (l, y) = m.split_at_mut(row_at(n));
    for k in (0..n).rev() {
        let own = &l[row_at(k)..][..=k];
        let x = y[k] / own[k].sqrt();
        let begin = dofs[k].first as usize;
        for (y, &l) in y[begin..k].iter_mut().zip(&own[begin..k]) {
            *y = (-l).mul_add(x, *y);
        }
        d[k] = x;
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::packed;
    use super::*;

    /// Two blocks of two and three dofs that nothing couples, then one of two coupled with the second.
    fn dofs() -> Vec<DofRecord> {
        [0, 0, 2, 2, 2, 2, 2].map(|first| DofRecord { first, ..DofRecord::default() }).to_vec()
    }

    fn filled(dofs: &[DofRecord], diagonal: f64) -> Vec<f64> {
        let n = dofs.len();
        let mut m = vec![0.0; packed(n)];
        for i in 0..n {
            for j in dofs[i].first as usize..i {
                m[row_at(i) + j] = ((3 * i + j) as f64).sin();
            }
            m[row_at(i) + i] = diagonal;
            m[row_at(n) + i] = 1.0 + i as f64;
        }
        m
    }

    #[test]
    fn systems_are_solved_within_the_envelope() {
        let dofs = dofs();
        let n = dofs.len();
        let before = filled(&dofs, 5.0);
        let mut m = before.clone();
        assert!(factor(&dofs, &mut m));
        let mut d = vec![0.0; n];
        back(&dofs, &mut m, &mut d);
        for i in 0..n {
            let entry = |j: usize| before[row_at(i.max(j)) + i.min(j)];
            let left: f64 = (0..n).map(|j| entry(j) * d[j]).sum();
            assert!((left - (1.0 + i as f64)).abs() < 1e-12, "row {i}: {left}");
        }
    }

    #[test]
    fn what_is_not_positive_is_refused() {
        for diagonal in [0.1, 0.0, -1.0, f64::NAN] {
            assert!(!factor(&dofs(), &mut filled(&dofs(), diagonal)), "{diagonal}");
        }
    }
}
