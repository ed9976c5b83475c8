//! Surface nets: the zero surface of a function as a closed mesh of quadrilaterals, one vertex for each cell it crosses.
//!
//! S. F. F. Gibson, "Constrained elastic surface nets" (1998), without the relaxation: the vertices are brought onto the
//! surface by Newton's method instead.

use rayon::prelude::*;

use super::DistanceFunction;
use crate::Vec3;
use crate::mesh::TriangleMesh;

/// More cells than this are taken for a mistake.
const MAX_CELLS: f64 = 5e7;
/// Newton steps that bring a vertex onto the surface.
const PROJECTIONS: usize = 8;

/// A cell without a vertex.
const NONE: u32 = u32::MAX;

/// The corners of a cell, x fastest.
const CORNERS: [[usize; 3]; 8] =
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]];

/// Its edges, as pairs of corners.
const EDGES: [[usize; 2]; 12] =
    [[0, 1], [2, 3], [4, 5], [6, 7], [0, 2], [1, 3], [4, 6], [5, 7], [0, 4], [1, 5], [2, 6], [3, 7]];

/// Meshes a function with cells of an edge of `spacing` m.
pub(super) fn mesh(function: &DistanceFunction, spacing: f64) -> Result<TriangleMesh, String> {
    let half = function.half_extents();
    // A cell more on each side, so that the surface closes; an odd shift keeps flat faces off the grid's planes.
    let counts = half.map(|h| (2.0 * h / spacing).ceil() + 3.0);
    if counts.product().is_nan() || counts.product() > MAX_CELLS {
        let [x, y, z] = [counts.x, counts.y, counts.z];
        return Err(format!("a spacing of {spacing} m makes {x} x {y} x {z} cells, and there may be {MAX_CELLS:e}"));
    }
    let [nx, ny, nz] = [counts.x, counts.y, counts.z].map(|c| c as usize + 1);
    let origin = -0.5 * spacing * (counts - Vec3::new(0.137, 0.071, 0.093));
    let place = |c: [usize; 3]| origin + spacing * Vec3::new(c[0] as f64, c[1] as f64, c[2] as f64);
    let number = |c: [usize; 3]| (c[2] * ny + c[1]) * nx + c[0];
    let mut values = vec![0.0; nx * ny * nz];
    values.par_chunks_exact_mut(nx * ny).enumerate().for_each(|(z, layer)| {
        for (at, value) in layer.iter_mut().enumerate() {
            *value = function.distance(&place([at % nx, at / nx, z])).0;
        }
    });
    let (mut starts, mut triangles) = (Vec::new(), Vec::new());
    // The vertex of each cell of the layer at hand, and of the one below.
    let (mut above, mut below) = (vec![NONE; nx * ny], vec![NONE; nx * ny]);
    for z in 0..nz - 1 {
        std::mem::swap(&mut above, &mut below);
        above.fill(NONE);
        for y in 0..ny - 1 {
            for x in 0..nx - 1 {
                let at = CORNERS.map(|c| [x + c[0], y + c[1], z + c[2]]);
                let value = at.map(|c| values[number(c)]);
                if value.iter().all(|v| *v < 0.0) || value.iter().all(|v| *v >= 0.0) {
                    continue;
                }
                let (mut sum, mut count) = (Vec3::zeros(), 0.0);
                for [a, b] in EDGES {
                    if (value[a] < 0.0) != (value[b] < 0.0) {
                        let t = value[a] / (value[a] - value[b]);
                        sum += place(at[a]).lerp(&place(at[b]), t);
                        count += 1.0;
                    }
                }
                above[y * nx + x] = starts.len() as u32;
                starts.push(sum / count);
            }
        }
        if z == 0 {
            continue;
        }
        // Around the edges that begin in this layer of corners are cells of this layer and the one below.
        for y in 1..ny - 1 {
            for x in 1..nx - 1 {
                let inside = values[number([x, y, z])] < 0.0;
                for axis in 0..3 {
                    let mut next = [x, y, z];
                    next[axis] += 1;
                    if inside == (values[number(next)] < 0.0) {
                        continue;
                    }
                    // The four cells about the edge, counter-clockwise seen from its far end.
                    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
                    let cell = |du: usize, dv: usize| {
                        let mut c = [x, y, z];
                        (c[u], c[v]) = (c[u] - du, c[v] - dv);
                        let layer = if c[2] == z { &above } else { &below };
                        Some(layer[c[1] * nx + c[0]]).filter(|&vertex| vertex != NONE)
                    };
                    let about = [cell(0, 0), cell(1, 0), cell(1, 1), cell(0, 1)];
                    let [Some(a), Some(b), Some(c), Some(d)] = about else { continue };
                    triangles.extend(if inside { [[a, b, c], [a, c, d]] } else { [[a, c, b], [a, d, c]] });
                }
            }
        }
    }
    let vertices = starts.into_par_iter().map(|start| onto_surface(function, start, spacing)).collect();
    if triangles.is_empty() {
        return Err(format!("a spacing of {spacing} m is too coarse: no cell is inside the solid"));
    }
    Ok(TriangleMesh { vertices, triangles, ..TriangleMesh::default() })
}

/// Newton's method along the gradient; a vertex that strays by more than a cell (at an edge of the function) stays.
fn onto_surface(function: &DistanceFunction, start: Vec3, spacing: f64) -> Vec3 {
    let mut at = start;
    for _ in 0..PROJECTIONS {
        let (distance, gradient) = function.distance(&at);
        if distance == 0.0 {
            break;
        }
        at -= gradient * distance;
    }
    if (at - start).norm() < spacing { at } else { start }
}
