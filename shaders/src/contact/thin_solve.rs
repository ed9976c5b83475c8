//! Elimination for the matrix of a step by degrees of freedom, see [`super::thin`].

use super::packs::{real, real_mut};
use super::thin::{MOST_DOFS, Thin};
use crate::{LANES, Real, Scalar};

impl<T: Scalar> Thin<'_, T> {
    /// Solves for `solution`, by elimination with the largest pivots of columns: `P M^T = L U`, so `U^T L^T P x = b`.
    pub(super) fn solve(&mut self) {
        let (n, width) = (self.n_v, self.width);
        let Self { matrix, lower, solution, solved, .. } = self;
        let solved = real_mut(solved);
        lower.fill(T::Pack::lit(0.0));
        let mut order: [u8; MOST_DOFS] = std::array::from_fn(|d| d as u8);
        let mut largest = (0, T::lit(0.0));
        for row in 0..n {
            let entry = real(&matrix[row * width..])[0].abs();
            largest = if largest.1 < entry { (row, entry) } else { largest };
        }
        for k in 0..n {
            let pivot = largest.0.max(k);
            if pivot != k {
                for packs in [&mut **matrix, &mut **lower] {
                    let (head, tail) = packs.split_at_mut(pivot * width);
                    head[k * width..(k + 1) * width].swap_with_slice(&mut tail[..width]);
                }
                order.swap(k, pivot);
            }
            let (head, tail) = matrix.split_at_mut((k + 1) * width);
            // Columns before the pivot's are not read again.
            let (first, at) = (k / LANES, k % LANES);
            let top = &head[k * width + first..];
            let inverse = T::lit(1.0) / real(top)[at];
            let own = real(solution)[k] * inverse;
            let mut clear = |top: &[T::Pack]| clear(k, width, inverse, top, tail, lower);
            // Rows of known length stay in registers.
            largest = match *top {
                [a] => clear(&[a]),
                [a, b] => clear(&[a, b]),
                [a, b, c] => clear(&[a, b, c]),
                [a, b, c, d] => clear(&[a, b, c, d]),
                [a, b, c, d, e] => clear(&[a, b, c, d, e]),
                _ => clear(top),
            };
            let pack = T::Pack::splat(-own);
            solution[first..].iter_mut().zip(top).for_each(|(to, &top)| *to = top.mul_add(pack, *to));
            solved[k] = own;
        }
        real_mut(solution)[..n].copy_from_slice(&solved[..n]);
        for k in (1..n).rev() {
            let own = real(solution)[k];
            solved[k] = own;
            let own = T::Pack::splat(-own);
            let row = &lower[k * width..(k + 1) * width];
            solution.iter_mut().zip(row).for_each(|(to, &x)| *to = x.mul_add(own, *to));
        }
        solved[0] = real(solution)[0];
        for (&d, &x) in order[..n].iter().zip(&*solved) {
            real_mut(solution)[usize::from(d)] = x;
        }
    }
}

/// Clears column k of the rows behind row k, of which what is not before the column's pack is `top`; the factors into `lower`. The
/// row with the largest entry of the next column, and that entry. `inverse`: of the pivot.
#[inline(always)]
fn clear<T: Scalar>(
    k: usize,
    width: usize,
    inverse: T,
    top: &[T::Pack],
    tail: &mut [T::Pack],
    lower: &mut [T::Pack],
) -> (usize, T) {
    let (zero, at) = (T::lit(0.0), k % LANES);
    let next = if at + 1 < LANES * top.len() { at + 1 } else { at };
    let mut largest = (0, zero);
    for (row, to) in (k + 1..).zip(tail.chunks_exact_mut(width)) {
        let to = &mut to[width - top.len()..][..top.len()];
        let factor = real(to)[at] * inverse;
        if factor != zero {
            real_mut(&mut lower[row * width..(row + 1) * width])[k] = factor;
            let factor = T::Pack::splat(-factor);
            to.iter_mut().zip(top).for_each(|(to, &top)| *to = top.mul_add(factor, *to));
        }
        let entry = real(to)[next].abs();
        largest = if largest.1 < entry { (row, entry) } else { largest };
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::super::dense_shape::Shape;
    use super::super::thin::reals;
    use super::*;
    use crate::F64x8;

    /// The solution of a system is found whose pivots stand nowhere on the diagonal, of every number of packs.
    #[test]
    fn solves_systems_that_need_pivots() {
        for n in [1, 2, 7, 8, 9, 23, 40, 41, 64, 100] {
            let entry = |row: usize, d: usize| {
                let noise = ((row * 31 + d * 17 + 5) as f64 * 12.9898).sin();
                if d == (row + n / 2) % n {
                    30.0 + noise
                } else {
                    noise * f64::from(u8::from(!(row + d).is_multiple_of(3)))
                }
            };
            let truth = |d: usize| (d as f64 * 0.7).sin() + 0.1;
            let shape = Shape::new(0, 1);
            let mut memory = vec![F64x8::lit(f64::NAN); reals(n, shape) / LANES];
            let mut thin = Thin::<f64>::new(n, shape, &mut memory);
            thin.begin();
            for d in 0..n {
                // Transposed.
                let of_dof = real_mut(&mut thin.matrix[d * thin.width..(d + 1) * thin.width]);
                (0..n).for_each(|row| of_dof[row] = entry(row, d));
            }
            (0..n).for_each(|row| real_mut(thin.solution)[row] = (0..n).map(|d| entry(row, d) * truth(d)).sum());
            thin.solve();
            for d in 0..n {
                let error = (real(thin.solution)[d] - truth(d)).abs();
                assert!(error < 1e-12, "{n}: {d} is off by {error:e}");
            }
        }
    }
}
