//! Dense linear algebra of a subsystem's block on the host: sums stand side by side, since one alone would wait for each of its
//! terms.

use manyworlds_shaders::Scalar;

/// Sums side by side of one product.
const SUMS: usize = 8;
/// Numbers of a vector register, and how many products are summed at once.
const WIDTH: usize = 4;

/// Sum of the products of two lists of one length.
#[inline]
pub(crate) fn dot<T: Scalar>(a: &[T], b: &[T]) -> T {
    let zero = T::lit(0.0);
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    let rest = a_rest.iter().zip(b_rest).fold(zero, |sum, (&a, &b)| a.mul_add(b, sum));
    if a.is_empty() {
        return rest;
    }
    let mut sums = [zero; SUMS];
    for (a, b) in a.iter().zip(b) {
        (0..SUMS).for_each(|k| sums[k] = a[k].mul_add(b[k], sums[k]));
    }
    let halves: [T; SUMS / 2] = std::array::from_fn(|k| sums[k] + sums[k + SUMS / 2]);
    (halves[0] + halves[2]) + (halves[1] + halves[3]) + rest
}

/// `out += x row`
#[inline]
pub(crate) fn add_times<T: Scalar>(out: &mut [T], x: T, row: &[T]) {
    out.iter_mut().zip(row).for_each(|(out, &r)| *out = x.mul_add(r, *out));
}

/// `out += x^T rows` of three rows one behind the other.
#[inline]
pub(crate) fn add_three_times<T: Scalar>(out: &mut [T], x: [T; 3], rows: &[T]) {
    let (a, rest) = rows.split_at(out.len());
    let (b, c) = rest.split_at(out.len());
    // What is added to comes last: the next one waits for it.
    let sum = |out: T, a: T, b: T, c: T| out + x[0].mul_add(a, x[1].mul_add(b, x[2] * c));
    let ((out, out_rest), (a, a_rest)) = (out.as_chunks_mut::<WIDTH>(), a.as_chunks::<WIDTH>());
    let ((b, b_rest), (c, c_rest)) = (b.as_chunks::<WIDTH>(), c.as_chunks::<WIDTH>());
    for (((out, a), b), c) in out.iter_mut().zip(a).zip(b).zip(c) {
        *out = std::array::from_fn(|k| sum(out[k], a[k], b[k], c[k]));
    }
    let rest = out_rest.iter_mut().zip(a_rest).zip(b_rest).zip(c_rest);
    rest.for_each(|(((out, &a), &b), &c)| *out = sum(*out, a, b, c));
}

/// Products of a list, whole registers long, with four others.
#[inline(always)]
fn dots<T: Scalar>(x: &[T], rows: [&[T]; WIDTH]) -> [T; WIDTH] {
    let mut sums = [[T::lit(0.0); WIDTH]; WIDTH];
    let [a, b, c, d] = rows.map(|row| row.as_chunks::<WIDTH>().0);
    for ((((x, a), b), c), d) in x.as_chunks::<WIDTH>().0.iter().zip(a).zip(b).zip(c).zip(d) {
        for (sums, row) in sums.iter_mut().zip([a, b, c, d]) {
            (0..WIDTH).for_each(|k| sums[k] = x[k].mul_add(row[k], sums[k]));
        }
    }
    sums.map(|s| (s[0] + s[2]) + (s[1] + s[3]))
}

/// Replaces the lower triangle of `a`, `[n, n]` row-major, by the Cholesky factor L of `a = L L^T`, and gives the inverses of its
/// pivots, `[n]`. What stands above the diagonal is neither read nor written.
///
/// # Errors
/// The row whose pivot is not positive in this arithmetic, or not finite.
pub(crate) fn factor<T: Scalar>(n: usize, a: &mut [T], inverses: &mut [T]) -> Result<(), usize> {
    for i in 0..n {
        let (above, own) = a.split_at_mut(i * n);
        let whole = i - i % WIDTH;
        for j in (0..whole).step_by(WIDTH) {
            let left = dots(&own[..j], std::array::from_fn(|k| &above[(j + k) * n..][..j]));
            for k in 0..WIDTH {
                let row = &above[(j + k) * n + j..][..k];
                let rest = (0..k).fold(own[j + k] - left[k], |rest, m| (-own[j + m]).mul_add(row[m], rest));
                own[j + k] = rest * inverses[j + k];
            }
        }
        for j in whole..i {
            own[j] = (own[j] - dot(&own[..j], &above[j * n..][..j])) * inverses[j];
        }
        let pivot = own[i] - dot(&own[..i], &own[..i]);
        if !(T::lit(0.0) < pivot && pivot.is_finite()) {
            return Err(i);
        }
        own[i] = pivot.sqrt();
        inverses[i] = T::lit(1.0) / own[i];
    }
    Ok(())
}

/// `x <- L^-1 x`, with a factor as [`factor`] leaves it.
#[inline(always)]
pub(crate) fn forward<T: Scalar>(n: usize, l: &[T], x: &mut [T]) {
    for i in 0..n {
        let row = &l[i * n..=i * n + i];
        x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
    }
}

/// `x <- (L L^T)^-1 x`.
#[inline(always)]
pub(crate) fn solve<T: Scalar>(n: usize, l: &[T], x: &mut [T]) {
    forward(n, l, x);
    for i in (0..n).rev() {
        let row = &l[i * n..=i * n + i];
        x[i] = x[i] / row[i];
        let own = -x[i];
        add_times(&mut x[..i], own, &row[..i]);
    }
}

/// [`solve`] of up to four lists side by side, a number of each in every entry.
#[inline(always)]
pub(crate) fn solve_beside<T: Scalar>(n: usize, l: &[T], x: &mut [[T; WIDTH]]) {
    let zero = [T::lit(0.0); WIDTH];
    // Most degrees of freedom of a tree do not move a contact.
    let first = x.iter().position(|x| *x != zero).unwrap_or(n);
    for i in first..n {
        let (done, rest) = x.split_at_mut(i);
        let (row, done) = (&l[i * n + first..=i * n + i], &done[first..]);
        let ((rows, row_rest), (dones, done_rest)) = (row[..i - first].as_chunks::<WIDTH>(), done.as_chunks::<WIDTH>());
        let mut sums = [zero; WIDTH];
        for (row, done) in rows.iter().zip(dones) {
            for (sums, (&l, done)) in sums.iter_mut().zip(row.iter().zip(done)) {
                (0..WIDTH).for_each(|r| sums[r] = l.mul_add(done[r], sums[r]));
            }
        }
        for (&l, done) in row_rest.iter().zip(done_rest) {
            (0..WIDTH).for_each(|r| sums[0][r] = l.mul_add(done[r], sums[0][r]));
        }
        let own = &mut rest[0];
        (0..WIDTH)
            .for_each(|r| own[r] = (own[r] - (sums[0][r] + sums[2][r]) - (sums[1][r] + sums[3][r])) / row[i - first]);
    }
    for i in (0..n).rev() {
        let (before, rest) = x.split_at_mut(i);
        let (row, own) = (&l[i * n..=i * n + i], &mut rest[0]);
        (0..WIDTH).for_each(|r| own[r] = own[r] / row[i]);
        for (x, &l) in before.iter_mut().zip(row) {
            (0..WIDTH).for_each(|r| x[r] = (-l).mul_add(own[r], x[r]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_summed_exactly() {
        for n in 0..40 {
            let a: Vec<f64> = (0..n).map(f64::from).collect();
            let b: Vec<f64> = (0..n).map(|i| f64::from(2 * i - 7)).collect();
            let mut sum = 0.0;
            (0..a.len()).for_each(|i| sum += a[i] * b[i]);
            assert!(dot(&a, &b) == sum, "{n}");
            let mut out = b.clone();
            add_times(&mut out, 3.0, &a);
            assert!((0..a.len()).all(|i| out[i] == b[i] + 3.0 * a[i]));
            let rows = [&a[..], &b[..], &out[..]].concat();
            let mut sums = vec![1.0; a.len()];
            add_three_times(&mut sums, [2.0, 3.0, -1.0], &rows);
            assert!((0..a.len()).all(|i| sums[i] == 1.0 + 2.0 * a[i] + 3.0 * b[i] - out[i]));
        }
    }

    #[test]
    fn a_factor_by_hand() {
        let mut a = [4.0f64, 2.0, 2.0, 5.0];
        let mut inverses = [0.0; 2];
        assert_eq!(factor(2, &mut a, &mut inverses), Ok(()));
        assert_eq!((a[0], a[2], a[3], inverses), (2.0, 1.0, 2.0, [0.5, 0.5]));
        let mut x = [8.0, 12.0];
        solve(2, &a, &mut x);
        assert_eq!(x, [1.0, 2.0]);
        assert_eq!(factor(1, &mut [-1.0f64], &mut [0.0]), Err(0));
        assert_eq!(factor(2, &mut [1.0, 0.0, 0.0, f64::NAN], &mut [0.0; 2]), Err(1));
    }

    /// Of all sizes up to several registers, against the product.
    #[test]
    fn solutions_give_back_what_they_solve() {
        for n in 1..30 {
            let entry = |i: usize, j: usize| if i == j { n as f64 } else { ((i * 7 + j * 7) as f64).sin() };
            let a: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
            let mut l = a.clone();
            factor(n, &mut l, &mut vec![0.0; n]).expect("positive definite");
            for lead in [0, n / 2] {
                let b: Vec<[f64; 4]> = (0..n)
                    .map(|i| std::array::from_fn(|r| if lead <= i { ((i + 3 * r) as f64).cos() } else { 0.0 }))
                    .collect();
                let mut beside = b.clone();
                solve_beside(n, &l, &mut beside);
                for r in 0..4 {
                    let mut x: Vec<f64> = b.iter().map(|b| b[r]).collect();
                    solve(n, &l, &mut x);
                    for i in 0..n {
                        assert!((x[i] - beside[i][r]).abs() < 1e-12, "{n}");
                        assert!((dot(&a[i * n..][..n], &x) - b[i][r]).abs() < 1e-12 * n as f64, "{n}");
                    }
                }
            }
        }
    }
}
