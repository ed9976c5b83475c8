//! Convex hulls with the flat faces that contact manifolds are cut from.

use manyworlds_model::{Mesh, Vec3};
use parry3d_f64::math::Vector;
use parry3d_f64::transformation::try_convex_hull;

use crate::organise::Components;

/// Triangles whose normals differ by less than this (1 - cosine) and that share an edge are one face.
const FLAT: f64 = 1e-6;

/// Half the thickness that a mesh is given which is too flat to have sides, in units of its extent.
const THIN: f64 = 1e-3;

/// A flat face.
#[derive(Debug)]
pub(crate) struct Face {
    /// Unit, outward.
    pub(crate) normal: Vec3,
    /// Vertices, counter-clockwise seen from outside.
    pub(crate) corners: Vec<u32>,
}

/// A convex polyhedron about the centre of its bounding box.
#[derive(Debug)]
pub(crate) struct Hull {
    /// That centre in the mesh's frame, m.
    pub(crate) centre: Vec3,
    /// About the centre, m.
    pub(crate) vertices: Vec<Vec3>,
    pub(crate) faces: Vec<Face>,
}

impl Hull {
    /// The hull of a mesh's vertices.
    pub(crate) fn new(mesh: &Mesh) -> Result<Self, String> {
        if mesh.vertices.len() < 4 {
            return Err(format!("expected at least 4 vertices, found {}", mesh.vertices.len()));
        }
        if !mesh.vertices.iter().all(|v| v.iter().all(|x| x.is_finite())) {
            return Err("expected finite vertices".into());
        }
        let mut low = mesh.vertices[0];
        let mut high = low;
        for vertex in &mesh.vertices {
            (low, high) = (low.inf(vertex), high.sup(vertex));
        }
        let centre = 0.5 * (low + high);
        // The hull is taken in units of the mesh, as its algorithm has absolute tolerances.
        let size = (high - low).amax();
        if size <= 0.0 {
            return Err("expected a volume, found a point".into());
        }
        let points: Vec<Vector> =
            mesh.vertices.iter().map(|v| (v - centre) / size).map(|v| Vector::new(v.x, v.y, v.z)).collect();
        let (mut vertices, mut faces) = solid(&points)?;
        if faces.len() < 4 {
            // Too flat for sides of its own: a thin slab.
            let Some(normal) = faces.first().map(|face| face.normal) else {
                return Err("expected a volume, found a flat mesh".into());
            };
            let offset = Vector::new(normal.x, normal.y, normal.z) * THIN;
            let slab: Vec<Vector> = points.iter().flat_map(|&p| [p - offset, p + offset]).collect();
            (vertices, faces) = solid(&slab)?;
        }
        if faces.len() < 4 {
            return Err("expected a volume, found a flat mesh".into());
        }
        if vertices.len() > usize::from(u16::MAX) {
            return Err(format!("expected a hull of at most {} vertices, found {}", u16::MAX, vertices.len()));
        }
        Ok(Self { centre, vertices: vertices.iter().map(|v| v * size).collect(), faces })
    }
}

/// Vertices and faces of the hull of some points.
fn solid(points: &[Vector]) -> Result<(Vec<Vec3>, Vec<Face>), String> {
    let (vertices, triangles) = try_convex_hull(points).map_err(|e| format!("expected a volume: {e}"))?;
    let vertices: Vec<Vec3> = vertices.iter().map(|v| Vec3::new(v.x, v.y, v.z)).collect();
    let faces = faces(&vertices, &triangles);
    Ok((vertices, faces))
}

/// Merges coplanar neighbours among triangles.
fn faces(vertices: &[Vec3], triangles: &[[u32; 3]]) -> Vec<Face> {
    let normal = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|i| vertices[i as usize]);
        (b - a).cross(&(c - a)).try_normalize(0.0)
    };
    // Slivers have no normal of their own; their neighbours' faces cover them.
    let solid: Vec<([u32; 3], Vec3)> = triangles.iter().filter_map(|t| Some((*t, normal(t)?))).collect();
    let mut edges: Vec<((u32, u32), usize)> = Vec::with_capacity(3 * solid.len());
    for (index, (t, _)) in solid.iter().enumerate() {
        for i in 0..3 {
            let (from, to) = (t[i], t[(i + 1) % 3]);
            edges.push(((from.min(to), from.max(to)), index));
        }
    }
    edges.sort_unstable();
    let mut group = Components::default();
    group.separate(solid.len());
    for pair in edges.windows(2) {
        let (first, second) = (pair[0].1, pair[1].1);
        if pair[0].0 == pair[1].0 && solid[first].1.dot(&solid[second].1) > 1.0 - FLAT {
            group.join(first as u32, second as u32);
        }
    }
    let mut members = vec![Vec::new(); solid.len()];
    for index in 0..solid.len() {
        members[group.root(index as u32) as usize].push(index);
    }
    members.iter().filter(|m| !m.is_empty()).map(|m| face(vertices, &solid, m)).collect()
}

/// One face from its triangles: their vertices in the order of their angle about the middle.
fn face(vertices: &[Vec3], solid: &[([u32; 3], Vec3)], members: &[usize]) -> Face {
    let mut corners: Vec<u32> = members.iter().flat_map(|&m| solid[m].0).collect();
    corners.sort_unstable();
    corners.dedup();
    // Weighted by area, so that slim triangles do not tilt it.
    let mut sum = Vec3::zeros();
    for &m in members {
        let [a, b, c] = solid[m].0.map(|i| vertices[i as usize]);
        sum += (b - a).cross(&(c - a));
    }
    let normal = sum.try_normalize(0.0).unwrap_or(solid[members[0]].1);
    let middle = corners.iter().map(|&c| vertices[c as usize]).sum::<Vec3>() / corners.len() as f64;
    let across = vertices[corners[0] as usize] - middle;
    let u = (across - normal * across.dot(&normal)).try_normalize(0.0).unwrap_or_else(Vec3::x);
    let v = normal.cross(&u);
    let angle = |c: u32| {
        let out = vertices[c as usize] - middle;
        out.dot(&v).atan2(out.dot(&u))
    };
    corners.sort_by(|&a, &b| angle(a).total_cmp(&angle(b)));
    Face { normal, corners }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mesh(vertices: &[[f64; 3]]) -> Mesh {
        let vertices = vertices.iter().map(|&v| Vec3::from(v)).collect();
        Mesh { name: String::new(), vertices, triangles: Vec::new(), surface: None }
    }

    /// A cube of a millimetre and one of a kilometre have six square faces each, whatever lies inside.
    #[test]
    fn flat_faces_are_whole() {
        for size in [1e-3, 1.0, 1e3] {
            let mut corners = vec![[0.1 * size; 3]];
            for bits in 0..8u32 {
                corners.push([0, 1, 2].map(|i| size * f64::from(bits >> i & 1)));
            }
            let hull = Hull::new(&mesh(&corners)).unwrap();
            assert_eq!((hull.vertices.len(), hull.faces.len()), (8, 6));
            assert!((hull.centre - Vec3::repeat(0.5 * size)).norm() < 1e-12 * size);
            for face in &hull.faces {
                assert_eq!(face.corners.len(), 4);
                let [a, b, c] = [0, 1, 2].map(|i| hull.vertices[face.corners[i] as usize]);
                assert!((b - a).cross(&(c - b)).normalize().dot(&face.normal) > 1.0 - 1e-9, "counter-clockwise");
                assert!(a.dot(&face.normal) > 0.0, "outward");
            }
        }
    }

    /// A square, flat or bulging by a millionth, is a slab.
    #[test]
    fn too_flat_for_sides() {
        for bulge in [0.0, 1e-6] {
            let flat = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [2.0, 2.0, 0.0], [1.0, 1.0, bulge]];
            let hull = Hull::new(&mesh(&flat)).unwrap();
            assert_eq!(hull.faces.len(), 6, "{hull:?}");
            let thickness = hull.vertices.iter().map(|v| v.z).fold(0.0, f64::max);
            assert!((thickness - 2.0 * THIN).abs() < 2e-6, "{thickness}");
        }
    }

    #[test]
    fn without_volume() {
        let flat = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
        let line = [0.0, 1.0, 2.0, 3.0].map(|x| [x, 0.0, 0.0]);
        for bad in [&flat[..], &line[..], &[[1.0; 3]; 8][..], &[[f64::NAN; 3]; 4][..]] {
            assert!(Hull::new(&mesh(bad)).is_err(), "{bad:?}");
        }
    }
}
