//! Meshes of tetrahedra as MuJoCo's flexcomps make them. Importers have checked what they pass.

use std::collections::{BTreeSet, HashMap};

use crate::{Order, Tetrahedra, Vec3};

/// Tetrahedra of a cell between its corners, numbered 4 x + 2 y + z: MuJoCo's.
const CELL: [[usize; 4]; 6] = [[0, 2, 4, 3], [0, 4, 1, 3], [4, 2, 6, 3], [4, 6, 7, 3], [4, 5, 1, 3], [4, 7, 5, 3]];

/// Cells of six tetrahedra each between points about the origin, the last axis fastest. `count`: of points along each
/// axis, two at least.
pub fn grid(count: [usize; 3], spacing: Vec3) -> Tetrahedra {
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
    Tetrahedra { nodes, elements, order: Order::Linear }
}

/// MuJoCo's box, cylinder or ellipsoid: the centre first, then points on the surface, each triangle of which makes a
/// tetrahedron with the centre. `count`: as of [`grid`].
pub fn shell(kind: &str, count: [usize; 3], spacing: Vec3) -> Tetrahedra {
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
    Tetrahedra { nodes, elements, order: Order::Linear }
}

/// Makes linear elements quadratic: middles of edges become nodes behind the others, pinned where both ends are. All
/// of its nodes must be there.
pub fn refine(mesh: &mut Tetrahedra, pinned: &mut BTreeSet<u32>) {
    let mut middles: HashMap<[u32; 2], u32> = HashMap::new();
    let mut elements = Vec::with_capacity(mesh.elements.len() / 4 * 10);
    for element in mesh.elements.chunks_exact(4) {
        elements.extend_from_slice(element);
        for [i, j] in Order::EDGES {
            let [a, b] = [element[i].min(element[j]), element[i].max(element[j])];
            let middle = *middles.entry([a, b]).or_insert_with(|| {
                let node = mesh.nodes.len() as u32;
                mesh.nodes.push((mesh.nodes[a as usize] + mesh.nodes[b as usize]) / 2.0);
                if pinned.contains(&a) && pinned.contains(&b) {
                    pinned.insert(node);
                }
                node
            });
            elements.push(middle);
        }
    }
    (mesh.elements, mesh.order) = (elements, Order::Quadratic);
}

/// All points of a grid, the last axis fastest.
fn lattice([nx, ny, nz]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..nx * ny * nz).map(move |i| [i / (ny * nz), i / nz % ny, i % nz])
}

/// Steps from the middle of a grid to a point of it.
fn from_centre(point: [usize; 3], count: [usize; 3]) -> Vec3 {
    Vec3::from_fn(|k, _| point[k] as f64 - (count[k] - 1) as f64 / 2.0)
}
