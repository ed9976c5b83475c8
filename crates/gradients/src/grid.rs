//! Dense matrices by rows, and products of them.

use std::ops::{Index, IndexMut, Range};

use crate::pool::Pooled;

/// Rows begin at multiples of so many numbers: a vector register of doubles.
const LINE: usize = 4;

/// A matrix, row-major; rows are padded with zeros.
#[derive(Debug, Clone, Default)]
pub(crate) struct Grid {
    height: usize,
    width: usize,
    stride: usize,
    entries: Pooled,
}

impl Grid {
    pub(crate) fn zeros(height: usize, width: usize) -> Self {
        let stride = width.next_multiple_of(LINE);
        Self { height, width, stride, entries: Pooled::zeros(height * stride) }
    }

    /// From rows without padding.
    pub(crate) fn from_rows(width: usize, entries: &[f64]) -> Self {
        let mut out = Self::zeros(entries.len().checked_div(width).unwrap_or(0), width);
        entries.chunks_exact(width.max(1)).enumerate().for_each(|(i, row)| out.row_mut(i).copy_from_slice(row));
        out
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.stride..][..self.width]
    }

    /// From a row to the next.
    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Some rows with what pads them.
    pub(crate) fn rows(&self, rows: Range<usize>) -> &[f64] {
        &self.entries[rows.start * self.stride..rows.end * self.stride]
    }

    pub(crate) fn rows_mut(&mut self, rows: Range<usize>) -> &mut [f64] {
        &mut self.entries[rows.start * self.stride..rows.end * self.stride]
    }

    pub(crate) fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.entries[i * self.stride..][..self.width]
    }

    /// A row to read and, of those before it, one to change; then the other way round.
    pub(crate) fn pair(&mut self, above: usize, below: usize) -> (&mut [f64], &mut [f64]) {
        let (head, tail) = self.entries.split_at_mut(below * self.stride);
        (&mut head[above * self.stride..][..self.stride], &mut tail[..self.stride])
    }

    pub(crate) fn transposed(&self) -> Self {
        let mut out = Self::zeros(self.width, self.height);
        for i in 0..self.height {
            self.row(i).iter().enumerate().for_each(|(j, x)| out.entries[j * out.stride + i] = *x);
        }
        out
    }

    /// Its rows without padding.
    pub(crate) fn to_vec(&self) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.height * self.width);
        (0..self.height).for_each(|i| out.extend_from_slice(self.row(i)));
        out
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.entries.iter().all(|&x| x == 0.0)
    }

    /// Largest size of an entry.
    pub(crate) fn largest(&self) -> f64 {
        self.entries.iter().fold(0.0, |l: f64, x| l.max(x.abs()))
    }

    /// `y += a (x^T M)`.
    pub(crate) fn add_transposed_times(&self, a: f64, x: &[f64], y: &mut [f64]) {
        for (i, &x) in x.iter().enumerate() {
            axpy(a * x, self.row(i), y);
        }
    }

    /// `self += s A B`.
    pub(crate) fn add_product(&mut self, s: f64, a: &Self, b: &Self) {
        debug_assert!(a.width == b.height && self.height == a.height && self.width == b.width);
        let mut i = 0;
        while i + 4 <= a.height {
            self.add_rows::<4>(s, a, b, i);
            i += 4;
        }
        while i < a.height {
            self.add_rows::<1>(s, a, b, i);
            i += 1;
        }
    }

    fn add_rows<const R: usize>(&mut self, s: f64, a: &Self, b: &Self, i: usize) {
        let mut j = 0;
        while j + 2 * LINE <= self.stride {
            self.add_block::<R, { 2 * LINE }>(s, a, b, i, j);
            j += 2 * LINE;
        }
        while j < self.stride {
            self.add_block::<R, LINE>(s, a, b, i, j);
            j += LINE;
        }
    }

    /// Row `i` less the rows from `first` on, which are all above or all below it, each times a number.
    pub(crate) fn subtract_rows(&mut self, i: usize, times: &[f64], first: usize) {
        let stride = self.stride;
        let (others, own, skip) = if first > i {
            let (head, tail) = self.entries.split_at_mut((i + 1) * stride);
            (&*tail, &mut head[i * stride..], first - i - 1)
        } else {
            let (head, tail) = self.entries.split_at_mut(i * stride);
            (&*head, &mut tail[..stride], first)
        };
        let others = &others[skip * stride..];
        for (j, own) in own.chunks_exact_mut(LINE).enumerate() {
            let mut sums = [0.0; LINE];
            for (x, line) in times.iter().zip(others.chunks_exact(stride)) {
                let line = &line[j * LINE..(j + 1) * LINE];
                for w in 0..LINE {
                    sums[w] = x.mul_add(line[w], sums[w]);
                }
            }
            (0..LINE).for_each(|w| own[w] -= sums[w]);
        }
    }

    /// R rows by W columns of the product, in registers.
    #[inline(always)]
    fn add_block<const R: usize, const W: usize>(&mut self, s: f64, a: &Self, b: &Self, i: usize, j: usize) {
        let rows: [&[f64]; R] = std::array::from_fn(|r| a.row(i + r));
        let mut sums = [[0.0; W]; R];
        for (k, line) in b.entries.chunks_exact(b.stride.max(1)).enumerate() {
            let line = &line[j..j + W];
            for r in 0..R {
                let x = rows[r][k];
                for w in 0..W {
                    sums[r][w] = x.mul_add(line[w], sums[r][w]);
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let to = &mut self.entries[(i + r) * self.stride + j..][..W];
            for w in 0..W {
                to[w] = s.mul_add(sums[w], to[w]);
            }
        }
    }
}

impl Index<(usize, usize)> for Grid {
    type Output = f64;

    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        debug_assert!(j < self.width);
        &self.entries[i * self.stride + j]
    }
}

impl IndexMut<(usize, usize)> for Grid {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        debug_assert!(j < self.width);
        &mut self.entries[i * self.stride + j]
    }
}

/// `y += a x`.
#[inline(always)]
pub(crate) fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    if a != 0.0 {
        y.iter_mut().zip(x).for_each(|(y, x)| *y = a.mul_add(*x, *y));
    }
}

/// `x . y`.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; LINE];
    let (lines, others) = (x.chunks_exact(LINE), y.chunks_exact(LINE));
    let rest: f64 = lines.remainder().iter().zip(others.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in lines.zip(others) {
        for k in 0..LINE {
            sums[k] = x[k].mul_add(y[k], sums[k]);
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// `x . diag(weights) y`.
#[inline(always)]
pub(crate) fn dot_by(weights: &[f64], x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; LINE];
    let (weights, last) = weights.as_chunks::<LINE>();
    let [(x, x_last), (y, y_last)] = [x, y].map(|x| x.as_chunks::<LINE>());
    for ((weights, x), y) in weights.iter().zip(x).zip(y) {
        for k in 0..LINE {
            sums[k] = (weights[k] * x[k]).mul_add(y[k], sums[k]);
        }
    }
    let rest: f64 = last.iter().zip(x_last).zip(y_last).map(|((weight, x), y)| weight * x * y).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::{Grid, dot, dot_by};

    fn some(height: usize, width: usize, seed: f64) -> Grid {
        let entries: Vec<f64> = (0..height * width).map(|k| (seed + k as f64 * 0.7).sin()).collect();
        Grid::from_rows(width, &entries)
    }

    #[test]
    fn weighted_products_are_those_of_weighted_vectors() {
        for n in 0..11 {
            let [x, y, w] = [1.0, 2.0, 3.0].map(|seed| (0..n).map(|k| (seed + f64::from(k)).sin()).collect::<Vec<_>>());
            let weighted: Vec<f64> = x.iter().zip(&w).map(|(x, w)| x * w).collect();
            assert!((dot_by(&w, &x, &y) - dot(&weighted, &y)).abs() < 1e-15);
        }
    }

    #[test]
    fn products_of_all_shapes_are_sums_of_products() {
        for (m, n, p) in [(1, 1, 1), (3, 5, 2), (4, 4, 4), (5, 3, 9), (9, 7, 13), (2, 0, 3)] {
            let (a, b) = (some(m, n, 1.0), if n == 0 { Grid::zeros(0, p) } else { some(n, p, 2.0) });
            let a = if n == 0 { Grid::zeros(m, 0) } else { a };
            let mut c = some(m, p, 3.0);
            let before = c.clone();
            c.add_product(-2.0, &a, &b);
            for i in 0..m {
                for j in 0..p {
                    let sum: f64 = (0..n).map(|k| a[(i, k)] * b[(k, j)]).sum();
                    assert!((c[(i, j)] - (before[(i, j)] - 2.0 * sum)).abs() < 1e-14, "{m} {n} {p}");
                }
            }
        }
    }

    #[test]
    fn a_dot_product_takes_every_entry() {
        for n in 0..10 {
            let x: Vec<f64> = (0..n).map(f64::from).collect();
            assert_eq!(dot(&x, &x), x.iter().map(|x| x * x).sum::<f64>());
        }
    }
}
