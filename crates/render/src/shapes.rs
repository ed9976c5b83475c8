//! Meshes of the shapes that need no file. An instance scales a position by axis and then moves it along z by its `end`:
//! so one mesh serves every capsule.

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
    // The equator comes twice: as the rim of the lower half and of the upper one.
    let ring = |j: u32, end: f32| (PI / 2.0 * (j as f32 / n as f32 - 1.0), end);
    let lower = (0..=n).map(|j| ring(j, -end));
    let upper = (n..=2 * n).map(|j| ring(j, end));
    let rings: Vec<_> = lower.chain(upper).collect();
    let at = |(latitude, end): (f32, f32), i: u32| {
        let (s, c) = (TAU * i as f32 / around as f32).sin_cos();
        let normal = [latitude.cos() * c, latitude.cos() * s, latitude.sin()];
        Vertex { position: normal, normal, end }
    };
    rings
        .windows(2)
        .flat_map(|pair| {
            (0..around)
                .flat_map(move |i| quad([at(pair[0], i), at(pair[0], i + 1), at(pair[1], i + 1), at(pair[1], i)]))
        })
        .collect()
}

/// A cylinder of radius one from z = -1 to z = 1.
pub(crate) fn cylinder(circle: Circle) -> Vec<Vertex> {
    let rim = |i: u32, z: f32, normal: Option<f32>| {
        let (s, c) = (TAU * i as f32 / circle.around as f32).sin_cos();
        Vertex { position: [c, s, z], normal: normal.map_or([c, s, 0.0], |z| [0.0, 0.0, z]), end: 0.0 }
    };
    let centre = |z: f32| Vertex { position: [0.0, 0.0, z], normal: [0.0, 0.0, z], end: 0.0 };
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
        Vertex { position: at, normal: [slant * c, slant * s, slant], end: 0.0 }
    };
    let rim = |i: u32| {
        let (s, c) = (TAU * i as f32 / circle.around as f32).sin_cos();
        [c, s, 0.0]
    };
    let down = |position| Vertex { position, normal: [0.0, 0.0, -1.0], end: 0.0 };
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
            Vertex { position, normal, end: 0.0 }
        };
        quad([at(-1.0, -1.0), at(1.0, -1.0), at(1.0, 1.0), at(-1.0, 1.0)])
    };
    (0..3).flat_map(|axis| [side(axis, -1.0), side(axis, 1.0)].into_iter().flatten()).collect()
}

/// The square from -1 to 1 along x and y.
pub(crate) fn square() -> Vec<Vertex> {
    let at = |x: f32, y: f32| Vertex { position: [x, y, 0.0], normal: [0.0, 0.0, 1.0], end: 0.0 };
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
                // Triangles at poles, and those between the halves of a ball, have no area.
                assert!(face.norm() < 1e-6 || face.dot(&Vector3::from(t[0].normal)) > 0.0, "{name}: {t:?}");
            }
        }
    }
}
