//! Dense symmetric matrices, of which the upper triangle counts, row-major.

use crate::product::mul_add;

/// Rows that are eliminated before what follows is updated by all of them.
const STEP: usize = 32;
/// Rows and columns of the result that are held in registers.
const TALL: usize = 4;
const WIDE: usize = 8;

/// Eliminates the first `w` rows of a matrix `[m, m]`: they become `U` of `A = U^T U`, the triangle behind them is what is
/// left of the matrix. `pivot_of`: what stands for the pivot of a row, that is from it on, and must be positive; `Err`: the row that
/// has none.
pub(crate) fn eliminate(
    a: &mut [f64],
    m: usize,
    w: usize,
    mut pivot_of: impl FnMut(usize, &[f64]) -> Option<f64>,
) -> Result<(), usize> {
    for first in (0..w).step_by(STEP) {
        let end = (first + STEP).min(w);
        for i in first..end {
            let (above, own) = a.split_at_mut(i * m);
            let own = &mut own[i..m];
            for k in first..i {
                let row = &above[k * m + i..k * m + m];
                let x = -row[0];
                own.iter_mut().zip(row).for_each(|(own, u)| *own = mul_add(x, *u, *own));
            }
            let pivot = pivot_of(i, own).ok_or(i)?;
            own[0] = pivot;
            let inverse = 1.0 / pivot.sqrt();
            own.iter_mut().for_each(|x| *x *= inverse);
        }
        let (head, tail) = a.split_at_mut(end * m);
        subtract(&head[first * m..], m, end, tail);
    }
    Ok(())
}

/// A pivot as it is.
pub(crate) fn positive(_: usize, row: &[f64]) -> Option<f64> {
    row.first().copied().filter(|pivot| *pivot > 0.0 && pivot.is_finite())
}

/// `out -= U^T U` in the upper triangle of the rows from `end` on, which `out` begins with; U has the rows in `u`.
fn subtract(u: &[f64], m: usize, end: usize, out: &mut [f64]) {
    let mut i = end;
    while i < m {
        let tall = TALL.min(m - i);
        let mut j = i;
        while j < m {
            if tall == TALL && j + WIDE <= m {
                tile(u, m, i, j, &mut out[(i - end) * m..]);
            } else {
                // What the tiles leave over at the edges.
                for r in 0..tall {
                    for c in j..(j + WIDE).min(m) {
                        let sum: f64 = u.chunks_exact(m).map(|row| row[i + r] * row[c]).sum();
                        out[(i + r - end) * m + c] -= sum;
                    }
                }
            }
            j += WIDE;
        }
        i += TALL;
    }
}

/// One tile; entries below the diagonal are written, too, and mean nothing.
#[inline(always)]
fn tile(u: &[f64], m: usize, i: usize, j: usize, out: &mut [f64]) {
    let mut sums = [[0.0; WIDE]; TALL];
    for row in u.chunks_exact(m) {
        let (Some(left), Some(right)) = (row[i..].first_chunk::<TALL>(), row[j..].first_chunk::<WIDE>()) else {
            return;
        };
        for (sums, left) in sums.iter_mut().zip(left) {
            (0..WIDE).for_each(|c| sums[c] = mul_add(*left, right[c], sums[c]));
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        let Some(out) = out[r * m + j..].first_chunk_mut::<WIDE>() else { return };
        (0..WIDE).for_each(|c| out[c] -= sums[c]);
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::{eliminate, positive};

    #[test]
    fn what_is_left_is_the_schur_complement() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (m, w) in [(1, 1), (5, 2), (12, 12), (37, 5), (70, 40), (100, 64), (101, 0)] {
            let random = DMatrix::from_fn(m, m, |_, _| rng.random_range(-1.0..1.0));
            let a = &random * random.transpose() + DMatrix::identity(m, m);
            let mut own = a.transpose().as_slice().to_vec();
            eliminate(&mut own, m, w, positive).unwrap();
            // What is left, and U^T U, against the definition.
            let (a11, a12) = (a.view((0, 0), (w, w)), a.view((0, w), (w, m - w)));
            let left = a.view((w, w), (m - w, m - w)) - a12.transpose() * a11.into_owned().try_inverse().unwrap() * a12;
            let u = DMatrix::from_fn(w, m, |i, j| if j < i { 0.0 } else { own[i * m + j] });
            let back = u.transpose() * &u;
            for i in 0..m {
                for j in i..m {
                    let (found, exact) =
                        if i < w { (back[(i, j)], a[(i, j)]) } else { (own[i * m + j], left[(i - w, j - w)]) };
                    assert!((found - exact).abs() < 1e-10 * m as f64, "{m} {w} {i} {j}: {found} {exact}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_positive_says_where() {
        let mut a = vec![1.0, 2.0, 0.0, 4.0];
        assert_eq!(eliminate(&mut a, 2, 2, positive), Err(1));
        assert_eq!(eliminate(&mut [f64::NAN], 1, 1, positive), Err(0));
    }
}
