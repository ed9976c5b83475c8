//! The contact problem of one island in velocities, for the solvers whose unknowns they are.

use std::ops::Range;

use manyworlds_collide::organise::Island;
use manyworlds_shaders::Scalar;

use super::cholesky::Cholesky;
use super::law::Cap;
use super::limbs::cut;
use super::rows::{Block, Rows, cast};
use super::sparse::BlockMatrix;
use crate::dense::{add_three_times, add_times, dot};
use crate::problem::{Compliance, ContactProblem, Law};

/// Effective masses below this are taken for those of constraints that move nothing.
const TINY: f64 = 1e-30;

/// Degrees of freedom of a free body: most sides of a pile are of such.
const FREE: usize = 6;

/// A limb of a subsystem of the island: all of it, or what [`cut`] makes of it.
pub(super) struct Limb {
    /// First entry in the problem's velocity.
    begin: usize,
    /// First entry in the island's.
    pub(super) first: usize,
    /// Entries.
    pub(super) n: usize,
    /// Its block of A, `[n, n]`: where it begins.
    block: usize,
}

/// A block of A between two limbs of a subsystem.
struct Between {
    /// The limbs of its rows and of its columns; the rows' is the later one.
    row: usize,
    column: usize,
    /// Where it begins, `[n_row, n_column]`.
    block: usize,
}

/// What a constraint sees of one limb.
#[derive(Clone, Copy)]
pub(super) struct Side {
    /// Which of the island's limbs.
    pub(super) limb: usize,
    /// First entry of that in the island's velocity, and how many there are.
    pub(super) first: usize,
    pub(super) n: usize,
    /// Where `J` begins, `[rows, n]`.
    at: usize,
}

/// What an impulse of a constraint does to one subsystem.
#[derive(Clone, Copy)]
struct Response {
    /// First entry of that in the island's velocity, and how many there are.
    first: usize,
    n: usize,
    /// Where `Y^T = (A^-1 J^T)^T` begins, `[rows, n]`.
    at: usize,
}

/// A constraint in this arithmetic.
pub(super) struct Constraint<T> {
    /// What it demands.
    pub(super) law: Law,
    /// Bias, m/s.
    pub(super) e: Rows<T>,
    /// How it gives way.
    pub(super) compliance: Option<Compliance>,
    /// How far its bias is pursued.
    pub(super) cap: Cap<T>,
    /// First entry in the problem's impulses.
    row: usize,
    /// Which sides are its, and which responses where there are any.
    sides: Range<usize>,
    responses: Range<usize>,
    /// Inverse mean of the diagonal of `G_ii`: its effective mass, kg; zero where it moves nothing.
    pub(super) mass: T,
    /// `G_ii`: 00 01 02 11 12 22; one row: the first.
    pub(super) delassus: [T; 6],
}

/// An island: `A v = b + J^T lambda`.
pub(super) struct System<T> {
    pub(super) limbs: Vec<Limb>,
    between: Vec<Between>,
    /// By member of the island: the first of its limbs, and behind the last member's the number of all.
    members: Vec<usize>,
    /// Blocks of A.
    a: Vec<T>,
    /// `[n_v]`
    b: Vec<T>,
    /// `diag(A)^-1`, `[n_v]`
    inverse_diagonal: Vec<T>,
    pub(super) constraints: Vec<Constraint<T>>,
    sides: Vec<Side>,
    jacobian: Vec<T>,
    /// Empty where nobody asks for them.
    responses: Vec<Response>,
    response: Vec<T>,
}

impl<T> Default for System<T> {
    /// Nothing.
    fn default() -> Self {
        let [a, b, inverse_diagonal, jacobian, response] = [const { Vec::new() }; 5];
        Self {
            limbs: Vec::new(),
            between: Vec::new(),
            members: Vec::new(),
            a,
            b,
            inverse_diagonal,
            constraints: Vec::new(),
            sides: Vec::new(),
            jacobian,
            responses: Vec::new(),
            response,
        }
    }
}

impl<T: Scalar> System<T> {
    /// With responses, which [`Self::push`] asks for.
    pub(super) fn new(problem: &ContactProblem, island: &Island) -> Self {
        let mut own = Self::without_responses(problem, island);
        let Self { limbs, members, constraints, responses, response, jacobian, .. } = &mut own;
        let of_island = problem.plan.members_of(island);
        response.reserve(jacobian.len());
        for (c, &i) in constraints.iter_mut().zip(problem.plan.constraints_of(island)) {
            let of = &problem.constraints[i as usize];
            let begin = responses.len();
            for s in &problem.sides[of.sides.clone()] {
                let n = problem.subsystems[s.subsystem].count;
                let first = limbs[members[member(of_island, s.subsystem)]].first;
                responses.push(Response { first, n, at: response.len() });
                response.extend(problem.response[s.offset..][..of.law.rows() * n].iter().map(|&x| cast::<T>(x)));
            }
            c.responses = begin..responses.len();
        }
        own
    }

    pub(super) fn without_responses(problem: &ContactProblem, island: &Island) -> Self {
        let mut own = Self::default();
        own.refill(problem, island);
        own
    }

    /// The rows alone that ask for a speed, each a constraint of its own: [`Law::Unilateral`] of what presses,
    /// [`Law::Bilateral`] of what is held.
    pub(super) fn of_requests(problem: &ContactProblem, island: &Island) -> Self {
        let mut own = Self::without_responses(problem, island);
        let (all, sides) = (std::mem::take(&mut own.constraints), std::mem::take(&mut own.sides));
        for c in all {
            let law = match c.law {
                Law::Block | Law::Bilateral => Law::Bilateral,
                _ => Law::Unilateral,
            };
            for r in c.law.requests() {
                let begin = own.sides.len();
                let row = |s: &Side| Side { at: s.at + r * s.n, ..*s };
                own.sides.extend(sides[c.sides.clone()].iter().map(row));
                // Of the diagonal 00, 11 and 22 of a block.
                let g = c.delassus[[0, 3, 5][r]];
                let mass = if cast::<T>(TINY) < g { T::lit(1.0) / g } else { T::lit(0.0) };
                let (mut e, mut delassus) = ([T::lit(0.0); 3], [T::lit(0.0); 6]);
                (e[0], delassus[0]) = (c.e[r], g);
                let (row, sides, responses) = (c.row + r, begin..own.sides.len(), 0..0);
                let (cap, compliance) = (c.cap, None);
                own.constraints.push(Constraint { law, e, mass, delassus, row, sides, responses, cap, compliance });
            }
        }
        own
    }

    /// As [`Self::without_responses`] in the memory of another.
    pub(super) fn refill(&mut self, problem: &ContactProblem, island: &Island) {
        let Self { limbs, between, members, a, b, inverse_diagonal, constraints, sides, jacobian, responses, response } =
            self;
        [&mut *a, &mut *b, &mut *inverse_diagonal, &mut *jacobian, response].into_iter().for_each(Vec::clear);
        limbs.clear();
        between.clear();
        members.clear();
        constraints.clear();
        sides.clear();
        responses.clear();
        let of_island = problem.plan.members_of(island);
        for &s in of_island {
            let s = &problem.subsystems[s as usize];
            let before = limbs.len();
            members.push(before);
            let matrix = problem.block(s);
            for own in cut(problem, s) {
                let (first, block) = (b.len(), a.len());
                b.extend(problem.b[s.begin..][own.clone()].iter().map(|&x| cast::<T>(x)));
                add_block(a, matrix, s.count, own.clone(), own.clone());
                inverse_diagonal.extend(a[block..].iter().step_by(own.len() + 1).map(|&a| T::lit(1.0) / a));
                let row = limbs.len();
                for (column, limb) in limbs.iter().enumerate().skip(before) {
                    let columns = limb.begin - s.begin..limb.begin - s.begin + limb.n;
                    if is_any(matrix, s.count, own.clone(), columns.clone()) {
                        between.push(Between { row, column, block: a.len() });
                        add_block(a, matrix, s.count, own.clone(), columns);
                    }
                }
                limbs.push(Limb { begin: s.begin + own.start, first, n: own.len(), block });
            }
        }
        members.push(limbs.len());
        let ids = problem.plan.constraints_of(island);
        sides.reserve(2 * ids.len());
        jacobian.reserve(6 * FREE * ids.len());
        constraints.extend(ids.iter().map(|&i| {
            let c = &problem.constraints[i as usize];
            let begin = sides.len();
            for s in &problem.sides[c.sides.clone()] {
                let member = member(of_island, s.subsystem);
                let s = (&problem.subsystems[s.subsystem], &problem.jacobian[s.offset..]);
                let own = members[member]..members[member + 1];
                let is_whole = own.len() == 1;
                for (limb, &Limb { begin, first, n, .. }) in own.clone().zip(&limbs[own]) {
                    let (at, columns) = (jacobian.len(), begin - s.0.begin..begin - s.0.begin + n);
                    let rows = s.1.chunks(s.0.count).take(c.law.rows()).map(|row| &row[columns.clone()]);
                    if is_whole || rows.clone().flatten().any(|&j| j != 0.0) {
                        jacobian.extend(rows.flatten().map(|&x| cast::<T>(x)));
                        sides.push(Side { limb, first, n, at });
                    }
                }
            }
            let g = &c.delassus;
            let mean = if c.law.rows() == 3 { (g[0] + g[3] + g[5]) / 3.0 } else { g[0] };
            let mass = if mean > TINY { 1.0 / mean } else { 0.0 };
            let (e, delassus) = (c.e.map(cast), c.delassus.map(cast));
            let (sides, responses) = (begin..sides.len(), 0..0);
            let (mass, cap) = (cast(mass), Cap::new(c));
            Constraint { law: c.law, e, compliance: c.compliance, cap, row: c.row, sides, responses, mass, delassus }
        }));
    }

    /// Its sides, each with its `J`, `[rows, n]`.
    pub(super) fn sides_of(&self, c: &Constraint<T>) -> impl Iterator<Item = (&Side, &[T])> {
        let rows = c.law.rows();
        self.sides[c.sides.clone()].iter().map(move |s| (s, &self.jacobian[s.at..s.at + rows * s.n]))
    }

    /// The island's part of a velocity of the problem.
    pub(super) fn velocity_of(&self, v: &[f64]) -> Vec<T> {
        let mut own = Vec::new();
        self.read_velocity(v, &mut own);
        own
    }

    /// The same into `out`.
    pub(super) fn read_velocity(&self, v: &[f64], out: &mut Vec<T>) {
        out.clear();
        out.extend(self.limbs.iter().flat_map(|s| &v[s.begin..s.begin + s.n]).map(|&x| cast::<T>(x)));
    }

    /// Writes the island's velocity where the problem has it.
    pub(super) fn write_velocity(&self, own: &[T], v: &mut [f64]) {
        for s in &self.limbs {
            let own = &own[s.first..s.first + s.n];
            v[s.begin..s.begin + s.n].iter_mut().zip(own).for_each(|(v, x)| *v = x.to_f64());
        }
    }

    /// The island's part of the impulses of the problem, by constraint.
    pub(super) fn impulses_of(&self, lambda: &[f64]) -> Vec<Rows<T>> {
        let own = |c: &Constraint<T>| {
            std::array::from_fn(|r| if r < c.law.rows() { cast(lambda[c.row + r]) } else { T::lit(0.0) })
        };
        self.constraints.iter().map(own).collect()
    }

    /// Writes the island's impulses where the problem has them.
    pub(super) fn write_impulses(&self, own: impl IntoIterator<Item = Rows<T>>, lambda: &mut [f64]) {
        for (c, own) in self.constraints.iter().zip(own) {
            (0..c.law.rows()).for_each(|r| lambda[c.row + r] = own[r].to_f64());
        }
    }

    /// `J_i v` of one constraint, m/s.
    pub(super) fn relative_of(&self, c: &Constraint<T>, v: &[T]) -> Rows<T> {
        let mut out = [T::lit(0.0); 3];
        for (s, j) in self.sides_of(c) {
            let own = &v[s.first..s.first + s.n];
            if let (Some(j), Some(own)) = (of_free(j), own.first_chunk::<FREE>().filter(|_| s.n == FREE)) {
                for (out, row) in out.iter_mut().zip(j) {
                    *out += (1..FREE).fold(row[0] * own[0], |sum, k| row[k].mul_add(own[k], sum));
                }
                continue;
            }
            for (out, row) in out.iter_mut().zip(j.chunks_exact(s.n)) {
                *out += dot(row, own);
            }
        }
        out
    }

    /// `J v` by constraint, m/s.
    pub(super) fn relative(&self, v: &[T]) -> Vec<Rows<T>> {
        let mut out = Vec::new();
        self.relative_into(v, &mut out);
        out
    }

    /// The same into `out`.
    pub(super) fn relative_into(&self, v: &[T], out: &mut Vec<Rows<T>>) {
        out.clear();
        out.extend(self.constraints.iter().map(|c| self.relative_of(c, v)));
    }

    /// `v += A^-1 J_i^T lambda_i` of one constraint.
    pub(super) fn push(&self, c: &Constraint<T>, lambda: &Rows<T>, v: &mut [T]) {
        // Many contacts are open and stay so.
        if lambda.iter().all(|&x| x == T::lit(0.0)) {
            return;
        }
        for s in &self.responses[c.responses.clone()] {
            let response = &self.response[s.at..s.at + c.law.rows() * s.n];
            let v = &mut v[s.first..s.first + s.n];
            if c.law.rows() == 3 {
                add_three_times(v, *lambda, response);
            } else {
                add_times(v, lambda[0], response);
            }
        }
    }

    /// `A v` into `out`, `[n_v]`.
    pub(super) fn momentum(&self, v: &[T], out: &mut [T]) {
        for s in &self.limbs {
            let (own, out) = (&v[s.first..s.first + s.n], &mut out[s.first..s.first + s.n]);
            let a = &self.a[s.block..s.block + s.n * s.n];
            if let ((a, []), Some(own), ([out], [])) = (a.as_chunks(), own.first_chunk(), out.as_chunks_mut())
                && s.n == FREE
            {
                times_free(a, own, out);
                continue;
            }
            out.iter_mut().zip(a.chunks_exact(s.n)).for_each(|(out, row)| *out = dot(row, own));
        }
        for (block, row, column) in self.between() {
            for (i, a) in block.chunks_exact(column.n).enumerate() {
                out[row.first + i] += dot(a, &v[column.first..][..column.n]);
                let x = v[row.first + i];
                out[column.first..].iter_mut().zip(a).for_each(|(out, &a)| *out = a.mul_add(x, *out));
            }
        }
    }

    /// Blocks of A between limbs, with those of their rows and of their columns.
    fn between(&self) -> impl Iterator<Item = (&[T], &Limb, &Limb)> {
        self.between.iter().map(|b| {
            let (row, column) = (&self.limbs[b.row], &self.limbs[b.column]);
            (&self.a[b.block..][..row.n * column.n], row, column)
        })
    }

    /// `out += J^T lambda`.
    pub(super) fn add_impulse(&self, lambda: &[Rows<T>], out: &mut [T]) {
        for (c, lambda) in self.constraints.iter().zip(lambda) {
            for (s, j) in self.sides_of(c) {
                let out = &mut out[s.first..s.first + s.n];
                if let (Some(j), Some(out)) = (of_free(j), out.first_chunk_mut::<FREE>().filter(|_| s.n == FREE)) {
                    for (&x, row) in lambda.iter().zip(j) {
                        (0..FREE).for_each(|k| out[k] = row[k].mul_add(x, out[k]));
                    }
                    continue;
                }
                for (&x, row) in lambda.iter().zip(j.chunks_exact(s.n)) {
                    out.iter_mut().zip(row).for_each(|(out, &j)| *out = j.mul_add(x, *out));
                }
            }
        }
    }

    /// The right-hand side b, `[n_v]`.
    pub(super) fn free_momentum(&self) -> &[T] {
        &self.b
    }

    /// Square of a momentum in the norm of `diag(A)^-1`, J.
    pub(super) fn energy(&self, p: &[T]) -> T {
        let zero = T::lit(0.0);
        // Four sums: one alone would wait for each of its terms.
        let mut sums = [zero; 4];
        let ((p, ends), (inverse_diagonal, _)) = (p.as_chunks::<4>(), self.inverse_diagonal.as_chunks::<4>());
        for (p, d) in p.iter().zip(inverse_diagonal) {
            (0..4).for_each(|k| sums[k] = (p[k] * p[k]).mul_add(d[k], sums[k]));
        }
        let last = &self.inverse_diagonal[self.inverse_diagonal.len() - ends.len()..];
        let end = ends.iter().zip(last).fold(zero, |sum, (&p, &d)| (p * p).mul_add(d, sum));
        sums.iter().fold(end, |sum, &x| sum + x)
    }

    /// Sizes of the blocks of `A + J^T W J`, and which of them there are off the diagonal.
    fn pattern(&self) -> (Vec<usize>, Vec<(usize, usize)>) {
        let sizes: Vec<usize> = self.limbs.iter().map(|s| s.n).collect();
        let mut pairs: Vec<(usize, usize)> = self.between.iter().map(|b| (b.column, b.row)).collect();
        pairs.reserve(self.constraints.len());
        for c in &self.constraints {
            let sides = &self.sides[c.sides.clone()];
            for (i, a) in sides.iter().enumerate() {
                pairs.extend(sides[i + 1..].iter().map(|b| (a.limb, b.limb)));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        (sizes, pairs)
    }

    /// A matrix with the pattern of `A + J^T W J`.
    pub(super) fn matrix(&self) -> BlockMatrix<T> {
        let (sizes, pairs) = self.pattern();
        BlockMatrix::new(&sizes, &pairs)
    }

    /// Gives that pattern to a matrix for where it is symmetric and positive definite.
    pub(super) fn shape(&self, matrix: &mut Cholesky<T>) {
        let (sizes, pairs) = self.pattern();
        matrix.reshape(&sizes, &pairs);
    }

    /// `A` in a matrix with that pattern.
    pub(super) fn set(&self, matrix: &mut BlockMatrix<T>) {
        matrix.clear();
        for (i, s) in self.limbs.iter().enumerate() {
            matrix.diagonal_mut(i).copy_from_slice(&self.a[s.block..s.block + s.n * s.n]);
        }
        for (b, (block, ..)) in self.between.iter().zip(self.between()) {
            matrix.set_mirrored(b.row, b.column, block);
        }
    }

    /// `A + J^T W J`, W one block a constraint.
    pub(super) fn assemble(&self, w: &[Block<T>], matrix: &mut BlockMatrix<T>) {
        self.set(matrix);
        for (c, w) in self.constraints.iter().zip(w) {
            if w.iter().flatten().all(|&x| x == T::lit(0.0)) {
                continue;
            }
            for (a, left) in self.sides_of(c) {
                for (b, right) in self.sides_of(c) {
                    matrix.add((a.limb, left), w, (b.limb, right));
                }
            }
        }
    }

    /// The same where every W is symmetric and positive semidefinite.
    pub(super) fn assemble_symmetric(&self, w: &[Block<T>], matrix: &mut Cholesky<T>) {
        matrix.clear();
        for (i, s) in self.limbs.iter().enumerate() {
            matrix.diagonal_mut(i).copy_from_slice(&self.a[s.block..s.block + s.n * s.n]);
        }
        for (b, (block, ..)) in self.between.iter().zip(self.between()) {
            matrix.set_mirrored(b.row, b.column, block);
        }
        let mut weighted = Vec::new();
        for (c, w) in self.constraints.iter().zip(w) {
            if w.iter().flatten().all(|&x| x == T::lit(0.0)) {
                continue;
            }
            for (b, right) in self.sides_of(c) {
                weigh(w, right, b.n, &mut weighted);
                for (a, left) in self.sides_of(c) {
                    matrix.add((a.limb, left), (b.limb, &weighted));
                }
            }
        }
    }
}

/// Which member of an island a subsystem is: members are ascending.
fn member(members: &[u32], subsystem: usize) -> usize {
    members.partition_point(|&m| (m as usize) < subsystem)
}

/// Whether a block of a matrix of `n` columns has an entry that is not zero.
fn is_any(a: &[f64], n: usize, rows: Range<usize>, columns: Range<usize>) -> bool {
    // Row by row, which takes less than to stop at the first.
    rows.map(|row| &a[row * n..][columns.clone()]).any(|row| row.iter().fold(false, |any, &x| any | (x != 0.0)))
}

/// Adds a block of a matrix of `n` columns to a list.
fn add_block<T: Scalar>(list: &mut Vec<T>, a: &[f64], n: usize, rows: Range<usize>, columns: Range<usize>) {
    rows.for_each(|row| list.extend(a[row * n..][columns.clone()].iter().map(|&x| cast::<T>(x))));
}

/// A contact's `J` of a free body, row by row.
fn of_free<T>(j: &[T]) -> Option<&[[T; FREE]; 3]> {
    j.as_chunks::<FREE>().0.first_chunk().filter(|_| j.len() == 3 * FREE)
}

/// `A v` of a free body: its rows side by side, each summed as [`dot`] does.
fn times_free<T: Scalar>(a: &[[T; FREE]], v: &[T; FREE], out: &mut [T; FREE]) {
    *out = [T::lit(0.0); FREE];
    for (k, &v) in v.iter().enumerate() {
        out.iter_mut().zip(a).for_each(|(out, row)| *out = row[k].mul_add(v, *out));
    }
}

/// `W J`, `[rows, n]`, into `out`.
fn weigh<T: Scalar>(w: &Block<T>, j: &[T], n: usize, out: &mut Vec<T>) {
    let zero = T::lit(0.0);
    out.clear();
    if let Some(j) = of_free(j).filter(|_| n == FREE) {
        for w in w {
            let row: [T; FREE] = std::array::from_fn(|k| w[0].mul_add(j[0][k], w[1].mul_add(j[1][k], w[2] * j[2][k])));
            out.extend_from_slice(&row);
        }
        return;
    }
    for w in w.iter().take(j.len() / n) {
        out.extend((0..n).map(|k| w.iter().zip(j.chunks_exact(n)).fold(zero, |sum, (&w, j)| w.mul_add(j[k], sum))));
    }
}
