//! The sides of a dense problem by degrees of freedom, and what Newton steps and sweeps by them need (`thin_step.rs`,
//! `thin_solve.rs`): mirrors alone.
//!
//! The Delassus operator of a lane is `G = J Y^T + C` with C the compliances: where there are more rows than degrees of freedom
//! it says little for its size. So it is not written out. The matrix of a step (see [`super::dense`]) is `D + S J Y^T` with
//! `D = 1 - P (1 - rho C) + eps` and `S = P rho`, both by blocks of a slot or row; by Woodbury's identity
//!
//! ```text
//! (1 + Y^T D^-1 S J) w = Y^T D^-1 r,    d = D^-1 (r - S J w)
//! ```
//!
//! is a system of as many equations as degrees of freedom. A sweep carries `u = Y^T dlambda` along. With eps at its least six
//! digits cancel where contacts stick; in single precision robots on their feet take as many steps as with G all the same. A
//! device writes G out.

use bytemuck::cast_slice_mut;

use super::dense_shape::Shape;
use super::packs::{real, real_mut, take, total};
use crate::{LANES, Real, Scalar};

/// A problem of at most so many degrees of freedom
const DOFS: usize = 5;
/// to so many rows that a step can change is solved with G written out (measured: with 1.2 rows to each a lying humanoid takes a fifth
/// more time, with 3 robots with dry friction and drives twice theirs).
const ROWS: usize = 8;
/// Most degrees of freedom of such a problem.
pub(super) const MOST_DOFS: usize = 256;

/// J is kept by columns, too, where they are no more.
const COLUMNS: usize = 24;
/// Packs of what a step needs of a group of slots.
pub(super) const PER_SLOT: usize = 10;

/// The sides of a problem and what a step by them needs; slices are of packs of [`LANES`] degrees of freedom.
#[derive(Debug)]
pub struct Thin<'a, T: Scalar> {
    /// Degrees of freedom.
    pub(super) n_v: usize,
    /// Rows, those that pad groups among them.
    rows: usize,
    /// Packs of a row of J.
    pub(super) width: usize,
    /// J, `[n][width]`.
    jacobian: &'a mut [T::Pack],
    /// The same by degrees of freedom, `[n_v][n]`, where they are few: products by it end in no sums over lanes.
    columns: &'a mut [T::Pack],
    /// Of each row of J, between which degrees of freedom it is not zero; what lies in other packs has no meaning.
    spans: &'a mut [[u16; 2]],
    /// `Y = J A^-1`, `[n][width]`.
    response: &'a mut [T::Pack],
    /// The matrix, transposed, `[n_v][width]`; after elimination its upper triangle.
    pub(super) matrix: &'a mut [T::Pack],
    /// Factors of the elimination, below the diagonal, `[n_v][width]`.
    pub(super) lower: &'a mut [T::Pack],
    /// Its right-hand side, then its solution, `[width]`.
    pub(super) solution: &'a mut [T::Pack],
    /// The solution, permuted.
    pub(super) solved: &'a mut [T::Pack],
    /// `Y^T` times impulses, `[width]`.
    pub(super) moved: &'a mut [T::Pack],
    /// G of each slot alone, 00 01 02 11 12 22 after each other.
    pub(super) own: &'a mut [T::Pack],
    /// What a step needs of the groups of slots, [`PER_SLOT`] packs after each other, then two packs of each group of single rows.
    pub(super) blocks: &'a mut [T::Pack],
}

/// Whether problems of so many rows that can change are solved this way.
#[must_use]
pub fn is_thin(n_v: usize, rows: usize) -> bool {
    n_v <= MOST_DOFS && ROWS * n_v < DOFS * rows
}

/// Degrees of freedom by which J is kept in columns.
fn columns(n_v: usize) -> usize {
    if n_v <= COLUMNS { n_v } else { 0 }
}

/// Reals of a problem's memory without G, of a lane of so many degrees of freedom.
#[must_use]
pub fn problem_reals(n_v: usize, shape: Shape) -> usize {
    shape.vectors() + reals(n_v, shape)
}

/// Reals of the memory of [`Thin`] for a problem of such a size.
#[must_use]
pub fn reals(n_v: usize, shape: Shape) -> usize {
    let rows = shape.groups() * LANES;
    let of_groups = shape.groups() + (6 + PER_SLOT) * shape.slots + 2 * shape.rows;
    n_v.next_multiple_of(LANES) * (2 * rows + 2 * n_v + 3) + columns(n_v) * rows + of_groups * LANES
}

impl<'a, T: Scalar> Thin<'a, T> {
    /// Sides of the rows, all zero until they are set, in some memory of at least [`reals`].
    pub fn new(n_v: usize, shape: Shape, memory: &'a mut [T::Pack]) -> Self {
        let (width, rows) = (n_v.div_ceil(LANES), shape.groups() * LANES);
        let mut rest = &mut memory[..reals(n_v, shape) / LANES];
        let mut take = |count: usize| take(&mut rest, count);
        let columns = take(columns(n_v) * shape.groups());
        columns.fill(T::Pack::lit(0.0));
        let spans = &mut cast_slice_mut::<T::Pack, [u16; 2]>(take(shape.groups()))[..rows];
        spans.fill([0; 2]);
        Self {
            n_v,
            rows,
            width,
            columns,
            jacobian: take(rows * width),
            spans,
            response: take(rows * width),
            matrix: take(n_v * width),
            lower: take(n_v * width),
            solution: take(width),
            solved: take(width),
            moved: take(width),
            own: take(6 * shape.slots),
            blocks: take(PER_SLOT * shape.slots + 2 * shape.rows),
        }
    }

    /// Adds to J of a row, from degree of freedom `first` on.
    #[inline(always)]
    pub fn add_jacobian(&mut self, row: usize, first: usize, values: impl Iterator<Item = T>) {
        let to = &mut self.jacobian[row * self.width..(row + 1) * self.width];
        for (d, x) in (first..).zip(values) {
            if x != T::lit(0.0) {
                let [begin, end] = self.spans[row];
                let now = if begin == end { (d, d + 1) } else { (d.min(begin.into()), (d + 1).max(end.into())) };
                let is_new = |pack: &usize| begin == end || !packs([begin, end]).contains(pack);
                self.spans[row] = [now.0 as u16, now.1 as u16];
                packs(self.spans[row]).filter(is_new).for_each(|pack| to[pack] = T::Pack::lit(0.0));
                real_mut(to)[d] += x;
                if !self.columns.is_empty() {
                    real_mut(self.columns)[d * self.rows + row] += x;
                }
            }
        }
    }

    /// Sets Y of a row.
    #[inline(always)]
    pub fn set_response(&mut self, row: usize, values: impl Iterator<Item = T>) {
        let to = &mut self.response[row * self.width..(row + 1) * self.width];
        if let Some(last) = to.last_mut() {
            *last = T::Pack::lit(0.0);
        }
        real_mut(to).iter_mut().zip(values).for_each(|(to, x)| *to = x);
    }

    /// Adds to Y of a row that was set, from degree of freedom `first` on.
    #[inline(always)]
    pub fn add_response(&mut self, row: usize, first: usize, values: impl Iterator<Item = T>) {
        let to = &mut real_mut(&mut self.response[row * self.width..(row + 1) * self.width])[first..];
        to.iter_mut().zip(values).for_each(|(to, x)| *to += x);
    }

    /// `Y^T x`, by degree of freedom.
    pub fn respond(&mut self, x: &[T::Pack]) -> &mut [T] {
        self.moved.fill(T::Pack::lit(0.0));
        for (row, &x) in real(x).iter().enumerate() {
            self.push(row, x);
        }
        &mut real_mut(self.moved)[..self.n_v]
    }

    /// `moved += Y^T x` for one row.
    #[inline(always)]
    pub(super) fn push(&mut self, row: usize, x: T) {
        if x != T::lit(0.0) {
            let x = T::Pack::splat(x);
            let y = &self.response[row * self.width..(row + 1) * self.width];
            self.moved.iter_mut().zip(y).for_each(|(to, &y)| *to = y.mul_add(x, *to));
        }
    }

    /// `J x` of all rows.
    pub(super) fn products(&self, x: &[T::Pack], out: &mut [T::Pack]) {
        if self.columns.is_empty() {
            real_mut(out).iter_mut().enumerate().for_each(|(row, out)| *out = self.along(row, x));
            return;
        }
        out.fill(T::Pack::lit(0.0));
        for (column, &x) in self.columns.chunks_exact(out.len()).zip(real(x)) {
            let x = T::Pack::splat(x);
            out.iter_mut().zip(column).for_each(|(out, &j)| *out = j.mul_add(x, *out));
        }
    }

    /// `J x` of one row.
    #[inline(always)]
    pub(super) fn along(&self, row: usize, x: &[T::Pack]) -> T {
        let (span, j) = (self.spans[row], &self.jacobian[row * self.width..(row + 1) * self.width]);
        if span[0] + 1 == span[1] {
            let d = usize::from(span[0]);
            return real(j)[d] * real(x)[d];
        }
        let packs = packs(span);
        let products = j[packs.clone()].iter().zip(&x[packs]);
        total(products.fold(T::Pack::lit(0.0), |sum, (&j, &x)| j.mul_add(x, sum)))
    }

    /// Makes the matrix the identity and the right-hand side zero.
    pub(super) fn begin(&mut self) {
        self.matrix.fill(T::Pack::lit(0.0));
        self.solution.fill(T::Pack::lit(0.0));
        for d in 0..self.n_v {
            real_mut(&mut self.matrix[d * self.width..(d + 1) * self.width])[d] = T::lit(1.0);
        }
    }

    /// Adds `Y_r^T k J_c` for some rows, `k` the block that joins them, and `Y_r^T q` to the right-hand side.
    #[inline(always)]
    pub(super) fn add<const N: usize>(&mut self, rows: [usize; N], k: [[T; N]; N], q: [T; N]) {
        let (width, zero) = (self.width, T::lit(0.0));
        let all = |a: [u16; 2], b: [u16; 2]| if b[0] == b[1] { a } else { [a[0].min(b[0]), a[1].max(b[1])] };
        let spans = rows.map(|row| self.spans[row]);
        let span = spans.into_iter().fold([u16::MAX, 0], all);
        let Self { n_v, jacobian, response, matrix, solution, .. } = self;
        let j = rows.map(|row| &jacobian[row * width..(row + 1) * width]);
        let y = rows.map(|row| &response[row * width..(row + 1) * width]);
        for pack in packs(span) {
            let j: [T::Pack; N] =
                std::array::from_fn(|c| if packs(spans[c]).contains(&pack) { j[c][pack] } else { T::Pack::lit(0.0) });
            let x: [T::Pack; N] = std::array::from_fn(|r| {
                (0..N).fold(T::Pack::lit(0.0), |sum, c| j[c].mul_add(T::Pack::splat(k[r][c]), sum))
            });
            for lane in 0..LANES.min(*n_v - pack * LANES) {
                let x = x.map(|x| x.lane(lane));
                // A row acts on few.
                if x.iter().all(|x| *x == zero) {
                    continue;
                }
                let x = x.map(T::Pack::splat);
                let d = pack * LANES + lane;
                for (i, to) in matrix[d * width..(d + 1) * width].iter_mut().enumerate() {
                    *to = (0..N).fold(*to, |sum, r| y[r][i].mul_add(x[r], sum));
                }
            }
        }
        let q = q.map(T::Pack::splat);
        for (i, to) in solution.iter_mut().enumerate() {
            *to = (0..N).fold(*to, |sum, r| y[r][i].mul_add(q[r], sum));
        }
    }
}

/// The packs of a span.
#[inline(always)]
fn packs([begin, end]: [u16; 2]) -> std::ops::Range<usize> {
    usize::from(begin) / LANES..usize::from(end).div_ceil(LANES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::F64x8;

    /// What rows act on is known from what was set, whatever the memory held before.
    #[test]
    fn sides_are_what_was_added() {
        let shape = Shape::new(1, 0);
        let mut memory = vec![F64x8::lit(f64::NAN); reals(30, shape) / LANES];
        let mut thin = Thin::<f64>::new(30, shape, &mut memory);
        let x: Vec<F64x8> = (0..4).map(|pack| F64x8::splat(f64::from(pack + 1))).collect();
        assert_eq!(thin.along(0, &x), 0.0);
        thin.add_jacobian(0, 9, [2.0].into_iter());
        assert_eq!(thin.along(0, &x), 4.0);
        thin.add_jacobian(0, 25, [0.0, 1.0].into_iter());
        thin.add_jacobian(0, 3, [5.0, 0.0].into_iter());
        thin.add_jacobian(0, 9, [1.0].into_iter());
        assert_eq!(thin.along(0, &x), 5.0 + 3.0 * 2.0 + 4.0);
        thin.set_response(1, std::iter::repeat_n(1.0, 30));
        thin.add_response(1, 28, [1.0, 2.0].into_iter());
        thin.moved.fill(F64x8::lit(0.0));
        thin.push(1, 2.0);
        assert_eq!(real(thin.moved)[26..], [2.0, 2.0, 4.0, 6.0, 0.0, 0.0]);
        // Rows that a block joins need not act on the same.
        thin.add_jacobian(1, 29, [1.0].into_iter());
        thin.set_response(0, std::iter::repeat_n(0.0, 30));
        thin.begin();
        thin.add([0, 1], [[1.0, 2.0], [3.0, 4.0]], [0.0, 1.0]);
        let column = |d: usize| real(&thin.matrix[d * thin.width..])[0];
        assert_eq!([3, 9, 26, 29, 28].map(column), [15.0, 9.0, 3.0, 4.0, 0.0]);
        assert_eq!(real(thin.solution)[28..], [2.0, 3.0, 0.0, 0.0]);
    }
}
