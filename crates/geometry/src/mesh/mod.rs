//! Triangle meshes from files: their solids and their convex hulls.

mod msh;
mod obj;
mod polygon;
mod stl;

use std::path::Path;
use std::sync::Arc;

use parry3d_f64::math::Vector;
use parry3d_f64::transformation::try_convex_hull;

use crate::inertia::point_inertia;
use crate::{Inertial, Mat3, Mesh, Quat, Surface, Vec3};

/// Volumes and areas below this have no mass properties, m^3 or m^2 (MuJoCo's mjMINVAL).
const MIN_MEASURE: f64 = 1e-15;

/// Triangles over vertices, counter-clockwise seen from outside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TriangleMesh {
    /// m
    pub vertices: Vec<Vec3>,
    /// Indices of vertices.
    pub triangles: Vec<[u32; 3]>,
    /// As in [`Surface::texture`].
    pub texture: Vec<[[f32; 2]; 3]>,
}

/// How the mass of a mesh is spread, in MuJoCo's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filling {
    /// The solid of the convex hull.
    Convex,
    /// The solid that the surface encloses; needs a closed, oriented surface.
    Exact,
    /// Pyramids from the surface's centroid, all counted positive: overcounts where the mesh is not star-shaped.
    Legacy,
    /// The surface alone, per area.
    Shell,
}

impl TriangleMesh {
    /// Reads STL (binary or ASCII), OBJ or MuJoCo's MSH, by the extension of the path.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Self, String> {
        let mesh = match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("stl") => stl::read(bytes)?,
            Some("obj") => obj::read(bytes)?,
            Some("msh") => msh::read(bytes)?,
            _ => return Err("unknown kind of mesh file: expected .stl, .obj or .msh".into()),
        };
        mesh.checked()
    }

    /// The mesh itself, when every number is finite and every index in range.
    ///
    /// # Errors
    /// Which is not.
    pub fn checked(self) -> Result<Self, String> {
        if let Some(vertex) = self.vertices.iter().flatten().find(|x| !x.is_finite()) {
            return Err(format!("a vertex is not finite: {vertex}"));
        }
        let count = self.vertices.len();
        match self.triangles.iter().flatten().find(|&&v| v as usize >= count) {
            Some(vertex) => Err(format!("a triangle refers to vertex {vertex}, there are {count}")),
            None => Ok(self),
        }
    }

    /// Moves the origin to `position` and turns by the inverse of `rotation`, then scales each axis.
    pub fn transform(&mut self, position: Vec3, rotation: Quat, scale: Vec3) {
        for vertex in &mut self.vertices {
            *vertex = rotation.inverse_transform_vector(&(*vertex - position)).component_mul(&scale);
        }
        if scale.x * scale.y * scale.z < 0.0 {
            self.triangles.iter_mut().for_each(|t| t.swap(1, 2));
            self.texture.iter_mut().for_each(|t| t.swap(1, 2));
        }
    }

    /// Convex hull, with only the vertices that are on it.
    ///
    /// # Errors
    /// Fewer than four different vertices, or all in a plane.
    pub fn hull(&self) -> Result<Self, String> {
        let points = self.points();
        if points.len() < 4 {
            return Err(format!("a hull needs 4 different vertices, found {}", points.len()));
        }
        if is_flat(&points) {
            return Err("all vertices lie in a plane".into());
        }
        let (vertices, triangles) = try_convex_hull(&points).map_err(|e| format!("no convex hull: {e}"))?;
        let hull = Self {
            vertices: vertices.iter().map(|v| Vec3::new(v.x, v.y, v.z)).collect(),
            triangles,
            ..Self::default()
        };
        hull.checked()
    }

    /// The asset of a model: the hull, and the surface where some of its vertices are not the hull's or textures lie on it.
    ///
    /// # Errors
    /// As [`Self::hull`].
    pub fn asset(self, name: String) -> Result<Mesh, String> {
        let hull = self.hull()?;
        let is_hull =
            self.texture.is_empty() && self.points().len() == hull.vertices.len() || self.triangles.is_empty();
        let surface = Surface { vertices: self.vertices, triangles: self.triangles, texture: self.texture };
        let surface = (!is_hull).then(|| Arc::new(surface));
        Ok(Mesh { name, vertices: hull.vertices, triangles: hull.triangles, surface })
    }

    /// The vertices in order, each once.
    fn points(&self) -> Vec<Vector> {
        let mut points: Vec<Vector> = self.vertices.iter().map(|v| Vector::new(v.x, v.y, v.z)).collect();
        points.sort_by(|a, b| a.to_array().partial_cmp(&b.to_array()).unwrap_or(std::cmp::Ordering::Equal));
        points.dedup();
        points
    }

    /// Mass properties at density 1 (kg/m^3; per m^2 for a shell), in the frame of the vertices.
    ///
    /// # Errors
    /// As [`Self::hull`], where that is wanted, and surfaces that enclose nothing.
    pub fn solid(&self, filling: Filling) -> Result<Inertial, String> {
        match filling {
            Filling::Convex => self.hull()?.pyramids(|volume| volume),
            _ if self.triangles.is_empty() => self.hull()?.pyramids(|volume| volume),
            Filling::Exact => self.pyramids(|volume| volume),
            Filling::Legacy => self.pyramids(f64::abs),
            Filling::Shell => self.shell(),
        }
    }

    fn corners(&self) -> impl Iterator<Item = [Vec3; 3]> + '_ {
        self.triangles.iter().map(|t| t.map(|v| self.vertices[v as usize]))
    }

    /// Sum of the pyramids over all triangles, first from the surface's centroid for volume and centre of mass, then
    /// from the centre of mass for the inertia; `sign` maps the signed volume of each.
    fn pyramids(&self, sign: impl Fn(f64) -> f64) -> Result<Inertial, String> {
        let signed = |[a, b, c]: &[Vec3; 3]| sign(a.dot(&b.cross(c)) / 6.0);
        let apex = self.centroid()?;
        let (mut volume, mut moment) = (0.0, Vec3::zeros());
        for corners in self.corners() {
            let from_apex = corners.map(|v| v - apex);
            let v = signed(&from_apex);
            volume += v;
            moment += (from_apex[0] + from_apex[1] + from_apex[2]) * (v / 4.0);
        }
        if volume < MIN_MEASURE {
            return Err(format!("its volume is {volume:e} m^3 (a flat, open or inside-out surface?)"));
        }
        let com = apex + moment / volume;
        // Where volumes are counted positive their sum depends on the apex: MuJoCo's mass is that from the centre of mass.
        let (mut volume, mut second) = (0.0, Mat3::zeros());
        for corners in self.corners() {
            let from_com = corners.map(|v| v - com);
            let v = signed(&from_com);
            volume += v;
            second += second_moment(&from_com) * (v / 20.0);
        }
        Ok(Inertial { mass: volume, com, inertia: Mat3::identity() * second.trace() - second })
    }

    fn shell(&self) -> Result<Inertial, String> {
        let com = self.centroid()?;
        let (mut total, mut second) = (0.0, Mat3::zeros());
        for corners in self.corners() {
            let area = area(&corners);
            total += area;
            second += second_moment(&corners.map(|v| v - com)) * (area / 12.0);
        }
        Ok(Inertial { mass: total, com, inertia: Mat3::identity() * second.trace() - second })
    }

    /// Centroid of the surface.
    fn centroid(&self) -> Result<Vec3, String> {
        let (mut total, mut moment) = (0.0, Vec3::zeros());
        for corners in self.corners() {
            let area = area(&corners);
            total += area;
            moment += (corners[0] + corners[1] + corners[2]) * (area / 3.0);
        }
        if total < MIN_MEASURE {
            return Err(format!("its area is {total:e} m^2"));
        }
        Ok(moment / total)
    }
}

fn area([a, b, c]: &[Vec3; 3]) -> f64 {
    (b - a).cross(&(c - a)).norm() / 2.0
}

/// Sum of v v^T over the corners, plus that of their sum: 20 / V (a pyramid from the origin) or 12 / A (a triangle)
/// times the integral of x x^T.
fn second_moment(corners: &[Vec3; 3]) -> Mat3 {
    let sum = corners[0] + corners[1] + corners[2];
    corners.iter().map(|v| v * v.transpose()).sum::<Mat3>() + sum * sum.transpose()
}

/// Whether points span less than a solid, by the smallest principal spread against the largest.
fn is_flat(points: &[Vector]) -> bool {
    let points: Vec<Vec3> = points.iter().map(|p| Vec3::new(p.x, p.y, p.z)).collect();
    let mean = points.iter().sum::<Vec3>() / points.len() as f64;
    let spread: Mat3 = points.iter().map(|p| point_inertia(1.0, &(p - mean))).sum();
    let moments = nalgebra::SymmetricEigen::new(spread).eigenvalues;
    // Flat points along z: the moment about z is the sum of those about x and y.
    moments.sum() - 2.0 * moments.max() <= 1e-12 * moments.max()
}
