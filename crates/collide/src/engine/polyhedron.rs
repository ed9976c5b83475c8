//! Convex polyhedra: hulls with what is asked of them again and again.

use super::Vector;
use super::extremes::Extremes;
#[cfg(doc)]
use super::feature::Flat;
use super::feature::{ALONE, CORNERS, Feature};
use crate::hull::{Face, Hull};

/// Both ways along each axis.
pub(super) const AXES: [Vector; 6] = [Vector::X, Vector::Y, Vector::Z, Vector::NEG_X, Vector::NEG_Y, Vector::NEG_Z];

/// Different directions of edges that a polyhedron has at most for them to be kept.
const WAYS: usize = 32;

/// A convex polyhedron about its centre.
#[derive(Debug)]
pub(super) struct Polyhedron {
    pub(super) vertices: Vec<Vector>,
    pub(super) normals: Vec<Vector>,
    /// Which vertex is farthest along a direction, and which face looks most along it.
    pub(super) farthest: Extremes,
    pub(super) foremost: Extremes,
    /// Of each face what [`Flat`] says beside its normal.
    pub(super) flats: Vec<[f64; 2]>,
    /// The faces that look most along the axes, both ways.
    pub(super) sides: [usize; 6],
    /// Directions of edges, if they are few.
    pub(super) edges: Option<Vec<Vector>>,
    /// First entry of each face in `corners`, and the end.
    pub(super) faces: Vec<u32>,
    /// Vertices round the faces, counter-clockwise seen from outside.
    pub(super) corners: Vec<u32>,
    /// Radius of the sphere about the origin that holds it.
    pub(super) radius: f64,
    /// Half edges of the box about the origin that holds it.
    pub(super) bounds: Vector,
}

impl Polyhedron {
    pub(super) fn new(hull: &Hull) -> Self {
        let convert = |v: &manyworlds_model::Vec3| super::placed::vector(v);
        let vertices: Vec<Vector> = hull.vertices.iter().map(convert).collect();
        let radius = vertices.iter().fold(0.0, |r: f64, v| r.max(v.length()));
        let bounds = vertices.iter().fold(Vector::ZERO, |most, v| most.max(v.abs()));
        let mut faces = vec![0];
        let mut corners = Vec::new();
        for face in &hull.faces {
            corners.extend_from_slice(&face.corners);
            faces.push(corners.len() as u32);
        }
        let normals: Vec<Vector> = hull.faces.iter().map(|f| convert(&f.normal)).collect();
        let (farthest, foremost) = (Extremes::new(&vertices), Extremes::new(&normals));
        let sides = AXES.map(|axis| foremost.farthest(&normals, axis));
        let edges = edge_directions(&hull.faces, &vertices);
        let bent = hull.faces.iter().zip(&normals).map(|(face, normal)| {
            let top = vertices[farthest.farthest(&vertices, *normal)].dot(*normal);
            face.corners.iter().fold(0.0, |bent: f64, &corner| bent.max(top - vertices[corner as usize].dot(*normal)))
        });
        let flats = apart(&normals).into_iter().zip(bent).map(|(apart, bent)| [apart, bent]).collect();
        Self { vertices, normals, farthest, foremost, flats, sides, edges, faces, corners, radius, bounds }
    }

    /// The vertex that is farthest along a direction.
    pub(super) fn farthest(&self, direction: Vector) -> Vector {
        self.vertices[self.farthest.farthest(&self.vertices, direction)]
    }

    /// How deep a point is inside: below all faces by no less.
    pub(super) fn depth(&self, point: Vector) -> f64 {
        let below = |(normal, &first): (&Vector, &u32)| {
            normal.dot(self.vertices[self.corners[first as usize] as usize] - point)
        };
        self.normals.iter().zip(&self.faces).map(below).fold(f64::INFINITY, f64::min)
    }

    /// The face that looks most along a direction.
    #[inline]
    pub(super) fn facing(&self, direction: Vector) -> usize {
        self.foremost.farthest(&self.normals, direction)
    }

    /// Vertices round a face.
    pub(super) fn ring(&self, face: usize) -> &[u32] {
        &self.corners[self.faces[face] as usize..self.faces[face + 1] as usize]
    }

    /// Where the corners round a face stand in `corners`, evenly thinned out to so many.
    pub(super) fn entries(&self, face: usize, most: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        let (first, count) = (self.faces[face] as usize, self.ring(face).len());
        let taken = count.min(most);
        (0..taken).map(move |i| first + i * count / taken)
    }

    pub(super) fn face(&self, direction: Vector, feature: &mut Feature) {
        let face = self.facing(direction);
        for entry in self.entries(face, CORNERS) {
            let vertex = self.corners[entry];
            feature.push(self.vertices[vertex as usize], vertex as u16, entry as u16);
        }
    }
}

/// How far each of some unit vectors is from the nearest other one; no more than [`ALONE`].
fn apart(normals: &[Vector]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..normals.len()).collect();
    order.sort_unstable_by(|&a, &b| normals[a].x.total_cmp(&normals[b].x));
    let mut apart = vec![ALONE; normals.len()];
    for (place, &one) in order.iter().enumerate() {
        let near = order[place + 1..].iter().take_while(|&&other| normals[other].x - normals[one].x < ALONE);
        for &other in near {
            let distance = normals[one].distance(normals[other]);
            apart[one] = distance.min(apart[one]);
            apart[other] = distance.min(apart[other]);
        }
    }
    apart
}

/// Directions of the edges round faces, unit, of parallel ones one, if they are no more than [`WAYS`].
fn edge_directions(faces: &[Face], vertices: &[Vector]) -> Option<Vec<Vector>> {
    let mut directions: Vec<Vector> = Vec::new();
    for face in faces {
        for (&from, &to) in face.corners.iter().zip(face.corners.iter().cycle().skip(1)) {
            // Each edge has two faces, which go along it in opposite ways.
            let edge = vertices[to as usize] - vertices[from as usize];
            let Some(direction) = edge.try_normalize().filter(|_| from < to) else { continue };
            if directions.iter().all(|d| d.dot(direction).abs() < 1.0 - 16.0 * f64::EPSILON) {
                directions.push(direction);
                if directions.len() > WAYS {
                    return None;
                }
            }
        }
    }
    Some(directions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faces are as far apart as their normals.
    #[test]
    fn faces_say_how_far_apart_they_are() {
        let tilted = Vector::new(0.03, 0.0, 1.0).normalize();
        let normals = [Vector::Z, tilted, Vector::X, Vector::NEG_X];
        let found = apart(&normals);
        assert_eq!(found[0], Vector::Z.distance(tilted));
        assert_eq!(found[..2], [found[0]; 2]);
        assert_eq!(found[2..], [ALONE; 2]);
    }
}
