//! Features of a heightfield: its sheet of triangles, two a cell, as the engine's `terrain` cuts it.

use manyworlds_model::HeightField;
use nalgebra::Vector3;

use super::few::Few;
use super::local::{Local, SAME, plane_of};

/// Largest extent, m.
pub(super) fn size(field: &HeightField) -> f64 {
    let high = field.heights.iter().fold(0.0, |l: f64, h| l.max(h.abs()));
    field.half[0].hypot(field.half[1]).max(high)
}

/// Cells about a coordinate: the one it is in, and its neighbour where it is on the line between.
fn cells(x: f64, half: f64, count: usize) -> std::ops::RangeInclusive<usize> {
    let at = (x + half) / (2.0 * half) * count as f64;
    let last = (count - 1) as f64;
    let cell = |x: f64| x.floor().clamp(0.0, last) as usize;
    cell(at - 1e-6)..=cell(at + 1e-6)
}

/// Calls `f` with the corners of every triangle that a point may lie on, counter-clockwise seen from above.
fn for_facets(field: &HeightField, point: Vector3<f64>, mut f: impl FnMut([Vector3<f64>; 3])) {
    for row in cells(point.y, field.half[1], field.n_rows - 1) {
        for col in cells(point.x, field.half[0], field.n_cols - 1) {
            for corners in HeightField::triangles(row, col) {
                f(corners.map(|(row, col)| field.vertex(row, col)));
            }
        }
    }
}

/// Edge of a triangle that a point is on, within its ends.
fn on_edge(from: Vector3<f64>, to: Vector3<f64>, point: Vector3<f64>, near: f64) -> Option<Vector3<f64>> {
    let edge = (to - from).try_normalize(0.0)?;
    let along = (point - from).dot(&edge);
    let off = (point - from - edge * along).norm();
    (off <= near && along > 0.0 && along < (to - from).norm()).then_some(edge)
}

/// The feature of the ground at a point whose outward direction is `out`, both in the field's frame.
pub(super) fn feature(field: &HeightField, point: Vector3<f64>, out: Vector3<f64>) -> Result<Local, &'static str> {
    let near = SAME * size(field);
    let (mut faced, mut cornered, mut edge, mut inner) = (false, false, None, None);
    for_facets(field, point, |corners| {
        let normal = (corners[1] - corners[0]).cross(&(corners[2] - corners[0])).normalize();
        let over = (0..3).all(|i| {
            let (from, to) = (corners[i], corners[(i + 1) % 3]);
            (to - from).cross(&(point - from)).dot(&normal) >= -near * (to - from).norm()
        });
        if !over || (point - corners[0]).dot(&normal).abs() > near {
            return;
        }
        faced |= (normal - out).norm() <= SAME;
        cornered |= corners.iter().any(|c| (c - point).norm() <= near);
        edge = edge.or_else(|| (0..3).find_map(|i| on_edge(corners[i], corners[(i + 1) % 3], point, near)));
        inner = inner.or(Some(normal));
    });
    if cornered {
        return Ok(Local { on_face: faced, ..Local::default() });
    }
    // Within a face that has the normal, the edge between it and another that lies in its plane does not hold a point.
    if let Some(edge) = edge.filter(|_| !faced) {
        let along = Few::from([edge]);
        return Ok(Local { slides: along, holds: along, ..Local::default() });
    }
    let normal = inner.ok_or("a point that is not on the ground")?;
    let slides = plane_of(normal);
    Ok(Local { on_face: faced, holds: slides, slides, ..Local::default() })
}

/// Directions of the edges at a point that a direction is across.
pub(super) fn edges_across(field: &HeightField, point: Vector3<f64>, out: Vector3<f64>) -> Few {
    let near = SAME * size(field);
    let mut found = Few::default();
    for_facets(field, point, |corners| {
        for i in 0..3 {
            if let Some(edge) = on_edge(corners[i], corners[(i + 1) % 3], point, near)
                && edge.dot(&out).abs() <= SAME
                && !found.iter().any(|known| known.cross(&edge).norm() <= SAME)
            {
                found.push(edge);
            }
        }
    });
    found
}
