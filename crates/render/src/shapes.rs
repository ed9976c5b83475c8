//! Meshes of the shapes that need no file. An instance scales a position by axis and then moves it along z by its `end`:
//! so one mesh serves every capsule. Textures lie on them as on MuJoCo's: once round what is round, once on each side of a box.

use std::f32::consts::{PI, TAU};

use crate::mesh::Vertex;

/// How finely round shapes are cut.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circle {
    /// Sides of a circle.
    pub(crate) around: u32,
    /// Rings from an equator to a pole.
    pub(crate) rings: u32,
}

/// A ball of radius one.
pub(crate) fn sphere(circle: Circle) -> Vec<Vertex> {
    round(0.0, circle)
}

/// Two half balls of radius one that are moved apart with their ends, and the cylinder between them.
pub(crate) fn capsule(circle: Circle) -> Vec<Vertex> {
    round(1.0, circle)
}

/// A ball whose upper half belongs to the end `end` and whose lower one to the other.
fn round(end: f32, Circle { around, rings: n }: Circle) -> Vec<Vertex> {
    // From ring j to the next: latitude, end, and how far down the texture, which lies once on a ball, and where there are ends
    // once on each half and once between them.
    let belt = |j: u32, end: f32| {
        let (from, of) = if end == 0.0 { (j, 2 * n) } else { (j % n, n) };
        let ring = |step: u32| {
            let latitude = PI / 2.0 * ((j + step) as f32 / n as f32 - 1.0);
            (latitude, end, 1.0 - (from + step) as f32 / of as f32)
        };
        [ring(0), ring(1)]
    };
    let between = (end != 0.0).then_some([(0.0, -end, 1.0), (0.0, end, 0.0)]);
    let belts = (0..n).map(|j| belt(j, -end)).chain(between).chain((n..2 * n).map(|j| belt(j, end)));
    let at = |(latitude, end, down): (f32, f32, f32), i: u32| {
        let part = i as f32 / around as f32;
        let (s, c) = (TAU * part).sin_cos();
        let normal = [latitude.cos() * c, latitude.cos() * s, latitude.sin()];
        Vertex { position: normal, normal, end, place: [part, down] }
    };
    belts
        .flat_map(|[low, high]| {
            (0..around).flat_map(move |i| quad([at(low, i), at(low, i + 1), at(high, i + 1), at(high, i)]))
        })
        .collect()
}

/// A cylinder of radius one from z = -1 to z = 1.
pub(crate) fn cylinder(circle: Circle) -> Vec<Vertex> {
    let rim = |i: u32, z: f32, normal: Option<f32>| {
        let (s, c) = (TAU * i as f32 / circle.around as f32).sin_cos();
        let place = match normal {
            None => [i as f32 / circle.around as f32, (1.0 - z) / 2.0],
            Some(_) => [0.5 + 0.5 * c, 0.5 + 0.5 * s],
        };
        Vertex { position: [c, s, z], normal: normal.map_or([c, s, 0.0], |z| [0.0, 0.0, z]), end: 0.0, place }
    };
    let centre = |z: f32| Vertex { position: [0.0, 0.0, z], normal: [0.0, 0.0, z], end: 0.0, place: [0.5; 2] };
    (0..circle.around)
        .flat_map(|i| {
            let side = quad([rim(i, -1.0, None), rim(i + 1, -1.0, None), rim(i + 1, 1.0, None), rim(i, 1.0, None)]);
            let top = [centre(1.0), rim(i, 1.0, Some(1.0)), rim(i + 1, 1.0, Some(1.0))];
            let bottom = [centre(-1.0), rim(i + 1, -1.0, Some(-1.0)), rim(i, -1.0, Some(-1.0))];
            side.into_iter().chain(top).chain(bottom)
        })
        .collect()
}

/// A cone of height one over a disc of radius one about the origin.
pub(crate) fn cone(circle: Circle) -> Vec<Vertex> {
    let slant = 0.5_f32.sqrt();
    let corner = |i: f32, at: [f32; 3]| {
        let (s, c) = (TAU * i / circle.around as f32).sin_cos();
        Vertex { position: at, normal: [slant * c, slant * s, slant], end: 0.0, place: [0.0; 2] }
    };
    let rim = |i: u32| {
        let (s, c) = (TAU * i as f32 / circle.around as f32).sin_cos();
        [c, s, 0.0]
    };
    let down = |position| Vertex { position, normal: [0.0, 0.0, -1.0], end: 0.0, place: [0.0; 2] };
    let side = |i: u32| {
        let (a, b) = (i as f32, (i + 1) as f32);
        [corner(a, rim(i)), corner(b, rim(i + 1)), corner(a + 0.5, [0.0, 0.0, 1.0])]
    };
    (0..circle.around)
        .flat_map(|i| side(i).into_iter().chain([down([0.0; 3]), down(rim(i + 1)), down(rim(i))]))
        .collect()
}

/// A box from -1 to 1 along each axis.
pub(crate) fn cuboid() -> Vec<Vertex> {
    let side = |axis: usize, sign: f32| {
        let at = |u: f32, v: f32| {
            let (mut position, mut normal) = ([0.0; 3], [0.0; 3]);
            position[axis] = sign;
            normal[axis] = sign;
            // Seen from outside the corners turn left on both sides.
            position[(axis + 1) % 3] = u * sign;
            position[(axis + 2) % 3] = v;
            // Along the first two of x, y and z that the side has.
            let [right, up] = [[1, 2], [0, 2], [0, 1]][axis].map(|along| position[along]);
            Vertex { position, normal, end: 0.0, place: [0.5 + 0.5 * right, 0.5 - 0.5 * up] }
        };
        quad([at(-1.0, -1.0), at(1.0, -1.0), at(1.0, 1.0), at(-1.0, 1.0)])
    };
    (0..3).flat_map(|axis| [side(axis, -1.0), side(axis, 1.0)].into_iter().flatten()).collect()
}

/// The square from -1 to 1 along x and y.
pub(crate) fn square() -> Vec<Vertex> {
    let at = |x: f32, y: f32| Vertex { position: [x, y, 0.0], normal: [0.0, 0.0, 1.0], end: 0.0, place: [0.0; 2] };
    quad([at(-1.0, -1.0), at(1.0, -1.0), at(1.0, 1.0), at(-1.0, 1.0)]).into()
}

/// The two triangles of four corners that turn left.
fn quad([a, b, c, d]: [Vertex; 4]) -> [Vertex; 6] {
    [a, b, c, a, c, d]
}

#[cfg(test)]
mod tests {
    use nalgebra::Vector3;

    use super::*;

    /// Volume inside a mesh whose ends are moved apart, by the divergence theorem: it is right only if every triangle is
    /// there and turns left seen from outside.
    fn volume(mesh: &[Vertex], stretch: f32) -> f32 {
        let at = |v: &Vertex| Vector3::from(v.position) + Vector3::z() * (v.end * stretch);
        mesh.chunks_exact(3).map(|t| at(&t[0]).dot(&at(&t[1]).cross(&at(&t[2]))) / 6.0).sum()
    }

    #[test]
    fn textures_go_round_once() {
        let circle = Circle { around: 8, rings: 2 };
        for mesh in [sphere(circle), capsule(circle), cylinder(circle)] {
            for v in mesh.iter().filter(|v| v.normal[2].abs() < 0.99) {
                let around = v.normal[1].atan2(v.normal[0]).rem_euclid(TAU) / TAU;
                let off = (v.place[0] - around).rem_euclid(1.0);
                assert!(off.min(1.0 - off) < 1e-5, "{v:?}");
                assert!((-1e-6..=1.000_001).contains(&v.place[1]), "{v:?}");
            }
        }
        let ball = sphere(circle);
        assert!(ball.iter().all(|v| (v.position[2].asin() / PI - (0.5 - v.place[1])).abs() < 1e-5));
        // On a capsule each half and the part between them has it from the top to the bottom.
        for v in &capsule(circle) {
            let half =
                if v.end > 0.0 { 1.0 - v.position[2].asin() / (PI / 2.0) } else { -v.position[2].asin() / (PI / 2.0) };
            let ends = v.position[2].abs() < 1e-6 && (v.place[1] == 0.0 || v.place[1] == 1.0);
            assert!(ends || (v.place[1] - half).abs() < 1e-5, "{v:?}");
        }
    }

    #[test]
    fn meshes_are_closed_and_face_outward() {
        let circle = Circle { around: 48, rings: 12 };
        for (name, mesh, stretch, expected) in [
            ("sphere", sphere(circle), 0.0, 4.0 / 3.0 * PI),
            ("capsule", capsule(circle), 1.0, 4.0 / 3.0 * PI + TAU),
            ("cylinder", cylinder(circle), 0.0, TAU),
            ("box", cuboid(), 0.0, 8.0),
            ("cone", cone(circle), 0.0, PI / 3.0),
        ] {
            let found = volume(&mesh, stretch);
            assert!((found / expected - 1.0).abs() < 0.01, "{name}: {found} and {expected}");
            for t in mesh.chunks_exact(3) {
                let [a, b, c] = [&t[0], &t[1], &t[2]].map(|v| Vector3::from(v.position));
                let face = (b - a).cross(&(c - a));
                // Triangles at poles have no area.
                assert!(face.norm() < 1e-6 || face.dot(&Vector3::from(t[0].normal)) > 0.0, "{name}: {t:?}");
            }
        }
    }
}
