//! STL, binary and ASCII.

use std::collections::HashMap;

use super::TriangleMesh;
use crate::Vec3;

const HEADER: usize = 84;
const RECORD: usize = 50;

/// Reads either kind, and merges vertices of the same position.
pub(super) fn read(bytes: &[u8]) -> Result<TriangleMesh, String> {
    // Some binary files start with "solid" too: the size decides.
    let count = bytes.get(80..84).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) as usize);
    match count {
        Some(count) if count.checked_mul(RECORD).and_then(|n| n.checked_add(HEADER)) == Some(bytes.len()) => {
            Ok(binary(&bytes[HEADER..]))
        }
        _ if bytes.trim_ascii_start().starts_with(b"solid") => ascii(bytes),
        Some(count) => Err(format!("binary STL of {count} triangles, but {} bytes long", bytes.len())),
        None => Err("too short for a binary STL, and no ASCII one".into()),
    }
}

fn binary(records: &[u8]) -> TriangleMesh {
    let mut soup = Soup::default();
    for record in records.chunks_exact(RECORD) {
        // A normal of 12 bytes comes first, which the corners tell as well.
        let float = |at: usize| f32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
        soup.triangle([12, 24, 36].map(|at| [float(at), float(at + 4), float(at + 8)]));
    }
    soup.mesh
}

fn ascii(bytes: &[u8]) -> Result<TriangleMesh, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "neither binary STL by its size nor text")?;
    let mut soup = Soup::default();
    let mut corners: Vec<[f32; 3]> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("vertex") => {
                let numbers: Result<Vec<f32>, _> = words.map(str::parse).collect();
                let vertex = numbers.ok().and_then(|n| <[f32; 3]>::try_from(n).ok());
                corners.push(vertex.ok_or_else(|| format!("line {}: a vertex needs 3 numbers", index + 1))?);
            }
            Some("endloop") => {
                let triangle = <[[f32; 3]; 3]>::try_from(std::mem::take(&mut corners));
                soup.triangle(triangle.map_err(|c| format!("line {}: a facet of {} vertices", index + 1, c.len()))?);
            }
            _ => {}
        }
    }
    Ok(soup.mesh)
}

#[derive(Default)]
struct Soup {
    mesh: TriangleMesh,
    index: HashMap<[u32; 3], u32>,
}

impl Soup {
    fn triangle(&mut self, corners: [[f32; 3]; 3]) {
        let vertices = &mut self.mesh.vertices;
        let triangle = corners.map(|corner| {
            // Adding zero makes one of the two zeros.
            *self.index.entry(corner.map(|x| (x + 0.0).to_bits())).or_insert_with(|| {
                vertices.push(Vec3::from(corner.map(f64::from)));
                (vertices.len() - 1) as u32
            })
        });
        self.mesh.triangles.push(triangle);
    }
}
