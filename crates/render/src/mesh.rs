//! Triangles as the device takes them.

use bytemuck::{Pod, Zeroable};
use nalgebra::Vector3;

/// A corner of a triangle, in the frame of its mesh.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Vertex {
    /// Before it is scaled.
    pub(crate) position: [f32; 3],
    /// Outward, of length one.
    pub(crate) normal: [f32; 3],
    /// Which end of a long shape it belongs to: 1 the upper, -1 the lower, 0 neither.
    pub(crate) end: f32,
    /// Where it lies in a texture, from its upper left corner on.
    pub(crate) place: [f32; 2],
}

/// Cosine of the angle between two triangles from which on their common edge is drawn sharp.
const SHARP: f64 = 0.77;

/// Triangles with normals that are smooth where the surface is, and sharp at its edges.
pub(crate) fn from_triangles(
    vertices: &[Vector3<f64>],
    triangles: impl Iterator<Item = [u32; 3]> + Clone,
) -> Vec<Vertex> {
    textured(vertices, triangles, &[])
}

/// The same, with the places of corners in a texture; they may be missing.
pub(crate) fn textured(
    vertices: &[Vector3<f64>],
    triangles: impl Iterator<Item = [u32; 3]> + Clone,
    places: &[[[f32; 2]; 3]],
) -> Vec<Vertex> {
    // Twice the area, along the normal.
    let face = |t: [u32; 3]| {
        let [a, b, c] = t.map(|i| vertices[i as usize]);
        (b - a).cross(&(c - a))
    };
    let faces: Vec<_> = triangles.clone().map(face).collect();
    let mut around: Vec<Vec<u32>> = vec![Vec::new(); vertices.len()];
    for (number, triangle) in triangles.clone().enumerate() {
        for corner in triangle {
            around[corner as usize].push(number as u32);
        }
    }
    let mut out = Vec::with_capacity(3 * faces.len());
    for (number, (own, triangle)) in faces.iter().zip(triangles).enumerate() {
        let Some(direction) = own.try_normalize(0.0) else { continue };
        let places = places.get(number).copied().unwrap_or_default();
        for (corner, place) in triangle.into_iter().zip(places) {
            let beside = around[corner as usize].iter().map(|&face| faces[face as usize]);
            let smooth = beside.filter(|face| face.dot(&direction) >= SHARP * face.norm());
            let normal = smooth.sum::<Vector3<f64>>().try_normalize(0.0).unwrap_or(direction);
            out.push(Vertex {
                position: vertices[corner as usize].cast::<f32>().into(),
                normal: normal.cast::<f32>().into(),
                end: 0.0,
                place,
            });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use super::from_triangles;

    /// Two squares that meet in the edge from (0, 0, 0) to (0, 1, 0), the second turned down by `angle`.
    fn folded(angle: f64) -> Vec<super::Vertex> {
        let (x, z) = (angle.cos(), -angle.sin());
        let corners = [[-1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [x, 0.0, z], [x, 1.0, z]];
        let vertices = corners.map(Vector3::from);
        from_triangles(&vertices, [[0, 2, 1], [1, 2, 3], [2, 4, 3], [3, 4, 5]].into_iter())
    }

    #[test]
    fn flat_edges_are_smooth_and_others_sharp() {
        let on_the_edge = |all: &[super::Vertex]| all[1].normal;
        let slight = on_the_edge(&folded(0.2));
        assert!(slight[0] > 0.05 && slight[2] > 0.9, "{slight:?}");
        assert_eq!(on_the_edge(&folded(1.5)), [0.0, 0.0, 1.0]);
    }
}
