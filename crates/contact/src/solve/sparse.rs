//! Sparse matrices of dense blocks, one row and column of blocks per limb ([`super::limbs`]), and their factorization `L D U`
//! without pivoting between blocks.
//!
//! The pattern is symmetric, the values need not be; those that are have [`super::cholesky`]. Blocks are eliminated in the order of
//! least degree, found together with the fill (Tinney & Walker 1967): a chain fills nothing, and a single limb is a dense matrix.
//! Within a block rows are pivoted, so that only a singular block breaks down.

use manyworlds_shaders::Scalar;

use crate::dense::dot;

/// Degrees of freedom of a free body: most blocks of a pile are of such.
const FREE: usize = 6;

/// A column of blocks below the diagonal, by position in the order of elimination.
struct Column {
    /// Positions of its blocks, ascending.
    rows: Vec<usize>,
    /// Where each block's values begin in `lower` and in `upper`.
    begins: Vec<usize>,
}

/// See the module.
pub(super) struct BlockMatrix<T> {
    /// Block at each position.
    order: Vec<usize>,
    /// Position of each block.
    place: Vec<usize>,
    /// Rows of each block, and where they begin in a vector.
    sizes: Vec<usize>,
    offsets: Vec<usize>,
    /// Where each block's diagonal begins in `diagonal`.
    squares: Vec<usize>,
    columns: Vec<Column>,
    diagonal: Vec<T>,
    pivots: Vec<usize>,
    /// Blocks below the diagonal, row-major; factored: `B_ik D_k^-1`.
    lower: Vec<T>,
    /// Blocks above it, each transposed and at the place of its mirror image.
    upper: Vec<T>,
}

/// Blocks by number, as bits.
const WORD: usize = u64::BITS as usize;

/// The numbers in a set, ascending.
fn members(set: &[u64]) -> impl Iterator<Item = usize> {
    set.iter().enumerate().flat_map(|(at, &word)| {
        let rest =
            std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1))).take_while(|&rest| rest != 0);
        rest.map(move |rest| at * WORD + rest.trailing_zeros() as usize)
    })
}

/// Order of least degree, and the blocks below each position once all before are eliminated.
pub(super) fn least_degree(sizes: &[usize], pairs: &[(usize, usize)]) -> (Vec<usize>, Vec<Vec<usize>>) {
    let n = sizes.len();
    let words = n.div_ceil(WORD);
    let mut neighbours = vec![0; n * words];
    for &(a, b) in pairs.iter().filter(|(a, b)| a != b) {
        neighbours[a * words + b / WORD] |= 1 << (b % WORD);
        neighbours[b * words + a / WORD] |= 1 << (a % WORD);
    }
    let degree = |set: &[u64]| members(set).map(|i| sizes[i]).sum::<usize>();
    let mut degrees: Vec<usize> = neighbours.chunks_exact(words.max(1)).map(degree).collect();
    let mut left: Vec<usize> = (0..n).collect();
    let (mut order, mut structure) = (Vec::with_capacity(n), Vec::with_capacity(n));
    while let Some(at) = (0..left.len()).min_by_key(|&at| (degrees[left[at]], left[at])) {
        let k = left.swap_remove(at);
        let around = neighbours[k * words..(k + 1) * words].to_vec();
        for i in members(&around) {
            let own = &mut neighbours[i * words..(i + 1) * words];
            own.iter_mut().zip(&around).for_each(|(own, other)| *own |= other);
            own[k / WORD] &= !(1 << (k % WORD));
            own[i / WORD] &= !(1 << (i % WORD));
            degrees[i] = degree(own);
        }
        order.push(k);
        structure.push(members(&around).collect());
    }
    (order, structure)
}

impl<T: Scalar> BlockMatrix<T> {
    /// The zero matrix with blocks of these sizes, and blocks off the diagonal at these pairs.
    pub(super) fn new(sizes: &[usize], pairs: &[(usize, usize)]) -> Self {
        let (order, structure) = least_degree(sizes, pairs);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(k, &block)| place[block] = k);
        let (offsets, n) = begins(sizes.iter().copied());
        let (squares, n_square) = begins(sizes.iter().map(|s| s * s));
        let mut n_lower = 0;
        let columns = structure
            .into_iter()
            .enumerate()
            .map(|(k, blocks)| {
                let mut rows: Vec<usize> = blocks.into_iter().map(|i| place[i]).collect();
                rows.sort_unstable();
                let width = sizes[order[k]];
                let (mut begins, count) = begins(rows.iter().map(|&i| sizes[order[i]] * width));
                begins.iter_mut().for_each(|b| *b += n_lower);
                n_lower += count;
                Column { rows, begins }
            })
            .collect();
        let zeros = |n| vec![T::lit(0.0); n];
        Self {
            order,
            place,
            sizes: sizes.to_vec(),
            offsets,
            squares,
            columns,
            diagonal: zeros(n_square),
            pivots: vec![0; n],
            lower: zeros(n_lower),
            upper: zeros(n_lower),
        }
    }

    /// Sets all values to zero.
    pub(super) fn clear(&mut self) {
        for values in [&mut self.diagonal, &mut self.lower, &mut self.upper] {
            values.fill(T::lit(0.0));
        }
    }

    /// The block on the diagonal, row-major.
    pub(super) fn diagonal_mut(&mut self, block: usize) -> &mut [T] {
        let n = self.sizes[block];
        &mut self.diagonal[self.squares[block]..][..n * n]
    }

    /// Sets the block off the diagonal at row `a`, column `b`, row-major, and its mirror image.
    pub(super) fn set_mirrored(&mut self, a: usize, b: usize, block: &[T]) {
        let (at, to) = (self.place[a], self.place[b]);
        if to < at {
            let begin = self.find(at, to);
            for values in [&mut self.lower, &mut self.upper] {
                values[begin..][..block.len()].copy_from_slice(block);
            }
        } else {
            let (begin, n_a, n_b) = (self.find(to, at), self.sizes[a], self.sizes[b]);
            for (i, &x) in block.iter().enumerate() {
                let mirrored = begin + i % n_b * n_a + i / n_b;
                (self.lower[mirrored], self.upper[mirrored]) = (x, x);
            }
        }
    }

    /// Adds `left^T w right` to the block at row `a`, column `b`; `left` and `right` are `[rows, n]`, row-major.
    pub(super) fn add(&mut self, (a, left): (usize, &[T]), w: &[[T; 3]; 3], (b, right): (usize, &[T])) {
        let (at, to) = (self.place[a], self.place[b]);
        let (n_a, n_b) = (self.sizes[a], self.sizes[b]);
        let rows = left.len() / n_a;
        if at == to {
            outer(self.diagonal_mut(a), (left, n_a), (right, n_b), |r, s| w[r][s], rows);
        } else if to < at {
            let begin = self.find(at, to);
            outer(&mut self.lower[begin..], (left, n_a), (right, n_b), |r, s| w[r][s], rows);
        } else {
            let begin = self.find(to, at);
            outer(&mut self.upper[begin..], (right, n_b), (left, n_a), |r, s| w[s][r], rows);
        }
    }

    /// The block at row `a`, column `b`, which there is, and how far its rows are apart, and its columns.
    pub(super) fn block_mut(&mut self, a: usize, b: usize) -> (&mut [T], usize, usize) {
        let (at, to) = (self.place[a], self.place[b]);
        if at == to {
            (&mut self.diagonal[self.squares[a]..], self.sizes[a], 1)
        } else if to < at {
            let begin = self.find(at, to);
            (&mut self.lower[begin..], self.sizes[b], 1)
        } else {
            let begin = self.find(to, at);
            (&mut self.upper[begin..], 1, self.sizes[a])
        }
    }

    /// Where the block at positions `(row, column)` begins.
    fn find(&self, row: usize, column: usize) -> usize {
        let column = &self.columns[column];
        column.begins[column.rows.partition_point(|&r| r < row)]
    }

    /// Factors in place. False when a block is singular in this arithmetic, or not finite.
    #[must_use]
    pub(super) fn factor(&mut self) -> bool {
        for k in 0..self.order.len() {
            let own = self.order[k];
            let n = self.sizes[own];
            let pivots = &mut self.pivots[self.offsets[own]..][..n];
            if !factor_block(n, &mut self.diagonal[self.squares[own]..][..n * n], pivots) {
                return false;
            }
            let column = &self.columns[k];
            let end = column.rows.last().map_or(0, |&i| self.sizes[self.order[i]] * n);
            let Some(&first) = column.begins.first() else { continue };
            let last = column.begins[column.begins.len() - 1] + end;
            let d = &self.diagonal[self.squares[own]..][..n * n];
            for row in self.lower[first..last].chunks_exact_mut(n) {
                solve_transposed(n, d, pivots, row);
            }
            self.update(k, n);
        }
        true
    }

    /// Takes what column k contributes off the blocks after it.
    fn update(&mut self, k: usize, n: usize) {
        let column = &self.columns[k];
        for (&i, &left) in column.rows.iter().zip(&column.begins) {
            let n_i = self.sizes[self.order[i]];
            for (&j, &right) in column.rows.iter().zip(&column.begins) {
                let n_j = self.sizes[self.order[j]];
                if j < i {
                    let begin = self.find(i, j);
                    // What is read was eliminated with column k, what is written stands in later columns.
                    let (head, tail) = self.lower.split_at_mut(begin);
                    take(&mut tail[..n_i * n_j], &head[left..][..n_i * n], &self.upper[right..][..n_j * n], n);
                } else if i == j {
                    let square = self.squares[self.order[i]];
                    let out = &mut self.diagonal[square..][..n_i * n_i];
                    take(out, &self.lower[left..][..n_i * n], &self.upper[right..][..n_i * n], n);
                } else {
                    let begin = self.find(j, i);
                    let (head, tail) = self.upper.split_at_mut(begin);
                    take(&mut tail[..n_i * n_j], &head[right..][..n_j * n], &self.lower[left..][..n_i * n], n);
                }
            }
        }
    }

    /// Solves for `x` in place, `[n]`, block after block as they were given.
    pub(super) fn solve(&self, x: &mut [T]) {
        let span = |k: usize| {
            let block = self.order[k];
            self.offsets[block]..self.offsets[block] + self.sizes[block]
        };
        let mut own = Vec::new();
        for (k, column) in self.columns.iter().enumerate() {
            own.clear();
            own.extend_from_slice(&x[span(k)]);
            for (&i, &begin) in column.rows.iter().zip(&column.begins) {
                for (x, row) in x[span(i)].iter_mut().zip(self.lower[begin..].chunks_exact(own.len())) {
                    *x -= dot(row, &own);
                }
            }
        }
        for (k, column) in self.columns.iter().enumerate().rev() {
            own.clear();
            own.extend_from_slice(&x[span(k)]);
            let n = own.len();
            for (&i, &begin) in column.rows.iter().zip(&column.begins) {
                for (&x, row) in x[span(i)].iter().zip(self.upper[begin..].chunks_exact(n)) {
                    own.iter_mut().zip(row).for_each(|(own, &u)| *own -= u * x);
                }
            }
            let block = self.order[k];
            let (d, pivots) = (&self.diagonal[self.squares[block]..][..n * n], &self.pivots[span(k)]);
            solve_block(n, d, pivots, &mut own);
            x[span(k)].copy_from_slice(&own);
        }
    }
}

/// Where pieces of these lengths begin, one behind the other, and the length of all.
pub(super) fn begins(counts: impl Iterator<Item = usize>) -> (Vec<usize>, usize) {
    let mut sum = 0;
    let mut begins = Vec::new();
    for count in counts {
        begins.push(sum);
        sum += count;
    }
    (begins, sum)
}

/// `out += left^T w right`.
fn outer<T: Scalar>(
    out: &mut [T],
    (left, n_left): (&[T], usize),
    (right, n_right): (&[T], usize),
    w: impl Fn(usize, usize) -> T,
    rows: usize,
) {
    if (n_left, n_right, rows) == (FREE, FREE, 3) {
        return outer_of_free(out, left, right, w);
    }
    for (i, out) in out.chunks_exact_mut(n_right).enumerate().take(n_left) {
        for (s, right) in right.chunks_exact(n_right).enumerate() {
            let x = (0..rows).fold(T::lit(0.0), |sum, r| w(r, s).mul_add(left[r * n_left + i], sum));
            // Most degrees of freedom of a tree do not move a contact.
            if x != T::lit(0.0) {
                out.iter_mut().zip(right).for_each(|(out, &r)| *out = x.mul_add(r, *out));
            }
        }
    }
}

/// [`outer`] of a contact between two free bodies, its loops unrolled.
fn outer_of_free<T: Scalar>(out: &mut [T], left: &[T], right: &[T], w: impl Fn(usize, usize) -> T) {
    let (left, right) = (left.as_chunks::<FREE>().0, right.as_chunks::<FREE>().0);
    let zero = T::lit(0.0);
    let weighted: [[T; FREE]; 3] =
        std::array::from_fn(|r| std::array::from_fn(|j| (0..3).fold(zero, |sum, s| w(r, s).mul_add(right[s][j], sum))));
    for (i, out) in out.as_chunks_mut::<FREE>().0.iter_mut().enumerate().take(FREE) {
        for (left, weighted) in left.iter().zip(&weighted) {
            (0..FREE).for_each(|j| out[j] = left[i].mul_add(weighted[j], out[j]));
        }
    }
}

/// `out -= left right^T`, the rows of both `n` long.
fn take<T: Scalar>(out: &mut [T], left: &[T], right: &[T], n: usize) {
    if n == FREE {
        return take_of_free(out, left, right);
    }
    for (out, left) in out.chunks_exact_mut(right.len() / n).zip(left.chunks_exact(n)) {
        for (out, right) in out.iter_mut().zip(right.chunks_exact(n)) {
            *out -= dot(left, right);
        }
    }
}

/// [`take`] with rows of free bodies, its loops unrolled.
fn take_of_free<T: Scalar>(out: &mut [T], left: &[T], right: &[T]) {
    let (left, right) = (left.as_chunks::<FREE>().0, right.as_chunks::<FREE>().0);
    for (out, left) in out.chunks_exact_mut(right.len()).zip(left) {
        for (out, right) in out.iter_mut().zip(right) {
            *out -= (1..FREE).fold(left[0] * right[0], |sum, k| left[k].mul_add(right[k], sum));
        }
    }
}

/// LU factorization of a dense block, rows pivoted. False when it is singular or not finite.
fn factor_block<T: Scalar>(n: usize, a: &mut [T], pivots: &mut [usize]) -> bool {
    for k in 0..n {
        let mut best = k;
        for i in k + 1..n {
            if a[best * n + k].abs() < a[i * n + k].abs() {
                best = i;
            }
        }
        pivots[k] = best;
        let pivot = a[best * n + k];
        if pivot == T::lit(0.0) || !pivot.is_finite() {
            return false;
        }
        if best != k {
            (0..n).for_each(|j| a.swap(k * n + j, best * n + j));
        }
        let (top, below) = a.split_at_mut((k + 1) * n);
        let top = &top[k * n..];
        for row in below.chunks_exact_mut(n) {
            let factor = row[k] / top[k];
            row[k] = factor;
            row[k + 1..].iter_mut().zip(&top[k + 1..]).for_each(|(x, &t)| *x -= factor * t);
        }
    }
    true
}

/// Solves `D x = b` in place by the factors of a block.
fn solve_block<T: Scalar>(n: usize, lu: &[T], pivots: &[usize], x: &mut [T]) {
    for k in 0..n {
        x.swap(k, pivots[k]);
    }
    for i in 0..n {
        x[i] -= dot(&lu[i * n..i * n + i], &x[..i]);
    }
    for i in (0..n).rev() {
        x[i] = (x[i] - dot(&lu[i * n + i + 1..(i + 1) * n], &x[i + 1..n])) / lu[i * n + i];
    }
}

/// Solves `D^T x = b` in place by the factors of a block.
fn solve_transposed<T: Scalar>(n: usize, lu: &[T], pivots: &[usize], x: &mut [T]) {
    for k in 0..n {
        x[k] = x[k] / lu[k * n + k];
        let own = x[k];
        x[k + 1..].iter_mut().zip(&lu[k * n + k + 1..(k + 1) * n]).for_each(|(x, &u)| *x -= own * u);
    }
    for k in (0..n).rev() {
        let own = x[k];
        x[..k].iter_mut().zip(&lu[k * n..k * n + k]).for_each(|(x, &l)| *x -= own * l);
    }
    for k in (0..n).rev() {
        x.swap(k, pivots[k]);
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// A random matrix of blocks with a heavy diagonal, both ways.
    fn compare(sizes: &[usize], pairs: &[(usize, usize)], seed: u64) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut own = BlockMatrix::<f64>::new(sizes, pairs);
        let begin: Vec<usize> = sizes.iter().scan(0, |sum, &s| Some(std::mem::replace(sum, *sum + s))).collect();
        let n = sizes.iter().sum();
        let mut dense = DMatrix::<f64>::zeros(n, n);
        own.clear();
        for (s, &size) in sizes.iter().enumerate() {
            for i in 0..size {
                // Off the diagonal too: pivoting has work to do.
                let j = (i + 1) % size;
                own.diagonal_mut(s)[i * size + j] += 2.0;
                dense[(begin[s] + i, begin[s] + j)] += 2.0;
            }
        }
        for &(a, b) in pairs {
            let mut w = [[0.0; 3]; 3];
            for r in 0..3 {
                for s in 0..3 {
                    w[r][s] = rng.random_range(-1.0..1.0);
                }
            }
            let mut list = vec![a];
            if a != b {
                list.push(b);
            }
            let sides: Vec<(usize, Vec<f64>)> = list
                .into_iter()
                .map(|s| (s, (0..3 * sizes[s]).map(|_| rng.random_range(-1.0..1.0)).collect()))
                .collect();
            for (i, left) in &sides {
                for (j, right) in &sides {
                    own.add((*i, left), &w, (*j, right));
                    let l = DMatrix::from_row_slice(3, sizes[*i], left);
                    let r = DMatrix::from_row_slice(3, sizes[*j], right);
                    let w = DMatrix::from_fn(3, 3, |r, s| w[r][s]);
                    let mut view = dense.view_mut((begin[*i], begin[*j]), (sizes[*i], sizes[*j]));
                    view += l.transpose() * w * r;
                }
            }
        }
        let x = DVector::from_fn(n, |i, _| (i as f64).sin());
        let mut out = (&dense * &x).as_slice().to_vec();
        assert!(own.factor());
        own.solve(&mut out);
        out.iter().zip(x.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn agrees_with_a_dense_product() {
        let sizes = [6, 3, 1, 7, 6, 2, 5, 4];
        // A ring with chords fills; the last block stands alone.
        let pairs =
            [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 0), (0, 3), (2, 5), (1, 1), (7, 7), (4, 1), (0, 4)];
        for seed in 0..20 {
            let error = compare(&sizes, &pairs, seed);
            assert!(error < 1e-9, "{seed}: {error}");
        }
        assert!(compare(&[5], &[(0, 0)], 1) < 1e-9);
        assert!(compare(&[], &[], 1) == 0.0);
    }

    #[test]
    fn what_is_singular_says_so() {
        let mut m = BlockMatrix::<f64>::new(&[2], &[]);
        m.diagonal_mut(0).copy_from_slice(&[1.0, 2.0, 2.0, 4.0]);
        assert!(!m.factor());
        m.diagonal_mut(0).copy_from_slice(&[f64::NAN; 4]);
        assert!(!m.factor());
    }

    #[test]
    fn a_chain_fills_nothing() {
        let pairs: Vec<_> = (1..50).map(|i| (i - 1, i)).collect();
        let m = BlockMatrix::<f64>::new(&[6; 50], &pairs);
        assert_eq!(m.lower.len(), 49 * 36);
    }
}
