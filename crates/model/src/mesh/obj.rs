//! Wavefront OBJ: vertices, where on a texture they lie, and faces.

use super::TriangleMesh;
use crate::Vec3;

/// A corner of a face: the numbers of its vertex, and of where it lies on a texture if it says that.
type Corner = (u32, Option<u32>);

/// Reads positions, places on a texture and faces; polygons are split into fans.
pub(super) fn read(bytes: &[u8]) -> Result<TriangleMesh, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut mesh = TriangleMesh::default();
    let mut places = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let result = match words.next() {
            Some("v") => numbers(words).map(|[x, y, z]| mesh.vertices.push(Vec3::new(x, y, z))),
            // Counted from the lower edge of the picture, which is where a place of one number lies.
            Some("vt") => numbers(words.chain(["0"])).map(|[u, v]| places.push([u as f32, 1.0 - v as f32])),
            Some("f") => face(words, mesh.vertices.len(), places.len()).map(|fan| {
                for triangle in fan {
                    mesh.triangles.push(triangle.map(|corner| corner.0));
                    let place = |(_, place): Corner| places[place? as usize].into();
                    if let [Some(a), Some(b), Some(c)] = triangle.map(place) {
                        mesh.texture.push([a, b, c]);
                    }
                }
            }),
            _ => Ok(()),
        };
        result.map_err(|message| format!("line {}: {message}", index + 1))?;
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

fn face<'a>(words: impl Iterator<Item = &'a str>, vertices: usize, places: usize) -> Result<Vec<[Corner; 3]>, String> {
    let corners = words.map(|word| corner(word, vertices, places)).collect::<Result<Vec<Corner>, String>>()?;
    match corners[..] {
        [first, _, _, ..] => Ok(corners[1..].windows(2).map(|pair| [first, pair[0], pair[1]]).collect()),
        _ => Err(format!("a face needs 3 corners, found {}", corners.len())),
    }
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
    u32::try_from(index).ok().filter(|_| index < count)
}
