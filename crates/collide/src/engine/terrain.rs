//! Heightfields: the ground under a sheet of triangles, two a cell, against one convex shape.
//!
//! The sheet is one-sided. A normal counts at a triangle's edge only if it lies between the normals of the two
//! triangles there, and the edge is a ridge: the inner edges of flat ground do not exist for what slides over them.

use manyworlds_model::HeightField;

use super::convex::{self, Workspace};
use super::core_shape::Core;
use super::facing::{Nearest, facing_points};
use super::placed::Placed;
use super::{Sink, Vector};

/// Normals that stray beyond an edge's by this much (tangent of the angle) still count.
const STRAY: f64 = 1e-3;

/// Samples of a heightfield.
#[derive(Debug)]
pub(super) struct Terrain {
    field: HeightField,
    low: f64,
    high: f64,
}

/// One triangle: its corners, counter-clockwise seen from above, in the field's frame.
struct Facet {
    row: usize,
    col: usize,
    half: usize,
    corners: [Vector; 3],
    /// Unit, upward.
    normal: Vector,
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
        let low = field.heights.iter().fold(f64::INFINITY, |l, &h| l.min(h));
        let high = field.heights.iter().fold(f64::NEG_INFINITY, |l, &h| l.max(h));
        Ok(Self { field: field.clone(), low, high })
    }

    /// Radius of the sphere about the frame's origin that holds the ground down to what can still be pushed out, m.
    pub(super) fn radius(&self) -> f64 {
        let [x, y] = self.field.half;
        let z = self.low.abs().max(self.high.abs()) + x.max(y);
        (x * x + y * y + z * z).sqrt()
    }

    /// Cells (first, past the last) along one direction that a stretch of it meets.
    fn cells(&self, low: f64, high: f64, axis: usize) -> (usize, usize) {
        let count = if axis == 0 { self.field.n_cols } else { self.field.n_rows } - 1;
        let half = self.field.half[axis];
        let cell = |x: f64| (x + half) / (2.0 * half) * count as f64;
        let (low, high) = (cell(low), cell(high));
        if high < 0.0 || low > count as f64 {
            return (0, 0);
        }
        // Saturating: what lies before the first cell is in it.
        (low as usize, ((high as usize) + 1).min(count))
    }

    /// Corners of one of a cell's triangles.
    fn corners(&self, row: usize, col: usize, half: usize) -> [Vector; 3] {
        HeightField::triangles(row, col)[half].map(|(row, col)| {
            let corner = self.field.vertex(row, col);
            Vector::new(corner.x, corner.y, corner.z)
        })
    }

    /// The normal of a triangle, if the cell is there.
    fn normal(&self, row: usize, col: usize, half: usize) -> Option<Vector> {
        if row + 1 >= self.field.n_rows || col + 1 >= self.field.n_cols {
            return None;
        }
        let [a, b, c] = self.corners(row, col, half);
        Some((b - a).cross(c - a).normalize())
    }

    fn facet(&self, row: usize, col: usize, half: usize) -> Facet {
        let corners = self.corners(row, col, half);
        let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize();
        Facet { row, col, half, corners, normal }
    }

    /// How far normals may lean over a facet's edge (from corner i to the next): the tangent of the angle.
    fn lean(&self, facet: &Facet, edge: usize) -> f64 {
        let (row, col) = (facet.row, facet.col);
        // Wrapping below zero leaves the field as well.
        let (row, col, half) = match (facet.half, edge) {
            (0, 0) => (row.wrapping_sub(1), col, 1),
            (0, 1) => (row, col + 1, 1),
            (0, _) => (row, col, 1),
            (_, 0) => (row, col, 0),
            (_, 1) => (row + 1, col, 0),
            (_, _) => (row, col.wrapping_sub(1), 0),
        };
        if row >= self.field.n_rows || col >= self.field.n_cols {
            return f64::INFINITY;
        }
        let Some(other) = self.normal(row, col, half) else { return f64::INFINITY };
        let along = other.dot(facet.normal);
        // Over a right angle the ridge is so sharp that any normal goes.
        if along > 0.0 { (other.dot(facet.outward(edge)) / along).max(0.0) } else { f64::INFINITY }
    }

    /// Whether the ground may push out of a facet along a unit direction (field frame, out of the ground).
    fn admits(&self, facet: &Facet, direction: Vector) -> bool {
        let up = direction.dot(facet.normal);
        up > 0.0
            && (0..3).all(|edge| {
                let over = direction.dot(facet.outward(edge));
                over <= STRAY * up || over <= (self.lean(facet, edge) + STRAY) * up
            })
    }
}

impl Facet {
    /// Across an edge in the facet's plane; unit.
    fn outward(&self, edge: usize) -> Vector {
        (self.corners[(edge + 1) % 3] - self.corners[edge]).cross(self.normal).normalize()
    }

    /// The triangle's point nearest to a point above its plane.
    fn nearest(&self, point: Vector) -> Vector {
        if self.covers(point, self.normal) {
            return point - self.normal * (point - self.corners[0]).dot(self.normal);
        }
        let mut best = (f64::INFINITY, point);
        for i in 0..3 {
            let (from, edge) = (self.corners[i], self.corners[(i + 1) % 3] - self.corners[i]);
            let along = ((point - from).dot(edge) / edge.length_squared()).clamp(0.0, 1.0);
            let on = from + edge * along;
            let squared = (point - on).length_squared();
            if squared < best.0 {
                best = (squared, on);
            }
        }
        best.1
    }

    /// Whether a point lies over or under the triangle along a direction out of the ground.
    fn covers(&self, point: Vector, along: Vector) -> bool {
        (0..3).all(|i| {
            let (from, to) = (self.corners[i], self.corners[(i + 1) % 3]);
            (to - from).cross(point - from).dot(along) >= 0.0
        })
    }
}

/// Contacts of the convex shape `a` with the ground `b`.
pub(super) fn contacts(
    core: Core<'_>,
    rounding: f64,
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
            let at = |r: usize, c: usize| field.field.heights[r * field.field.n_cols + c];
            let top = at(row, col).max(at(row, col + 1)).max(at(row + 1, col)).max(at(row + 1, col + 1));
            if top < bottom {
                continue;
            }
            for half in 0..2 {
                let facet = field.facet(row, col, half);
                // The deepest point over the facet's plane bounds what any part of it can find.
                let height = (centre - facet.corners[0]).dot(facet.normal);
                if height - extent(-facet.normal) < sink.reach {
                    touch(field, &facet, core, rounding, a, b, centre, workspace, sink);
                }
            }
        }
    }
    sink.thin(begin);
    sink.merge(begin, 1e-3 * a.radius);
}

/// Contacts with one triangle.
fn touch(
    field: &Terrain,
    facet: &Facet,
    core: Core<'_>,
    rounding: f64,
    a: &Placed,
    b: &Placed,
    centre: Vector,
    workspace: &mut Workspace,
    sink: &mut Sink<'_>,
) {
    let middle = (facet.corners[0] + facet.corners[1] + facet.corners[2]) / 3.0;
    let about = facet.corners.map(|c| c - middle);
    let radius = about.iter().fold(0.0, |r: f64, c| r.max(c.length()));
    let placed = Placed { centre: b.centre + b.axes * middle, axes: b.axes, radius, ..Placed::default() };
    let triangle = Core::Triangle(about);
    let rounding = [rounding, 0.0];
    let number = 2 * (facet.row * field.field.n_cols + facet.col) + facet.half + 1;
    sink.tag = (number as u32).wrapping_mul(0x9e37_79b1);

    // Along the facet's own normal: where the shape is deepest, about its centre.
    let normal = -(b.axes * facet.normal);
    let deepest = a.axes * core.support(a.local(normal));
    let height = (centre - facet.corners[0]).dot(facet.normal);
    let distance = height - deepest.dot(normal);
    let face = Nearest { normal, distance, middle: deepest + normal * (0.5 * distance) };
    if height <= 0.0 {
        // A shape whose centre is under the ground goes out straight, through the triangle over it.
        if facet.covers(centre, Vector::Z) {
            convex::touch(&core, a, &triangle, &placed, rounding, &face, workspace, sink);
        }
        sink.tag = 0;
        return;
    }
    // The direction to the triangle's point nearest the centre parts round shapes from most triangles about.
    let between = facet.nearest(centre) - centre;
    let towards = b.axes * between;
    let length = between.length();
    if length > 0.0 {
        let direction = towards / length;
        let reached = core.support(a.local(direction));
        let beyond = facet.corners.iter().fold(f64::INFINITY, |l, c| l.min((*c - centre).dot(between) / length));
        if beyond - (a.axes * reached).dot(direction) - rounding[0] >= sink.reach {
            sink.tag = 0;
            return;
        }
    }
    // Where what is deepest along a direction lies over the other's face, no direction parts the two by more: most
    // facets are met along their own normal or the shape's, and need no search.
    let over = facet.covers(centre + b.local(deepest), facet.normal);
    let held = facing_points(&core, a, &triangle, &placed, rounding, &face, sink.reach, &mut workspace.points);
    if held || over {
        convex::emit(a, &placed, &face, rounding, !held, workspace, sink);
        sink.tag = 0;
        return;
    }
    let found = if matches!(core, Core::Point) {
        // Of a ball the direction is known.
        Some(Nearest { normal: towards / length, distance: length, middle: 0.5 * towards })
    } else {
        along_shape(&core, a, &triangle, &placed, rounding, normal, workspace, sink)
            .unwrap_or_else(|| convex::nearest(&core, a, &triangle, &placed, sink.reach + rounding[0], workspace).ok())
    };
    if let Some(found) = found {
        if field.admits(facet, -b.local(found.normal)) {
            convex::touch(&core, a, &triangle, &placed, rounding, &found, workspace, sink);
        } else if found.distance < 0.0 {
            facing_points(&core, a, &triangle, &placed, rounding, &face, sink.reach, &mut workspace.points);
            convex::emit(a, &placed, &face, rounding, false, workspace, sink);
        }
    }
    sink.tag = 0;
}

/// The shape's own face as the direction of contact: `None` when it does not tell, `Some(None)` when it parts the two.
fn along_shape(
    core: &Core<'_>,
    a: &Placed,
    triangle: &Core<'_>,
    placed: &Placed,
    rounding: [f64; 2],
    towards: Vector,
    workspace: &mut Workspace,
    sink: &Sink<'_>,
) -> Option<Option<Nearest>> {
    let face = core.face_normal(a.local(towards))?;
    let normal = a.axes * face;
    let highest = placed.centre - a.centre + placed.axes * triangle.support(placed.local(-normal));
    let distance = highest.dot(normal) - core.support(face).dot(face);
    if distance - rounding[0] >= sink.reach {
        return Some(None);
    }
    let nearest = Nearest { normal, distance, middle: highest - normal * (0.5 * distance) };
    facing_points(core, a, triangle, placed, rounding, &nearest, sink.reach, &mut workspace.points)
        .then_some(Some(nearest))
}
