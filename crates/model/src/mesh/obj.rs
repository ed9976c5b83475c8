//! Wavefront OBJ: vertices and faces; everything else in the file is about looks.

use super::TriangleMesh;
use crate::Vec3;

/// Reads positions and faces; polygons are split into fans.
pub(super) fn read(bytes: &[u8]) -> Result<TriangleMesh, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut mesh = TriangleMesh { vertices: Vec::new(), triangles: Vec::new() };
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let result = match words.next() {
            Some("v") => vertex(words).map(|v| mesh.vertices.push(v)),
            Some("f") => face(words, mesh.vertices.len()).map(|f| mesh.triangles.extend(f)),
            _ => Ok(()),
        };
        result.map_err(|message| format!("line {}: {message}", index + 1))?;
    }
    Ok(mesh)
}

fn vertex<'a>(words: impl Iterator<Item = &'a str>) -> Result<Vec3, String> {
    // A weight or a colour may follow.
    let numbers: Result<Vec<f64>, _> = words.take(3).map(str::parse).collect();
    let numbers = numbers.map_err(|_| "a coordinate is not a number".to_owned())?;
    match numbers[..] {
        [x, y, z] => Ok(Vec3::new(x, y, z)),
        _ => Err(format!("a vertex needs 3 numbers, found {}", numbers.len())),
    }
}

fn face<'a>(words: impl Iterator<Item = &'a str>, count: usize) -> Result<Vec<[u32; 3]>, String> {
    let corners = words.map(|word| corner(word, count)).collect::<Result<Vec<u32>, String>>()?;
    match corners[..] {
        [first, _, _, ..] => Ok(corners[1..].windows(2).map(|pair| [first, pair[0], pair[1]]).collect()),
        _ => Err(format!("a face needs 3 corners, found {}", corners.len())),
    }
}

/// `v`, `v/vt`, `v//vn` or `v/vt/vn`; counted from 1, or backwards from the last vertex.
fn corner(word: &str, count: usize) -> Result<u32, String> {
    let number = word.split('/').next().and_then(|w| w.parse::<i64>().ok());
    let index = match number {
        Some(n) if n > 0 => usize::try_from(n - 1).ok(),
        Some(n) if n < 0 => usize::try_from(n.unsigned_abs()).ok().and_then(|back| count.checked_sub(back)),
        _ => None,
    };
    let index = index.filter(|&i| i < count).and_then(|i| u32::try_from(i).ok());
    index.ok_or_else(|| format!("a corner refers to vertex `{word}`, there are {count} so far"))
}
