//! Which of many points lies farthest along a direction, without looking at all of them.
//!
//! Directions are cells of a cube's sides. Of each cell those points are kept that are farthest along some direction in
//! it, so that the answer is the one that looking at all points would give, and hangs on nothing but the direction.

use std::ops::Range;

use super::Vector;

/// So few points are all looked at.
const FEW: usize = 16;
/// Cells along a side of the cube, of which each may be halved so many times both ways.
const ROOTS: usize = 16;
const HALVINGS: u32 = 3;
/// The smallest cells along a side.
const CELLS: usize = ROOTS << HALVINGS;
/// Cells with so few points are not divided.
const ENOUGH: usize = 8;
/// Marks a cell that is divided, in the place of its entries' end.
const DIVIDED: u32 = u32::MAX;
/// What is taken to be as far along a direction, relative to the farthest point: more than rounding.
pub(super) const TIE: f64 = 1e-7;

/// A table of directions for a set of points.
#[derive(Debug, Default)]
pub(super) struct Extremes {
    /// Begin and end of each cell in `entries`; of one that is divided the first of its four parts among the cells. Nothing
    /// where points are few.
    cells: Vec<[u32; 2]>,
    /// Points by their numbers, in order within a cell.
    entries: Vec<u32>,
}

/// A cell: a square on a side of the cube by its lower corner and its edge, in smallest cells.
#[derive(Clone, Copy)]
struct Square {
    side: usize,
    u: usize,
    v: usize,
    edge: usize,
}

impl Square {
    fn cone(self) -> Cone {
        let place = |n: usize| 2.0 * n as f64 / CELLS as f64 - 1.0;
        Cone::new(self.side, [place(self.u), place(self.u + self.edge), place(self.v), place(self.v + self.edge)])
    }

    /// The four parts, in the order of [`part`].
    fn parts(self) -> [Self; 4] {
        let edge = self.edge / 2;
        [(0, 0), (edge, 0), (0, edge), (edge, edge)].map(|(u, v)| Self { u: self.u + u, v: self.v + v, edge, ..self })
    }
}

/// The part of a divided cell that a smallest cell is in; parts are 2 to the `level` smallest cells wide.
fn part(u: usize, v: usize, level: u32) -> usize {
    (u >> level & 1) | (v >> level & 1) << 1
}

/// Directions through a square on a side of the cube, as a cone about its middle.
struct Cone {
    axis: Vector,
    cosine: f64,
    sine: f64,
}

impl Cone {
    fn new(side: usize, [u0, u1, v0, v1]: [f64; 4]) -> Self {
        let through = |u: f64, v: f64| direction(side, u, v).normalize();
        let axis = through(0.5 * (u0 + u1), 0.5 * (v0 + v1));
        let corners = [through(u0, v0), through(u0, v1), through(u1, v0), through(u1, v1)];
        // A little wider, so that rounding puts no direction outside of its cell's.
        let cosine = corners.iter().fold(1.0, |least: f64, corner| least.min(corner.dot(axis))) - 1e-9;
        Self { axis, cosine, sine: (1.0 - cosine * cosine).sqrt() }
    }

    /// Appends those of a range of `of` that may be farthest along a direction of the cone; where they are.
    fn keep(&self, points: &[Vector], of: &mut Vec<u32>, range: Range<usize>, tie: f64) -> Range<usize> {
        let mut top = (f64::NEG_INFINITY, Vector::ZERO);
        for &point in &of[range.clone()] {
            let along = points[point as usize].dot(self.axis);
            if along > top.0 {
                top = (along, points[point as usize]);
            }
        }
        let begin = of.len();
        for i in range {
            // The most that it can be ahead of the one that is farthest along the axis: `forward * cosine + across * sine`.
            let ahead = points[of[i] as usize] - top.1;
            let forward = ahead.dot(self.axis);
            let behind = -(forward * self.cosine + tie);
            let across = (ahead - self.axis * forward).length_squared();
            if behind <= 0.0 || behind * behind <= across * self.sine * self.sine {
                of.push(of[i]);
            }
        }
        begin..of.len()
    }
}

/// The direction through a point of a side of the cube; sides are `2 * axis`, and one more where the axis is negative.
fn direction(side: usize, u: f64, v: f64) -> Vector {
    let sign = if side.is_multiple_of(2) { 1.0 } else { -1.0 };
    match side / 2 {
        0 => Vector::new(sign, u, v),
        1 => Vector::new(v, sign, u),
        _ => Vector::new(u, v, sign),
    }
}

/// The side and the smallest cell that a direction of any length goes through.
fn place(direction: Vector) -> (usize, usize, usize) {
    let size = direction.abs();
    let (axis, along, u, v) = if size.x >= size.y && size.x >= size.z {
        (0, direction.x, direction.y, direction.z)
    } else if size.y >= size.z {
        (1, direction.y, direction.z, direction.x)
    } else {
        (2, direction.z, direction.x, direction.y)
    };
    let scale = 0.5 * CELLS as f64 / along.abs();
    // What is no number becomes 0.
    let cell = |x: f64| ((x * scale + 0.5 * CELLS as f64) as usize).min(CELLS - 1);
    (2 * axis + usize::from(along < 0.0), cell(u), cell(v))
}

impl Extremes {
    pub(super) fn new(points: &[Vector]) -> Self {
        let mut table = Self::default();
        if points.len() <= FEW {
            return table;
        }
        let tie = TIE * points.iter().fold(0.0, |most: f64, point| most.max(point.length()));
        // Points by their numbers: all, and behind them those of the squares that are open.
        let mut of: Vec<u32> = (0..points.len() as u32).collect();
        table.cells.resize(6 * ROOTS * ROOTS, [0; 2]);
        for side in 0..6 {
            let whole = Square { side, u: 0, v: 0, edge: CELLS };
            of.truncate(points.len());
            let may = whole.cone().keep(points, &mut of, 0..points.len(), tie);
            let mut open = vec![(whole, None, may)];
            // Squares, their cells if they have one yet, and what may be farthest in them.
            while let Some((square, cell, may)) = open.pop() {
                of.truncate(may.end);
                let root = (side * ROOTS + (square.v >> HALVINGS)) * ROOTS + (square.u >> HALVINGS);
                let cell = if square.edge == 1 << HALVINGS { Some(root) } else { cell };
                if let Some(cell) = cell
                    && (may.len() <= ENOUGH || square.edge == 1)
                {
                    let begin = table.entries.len() as u32;
                    table.entries.extend_from_slice(&of[may]);
                    table.cells[cell] = [begin, table.entries.len() as u32];
                    continue;
                }
                let first = cell.map(|cell| {
                    let first = table.cells.len();
                    table.cells[cell] = [first as u32, DIVIDED];
                    table.cells.resize(first + 4, [0; 2]);
                    first
                });
                for (number, smaller) in square.parts().into_iter().enumerate() {
                    let may = smaller.cone().keep(points, &mut of, may.clone(), tie);
                    open.push((smaller, first.map(|first| first + number), may));
                }
            }
        }
        table
    }

    /// Those that may be farthest along a direction.
    #[inline]
    fn among(&self, direction: Vector) -> &[u32] {
        let (side, u, v) = place(direction);
        let mut level = HALVINGS;
        let mut cell = self.cells[(side * ROOTS + (v >> level)) * ROOTS + (u >> level)];
        while cell[1] == DIVIDED {
            level -= 1;
            cell = self.cells[cell[0] as usize + part(u, v, level)];
        }
        &self.entries[cell[0] as usize..cell[1] as usize]
    }

    /// Calls back with the numbers of those of so many points that may be farthest along a direction, ascending; among them
    /// are all that are no more than [`TIE`] behind, in units of the farthest point.
    #[inline]
    pub(super) fn each(&self, count: usize, direction: Vector, mut look_at: impl FnMut(usize)) {
        if self.cells.is_empty() {
            (0..count).for_each(look_at);
        } else {
            self.among(direction).iter().for_each(|&number| look_at(number as usize));
        }
    }

    /// The number of the point that is farthest along a direction of any length; the first one among equals. `points` are
    /// those that the table was made of.
    #[inline]
    pub(super) fn farthest(&self, points: &[Vector], direction: Vector) -> usize {
        let mut best = (f64::NEG_INFINITY, 0);
        self.each(points.len(), direction, |number| {
            let along = points[number].dot(direction);
            if along > best.0 {
                best = (along, number);
            }
        });
        best.1
    }

    /// The same along a unit direction, and how far the next one is behind; at least [`TIE`] in units of the farthest point
    /// where that is more.
    pub(super) fn leading(&self, points: &[Vector], direction: Vector) -> (usize, f64) {
        let (mut best, mut next) = ((f64::NEG_INFINITY, 0), f64::NEG_INFINITY);
        self.each(points.len(), direction, |number| {
            let along = points[number].dot(direction);
            if along > best.0 {
                (next, best) = (best.0, (along, number));
            } else if along > next {
                next = along;
            }
        });
        (best.1, best.0 - next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from -1 to 1, the same in every run.
    fn noise(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// The first of the points that are farthest, by looking at all.
    fn plainly(points: &[Vector], direction: Vector) -> usize {
        let mut best = (f64::NEG_INFINITY, 0);
        for (number, point) in points.iter().enumerate() {
            if point.dot(direction) > best.0 {
                best = (point.dot(direction), number);
            }
        }
        best.1
    }

    /// On a ball, in a flat and a long cloud, on a grid with many equals, and of few points; along directions at random and
    /// on the borders of cells.
    #[test]
    fn the_same_as_looking_at_all() {
        let mut state = 1;
        let mut some = |n: usize, scale: [f64; 3]| -> Vec<Vector> {
            let mut one = || Vector::new(noise(&mut state), noise(&mut state), noise(&mut state));
            (0..n).map(|_| one() * Vector::from_array(scale)).collect()
        };
        let ball: Vec<Vector> = some(800, [1.0; 3]).into_iter().map(Vector::normalize).collect();
        let grid = (0..729).map(|i| Vector::new((i % 9) as f64, (i / 9 % 9) as f64, (i / 81) as f64) - 4.0).collect();
        let sets = [ball, some(500, [1.0, 1.0, 1e-6]), some(500, [1.0, 1e-3, 1e-3]), grid, some(FEW, [1e-3; 3])];
        let mut directions = some(3000, [1.0; 3]);
        for i in 0..=2 * CELLS {
            let u = i as f64 / CELLS as f64 - 1.0;
            directions.extend((0..6).flat_map(|side| [direction(side, u, u), direction(side, u, 0.0)]));
        }
        for points in &sets {
            let table = Extremes::new(points);
            let mut looked = 0;
            for &direction in &directions {
                looked += if points.len() > FEW { table.among(direction).len() } else { 0 };
                let (found, wanted) = (table.farthest(points, direction), plainly(points, direction));
                assert_eq!(found, wanted, "of {} points along {direction}", points.len());
            }
            // What the table is for; along a needle many are nearly as far across it.
            assert!(5 * looked < points.len() * directions.len(), "{looked} of {} points are looked at", points.len());
        }
    }

    /// Of a square's corners, those of a side are as far along a direction across it; turned a little, one leads.
    #[test]
    fn how_far_the_next_one_is_behind() {
        let corners = [[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]];
        let square: Vec<Vector> = corners.iter().map(|&[x, y]| Vector::new(x, y, 0.0)).collect();
        // Many more, that never are in front.
        let padded: Vec<Vector> = square.iter().copied().chain((0..50).map(|i| square[i % 4] * 0.5)).collect();
        for points in [square, padded] {
            let table = Extremes::new(&points);
            for lean in [0.0, 1e-9, 3e-8] {
                let (leader, lead) = table.leading(&points, Vector::new(lean, 1.0, 0.0));
                assert!(leader == 0 && (lead - 2.0 * lean).abs() < 1e-15, "{leader} leads by {lead} at {lean}");
            }
        }
    }

    #[test]
    fn directions_that_are_no_numbers() {
        let points: Vec<Vector> = (0..100).map(|i| Vector::new(i as f64, 0.0, 1.0)).collect();
        let table = Extremes::new(&points);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0] {
            for direction in [Vector::splat(bad), Vector::new(bad, 1.0, 0.0), Vector::new(0.0, 1.0, bad)] {
                assert!(table.farthest(&points, direction) < points.len());
            }
        }
    }
}
