//! Polygons as triangles, the way tinyobjloader does it, with which MuJoCo reads OBJ: the mass of a mesh that is not star-shaped
//! depends on where its faces are cut.

use crate::Vec3;

/// Polygons of more corners are left out, as by MuJoCo.
const MOST_CORNERS: usize = 100;

/// Triangles of a polygon, by the places of their corners in it, in single precision as tinyobjloader has it. What ears leave
/// of a tangled polygon is left out.
pub(super) fn triangles(corners: &[Vec3]) -> Vec<[usize; 3]> {
    let corners: Vec<[f32; 3]> = corners.iter().map(|v| [v.x as f32, v.y as f32, v.z as f32]).collect();
    match corners[..] {
        [_, _] | [_] | [] => Vec::new(),
        _ if corners.len() > MOST_CORNERS => Vec::new(),
        [_, _, _] => vec![[0, 1, 2]],
        [a, b, c, d] if distance(a, c) < distance(b, d) => vec![[0, 1, 2], [0, 2, 3]],
        [_, _, _, _] => vec![[0, 1, 3], [1, 2, 3]],
        _ => ears(&project(&corners)),
    }
}

/// The square of a distance.
fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    let [x, y, z] = [0, 1, 2].map(|k| b[k] - a[k]);
    x * x + y * y + z * z
}

/// Two coordinates of each corner: without the one along which the first true corner's normal is longest.
fn project(corners: &[[f32; 3]]) -> Vec<[f32; 2]> {
    let count = corners.len();
    let normals = (0..count).map(|k| {
        let [a, b, c] = [k, k + 1, k + 2].map(|k| corners[k % count]);
        let [e, f] = [[0, 1, 2].map(|k| b[k] - a[k]), [0, 1, 2].map(|k| c[k] - b[k])];
        [(1, 2), (2, 0), (0, 1)].map(|(i, j)| (e[i] * f[j] - e[j] * f[i]).abs())
    });
    let [first, second] = match normals.into_iter().find(|n| n.iter().any(|&x| x > f32::EPSILON)) {
        None => [1, 2],
        Some([x, y, z]) if x > y && x > z => [1, 2],
        Some([x, y, z]) if z > x && z > y => [0, 1],
        Some(_) => [0, 2],
    };
    corners.iter().map(|corner| [corner[first], corner[second]]).collect()
}

/// Cuts off one corner after the other whose triangle has no other corner inside.
fn ears(corners: &[[f32; 2]]) -> Vec<[usize; 3]> {
    let mut triangles = Vec::with_capacity(corners.len() - 2);
    let mut left: Vec<usize> = (0..corners.len()).collect();
    let mut at = 0;
    // Places that may be tried since the last ear; one that is found at the last place is the last.
    let (mut tries, mut before) = (left.len(), left.len());
    while left.len() > 3 && tries > 0 {
        let count = left.len();
        at %= count;
        tries = if count == before { tries - 1 } else { count };
        before = count;
        let ear = [0, 1, 2].map(|k| left[(at + k) % count]);
        let [a, b, c] = ear.map(|k| corners[k]);
        let turn = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]);
        // Twice the area between the edge and the origin: tinyobjloader's test of a corner that points inwards.
        let side = (a[0] * b[1] - a[1] * b[0]) * 0.5;
        if turn * side < 0.0 || (3..count).any(|k| holds([a, b, c], corners[left[(at + k) % count]])) {
            at += 1;
            continue;
        }
        triangles.push(ear);
        left.remove((at + 1) % count);
    }
    triangles.extend(<[usize; 3]>::try_from(left));
    triangles
}

/// Whether a point is in a triangle: a ray from it crosses one side.
fn holds(triangle: [[f32; 2]; 3], [x, y]: [f32; 2]) -> bool {
    let sides = [(0, 2), (1, 0), (2, 1)].map(|(i, j)| (triangle[i], triangle[j]));
    let crosses = |(a, b): &([f32; 2], [f32; 2])| {
        (a[1] > y) != (b[1] > y) && x < (b[0] - a[0]) * (y - a[1]) / (b[1] - a[1]) + a[0]
    };
    sides.iter().filter(|side| crosses(side)).count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Triangles are those of MuJoCo 4.0.0 for an OBJ file with this face.
    #[test]
    fn polygons_are_cut_where_mujoco_cuts_them() {
        let cut = |corners: &[[f64; 2]]| {
            let corners: Vec<Vec3> = corners.iter().map(|&[x, y]| Vec3::new(x, y, 0.0)).collect();
            triangles(&corners)
        };
        assert_eq!(cut(&[[0.0, 0.0], [3.0, 0.0], [2.0, 1.0], [0.0, 1.0]]), TRAPEZOID);
        assert_eq!(cut(&[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]]), BEND);
        // The last ear of one that crosses itself is followed by none.
        let tangled = [
            [1.0, -0.5],
            [0.0, -0.25],
            [-1.0, -0.5],
            [-1.0, -0.75],
            [-0.25, 1.0],
            [0.75, 0.25],
            [-0.5, -0.75],
            [0.5, 0.5],
        ];
        assert_eq!(cut(&tangled), TANGLED);
        assert_eq!(cut(&tangled[..2]), [[0; 3]; 0]);
        let circle = |count: u32| {
            let angle = |k: u32| std::f64::consts::TAU * f64::from(k) / f64::from(count);
            cut(&(0..count).map(|k| [angle(k).cos(), angle(k).sin()]).collect::<Vec<_>>()).len()
        };
        assert_eq!([circle(100), circle(101)], [98, 0]);
    }

    const TRAPEZOID: [[usize; 3]; 2] = [[0, 1, 2], [0, 2, 3]];
    const BEND: [[usize; 3]; 4] = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]];
    const TANGLED: [[usize; 3]; 4] = [[2, 3, 4], [2, 4, 5], [7, 0, 1], [1, 2, 5]];
}
