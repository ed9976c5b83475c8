//! Meshes of tetrahedra, and their files.

mod gmsh;
mod vtk;

use std::path::Path;

use crate::{Location, ModelError, Order, Vec3};

/// Nodes and tetrahedra, as in [`crate::SoftBody`]: what a file of them holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Tetrahedra {
    /// Positions in the file's order and unit (a soft body wants m).
    pub nodes: Vec<Vec3>,
    /// Nodes of each tetrahedron, [`Order::nodes`] each, in the order of [`crate::SoftBody::elements`].
    pub elements: Vec<u32>,
    /// Linear with four nodes, quadratic with ten.
    pub order: Order,
}

impl Tetrahedra {
    /// Reads a file, by its extension: Gmsh's `.msh` (text of version 2.2 or 4.1) or VTK's legacy `.vtk` (an unstructured grid,
    /// text or binary).
    ///
    /// # Errors
    /// As [`Self::from_bytes`], and what the system says of a file that cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| ModelError::Io { path: path.to_owned(), source })?;
        Self::from_bytes(path, &bytes)
    }

    /// Reads Gmsh's format, without turning anything round.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_gmsh(bytes: &[u8]) -> Result<Self, String> {
        gmsh::read(bytes)
    }

    /// Reads the content of the file `path`. Triangles, lines and points are left out; tetrahedra that are inside out are
    /// turned round. Whether the mesh will do for a soft body is checked when the model is built.
    ///
    /// # Errors
    /// A [`ModelError::Import`] names the file, the line where the format tells, and the element, where the file is of another
    /// kind, broken, or holds other cells than tetrahedra, or those of four nodes and of ten.
    pub fn from_bytes(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Self, ModelError> {
        let path = path.as_ref();
        let read = match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("msh") => gmsh::read(bytes).map_err(|message| (0, message)),
            Some("vtk") => vtk::read(bytes),
            _ => Err((
                0,
                "unknown kind of file of tetrahedra: expected .msh (Gmsh) or .vtk (VTK's legacy format)".into(),
            )),
        };
        let mut mesh = read.map_err(|(line, message)| {
            let location = Location { file: path.to_owned(), line, element: String::new() };
            ModelError::Import { location, message }
        })?;
        mesh.orient();
        Ok(mesh)
    }

    /// Turns round the elements that are inside out. What has a node that is not there is left.
    pub fn orient(&mut self) {
        for element in self.elements.chunks_exact_mut(self.order.nodes()) {
            let [Some(a), Some(b), Some(c), Some(d)] = [0, 1, 2, 3].map(|k| self.nodes.get(element[k] as usize)) else {
                continue;
            };
            if (b - a).cross(&(c - a)).dot(&(d - a)) < 0.0 {
                element.swap(1, 2);
                if self.order == Order::Quadratic {
                    // Edges 01 and 20 change places, and 13 and 23.
                    element.swap(4, 6);
                    element.swap(8, 9);
                }
            }
        }
    }
}

/// Triangles of the sides of tetrahedra that no other one shares, seen from outside in the order that turns left. The side of a
/// quadratic one is four, between its corners and the middles of its edges.
pub(crate) fn outside(elements: &[u32], order: Order) -> Vec<[u32; 3]> {
    let n = order.nodes();
    let mut sides: Vec<([u32; 3], [usize; 3], usize)> = Vec::with_capacity(4 * elements.len() / n);
    for (number, e) in elements.chunks_exact(n).enumerate() {
        for side in [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]] {
            let mut sorted = side.map(|k| e[k]);
            sorted.sort_unstable();
            sides.push((sorted, side, number));
        }
    }
    sides.sort_unstable();
    let mut alone: Vec<_> =
        sides.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() == 1).map(|same| (same[0].2, same[0].1)).collect();
    alone.sort_unstable_by_key(|&(element, side)| (element, side.map(|k| elements[element * n + k])));
    let triangles = alone.into_iter().flat_map(|(element, side)| {
        let own = &elements[element * n..][..n];
        order.triangles(side).into_iter().map(move |triangle| triangle.map(|k| own[k]))
    });
    triangles.collect()
}

/// The points that are in an element, ascending, and the elements by these points' numbers among them.
pub(crate) fn used(mesh: &Tetrahedra) -> (Vec<u32>, Vec<u32>) {
    let mut points = mesh.elements.clone();
    points.sort_unstable();
    points.dedup();
    let mut places = vec![0; mesh.nodes.len()];
    points.iter().zip(0..).for_each(|(&point, place)| places[point as usize] = place);
    let elements = mesh.elements.iter().map(|&point| places[point as usize]).collect();
    (points, elements)
}
