//! Dense symmetric matrices, of which the upper triangle counts, row-major.
//!
//! Rows have room for whole tiles: what is computed there and below the diagonal means nothing, but costs less than to tell it apart.

use crate::product::mul_add;

/// Rows that are eliminated before what follows is updated by all of them.
const STEP: usize = 32;
/// Rows and columns of the result that are held in registers.
const TALL: usize = 4;
const WIDE: usize = 8;

/// Room of a row of a matrix of so many rows.
pub(crate) fn stride(m: usize) -> usize {
    m.next_multiple_of(WIDE)
}

/// Room of the matrix.
pub(crate) fn room(m: usize) -> usize {
    m * stride(m)
}

/// Eliminates the first `w` rows of a matrix of `m`, which lies in [`room`]: they become `U` of `A = U^T U`, the triangle behind them
/// is what is left of the matrix. `pivot_of`: what stands for the pivot of a row, that is from it on, and must be positive; `Err`: the
/// row that has none.
pub(crate) fn eliminate(
    a: &mut [f64],
    m: usize,
    w: usize,
    mut pivot_of: impl FnMut(usize, &[f64]) -> Option<f64>,
) -> Result<(), usize> {
    let stride = stride(m);
    for first in (0..w).step_by(STEP) {
        let end = (first + STEP).min(w);
        for begin in (first..end).step_by(TALL) {
            let (above, own) = a.split_at_mut(begin * stride);
            let above = &above[first * stride..];
            let count = TALL.min(end - begin);
            subtract(above, stride, begin, count, own);
            for i in begin..begin + count {
                let (above, own) = own.split_at_mut((i - begin) * stride);
                let own = &mut own[i..m];
                for above in above.chunks_exact(stride) {
                    let row = &above[i..m];
                    let x = -row[0];
                    own.iter_mut().zip(row).for_each(|(own, u)| *own = mul_add(x, *u, *own));
                }
                let pivot = pivot_of(i, own).ok_or(i)?;
                own[0] = pivot;
                let inverse = 1.0 / pivot.sqrt();
                own.iter_mut().for_each(|x| *x *= inverse);
            }
        }
        let (head, tail) = a.split_at_mut(end * stride);
        for (out, i) in tail.chunks_mut(TALL * stride).zip((end..m).step_by(TALL)) {
            subtract(&head[first * stride..], stride, i, TALL.min(m - i), out);
        }
    }
    Ok(())
}

/// A pivot as it is.
pub(crate) fn positive(_: usize, row: &[f64]) -> Option<f64> {
    row.first().copied().filter(|pivot| *pivot > 0.0 && pivot.is_finite())
}

/// `out -= U^T U` in `tall` rows from `i` on, which are `out`, from the tile of the diagonal on; U has the rows in `u`.
fn subtract(u: &[f64], stride: usize, i: usize, tall: usize, out: &mut [f64]) {
    if u.is_empty() {
        return;
    }
    for j in (i / WIDE * WIDE..stride).step_by(WIDE) {
        match tall {
            1 => tile::<1>(u, stride, i, j, out),
            2 => tile::<2>(u, stride, i, j, out),
            3 => tile::<3>(u, stride, i, j, out),
            _ => tile::<TALL>(u, stride, i, j, out),
        }
    }
}

/// One tile.
#[inline(always)]
fn tile<const T: usize>(u: &[f64], stride: usize, i: usize, j: usize, out: &mut [f64]) {
    let mut sums = [[0.0; WIDE]; T];
    for row in u.chunks_exact(stride) {
        let (Some(left), Some(right)) = (row[i..].first_chunk::<T>(), row[j..].first_chunk::<WIDE>()) else {
            return;
        };
        for (sums, left) in sums.iter_mut().zip(left) {
            (0..WIDE).for_each(|c| sums[c] = mul_add(*left, right[c], sums[c]));
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        let Some(out) = out[r * stride + j..].first_chunk_mut::<WIDE>() else { return };
        (0..WIDE).for_each(|c| out[c] -= sums[c]);
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::DMatrix;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::{eliminate, positive, room, stride};

    #[test]
    fn what_is_left_is_the_schur_complement() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (m, w) in [(1, 1), (5, 2), (12, 12), (37, 5), (70, 40), (100, 64), (101, 0)] {
            let random = DMatrix::from_fn(m, m, |_, _| rng.random_range(-1.0..1.0));
            let a = &random * random.transpose() + DMatrix::identity(m, m);
            let (stride, mut own) = (stride(m), vec![0.0; room(m)]);
            (0..m).for_each(|i| (0..m).for_each(|j| own[i * stride + j] = a[(i, j)]));
            eliminate(&mut own, m, w, positive).unwrap();
            // What is left, and U^T U, against the definition.
            let (a11, a12) = (a.view((0, 0), (w, w)), a.view((0, w), (w, m - w)));
            let left = a.view((w, w), (m - w, m - w)) - a12.transpose() * a11.into_owned().try_inverse().unwrap() * a12;
            let u = DMatrix::from_fn(w, m, |i, j| if j < i { 0.0 } else { own[i * stride + j] });
            let back = u.transpose() * &u;
            for i in 0..m {
                for j in i..m {
                    let (found, exact) =
                        if i < w { (back[(i, j)], a[(i, j)]) } else { (own[i * stride + j], left[(i - w, j - w)]) };
                    assert!((found - exact).abs() < 1e-10 * m as f64, "{m} {w} {i} {j}: {found} {exact}");
                }
            }
        }
    }

    #[test]
    fn what_is_not_positive_says_where() {
        let mut a = vec![0.0; room(2)];
        (a[0], a[1], a[stride(2) + 1]) = (1.0, 2.0, 4.0);
        assert_eq!(eliminate(&mut a, 2, 2, positive), Err(1));
        let mut a = vec![f64::NAN; room(1)];
        assert_eq!(eliminate(&mut a, 1, 1, positive), Err(0));
    }
}
