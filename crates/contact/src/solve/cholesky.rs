//! Sparse symmetric positive definite matrices of dense blocks, one row and column of blocks per limb ([`super::limbs`]), and
//! their Cholesky factorization `L L^T`, block by block in the order of least degree.
//!
//! The blocks below a diagonal one lie transposed and side by side: a *panel*, `[n, width]`, so that its rows are long and
//! whoever is eliminated, substituted or taken off runs along them. What is not positive in this arithmetic breaks down:
//! [`super::sparse::BlockMatrix`] pivots within its blocks and goes on for longer.

use std::ops::Range;

use manyworlds_shaders::Scalar;

use super::sparse::{begins, least_degree};
use crate::dense::{self, dot};

/// Degrees of freedom of a free body: most blocks of a pile are of such.
const FREE: usize = 6;

/// The panel of a block: what stands below it.
struct Panel {
    /// First value in `panels`.
    begin: usize,
    width: usize,
    /// Its blocks in `below`.
    first: usize,
    end: usize,
}

/// A block of a panel.
#[derive(Clone, Copy)]
struct Below {
    /// Position in the order of elimination.
    position: usize,
    /// First column in the panel.
    column: usize,
}

/// See the module.
#[derive(Default)]
pub(super) struct Cholesky<T> {
    /// Block at each position.
    order: Vec<usize>,
    /// Position of each block.
    place: Vec<usize>,
    /// Rows of each block, and where they begin in a vector.
    sizes: Vec<usize>,
    offsets: Vec<usize>,
    /// Where each block's diagonal begins in `diagonal`.
    squares: Vec<usize>,
    /// By position.
    shapes: Vec<Panel>,
    below: Vec<Below>,
    /// Row-major; factored: their lower triangles are factors.
    diagonal: Vec<T>,
    /// Inverses of the pivots, by row.
    inverses: Vec<T>,
    panels: Vec<T>,
}

impl<T: Scalar> Cholesky<T> {
    /// The zero matrix with blocks of these sizes, and blocks off the diagonal at these pairs.
    #[cfg(test)]
    fn new(sizes: &[usize], pairs: &[(usize, usize)]) -> Self {
        let mut own = Self::default();
        own.reshape(sizes, pairs);
        own
    }

    /// Makes it the zero matrix with blocks of these sizes, and blocks off the diagonal at these pairs.
    pub(super) fn reshape(&mut self, sizes: &[usize], pairs: &[(usize, usize)]) {
        let (order, structure) = least_degree(sizes, pairs);
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(k, &block)| place[block] = k);
        let (offsets, n) = begins(sizes.iter().copied());
        let (squares, n_square) = begins(sizes.iter().map(|s| s * s));
        let (mut shapes, mut below, mut n_panel) = (Vec::with_capacity(order.len()), Vec::new(), 0);
        for (blocks, &own) in structure.iter().zip(&order) {
            let first = below.len();
            below.extend(blocks.iter().map(|&block| Below { position: place[block], column: 0 }));
            below[first..].sort_unstable_by_key(|b: &Below| b.position);
            let mut width = 0;
            for b in &mut below[first..] {
                b.column = width;
                width += sizes[order[b.position]];
            }
            shapes.push(Panel { begin: n_panel, width, first, end: below.len() });
            n_panel += sizes[own] * width;
        }
        // What is large keeps its memory.
        let zeros = |list: &mut Vec<T>, n| {
            let mut list = std::mem::take(list);
            list.clear();
            list.resize(n, T::lit(0.0));
            list
        };
        let diagonal = zeros(&mut self.diagonal, n_square);
        let inverses = zeros(&mut self.inverses, n);
        let panels = zeros(&mut self.panels, n_panel);
        *self =
            Self { order, place, sizes: sizes.to_vec(), offsets, squares, shapes, below, diagonal, inverses, panels };
    }

    /// Sets all values to zero.
    pub(super) fn clear(&mut self) {
        self.diagonal.fill(T::lit(0.0));
        self.panels.fill(T::lit(0.0));
    }

    /// The block on the diagonal, row-major.
    pub(super) fn diagonal_mut(&mut self, block: usize) -> &mut [T] {
        let n = self.sizes[block];
        &mut self.diagonal[self.squares[block]..][..n * n]
    }

    /// Sets the block off the diagonal at row `a`, column `b`, row-major, and its mirror image.
    pub(super) fn set_mirrored(&mut self, a: usize, b: usize, block: &[T]) {
        let (at, to) = (self.place[a], self.place[b]);
        let (begin, stride) = self.find(at.min(to), at.max(to));
        let panel = &mut self.panels[begin..];
        let columns = self.sizes[b];
        for (i, &x) in block.iter().enumerate() {
            let (row, column) = if at < to { (i / columns, i % columns) } else { (i % columns, i / columns) };
            panel[row * stride + column] = x;
        }
    }

    /// Where the block of the panel at a position begins that stands at another, and how far its rows are apart.
    fn find(&self, at: usize, to: usize) -> (usize, usize) {
        let shape = &self.shapes[at];
        let blocks = &self.below[shape.first..shape.end];
        let column = blocks[blocks.partition_point(|block| block.position < to)].column;
        (shape.begin + column, shape.width)
    }

    /// Adds `left^T right` to the block at row `a`, column `b`; both are `[rows, n]`, row-major. Of two blocks that mirror
    /// each other one is kept, and what goes to the other is left out.
    pub(super) fn add(&mut self, (a, left): (usize, &[T]), (b, right): (usize, &[T])) {
        let (at, to) = (self.place[a], self.place[b]);
        let (n_a, n_b) = (self.sizes[a], self.sizes[b]);
        if at == to {
            let square = self.squares[a];
            add_product(&mut self.diagonal[square..], n_a, (left, n_a), (right, n_b));
        } else if at < to {
            let (begin, stride) = self.find(at, to);
            add_product(&mut self.panels[begin..], stride, (left, n_a), (right, n_b));
        }
    }

    /// Factors in place. False when it is not positive definite in this arithmetic, or not finite.
    #[must_use]
    pub(super) fn factor(&mut self) -> bool {
        for k in 0..self.order.len() {
            let own = self.order[k];
            let n = self.sizes[own];
            let d = &mut self.diagonal[self.squares[own]..][..n * n];
            let inverses = &mut self.inverses[self.offsets[own]..][..n];
            if dense::factor(n, d, inverses).is_err() {
                return false;
            }
            let shape = &self.shapes[k];
            let panel = &mut self.panels[shape.begin..][..n * shape.width];
            substitute(n, d, inverses, panel, shape.width);
            self.update(k, n);
        }
        true
    }

    /// Takes what the panel at position k contributes off the blocks after it.
    fn update(&mut self, k: usize, n: usize) {
        let Panel { begin, width, first, end } = self.shapes[k];
        // What is read was eliminated with this panel, what is written stands in later ones.
        let (head, tail) = self.panels.split_at_mut(begin + n * width);
        let panel = &head[begin..];
        for j in first..end {
            let Below { position, column: left } = self.below[j];
            let block = self.order[position];
            let n_j = self.sizes[block];
            let square = &mut self.diagonal[self.squares[block]..][..n_j * n_j];
            take(square, n_j, (panel, width), (left, n_j), (left, n_j));
            let to = &self.shapes[position];
            let out = &mut tail[to.begin - begin - n * width..][..n_j * to.width];
            // Every later block of this panel is one of that panel, too.
            let mut targets = self.below[to.first..to.end].iter();
            for right in &self.below[j + 1..end] {
                let Some(target) = targets.find(|target| target.position == right.position) else { return };
                let n_i = self.sizes[self.order[right.position]];
                take(&mut out[target.column..], to.width, (panel, width), (left, n_j), (right.column, n_i));
            }
        }
    }

    /// Solves for `x` in place, `[n]`, block after block as they were given.
    pub(super) fn solve(&self, x: &mut [T]) {
        let mut own = Vec::new();
        for (shape, &block) in self.shapes.iter().zip(&self.order) {
            let (n, begin) = (self.sizes[block], self.offsets[block]);
            let (d, inverses) = (&self.diagonal[self.squares[block]..], &self.inverses[begin..]);
            for i in 0..n {
                x[begin + i] = (x[begin + i] - dot(&d[i * n..][..i], &x[begin..begin + i])) * inverses[i];
            }
            own.clear();
            own.extend_from_slice(&x[begin..begin + n]);
            for (b, to) in self.below(shape) {
                push_down(&self.panels[shape.begin + b.column..], shape.width, &own, &mut x[to]);
            }
        }
        for (shape, &block) in self.shapes.iter().zip(&self.order).rev() {
            let (n, begin) = (self.sizes[block], self.offsets[block]);
            let (d, inverses) = (&self.diagonal[self.squares[block]..], &self.inverses[begin..]);
            own.clear();
            own.extend_from_slice(&x[begin..begin + n]);
            for (b, from) in self.below(shape) {
                pull_up(&self.panels[shape.begin + b.column..], shape.width, &x[from], &mut own);
            }
            for m in (0..n).rev() {
                let rest = (m + 1..n).fold(own[m], |rest, i| rest - d[i * n + m] * own[i]);
                own[m] = rest * inverses[m];
            }
            x[begin..begin + n].copy_from_slice(&own);
        }
    }

    /// The blocks of a panel, and where each of them stands in a vector.
    fn below(&self, shape: &Panel) -> impl Iterator<Item = (Below, Range<usize>)> {
        self.below[shape.first..shape.end].iter().map(|&b| {
            let to = self.order[b.position];
            (b, self.offsets[to]..self.offsets[to] + self.sizes[to])
        })
    }
}

/// `x -= block^T own`, a row of the block for each entry of `own`, a stride apart.
fn push_down<T: Scalar>(block: &[T], stride: usize, own: &[T], x: &mut [T]) {
    if x.len() == FREE
        && let Some(x) = x.first_chunk_mut::<FREE>()
    {
        for (m, &own) in own.iter().enumerate() {
            let Some(row) = block[m * stride..].first_chunk::<FREE>() else { return };
            (0..FREE).for_each(|c| x[c] = (-row[c]).mul_add(own, x[c]));
        }
        return;
    }
    for (m, &own) in own.iter().enumerate() {
        x.iter_mut().zip(&block[m * stride..]).for_each(|(x, &l)| *x = (-l).mul_add(own, *x));
    }
}

/// `own -= block x`.
fn pull_up<T: Scalar>(block: &[T], stride: usize, x: &[T], own: &mut [T]) {
    if x.len() == FREE
        && let Some(x) = x.first_chunk::<FREE>()
    {
        for (m, own) in own.iter_mut().enumerate() {
            let Some(row) = block[m * stride..].first_chunk::<FREE>() else { return };
            *own -= (1..FREE).fold(row[0] * x[0], |sum, c| row[c].mul_add(x[c], sum));
        }
        return;
    }
    for (m, own) in own.iter_mut().enumerate() {
        *own -= dot(&block[m * stride..][..x.len()], x);
    }
}

/// `out += left^T right`, rows of `out` a stride apart.
fn add_product<T: Scalar>(
    out: &mut [T],
    stride: usize,
    (left, n_left): (&[T], usize),
    (right, n_right): (&[T], usize),
) {
    if (n_left, n_right) == (FREE, FREE) {
        let (left, right) = (left.as_chunks::<FREE>().0, right.as_chunks::<FREE>().0);
        for i in 0..FREE {
            let Some(out) = out[i * stride..].first_chunk_mut::<FREE>() else { return };
            for (left, right) in left.iter().zip(right) {
                (0..FREE).for_each(|j| out[j] = left[i].mul_add(right[j], out[j]));
            }
        }
        return;
    }
    for (left, right) in left.chunks_exact(n_left).zip(right.chunks_exact(n_right)) {
        for (i, &left) in left.iter().enumerate() {
            // Most degrees of freedom of a tree do not move a contact.
            if left != T::lit(0.0) {
                let out = &mut out[i * stride..][..n_right];
                out.iter_mut().zip(right).for_each(|(out, &r)| *out = left.mul_add(r, *out));
            }
        }
    }
}

/// `panel <- L^-1 panel`, `[n, width]`.
fn substitute<T: Scalar>(n: usize, l: &[T], inverses: &[T], panel: &mut [T], width: usize) {
    for j in 0..n {
        let (above, own) = panel.split_at_mut(j * width);
        let own = &mut own[..width];
        for (m, row) in above.chunks_exact(width.max(1)).enumerate() {
            let factor = -l[j * n + m];
            own.iter_mut().zip(row).for_each(|(x, &r)| *x = factor.mul_add(r, *x));
        }
        own.iter_mut().for_each(|x| *x = *x * inverses[j]);
    }
}

/// `out -= left^T right` of two ranges of columns of a panel, rows of `out` a stride apart.
fn take<T: Scalar>(
    out: &mut [T],
    stride: usize,
    (panel, width): (&[T], usize),
    (left, n_left): (usize, usize),
    (right, n_right): (usize, usize),
) {
    if (n_left, n_right) == (FREE, FREE) && panel.len() == FREE * width {
        return take_of_free(out, stride, (panel, width), left, right);
    }
    for row in panel.chunks_exact(width) {
        let own = &row[right..right + n_right];
        for (i, &l) in row[left..left + n_left].iter().enumerate() {
            out[i * stride..][..n_right].iter_mut().zip(own).for_each(|(out, &r)| *out = (-l).mul_add(r, *out));
        }
    }
}

/// [`take`] among free bodies: a block of the result in registers.
fn take_of_free<T: Scalar>(out: &mut [T], stride: usize, (panel, width): (&[T], usize), left: usize, right: usize) {
    let mut sums = [[T::lit(0.0); FREE]; FREE];
    for row in panel.chunks_exact(width) {
        let (Some(l), Some(r)) = (row[left..].first_chunk::<FREE>(), row[right..].first_chunk::<FREE>()) else {
            return;
        };
        for (sums, &l) in sums.iter_mut().zip(l) {
            (0..FREE).for_each(|j| sums[j] = l.mul_add(r[j], sums[j]));
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        let Some(out) = out[i * stride..].first_chunk_mut::<FREE>() else { return };
        (0..FREE).for_each(|j| out[j] -= sums[j]);
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Largest error of the solution of a random system of blocks.
    fn error(sizes: &[usize], pairs: &[(usize, usize)], seed: u64) -> f64 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut own = Cholesky::<f64>::new(sizes, pairs);
        let (begin, n) = begins(sizes.iter().copied());
        let mut dense = DMatrix::<f64>::identity(n, n);
        own.clear();
        for (s, &size) in sizes.iter().enumerate() {
            (0..size).for_each(|i| own.diagonal_mut(s)[i * (size + 1)] = 1.0);
        }
        for &(a, b) in pairs {
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
                    own.add((*i, left), (*j, right));
                    let (l, r) =
                        (DMatrix::from_row_slice(3, sizes[*i], left), DMatrix::from_row_slice(3, sizes[*j], right));
                    let mut view = dense.view_mut((begin[*i], begin[*j]), (sizes[*i], sizes[*j]));
                    view += l.transpose() * r;
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
        // A ring with chords fills; the last block stands alone.
        let pairs =
            [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 0), (0, 3), (2, 5), (1, 1), (7, 7), (4, 1), (0, 4)];
        for seed in 0..20 {
            for sizes in [[6, 3, 1, 7, 6, 2, 5, 4], [6; 8]] {
                let error = error(&sizes, &pairs, seed);
                assert!(error < 1e-11, "{seed} {sizes:?}: {error}");
            }
        }
        assert!(error(&[5], &[(0, 0)], 1) < 1e-12);
        assert!(error(&[], &[], 1) == 0.0);
    }

    #[test]
    fn what_is_not_positive_says_so() {
        let mut m = Cholesky::<f64>::new(&[2], &[]);
        for values in [[1.0, 2.0, 2.0, 4.0], [1.0, 2.0, 2.0, 3.0], [f64::NAN; 4]] {
            m.diagonal_mut(0).copy_from_slice(&values);
            assert!(!m.factor());
        }
    }

    #[test]
    fn a_chain_fills_nothing() {
        // More than a word of bits holds.
        let pairs: Vec<_> = (1..150).map(|i| (i - 1, i)).collect();
        assert_eq!(Cholesky::<f64>::new(&[6; 150], &pairs).panels.len(), 149 * 36);
    }
}
