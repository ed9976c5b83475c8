//! A distance function together with points of its surface, in blocks.

use std::sync::Arc;

use rayon::prelude::*;

use super::{DistanceFunction, nets};
use crate::mesh::{Filling, TriangleMesh};
use crate::{Inertial, Vec3};

/// A solid by its distance function, with a mesh of its surface whose vertices meet other shapes' functions.
///
/// Made by [`Sdf::new`], once for a model. Of each block of vertices (neighbours that look the same way) at most one is a
/// contact point at a time, the deepest.
#[derive(Debug, Clone)]
pub struct Sdf {
    /// Name; empty when the file gives none.
    pub name: String,
    /// Most contacts with another shape; of two, the smaller number counts. At least 4.
    pub contacts: usize,
    function: DistanceFunction,
    spacing: f64,
    surface: Arc<Surface>,
}

/// What is computed from the function.
#[derive(Debug)]
struct Surface {
    mesh: TriangleMesh,
    /// Vertices of the mesh that lie on the surface, block by block.
    points: Vec<Vec3>,
    /// Outward at each point, unit.
    normals: Vec<Vec3>,
    blocks: Vec<Block>,
    solid: Result<Inertial, String>,
}

/// Neighbouring points of a surface.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Centre of a ball that holds them, m.
    pub centre: Vec3,
    /// Radius of the ball, m.
    pub radius: f64,
    /// Where they are in [`Sdf::points`].
    pub points: std::ops::Range<usize>,
}

impl Block {
    /// Points of a block at most: what is between cost of the test of a block and of the points in blocks that pass it.
    pub const MOST: usize = 16;
}

impl Sdf {
    /// Most contacts of a pair when the model does not say: the number of Lee 2024, section VII-A.
    pub const CONTACTS: usize = 120;

    /// Samples the surface of a function with a point about every `spacing` m.
    ///
    /// # Errors
    /// Dimensions that make no solid, a spacing that is not positive, so coarse that it misses the solid, or so fine that
    /// it makes more than 5e7 cells.
    pub fn new(name: impl Into<String>, function: DistanceFunction, spacing: f64) -> Result<Self, String> {
        function.check()?;
        if !(spacing > 0.0 && spacing.is_finite()) {
            return Err(format!("the spacing must be positive, found {spacing}"));
        }
        let mesh = nets::mesh(&function, spacing)?;
        // At a sharp edge Newton's method may not come to rest on the surface: such vertices shape the mesh alone.
        let near = 1e-9 * function.half_extents().max();
        let exact: Vec<Vec3> =
            mesh.vertices.par_iter().filter(|v| function.distance(v).0.abs() <= near).copied().collect();
        if exact.is_empty() {
            return Err(format!("a spacing of {spacing} m finds no point of the surface"));
        }
        let (points, blocks) = blocks(&function, &exact);
        let normals = points.par_iter().map(|point| function.distance(point).1).collect();
        let solid = mesh.solid(Filling::Exact);
        let surface = Arc::new(Surface { mesh, points, normals, blocks, solid });
        Ok(Self { name: name.into(), contacts: Self::CONTACTS, function, spacing, surface })
    }

    /// The distance function.
    #[must_use]
    pub fn function(&self) -> &DistanceFunction {
        &self.function
    }

    /// About how far points of the surface are apart, m.
    #[must_use]
    pub fn spacing(&self) -> f64 {
        self.spacing
    }

    /// Points of the surface, block by block, m.
    #[must_use]
    pub fn points(&self) -> &[Vec3] {
        &self.surface.points
    }

    /// Outward unit normals at the points.
    #[must_use]
    pub fn normals(&self) -> &[Vec3] {
        &self.surface.normals
    }

    /// The blocks of points.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.surface.blocks
    }

    /// The surface as a closed mesh, counter-clockwise seen from outside: vertices, m, and triangles.
    #[must_use]
    pub fn mesh(&self) -> (&[Vec3], &[[u32; 3]]) {
        (&self.surface.mesh.vertices, &self.surface.mesh.triangles)
    }

    /// Mass properties at density 1 kg/m^3, of the solid that the mesh encloses.
    ///
    /// # Errors
    /// A mesh without volume.
    pub fn solid(&self) -> Result<Inertial, String> {
        self.surface.solid.clone()
    }

    /// Radius of the ball about the origin that holds the surface, m.
    #[must_use]
    pub fn radius(&self) -> f64 {
        self.surface.points.iter().map(|p| p.norm()).fold(0.0, f64::max)
    }

    /// Whether all is right with what a caller may change.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        if self.contacts >= 4 { Ok(()) } else { Err(format!("needs at least 4 contacts, found {}", self.contacts)) }
    }
}

/// Sorts points by the axis their normals are nearest to, then along a curve that fills space, and cuts the row.
fn blocks(function: &DistanceFunction, vertices: &[Vec3]) -> (Vec<Vec3>, Vec<Block>) {
    let half = function.half_extents().max();
    let mut keyed: Vec<(u64, usize)> = vertices
        .par_iter()
        .enumerate()
        .map(|(index, vertex)| {
            let normal = function.distance(vertex).1;
            let axis = normal.iamax();
            let facing = 2 * axis as u64 + u64::from(normal[axis] < 0.0);
            (facing << 60 | morton(&(vertex / (2.0 * half))), index)
        })
        .collect();
    keyed.par_sort_unstable();
    let points: Vec<Vec3> = keyed.iter().map(|&(_, index)| vertices[index]).collect();
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < points.len() {
        let facing = keyed[start].0 >> 60;
        let alike = keyed[start..].iter().take(Block::MOST).take_while(|k| k.0 >> 60 == facing).count();
        let range = start..start + alike;
        let (mut low, mut high) = (points[start], points[start]);
        for point in &points[range.clone()] {
            (low, high) = (low.inf(point), high.sup(point));
        }
        let centre = 0.5 * (low + high);
        let radius = points[range.clone()].iter().map(|p| (p - centre).norm()).fold(0.0, f64::max);
        blocks.push(Block { centre, radius, points: range });
        start += alike;
    }
    (points, blocks)
}

/// Place of a point of the cube of edge 1 about the origin along the Z-order curve, 60 bits.
fn morton(p: &Vec3) -> u64 {
    let cells = p.map(|x| (((x + 0.5) * f64::from(1u32 << 20)) as u64).min((1 << 20) - 1));
    (0..20).fold(0, |code, bit| {
        let of = |axis: usize| (cells[axis] >> bit & 1) << (3 * bit + axis as u64);
        code | of(0) | of(1) | of(2)
    })
}
