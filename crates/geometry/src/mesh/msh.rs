//! MSH, MuJoCo's own binary format: counts of vertices, normals, texture coordinates and triangles, then these.

use super::TriangleMesh;
use crate::Vec3;

const WORD: usize = 4;

/// Reads vertices and triangles; a file without triangles is a cloud of vertices.
pub(super) fn read(bytes: &[u8]) -> Result<TriangleMesh, String> {
    let words: Vec<[u8; WORD]> = bytes.chunks_exact(WORD).map(|w| [w[0], w[1], w[2], w[3]]).collect();
    let count = |at: usize| words.get(at).and_then(|&w| usize::try_from(i32::from_le_bytes(w)).ok());
    let counts = [0, 1, 2, 3].map(count);
    let [Some(vertices), Some(normals), Some(texture), Some(triangles)] = counts else {
        return Err("a MSH file begins with four counts".into());
    };
    let parts = [vertices.checked_mul(3), normals.checked_mul(3), texture.checked_mul(2), triangles.checked_mul(3)];
    let total = parts.iter().try_fold(4_usize, |sum, part| sum.checked_add((*part)?));
    if total != Some(words.len()) || !bytes.len().is_multiple_of(WORD) {
        return Err(format!(
            "MSH of {vertices} vertices, {normals} normals, {texture} texture coordinates and {triangles} triangles, but \
             {} bytes long",
            bytes.len()
        ));
    }
    let own = &words[4..4 + 3 * vertices];
    let vertex = |v: &[[u8; WORD]]| Vec3::new(real(v[0]), real(v[1]), real(v[2]));
    let corners = &words[words.len() - 3 * triangles..];
    let triangle = |t: &[[u8; WORD]]| [t[0], t[1], t[2]].map(u32::from_le_bytes);
    let triangles: Vec<[u32; 3]> = corners.chunks_exact(3).map(triangle).collect();
    let places = &words[4 + 3 * (vertices + normals)..];
    let place =
        |v: u32| Some([real(*places.get(2 * v as usize)?) as f32, real(*places.get(2 * v as usize + 1)?) as f32]);
    let lie = |t: &[u32; 3]| Some([place(t[0])?, place(t[1])?, place(t[2])?]);
    Ok(TriangleMesh {
        vertices: own.chunks_exact(3).map(vertex).collect(),
        texture: if texture == vertices { triangles.iter().map(lie).collect::<Option<_>>() } else { None }
            .unwrap_or_default(),
        triangles,
    })
}

fn real(word: [u8; WORD]) -> f64 {
    f32::from_le_bytes(word).into()
}
