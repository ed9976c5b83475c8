//! Wavefront OBJ: vertices, where on a texture they lie, and faces.

use super::{TriangleMesh, polygon};
use crate::Vec3;

/// A corner of a face: the numbers of its vertex, and of where it lies on a texture if it says that.
type Corner = (u32, Option<u32>);

/// A face and the line it stands on.
type Face = (usize, Vec<Corner>);

/// Reads positions, places on a texture, and the faces of the first object or group that has some: MuJoCo takes no others,
/// though their vertices count for the hull.
pub(super) fn read(bytes: &[u8]) -> Result<TriangleMesh, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut mesh = TriangleMesh::default();
    let (mut places, mut faces) = (Vec::new(), Vec::<Face>::new());
    let mut is_first = true;
    for (index, line) in text.lines().enumerate() {
        let at = |message: String| format!("line {}: {message}", index + 1);
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                // In single precision, as STL and MuJoCo have them.
                let [x, y, z] = numbers(words).map_err(at)?.map(|x| f64::from(x as f32));
                mesh.vertices.push(Vec3::new(x, y, z));
            }
            // Counted from the lower edge of the picture, which is where a place of one number lies.
            Some("vt") => {
                let [u, v] = numbers(words.chain(["0"])).map_err(at)?;
                places.push([u as f32, 1.0 - v as f32]);
            }
            Some("f") if is_first => {
                let corners = words.map(|word| corner(word, mesh.vertices.len(), places.len()));
                faces.push((index + 1, corners.collect::<Result<_, _>>().map_err(at)?));
            }
            Some("o" | "g") => is_first = faces.is_empty(),
            _ => {}
        }
    }
    // Faces may stand before their vertices.
    for (line, corners) in faces {
        let vertex = |&(vertex, _): &Corner| mesh.vertices.get(vertex as usize).copied().ok_or(vertex);
        let polygon = corners.iter().map(vertex).collect::<Result<Vec<Vec3>, u32>>().map_err(|vertex| {
            let (number, count) = (u64::from(vertex) + 1, mesh.vertices.len());
            format!("line {line}: a corner refers to vertex {number}, there are {count}")
        })?;
        for triangle in polygon::triangles(&polygon) {
            let triangle = triangle.map(|k| corners[k]);
            mesh.triangles.push(triangle.map(|(vertex, _)| vertex));
            let place = |(_, place): Corner| places.get(place? as usize).copied();
            if let [Some(a), Some(b), Some(c)] = triangle.map(place) {
                mesh.texture.push([a, b, c]);
            }
        }
    }
    // A texture lies on all of it or nowhere.
    if mesh.texture.len() != mesh.triangles.len() {
        mesh.texture.clear();
    }
    Ok(mesh)
}

/// The first numbers of a line; a weight or a colour may follow.
fn numbers<'a, const N: usize>(words: impl Iterator<Item = &'a str>) -> Result<[f64; N], String> {
    let numbers: Result<Vec<f64>, _> = words.take(N).map(str::parse).collect();
    let numbers = numbers.map_err(|_| "a coordinate is not a number".to_owned())?;
    let found = numbers.len();
    numbers.try_into().map_err(|_| format!("a vertex needs {N} numbers, found {found}"))
}

/// `v`, `v/vt`, `v//vn` or `v/vt/vn`.
fn corner(word: &str, vertices: usize, places: usize) -> Result<Corner, String> {
    let mut parts = word.split('/');
    let vertex = index(parts.next(), vertices);
    let vertex = vertex.ok_or_else(|| format!("a corner refers to vertex `{word}`, there are {vertices} so far"))?;
    Ok((vertex, index(parts.next(), places)))
}

/// Counted from 1, or backwards from the last one so far.
fn index(word: Option<&str>, count: usize) -> Option<u32> {
    let index = match word?.parse::<i64>().ok()? {
        n if n > 0 => usize::try_from(n - 1).ok()?,
        0 => return None,
        n => count.checked_sub(usize::try_from(n.unsigned_abs()).ok()?)?,
    };
    u32::try_from(index).ok()
}
