//! Meshes of tetrahedra: from files, and as flexcomps make them.

mod gmsh;
mod vtk;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use crate::{Location, ModelError, Order, Vec3};

/// Tetrahedra of a cell between its corners, numbered 4 x + 2 y + z: MuJoCo's.
const CELL: [[usize; 4]; 6] = [[0, 2, 4, 3], [0, 4, 1, 3], [4, 2, 6, 3], [4, 6, 7, 3], [4, 5, 1, 3], [4, 7, 5, 3]];

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

    /// Cells of six tetrahedra each between points about the origin, the last axis fastest.
    pub fn grid(count: [usize; 3], spacing: Vec3) -> Self {
        let [nx, ny, nz] = count;
        let mut nodes = Vec::with_capacity(nx * ny * nz);
        let mut elements = Vec::new();
        for [x, y, z] in lattice(count) {
            nodes.push(from_centre([x, y, z], count).component_mul(&spacing));
            if x + 1 < nx && y + 1 < ny && z + 1 < nz {
                let corner = |k: usize| (((x + k / 4) * ny + y + k / 2 % 2) * nz + z + k % 2) as u32;
                elements.extend(CELL.iter().flatten().map(|&k| corner(k)));
            }
        }
        Self { nodes, elements, order: Order::Linear }
    }

    /// MuJoCo's box, cylinder or ellipsoid: the centre first, then points on the surface, each triangle of which makes a
    /// tetrahedron with the centre.
    pub fn shell(kind: &str, count: [usize; 3], spacing: Vec3) -> Self {
        let mut points: Vec<[usize; 3]> = Vec::new();
        let last = count.map(|n| n - 1);
        let outside = |p: &[usize; 3], k: usize| p[k] == 0 || p[k] == last[k];
        // The ends in z whole, then those in y between them, then those in x between all these.
        for axis in [2, 1, 0] {
            for end in [0, last[axis]] {
                let new = |p: &[usize; 3]| p[axis] == end && (axis + 1..3).all(|k| !outside(p, k));
                points.extend(lattice(count).filter(new));
            }
        }
        let number: HashMap<[usize; 3], u32> = points.iter().copied().zip(1..).collect();
        let mut elements = Vec::new();
        for axis in [2, 1, 0] {
            let [u, v] = [[1, 2], [0, 2], [0, 1]][axis];
            for end in [0, last[axis]] {
                let cells = |p: &[usize; 3]| p[axis] == end && p[u] < last[u] && p[v] < last[v];
                for low in lattice(count).filter(cells) {
                    let at = |du: usize, dv: usize| {
                        let mut p = low;
                        p[u] += du;
                        p[v] += dv;
                        number.get(&p).copied()
                    };
                    let corners = [at(0, 0), at(1, 0), at(1, 1), at(0, 1)];
                    if let [Some(a), Some(b), Some(c), Some(d)] = corners {
                        elements.extend([0, a, b, c, 0, d, a, c]);
                    }
                }
            }
        }
        let half = Vec3::from(last.map(|n| n as f64 / 2.0));
        let onto = |p: &[usize; 3]| {
            let at = from_centre(*p, count).component_div(&half);
            let round = match kind {
                "cylinder" => Vec3::new(at.x, at.y, 0.0),
                "ellipsoid" => at,
                _ => Vec3::zeros(),
            };
            // The farther of the axes becomes the radius.
            let factor = if round.norm() > 0.0 { round.amax() / round.norm() } else { 1.0 };
            let at = if kind == "cylinder" { Vec3::new(at.x * factor, at.y * factor, at.z) } else { at * factor };
            at.component_mul(&half).component_mul(&spacing)
        };
        let nodes = std::iter::once(Vec3::zeros()).chain(points.iter().map(onto)).collect();
        Self { nodes, elements, order: Order::Linear }
    }

    /// Turns round the elements that are inside out. Nodes must be there.
    pub fn orient(&mut self) {
        for element in self.elements.chunks_exact_mut(self.order.nodes()) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| self.nodes[element[k] as usize]);
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

    /// Makes linear elements quadratic: middles of edges become nodes behind the others, pinned where both ends are.
    pub fn refine(&mut self, pinned: &mut BTreeSet<u32>) {
        let mut middles: HashMap<[u32; 2], u32> = HashMap::new();
        let mut elements = Vec::with_capacity(self.elements.len() / 4 * 10);
        for element in self.elements.chunks_exact(4) {
            elements.extend_from_slice(element);
            for [i, j] in Order::EDGES {
                let [a, b] = [element[i].min(element[j]), element[i].max(element[j])];
                let middle = *middles.entry([a, b]).or_insert_with(|| {
                    let node = self.nodes.len() as u32;
                    self.nodes.push((self.nodes[a as usize] + self.nodes[b as usize]) / 2.0);
                    if pinned.contains(&a) && pinned.contains(&b) {
                        pinned.insert(node);
                    }
                    node
                });
                elements.push(middle);
            }
        }
        (self.elements, self.order) = (elements, Order::Quadratic);
    }
}

/// All points of a grid, the last axis fastest.
fn lattice([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..nx * ny * nz).map(move |i| [i / (ny * nz), i / nz % ny, i % nz])
}

/// Steps from the middle of a grid to a point of it.
fn from_centre(point: [usize; 3], count: [usize; 3]) -> Vec3 {
    Vec3::from_fn(|k, _| point[k] as f64 - (count[k] - 1) as f64 / 2.0)
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
