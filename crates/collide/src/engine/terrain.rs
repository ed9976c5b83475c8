//! Heightfields: the ground under a sheet of triangles, two a cell, against one convex shape.
//!
//! The sheet is one-sided. A normal counts at a triangle's edge only if it lies between the normals of the two
//! triangles there, and the edge is a ridge: the inner edges of flat ground do not exist for what slides over them.

use manyworlds_model::HeightField;

use super::convex::{self, Workspace};
use super::core_shape::Core;
use super::place::Placed;
use super::{Real, Sink, Vector};

/// Normals that stray beyond an edge's by this much (tangent of the angle) still count.
const STRAY: Real = 1e-3;

/// Samples of a heightfield.
#[derive(Debug)]
pub(super) struct Terrain {
    rows: usize,
    cols: usize,
    half: [Real; 2],
    heights: Vec<Real>,
    low: Real,
    high: Real,
}

/// One triangle: its corners, counter-clockwise seen from above, in the field's frame.
struct Facet {
    corners: [Vector; 3],
    /// Unit, upward.
    normal: Vector,
    /// For each edge (from corner i to the next), how far normals may lean over it: the tangent of the angle.
    lean: [Real; 3],
}

impl Terrain {
    pub(super) fn new(field: &HeightField) -> Result<Self, String> {
        let (rows, cols) = (field.n_rows, field.n_cols);
        if rows < 2 || cols < 2 || field.heights.len() != rows * cols {
            let found = field.heights.len();
            return Err(format!("expected at least 2 x 2 samples and one for each, found {rows} x {cols} and {found}"));
        }
        if !field.half.iter().all(|h| *h > 0.0 && h.is_finite()) || !field.heights.iter().all(|h| h.is_finite()) {
            return Err("expected positive extents and finite heights".into());
        }
        let heights: Vec<Real> = field.heights.iter().map(|&h| h as Real).collect();
        let low = heights.iter().fold(Real::INFINITY, |l, &h| l.min(h));
        let high = heights.iter().fold(Real::NEG_INFINITY, |l, &h| l.max(h));
        Ok(Self { rows, cols, half: field.half.map(|h| h as Real), heights, low, high })
    }

    /// Radius of the sphere about the frame's origin that holds the ground down to what can still be pushed out, m.
    pub(super) fn radius(&self) -> Real {
        let [x, y] = self.half;
        let z = self.low.abs().max(self.high.abs()) + x.max(y);
        (x * x + y * y + z * z).sqrt()
    }

    fn point(&self, row: usize, col: usize) -> Vector {
        let along = |i: usize, n: usize, half: Real| half * (2.0 * i as Real / (n - 1) as Real - 1.0);
        let height = self.heights[row * self.cols + col];
        Vector::new(along(col, self.cols, self.half[0]), along(row, self.rows, self.half[1]), height)
    }

    /// Cells (first, past the last) along one direction that a stretch of it meets.
    fn cells(&self, low: Real, high: Real, axis: usize) -> (usize, usize) {
        let count = if axis == 0 { self.cols } else { self.rows } - 1;
        let half = self.half[axis];
        let cell = |x: Real| (x + half) / (2.0 * half) * count as Real;
        let (low, high) = (cell(low), cell(high));
        if high < 0.0 || low > count as Real {
            return (0, 0);
        }
        // Saturating: what lies before the first cell is in it.
        (low as usize, ((high as usize) + 1).min(count))
    }

    /// Corners of a cell's triangle: 0 has the cell's first corner, 1 its last.
    fn corners(&self, row: usize, col: usize, half: usize) -> [Vector; 3] {
        let (a, b) = (self.point(row, col), self.point(row, col + 1));
        let (c, d) = (self.point(row + 1, col), self.point(row + 1, col + 1));
        if half == 0 { [a, b, c] } else { [d, c, b] }
    }

    /// The normal of a triangle, if the cell is there.
    fn normal(&self, row: usize, col: usize, half: usize) -> Option<Vector> {
        if row + 1 >= self.rows || col + 1 >= self.cols {
            return None;
        }
        let [a, b, c] = self.corners(row, col, half);
        Some((b - a).cross(c - a).normalize())
    }

    fn facet(&self, row: usize, col: usize, half: usize) -> Facet {
        let corners = self.corners(row, col, half);
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize();
        // Wrapping below zero leaves the field as well.
        let neighbours = if half == 0 {
            [(row.wrapping_sub(1), col, 1), (row, col, 1), (row, col.wrapping_sub(1), 1)]
        } else {
            [(row + 1, col, 0), (row, col, 0), (row, col + 1, 0)]
        };
        let mut lean = [Real::INFINITY; 3];
        for i in 0..3 {
            let (r, c, h) = neighbours[i];
            if r >= self.rows || c >= self.cols {
                continue;
            }
            let Some(other) = self.normal(r, c, h) else { continue };
            let outward = (corners[(i + 1) % 3] - corners[i]).cross(normal).normalize();
            let along = other.dot(normal);
            // Over a right angle the ridge is so sharp that any normal goes.
            lean[i] = if along > 0.0 { (other.dot(outward) / along).max(0.0) } else { Real::INFINITY };
        }
        Facet { corners, normal, lean }
    }
}

impl Facet {
    /// Whether the ground may push along a unit direction (field frame, out of the ground).
    fn admits(&self, direction: Vector) -> bool {
        let up = direction.dot(self.normal);
        if up <= 0.0 {
            return false;
        }
        (0..3).all(|i| {
            let outward = (self.corners[(i + 1) % 3] - self.corners[i]).cross(self.normal).normalize();
            direction.dot(outward) <= (self.lean[i] + STRAY) * up
        })
    }

    /// Whether the triangle lies over or under a point.
    fn covers(&self, point: Vector) -> bool {
        (0..3).all(|i| {
            let (from, to) = (self.corners[i], self.corners[(i + 1) % 3]);
            (to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x) >= 0.0
        })
    }
}

/// Contacts of the convex shape `a` with the ground `b`.
pub(super) fn contacts(
    core: Core<'_>,
    rounding: Real,
    a: &Placed,
    b: &Placed,
    field: &Terrain,
    workspace: &mut Workspace,
    sink: &mut Sink<'_>,
) {
    let begin = sink.len();
    let centre = b.local(a.centre - b.centre);
    // How far the shape goes from its centre along a direction of the field's frame.
    let extent = |direction: Vector| {
        let local = a.local(b.axes * direction);
        core.support(local).dot(local) + rounding
    };
    let over = |axis: Vector| {
        let at = centre.dot(axis);
        (at - extent(-axis) - sink.reach, at + extent(axis) + sink.reach)
    };
    let ((x0, x1), (y0, y1)) = (over(Vector::X), over(Vector::Y));
    let bottom = centre.z - extent(-Vector::Z) - sink.reach;
    let (cols, rows) = (field.cells(x0, x1, 0), field.cells(y0, y1, 1));
    for row in rows.0..rows.1 {
        for col in cols.0..cols.1 {
            let at = |r: usize, c: usize| field.heights[r * field.cols + c];
            let top = at(row, col).max(at(row, col + 1)).max(at(row + 1, col)).max(at(row + 1, col + 1));
            if top < bottom {
                continue;
            }
            for half in 0..2 {
                let facet = field.facet(row, col, half);
                // The deepest point over the facet's plane bounds what any part of it can find.
                let height = (centre - facet.corners[0]).dot(facet.normal);
                if height - extent(-facet.normal) < sink.reach {
                    let number = 2 * (row * field.cols + col) + half;
                    touch(&facet, number as u32, core, rounding, a, b, centre, workspace, sink);
                }
            }
        }
    }
    sink.merge(begin, 1e-3 * a.radius);
}

/// Contacts with one triangle.
fn touch(
    facet: &Facet,
    number: u32,
    core: Core<'_>,
    rounding: Real,
    a: &Placed,
    b: &Placed,
    centre: Vector,
    workspace: &mut Workspace,
    sink: &mut Sink<'_>,
) {
    let middle = (facet.corners[0] + facet.corners[1] + facet.corners[2]) / 3.0;
    let about = facet.corners.map(|c| c - middle);
    let radius = about.iter().fold(0.0, |r: Real, c| r.max(c.length()));
    let placed = Placed { centre: b.centre + b.axes * middle, axes: b.axes, radius, size: [0.0; 3], travel: 0.0 };
    let triangle = Core::Triangle(about);
    sink.tag = number.wrapping_mul(0x9e37_79b1);
    let face = convex::Nearest {
        normal: -(b.axes * facet.normal),
        distance: (centre - facet.corners[0]).dot(facet.normal) - {
            let local = a.local(b.axes * -facet.normal);
            core.support(local).dot(local)
        },
        middle: Vector::ZERO,
    };
    // A shape whose centre is under the ground goes out straight, through the triangle over it.
    if (centre - facet.corners[0]).dot(facet.normal) <= 0.0 {
        if facet.covers(centre) {
            let deepest = a.axes * core.support(a.local(face.normal)) - face.normal * (0.5 * face.distance).min(0.0);
            let nearest = convex::Nearest { middle: deepest, ..face };
            convex::touch(&core, a, &triangle, &placed, [rounding, 0.0], &nearest, true, workspace, sink);
        }
    } else if let Some(nearest) = convex::nearest(&core, a, &triangle, &placed, sink.reach + rounding, workspace) {
        if facet.admits(-b.local(nearest.normal)) {
            convex::touch(&core, a, &triangle, &placed, [rounding, 0.0], &nearest, true, workspace, sink);
        } else if nearest.distance < 0.0 {
            convex::touch(&core, a, &triangle, &placed, [rounding, 0.0], &face, false, workspace, sink);
        }
    }
    sink.tag = 0;
}
