//! `J` of an island, eight constraints side by side, by the degrees of freedom that move any of the eight: of nine that an arm
//! has two or three move a contact of its own.

use std::ops::Range;

use bytemuck::cast_slice_mut;
use manyworlds_shaders::{LANES, Real, Scalar};

use super::octet::{Upper, sum, times};
use super::sparse::BlockMatrix;
use super::system::System;

/// Columns that an octet has, more or less.
const COLUMNS: usize = 8;

/// Which constraints stand side by side: those that the same degrees of freedom move, as far as may be.
pub(super) struct Places {
    /// Constraints of three rows, then those of one.
    order: Vec<usize>,
    /// How many have three.
    three: usize,
}

impl Places {
    pub(super) fn new<T: Scalar>(system: &System<T>) -> Self {
        let key = |i: usize| {
            let c = &system.constraints[i];
            let (mut first, mut last) = (usize::MAX, 0);
            for (side, j) in system.sides_of(c) {
                if let Some(columns) = extent(j, side.n) {
                    first = first.min(side.first + columns.start);
                    last = last.max(side.first + columns.end);
                }
            }
            (c.law.rows() != 3, first, last, i)
        };
        let mut order: Vec<_> = (0..system.constraints.len()).map(key).collect();
        order.sort_unstable();
        let three = order.partition_point(|&(is_row, ..)| !is_row);
        Self { order: order.into_iter().map(|(.., i)| i).collect(), three }
    }

    /// The constraints by octet.
    pub(super) fn octets(&self) -> impl Iterator<Item = &[usize]> {
        let (three, one) = self.order.split_at(self.three);
        three.chunks(LANES).chain(one.chunks(LANES))
    }

    /// By constraint, its place: octet and lane in one number.
    pub(super) fn by_constraint(&self) -> Vec<usize> {
        let mut places = vec![0; self.order.len()];
        for (octet, constraints) in self.octets().enumerate() {
            constraints.iter().enumerate().for_each(|(lane, &i)| places[i] = LANES * octet + lane);
        }
        places
    }
}

/// From the first to the last column that is not zero, of `[rows, n]`.
fn extent<T: Scalar>(j: &[T], n: usize) -> Option<Range<usize>> {
    let is_any = |k: &usize| j[*k..].iter().step_by(n).any(|&j| j != T::lit(0.0));
    let first = (0..n).find(is_any)?;
    Some(first..(first..n).rfind(is_any)? + 1)
}

/// What moves constraints of an octet and is of one limb.
struct Part {
    limb: usize,
    /// The first of its degrees of freedom, by the limb and by the island's velocity, and how many there are.
    within: usize,
    first: usize,
    n: usize,
    /// The octet's column that is its first.
    column: usize,
    /// The octet's constraints that it moves, as bits.
    moved: u8,
}

/// Where the numbers of an octet are.
struct Octet {
    /// Rows of each of its constraints.
    rows: usize,
    parts: Range<usize>,
    /// Where its columns begin, `[rows]` each, and how many there are.
    begin: usize,
    columns: usize,
}

/// See the module.
pub(super) struct Columns<T: Scalar> {
    octets: Vec<Octet>,
    parts: Vec<Part>,
    values: Vec<T::Pack>,
}

impl<T: Scalar> Columns<T> {
    pub(super) fn new(system: &System<T>, places: &Places) -> Self {
        let mut own = Self { octets: Vec::new(), parts: Vec::new(), values: Vec::new() };
        let octets = places.octets().count();
        own.octets.reserve(octets);
        own.parts.reserve(2 * octets);
        own.values.reserve(COLUMNS * 3 * octets);
        places.octets().for_each(|constraints| own.add(system, constraints));
        own
    }

    fn add(&mut self, system: &System<T>, constraints: &[usize]) {
        let of = |&i: &usize| &system.constraints[i];
        let rows = constraints.first().map_or(0, |i| of(i).law.rows());
        let parts = self.parts.len();
        for (lane, i) in constraints.iter().enumerate() {
            for (side, j) in system.sides_of(of(i)) {
                let Some(Range { start, end }) = extent(j, side.n) else { continue };
                let same = self.parts[parts..].iter().position(|part| part.limb == side.limb);
                let at = parts + same.unwrap_or(self.parts.len() - parts);
                if same.is_none() {
                    let (limb, within, n) = (side.limb, start, end - start);
                    self.parts.push(Part { limb, within, first: side.first + start, n, column: 0, moved: 0 });
                }
                let part = &mut self.parts[at];
                let (first, last) = (part.within.min(start), (part.within + part.n).max(end));
                (part.within, part.first, part.n) = (first, side.first + first, last - first);
                part.moved |= 1 << lane;
            }
        }
        let mut columns = 0;
        for part in &mut self.parts[parts..] {
            part.column = columns;
            columns += part.n;
        }
        let begin = self.values.len();
        self.values.resize(begin + columns * rows, T::Pack::lit(0.0));
        let values: &mut [[T; LANES]] = cast_slice_mut(&mut self.values[begin..]);
        for (lane, i) in constraints.iter().enumerate() {
            for (side, j) in system.sides_of(of(i)) {
                for part in self.parts[parts..].iter().filter(|part| part.limb == side.limb) {
                    for (r, row) in j.chunks_exact(side.n).enumerate() {
                        let row = row[part.within..part.within + part.n].iter().enumerate();
                        row.for_each(|(k, &j)| values[(part.column + k) * rows + r][lane] = j);
                    }
                }
            }
        }
        self.octets.push(Octet { rows, parts: parts..self.parts.len(), begin, columns });
    }

    /// `J v` by octet.
    pub(super) fn relative(&self, v: &[T], out: &mut [[T::Pack; 3]]) {
        for (octet, out) in self.octets.iter().zip(out) {
            match octet.rows {
                3 => *out = self.relative_of::<3>(octet, v),
                _ => out[0] = self.relative_of::<1>(octet, v)[0],
            }
        }
    }

    fn relative_of<const ROWS: usize>(&self, octet: &Octet, v: &[T]) -> [T::Pack; ROWS] {
        let mut out = [T::Pack::lit(0.0); ROWS];
        for (part, columns) in self.parts_of::<ROWS>(octet) {
            for (&v, j) in v[part.first..part.first + part.n].iter().zip(columns) {
                let v = T::Pack::splat(v);
                (0..ROWS).for_each(|r| out[r] = j[r].mul_add(v, out[r]));
            }
        }
        out
    }

    /// Parts of an octet whose constraints have so many rows, and their columns.
    fn parts_of<const ROWS: usize>(&self, octet: &Octet) -> impl Iterator<Item = (&Part, &[[T::Pack; ROWS]])> {
        let columns = self.columns_of::<ROWS>(octet);
        self.parts[octet.parts.clone()].iter().map(move |part| (part, &columns[part.column..part.column + part.n]))
    }

    fn columns_of<const ROWS: usize>(&self, octet: &Octet) -> &[[T::Pack; ROWS]] {
        self.values[octet.begin..][..octet.columns * ROWS].as_chunks().0
    }

    /// `out += J^T x`, x by octet.
    pub(super) fn add_transposed(&self, x: &[[T::Pack; 3]], out: &mut [T]) {
        for (octet, x) in self.octets.iter().zip(x) {
            match octet.rows {
                3 => self.add_transposed_of::<3>(octet, x, out),
                _ => self.add_transposed_of::<1>(octet, x, out),
            }
        }
    }

    fn add_transposed_of<const ROWS: usize>(&self, octet: &Octet, x: &[T::Pack; 3], out: &mut [T]) {
        for (part, columns) in self.parts_of::<ROWS>(octet) {
            for (out, j) in out[part.first..part.first + part.n].iter_mut().zip(columns) {
                *out += sum((1..ROWS).fold(j[0] * x[0], |sum, r| j[r].mul_add(x[r], sum)));
            }
        }
    }

    /// `matrix += J^T W J`, W by octet.
    pub(super) fn add_weighted(&self, w: &[Upper<T::Pack>], matrix: &mut BlockMatrix<T>) {
        let mut weighted = Vec::new();
        for (octet, w) in self.octets.iter().zip(w) {
            // Open contacts have no weight, and a pair of bodies all of whose contacts are has nothing to add.
            let size = w.iter().fold(T::Pack::lit(0.0), |sum, w| sum + w.abs());
            let active = (0..LANES).fold(0, |set, lane| set | u8::from(size.lane(lane) != T::lit(0.0)) << lane);
            weighted.clear();
            match octet.rows {
                _ if active == 0 => {}
                3 => {
                    weighted.extend(self.columns_of::<3>(octet).iter().map(|j| times(w, j)));
                    self.add_products::<3>(octet, active, &weighted, matrix);
                }
                _ => {
                    weighted.extend(self.columns_of::<1>(octet).iter().map(|j| [w[0] * j[0]; 3]));
                    self.add_products::<1>(octet, active, &weighted, matrix);
                }
            }
        }
    }

    /// `matrix += J^T weighted` of an octet, of the constraints that these bits say.
    fn add_products<const ROWS: usize>(
        &self,
        octet: &Octet,
        active: u8,
        weighted: &[[T::Pack; 3]],
        matrix: &mut BlockMatrix<T>,
    ) {
        for b in &self.parts[octet.parts.clone()] {
            let right = &weighted[b.column..b.column + b.n];
            for (a, left) in self.parts_of::<ROWS>(octet).filter(|(a, _)| a.moved & b.moved & active != 0) {
                let (block, down, across) = matrix.block_mut(a.limb, b.limb);
                let block = &mut block[a.within * down + b.within * across..];
                for (i, &j) in left.iter().enumerate() {
                    for (k, weighted) in right.iter().enumerate() {
                        let product = (1..ROWS).fold(j[0] * weighted[0], |sum, r| j[r].mul_add(weighted[r], sum));
                        block[i * down + k * across] += sum(product);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::octet::Triples;
    use super::super::rows::{Block, Rows};
    use super::*;
    use crate::samples::{problem, random};

    /// Products by octet are those of the system, constraint by constraint.
    #[test]
    fn products_are_those_of_the_system() {
        for seed in 0..10 {
            let p = problem(random(seed, 6, 25, true));
            for island in &p.plan.islands {
                let system = System::<f64>::new(&p, island);
                let places = Places::new(&system);
                let (columns, place) = (Columns::new(&system, &places), places.by_constraint());
                let n = system.free_momentum().len();
                let v: Vec<f64> = (0..n).map(|i| (i as f64 * 1.7).sin()).collect();
                let mut moved = Triples::new(places.octets().count());
                columns.relative(&v, &mut moved.0);
                // Some have no weight.
                let numbers = |i: usize| if i.is_multiple_of(3) { [0.0; 6] } else { [2.0, 0.3, 1.0, 0.7, -0.4, 1.5] };
                let (mut impulses, mut weights) = (moved.clone(), vec![[Real::lit(0.0); 6]; moved.0.len()]);
                let mut blocks = Vec::<Block<f64>>::new();
                let mut rows = Vec::<Rows<f64>>::new();
                for (i, (c, &place)) in system.constraints.iter().zip(&place).enumerate() {
                    let (w, own) = (numbers(i), system.relative_of(c, &v));
                    let mut block = [[w[0], w[1], w[3]], [w[1], w[2], w[4]], [0.0, 0.0, w[5]]];
                    if c.law.rows() == 1 {
                        block = [[w[0], 0.0, 0.0], [0.0; 3], [0.0; 3]];
                    }
                    let upper = [block[0][0], block[0][1], block[1][1], block[0][2], block[1][2], block[2][2]];
                    let lanes: &mut [<f64 as Scalar>::Pack; 6] = &mut weights[place / LANES];
                    lanes.iter_mut().zip(upper).for_each(|(to, x)| to.set_lane(place % LANES, x));
                    blocks.push(block);
                    rows.push(std::array::from_fn(|r| if r < c.law.rows() { own[r] + 0.1 * i as f64 } else { 0.0 }));
                    impulses.set(place, &rows[i]);
                    let moved = moved.get(place);
                    assert!((0..3).all(|r| (moved[r] - own[r]).abs() < 1e-12), "{seed} {i}");
                }
                let [mut own, mut of_system] = [vec![1.0; n], vec![1.0; n]];
                columns.add_transposed(&impulses.0, &mut own);
                system.add_impulse(&rows, &mut of_system);
                assert!(own.iter().zip(&of_system).all(|(a, b)| (a - b).abs() < 1e-11), "{seed}");
                let mut matrix = system.matrix();
                system.set(&mut matrix);
                columns.add_weighted(&weights, &mut matrix);
                assert!(matrix.factor());
                matrix.solve(&mut own);
                system.assemble(&blocks, &mut matrix);
                assert!(matrix.factor());
                matrix.solve(&mut of_system);
                assert!(own.iter().zip(&of_system).all(|(a, b)| (a - b).abs() < 1e-9), "{seed}");
            }
        }
    }
}
