//! Which of many points lies farthest along a direction, without looking at all of them.
//!
//! Directions are cells of a cube's sides. Of each cell those points are kept that are farthest along some direction in
//! it, so that the answer is the one that looking at all points would give, and hangs on nothing but the direction.

use super::Vector;

/// So few points are all looked at.
const FEW: usize = 16;
/// Times a side of the cube is halved, both ways.
const HALVINGS: u32 = 4;
/// Cells along a side.
const CELLS: usize = 1 << HALVINGS;
/// What is taken to be as far along a direction, relative to the farthest point: more than rounding.
const TIE: f64 = 1e-12;

/// A table of directions for a set of points.
#[derive(Debug)]
pub(super) struct Extremes {
    /// First entry of each cell in `entries`, and the end; nothing where points are few.
    begins: Vec<u32>,
    /// Points by their numbers, in order.
    entries: Vec<u32>,
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

    /// Those of some points that may be farthest along a direction of the cone.
    fn keep(&self, points: &[Vector], of: &[u32], tie: f64) -> Vec<u32> {
        let along = |&point: &u32| points[point as usize].dot(self.axis);
        let Some(&top) = of.iter().max_by(|a, b| along(a).total_cmp(&along(b))) else { return Vec::new() };
        let may = |&&point: &&u32| {
            // The most that it can be ahead of the one that is farthest along the axis.
            let ahead = points[point as usize] - points[top as usize];
            let forward = ahead.dot(self.axis);
            let across = (ahead - self.axis * forward).length();
            forward * self.cosine + across * self.sine >= -tie
        };
        of.iter().filter(may).copied().collect()
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

/// The cell that a direction of any length is in.
fn cell(direction: Vector) -> usize {
    let size = direction.abs();
    let (axis, along, u, v) = if size.x >= size.y && size.x >= size.z {
        (0, direction.x, direction.y, direction.z)
    } else if size.y >= size.z {
        (1, direction.y, direction.z, direction.x)
    } else {
        (2, direction.z, direction.x, direction.y)
    };
    let scale = 0.5 * CELLS as f64 / along.abs();
    // No number becomes 0.
    let place = |x: f64| ((x * scale + 0.5 * CELLS as f64) as usize).min(CELLS - 1);
    ((2 * axis + usize::from(along < 0.0)) * CELLS + place(v)) * CELLS + place(u)
}

impl Extremes {
    pub(super) fn new(points: &[Vector]) -> Self {
        if points.len() <= FEW {
            return Self { begins: Vec::new(), entries: Vec::new() };
        }
        let tie = TIE * points.iter().fold(0.0, |most: f64, point| most.max(point.length()));
        let all: Vec<u32> = (0..points.len() as u32).collect();
        let mut cells = vec![Vec::new(); 6 * CELLS * CELLS];
        for side in 0..6 {
            let whole = Cone::new(side, [-1.0, 1.0, -1.0, 1.0]).keep(points, &all, tie);
            // Squares by their size, lower corner, and what may be farthest in them.
            let mut squares = vec![(CELLS, 0, 0, whole)];
            while let Some((size, i, j, of)) = squares.pop() {
                if size == 1 {
                    cells[(side * CELLS + j) * CELLS + i] = of;
                    continue;
                }
                let half = size / 2;
                for (i, j) in [(i, j), (i + half, j), (i, j + half), (i + half, j + half)] {
                    let edge = |n: usize| 2.0 * n as f64 / CELLS as f64 - 1.0;
                    let cone = Cone::new(side, [edge(i), edge(i + half), edge(j), edge(j + half)]);
                    squares.push((half, i, j, cone.keep(points, &of, tie)));
                }
            }
        }
        let mut table = Self { begins: Vec::with_capacity(cells.len() + 1), entries: Vec::new() };
        for of in cells {
            table.begins.push(table.entries.len() as u32);
            table.entries.extend(of);
        }
        table.begins.push(table.entries.len() as u32);
        table
    }

    /// The number of the point that is farthest along a direction of any length; the first one among equals. `points` are
    /// those that the table was made of.
    #[inline]
    pub(super) fn farthest(&self, points: &[Vector], direction: Vector) -> usize {
        let mut best = (f64::NEG_INFINITY, 0);
        let mut look_at = |number: usize| {
            let along = points[number].dot(direction);
            if along > best.0 {
                best = (along, number);
            }
        };
        if self.begins.is_empty() {
            (0..points.len()).for_each(look_at);
        } else {
            let cell = cell(direction);
            let of = &self.entries[self.begins[cell] as usize..self.begins[cell + 1] as usize];
            of.iter().for_each(|&number| look_at(number as usize));
        }
        best.1
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
        let mut looked = 0;
        for points in &sets {
            let table = Extremes::new(points);
            for &direction in &directions {
                let (found, wanted) = (table.farthest(points, direction), plainly(points, direction));
                assert_eq!(found, wanted, "of {} points along {direction}", points.len());
            }
            looked = looked.max(table.entries.len() / (6 * CELLS * CELLS));
        }
        // What the table is for.
        assert!(looked < 60, "{looked} points are looked at");
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
